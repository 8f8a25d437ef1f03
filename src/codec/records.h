/* SPDX-License-Identifier: MIT */
/* records - a list of records, and how they come back from files. */
#pragma once

#include <stddef.h>

#include "model/record.h"

struct error;

#define RECORD_FILE_MAX (16 * 1024 * 1024)

struct records { /* a list of owned records */
	struct record **items;
	size_t count;
};
int records_add(struct records *list, struct record *record); /* takes it over, on success only */
void records_clear(struct records *list);

/* Says in the line before a record how far the clock of its node was ahead ("ahead_ns"). */
#define CLOCK_SCHEMA "jobmeter.clock/1"

/* Read one record, or several behind each other (NDJSON), and add them to @list; of a session its
 * jobs.  Times of those behind a line of CLOCK_SCHEMA are corrected.  @name says in errors whose
 * text it is.  -EINVAL: not a record; the list then holds those before it. */
int records_parse(const char *text, size_t length, const char *name, struct records *list,
		  struct error *err);

/* The same for a file; @path "-" is the standard input. */
int records_read(const char *path, struct records *list, struct error *err);

/* The same for each *.json of a directory, in the order of their names.  What is no record is
 * passed over, and handed to @refuse (NULL: to nobody).  -ENOENT: there is no such file. */
int records_read_dir(const char *dir, struct records *list,
		     void (*refuse)(void *context, const struct error *err), void *context,
		     struct error *err);
