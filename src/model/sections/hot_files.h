/* SPDX-License-Identifier: MIT */
/*
 * hot_files - what a job did with files one by one: those that it used most, the directories in
 * which they lie, and sums over all of them.
 *
 * Only so many files are followed as there was room for.  What was done with the others is in one
 * sum.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/file_op.h"
#include "model/metric.h"

struct strings;

#define HOT_SHOWN 20 /* of each ranking: by bytes, by calls, by time */
#define HOT_MAX 1024 /* of a list, as it may be read */
#define HOT_MERGED 128 /* of a list while parts and records are summed up */
#define SMALL_FILE_BYTES (64 * 1024)

#define FILE_METRICS (METRIC_FILE_END - METRIC_FILE_FIRST)

/* A file, a directory, or a sum over some. */
struct hot_file {
	char *path; /* owned; NULL: a sum */
	char *mount; /* owned: the row of files in which it stands */
	uint64_t files; /* how many files it is about: of one path, those that had it one after the
			   other */
	bool lacks_order; /* sizes, and what depends on where the data stood, are not known */
	uint64_t numbers[FILE_METRICS];
};

struct hot_list { /* each path of a mount once */
	struct hot_file *items; /* owned */
	size_t count;
};

struct hot_files {
	bool is_known;
	bool has_seconds;
	bool knows_dropped; /* how many are in @dropped */
	struct hot_file total; /* all that were followed, files and directories */
	struct hot_file dropped; /* all that were not */
	struct { /* files below SMALL_FILE_BYTES of which something, but no more, was read or
		    written */
		uint64_t files, bytes, opens; /* opens: with creates */
	} small;
	struct hot_list hot, dirs;
};

uint64_t *hot_file_number(struct hot_file *file, enum metric_id id);
uint64_t hot_file_get(const struct hot_file *file, enum metric_id id);
/* Is it one of those that hot_file.lacks_order is about? */
bool hot_file_is_order(enum metric_id id);

/* What the lists are ranked by. */
enum hot_rank { HOT_BY_BYTES, HOT_BY_CALLS, HOT_BY_TIME, HOT_RANK_COUNT };
uint64_t hot_file_rank(const struct hot_file *file, enum hot_rank rank);

/* Add the numbers of another file. */
void hot_file_add(struct hot_file *to, const struct hot_file *from);

/* The strings are copied, and @ret belongs to the list until its next call.  -ENOMEM. */
int hot_list_add(struct hot_list *list, const char *path, const char *mount, struct hot_file **ret);
struct hot_file *hot_list_find(const struct hot_list *list, const char *path, const char *mount);
/* Keep the first @shown of each ranking, and sort by bytes, calls and path. */
void hot_list_choose(struct hot_list *list, size_t shown);
void hot_list_clear(struct hot_list *list);

/* Add what another rank or node did: sums by path, over the records that tell of it.  What one of
 * the two does not know is unknown. */
int hot_files_merge(void *sum, const void *part); /* struct hot_files */

/* Leave what came after @earlier, of the files that are in the list: of one that was not among
 * those used most then, all that was done with it, which @notes say.  Where @earlier is unknown it
 * all came after it.  How many small files were used is not told.  -ENOMEM. */
int hot_files_subtract(void *later, const void *earlier, struct strings *notes);

/* Leaves it empty, and unknown. */
void hot_files_clear(void *section); /* struct hot_files */
