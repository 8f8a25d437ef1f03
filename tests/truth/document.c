/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "document.h"
#include "basic/macro.h"

/* A document is padded to the first of these that holds it, so that it can tell its own size. */
static const size_t document_sizes[] = { 4093, 16381, 65521, 262139, 524287 };
#define DOCUMENT_MAX 524287

static const char *const op_names[OP_COUNT] = {
	/* clang-format off */
	[OP_READ]      = "read",
	[OP_WRITE]     = "write",
	[OP_OPEN]      = "open",
	[OP_CREATE]    = "create",
	[OP_CLOSE]     = "close",
	[OP_STAT]      = "stat",
	[OP_ACCESS]    = "access",
	[OP_READDIR]   = "readdir",
	[OP_READLINK]  = "readlink",
	[OP_STATFS]    = "statfs",
	[OP_RENAME]    = "rename",
	[OP_LINK]      = "link",
	[OP_SYMLINK]   = "symlink",
	[OP_UNLINK]    = "unlink",
	[OP_MKDIR]     = "mkdir",
	[OP_RMDIR]     = "rmdir",
	[OP_MKNOD]     = "mknod",
	[OP_TRUNCATE]  = "truncate",
	[OP_FALLOCATE] = "fallocate",
	[OP_CHMOD]     = "chmod",
	[OP_CHOWN]     = "chown",
	[OP_UTIME]     = "utime",
	[OP_XATTR]     = "xattr",
	[OP_FSYNC]     = "fsync",
	[OP_FDATASYNC] = "fdatasync",
	[OP_SYNC]      = "sync",
	/* clang-format on */
};

/* The kernel charges some ways to the tasks' rchar and wchar, and some not. */
static const struct {
	const char *name;
	bool is_charged;
} ways[WAY_COUNT] = {
	/* clang-format off */
	[WAY_CALL]            = { "call", true },
	[WAY_IO_URING]        = { "io_uring", false },
	[WAY_LIBAIO]          = { "libaio", false },
	[WAY_SENDFILE]        = { "sendfile", true },
	[WAY_COPY_FILE_RANGE] = { "copy_file_range", true },
	[WAY_SPLICE]          = { "splice", false },
	[WAY_MAPPING]         = { "mapping", false },
	/* clang-format on */
};

static const char *const by_names[BY_COUNT] = {
	[BY_DESCRIPTOR] = "descriptor",
	[BY_RESULT] = "result",
	[BY_PATH] = "path",
};

static const char *const feature_names[FEATURE_COUNT] = {
	[FEATURE_IO_URING] = "io_uring",
	[FEATURE_SQPOLL] = "io_uring's SQPOLL",
	[FEATURE_CQE_SKIP] = "io_uring's CQE_SKIP_SUCCESS",
	[FEATURE_LIBAIO] = "libaio",
};

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

static void append_row(struct text *text, const char *separator, const char *place,
		       const struct entry *e)
{
	append(text,
	       "%s\n\t\t{\"place\": \"%s\", \"op\": \"%s\", \"way\": \"%s\", \"by\": \"%s\", "
	       "\"calls\": %ju, \"bytes\": %ju, \"errors\": %ju, \"not_found\": %ju}",
	       separator, place, op_names[e->deed.op], ways[e->deed.way].name, by_names[e->deed.by],
	       (uintmax_t)e->tally.calls, (uintmax_t)e->tally.bytes, (uintmax_t)e->tally.errors,
	       (uintmax_t)e->tally.not_found);
}

static void append_rows(struct text *text, const char *name, const struct ledgers *all,
			const struct ledger *sum, bool only_silent)
{
	const char *separator = "", *place_name;

	append(text, "\t\"%s\": [", name);
	for (int place = 0; (place_name = ledgers_place_name(all, place)); place++)
		for (size_t i = 0; i < sum->count; i++) {
			const struct entry *e = &sum->entries[i];

			if (e->deed.place != place || (only_silent && !e->deed.is_silent))
				continue;
			append_row(text, separator, place_name, e);
			separator = ",";
		}
	append(text, "\n\t],\n");
}

static void append_absent(struct text *text, const struct ledger *sum)
{
	const char *separator = "";

	append(text, "\t\"absent\": [");
	for (int i = 0; i < FEATURE_COUNT; i++)
		if (sum->refused[i]) {
			append(text, "%s\"%s: %s\"", separator, feature_names[i],
			       strerrorname_np(-sum->refused[i]));
			separator = ", ";
		}
	append(text, "],\n");
}

static uint64_t charged_bytes(const struct ledger *sum, enum op op)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < sum->count; i++)
		if (sum->entries[i].deed.op == op && ways[sum->entries[i].deed.way].is_charged)
			bytes += sum->entries[i].tally.bytes;
	return bytes;
}

static void format_document(struct text *text, const struct ledgers *all, const struct ledger *sum)
{
	text->length = 0;
	append(text, "{\n\t\"schema\": \"jobmeter.truth/1\",\n");
	append_rows(text, "rows", all, sum, false);
	append_rows(text, "skipped", all, sum, true);
	append_absent(text, sum);
	append(text, "\t\"totals\": {\"rchar_bytes\": %ju, \"wchar_bytes\": %ju}\n}\n",
	       (uintmax_t)charged_bytes(sum, OP_READ), (uintmax_t)charged_bytes(sum, OP_WRITE));
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

static bool format_with_itself(struct text *text, const struct ledgers *all, int place,
			       long unlinked)
{
	static struct ledger sum;

	for (size_t i = 0; i < ARRAY_SIZE(document_sizes); i++) {
		ledgers_add_up(all, &sum);
		ledger_note(&sum, (struct deed){ .place = place, .op = OP_UNLINK, .by = BY_PATH },
			    unlinked);
		ledger_note(&sum, (struct deed){ .place = place, .op = OP_CREATE, .by = BY_RESULT },
			    0);
		ledger_note(&sum, (struct deed){ .place = place, .op = OP_WRITE },
			    (long)document_sizes[i]);
		ledger_note(&sum, (struct deed){ .place = place, .op = OP_CLOSE }, 0);
		format_document(text, all, &sum);
		if (pad(text, document_sizes[i]))
			return true;
	}
	return false;
}

int document_publish(const struct ledgers *all, int place, const char *path)
{
	static struct text text;
	ssize_t written;
	int fd;

	/* Away with it first, so that the open is sure to create. */
	if (!format_with_itself(&text, all, place, unlink(path) < 0 ? -errno : 0))
		return -EFBIG;

	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	written = write(fd, text.bytes, text.length);
	if (close(fd) < 0)
		return -errno;
	return written == (ssize_t)text.length ? 0 : -EIO;
}
