/* SPDX-License-Identifier: MIT */
/*
 * reader - where jobs of the past are read from: the site's server, its database's file, or files
 * of records.  Whatever it is, it lists jobs and gives the records of one.
 */
#pragma once

#include <jansson.h>

struct error;
struct job_filter;
struct job_name;
struct reader;
struct records;

/* @path: a database of jobmeter-server, a file of records, or a directory with such files
 * (*.json), which are taken into a database in memory; or a URL, of a server that is asked by HTTP;
 * NULL: the server of this machine.  Of a server that is not
 * there, only the first question tells.  @refuse is called for what a directory has that is no
 * record, or one that the database does not take. */
int reader_open(const char *path, void (*refuse)(void *context, const struct error *err),
		void *context, struct reader **ret, struct error *err);
struct reader *reader_close(struct reader *r); /* NULL is fine; returns NULL */
void reader_closep(struct reader **r);

/* The jobs that match, the newest first, added to the empty list @jobs, each a map as GET /v1/jobs
 * has it (docs/sites/server.md).  -ENOTCONN, here and below: there is no server;
 * -ECONNREFUSED: it is away. */
int reader_list_jobs(struct reader *r, const struct job_filter *filter, json_t *jobs,
		     struct error *err);

/* What they add up to, as server_client_sum_jobs() has it.  -ENOTSUP: list them, and add. */
int reader_sum_jobs(struct reader *r, const char *by, const struct job_filter *filter, json_t **ret,
		    struct error *err);

/* What they emitted and cost, as server_client_get_emissions() has it.  -ENOTSUP: a file says
 * nothing of it. */
int reader_get_emissions(struct reader *r, const char *by, const struct job_filter *filter,
			 json_t **ret, struct error *err);

/* What they used, as server_client_get_usage() has it. */
int reader_get_usage(struct reader *r, const char *by, const char *period,
		     const struct job_filter *filter, json_t **ret, struct error *err);

/* The records of the newest job of that name, one a node, added to *records.  -ENOENT: there is
 * none, or none that the caller may see. */
int reader_get_records(struct reader *r, const struct job_name *name, struct records *records,
		       struct error *err);
