/* SPDX-License-Identifier: MIT */
/*
 * tracer - counts, times and reports calls of probed functions: the kernel side's programs, loaded
 * for the processes of one cgroup, or one process and those that it forks.
 *
 * Nothing of it outlives the process that opened it, however that ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/attach.h"
#include "trace/sites.h"

struct error;
struct tracer;

struct tracer_options {
	uint64_t cgroup; /* trace the processes of this group and those below; 0: see .process */
	int key_subsys; /* of the key hierarchy, as of meter_find_subsys() */
	pid_t process;
	bool is_by_group; /* all processes, and it is known which groups theirs are in: .cgroup and
			     .process are 0 */
	bool is_by_owner; /* calls of others' processes, also of what ran on by a set-user-ID
			     program, are `outside` */
	uid_t owner;
	gid_t owner_group;
	size_t ring_bytes; /* room for events on their way, a power of 2 */
	unsigned int sums_max; /* rows of sums that there is room for */
};

/* @sites is begun, outlives the tracer, and is added to.  It is off until tracer_switch(). */
int tracer_open(const struct tracer_options *options, struct sites *sites, struct tracer **ret,
		struct error *err);
/* Off, and all that was attached is not any more when it returns.  NULL is fine; returns NULL. */
struct tracer *tracer_close(struct tracer *t);
void tracer_closep(struct tracer **t);

/* At once, whatever is attached. */
void tracer_switch(struct tracer *t, bool is_on);
/* Switch off, on time even while whoever traces waits for a reader: when @fd (below 0: none) is
 * readable, or after @after_ns (0: never).  -errno. */
int tracer_end_with(struct tracer *t, int fd, uint64_t after_ns);
/* Switch off and take all probes away; events that are on their way can still be read, and sums. */
void tracer_detach(struct tracer *t);

/* Look for probes in a file, and attach them; one that is known costs next to nothing. */
int tracer_add_file(struct tracer *t, int fd, const char *path, bool is_program, struct error *err);
/* The same for all files of a process; @may_execute: each may be what it will execute.  What these
 * files show to be unsafe of returns is traced no more.  -EAGAIN: there are more at @until_ns, of
 * CLOCK_MONOTONIC. */
int tracer_add_process(struct tracer *t, pid_t pid, bool may_execute, uint64_t until_ns,
		       struct error *err);
/* A process will begin with the program at @path: returns that are unsafe there are not traced. */
int tracer_await_program(struct tracer *t, const char *path, struct error *err);
/* Trace a process, too, and what it forks: not of a cgroup. */
int tracer_trace_process(struct tracer *t, pid_t pid, struct error *err);
/* Of processes: those that are traced, at most @max; returns how many. */
size_t tracer_list_processes(const struct tracer *t, pid_t *pids, size_t max);

/* Valid during the call alone.  A negative return ends the reading, and is its result. */
typedef int (*tracer_reader)(void *context, const struct trace_event *event);

/* Hand over events that have come; a thread's in the order of their ends.  Returns how many; at
 * TRACER_BATCH it ends, since they may come faster than they are taken, and when it is switched
 * off. */
#define TRACER_BATCH 65536
int tracer_read(struct tracer *t, tracer_reader read, void *context);

/* Calls that go on now: they are handed over as events with TRACE_IS_OPEN, a thread that is in none
 * with TRACE_NO_CALL.  Not of all processes. */
int tracer_show_open(struct tracer *t);

/* All CPUs together, of a row of the sites. */
int tracer_get_counts(const struct tracer *t, size_t row, struct trace_counts *ret);

typedef int (*tracer_sums_visitor)(void *context, const struct trace_sums_key *key,
				   const struct trace_sums *sums);
/* Each a CPU's: whoever wants more adds them up. */
int tracer_visit_sums(const struct tracer *t, tracer_sums_visitor visit, void *context);

/* Read an entry and remove it, when its process is gone.  -ENOENT. */
int tracer_take_sums(struct tracer *t, const struct trace_sums_key *key, struct trace_sums *ret);

/* How many programs traced processes began so far; not of all processes. */
uint64_t tracer_exec_count(const struct tracer *t);

/* By group: how many called for the first time so far. */
uint64_t tracer_group_count(const struct tracer *t);
/* -ENOENT: of one that did not call; -EAGAIN: its first call is just made. */
int tracer_get_group(const struct tracer *t, uint64_t cgroup, struct trace_group *ret);
/* It did not call any more for long; if it does, it calls for the first time. */
void tracer_forget_group(struct tracer *t, uint64_t cgroup);

/* What a probe's trap takes by itself, as it was measured at the opening. */
const struct attach_costs *tracer_costs(const struct tracer *t);
/* Of a hit of that row, the traps alone. */
uint64_t tracer_own_ns(const struct tracer *t, const struct site_row *of);
size_t tracer_cpu_count(void);
/* What hits of a row cost since the last time, on each CPU; @before[] is what they had cost then,
 * and is set to now.  Returns what of that processes paid that are not traced. */
uint64_t tracer_add_costs(const struct tracer *t, size_t row, uint64_t *before, uint64_t *added);

/* Take a row's probes away for good, while others of its file miss nothing. */
int tracer_drop(struct tracer *t, size_t row, struct error *err);
