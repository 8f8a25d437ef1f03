/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ledger.h"
#include "macro.h"

struct ledgers {
	const char *places[PLACES_MAX];
	size_t place_count;
	size_t taken, count;
	struct ledger items[];
};

/* A document is padded to the first of these that holds it, so that it can tell its own size. */
static const size_t document_sizes[] = {4093, 8191, 16381, 32749};
#define DOCUMENT_MAX 32749

static const char *const op_names[OP_COUNT] = {
	[OP_READ] = "read",	      [OP_WRITE] = "write", [OP_OPEN] = "open",
	[OP_CREATE] = "create",	      [OP_CLOSE] = "close", [OP_FSYNC] = "fsync",
	[OP_FDATASYNC] = "fdatasync",
};

struct ledgers *ledgers_new(size_t count)
{
	struct ledgers *all = mmap(NULL, sizeof(*all) + count * sizeof(struct ledger),
				   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (all == MAP_FAILED)
		return NULL;
	all->count = count;
	all->places[PLACE_PIPE] = "(pipe)";
	all->places[PLACE_SOCKET] = "(socket)";
	all->places[PLACE_PSEUDO] = "(pseudo)";
	all->places[PLACE_UNRESOLVED] = "(unresolved)";
	all->place_count = PLACE_NAMED;
	return all;
}

int ledgers_get_place(struct ledgers *all, const char *name)
{
	for (const char *c = name; *c; c++)
		if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
			return -EINVAL;

	for (size_t i = 0; i < all->place_count; i++)
		if (strcmp(all->places[i], name) == 0)
			return (int)i;
	if (all->place_count == PLACES_MAX)
		return -ENOSPC;
	all->places[all->place_count] = name;
	return (int)all->place_count++;
}

struct ledger *ledgers_take(struct ledgers *all)
{
	size_t i = __atomic_fetch_add(&all->taken, 1, __ATOMIC_RELAXED);

	if (i >= all->count)
		abort();
	return &all->items[i];
}

void ledger_note(struct ledger *l, int place, enum op op, long result)
{
	struct tally *tally = &l->tallies[place][op];

	tally->calls++;
	if (result < 0)
		tally->errors++;
	else if (op == OP_READ || op == OP_WRITE)
		tally->bytes += (uint64_t)result;
}

static void add_up(const struct ledgers *all, struct ledger *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < all->taken; i++)
		for (int place = 0; place < PLACES_MAX; place++)
			for (int op = 0; op < OP_COUNT; op++) {
				const struct tally *from = &all->items[i].tallies[place][op];
				struct tally *to = &ret->tallies[place][op];

				to->calls += from->calls;
				to->bytes += from->bytes;
				to->errors += from->errors;
			}
}

struct text {
	char bytes[DOCUMENT_MAX + 1];
	size_t length; /* over DOCUMENT_MAX: it did not fit */
};

static void PRINTF_LIKE(2, 3) append(struct text *text, const char *format, ...)
{
	va_list args;

	if (text->length > DOCUMENT_MAX)
		return;
	va_start(args, format);
	text->length += (size_t)vsnprintf(text->bytes + text->length,
					  sizeof(text->bytes) - text->length, format, args);
	va_end(args);
}

static uint64_t bytes_of(const struct ledger *l, enum op op)
{
	uint64_t bytes = 0;

	for (int place = 0; place < PLACES_MAX; place++)
		bytes += l->tallies[place][op].bytes;
	return bytes;
}

static void append_rows(struct text *text, const struct ledgers *all, const struct ledger *sum)
{
	const char *separator = "";

	for (size_t place = 0; place < all->place_count; place++)
		for (int op = 0; op < OP_COUNT; op++) {
			const struct tally *tally = &sum->tallies[place][op];

			if (!tally->calls)
				continue;
			append(text,
			       "%s\n\t\t{\"place\": \"%s\", \"op\": \"%s\", \"calls\": %ju, "
			       "\"bytes\": %ju, \"errors\": %ju}",
			       separator, all->places[place], op_names[op], (uintmax_t)tally->calls,
			       (uintmax_t)tally->bytes, (uintmax_t)tally->errors);
			separator = ",";
		}
}

static void format_document(struct text *text, const struct ledgers *all, const struct ledger *sum)
{
	text->length = 0;
	append(text, "{\n\t\"schema\": \"jobmeter.truth/1\",\n\t\"rows\": [");
	append_rows(text, all, sum);
	append(text, "\n\t],\n\t\"totals\": {\"rchar_bytes\": %ju, \"wchar_bytes\": %ju}\n}\n",
	       (uintmax_t)bytes_of(sum, OP_READ), (uintmax_t)bytes_of(sum, OP_WRITE));
}

/* Fill the rest with blanks behind the last newline.  false: the document is larger than @size. */
static bool pad(struct text *text, size_t size)
{
	if (text->length > size)
		return false;
	memset(text->bytes + text->length, ' ', size - text->length);
	text->length = size;
	return true;
}

static bool format_with_itself(struct text *text, const struct ledgers *all, int place)
{
	for (size_t i = 0; i < ARRAY_SIZE(document_sizes); i++) {
		struct ledger sum;

		add_up(all, &sum);
		ledger_note(&sum, place, OP_CREATE, 0);
		ledger_note(&sum, place, OP_WRITE, (long)document_sizes[i]);
		ledger_note(&sum, place, OP_CLOSE, 0);
		format_document(text, all, &sum);
		if (pad(text, document_sizes[i]))
			return true;
	}
	return false;
}

int ledgers_publish(struct ledgers *all, int place, const char *path)
{
	static struct text text;
	ssize_t written;
	int fd;

	if (!format_with_itself(&text, all, place))
		return -EFBIG;

	/* Away with it first, so that the open is sure to create; unlinking is not counted. */
	unlink(path);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	written = write(fd, text.bytes, text.length);
	if (close(fd) < 0)
		return -errno;
	return written == (ssize_t)text.length ? 0 : -EIO;
}
