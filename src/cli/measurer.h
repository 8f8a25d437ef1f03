/* SPDX-License-Identifier: MIT */
/*
 * measurer - who measures a command: a meter of our own, or the agent of the node.  measure.c runs
 * the command, and asks its measurer in this order: begin, admit, start, list and look (any number
 * of times), read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child;
struct children_usage;
struct error;
struct hierarchy;
struct measure_options;
struct record;
struct traced_calls;

struct measurer {
	/* Before the command's process is there. */
	int (*begin)(struct measurer *m, struct error *err);
	/* The command's process is held back: put it where it is counted. */
	int (*admit)(struct measurer *m, pid_t pid, struct error *err);
	/* The processes of the command that live: at most @max are written, returns how many there
	 * are.  -ENOSYS: it cannot tell, and descendants have to be looked for. */
	ssize_t (*list)(struct measurer *m, pid_t *pids, size_t max);
	/* The command has just been released; may be NULL. */
	void (*start)(struct measurer *m, const struct child *child);
	/* Take what is counted now into the record's timeline; may be NULL.  -ENOSYS: it cannot
	 * tell. */
	int (*look)(struct measurer *m, struct error *err);
	/* The command has ended: what was traced of it is of whoever keeps its record, too; may be
	 * NULL. */
	int (*tell_trace)(struct measurer *m, const struct traced_calls *calls, struct error *err);
	/* The command has ended: add to the record what was counted, what was not seen, and why. */
	int (*read)(struct measurer *m, const struct child *child,
		    const struct children_usage *usage, struct record *record, struct error *err);
	void (*free)(struct measurer *m);
	/* Set after begin: what wait() tells is needed, also of processes that the command leaves.
	 */
	bool needs_children;
	/* Set by admit: the run's number, which no other run of the node has.  0: without a cgroup
	 * nothing tells it from that of another PID namespace, and our pid has to do. */
	unsigned int number;
};

void measurer_freep(struct measurer **m);

/* @options outlive it; root_fd stays the caller's; @h is NULL where there are no cgroups, and
 * @why_no_cgroups says why. */
int measurer_new_own(const struct measure_options *options, int root_fd, const struct hierarchy *h,
		     const struct error *why_no_cgroups, struct measurer **ret);
/* That of options.agent.  Its admit may fail where ours would not: then the command can still be
 * given to another. */
int measurer_new_agent(const struct measure_options *options, int root_fd,
		       const struct hierarchy *h, struct measurer **ret);

/* What wait() says of the command and those that it waited for is more than the record has. */
bool measurer_is_short(const struct child *child, const struct children_usage *usage,
		       const struct record *record);
/* Then CPU time is what wait() says, and what else those processes did is missing. */
int measurer_note_short(const struct children_usage *usage, struct record *record);
/* What a sampler counted, ours or the agent's, and what it says of it, becomes the record's; who
 * and when is the caller's to say, as is what the sources of jobs have of a process. */
int measurer_take_over(struct record *from, struct record *record);
/* Say that the numbers are what wait() tells. */
int measurer_note_children(int root_fd, struct record *record);
