/* SPDX-License-Identifier: MIT */
#include "node/sampled_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup/allocation.h"
#include "basic/cleanup.h"
#include "sources/node_ports.h"
#include "basic/error.h"
#include "jobs/job_command.h"
#include "basic/macro.h"
#include "jobs/prolog.h"
#include "model/record.h"
#include "jobs/registry.h"
#include "jobs/slurm_number.h"
#include "node/sampler.h"
#include "jobs/users.h"

/* Wait before the next search for the prolog's file or a command; doubled each time up to the
 * maximum. */
#define LOOK_FIRST_NS UINT64_C(1000000000)
#define LOOK_WAIT_MAX_NS UINT64_C(60000000000)

/* What stays with the job. */
struct sampled_job {
	struct group_files *files;
	char *path; /* of the group that files are of */
	struct metric_set known; /* metrics that they have had */
	uint64_t usage, looked_usage; /* bytes in use at the last reading, and before the last
					 detailed reading */
	unsigned int readings; /* since the detailed reading */
	struct allocation allocation;
	struct source_attachments attachments;
	bool has_prolog; /* or one that is not to be taken */
	bool has_bad_prolog; /* or one that cannot be read now; it is counted and reported */
	struct value prolog_cores, prolog_memory;
	uint64_t look_ns, wait_ns; /* next search for the prolog's file, and the wait after that */
	pid_t command_pid; /* the process of its command (a fact of the job); 0: none */
	uint64_t command_start; /* as in struct job_command */
	uint64_t command_ns, command_wait_ns; /* as of the prolog's file */
	uint64_t number_ns; /* next search for the number of a SLUID */
};

static void sampled_job_free(void *what)
{
	struct sampled_job *own = what;

	if (!own)
		return;
	group_files_close(own->files);
	source_attachments_clear(&own->attachments);
	allocation_clear(&own->allocation);
	free(own->path);
	free(own);
}

static struct sampled_job *get_own(struct registry_job *job)
{
	struct sampled_job *own = registry_job_attached(job);

	if (own)
		return own;
	own = calloc(1, sizeof(*own));
	if (own)
		registry_job_attach(job, own, sampled_job_free);
	return own;
}

/* ---- files of the group ---- */

static void open_files(struct job_sources *sources, struct sampled_job *own, const char *path)
{
	if (own->path && strcmp(own->path, path) == 0 && own->files)
		return;
	own->files = group_files_close(own->files);
	own->known = (struct metric_set){};
	allocation_clear(&own->allocation);
	free(own->path);
	own->path = strdup(path);
	if (sources->group &&
	    group_files_open_group(sources->group, &sources->budget, &own->files) < 0)
		own->files = NULL;
	if (!sources->group && own->path &&
	    group_files_open(sources->root_fd, sources->hierarchy, path, 0, &sources->budget,
			     &own->files) < 0)
		own->files = NULL; /* it goes just now */
}

/* What memory is used for is read when the job begins, when usage has grown by a tenth, and now
 * and then: so the parts are known within a tenth, and jobs that do not grow cost next to
 * nothing. */
#define POLL_PERIOD 64 /* readings */

static bool is_look_due(const struct sampled_job *own)
{
	return own->readings >= POLL_PERIOD ||
	       own->usage > own->looked_usage + own->looked_usage / 10;
}

/* Who never came near the limit did not hit it. */
static bool is_near_limit(const struct sampled_job *own)
{
	return own->allocation.memory.is_known &&
	       own->usage >= own->allocation.memory.number / 8 * 7;
}

static struct metric_set wanted_files(const struct job_sources *sources, struct sampled_job *own,
				      const struct registry_job *job)
{
	struct metric_set as_before = {}, wanted;

	if (sources->group) /* of one all is read */
		return sources->has_ended ? metric_set_minus(sources->wanted, group_files_seldom())
					  : sources->wanted;
	/* where no task has run, none has charged a page or was throttled; but memory in use may
	 * fall, since the kernel takes pages back */
	if (!registry_job_has_run(job)) {
		metric_set_add(&as_before, METRIC_MEMORY_PEAK);
		metric_set_add(&as_before, METRIC_CPU_THROTTLED);
	}
	if (!sources->hierarchy->is_v2 && !is_near_limit(own))
		metric_set_add(&as_before, METRIC_MEMORY_LIMIT_HITS);
	wanted = metric_set_minus(sources->wanted, metric_set_both(as_before, own->known));
	own->readings++;
	if (!metric_set_is_empty(&own->known) && !is_look_due(own))
		return metric_set_minus(wanted, group_files_seldom());
	own->readings = 0;
	own->looked_usage = MAX(own->usage, own->looked_usage);
	return wanted;
}

static void read_files(struct job_sources *sources, struct sampled_job *own,
		       struct registry_job *job)
{
	struct value values[METRIC_JOB_COUNT] = {};
	struct metric_set wanted;

	if (!own->files)
		return;
	wanted = wanted_files(sources, own, job);
	if (group_files_read(own->files, &wanted, values) == -ENODEV)
		own->files = group_files_close(own->files);
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		if (!values[id].is_known)
			continue;
		registry_job_set(job, (enum metric_id)id, values[id].number);
		metric_set_add(&own->known, (enum metric_id)id);
	}
	if (values[METRIC_MEMORY_USAGE].is_known)
		own->usage = values[METRIC_MEMORY_USAGE].number;
}

/* ---- what it may use ---- */

static int replace_text(char **text, const char *now)
{
	char *copy;

	if (!now || (*text && strcmp(*text, now) == 0))
		return 0;
	copy = strdup(now);
	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

static bool is_equal(const struct value *a, const struct value *b)
{
	return a->is_known == b->is_known && a->number == b->number;
}

/* What the manager granted, else what the cgroup may use; an ended job keeps its last values. */
static int set_allocation(const struct sampled_job *own, struct registry_job *job)
{
	const struct job *known = registry_job_known(job);
	const struct value *cores = own->prolog_cores.is_known ? &own->prolog_cores
				    : own->path		       ? &own->allocation.cores
							       : &known->allocated_cores;
	const struct value *memory = own->prolog_memory.is_known ? &own->prolog_memory
				     : own->path		 ? &own->allocation.memory
								 : &known->memory_limit;
	struct job *facts;

	if (cores->is_known)
		registry_job_set(job, METRIC_CPU_ALLOCATED, cores->number);
	if (memory->is_known)
		registry_job_set(job, METRIC_MEMORY_LIMIT, memory->number);
	if (is_equal(&known->allocated_cores, cores) && is_equal(&known->memory_limit, memory) &&
	    (known->cpus_allowed || !own->allocation.cpus))
		return 0;
	facts = registry_job_facts(job);
	if (!facts)
		return -ENOMEM;
	facts->allocated_cores = *cores;
	facts->memory_limit = *memory;
	return replace_text(&facts->cpus_allowed, own->allocation.cpus);
}

/* ---- what the site's prolog says ---- */

/* Whatever the reason, once a job. */
static void tell_bad_prolog(struct job_sources *sources, struct sampled_job *own, uint64_t boot_ns,
			    struct error *why)
{
	if (own->has_bad_prolog)
		return;
	own->has_bad_prolog = true;
	sources->bad_prologs++;
	error_prefix(why, 0, "not taken from the prolog, in '/%.160s'", sources->prolog_dir);
	notices_add(&sources->prolog_news, boot_ns, why);
}

static int read_prolog(struct job_sources *sources, struct sampled_job *own,
		       struct registry_job *job, uint64_t boot_ns)
{
	struct value cores, memory; /* of before */
	struct error err = {};
	struct job *facts;
	int r;

	if (!sources->prolog_dir || own->has_prolog || boot_ns < own->look_ns)
		return 0;
	own->wait_ns = own->wait_ns ? MIN(own->wait_ns * 2, LOOK_WAIT_MAX_NS) : LOOK_FIRST_NS;
	own->look_ns = boot_ns + own->wait_ns;
	facts = registry_job_facts(job);
	if (!facts)
		return -ENOMEM;
	cores = facts->allocated_cores;
	memory = facts->memory_limit;
	facts->allocated_cores = facts->memory_limit = (struct value){};
	r = prolog_read(sources->root_fd, sources->prolog_dir, facts, &err);
	own->has_prolog = r == 0 || r == -EPERM || r == -EINVAL;
	if (r < 0 && r != -ENOENT && r != -ENOMEM)
		tell_bad_prolog(sources, own, boot_ns, &err);
	if (r == 0) {
		own->prolog_cores = facts->allocated_cores;
		own->prolog_memory = facts->memory_limit;
	}
	if (!facts->allocated_cores.is_known)
		facts->allocated_cores = cores;
	if (!facts->memory_limit.is_known)
		facts->memory_limit = memory;
	return r == -ENOMEM ? r : 0;
}

/* Without a prolog that gives the number of a SLUID. */
static int find_number(struct job_sources *sources, struct sampled_job *own,
		       struct registry_job *job, uint64_t boot_ns)
{
	const struct job *known = registry_job_known(job);
	struct job *facts;
	char number[24];

	if (!known->sluid || strcmp(known->sluid, known->id) != 0 || !own->path ||
	    !sources->hierarchy || boot_ns < own->number_ns)
		return 0;
	own->number_ns = boot_ns + LOOK_FIRST_NS;
	if (slurm_number_find(sources->root_fd, sources->hierarchy, own->path, number,
			      sizeof(number)) < 0)
		return 0;
	own->has_prolog = false; /* of the number there may be one */
	own->look_ns = 0;
	facts = registry_job_facts(job);
	return facts ? replace_text(&facts->id, number) : -ENOMEM;
}

/* ---- what it runs ---- */

/* A search takes some 0.1 ms if it walks, so each reading searches for a part of the jobs; at
 * least half of these are jobs never searched for, if there are enough. */
#define COMMAND_LOOKUPS_MAX 64

/* A job without a name shows its oldest process, as long as that lives. */
static int find_command(struct job_sources *sources, struct sampled_job *own,
			struct registry_job *job, uint64_t boot_ns)
{
	const struct job *known = registry_job_known(job);
	struct job_command found = {};
	struct job *facts;

	if ((boot_ns >= sources->commands_until_ns &&
	     !(sources->wants_names && job_command_names(known->manager))) ||
	    known->name || !own->path || !sources->hierarchy || boot_ns < own->command_ns ||
	    sources->command_lookups >=
		    (own->command_wait_ns ? COMMAND_LOOKUPS_MAX / 2 : COMMAND_LOOKUPS_MAX))
		return 0;
	sources->command_lookups++;
	own->command_wait_ns = own->command_wait_ns
				       ? MIN(own->command_wait_ns * 2, LOOK_WAIT_MAX_NS)
				       : LOOK_FIRST_NS;
	own->command_ns = boot_ns + own->command_wait_ns;
	if (job_command_lives(sources->root_fd, own->command_pid, own->command_start,
			      known->command) ||
	    job_command_find(sources->root_fd, sources->hierarchy, known->manager, own->path,
			     &found) < 0)
		return 0;
	if (*found.label)
		own->command_ns = UINT64_MAX; /* it stays that */
	facts = registry_job_facts(job);
	if (!facts || replace_text(&facts->command, found.name) < 0)
		return -ENOMEM;
	own->command_pid = found.pid;
	own->command_start = found.start;
	return *found.label ? replace_text(&facts->label, found.label) : 0;
}

/* ---- whose it is ---- */

/* A run of a user's is theirs from its first moment on, before any process of theirs has ended in
 * it.  By the group that was made for it: its name others can give to theirs. */
static int find_owner(struct job_sources *sources, struct registry_job *job)
{
	const struct job *known = registry_job_known(job);
	int64_t uid;

	if (registry_job_is_announced(job) || !known->group_id || !sources->find_owner ||
	    strcmp(known->manager, "run") != 0)
		return 0;
	uid = sources->find_owner(sources->context, known->group_id);
	return uid < 0 ? 0 : registry_job_announce(job, (uint32_t)uid);
}

static int name_user(struct job_sources *sources, struct registry_job *job, uint64_t boot_ns)
{
	const struct job *known = registry_job_known(job);
	struct job *facts;
	const char *name;

	if (!sources->users || known->user || known->uid < 0 ||
	    users_find(sources->users, (uint32_t)known->uid, boot_ns, &name) < 0)
		return 0;
	facts = registry_job_facts(job);
	return facts ? replace_text(&facts->user, name) : -ENOMEM;
}

/* ---- its sources ---- */

/* @path: of its cgroup; NULL: sources leave it, once they have been sampled. */
static int sample_sources(struct job_sources *sources, struct sampled_job *own,
			  struct registry_job *job, const char *path)
{
	const struct source_job at = { .path = path,
				       .cpus = own->allocation.cpus,
				       .gpus = registry_job_known(job)->gpus };
	struct source_job_sample sample = {};
	int r = sources_sample_job(sources->sources, &own->attachments, path ? &at : NULL, &sample);

	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		if (sample.added[id].is_known)
			registry_job_add(job, (enum metric_id)id, sample.added[id].number);
	}
	if (!sources->group || sources->has_begun) {
		if (sample.has_thermal)
			registry_job_sample(job, &sample.thermal);
		if (r >= 0)
			r = registry_job_add_parts(job, &sample.parts);
	}
	parts_clear(&sample.parts);
	return r;
}

int sampled_job_read(struct job_sources *sources, struct registry_job *job, uint64_t boot_ns)
{
	const char *path = registry_job_path(job);
	struct sampled_job *own = get_own(job);
	int r;

	if (!own)
		return -ENOMEM;
	r = own->path && path && strcmp(own->path, path) != 0
		    ? sample_sources(sources, own, job, NULL)
		    : 0;
	if (r < 0)
		return r;
	if (path && sources->hierarchy) {
		open_files(sources, own, path);
		read_files(sources, own, job);
	}
	if (sources->is_own)
		return 0;
	r = read_prolog(sources, own, job, boot_ns);
	if (r >= 0 && own->path)
		r = allocation_refresh(sources->root_fd, sources->hierarchy, own->path, boot_ns,
				       &own->allocation);
	if (r >= 0)
		r = set_allocation(own, job);
	if (r >= 0)
		r = sample_sources(sources, own, job, path);
	if (r >= 0)
		r = find_command(sources, own, job, boot_ns);
	if (r >= 0)
		r = find_number(sources, own, job, boot_ns);
	if (r >= 0)
		r = find_owner(sources, job);
	return r < 0 ? r : name_user(sources, job, boot_ns);
}

static int describe_ports(const struct job_sources *sources, const struct registry_job *job,
			  struct record *record)
{
	struct ports ports = {};
	const char *why;

	if (!node_ports_exist(sources->root_fd))
		return 0;
	if (!sources_find(sources->sources, NODE_PORTS_SOURCE)) /* the site's will */
		return 0;
	why = registry_job_ports(job, &ports);
	if (why)
		return strings_add(&record->coverage.missing, NODE_PORTS_LABEL "%s", why);
	record->ports = malloc(sizeof(*record->ports));
	if (!record->ports)
		return -ENOMEM;
	*record->ports = ports;
	if (!registry_job_ports_are_cut(job))
		return 0;
	return strings_add(&record->coverage.notes,
			   NODE_PORTS_LABEL "as of when the agent stopped: no agent saw since then "
					    "who else had the node");
}

int job_sources_describe(const struct job_sources *sources, const struct registry_job *job,
			 struct record *record)
{
	int r = sources_describe_job(sources->sources, record);

	return r < 0 ? r : describe_ports(sources, job, record);
}
