/* SPDX-License-Identifier: MIT */
/*
 * hardware - the processor's own counters, of a process with its descendants or of a cgroup.
 *
 * A processor has few counters. Beyond that, events take turns, and counts are scaled by the share
 * of time in which they counted: estimates. Then METRIC_CPU_COUNTERS_RUNNING, the CPU time in which
 * all of them counted, is less than METRIC_CPU_COUNTERS_ENABLED, that in which they should have.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/hardware_events.h"
#include "model/reading.h"

struct cpulist;
struct error;
struct hardware;
struct hierarchy;

/* A cgroup by its path. */
struct hardware_place {
	int root_fd;
	const struct hierarchy *hierarchy;
	const char *path; /* in the key hierarchy */
	const char *cpus; /* a CPU list: those that it may use; NULL: not known */
};

/*
 * Count @pid, its threads and processes that it starts from now on or, with @at_exec, from its next
 * execve() on. The caller must be allowed to trace it; without CAP_PERFMON,
 * kernel.perf_event_paranoid 2 permits user mode only.
 *
 * Each event is read separately: before 6.13 the kernel refuses groups of inherited events. Events
 * that the machine lacks are left out. If none is left: -ENODEV (the machine has none), -EACCES or
 * -EMFILE, with the reason in *err.
 */
int hardware_open_process(const struct hardware_events *events, pid_t pid, bool at_exec,
			  struct hardware **ret, struct error *err);

/* Count a cgroup with those below it on @cpus; @cgroup_fd, the caller's, is its directory in the
 * hierarchy with perf_event. Takes a descriptor for each event and CPU, at most @descriptors_max
 * (-E2BIG), and CAP_PERFMON. */
int hardware_open_group(const struct hardware_events *events, int cgroup_fd,
			const struct cpulist *cpus, size_t descriptors_max, struct hardware **ret,
			struct error *err);

/* The same of a group by its path.  Of v1 the hierarchy with perf_event may be missing, or the
 * group not in it
 * (-ENOENT). */
int hardware_open_path(const struct hardware_events *events, const struct hardware_place *place,
		       size_t descriptors_max, struct hardware **ret, struct error *err);

struct hardware *hardware_close(struct hardware *h); /* NULL is fine; returns NULL */
void hardware_closep(struct hardware **h);

/* Set the counted ones of @values to their counts since it was opened; they never fall. */
void hardware_read(struct hardware *h, struct value values[METRIC_JOB_COUNT]);

/* Texts of a record about hardware counters begin with this. */
#define HARDWARE_LABEL "hardware counters: "

/* Is it a metric that this can count? */
bool hardware_counts(enum metric_id id);

/* ---- one event at one place ---- */

struct hardware_counts { /* begins as {} */
	uint64_t count, enabled_ns, running_ns; /* as the kernel said them last */
	uint64_t scaled; /* all of it, including what was missed during turns of others */
};

/* It went on since: the new part is scaled by the new times.  One that had no turn meanwhile waits
 * for its next. */
void hardware_counts_take(struct hardware_counts *t, uint64_t count, uint64_t enabled_ns,
			  uint64_t running_ns);
