/* SPDX-License-Identifier: MIT */
/*
 * source - one source of numbers behind one interface: numbers of the node, of its jobs, or of
 * both.
 *
 * A source is one file, one line in sources[] (sources.c), and rows of the metric table; its switch
 * among the settings, what coverage says of it and the walks that sample it come with the line.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/parts.h"
#include "model/reading.h"
#include "model/sample.h"
#include "model/sections/thermal_samples.h"

struct error;
struct document;
struct group_files_budget;
struct hardware_events;
struct hierarchy;
struct identity_rules;
struct record;
struct source_job_state; /* what a source has of one job; each source's own, as struct source_state
			    is */
struct source_state;
struct strings;

/* What a site sets for single sources.  Texts are never NULL; "": none. */
struct source_settings {
	char *redfish_url, *redfish_credentials, *redfish_ca, *redfish_chassis;
	uint64_t thermal_warning, thermal_critical; /* degrees Celsius */
	char *nvml_library; /* NULL: NVML_LIBRARY */
};

/* Where it reads.  All of it but the settings outlives the source. */
struct source_options {
	int root_fd; /* a directory that holds proc and sys */
	const struct hierarchy *hierarchy; /* NULL: no cgroups */
	struct group_files_budget *descriptors; /* a source that keeps some open takes them off its
						   max; NULL: none may */
	/* Whether file systems of that type may be asked how full they are; NULL: all may but those
	 * that may hang: of other machines (NFS, Lustre...) and of FUSE. */
	bool (*may_ask)(const void *context, const char *fstype);
	const void *context;
	const struct source_settings *settings; /* good during open(); NULL: nobody set anything */
	/* Of the processor, as the site says, for estimates of energy; NULL, 0: it does not. */
	const char *cpu_model;
	uint64_t cpu_tdp_watts; /* of all sockets */
	const struct identity_rules *rules; /* a site's; NULL: the built-in ones only */
	const struct hardware_events *hardware; /* for tests: what to count; NULL: what the
						   processor has */
};

/* A job, as of this reading.  One of a `run` is told by its process, since nobody needs rights to
 * run a command, and so it may have no cgroup: what the kernel counts of a process goes on to all
 * that this starts. */
struct source_job {
	const char *path; /* of its cgroup in the key hierarchy; NULL: of a run... */
	const char *cpus; /* those that it may use, as a CPU list; NULL: not known (yet) */
	const char *gpus; /* minors of GPUs, as such a list, that the site's prolog says it was
			     given; NULL: not known */
	pid_t pid; /* ...whose command this is, which has not begun when it is attached to; else 0
		    */
};

struct source_job_sample { /* begins as {} */
	struct value added[METRIC_JOB_COUNT]; /* of KIND_COUNTER: counted since the job's sample
						 before */
	struct parts parts; /* the same of sections of COUNTED_BY_SOURCE: the taker's, who clears
			       them */
	bool has_thermal;
	struct thermal_moment thermal;
};

struct source {
	const char *name; /* "thermal": its setting, and the word of the agent's own metrics */
	const char *label; /* "frequency and temperature: ": what coverage says of it begins with
			      this */
	const char *help; /* of its setting: a sentence or two */
	bool has_energy; /* it adds readings of energy sensors (model/energy_sensor.h) */
	bool is_off; /* unless the site wants it */
	bool is_for_jobs; /* jobs' numbers are made of the node's: sampled at each reading; else
			     when a scrape wants them */

	/*
	 * 0: sampled within the reading, or the scrape.  Else it is sampled on a thread of its own,
	 * between two readings, and what takes longer than this is withheld, and said; nobody waits
	 * for it.  Call-backs are never at work at the same time, but beside sample() the main
	 * thread goes on: nothing of the options but root_fd (a descriptor of the source's own) may
	 * be used after open().
	 */
	unsigned int deadline_ms;

	/* -ENODEV: not on this machine; what *err says then is said in coverage, and an empty text
	 * is nothing to speak of. */
	int (*open)(const struct source_options *options, struct source_state **ret,
		    struct error *err);
	/* Add numbers of the node; what cannot be read is left out.  NULL: it has none.  -ENOMEM,
	 * -ENOSPC. */
	int (*sample)(struct source_state *s, uint64_t boot_ns, struct samples *to);
	/* Add what its sensors of components say between two readings, of which the next sample
	 * knows nothing; a few small files at most.  NULL: it cannot.  -ENOMEM, -ENOSPC. */
	int (*peek)(const struct source_state *s, struct energy_readings *to);
	/* What no job on this node can have of it just now.  NULL: nothing to say.  -ENOMEM,
	 * -ENOSPC. */
	int (*describe)(const struct source_state *s, struct strings *missing);
	/* Write members of a map: what it shows of itself to who asks for it by name; of processes
	 * those of @only_uid (-1: all). */
	void (*format)(const struct source_state *s, int64_t only_uid, struct document *d);
	struct source_state *(*free)(struct source_state *s); /* NULL is fine; returns NULL;
								 source_free() where its memory is
								 all that there is */

	/* ---- of jobs; each may be NULL ---- */

	/* Begin with a job at a cgroup.  -EAGAIN: not yet.  After other errors it is not tried
	 * again at this cgroup. */
	int (*attach)(struct source_state *s, const struct source_job *job,
		      struct source_job_state **ret);
	/* At each reading, and once more when its cgroup is gone or another's (then @job is NULL);
	 * where there is attach(), only of jobs that are attached.  @own: else NULL. */
	void (*sample_job)(struct source_state *s, struct source_job_state *own,
			   const struct source_job *job, struct source_job_sample *to);
	/* What is missing in the job's record, or weakens its numbers.  @s: NULL of a slow one.
	 * -ENOMEM, -ENOSPC. */
	int (*describe_job)(const struct source_state *s, struct record *record);
	void (*detach)(struct source_state *s, struct source_job_state *own);
};

struct source_state *source_free(struct source_state *s);
