/* SPDX-License-Identifier: MIT */
/*
 * sampler - takes readings of all jobs of the node: at an interval, and when one is asked for. Owns
 * the meter, the registry and what is written down of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "snapshot.h"

struct config;
struct error;
struct hierarchy;
struct identity_rules;
struct job_record_node;
struct meter;
struct record;
struct sampler;
struct samples;

struct sampler_options { /* the configuration outlives the sampler */
	const struct config *config;
	int root_fd; /* a folder that holds proc and sys; stays the caller's */
	/* Whose the files of state are. */
	uid_t uid;
	gid_t gid;
	/* NULL: the configuration's, which agents take over from each other.  Else a folder of our own, without an
	 * agent: nothing is left for another one, and what agents left there is not touched. */
	const char *state_dir;
	const bool *has_source; /* which sources are wanted, as sources_all() has them; NULL: all */
	/* As in struct source_options. */
	bool (*may_ask)(const void *context, const char *fstype);
	const void *context;
};

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

/* Another configuration holds from now on, as far as it may change while we run. */
void sampler_configure(struct sampler *s, const struct config *config);

/* Who knows whose a run is that was announced; see sampled_job.h. */
void sampler_set_owners(struct sampler *s, int64_t (*find_owner)(void *context, uint64_t group_id),
			void *context);

/* A snapshot no older than @max_age_ns, which takes a reading if need be; the caller's reference.
 */
int sampler_get(struct sampler *s, uint64_t max_age_ns, struct snapshot **ret, struct error *err);

/* Somebody looks at the jobs, who wants to see what those run that have no name: for 10 s from now on readings look for
 * that, at a part of the jobs each. */
void sampler_want_commands(struct sampler *s);

/* The record of one job as @snapshot (which must be the last) has it: with histograms and steps;
 * final if the job has ended.  -ENOENT: no such job. */
int sampler_get_record(struct sampler *s, const struct snapshot *snapshot,
		       const struct snapshot_job *job, struct record **ret, struct error *err);

/* What it sees of jobs at all: the tiers, what is missing on this node, and what the site has switched off, of which no
 * job's record speaks.  -ENOMEM, -ENOSPC. */
int sampler_describe(const struct sampler *s, struct record *record);

/* Numbers of the node, if they are wanted, and of the sources.  -ENOMEM, -ENOSPC. */
int sampler_put_samples(struct sampler *s, bool wants_node, struct samples *to);

/* What its records say of the node; the sampler's. */
void sampler_get_node(const struct sampler *s, struct job_record_node *ret);

struct meter *sampler_meter(struct sampler *s);			    /* NULL: no BPF */
const struct hierarchy *sampler_hierarchy(const struct sampler *s); /* NULL: no cgroups */
const struct identity_rules *sampler_rules(const struct sampler *s);

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
	uint64_t set_aside;    /* torn or foreign files of state */
	uint64_t bad_prologs;  /* files that the prolog left and that were not taken */
	uint64_t reopened_files, refused_files; /* as in struct group_files_budget */
	bool is_governed;      /* what follows is known: see governor.h */
	uint64_t hooked_calls, cost_ns, unclocked_ns;
};
void sampler_get_state(const struct sampler *s, struct sampler_state *ret);
