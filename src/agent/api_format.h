/* SPDX-License-Identifier: MIT */
/* api_format - the documents that the socket answers. */
#pragma once

#include "http/http.h"
#include "node/sampler.h"

struct api_view;
struct document;
struct job_record_node;
struct record;
struct shape;

#define API_JOBS_SCHEMA "jobmeter.jobs/1"
#define API_GROUP_SCHEMA "jobmeter.group/1"
#define API_RUN_SCHEMA "jobmeter.run/1"
#define API_AGENT_SCHEMA "jobmeter.agent/1"

/* Make an answer of what @format writes into the document. */
int api_answer(void (*format)(const void *what, struct document *d), const void *what,
	       struct http_answer *ret);

/* The same of a table: the schema's name, and what @of holds. */
int api_answer_shape(const char *schema, const struct shape *shape, const void *of,
		     struct http_answer *ret);

void api_format_record(const void *record, struct document *d);

void api_format_nothing(const void *unused, struct document *d); /* an empty map */

/* All jobs of @snapshot (a reference is taken) that @view sees, made piece by piece. */
int api_stream_jobs(struct snapshot *snapshot, const struct api_view *view,
		    struct http_answer *ret);

struct api_wish { /* what a reader of snapshots has, and wants */
	uint64_t ended_ns; /* jobs that ended longer before the snapshot are left out */
	uint64_t since_ns; /* boot_ns of the one that he has, 0: none: jobs that did nothing since
			      are told in a word */
	bool in_sums; /* of files, sums by mount do */
	uint64_t ahead_ns, *ahead; /* becomes that when all of the answer, which it outlives, has
				      gone out; may be NULL */
};

/* The same as records, short ones (see wire_snapshot.h).  What @node points to outlives the answer;
 * @values are copied. */
int api_stream_snapshot(struct snapshot *snapshot, const struct api_view *view,
			const struct job_record_node *node, const struct node_values *values,
			const struct api_wish *wish, struct http_answer *ret);

struct api_ahead { /* begins as {} */
	uint64_t ns; /* a client will ask for a reading that is no older than this; 0: none will */
	uid_t uid; /* of that client */
};

/* GET /v1/snapshot.  @ahead outlives the answer: it is set when all of it has gone out to a client
 * that wants another reading. */
int api_wire_snapshot_answer(struct api_ahead *ahead, struct sampler *sampler,
			     const struct http_request *request, const struct api_view *view,
			     struct http_answer *ret);
