/* SPDX-License-Identifier: MIT */
/*
 * source - one source of numbers of the node, of its jobs, or of both, behind one interface.
 *
 * A source is one file, one line in sources[] (sources.c), and rows of the metric table; its
 * setting, its texts in coverage and its sampling come with the line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
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
struct source_job_state; /* a source's data of one job; each source has its own, like struct
			    source_state */
struct source_state;
struct strings;

/* What a site sets for single sources.  Texts are never NULL; "": none. */
struct source_settings {
	char *redfish_url, *redfish_credentials, *redfish_ca, *redfish_chassis;
	uint64_t thermal_warning, thermal_critical; /* degrees Celsius */
	char *nvml_library, *amd_smi_library; /* NULL: as the driver has it */
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
	const struct source_settings *settings; /* valid during open(); NULL: no settings */
	/* The processor, as set by the site, for estimates of energy; NULL, 0: not set. */
	const char *cpu_model;
	uint64_t cpu_tdp_watts; /* of all sockets */
	const struct identity_rules *rules; /* a site's; NULL: the built-in ones only */
	const struct hardware_events *hardware; /* for tests: what to count; NULL: what the
						   processor offers */
};

/* A job at this reading. A `run` is identified by its process and may have no cgroup, since it
 * needs no rights: the kernel counts descendants of the process, too. */
struct source_job {
	const char *path; /* of its cgroup in the key hierarchy; NULL: of a run... */
	const char *cpus; /* those that it may use, as a CPU list; NULL: not known (yet) */
	const char *gpus; /* minors of GPUs, as such a list, from the site's prolog; NULL: not known
			   */
	pid_t pid; /* ...whose command this is, before its execve() when it is attached; else 0 */
};

struct source_job_sample { /* begins as {} */
	struct value added[METRIC_JOB_COUNT]; /* of KIND_COUNTER: counted since the job's sample
						 before */
	struct parts parts; /* the same for sections of COUNTED_BY_SOURCE; the caller clears them */
	bool has_thermal;
	struct thermal_moment thermal;
};

struct source {
	const char *name; /* "thermal": its setting, and the word of the agent's own metrics */
	const char *label; /* "frequency and temperature: ": begins its texts in coverage */
	const char *help; /* of its setting: a sentence or two */
	bool has_energy; /* it adds readings of energy sensors (model/energy_sensor.h) */
	bool is_off; /* unless the site wants it */
	bool is_for_jobs; /* jobs' numbers are made of the node's: sampled at each reading; else
			     when a scrape wants them */

	/*
	 * 0: sampled within the reading, or the scrape. Else on a thread of its own, between two
	 * readings; a sample that takes longer is withheld, and reported. Callbacks never run at
	 * the same time, but the main thread continues during sample(): after open() use nothing of
	 * the options but root_fd (a descriptor of the source's own).
	 */
	unsigned int deadline_ms;

	size_t size; /* of its struct source_state, which is zeroed for open() */
	/* -ENODEV: not on this machine; coverage gives the reason in *err, if it is not empty. */
	int (*open)(const struct source_options *options, struct source_state *s,
		    struct error *err);
	/* Add numbers of the node; what cannot be read is left out. NULL: none. -ENOMEM,
	 * -ENOSPC. */
	int (*sample)(struct source_state *s, uint64_t boot_ns, struct samples *to);
	/* Add values of component sensors between two readings, without effect on the next
	 * sample; only a few small files. NULL: not possible. -ENOMEM, -ENOSPC. */
	int (*peek)(const struct source_state *s, struct energy_readings *to);
	/* What is missing for all jobs of this node at present. NULL: nothing. -ENOMEM, -ENOSPC. */
	int (*describe)(const struct source_state *s, struct strings *missing);
	/* Write the source's own data as members of a map; processes of @only_uid only (-1:
	 * all). */
	void (*format)(const struct source_state *s, int64_t only_uid, struct document *d);
	/* Also after a failed open(); @s itself is the caller's.  NULL: it owns nothing. */
	void (*close)(struct source_state *s);

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

/* With its memory.  *ret is written on success only. */
int source_open(const struct source *source, const struct source_options *options,
		struct source_state **ret, struct error *err);
struct source_state *source_close(const struct source *source, struct source_state *s); /* NULL is
											   fine */

#define NODE_FILES_SOURCE "node_files" /* a source's name */
#define NODE_DEVICES_MAX 256 /* of each kind; the rest is left out */
#define NODE_MOUNTS_MAX 1024 /* considered */
