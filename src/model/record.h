/* SPDX-License-Identifier: MIT */
/*
 * record - the summary of one job on one node, or merged over ranks and nodes: jobmeter.record/1.
 *
 * Strings are owned by the record; NULL means absent.  Times of day are ns since the epoch (UTC),
 * 0: absent.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/sections/load_balance.h"
#include "model/sections/hot_files.h"
#include "basic/macro.h"
#include "model/sections/ports.h"
#include "model/reading.h"
#include "model/sections/steps.h"
#include "model/sections/syscalls.h"
#include "model/sections/thermal_samples.h"
#include "model/timeline.h"
#include "model/sections/oom_list.h"

#define RECORD_SCHEMA "jobmeter.record/1"

/* Bounds of what a job can make grow. */
#define STRINGS_MAX 256
#define SURVIVORS_MAX 256
#define COMMAND_ARGUMENTS_MAX 16384
#define COMMAND_BYTES_MAX (256 * 1024)

struct error;

struct strings { /* a bounded list of owned strings */
	char **items;
	size_t count;
};
/* -ENOSPC: it is full. */
int strings_add(struct strings *list, const char *format, ...) PRINTF_LIKE(2, 3);
bool strings_contain(const struct strings *list, const char *text);
void strings_clear(struct strings *list);

/* What the tasks' own rchar and wchar say against the rows; in bytes. */
struct accounting {
	bool is_known;
	uint64_t tasks_bytes; /* rchar or wchar */
	uint64_t rows_bytes; /* sum over the rows, of the ways that the tasks' counters cover */
	uint64_t twice_bytes; /* of copies on overlay, which the tasks' counters hold twice */
};

struct survivor { /* a process that outlived the command and was left alone */
	int pid;
	char *command;
};

struct record {
	unsigned int other_owners; /* see record_share() */
	char *cluster, *node, *boot_id, *agent_version;
	uint64_t sequence;
	bool is_final;

	struct {
		char *manager, *id, *sluid, *array_id, *name, *user, *account, *partition, *qos,
			*reservation, *state;
		int64_t array_index, het_offset; /* -1: absent */
		char **command; /* NULL-ended argv */
		char *cpus_allowed; /* a CPU list, such as "0-3,8": what allocated_cores was counted
				       from */
		char *cpus_used; /* those that `cores` counts, as such a list */
		char *numa_allowed, *numa_used; /* the NUMA nodes of both, likewise */
		char *dir; /* where it was run */
		int64_t uid; /* -1: absent */
		int exit_code; /* -1: absent (signal) */
		int signal; /* 0: none */
		int rank; /* -1: none; a label only */
	} job;

	struct {
		uint64_t start_ns, end_ns;
		uint64_t measured_from_ns;
		uint64_t elapsed_ns; /* by CLOCK_BOOTTIME; merged: first start to last end */
	} time;

	struct reading reading;
	struct balance cores; /* those that it touched: was on for at least CORES_USED_PERCENT of
				 the time */
	struct balance ranks; /* by their work (see rank_work): tasks of the step that did most, or
				 records merged that are a rank each */
	struct threads threads; /* those that worked, of the process that did most: see the kernel
				   side's tasks.h */
	struct thermal_samples thermal; /* of the CPUs that it may use */
	struct oom_list oom_list; /* see memory.oom_kills for how many there were */
	struct syscalls syscalls; /* on demand */
	struct hot_files files; /* on demand */
	struct steps steps; /* as far as the manager made any */
	struct ports *ports; /* owned; what went through them while the job had the node for itself;
				NULL: not known */
	struct timeline timeline;

	struct survivor *survivors;
	size_t survivor_count;

	struct {
		struct strings tiers; /* "T0", "T2": what was on */
		struct strings missing; /* what was not seen, and why: "GPU: no driver" */
		struct strings notes; /* what weakens a number: "lower bound: ..." */
		uint64_t lost_events;
		uint64_t unmeasured_ns; /* of the time since it was measured: there was no agent
					   meanwhile */
		struct accounting read_accounting, write_accounting;
	} coverage;

	/* What its energy emitted and cost, in words, as a server said it beside the record: for
	 * reports, and in no other form of it.  NULL: not known. */
	char *emissions;

	/* Of a merged record: how many were merged, and over how many nodes.  1 for one. */
	unsigned int merged_records, merged_nodes;
};

struct record *record_new(void); /* NULL: no memory */
struct record *record_share(struct record *r); /* has one owner more; returns it */
struct record *record_free(struct record *r); /* one owner less; returns NULL */
void record_freep(struct record **r);

/* Copy a NULL-ended argv into the record; what is over the bounds is cut off. */
int record_set_command(struct record *r, char *const argv[]);

/* The job's name, else the file of its command without the directory; NULL: it has neither. */
const char *record_name(const struct record *r);

/* @command is copied, and may be NULL.  -ENOSPC: there are too many already. */
int record_add_survivor(struct record *r, int pid, const char *command);

/* tasks_bytes without what the rows and the second count of copies explain; below zero the rows
 * hold more. */
int64_t accounting_difference(const struct accounting *accounting);

/* A scalar of the whole job. */
static inline const struct value *record_value(const struct record *r, enum metric_id id)
{
	return &r->reading.values[id];
}

/* What a metric that mount_row_number() has sums to over the job's own rows: all but kernel
 * threads'. False: not known. */
bool record_total(const struct record *r, enum metric_id id, uint64_t *ret);

/* The moment since the epoch from which time.elapsed_ns counts: the job's start, or, where somebody
 * only began to watch then, that of the measurement: the one from which it reaches to the
 * timeline's end.  0: not known. */
uint64_t record_elapsed_from(const struct record *r);

/* User and system time; how many cores that kept busy on average.  False: not known. */
bool record_cpu_time(const struct record *r, uint64_t *ret_ns);
bool record_cores_busy(const struct record *r, uint64_t *ret_millicores);
/* Was a process killed because the job's own limit was reached?  Samples may have missed the peak
 * then, which was the limit. */
bool record_reached_memory_limit(const struct record *r);
/* Cores busy as a share of the allocated cores, times 10^RECORD_UTILIZATION_PLACES. */
bool record_utilization(const struct record *r, uint64_t *ret);
#define RECORD_UTILIZATION_PLACES 4

/* Time in which its threads were blocked, whatever the cause. */
bool record_blocked_time(const struct record *r, uint64_t *ret_ns);

/* The processor's own counters took turns, so that what they say was scaled. */
bool record_counters_are_estimates(const struct record *r);
/* What a note begins with of times of calls on files that were not taken of all: calls and bytes
 * are exact. */
#define RECORD_NOTE_TIMES "times of calls on files: lower bound"
/* Among the notes where processes were still ending when all was read: fewer are counted than ran.
 */
#define RECORD_NOTE_ENDING "the last milliseconds of some processes' CPU time are missing"
/* How one begins that says how long nothing was measured between records that were merged. */
#define RECORD_NOTE_BETWEEN "between the merged records, and in their elapsed time: "
/* How one begins that says what it cost to measure the job. */
#define RECORD_NOTE_METERING "jobmeter itself took "
/* Among the notes of a record whose counters are of user mode only. */
#define RECORD_NOTE_USER_MODE "hardware counters: of user mode only (kernel.perf_event_paranoid)"
/* Add to @merged's notes how much of its elapsed time is in none of @records, unless they
 * are full.  -ENOMEM. */
int record_note_between(const struct record *const *records, size_t count, struct record *merged);
/* Add what weakens the counters to the notes.  -ENOMEM, -ENOSPC. */
int record_note_counters(struct record *r, bool is_user_only);

/* Add to the notes that CPU time is more than its cores could give in the elapsed time, where it is
 * by more than what two clocks differ in.  -ENOMEM, -ENOSPC. */
int record_note_cpu_excess(struct record *r);

/* Fill the accounting from the reading's values and rows. */
void record_close_accounting(struct record *r);

/* Make the timeline end with the reading's counters, which are what was measured last.  -ENOMEM. */
int record_settle_timeline(struct record *r);

/* Merge ranks or nodes of one thing (which the caller has to know) into a new record.  Counters are
 * added, peaks are the greatest; so are timelines, where all have one.  Allocated cores are the
 * union of the CPU lists of each node (at most what the records were allocated together, if a quota
 * gave them less), added over nodes; so are limits of memory, which are one within a node.  Load
 * balance is that of all cores and ranks together, as far as each of them is in one record only; of
 * threads that of the process that did most.  The time is from the first start to the last end.
 * What they do not share (exit code, state, rank...) is absent.  -EINVAL: @count is 0. */
int record_merge(const struct record *const *records, size_t count, struct record **ret);

/* Move its times from its node's clock, which is so much ahead, to ours; its timeline's by whole
 * buckets. */
void record_correct_clock(struct record *r, int64_t ahead_ns);

/* argv and directory are equal: the same command. */
bool record_is_same_command(const struct record *a, const struct record *b);

/* The same for the same command and rank; others differ but for chance.  False: the command or its
 * directory is not known. */
bool record_command_key(const struct record *r, uint64_t *ret);

/* ---- what a job did between two of its records ---- */

/*
 * A new record of the time from @earlier to @later.  Counters and histograms are subtracted, rows
 * of files by mount and type; a row that only @later has began in between.  What only one of both
 * knows is unknown, and so is what fell, which a note says.  Peaks and limits are as @later has
 * them: a note says which peak did not rise in between, and so may be older; a step's is unknown
 * then.  A step that had ended before is left out, and so are files one by one. Samples of
 * frequency and temperature are @later's where @earlier had none yet, else unknown.
 *
 * -ESTALE: they are not of one job (manager, id, start) on one node since one boot.
 */
int record_subtract(const struct record *later, const struct record *earlier, struct record **ret,
		    struct error *err);
