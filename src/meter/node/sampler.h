/* SPDX-License-Identifier: MIT */
/*
 * sampler - takes readings of all jobs of the node: at an interval, and when one is asked for. Owns
 * the meter, the registry and what is written down of them.
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

struct sampler_rule { /* of the site's, by which a path tells whose a group is: see
			 identity_rules_add() */
	const char *name, *manager, *pattern;
};

/*
 * One group, with all below it: nothing else is counted, and it is the only job, under whatever
 * name.  A kernel side of its own is loaded for it, which ends with the sampler.
 */
struct sampler_one {
	const struct group *group; /* outlives the sampler */
	const char *path; /* in the key hierarchy; "": nobody asks */
	const char *manager, *id; /* "": it is no job's */
	bool is_own; /* made for a command, of which the caller knows the rest: what it may use, and
			its sensors */
	unsigned int followed_max; /* files to follow one by one; 0: none */
	const struct map_size *map_sizes; /* for tests: see meter_options; may be NULL */
	const struct hardware_events *hardware; /* for tests: what to count; NULL: what the
						   processor has */
};

struct sampler_options { /* what it points to outlives the sampler, but for the two lists */
	int root_fd; /* a directory that holds proc and sys; stays the caller's */
	unsigned int tiers; /* of enum meter_tier, by BPF; 0: without it */
	bool has_clock, has_histograms, has_block; /* of calls on files: time, sizes, block devices
						    */
	bool names_syscalls; /* count system calls by name, whatever the tiers */
	bool follows_files; /* with T2: follow files one by one; of one group see followed_max */
	bool has_units; /* systemd's units and sessions are jobs, too */
	int key; /* enum controller by whose groups jobs are told apart on cgroup v1; < 0: by the
		    best */
	uint64_t budget; /* of each core, in millionths */
	unsigned int maps_memory_mib;
	uint64_t jobs_max, retention_ns;
	const char *cluster; /* "": none */
	const char *node; /* NULL, "": the machine's own name */
	const struct site_mount *mounts;
	size_t mount_count;
	const struct sampler_rule *rules;
	size_t rule_count;
	/* NULL: nothing is kept for another one, and what agents left is not touched.  Else where
	 * the states of jobs are, and the kernel side is pinned, which agents take over from each
	 * other. */
	const char *state_dir, *pin_dir;
	const char *run_dir; /* where the site's prolog leaves what it knows of jobs, in jobs/;
				NULL: there is none */
	const struct sampler_one *one; /* NULL: all jobs */
	uid_t uid; /* whose the files of state are */
	gid_t gid;
	const struct source_settings *source_settings; /* as in struct source_options */
	/* Of the processor, as in struct source_options; and enum energy_policy. */
	const char *cpu_model;
	uint64_t cpu_tdp_watts;
	unsigned int idle_policy;
	/* Energy is no fresher than this to who asks between two readings at the interval, unless a
	 * job has ended since: who sees a sensor's figures often enough learns what others compute.
	 * 0: always fresh. */
	uint64_t energy_age_ns;
	const bool *has_source; /* which sources are wanted, as sources_all() has them; NULL: all */
	/* As in struct source_options. */
	bool (*may_ask)(const void *context, const char *fstype);
	const void *context;
};

/* All that can be counted, within 2 % of each core: what an agent does that nobody configured. */
struct sampler_options sampler_options_full(int root_fd);

/* Opens (or takes over) the kernel side, walks the tree and reads the state; as root.  @err says
 * what failed; lesser things (a tier that cannot be had) are in sampler_meter()'s hooks. */
int sampler_open(const struct sampler_options *options, struct sampler **ret, struct error *err);

/* The last reading before a clean end: what live jobs did so far is written down, for the next
 * agent, and holds once sampler_close() has removed the kernel side.  On failure nothing of it ever
 * holds: the kernel side still has it all, and is to be kept. */
int sampler_finish(struct sampler *s, struct error *err);

/* Whether the kernel side can be left to the next agent. */
bool sampler_can_keep(struct sampler *s);

/* @keeps: leave programs and maps pinned for the next agent; else nothing stays in bpffs, as far as
 * we have the rights to remove it. */
struct sampler *sampler_close(struct sampler *s, bool keeps);

/* From now on the programs may take so much of each core, in millionths. */
void sampler_set_budget(struct sampler *s, uint64_t budget);

/* Who knows whose a run is that was announced; see sampled_job.h. */
void sampler_set_owners(struct sampler *s, int64_t (*find_owner)(void *context, uint64_t group_id),
			void *context);

/* A snapshot no older than @max_age_ns, which takes a reading if need be; 0: one at the interval.
 * The caller's reference. */
int sampler_get(struct sampler *s, uint64_t max_age_ns, struct snapshot **ret, struct error *err);

/* Somebody looks at the jobs, who wants to see what those run that have no name: for 10 s from now
 * on readings look for that, at a part of the jobs each. */
void sampler_want_commands(struct sampler *s);

/* Are tasks counted, and are they by all that the tier has? */
bool sampler_counts_tasks(struct sampler *s);
bool sampler_has_totals(struct sampler *s);
/* Wait until every task that ended is counted, at most @timeout_ms.  -ETIMEDOUT: not all are. */
int sampler_settle(struct sampler *s, int timeout_ms);

/* Of one group: its command began at that moment of CLOCK_BOOTTIME, before the first snapshot was
 * taken. */
void sampler_begin(struct sampler *s, uint64_t boot_ns);
/* The same as sampler_get(), of now, but told as of a moment that is over: its command ended then.
 */
int sampler_get_end(struct sampler *s, uint64_t boot_ns, uint64_t real_ns, struct snapshot **ret,
		    struct error *err);

/* The record of one job as @snapshot (which must be the last) has it: with histograms and steps;
 * final if the job has ended.  -ENOENT: no such job. */
int sampler_get_record(struct sampler *s, const struct snapshot *snapshot,
		       const struct snapshot_job *job, struct record **ret, struct error *err);

/* What a trace of a job counted so far, from its begin on.  Until its last word, or some time after
 * the one before, the job's final record waits for more.  -ENOENT: there is no such job; -ESTALE:
 * too many traces told of it since this one did. */
int sampler_add_trace(struct sampler *s, const struct trace_post *post, struct error *err);

/*
 * For who has a final record of each job go elsewhere: a job that has ended is kept until he says
 * that it went (see registry_wait_for_reports()), over restarts too.
 */
void sampler_wait_for_reports(struct sampler *s, bool waits);
/* The ledger's next line (node_energy.h), which the caller clears, if one is due; when it is where
 * it goes, that is to be told. */
bool sampler_get_ledger(struct sampler *s, struct ledger *ret);
void sampler_set_ledger_written(struct sampler *s, const struct ledger *ledger);
/* The next job that has ended, whose cgroups are all in, and that was not reported, from *@at on,
 * which begins as 0; NULL: there is no more.  @snapshot must be the last. */
const struct snapshot_job *sampler_next_to_report(struct sampler *s,
						  const struct snapshot *snapshot, size_t *at);
void sampler_set_reported(struct sampler *s, const struct snapshot_job *job);
/* Before the first record of a job goes elsewhere its start is written down, so that an agent after
 * us says the same one.  -EIO: it cannot be. */
int sampler_keep_start(struct sampler *s, const struct snapshot_job *job);

/* What it sees of jobs at all: the tiers, what is missing on this node, and what the site has
 * switched off, of which no job's record speaks.  -ENOMEM, -ENOSPC. */
int sampler_describe(const struct sampler *s, struct record *record);

/* What the node as a whole does, for who looks at the last snapshot: read when somebody asks for
 * the first time after a reading, so that looking costs no more than readings do.  Nothing is known
 * where the site does not want the source. */
struct node_values sampler_get_node_values(struct sampler *s);

/* Numbers of the node, if they are wanted, and of the sources.  -ENOMEM, -ENOSPC. */
int sampler_put_samples(struct sampler *s, bool wants_node, struct samples *to);

/* Sensors of energy, whose the node's was, and what was learned, as of the last reading. */
void sampler_format_energy(const struct sampler *s, struct document *d);
/* The node's GPUs and who is on them: jobmeter.gpus/1; of processes those of @only_uid (-1: all).
 */
void sampler_format_gpus(const struct sampler *s, int64_t only_uid, struct document *d);

/* What its records say of the node; the sampler's. */
void sampler_get_node(const struct sampler *s, struct job_record_node *ret);

struct meter *sampler_meter(struct sampler *s); /* NULL: no BPF */
const struct hierarchy *sampler_hierarchy(const struct sampler *s); /* NULL: no cgroups */
const struct identity_rules *sampler_rules(const struct sampler *s);

/* For poll(2): groups of jobs were made or removed; -EBADF: nobody needs to know.  Then, and when
 * the timeout (-1: none) is over, call sampler_take_edge(), which does nothing without need. */
int sampler_edge_fd(const struct sampler *s);
int sampler_edge_timeout_ms(const struct sampler *s);
void sampler_take_edge(struct sampler *s);

/* For poll(2): something that was asked for has come; -EBADF: nothing was.  Then call
 * sampler_work(). */
int sampler_fd(const struct sampler *s);
void sampler_work(struct sampler *s);

/* What should be said once, in a line: news of writing state, of what was found at the start, of
 * files that were not taken.  False: nothing. */
bool sampler_has_news(struct sampler *s, struct error *err);

struct sampler_state {
	uint64_t readings, failed_readings;
	uint64_t last_reading_ns; /* how long it took */
	uint64_t jobs_live, jobs_ended, groups;
	uint64_t walks, found_by_walk; /* what the safety net caught */
	uint64_t state_errors; /* states that could not be written: what they hold stays in the
				  kernel side */
	uint64_t set_aside; /* torn or foreign files of state */
	uint64_t unreported; /* jobs that were dropped before their final record was written */
	uint64_t bad_prologs; /* files that the prolog left and that were not taken */
	uint64_t reopened_files, refused_files; /* as in struct group_files_budget */
	bool is_governed; /* what follows is known: see governor.h */
	uint64_t hooked_calls, cost_ns, unclocked_ns;
};
void sampler_get_state(const struct sampler *s, struct sampler_state *ret);
