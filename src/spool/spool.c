/* SPDX-License-Identifier: MIT */
#include "spool/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/fnv.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "codec/gzip_member.h"
#include "codec/ledger.h"
#include "codec/record_format.h"
#include "model/document.h"
#include "model/node_values.h"
#include "model/record.h"
#include "model/shape.h"

#define KEY_DIGITS 32
#define SEQUENCE_AT (KEY_DIGITS + 1)
#define SEQUENCE_DIGITS 20
#define KIND_AT (SEQUENCE_AT + SEQUENCE_DIGITS + 1)
#define TEMPORARY ".new"
#define SEQUENCE "sequence" /* the last one, in digits */
#define SEQUENCE_MAX (UINT64_C(1) << 62)
#define MARGIN 20 /* so that not each record has the directory read, this part is made free */

/* ---- what lies there ---- */

static int is_record(const struct dirent *entry)
{
	const char *name = entry->d_name, *end = name + KIND_AT - 1;

	return strlen(name) == SPOOL_NAME_SIZE - 1 &&
	       strspn(name, "0123456789abcdef") == KEY_DIGITS &&
	       strncmp(name + KEY_DIGITS, ".0", 2) == 0 && /* else it is over SEQUENCE_MAX */
	       strspn(name + SEQUENCE_AT, "0123456789") == SEQUENCE_DIGITS &&
	       (strcmp(end, ".f.gz") == 0 || strcmp(end, ".c.gz") == 0);
}

/* The best record of each job last. */
static int compare_worth(const struct dirent **a, const struct dirent **b)
{
	const char *x = (*a)->d_name, *y = (*b)->d_name;
	int r = memcmp(x, y, KEY_DIGITS);

	r = r ? r : x[KIND_AT] - y[KIND_AT]; /* 'c' comes before 'f' */
	return r ? r : strcmp(x, y);
}

static int compare_ages(const void *a, const void *b)
{
	const struct spool_file *x = a, *y = b;

	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* One that is gone by now, or no plain file, is none. */
static void add(struct spool_list *list, int dir_fd, const char *name)
{
	struct spool_file *file = &list->files[list->count];
	const char *digits = name + SEQUENCE_AT;
	struct stat st;

	if (parse_leading_u64(&digits, &file->sequence) < 0 ||
	    fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	memcpy(file->name, name, sizeof(file->name));
	file->is_final = name[KIND_AT] == 'f';
	file->bytes = (uint64_t)st.st_size;
	list->bytes += file->bytes;
	list->count++;
}

int spool_list_read(int dir_fd, bool tidies, struct spool_list *ret)
{
	struct dirent **entries = NULL;
	struct spool_list list = {};
	int count = scandirat(dir_fd, ".", &entries, is_record, compare_worth);

	if (count < 0)
		return -errno;
	list.files = calloc((size_t)count + 1, sizeof(*list.files));
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;

		if (tidies && i + 1 < count &&
		    memcmp(name, entries[i + 1]->d_name, KEY_DIGITS) == 0)
			(void)unlinkat(dir_fd, name, 0);
		else if (list.files)
			add(&list, dir_fd, name);
		free(entries[i]);
	}
	free(entries);
	if (!list.files)
		return -ENOMEM;
	qsort(list.files, list.count, sizeof(*list.files), compare_ages);
	*ret = list;
	return 0;
}

void spool_list_clear(struct spool_list *list)
{
	free(list->files);
	*list = (struct spool_list){};
}

/* ---- opening ---- */

int spool_make_dirs(const char *path, uid_t uid, gid_t gid, struct error *err)
{
	_cleanup_close_ int fd = file_open_own_dir(path, 077, uid, gid, err);
	_cleanup_close_ int refused_fd = -EBADF;
	_cleanup_free_ char *refused = NULL;

	if (fd < 0)
		return fd;
	if (asprintf(&refused, "%s/" SPOOL_REFUSED, path) < 0) {
		refused = NULL;
		return error_set_errno(err, ENOMEM, "cannot make '%s'", path);
	}
	refused_fd = file_open_own_dir(refused, 077, uid, gid, err);
	return MIN(refused_fd, 0);
}

struct spool *spool_close(struct spool *s)
{
	if (!s)
		return NULL;
	closep(&s->sequence_fd);
	closep(&s->dir_fd);
	free(s->path);
	free(s);
	return NULL;
}

void spool_closep(struct spool **s)
{
	spool_close(*s);
}

/* The last one; where the file is torn, what lies there and the clock have to do. */
static void read_sequence(struct spool *s, const struct spool_list *list)
{
	char text[SEQUENCE_DIGITS + 2] = "";
	const char *digits = text;
	uint64_t number = 0;

	s->sequence_fd = openat(s->dir_fd, SEQUENCE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
				0600);
	if (pread(s->sequence_fd, text, sizeof(text) - 1, 0) > 0 &&
	    parse_leading_u64(&digits, &number) == 0)
		s->sequence = number;
	if (list->count)
		s->sequence = MAX(s->sequence, list->files[list->count - 1].sequence);
	s->sequence = MIN(s->sequence, SEQUENCE_MAX);
}

int spool_open(const char *path, uint64_t max_bytes, struct spool **ret, struct error *err)
{
	_cleanup_(spool_closep) struct spool *s = calloc(1, sizeof(*s));
	_cleanup_(spool_list_clear) struct spool_list list = {};
	int r;

	if (!s)
		return error_set_errno(err, ENOMEM, "cannot open the spool");
	s->sequence_fd = -EBADF;
	s->max_bytes = max_bytes;
	s->path = strdup(path);
	s->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = s->path ? spool_list_read(s->dir_fd, true, &list) : -ENOMEM;
	if (r < 0)
		return error_set_errno(err, r, "cannot read the spool '%s'", path);
	s->bytes = list.bytes;
	(void)unlinkat(s->dir_fd, SPOOL_NODE, 0); /* of before */
	read_sequence(s, &list);
	*ret = TAKE_PTR(s);
	return 0;
}

/* ---- writing ---- */

static void drop_until(struct spool *s, const struct spool_list *list, bool is_final,
		       uint64_t wanted_bytes)
{
	for (size_t i = 0; i < list->count && s->bytes > wanted_bytes; i++) {
		const struct spool_file *file = &list->files[i];

		if (file->is_final != is_final)
			continue;
		if (unlinkat(s->dir_fd, file->name, 0) == 0) /* else it was sent meanwhile */
			s->counts.dropped[is_final]++;
		s->bytes -= MIN(file->bytes, s->bytes);
	}
}

/* False: there is none for it. */
static bool make_room(struct spool *s, uint64_t bytes, bool is_final)
{
	_cleanup_(spool_list_clear) struct spool_list list = {};
	uint64_t limit, low;

	if (s->bytes + bytes <= s->max_bytes)
		return true;
	if (bytes > s->max_bytes || spool_list_read(s->dir_fd, true, &list) < 0)
		return false;
	s->bytes = list.bytes;
	limit = s->max_bytes - bytes;
	if (s->bytes <= limit)
		return true;
	low = limit - MIN(limit, s->max_bytes / MARGIN);
	drop_until(s, &list, false, low);
	if (is_final && s->bytes > limit)
		drop_until(s, &list, true, low);
	return s->bytes <= limit;
}

struct spool_key spool_key_of(const struct record *record)
{
	const char *const texts[] = { record->cluster, record->node, record->boot_id,
				      record->job.manager, record->job.id };
	struct spool_key key = { { FNV_BEGIN, ~FNV_BEGIN } };

	for (size_t half = 0; half < ARRAY_SIZE(key.halves); half++) {
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
			key.halves[half] = fnv_text(key.halves[half], texts[i] ? texts[i] : "");
		key.halves[half] = fnv_bytes(key.halves[half], &record->time.start_ns,
					     sizeof(record->time.start_ns));
	}
	return key;
}

/* It is enough that one that is killed is followed by one that knows it: with the boot all keys
 * end. */
static uint64_t next_sequence(struct spool *s)
{
	uint64_t now_us = clock_now_ns(CLOCK_REALTIME) / 1000;
	char text[SEQUENCE_DIGITS + 2];

	s->sequence = MAX(now_us, s->sequence + 1);
	snprintf(text, sizeof(text), "%020" PRIu64 "\n", s->sequence);
	(void)!pwrite(s->sequence_fd, text, strlen(text), 0);
	return s->sequence;
}

static void format_record(const void *record, struct document *d)
{
	record_format(record, d);
}

static int put(struct spool *s, const char *name, const void *bytes, size_t length)
{
	int fd = openat(s->dir_fd, TEMPORARY, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0600),
	    r = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, bytes, length);
	if (n != (ssize_t)length)
		r = n < 0 ? -errno : -ENOSPC;
	if (close(fd) < 0 && r == 0) /* where a network's file system says that it is full */
		r = -errno;
	if (r == 0 && renameat(s->dir_fd, TEMPORARY, s->dir_fd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(s->dir_fd, TEMPORARY, 0);
	return r;
}

/* @sequence: of the file, by which a newer one of its key replaces it. */
static int put_line(struct spool *s, struct spool_key key, uint64_t sequence, bool is_final,
		    const char *line, size_t length)
{
	_cleanup_free_ void *packed = NULL;
	size_t packed_length = 0;
	char name[SPOOL_NAME_SIZE];
	int r = gzip_member_pack(line, length, GZIP_FAST, &packed, &packed_length);

	if (r < 0)
		return r;
	if (!make_room(s, packed_length, is_final)) {
		s->counts.dropped[is_final]++;
		return 0;
	}
	snprintf(name, sizeof(name), "%016" PRIx64 "%016" PRIx64 ".%020" PRIu64 ".%c.gz",
		 key.halves[0], key.halves[1], sequence, is_final ? 'f' : 'c');
	r = put(s, name, packed, packed_length);
	if (r < 0)
		return r;
	s->counts.written[is_final]++;
	s->bytes += packed_length;
	return 0;
}

int spool_write(struct spool *s, struct record *record, struct error *err)
{
	_cleanup_free_ char *line = NULL;
	size_t length = 0;
	int r;

	record->sequence = next_sequence(s);
	r = document_format_line(format_record, record, &line, &length);
	if (r >= 0 && length > SPOOL_LINE_MAX) {
		s->counts.dropped[record->is_final]++;
		return error_set(err, -EFBIG, "the record of job '%.100s' has more than %u MiB",
				 record->job.id, SPOOL_LINE_MAX >> 20);
	}
	if (r >= 0)
		r = put_line(s, spool_key_of(record), record->sequence, record->is_final, line,
			     length);
	if (r >= 0)
		return 0;
	s->counts.errors++;
	return error_set_errno(err, r, "records for the server cannot be written to '%s'", s->path);
}

int spool_write_ledger(struct spool *s, const struct ledger *ledger, struct error *err)
{
	/* no job's, and each line has its own */
	const struct record who = {
		.cluster = (char *)ledger->cluster,
		.node = (char *)ledger->node,
		.boot_id = (char *)ledger->boot_id,
		.job = { .manager = (char *)"", .id = (char *)LEDGER_SCHEMA },
		.time = { .start_ns = ledger->start_ns },
	};
	_cleanup_free_ char *line = NULL;
	size_t length = 0;
	int r = document_format_line(ledger_format, ledger, &line, &length);

	if (r >= 0)
		r = put_line(s, spool_key_of(&who), next_sequence(s), true, line, length);
	if (r >= 0)
		return 0;
	s->counts.errors++;
	return error_set_errno(err, r, "energy for the server cannot be written to '%s'", s->path);
}

struct node_line {
	const struct record *about;
	const struct node_values *values;
	size_t named; /* of what is not measured */
};

/* clang-format off */
#define NUMBER(value) SHAPE_VALUE, SHAPE_OMIT, offsetof(struct node_values, values[value])
static const struct field number_fields[] = {
	{ "cpus", NUMBER(NODE_CPUS) },
	{ "load", NUMBER(NODE_LOAD_1), .unit = UNIT_LOAD },
	{ "memory_bytes", NUMBER(NODE_MEMORY_TOTAL) },
	{ "memory_available_bytes", NUMBER(NODE_MEMORY_AVAILABLE) },
};
#undef NUMBER
/* clang-format on */
static const struct shape numbers_shape = { SHAPE_OF(struct node_values, number_fields) };

static void format_node(const void *node, struct document *d)
{
	const struct node_line *line = node;
	const struct record *about = line->about;

	document_begin_map(d);
	document_put_string(d, "schema", NODE_SCHEMA);
	document_put_string(d, "cluster", about->cluster);
	document_put_string(d, "node", about->node);
	document_put_unsigned(d, "missing", about->coverage.missing.count);
	document_put_unsigned(d, "lost_events", about->coverage.lost_events);
	shape_format(&numbers_shape, line->values, d);
	document_put_strings(d, "not_measured",
			     &(struct strings){ about->coverage.missing.items, line->named });
	document_end_map(d);
}

int spool_write_node(struct spool *s, const struct record *about, const struct node_values *values)
{
	struct node_line line = { about, values, about->coverage.missing.count };
	_cleanup_free_ char *text = NULL;
	size_t length = 0;
	int r = document_format_line(format_node, &line, &text, &length);

	while (r >= 0 && length > NODE_LINE_MAX && line.named) {
		line.named /= 2;
		free(TAKE_PTR(text));
		r = document_format_line(format_node, &line, &text, &length);
	}
	return r < 0 ? r : put(s, SPOOL_NODE, text, length - 1); /* without its newline */
}
