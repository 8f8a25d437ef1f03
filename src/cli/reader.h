/* SPDX-License-Identifier: MIT */
/*
 * reader - where jobs of the past are read from: the site's server, its database's file, or files
 * of records.  Whatever it is, it lists jobs and gives the records of one.
 */
#pragma once

#include <stdbool.h>

#include "model/job_filter.h"

struct error;
struct job_name;
struct job_rows;
struct reader;
struct records;
struct rules;

/* @path: a database of jobmeter-server, a file of records, or a directory with such files; NULL:
 * the server.  @rules, which must outlive the reader, say of files why a job was not better; NULL:
 * nothing does.  Of a server that is not there, only the first question tells. */
int reader_open(const char *path, const struct rules *rules, struct reader **ret,
		struct error *err);
struct reader *reader_close(struct reader *r); /* NULL is fine; returns NULL */
void reader_closep(struct reader **r);

/* The jobs that match, the newest first, added to *rows.  -ENOTCONN, here and below: there is no
 * server. */
int reader_list_jobs(struct reader *r, const struct job_filter *filter, struct job_rows *rows,
		     struct error *err);

/* The records of the newest job of that name, one a node, added to *records.  -ENOENT: there is
 * none, or none that the caller may see. */
int reader_get_records(struct reader *r, const struct job_name *name, struct records *records,
		       struct error *err);

/* ---- for the sources ---- */

struct reader_source { /* one of the three; as above */
	int (*list)(void *state, const struct job_filter *filter, struct job_rows *rows,
		    struct error *err);
	int (*get)(void *state, const struct job_name *name, struct records *records,
		   struct error *err);
	void (*close)(void *state);
};

int reader_open_files(const char *path, const struct rules *rules, void **ret_state,
		      struct error *err);
bool reader_is_database(const char *path);
int reader_open_database(const char *path, void **ret_state, struct error *err);
extern const struct reader_source reader_files, reader_database;
