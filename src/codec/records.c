/* SPDX-License-Identifier: MIT */
#include "codec/records.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "model/json_place.h"
#include "codec/record_parse.h"
#include "codec/session.h"

int records_add(struct records *list, struct record *record)
{
	struct record **larger = list->items;

	if ((list->count & (list->count - 1)) == 0) /* there is room for a power of two */
		larger = reallocarray(larger, list->count ? list->count * 2 : 1, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	list->items = larger;
	list->items[list->count++] = record;
	return 0;
}

void records_clear(struct records *list)
{
	for (size_t i = 0; i < list->count; i++)
		record_free(list->items[i]);
	free(list->items);
	*list = (struct records){};
}

/* The line of @text (from 1) at which the rest begins. */
static int line_at(const char *text, const char *rest)
{
	int line = 1;

	for (; text < rest; text++)
		line += *text == '\n';
	return line;
}

static int add_parsed(const json_t *json, struct records *list, struct error *err)
{
	_cleanup_(record_freep) struct record *record = NULL;
	int r = record_parse(json, &record, err);

	if (r == 0)
		r = records_add(list, record);
	if (r == -ENOMEM)
		return error_set_errno(err, ENOMEM, "cannot read it");
	if (r == 0)
		record = NULL;
	return r;
}

static bool is_of(const json_t *root, const char *name)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));

	return schema && strcmp(schema, name) == 0;
}

/* Its jobs; the summary can be made from them. */
static int add_session(const json_t *root, struct records *list, struct error *err)
{
	struct place place = { .err = err };
	const json_t *jobs = NULL;
	int r = place_get(&place, root, "jobs", JSON_ARRAY, &jobs);

	for (size_t i = 0; r == 0 && i < json_array_size(jobs); i++) {
		r = add_parsed(json_array_get(jobs, i), list, err);
		if (r < 0)
			error_prefix(err, r, "jobs[%zu]", i);
	}
	return r;
}

/* @ahead_ns: of the clock of the record that comes next. */
static int add(const json_t *root, struct records *list, int64_t *ahead_ns, struct error *err)
{
	const struct place place = { .err = err };
	size_t before = list->count;
	int r;

	if (is_of(root, CLOCK_SCHEMA))
		return place_take_signed(&place, root, "ahead_ns", -INT64_MAX, INT64_MAX, ahead_ns);
	r = is_of(root, SESSION_SCHEMA) ? add_session(root, list, err)
					: add_parsed(root, list, err);
	for (size_t i = before; i < list->count; i++)
		record_correct_clock(list->items[i], *ahead_ns);
	*ahead_ns = 0;
	return r;
}

static int parse_next(const char *text, const char **rest, const char *end, struct records *list,
		      int64_t *ahead_ns, struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	json_error_t error;
	int r;

	root = json_loadb(*rest, (size_t)(end - *rest),
			  JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &error);
	if (!root)
		return error_set(err, -EINVAL, "line %d: %s", line_at(text, *rest) + error.line - 1,
				 error.text);
	r = add(root, list, ahead_ns, err);
	if (r == 0)
		*rest += error.position;
	return r;
}

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

int records_parse(const char *text, size_t length, const char *name, struct records *list,
		  struct error *err)
{
	const char *end = text + length, *rest = skip_space(text, end);
	int64_t ahead_ns = 0;

	if (rest == end)
		return error_set(err, -EINVAL, "%s: it is empty", name);
	while (rest < end) {
		int r = parse_next(text, &rest, end, list, &ahead_ns, err);

		if (r < 0)
			return error_prefix(err, r, "%s", name);
		rest = skip_space(rest, end);
	}
	return 0;
}

int records_read(const char *path, struct records *list, struct error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	const char *name = is_stdin ? "standard input" : path;
	_cleanup_free_ char *text = NULL;
	size_t length;
	int r = is_stdin ? file_read_fd(STDIN_FILENO, RECORD_FILE_MAX, &text, &length)
			 : file_read(AT_FDCWD, path, RECORD_FILE_MAX, &text, &length);

	if (r == -EFBIG)
		return error_set(err, r, "%s: larger than %d MiB, and so no record", name,
				 RECORD_FILE_MAX >> 20);
	if (r < 0)
		return error_set_errno(err, r, "cannot read '%s'", name);
	return records_parse(text, length, name, list, err);
}

static int is_record_file(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && dot != entry->d_name && strcmp(dot, ".json") == 0;
}

int records_read_dir(const char *dir, struct records *list,
		     void (*refuse)(void *context, const struct error *err), void *context,
		     struct error *err)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, is_record_file, alphasort);

	if (count < 0)
		return error_set_errno(err, errno, "cannot read the directory '%s'", dir);
	for (int i = 0; i < count; i++) {
		_cleanup_free_ char *path = NULL;
		struct error why = {};

		if (asprintf(&path, "%s/%s", dir, entries[i]->d_name) < 0)
			path = NULL;
		else if (records_read(path, list, &why) < 0 && refuse)
			refuse(context, &why);
		free(entries[i]);
	}
	free(entries);
	return count ? 0 : error_set(err, -ENOENT, "there is no *.json in the directory '%s'", dir);
}
