/* SPDX-License-Identifier: MIT */
#include "model/sections/hot_files.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"
#include "basic/text.h"
#include "model/json_place.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/shape.h"

uint64_t *hot_file_number(struct hot_file *file, enum metric_id id)
{
	assert(id >= METRIC_FILE_FIRST && id < METRIC_FILE_END);
	return &file->numbers[id - METRIC_FILE_FIRST];
}

uint64_t hot_file_get(const struct hot_file *file, enum metric_id id)
{
	return *hot_file_number((struct hot_file *)file, id);
}

bool hot_file_is_order(enum metric_id id)
{
	switch (id) {
	case METRIC_FILE_READ_SEQUENTIAL:
	case METRIC_FILE_READ_RANDOM:
	case METRIC_FILE_WRITE_SEQUENTIAL:
	case METRIC_FILE_WRITE_RANDOM:
	case METRIC_FILE_SIZE:
	case METRIC_FILE_REREAD:
	case METRIC_FILE_READ_AFTER_WRITE:
		return true;
	default:
		return false;
	}
}

/* clang-format off */
static const enum metric_id rank_parts[HOT_RANK_COUNT][6] = { /* 0, which is none of a file's, ends them */
	[HOT_BY_BYTES] = { METRIC_FILE_READ_BYTES, METRIC_FILE_WRITE_BYTES },
	[HOT_BY_CALLS] = { METRIC_FILE_READ_CALLS, METRIC_FILE_WRITE_CALLS, METRIC_FILE_OPENS,
			   METRIC_FILE_CREATES, METRIC_FILE_CLOSES, METRIC_FILE_OTHERS },
	[HOT_BY_TIME] = { METRIC_FILE_READ_SECONDS, METRIC_FILE_WRITE_SECONDS, METRIC_FILE_META_SECONDS },
};
/* clang-format on */

uint64_t hot_file_rank(const struct hot_file *file, enum hot_rank rank)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rank_parts[rank]) && rank_parts[rank][i]; i++)
		sum += hot_file_get(file, rank_parts[rank][i]);
	return sum;
}

void hot_file_add(struct hot_file *to, const struct hot_file *from)
{
	to->files += from->files;
	to->lacks_order |= from->lacks_order;
	for (size_t i = 0; i < FILE_METRICS; i++)
		to->numbers[i] += from->numbers[i];
}

/* The same file, as another rank used it. */
static void add_rank(struct hot_file *to, const struct hot_file *from)
{
	uint64_t files = MAX(to->files, from->files);
	uint64_t size = MAX(hot_file_get(to, METRIC_FILE_SIZE),
			    hot_file_get(from, METRIC_FILE_SIZE));

	hot_file_add(to, from);
	to->files = files;
	*hot_file_number(to, METRIC_FILE_SIZE) = size;
}

/* ---- as text ---- */

/* Numbers that are parts of others. */
static int check_parts(const struct place *place, void *of)
{
	const struct hot_file *file = of;
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

#define HOW_MANY METRIC_COUNT /* the number of files, to the hooks */

static bool knows(const void *root, const void *row, enum metric_id id)
{
	const struct hot_files *files = root;

	if (id == HOW_MANY)
		return files->knows_dropped;
	if (metric_get(id)->unit == UNIT_SECONDS)
		return files->has_seconds;
	return !((const struct hot_file *)row)->lacks_order || !hot_file_is_order(id);
}

static bool lacks(void *root, void *row, enum metric_id id)
{
	struct hot_files *files = root;

	if (id == HOW_MANY)
		files->knows_dropped = false;
	else if (metric_get(id)->unit == UNIT_SECONDS)
		files->has_seconds = false;
	else if (hot_file_is_order(id))
		((struct hot_file *)row)->lacks_order = true;
	else
		return false;
	return true;
}

/* clang-format off */
#define FILE_AT(member) offsetof(struct hot_file, member)
#define FILE_NUMBERS(begin, last) FILE_AT(numbers[(begin) - METRIC_FILE_FIRST]), .first = (begin), .end = (last)
#define DATA_FLAGS (SHAPE_NEEDED | SHAPE_ALWAYS | SHAPE_AS_EMPTY | SHAPE_FLAT)
#define SUMS \
	{ "read", SHAPE_NUMBERS, DATA_FLAGS, FILE_NUMBERS(METRIC_FILE_FIRST, METRIC_FILE_WRITE_BYTES) }, \
	{ "write", SHAPE_NUMBERS, DATA_FLAGS, FILE_NUMBERS(METRIC_FILE_WRITE_BYTES, METRIC_FILE_OPENS) }, \
	{ NULL, SHAPE_NUMBERS, SHAPE_NEEDED, FILE_NUMBERS(METRIC_FILE_OPENS, METRIC_FILE_END) }
#define FILE_SHAPE(table) SHAPE_OF(struct hot_file, table), .check = check_parts, .knows = knows, .lacks = lacks

static const struct field file_fields[] = {
	{ "path", SHAPE_STRING, SHAPE_KEY | SHAPE_NEEDED, FILE_AT(path) },
	{ "mount", SHAPE_STRING, SHAPE_KEY | SHAPE_NEEDED, FILE_AT(mount) },
	{ "files", SHAPE_NUMBER, SHAPE_NEEDED, FILE_AT(files) },
	SUMS,
};
static const struct shape file_shape = { FILE_SHAPE(file_fields), .max = HOT_MAX };
static const struct field list_fields[] = { { NULL, SHAPE_LIST, 0, 0, .rows = &file_shape } };
static const struct shape list_shape = { SHAPE_OF(struct hot_list, list_fields) };
static const struct field followed_fields[] = {
	{ "files", SHAPE_NUMBER, SHAPE_NEEDED, FILE_AT(files) },
	SUMS,
};
static const struct shape followed_shape = { FILE_SHAPE(followed_fields) };
static const struct field dropped_fields[] = {
	{ "files", SHAPE_NUMBER, 0, FILE_AT(files), .first = HOW_MANY },
	SUMS,
};
static const struct shape dropped_shape = { FILE_SHAPE(dropped_fields) };
#define AT(member) offsetof(struct hot_files, member)
static const struct field small_fields[] = {
	{ "files", SHAPE_NUMBER, SHAPE_NEEDED, AT(small.files) - AT(small) },
	{ "bytes", SHAPE_NUMBER, SHAPE_NEEDED, AT(small.bytes) - AT(small) },
	{ "opens", SHAPE_NUMBER, SHAPE_NEEDED, AT(small.opens) - AT(small) },
};
static const struct shape small_shape = { SHAPE_OF(((struct hot_files *)NULL)->small, small_fields) };
static const struct field fields[] = {
	{ "followed", SHAPE_MAP, SHAPE_ALWAYS | SHAPE_NEEDED, AT(total), .rows = &followed_shape },
	{ "dropped", SHAPE_MAP, SHAPE_ALWAYS | SHAPE_NEEDED, AT(dropped), .rows = &dropped_shape },
	{ "small", SHAPE_MAP, SHAPE_ALWAYS | SHAPE_FLAT | SHAPE_AS_EMPTY, AT(small), .rows = &small_shape },
	{ "hot", SHAPE_LIST, 0, AT(hot), .rows = &file_shape },
	{ "directories", SHAPE_LIST, 0, AT(dirs), .rows = &file_shape },
};
/* clang-format on */
static const struct hot_files nothing = { .is_known = true,
					  .has_seconds = true,
					  .knows_dropped = true };
static const struct shape shape = { SHAPE_OF(struct hot_files, fields), .blank = &nothing };

/* ---- lists ---- */

static void hot_file_clear(struct hot_file *file)
{
	free(file->path);
	free(file->mount);
	*file = (struct hot_file){};
}

int hot_list_add(struct hot_list *list, const char *path, const char *mount, struct hot_file **ret)
{
	struct hot_file file = { .path = strdup(path), .mount = strdup(mount), .files = 1 };

	*ret = file.path && file.mount ? shape_append(&list_shape, list, &file) : NULL;
	if (!*ret)
		hot_file_clear(&file);
	return *ret ? 0 : -ENOMEM;
}

struct hot_file *hot_list_find(const struct hot_list *list, const char *path, const char *mount)
{
	return shape_find(&list_shape, list,
			  &(const struct hot_file){ .path = (char *)path, .mount = (char *)mount });
}

static int compare_in(const struct hot_file *x, const struct hot_file *y, enum hot_rank first,
		      enum hot_rank second)
{
	const enum hot_rank ranks[] = { first, second };
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
		uint64_t a = hot_file_rank(x, ranks[i]), b = hot_file_rank(y, ranks[i]);

		if (a != b)
			return a > b ? -1 : 1;
	}
	r = strcmp(x->path, y->path);
	return r ? r : strcmp(x->mount, y->mount);
}

static int compare_bytes(const void *a, const void *b)
{
	return compare_in(a, b, HOT_BY_BYTES, HOT_BY_CALLS);
}

static int compare_calls(const void *a, const void *b)
{
	return compare_in(a, b, HOT_BY_CALLS, HOT_BY_BYTES);
}

static int compare_time(const void *a, const void *b)
{
	return compare_in(a, b, HOT_BY_TIME, HOT_BY_BYTES);
}

/* Each ranking's first are moved to the front, before those that are kept already. */
static size_t keep_first(struct hot_list *list, size_t kept, size_t shown, enum hot_rank rank,
			 int (*compare)(const void *, const void *))
{
	size_t left = list->count - kept, better = 0;
	struct hot_file *rest;

	if (left == 0) /* of an empty list there are not even items */
		return kept;
	rest = list->items + kept;
	qsort(rest, left, sizeof(*rest), compare);
	/* those kept for another reason may stand before them in this ranking, too */
	for (size_t i = 0; i < left && better < shown; i++) {
		size_t before = i;

		for (size_t k = 0; k < kept; k++)
			before += compare(&list->items[k], &rest[i]) < 0;
		if (before >= shown || hot_file_rank(&rest[i], rank) == 0)
			break;
		better++;
	}
	return kept + better;
}

void hot_list_choose(struct hot_list *list, size_t shown)
{
	size_t kept = 0;

	kept = keep_first(list, kept, shown, HOT_BY_BYTES, compare_bytes);
	kept = keep_first(list, kept, shown, HOT_BY_CALLS, compare_calls);
	kept = keep_first(list, kept, shown, HOT_BY_TIME, compare_time);
	for (size_t i = kept; i < list->count; i++)
		hot_file_clear(&list->items[i]);
	list->count = kept;
	if (kept > 1)
		qsort(list->items, kept, sizeof(*list->items), compare_bytes);
}

void hot_list_clear(struct hot_list *list)
{
	shape_clear(&list_shape, list);
}

static int merge_list(struct hot_list *to, const struct hot_list *from)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct hot_file *source = &from->items[i];
		struct hot_file *file = hot_list_find(to, source->path, source->mount);
		int r;

		if (file) {
			add_rank(file, source);
			continue;
		}
		r = hot_list_add(to, source->path, source->mount, &file);
		if (r < 0)
			return r;
		file->files = 0; /* add_rank() takes the greater */
		add_rank(file, source);
	}
	if (to->count > HOT_MERGED)
		hot_list_choose(to, HOT_SHOWN);
	return 0;
}

int hot_files_merge(void *sum, const void *part)
{
	const struct hot_files *from = part;
	struct hot_files *to = sum;
	int r;

	if (!to->is_known || !from->is_known) {
		hot_files_clear(to);
		return 0;
	}
	to->has_seconds &= from->has_seconds;
	to->knows_dropped &= from->knows_dropped;
	hot_file_add(&to->total, &from->total);
	hot_file_add(&to->dropped, &from->dropped);
	to->small.files += from->small.files;
	to->small.bytes += from->small.bytes;
	to->small.opens += from->small.opens;
	r = merge_list(&to->hot, &from->hot);
	return r < 0 ? r : merge_list(&to->dirs, &from->dirs);
}

/* What depends on where the data stood may fall: no less than nothing is told. */
static void subtract_file(struct hot_file *from, const struct hot_file *earlier)
{
	for (size_t i = 0; i < FILE_METRICS; i++) {
		if (i != METRIC_FILE_SIZE - METRIC_FILE_FIRST)
			from->numbers[i] -= MIN(from->numbers[i], earlier->numbers[i]);
	}
}

/* Returns how many may have been used before, more than @earlier tells. */
static size_t subtract_list(struct hot_list *from, const struct hot_list *earlier)
{
	size_t kept = 0, unknown = 0;

	for (size_t i = 0; i < from->count; i++) {
		struct hot_file *file = &from->items[i];
		const struct hot_file *before = hot_list_find(earlier, file->path, file->mount);

		if (before)
			subtract_file(file, before);
		else
			unknown += earlier->count >= HOT_SHOWN; /* else it had all that there were
								 */
		if (hot_file_rank(file, HOT_BY_CALLS))
			from->items[kept++] = *file;
		else
			hot_file_clear(file);
	}
	from->count = kept;
	hot_list_choose(from, HOT_SHOWN);
	return unknown;
}

int hot_files_subtract(void *later, const void *before, struct strings *notes)
{
	const struct hot_files *earlier = before;
	struct hot_files *from = later;
	size_t unknown;
	int r = 0;

	if (!from->is_known || !earlier->is_known)
		return 0;
	from->has_seconds &= earlier->has_seconds;
	subtract_file(&from->total, &earlier->total);
	subtract_file(&from->dropped, &earlier->dropped);
	memset(&from->small, 0, sizeof(from->small));
	unknown = subtract_list(&from->hot, &earlier->hot) +
		  subtract_list(&from->dirs, &earlier->dirs);
	if (unknown)
		r = strings_add(notes,
				"the numbers of %zu files and directories may be in part from "
				"before: they were not among those used most then",
				unknown);
	return r == -ENOSPC ? 0 : r;
}

void hot_files_clear(void *section)
{
	shape_clear(&shape, section);
}

/* ---- the section ---- */

static int hot_files_begin(void *ret, unsigned int counted)
{
	*(struct hot_files *)ret = nothing;
	((struct hot_files *)ret)->is_known = counted & COUNTED_HOT_FILES;
	return 0;
}

static const void *hot_files_idle(const void *section)
{
	static const struct hot_files unknown;
	const struct hot_files *files = section;

	if (!files->is_known)
		return &unknown;
	return files->has_seconds && files->knows_dropped && !files->total.files &&
			       !hot_file_rank(&files->dropped, HOT_BY_CALLS)
		       ? &nothing
		       : NULL;
}

const struct section files_section = {
	.name = "files",
	.size = sizeof(struct hot_files),
	.offset = offsetof(struct record, files),
	.counted = COUNTED_HOT_FILES,
	.is_on_demand = true,
	.shape = &shape,
	.begin = hot_files_begin,
	.idle = hot_files_idle,
	.add = hot_files_merge,
	.subtract = hot_files_subtract,
	.type = JSON_OBJECT,
};
