/* SPDX-License-Identifier: MIT */
#include "spool/spool.h"

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
#include "basic/idmap.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "codec/record_format.h"
#include "model/document.h"
#include "model/record.h"
#include "spool/gzip_line.h"

#define TEMPORARY ".new"
#define SEQUENCE "sequence" /* the last one, in digits */
#define SEQUENCE_MAX (UINT64_C(1) << 62)
#define MARGIN \
	20 /* so that not each record has the directory read: a 20th of the bound is made free */

struct spool {
	int dir_fd, sequence_fd;
	char *path;
	uint64_t max_bytes, sequence;
	struct idmap newest; /* of each job that was written, by a half of its key */
	uint64_t bytes; /* at most: who sends removes */
	struct spool_counts counts;
	int failure, told_failure;
	uint64_t told_dropped;
};

/* ---- opening ---- */

static int make_dir(const char *path, uid_t uid, gid_t gid, struct error *err)
{
	_cleanup_close_ int fd = -EBADF;
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_set_errno(err, errno, "cannot make '%s'", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "cannot open '%s'", path);
	if (st.st_uid != uid && st.st_uid != geteuid() && st.st_uid != 0)
		return error_set(err, -EPERM, "'%s' belongs to another user (UID %u)", path,
				 st.st_uid);
	if ((st.st_mode & 077) && fchmod(fd, 0700) < 0)
		return error_set(err, -EPERM, "others may open '%s'", path);
	if ((st.st_uid != uid || st.st_gid != gid) && fchown(fd, uid, gid) < 0)
		return error_set_errno(err, errno, "cannot give '%s' to the user of the agent",
				       path);
	return 0;
}

int spool_make_dirs(const char *path, uid_t uid, gid_t gid, struct error *err)
{
	_cleanup_free_ char *refused = NULL;
	int r = make_dir(path, uid, gid, err);

	if (r < 0)
		return r;
	if (asprintf(&refused, "%s/" SPOOL_REFUSED, path) < 0) {
		refused = NULL;
		return -ENOMEM;
	}
	return make_dir(refused, uid, gid, err);
}

static void forget_files(struct spool *s)
{
	size_t at = 0;

	for (struct spool_file *file; (file = idmap_next(&s->newest, &at));)
		free(file);
	idmap_clear(&s->newest);
	s->newest = (struct idmap){};
	s->bytes = 0;
}

struct spool *spool_close(struct spool *s)
{
	if (!s)
		return NULL;
	forget_files(s);
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

void spool_set_max(struct spool *s, uint64_t max_bytes)
{
	s->max_bytes = max_bytes;
}

static int remember(struct spool *s, const struct spool_file *file)
{
	struct spool_file *known = idmap_get(&s->newest, file->key.halves[0]);

	if (!known) {
		known = malloc(sizeof(*known));
		if (!known || idmap_put(&s->newest, file->key.halves[0], known) < 0) {
			free(known);
			return -ENOMEM;
		}
	}
	*known = *file;
	return 0;
}

static void drop_file(struct spool *s, const struct spool_file *file)
{
	char name[SPOOL_NAME_SIZE];

	spool_name_format(file, name);
	(void)unlinkat(s->dir_fd, name, 0); /* it may have been sent meanwhile */
}

/* What there is, anew; the caller clears *ret, which has no superseded files. */
static int look(struct spool *s, struct spool_list *ret)
{
	size_t kept = 0;
	int r = spool_list_read(s->dir_fd, ret);

	if (r < 0)
		return r;
	forget_files(s);
	for (size_t i = 0; r >= 0 && i < ret->count; i++) {
		struct spool_file *file = &ret->files[i];

		if (file->is_superseded) {
			drop_file(s, file);
			continue;
		}
		s->bytes += file->bytes;
		s->sequence = MAX(s->sequence, MIN(file->sequence, SEQUENCE_MAX));
		r = remember(s, file);
		ret->files[kept++] = *file;
	}
	ret->count = kept;
	ret->bytes = s->bytes;
	return r;
}

static void read_sequence(struct spool *s)
{
	char text[32];
	uint64_t number;

	if (file_read_small(s->dir_fd, SEQUENCE, text, sizeof(text)) < 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	if (parse_u64(text, &number) == 0) /* else it is torn: the clock has to do */
		s->sequence = MIN(number, SEQUENCE_MAX);
}

int spool_open(const char *path, uint64_t max_bytes, struct spool **ret, struct error *err)
{
	_cleanup_(spool_closep) struct spool *s = calloc(1, sizeof(*s));
	_cleanup_(spool_list_clear) struct spool_list list = {};
	int r;

	if (!s)
		return error_set_errno(err, ENOMEM, "cannot open the spool");
	s->dir_fd = s->sequence_fd = -EBADF;
	s->max_bytes = max_bytes;
	s->path = strdup(path);
	if (!s->path)
		return error_set_errno(err, ENOMEM, "cannot open the spool");
	s->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->dir_fd < 0)
		return error_set_errno(err, errno, "cannot open the spool '%s'", path);
	read_sequence(s);
	r = look(s, &list);
	if (r < 0)
		return error_set_errno(err, r, "cannot read the spool '%s'", path);
	*ret = TAKE_PTR(s);
	return 0;
}

/* ---- room ---- */

static void drop_until(struct spool *s, const struct spool_list *list, bool is_final,
		       uint64_t wanted_bytes)
{
	for (size_t i = 0; i < list->count && s->bytes > wanted_bytes; i++) {
		const struct spool_file *file = &list->files[i];

		if (file->is_final != is_final)
			continue;
		drop_file(s, file);
		free(idmap_remove(&s->newest, file->key.halves[0]));
		s->bytes -= MIN(file->bytes, s->bytes);
		s->counts.dropped[is_final]++;
	}
}

/* False: there is none for it. */
static bool make_room(struct spool *s, uint64_t bytes, bool is_final)
{
	_cleanup_(spool_list_clear) struct spool_list list = {};
	uint64_t limit, low;

	if (s->bytes + bytes <= s->max_bytes)
		return true;
	if (bytes > s->max_bytes || look(s, &list) < 0)
		return false;
	limit = s->max_bytes - bytes;
	if (s->bytes <= limit)
		return true;
	low = limit - MIN(limit, s->max_bytes / MARGIN);
	drop_until(s, &list, false, low);
	if (is_final && s->bytes > limit)
		drop_until(s, &list, true, low);
	return s->bytes <= limit;
}

/* ---- writing ---- */

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
static void keep_sequence(struct spool *s)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%020" PRIu64 "\n", s->sequence);

	if (s->sequence_fd < 0)
		s->sequence_fd = openat(s->dir_fd, SEQUENCE,
					O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->sequence_fd >= 0 && pwrite(s->sequence_fd, text, (size_t)length, 0) != length)
		close(TAKE_FD(s->sequence_fd));
}

static uint64_t next_sequence(struct spool *s)
{
	uint64_t now_us = clock_now_ns(CLOCK_REALTIME) / 1000;

	s->sequence = MAX(now_us, s->sequence + 1);
	keep_sequence(s);
	return s->sequence;
}

static int format_line(const struct record *record, char **ret, size_t *ret_length)
{
	_cleanup_(document_freep) struct document *d = NULL;
	_cleanup_free_ char *line = NULL;
	FILE *out = open_memstream(&line, ret_length);
	int r = -ENOMEM;

	if (!out)
		return -ENOMEM;
	d = document_new_json(out, DOCUMENT_ONE_LINE);
	if (d) {
		record_format(record, d);
		r = document_finish(d);
	}
	if (fclose(out) != 0 && r == 0)
		r = -ENOMEM;
	if (r == 0)
		*ret = TAKE_PTR(line);
	return r;
}

static int write_all(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t n = write(fd, bytes, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		length -= (size_t)n;
	}
	return 0;
}

static int put(struct spool *s, const struct spool_file *file, const void *bytes)
{
	char name[SPOOL_NAME_SIZE];
	int fd = openat(s->dir_fd, TEMPORARY, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0600),
	    r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, bytes, file->bytes);
	if (close(fd) < 0 && r >= 0) /* where a network's file system says that it is full */
		r = -errno;
	spool_name_format(file, name);
	if (r >= 0 && renameat(s->dir_fd, TEMPORARY, s->dir_fd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(s->dir_fd, TEMPORARY, 0);
	return r;
}

/* The older record of the job goes; but a final one stays before a checkpoint of what went on. */
static void replace(struct spool *s, const struct spool_file *file)
{
	struct spool_file *known = idmap_get(&s->newest, file->key.halves[0]);

	s->bytes += file->bytes;
	if (known && spool_key_is_same(&known->key, &file->key)) {
		if (!spool_file_is_better(file, known))
			return;
		drop_file(s, known);
		s->bytes -= MIN(known->bytes, s->bytes);
	}
	(void)remember(s, file); /* else two versions of it are sent */
}

static int put_line(struct spool *s, struct spool_file *file, const char *line, size_t length)
{
	_cleanup_free_ void *packed = NULL;
	size_t packed_length = 0;
	int r = gzip_line_pack(line, length, &packed, &packed_length);

	if (r < 0)
		return r;
	file->bytes = packed_length;
	if (!make_room(s, file->bytes, file->is_final)) {
		s->counts.dropped[file->is_final]++;
		return 0;
	}
	r = put(s, file, packed);
	if (r < 0)
		return r;
	s->counts.written[file->is_final]++;
	replace(s, file);
	return 0;
}

int spool_write(struct spool *s, struct record *record, struct error *err)
{
	struct spool_file file = { .key = spool_key_of(record), .is_final = record->is_final };
	_cleanup_free_ char *line = NULL;
	size_t length = 0;
	int r;

	record->sequence = file.sequence = next_sequence(s);
	r = format_line(record, &line, &length);
	if (r >= 0 && length > SPOOL_LINE_MAX) {
		s->counts.dropped[file.is_final]++;
		return error_set(err, -EFBIG, "the record of job '%.100s' has more than %u MiB",
				 record->job.id, SPOOL_LINE_MAX >> 20);
	}
	if (r >= 0)
		r = put_line(s, &file, line, length);
	s->failure = r;
	if (r >= 0)
		return 0;
	s->counts.errors++;
	return error_set_errno(err, r, "cannot write a record to '%s'", s->path);
}

struct spool_counts spool_get_counts(const struct spool *s)
{
	return s->counts;
}

bool spool_has_news(struct spool *s, struct error *err)
{
	uint64_t dropped = s->counts.dropped[false] + s->counts.dropped[true];

	if (s->failure != s->told_failure) {
		s->told_failure = s->failure;
		if (s->failure)
			error_set_errno(
				err, s->failure,
				"records for the server cannot be written to '%s', and are tried again",
				s->path);
		else
			error_set(err, 0, "records for the server are written to '%s' again",
				  s->path);
		return true;
	}
	if (dropped < 2 * s->told_dropped || dropped == s->told_dropped)
		return false;
	s->told_dropped = dropped; /* at 1, 2, 4, 8... */
	error_set(err, 0,
		  "%" PRIu64 " checkpoints and %" PRIu64
		  " final records were dropped so far, since '%s' has no room for them (spool_mib)",
		  s->counts.dropped[false], s->counts.dropped[true], s->path);
	return true;
}
