/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "model/file_op.h"
#include "model/sections/hot_files.h"
#include "model/json_place.h"
#include "basic/macro.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"

/* ---- writing ---- */

static bool knows(const struct hot_files *files, const struct hot_file *file,
		  const struct metric *metric)
{
	if (metric->unit == UNIT_SECONDS)
		return files->has_seconds;
	return !file->lacks_order || !hot_file_is_order(metric_id_of(metric));
}

static void format_numbers(const struct hot_files *files, const struct hot_file *file,
			   const char *section, struct document *d)
{
	for (size_t i = METRIC_FILE_FIRST; i < METRIC_FILE_END; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (metric->scope != SCOPE_FILE || strcmp(metric->section, section) != 0)
			continue;
		document_key(d, metric->key);
		if (knows(files, file, metric))
			document_decimal(d, hot_file_get(file, (enum metric_id)i),
					 metric_unit_places(metric->unit));
		else
			document_null(d);
	}
}

static const char *const data_sections[OP_DATA_COUNT] = { "files.read", "files.write" };

static void format_sums(const struct hot_files *files, const struct hot_file *file,
			struct document *d)
{
	for (size_t op = 0; op < OP_DATA_COUNT; op++) {
		document_begin_flat_map_of(d, file_op_name((enum file_op)op));
		format_numbers(files, file, data_sections[op], d);
		document_end_map(d);
	}
	format_numbers(files, file, "files", d);
}

static void format_total(const struct hot_files *files, const char *key, bool knows_files,
			 const struct hot_file *file, struct document *d)
{
	document_begin_map_of(d, key);
	document_key(d, "files");
	if (knows_files)
		document_unsigned(d, file->files);
	else
		document_null(d);
	format_sums(files, file, d);
	document_end_map(d);
}

static void format_list(const struct hot_files *files, const char *key, const struct hot_list *list,
			struct document *d)
{
	document_begin_list_of(d, key);
	for (size_t i = 0; i < list->count; i++) {
		document_begin_map(d);
		document_put_string(d, "path", list->items[i].path);
		document_put_string(d, "mount", list->items[i].mount);
		document_put_unsigned(d, "files", list->items[i].files);
		format_sums(files, &list->items[i], d);
		document_end_map(d);
	}
	document_end_list(d);
}

static void hot_files_format(const void *section, struct document *d)
{
	const struct hot_files *files = section;

	document_begin_map(d);
	format_total(files, "followed", true, &files->total, d);
	format_total(files, "dropped", files->knows_dropped, &files->dropped, d);
	document_begin_flat_map_of(d, "small");
	document_put_unsigned(d, "files", files->small.files);
	document_put_unsigned(d, "bytes", files->small.bytes);
	document_put_unsigned(d, "opens", files->small.opens);
	document_end_map(d);
	format_list(files, "hot", &files->hot, d);
	format_list(files, "directories", &files->dirs, d);
	document_end_map(d);
}

/* ---- reading ---- */

static int take_number(const struct place *place, const json_t *map, const struct metric *metric,
		       struct hot_file *file, struct hot_files *files)
{
	enum metric_id id = metric_id_of(metric);
	uint64_t *number = hot_file_number(file, id);
	bool is_known;
	int r;

	if (metric->unit != UNIT_SECONDS && !hot_file_is_order(id))
		return place_need_number(place, map, metric->key, number);
	r = place_take_number(place, map, metric->key, metric_unit_places(metric->unit), number,
			      &is_known);
	if (metric->unit == UNIT_SECONDS)
		files->has_seconds &= is_known;
	else
		file->lacks_order |= !is_known;
	return r;
}

static int take_numbers(const struct place *place, const json_t *map, const char *section,
			struct hot_file *file, struct hot_files *files)
{
	int r = 0;

	for (size_t i = METRIC_FILE_FIRST; r == 0 && i < METRIC_FILE_END; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (metric->scope == SCOPE_FILE && strcmp(metric->section, section) == 0)
			r = take_number(place, map, metric, file, files);
	}
	return r;
}

/* Numbers that are parts of others. */
static int check_parts(const struct place *place, const struct hot_file *file)
{
	static const struct {
		enum metric_id whole, part, other;
		const char *key, *words;
	} rules[] = {
		{ METRIC_FILE_READ_BYTES, METRIC_FILE_READ_SEQUENTIAL, METRIC_FILE_READ_RANDOM,
		  "read.bytes", "is less than its sequential and random bytes" },
		{ METRIC_FILE_WRITE_BYTES, METRIC_FILE_WRITE_SEQUENTIAL, METRIC_FILE_WRITE_RANDOM,
		  "write.bytes", "is less than its sequential and random bytes" },
		{ METRIC_FILE_READ_BYTES, METRIC_FILE_REREAD, METRIC_COUNT, "reread_bytes",
		  "is more than was read" },
		{ METRIC_FILE_READ_BYTES, METRIC_FILE_READ_AFTER_WRITE, METRIC_COUNT,
		  "read_after_write_bytes", "is more than was read" },
		{ METRIC_FILE_READ_CALLS, METRIC_FILE_READ_ERRORS, METRIC_COUNT, "read.calls",
		  "is less than its errors" },
		{ METRIC_FILE_WRITE_CALLS, METRIC_FILE_WRITE_ERRORS, METRIC_COUNT, "write.calls",
		  "is less than its errors" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		uint64_t whole = hot_file_get(file, rules[i].whole),
			 part = hot_file_get(file, rules[i].part);
		uint64_t other = rules[i].other < METRIC_COUNT ? hot_file_get(file, rules[i].other)
							       : 0;

		if (part > whole || other > whole - part)
			return place_refuse(place, rules[i].key, "%s", rules[i].words);
	}
	return 0;
}

static int take_sums(const struct place *place, const json_t *map, struct hot_file *file,
		     struct hot_files *files)
{
	int r = 0;

	for (size_t op = 0; r == 0 && op < OP_DATA_COUNT; op++) {
		const char *name = file_op_name((enum file_op)op);
		struct place here = place_below(place, name);
		const json_t *section;

		r = place_get(place, map, name, JSON_OBJECT, &section);
		if (r == 0)
			r = take_numbers(&here, section, data_sections[op], file, files);
	}
	if (r == 0)
		r = take_numbers(place, map, "files", file, files);
	return r < 0 ? r : check_parts(place, file);
}

static int take_total(const struct place *place, const json_t *map, const char *key,
		      struct hot_file *file, bool *ret_knows_files, struct hot_files *files)
{
	struct place here = place_below(place, key);
	const json_t *section;
	int r = place_get(place, map, key, JSON_OBJECT, &section);

	if (r == 0 && !section)
		return place_refuse(place, key, "is missing");
	if (r == 0)
		r = place_take_number(&here, section, "files", 0, &file->files, ret_knows_files);
	return r < 0 ? r : take_sums(&here, section, file, files);
}

static int take_small(const struct place *place, const json_t *map, struct hot_files *files)
{
	struct place here = place_below(place, "small");
	const json_t *small;
	int r = place_get(place, map, "small", JSON_OBJECT, &small);

	if (r == 0)
		r = place_need_number(&here, small, "files", &files->small.files);
	if (r == 0)
		r = place_need_number(&here, small, "bytes", &files->small.bytes);
	return r < 0 ? r : place_need_number(&here, small, "opens", &files->small.opens);
}

static int take_entry(const struct place *place, const json_t *map, struct hot_list *list,
		      struct hot_files *files)
{
	_cleanup_free_ char *path = NULL, *mount = NULL;
	struct hot_file *file;
	int r;

	if (!json_is_object(map))
		return place_refuse(place, "", "is %s and should be a map", place_type_name(map));
	r = place_take_string(place, map, "path", &path);
	if (r == 0)
		r = place_take_string(place, map, "mount", &mount);
	if (r < 0)
		return r;
	if (!path || !mount)
		return place_refuse(place, path ? "mount" : "path", "is missing");
	if (hot_list_find(list, path, mount))
		return place_refuse(place, "path", "stands there twice");
	r = hot_list_add(list, path, mount, &file);
	if (r == 0)
		r = place_need_number(place, map, "files", &file->files);
	return r < 0 ? r : take_sums(place, map, file, files);
}

static int take_list(const struct place *place, const json_t *map, const char *key,
		     struct hot_list *list, struct hot_files *files)
{
	const json_t *json;
	int r = place_get(place, map, key, JSON_ARRAY, &json);

	if (r == 0 && json && json_array_size(json) > HOT_MAX)
		return place_refuse(place, key, "has more than %d entries", HOT_MAX);
	for (size_t i = 0; r == 0 && json && i < json_array_size(json); i++) {
		struct place here = place_item(place, key, i);

		r = take_entry(&here, json_array_get(json, i), list, files);
	}
	return r;
}

static int hot_files_parse(const struct place *place, const json_t *map, void *section)
{
	struct hot_files *ret = section;
	bool knows_followed = false;
	int r;

	ret->is_known = ret->has_seconds = true; /* until something is missing */
	r = take_total(place, map, "followed", &ret->total, &knows_followed, ret);
	if (r == 0 && !knows_followed)
		r = place_refuse(place, "followed.files", "is missing");
	if (r == 0)
		r = take_total(place, map, "dropped", &ret->dropped, &ret->knows_dropped, ret);
	if (r == 0)
		r = take_small(place, map, ret);
	if (r == 0)
		r = take_list(place, map, "hot", &ret->hot, ret);
	return r < 0 ? r : take_list(place, map, "directories", &ret->dirs, ret);
}

/* ---- the section ---- */

static int hot_files_begin(void *ret, unsigned int counted)
{
	*(struct hot_files *)ret = (struct hot_files){ .is_known = counted & COUNTED_HOT_FILES,
						       .has_seconds = true,
						       .knows_dropped = true };
	return 0;
}

static const void *hot_files_idle(const void *section)
{
	static const struct hot_files idle[2] = {
		[1] = { .is_known = true, .has_seconds = true, .knows_dropped = true }
	};
	const struct hot_files *files = section;

	if (!files->is_known)
		return &idle[0];
	return files->has_seconds && files->knows_dropped && !files->total.files &&
			       !hot_file_rank(&files->dropped, HOT_BY_CALLS)
		       ? &idle[1]
		       : NULL;
}

const struct section files_section = {
	.name = "files",
	.size = sizeof(struct hot_files),
	.offset = offsetof(struct record, files),
	.counted = COUNTED_HOT_FILES,
	.is_on_demand = true,
	.begin = hot_files_begin,
	.clear = hot_files_clear,
	.idle = hot_files_idle,
	.add = hot_files_merge,
	.subtract = hot_files_subtract,
	.format = hot_files_format,
	.type = JSON_OBJECT,
	.parse = hot_files_parse,
};
