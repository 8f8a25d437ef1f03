/* SPDX-License-Identifier: MIT */
/*
 * sync - what became of the jobs, by one question an interval to the resource manager.
 *
 * A question covers the time since the last one that was answered whole, and an hour before, in
 * which what came late is found; at the start a week, a day a question.  Nothing is taken of an
 * answer that is not whole: then the same time is asked for again.  Nothing here waits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct service_user;
struct store;
struct sync; /* opaque */

struct sync_options {
	const char *manager; /* "slurm" */
	const char *directory; /* of its programs, or files; "": PATH */
	const char *cluster; /* of the nodes, where the manager names none; kept by the caller */
	uint64_t interval_ns;
	const struct service_user *user;
};

/* Before rights are given up and calls are filtered. */
int sync_start(const struct sync_options *options, struct sync **ret, struct error *err);
struct sync *sync_stop(struct sync *s); /* NULL is fine; returns NULL */

int sync_fd(const struct sync *s); /* for poll(2); -1: nothing is awaited */
void sync_read(struct sync *s); /* when that is readable */
/* To be called each second; true: there is more to do at once. */
bool sync_work(struct sync *s, struct store *store, uint64_t now_ns);

struct sync_facts {
	uint64_t questions, failures; /* asked, and not answered whole */
	uint64_t runs, news, refused; /* rows: read, that said something new, that made no sense */
	uint64_t known_until_ns; /* up to then it was said what became of the jobs; 0: not yet */
	uint64_t jobs, unmeasured; /* of the last day, known to the manager; those no node measured
				    */
};
const struct sync_facts *sync_facts(const struct sync *s);
