/* SPDX-License-Identifier: MIT */
/*
 * exposition - a snapshot as Prometheus scrapes it: OpenMetrics 1.0, or the text format 0.0.4.
 *
 * Made line by line as it is sent, never as a whole: a node's page may have 20 MB.  Families are
 * in the order of the metric table, with all series of a family together.  What is not known has no
 * series.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "model/sample.h"
#include "model/snapshot.h"

struct exposition;
struct http_answer;

enum exposition_format {
	EXPOSITION_TEXT,
	EXPOSITION_OPENMETRICS,
};

/* Which one a client takes more gladly, by its Accept header (NULL: none). */
enum exposition_format exposition_choose(const char *accept);
/* Its Content-Type. */
const char *exposition_type(enum exposition_format format);

/* A name that the site gives to a mount: "SCRATCH" for "/scratch". */
struct exposition_name {
	const char *mount, *name; /* NULL ends the list */
};

#define METRIC_PREFIX "jobmeter" /* and "_": with which all names of the tables begin */
#define METRIC_PREFIX_SIZE 40

struct exposition_options {
	enum exposition_format format;
	const char *prefix; /* "site": names begin with "site_" instead; copied; NULL: as the
			       tables have them */
	const struct snapshot *snapshot; /* has to stay until @done is called; NULL: no jobs */
	struct samples samples; /* of node and agent; taken over, on success only */
	const struct exposition_name *names; /* stay the caller's; may be NULL */
	bool (*may_see)(void *context, const struct snapshot_job *job); /* NULL: all jobs */
	void (*done)(void *context); /* called as it is freed; may be NULL */
	void *context;
};

/* -ENOMEM. */
int exposition_new(const struct exposition_options *options, struct exposition **ret);
struct exposition *exposition_free(struct exposition *e); /* NULL is fine; returns NULL */
void exposition_freep(struct exposition **e);

/* The next bytes of the page, at most @size; 0 at its end; -ENOMEM.  @context is the struct
 * exposition. */
ssize_t exposition_next(void *context, char *buffer, size_t size);

/* Make it the answer, which frees it at the end. */
void exposition_answer(struct exposition *e, struct http_answer *ret);
