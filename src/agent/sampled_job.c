/* SPDX-License-Identifier: MIT */
#include "sampled_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocation.h"
#include "cleanup.h"
#include "error.h"
#include "macro.h"
#include "prolog.h"
#include "registry.h"
#include "users.h"

#define PROLOG_FIRST_NS                                                                            \
	UINT64_C(1000000000) /* how long to wait before looking again; twice as long each time...  \
			      */
#define PROLOG_WAIT_MAX_NS UINT64_C(60000000000) /* ...up to this */

/* What stays with the job. */
struct sampled_job {
	struct group_files *files;
	char *path; /* of the group that files are of */
	struct allocation allocation;
	bool has_prolog; /* or one that is not to be taken */
	struct value prolog_cores, prolog_memory;
	uint64_t look_ns, wait_ns; /* when to look for the prolog's file, and how long after that */
};

static void sampled_job_free(void *what)
{
	struct sampled_job *own = what;

	if (!own)
		return;
	group_files_close(own->files);
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
	allocation_clear(&own->allocation);
	free(own->path);
	own->path = strdup(path);
	if (own->path && group_files_open(sources->root_fd, sources->hierarchy, path, 0,
					  &sources->budget, &own->files) < 0)
		own->files = NULL; /* it goes just now */
}

static void read_files(struct job_sources *sources, struct sampled_job *own,
		       struct registry_job *job)
{
	struct value values[METRIC_JOB_COUNT] = {};

	if (!own->files)
		return;
	if (group_files_read(own->files, sources->wanted, values) == -ENODEV)
		own->files = group_files_close(own->files);
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		if (values[id].is_known)
			registry_job_set(job, (enum metric_id)id, values[id].number);
	}
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

/* What the manager granted, else what the group may use. */
static int set_allocation(const struct sampled_job *own, struct registry_job *job)
{
	const struct value *cores =
		own->prolog_cores.is_known ? &own->prolog_cores : &own->allocation.cores;
	const struct value *memory =
		own->prolog_memory.is_known ? &own->prolog_memory : &own->allocation.memory;
	const struct job *known = registry_job_known(job);
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

static int read_allocation(struct job_sources *sources, struct sampled_job *own,
			   struct registry_job *job, uint64_t boot_ns)
{
	int r = 0;

	if (own->path)
		r = allocation_refresh(sources->root_fd, sources->hierarchy, own->path, boot_ns,
				       &own->allocation);
	return r < 0 ? r : set_allocation(own, job);
}

/* ---- what the site's prolog says ---- */

static int read_prolog(struct job_sources *sources, struct sampled_job *own,
		       struct registry_job *job, uint64_t boot_ns)
{
	struct error err = {};
	struct job *facts;
	int r;

	if (own->has_prolog || boot_ns < own->look_ns)
		return 0;
	own->wait_ns = own->wait_ns ? MIN(own->wait_ns * 2, PROLOG_WAIT_MAX_NS) : PROLOG_FIRST_NS;
	own->look_ns = boot_ns + own->wait_ns;
	facts = registry_job_facts(job);
	if (!facts)
		return -ENOMEM;
	facts->allocated_cores = facts->memory_limit = (struct value){};
	r = prolog_read(sources->root_fd, sources->prolog_dir, facts, &err);
	own->has_prolog = r == 0 || r == -EPERM || r == -EINVAL;
	sources->bad_prologs += r == -EPERM || r == -EINVAL;
	if (r == 0) {
		own->prolog_cores = facts->allocated_cores;
		own->prolog_memory = facts->memory_limit;
	}
	return r == -ENOMEM ? r : 0;
}

/* ---- whose it is ---- */

/* A run of a user's is his from its first moment on, before any process of his has ended in it. */
static int find_owner(struct job_sources *sources, struct registry_job *job)
{
	const struct job *known = registry_job_known(job);
	int64_t uid;
	struct job *facts;

	if (known->uid >= 0 || !sources->find_owner || strcmp(known->manager, "run") != 0)
		return 0;
	uid = sources->find_owner(sources->context, known->id);
	if (uid < 0)
		return 0;
	facts = registry_job_facts(job);
	if (!facts)
		return -ENOMEM;
	facts->uid = uid;
	return 0;
}

static int name_user(struct job_sources *sources, struct registry_job *job, uint64_t boot_ns)
{
	const struct job *known = registry_job_known(job);
	struct job *facts;
	const char *name;

	if (known->user || known->uid < 0 ||
	    users_find(sources->users, (uint32_t)known->uid, boot_ns, &name) < 0)
		return 0;
	facts = registry_job_facts(job);
	return facts ? replace_text(&facts->user, name) : -ENOMEM;
}

int sampled_job_read(struct job_sources *sources, struct registry_job *job, uint64_t boot_ns)
{
	const char *path = registry_job_path(job);
	struct sampled_job *own = get_own(job);
	int r;

	if (!own)
		return -ENOMEM;
	if (path && sources->hierarchy) {
		open_files(sources, own, path);
		read_files(sources, own, job);
	}
	r = read_prolog(sources, own, job, boot_ns);
	if (r >= 0)
		r = read_allocation(sources, own, job, boot_ns);
	if (r >= 0)
		r = find_owner(sources, job);
	return r < 0 ? r : name_user(sources, job, boot_ns);
}
