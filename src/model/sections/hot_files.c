/* SPDX-License-Identifier: MIT */
#include "model/sections/hot_files.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/macro.h"
#include "basic/text.h"
#include "model/record.h"

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

static void hot_file_clear(struct hot_file *file)
{
	free(file->path);
	free(file->mount);
	*file = (struct hot_file){};
}

int hot_list_add(struct hot_list *list, const char *path, const char *mount, struct hot_file **ret)
{
	struct hot_file file = { .path = strdup(path), .mount = strdup(mount), .files = 1 };

	if (!file.path || !file.mount ||
	    array_reserve(&list->items, &list->room, list->count, sizeof(*list->items)) < 0) {
		hot_file_clear(&file);
		return -ENOMEM;
	}
	list->items[list->count] = file;
	*ret = &list->items[list->count++];
	return 0;
}

struct hot_file *hot_list_find(const struct hot_list *list, const char *path, const char *mount)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i].path, path) == 0 &&
		    strcmp(list->items[i].mount, mount) == 0)
			return &list->items[i];
	}
	return NULL;
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
	for (size_t i = 0; i < list->count; i++)
		hot_file_clear(&list->items[i]);
	free(list->items);
	*list = (struct hot_list){};
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
	struct hot_files *files = section;

	hot_list_clear(&files->hot);
	hot_list_clear(&files->dirs);
	*files = (struct hot_files){};
}
