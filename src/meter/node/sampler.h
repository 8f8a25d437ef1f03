/* SPDX-License-Identifier: MIT */
/*
 * sampler - takes readings of all jobs of the node, at an interval and on request. Owns the meter,
 * the registry and their state on disk.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/node_values.h"
#include "model/snapshot.h"

struct document;
struct error;
struct group;
struct hardware_events;
struct hierarchy;
struct identity_rules;
struct job_record_node;
struct ledger;
struct map_size;
struct meter;
struct record;
struct sampler;
struct samples;
struct site_mount;
struct trace_post;

struct sampler_rule { /* a site's rule that maps a path to a job: see identity_rules_add() */
	const char *name, *manager, *pattern;
};

/*
 * One group, with all below it: nothing else is counted, and it is the only job, under whatever
 * name.  A kernel side of its own is loaded for it, which ends with the sampler.
 */
struct sampler_one {
	const struct group *group; /* outlives the sampler */
	const char *path; /* in the key hierarchy; "": not needed */
	const char *manager, *id; /* "": it is no job's */
	bool is_own; /* made for a command: the caller knows its allocation and its sensors */
	unsigned int followed_max; /* files to follow one by one; 0: none */
	const struct map_size *map_sizes; /* for tests: see meter_options; may be NULL */
	const struct hardware_events *hardware; /* for tests: what to count; NULL: what the
						   processor offers */
};

struct sampler_options { /* what it points to outlives the sampler, except the two lists */
	int root_fd; /* a directory that holds proc and sys; stays the caller's */
	unsigned int tiers; /* of enum meter_tier, by BPF; 0: without it */
	bool has_clock, has_histograms, has_block; /* of calls on files: time, sizes, block devices
						    */
	bool names_syscalls; /* count system calls by name, whatever the tiers */
	bool follows_files; /* with T2: follow files one by one; of one group see followed_max */
	bool has_units; /* systemd's units and sessions are jobs, too */
	int key; /* enum controller whose hierarchy identifies jobs on cgroup v1; < 0: the best */
	uint64_t budget; /* of each core, in millionths */
	unsigned int maps_memory_mib;
	uint64_t jobs_max, retention_ns;
	size_t user_jobs_max; /* as of struct registry_options */
	const char *cluster; /* "": none */
	const char *node; /* NULL, "": the machine's own name */
	const struct site_mount *mounts;
	size_t mount_count;
	const struct sampler_rule *rules;
	size_t rule_count;
	/* NULL: nothing is kept, and what agents left is not touched. Else the directory of the
	 * states of jobs, and where the kernel side is pinned for the next agent. */
	const char *state_dir, *pin_dir;
	const char *run_dir; /* where the site's prolog leaves facts of jobs, in jobs/; NULL: none
			      */
	const struct sampler_one *one; /* NULL: all jobs */
	uid_t uid; /* owner of the state files */
	gid_t gid;
	const struct source_settings *source_settings; /* as in struct source_options */
	/* Of the processor, as in struct source_options; and enum energy_policy. */
	const char *cpu_model;
	uint64_t cpu_tdp_watts;
	unsigned int idle_policy;
	/* Minimum age of energy values served between two readings, unless a job has ended
	 * since: frequent readings of a sensor reveal what others compute. 0: always fresh. */
	uint64_t energy_age_ns;
	const bool *has_source; /* which sources are wanted, as sources_all() has them; NULL: all */
	/* As in struct source_options. */
	bool (*may_ask)(const void *context, const char *fstype);
	const void *context;
};

/* Everything that can be counted, within 2 % of each core: an agent without configuration. */
struct sampler_options sampler_options_full(int root_fd);

/* Opens (or takes over) the kernel side, walks the tree and reads the state; as root. @err says
 * what failed; lesser failures (a missing tier) are in sampler_meter()'s hooks. */
int sampler_open(const struct sampler_options *options, struct sampler **ret, struct error *err);

/* The last reading before a clean end: the work of live jobs so far is written down for the next
 * agent, and becomes valid once sampler_close() has removed the kernel side. On failure it never
 * does: then the kernel side still has it all and is to be kept. */
int sampler_finish(struct sampler *s, struct error *err);

/* Whether the kernel side can be left to the next agent. */
bool sampler_can_keep(struct sampler *s);

/* @keeps: leave programs and maps pinned for the next agent; else nothing stays in bpffs, as far as
 * we have the rights to remove it. */
struct sampler *sampler_close(struct sampler *s, bool keeps);

/* The share of each core that the programs may use, in millionths. */
void sampler_set_budget(struct sampler *s, uint64_t budget);

/* Finds the owner of an announced run; see sampled_job.h. */
void sampler_set_owners(struct sampler *s, int64_t (*find_owner)(void *context, uint64_t group_id),
			void *context);

/* A snapshot no older than @max_age_ns, which takes a reading if need be; 0: one at the interval.
 * The caller's reference. */
int sampler_get(struct sampler *s, uint64_t max_age_ns, struct snapshot **ret, struct error *err);

/* Commands of jobs without a name are wanted: for the next 10 s readings search for them, for a
 * part of the jobs each. */
void sampler_want_commands(struct sampler *s);

/* Are tasks counted, and are they by all that the tier has? */
bool sampler_counts_tasks(struct sampler *s);
bool sampler_has_totals(struct sampler *s);
/* Wait until every task that ended is counted, at most @timeout_ms.  -ETIMEDOUT: not all are. */
int sampler_settle(struct sampler *s, int timeout_ms);

/* Of one group: its command began at that moment of CLOCK_BOOTTIME, before the first snapshot was
 * taken. */
void sampler_begin(struct sampler *s, uint64_t boot_ns);
/* The same as sampler_get(), read now but dated at the end of its command. */
int sampler_get_end(struct sampler *s, uint64_t boot_ns, uint64_t real_ns, struct snapshot **ret,
		    struct error *err);

/* The record of one job as @snapshot (which must be the last) has it: with histograms and steps;
 * final if the job has ended.  -ENOENT: no such job. */
int sampler_get_record(struct sampler *s, const struct snapshot *snapshot,
		       const struct snapshot_job *job, struct record **ret, struct error *err);

/* The counts of a trace of a job so far. Until its last one, or some time after the one before,
 * the job's final record waits. -ENOENT: no such job; -ESTALE: too many traces since this one
 * reported. */
int sampler_add_trace(struct sampler *s, const struct trace_post *post, struct error *err);

/*
 * With @waits, an ended job is kept until sampler_set_reported() (see registry_wait_for_reports()),
 * also over restarts.
 */
void sampler_wait_for_reports(struct sampler *s, bool waits);
/* The ledger's next line (node_energy.h), if one is due; the caller clears it, and calls the
 * second function when it is stored. */
bool sampler_get_ledger(struct sampler *s, struct ledger *ret);
void sampler_set_ledger_written(struct sampler *s, const struct ledger *ledger);
/* The next ended job whose cgroups are all folded and that was not reported, from *@at on, which
 * begins as 0; NULL: none. @snapshot must be the last. */
const struct snapshot_job *sampler_next_to_report(struct sampler *s,
						  const struct snapshot *snapshot, size_t *at);
void sampler_set_reported(struct sampler *s, const struct snapshot_job *job);
/* Before the first record of a job is sent, its start is written down, so that the next agent
 * uses the same. -EIO: it cannot be. */
int sampler_keep_start(struct sampler *s, const struct snapshot_job *job);

/* What it can measure of jobs: the tiers, what is missing on this node, and what the site has
 * switched off (not part of records). -ENOMEM, -ENOSPC. */
int sampler_describe(const struct sampler *s, struct record *record);

/* Numbers of the whole node at the last snapshot, read on the first request after a reading, so
 * that requests cost no more than readings. Unknown if the site has the source switched off. */
struct node_values sampler_get_node_values(struct sampler *s);

/* Numbers of the node, if they are wanted, and of the sources.  -ENOMEM, -ENOSPC. */
int sampler_put_samples(struct sampler *s, bool wants_node, struct samples *to);

/* Energy sensors, owners of the energy, and learned values, at the last reading. */
void sampler_format_energy(const struct sampler *s, struct document *d);
/* The node's GPUs and their users: jobmeter.gpus/1; processes of @only_uid only (-1: all). */
void sampler_format_gpus(const struct sampler *s, int64_t only_uid, struct document *d);

/* The node as in its records; owned by the sampler. */
void sampler_get_node(const struct sampler *s, struct job_record_node *ret);

struct meter *sampler_meter(struct sampler *s); /* NULL: no BPF */
const struct hierarchy *sampler_hierarchy(const struct sampler *s); /* NULL: no cgroups */
const struct identity_rules *sampler_rules(const struct sampler *s);

/* For poll(2): cgroups of jobs were made or removed; -EBADF: not needed. Then, and after the
 * timeout (-1: none), call sampler_take_edge(). */
int sampler_edge_fd(const struct sampler *s);
int sampler_edge_timeout_ms(const struct sampler *s);
void sampler_take_edge(struct sampler *s);

/* For poll(2): something that was asked for has come; -EBADF: nothing was.  Then call
 * sampler_work(). */
int sampler_fd(const struct sampler *s);
void sampler_work(struct sampler *s);

/* A line for the log: state that cannot be written, findings at the start, rejected files.
 * False: none. */
bool sampler_has_news(struct sampler *s, struct error *err);

struct sampler_state {
	uint64_t readings, failed_readings;
	uint64_t last_reading_ns; /* how long it took */
	uint64_t jobs_live, jobs_ended, groups;
	uint64_t walks, found_by_walk; /* what only the walk found */
	uint64_t state_errors; /* states that could not be written: the kernel side keeps their
				  counts */
	uint64_t set_aside; /* torn or foreign files of state */
	uint64_t unreported; /* jobs that were dropped before their final record was written */
	uint64_t bad_prologs; /* files that the prolog left and that were not taken */
	uint64_t reopened_files, refused_files; /* as in struct group_files_budget */
	bool is_governed; /* the following is known: see governor.h */
	uint64_t hooked_calls, cost_ns, unclocked_ns;
};
void sampler_get_state(const struct sampler *s, struct sampler_state *ret);
