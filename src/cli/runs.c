/* SPDX-License-Identifier: MIT */
#include "cli/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "basic/file.h"
#include "codec/record_format.h"
#include "codec/records.h"
#include "basic/replacement.h"
#include "basic/text.h"

#define NS_PER_S UINT64_C(1000000000)
#define ENDING ".json"
#define KEY_DIGITS 16

/* The names of the runs, the oldest first: they begin with the time. */
struct runs {
	char *dir;
	struct dirent **entries;
	size_t count;
};

static void runs_close(struct runs *runs)
{
	for (size_t i = 0; i < runs->count; i++)
		free(runs->entries[i]);
	free(runs->entries);
	free(runs->dir);
}

static char *find_dir(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *baseline = getenv("HOME");
	char *dir;
	int r;

	if (state && *state == '/') /* a relative one is to be ignored */
		r = asprintf(&dir, "%s/jobmeter/runs", state);
	else if (geteuid() == 0)
		r = asprintf(&dir, "/var/lib/jobmeter/runs");
	else
		r = asprintf(&dir, "%s/.local/state/jobmeter/runs", baseline ? baseline : "");
	return r < 0 ? NULL : dir;
}

/* Names that we gave: "20260203T040506.123456789Z-1234-0123456789abcdef.json"; before there was a
 * key of the command, without it. */
static int is_run(const struct dirent *entry)
{
	const char *name = entry->d_name;
	size_t length = strlen(name);

	return strspn(name, "0123456789") == 8 && name[8] == 'T' && length > strlen(ENDING) &&
	       strcmp(name + length - strlen(ENDING), ENDING) == 0;
}

/* A directory that is not there has no runs. */
static int runs_open(struct runs *ret)
{
	struct runs runs = { .dir = find_dir() };
	int count;

	if (!runs.dir)
		return -ENOMEM;
	count = scandir(runs.dir, &runs.entries, is_run, alphasort);
	if (count < 0 && errno != ENOENT) {
		int error = errno;

		free(runs.dir);
		return -error;
	}
	runs.count = count < 0 ? 0 : (size_t)count;
	*ret = runs;
	return 0;
}

static int path_of(const char *dir, const char *name, char **ret)
{
	return asprintf(ret, "%s/%s", dir, name) < 0 ? -ENOMEM : 0;
}

/* The @i-th run's record; the directory's other files may be broken, or gone by now. */
static int runs_read(const struct runs *runs, size_t i, struct record **ret, struct error *err)
{
	_cleanup_free_ char *path = NULL;
	struct records list = {};
	int r = path_of(runs->dir, runs->entries[i]->d_name, &path);

	if (r == 0)
		r = records_read(path, &list, err);
	if (r == 0) /* a file holds one at least */
		*ret = TAKE_PTR(list.items[0]);
	records_clear(&list);
	return r;
}

static void prune(const char *dir)
{
	_cleanup_(runs_close) struct runs runs = {};

	if (runs_open(&runs) < 0)
		return;
	for (size_t i = 0; i + RUNS_KEPT < runs.count; i++) {
		_cleanup_free_ char *path = NULL;

		if (path_of(dir, runs.entries[i]->d_name, &path) == 0)
			unlink(path);
	}
}

/* "20260203T040506.123456789Z": in their order these stand in that of time. */
struct name_time {
	char text[64];
};

static struct name_time name_time_of(const struct record *record)
{
	time_t seconds = (time_t)(record->time.start_ns / NS_PER_S);
	struct name_time t;
	struct tm tm = {};
	size_t length;

	gmtime_r(&seconds, &tm);
	length = strftime(t.text, sizeof(t.text), "%Y%m%dT%H%M%S", &tm);
	snprintf(t.text + length, sizeof(t.text) - length, ".%09uZ",
		 (unsigned int)(record->time.start_ns % NS_PER_S));
	return t;
}

static int name_for(const struct record *record, char **ret)
{
	struct name_time t = name_time_of(record);
	uint64_t key;
	int r;

	if (record_command_key(record, &key))
		r = asprintf(ret, "%s-%s-%0*" PRIx64 ENDING, t.text, record->job.id, KEY_DIGITS,
			     key);
	else
		r = asprintf(ret, "%s-%s" ENDING, t.text, record->job.id);
	return r < 0 ? -ENOMEM : 0;
}

/* What a name says of the command. */
struct stem {
	size_t length; /* of what stands before it */
	bool has_key;
	uint64_t key;
};

static struct stem stem_of(const char *name)
{
	struct stem stem = { .length = strlen(name) - strlen(ENDING) };
	const char *key = name + stem.length - KEY_DIGITS;

	if (stem.length <= KEY_DIGITS + 1 || key[-1] != '-' ||
	    strspn(key, "0123456789abcdef") != KEY_DIGITS)
		return stem;
	stem.key = strtoull(key, NULL, 16);
	stem.has_key = true;
	stem.length -= KEY_DIGITS + 1;
	return stem;
}

static int write_record(const struct record *record, const char *path, struct error *err)
{
	_cleanup_(replacement_abandon) struct replacement file = {};
	_cleanup_(document_freep) struct document *d = NULL;
	int r = replacement_open(path, 0600, &file, err);

	if (r < 0)
		return r;
	d = document_new_json(file.stream, DOCUMENT_INDENTED);
	if (!d)
		return error_set_errno(err, ENOMEM, "cannot write '%s'", path);
	record_format(record, d);
	r = document_finish(d);
	if (r < 0)
		return error_set_errno(err, r, "cannot write '%s'", path);
	return replacement_commit(&file, err);
}

int runs_store(const struct record *record, char **ret_path, struct error *err)
{
	_cleanup_free_ char *dir = find_dir(), *name = NULL, *path = NULL;
	int r;

	if (!dir || name_for(record, &name) < 0 || path_of(dir, name, &path) < 0)
		return error_set_errno(err, ENOMEM, "cannot keep the record");
	r = file_make_dirs(dir, 0700);
	if (r < 0)
		return error_set_errno(err, r, "cannot make the directory '%s'", dir);
	r = write_record(record, path, err);
	if (r < 0)
		return r;
	prune(dir);
	if (ret_path)
		*ret_path = TAKE_PTR(path);
	return 0;
}

/* What a signal ended did not do the same work, and of milliseconds most is the start.  Shells tell
 * of a signal as 128 and its number. */
#define WHOLE_NS_MIN UINT64_C(1000000000)
#define SIGNAL_CODE_MIN 128
static bool is_whole(const struct record *r)
{
	return r->time.elapsed_ns >= WHOLE_NS_MIN && r->job.signal == 0 &&
	       r->job.exit_code < SIGNAL_CODE_MIN;
}

/* By its name alone; one without a key may be. */
static bool may_be_before(const char *name, const struct name_time *now, uint64_t key)
{
	struct stem stem = stem_of(name);

	return (!stem.has_key || stem.key == key) &&
	       strncmp(name, now->text, strlen(now->text)) < 0;
}

int runs_find_last_same(const struct record *record, struct record **ret)
{
	_cleanup_(runs_close) struct runs runs = {};
	struct name_time now = name_time_of(record);
	uint64_t key;
	int r = is_whole(record) && record_command_key(record, &key) ? runs_open(&runs) : -ENOENT;

	if (r < 0)
		return r;
	for (size_t i = runs.count; i > 0; i--) {
		_cleanup_(record_freep) struct record *last = NULL;

		if (!may_be_before(runs.entries[i - 1]->d_name, &now, key) ||
		    runs_read(&runs, i - 1, &last, NULL) < 0 || !last ||
		    !(is_whole(last) && record_is_same_command(last, record) &&
		      last->job.rank == record->job.rank &&
		      last->time.end_ns <= record->time.start_ns))
			continue;
		*ret = TAKE_PTR(last);
		return 0;
	}
	return -ENOENT;
}

/* "...Z-1234", or with the key of the command behind it. */
static bool has_id(const char *name, const char *id)
{
	size_t length = strlen(id);

	return strncmp(name, id, length) == 0 &&
	       (length == stem_of(name).length || strcmp(name + length, ENDING) == 0);
}

/* "1234", or as reports say it, "run/1234". */
static bool is_named(const struct record *record, const char *name)
{
	const char *slash = strchr(name, '/');
	size_t length = slash ? (size_t)(slash - name) : 0;

	if (!slash)
		return text_is_equal(record->job.id, name);
	return record->job.manager && strlen(record->job.manager) == length &&
	       strncmp(record->job.manager, name, length) == 0 &&
	       text_is_equal(record->job.id, slash + 1);
}

int runs_find(const char *id, struct record **ret, struct error *err)
{
	_cleanup_(runs_close) struct runs runs = {};
	int r = runs_open(&runs);

	if (r < 0)
		return error_set_errno(err, r, "cannot read the directory of local runs");
	for (size_t i = runs.count; i > 0; i--) {
		if (has_id(runs.entries[i - 1]->d_name, id))
			return runs_read(&runs, i - 1, ret, err);
	}
	for (size_t i = runs.count; i > 0; i--) {
		_cleanup_(record_freep) struct record *record = NULL;

		if (runs_read(&runs, i - 1, &record, NULL) < 0 || !record || !is_named(record, id))
			continue;
		*ret = TAKE_PTR(record);
		return 0;
	}
	return error_set(err, -ENOENT, "there is no local run '%s'", id);
}

int runs_find_newest(struct record **ret, struct error *err)
{
	_cleanup_(runs_close) struct runs runs = {};
	int r = runs_open(&runs);

	if (r < 0)
		return error_set_errno(err, r, "cannot read the directory of local runs");
	if (runs.count == 0)
		return error_set(err, -ENOENT,
				 "there is no local run yet; 'jobmeter run -- COMMAND' makes one");
	return runs_read(&runs, runs.count - 1, ret, err);
}

char *runs_directory(void)
{
	_cleanup_(runs_close) struct runs runs = {};

	return runs_open(&runs) == 0 && runs.count ? TAKE_PTR(runs.dir) : NULL;
}
