/* SPDX-License-Identifier: MIT */
#include "jobs/registry.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/fnv.h"
#include "basic/macro.h"
#include "sources/hardware.h"
#include "jobs/registry_internal.h"
#include "jobs/slurm_number.h"
#include "basic/text.h"
#include "basic/utf8.h"

#define GRACE_NS UINT64_C(200000000)
#define RETENTION_NS UINT64_C(300000000000)
#define JOBS_MAX 16384
#define STEPS_MAX 1024
#define USER_JOBS_MAX 64
#define USERS_SHARE 16
#define STEP_OTHER "(other)"

struct registry *registry_new(const struct registry_options *options)
{
	struct registry *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->options = *options;
	r->options.grace_ns = options->grace_ns ? options->grace_ns : GRACE_NS;
	r->options.retention_ns = options->retention_ns ? options->retention_ns : RETENTION_NS;
	r->options.jobs_max = options->jobs_max ? options->jobs_max : JOBS_MAX;
	r->options.steps_max = options->steps_max ? options->steps_max : STEPS_MAX;
	if (r->options.user_jobs_max != SIZE_MAX)
		r->options.user_jobs_max = MIN(options->user_jobs_max ? options->user_jobs_max
								      : USER_JOBS_MAX,
					       MAX(r->options.jobs_max / USERS_SHARE, (size_t)1));
	r->options.boot_id[sizeof(r->options.boot_id) - 1] = '\0';
	r->real_minus_boot_ns = options->started_real_ns - options->started_boot_ns;
	/* Names come from outside.  Without a seed, only those who choose them to collide take
	 * longer. */
	if (getrandom(&r->seed, sizeof(r->seed), GRND_NONBLOCK) < 0)
		r->seed = FNV_BEGIN;
	return r;
}

static void free_attached(struct registry_job *j)
{
	if (j->free_attached)
		j->free_attached(j->attached);
	j->attached = NULL;
	j->free_attached = NULL;
}

struct registry_job *registry_job_free(struct registry_job *j)
{
	if (!j)
		return NULL;
	free_attached(j);
	for (size_t i = 0; i < j->step_count; i++) {
		free(j->steps[i]->id);
		registry_cores_clear(&j->steps[i]->ranks);
		parts_clear(&j->steps[i]->parts);
		free(j->steps[i]);
	}
	free(j->steps);
	timeline_clear(&j->timeline);
	task_bases_clear(&j->bases);
	free(j->losses);
	free(j->least);
	parts_clear(&j->parts);
	registry_traces_clear(j);
	registry_ports_clear(&j->ports);
	free(j->oom_list);
	free(j->base);
	registry_cores_clear(&j->cores);
	free(j->cpus_used);
	free(j->rows);
	free(j->buckets);
	free(j->mounts);
	free(j->pending);
	free(j->top_path);
	free(j->name);
	job_unref(j->facts);
	free(j);
	return NULL;
}

struct registry *registry_free(struct registry *r)
{
	size_t at = 0;

	if (!r)
		return NULL;
	for (struct registry_group *g; (g = idmap_next(&r->groups, &at));)
		free(g);
	for (size_t i = 0; i < r->job_count; i++)
		registry_job_free(r->jobs[i]);
	for (size_t i = 0; i < r->mount_room; i++)
		snapshot_mount_clear(&r->mounts[i].mount);
	idmap_clear(&r->groups);
	idmap_clear(&r->ignored);
	idmap_clear(&r->put_off);
	idmap_clear(&r->lacking);
	idmap_clear(&r->jobs_by_name);
	idmap_clear(&r->user_jobs);
	idmap_clear(&r->mounts_by_name);
	snapshot_unref(r->shown);
	free(r->jobs);
	free(r->order);
	free(r->tasks);
	free(r->ports);
	free(r->losses);
	registry_forget_cores(r);
	registry_forget_parts(r);
	free(r->rows);
	free(r->mounts);
	free(r);
	return NULL;
}

void registry_freep(struct registry **r)
{
	registry_free(*r);
}

uint64_t registry_real(const struct registry *r, uint64_t boot_ns)
{
	return boot_ns ? boot_ns + r->real_minus_boot_ns : 0;
}

/* ---- jobs by name ---- */

static uint64_t hash_name(const struct registry *r, const char *manager, const char *id)
{
	return fnv_text(fnv_text(r->seed, manager), id);
}

struct registry_job *registry_first_named(const struct registry *r, const char *manager,
					  const char *id)
{
	return idmap_get(&r->jobs_by_name, hash_name(r, manager, id));
}

bool registry_job_is_named(const struct registry_job *j, const char *manager, const char *id)
{
	return strcmp(j->name, id) == 0 && strcmp(j->facts->manager, manager) == 0;
}

int registry_lacking_add(struct registry *r, const char *manager, const char *id)
{
	uint64_t hash = hash_name(r, manager, id);
	size_t count = (size_t)idmap_get(&r->lacking, hash);

	if (!count && r->lacking.count >= LACKING_MAX)
		return 0;
	return idmap_put(&r->lacking, hash, (void *)(count + 1)); /* a number, not an address */
}

uint64_t registry_lacking_take(struct registry *r, const char *manager, const char *id)
{
	return (size_t)idmap_remove(&r->lacking, hash_name(r, manager, id));
}

bool registry_wants_groups(const struct registry *r)
{
	return r->put_off.count && r->has_room_again;
}

static int append_job(struct registry *r, struct registry_job *j)
{
	if (array_reserve(&r->jobs, &r->job_room, r->job_count, sizeof(*r->jobs)) < 0)
		return -ENOMEM;
	j->index = r->job_count;
	r->jobs[r->job_count++] = j;
	r->is_ordered = false;
	return 0;
}

struct registry_job *registry_job_new(struct registry *r, const char *manager, const char *id)
{
	struct registry_job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->registry = r;
	j->maker_uid = UINT32_MAX;
	j->facts = job_new(manager, id);
	j->name = strdup(id);
	if (j->facts && strcmp(manager, "slurm") == 0 && slurm_is_sluid(id))
		j->facts->sluid = strdup(id);
	return j->facts && j->name ? j : registry_job_free(j);
}

const char *registry_job_name(const struct registry_job *j)
{
	return j->name;
}

static size_t count_of_user(const struct registry *r, uint32_t uid)
{
	return (size_t)idmap_get(&r->user_jobs, uid);
}

static int count_user(struct registry *r, uint32_t uid, size_t count)
{
	if (count)
		return idmap_put(&r->user_jobs, uid, (void *)count); /* a number, not an address */
	idmap_remove(&r->user_jobs, uid);
	return 0;
}

static bool has_room(const struct registry *r, uint32_t uid)
{
	return r->job_count < r->options.jobs_max &&
	       (uid == UINT32_MAX || count_of_user(r, uid) < r->options.user_jobs_max);
}

int registry_job_enlist(struct registry_job *j)
{
	struct registry *r = j->registry;
	uint64_t hash = hash_name(r, j->facts->manager, j->name);
	bool is_users = j->maker_uid != UINT32_MAX;
	int code;

	if (!has_room(r, j->maker_uid))
		return -ENOSPC;
	code = append_job(r, j);
	if (code < 0)
		return code;
	j->next_same = idmap_get(&r->jobs_by_name, hash);
	if (is_users)
		code = count_user(r, j->maker_uid, count_of_user(r, j->maker_uid) + 1);
	if (code == 0) {
		code = idmap_put(&r->jobs_by_name, hash, j);
		if (code < 0 && is_users)
			count_user(r, j->maker_uid, count_of_user(r, j->maker_uid) - 1);
	}
	if (code < 0)
		r->job_count--;
	return code;
}

static void forget_name(struct registry_job *j)
{
	struct registry *r = j->registry;
	uint64_t hash = hash_name(r, j->facts->manager, j->name);
	struct registry_job *first = idmap_get(&r->jobs_by_name, hash);

	if (first != j) {
		while (first->next_same != j)
			first = first->next_same;
		first->next_same = j->next_same;
	} else if (j->next_same) {
		idmap_put(&r->jobs_by_name, hash, j->next_same); /* replaces, which needs no memory
								  */
	} else {
		idmap_remove(&r->jobs_by_name, hash);
	}
}

/* Its place in the list is the caller's affair. */
void registry_job_drop(struct registry_job *j)
{
	struct registry *r = j->registry;

	forget_name(j);
	r->has_room_again = true;
	if (j->maker_uid != UINT32_MAX)
		count_user(r, j->maker_uid, count_of_user(r, j->maker_uid) - 1);
	registry_job_free(j);
}

static int rank_of(const struct registry_job *j)
{
	return j->is_announced ? 2 : j->is_delegated ? 0 : 1;
}

int registry_job_compare_shown(const struct registry_job *a, const struct registry_job *b)
{
	bool is_latest = a->is_ended || a->is_announced;

	if (rank_of(a) != rank_of(b))
		return rank_of(b) - rank_of(a);
	if (a->is_ended != b->is_ended)
		return a->is_ended ? 1 : -1;
	return (a->index < b->index) == is_latest ? 1 : -1;
}

struct registry_job *registry_find(struct registry *r, const char *manager, const char *id)
{
	struct registry_job *found = NULL;

	for (struct registry_job *j = registry_first_named(r, manager, id); j; j = j->next_same) {
		if (registry_job_is_named(j, manager, id) &&
		    (!found || registry_job_compare_shown(j, found) < 0))
			found = j;
	}
	for (size_t i = 0; !found && i < r->job_count; i++) {
		if (strcmp(r->jobs[i]->facts->id, id) == 0 &&
		    strcmp(r->jobs[i]->facts->manager, manager) == 0)
			found = r->jobs[i]; /* its cgroups have another name */
	}
	return found;
}

/* ---- steps ---- */

static struct registry_step *find_step(const struct registry_job *j, const char *id)
{
	for (size_t i = j->step_count; i-- > 0;) { /* the latest is asked for most */
		if (strcmp(j->steps[i]->id, id) == 0)
			return j->steps[i];
	}
	return NULL;
}

static struct registry_step *make_step(struct registry_job *j, const char *id)
{
	struct registry_step **larger = j->steps, *step;

	if ((j->step_count & (j->step_count - 1)) == 0) /* there is room for a power of two */
		larger = reallocarray(larger, MAX(j->step_count * 2, (size_t)1),
				      sizeof(struct registry_step *));
	if (!larger)
		return NULL;
	j->steps = larger;
	step = calloc(1, sizeof(*step));
	if (!step)
		return NULL;
	step->id = strdup(id);
	if (!step->id) {
		free(step);
		return NULL;
	}
	j->steps[j->step_count++] = step;
	return step;
}

struct registry_step *registry_job_step(struct registry_job *j, const char *id)
{
	_cleanup_free_ char *name = utf8_repair(id);
	struct registry_step *step = name ? find_step(j, name) : NULL;

	if (step || !name)
		return step;
	if (j->step_count + 1 >= j->registry->options.steps_max) {
		step = find_step(j, STEP_OTHER);
		return step ? step : make_step(j, STEP_OTHER);
	}
	return make_step(j, name);
}

/* ---- who adds to jobs ---- */

struct registry_job *registry_next(struct registry *r, struct registry_job *previous)
{
	bool is_ended = previous && previous->is_ended;
	size_t i = previous ? previous->index + 1 : 0;

	for (;;) {
		for (; i < r->job_count; i++) {
			if (r->jobs[i]->is_ended == is_ended)
				return r->jobs[i];
		}
		if (is_ended)
			return NULL;
		is_ended = true;
		i = 0;
	}
}

const struct job *registry_job_known(const struct registry_job *j)
{
	return j->facts;
}

struct job *registry_job_facts(struct registry_job *j)
{
	struct job *own;

	if (j->facts->refs == 1)
		return j->facts;
	own = job_copy(j->facts);
	if (!own)
		return NULL;
	job_unref(j->facts);
	j->facts = own;
	return own;
}

const char *registry_job_path(const struct registry_job *j)
{
	return j->has_top ? j->top_path : NULL;
}

bool registry_job_has_run(const struct registry_job *j)
{
	return !registry_has(j->registry, COUNTED_TASKS) || j->work != j->last_work;
}

void registry_job_set(struct registry_job *j, enum metric_id id, uint64_t number)
{
	struct value *value = &j->set[id];
	enum metric_kind kind = metric_get(id)->kind;

	assert(id < METRIC_JOB_COUNT);
	if ((kind == KIND_COUNTER || kind == KIND_PEAK) && value->is_known)
		number = MAX(number, value->number);
	*value = (struct value){ number, true };
}

void registry_job_add(struct registry_job *j, enum metric_id id, uint64_t number)
{
	assert(id < METRIC_JOB_COUNT && metric_get(id)->kind == KIND_COUNTER);
	value_add(j->folded, id, number);
}

void registry_job_sample(struct registry_job *j, const struct thermal_moment *m)
{
	thermal_sums_add(&j->thermal, m);
	j->now = thermal_now_of(m, &j->thermal);
}

/* What was added and shown, but not yet written down: what is counted from now on comes on top of
 * it. */
static void take_up_counters(struct registry_job *j)
{
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		const struct value *least = &j->least[id];

		if (hardware_counts((enum metric_id)id) && least->is_known &&
		    j->folded[id].number < least->number)
			j->folded[id] = *least;
	}
}

int registry_job_set_least(struct registry_job *j, const struct value least[METRIC_JOB_COUNT])
{
	size_t size = METRIC_JOB_COUNT * sizeof(*least);
	struct value *copy = malloc(size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, least, size);
	free(j->least);
	j->least = copy;
	take_up_counters(j);
	return 0;
}

void registry_job_attach(struct registry_job *j, void *what, void (*free_function)(void *))
{
	free_attached(j);
	j->attached = what;
	j->free_attached = free_function;
}

void *registry_job_attached(const struct registry_job *j)
{
	return j->attached;
}

int registry_job_announce(struct registry_job *j, uint32_t uid)
{
	struct job *facts = registry_job_facts(j);

	if (!facts)
		return -ENOMEM;
	if (facts->uid != uid) { /* some process in it was another's */
		free(facts->user);
		facts->user = NULL;
	}
	facts->uid = uid;
	j->is_roots = false;
	j->is_announced = j->is_changed = true;
	j->registry->is_ordered = false;
	return 0;
}

const char *registry_job_cpus_used(const struct registry_job *j)
{
	return j->cpus_used;
}

uint64_t registry_job_lost_groups(const struct registry_job *j)
{
	return j->lost_groups;
}

bool registry_job_is_announced(const struct registry_job *j)
{
	return j->is_announced;
}

int64_t registry_job_maker(const struct registry_job *j)
{
	return j->maker_uid == UINT32_MAX ? -1 : (int64_t)j->maker_uid;
}

bool registry_job_is_changed(const struct registry_job *j)
{
	return j->is_changed;
}

void registry_job_saved(struct registry_job *j)
{
	j->is_changed = false;
	j->has_state = true;
	j->saved_changes = j->timeline.changes;
	j->saved_boot_ns = j->timeline.last_boot_ns;
}

/* ---- the ends of jobs ---- */

void registry_job_set_end(struct registry_job *j, uint64_t end_boot_ns)
{
	struct job *facts = registry_job_facts(j);

	j->is_ended = end_boot_ns != 0;
	j->is_reported &= j->is_ended; /* what goes on ends once more */
	j->is_changed = true;
	j->registry->is_ordered = false;
	if (!facts)
		return; /* its end is not known, that is all */
	facts->end_boot_ns = end_boot_ns;
	facts->end_ns = registry_real(j->registry, end_boot_ns);
}

void registry_end_jobs(struct registry *r, uint64_t boot_ns)
{
	for (size_t i = 0; i < r->job_count; i++) {
		struct registry_job *j = r->jobs[i];

		if (j->is_ended || j->live_groups ||
		    j->last_death_ns + r->options.grace_ns > boot_ns)
			continue;
		registry_job_set_end(j, j->last_death_ns ? j->last_death_ns : boot_ns);
		free_attached(j);
	}
}

/* ---- jobs that wait for their final record ---- */

void registry_wait_for_reports(struct registry *r, bool waits)
{
	r->waits_for_reports = waits;
}

bool registry_job_is_to_report(const struct registry_job *j)
{
	return j->is_ended && !j->groups && !j->is_reported && !registry_is_traced(j);
}

void registry_job_set_reported(struct registry_job *j)
{
	j->is_reported = j->is_changed = true;
}

uint64_t registry_unreported(const struct registry *r)
{
	return r->unreported;
}

bool registry_job_has_state(const struct registry_job *j)
{
	return j->has_state;
}

/* Of one that another job of its name hides there is no record. */
static bool is_waited_for(struct registry *r, const struct registry_job *j, size_t *waited)
{
	if (!r->waits_for_reports || j->is_reported || !j->shown)
		return false;
	if (++*waited <= REGISTRY_UNREPORTED_MAX)
		return true;
	r->unreported++;
	return false;
}

void registry_expire(struct registry *r, uint64_t boot_ns,
		     void (*dropped)(void *context, struct registry_job *j), void *context)
{
	size_t kept = 0, waited = 0;

	for (size_t i = 0; i < r->job_count; i++) {
		struct registry_job *j = r->jobs[i];
		bool is_over = j->is_ended && !j->groups &&
			       j->facts->end_boot_ns + r->options.retention_ns <= boot_ns;

		if (!is_over || is_waited_for(r, j, &waited)) {
			j->index = kept;
			r->jobs[kept++] = j;
			continue;
		}
		if (dropped)
			dropped(context, j);
		registry_job_drop(j);
		r->is_ordered = false;
	}
	r->job_count = kept;
}

int registry_job_cgroups(const struct registry_job *j, uint64_t **ret, size_t *ret_count)
{
	const struct idmap *groups = &j->registry->groups;
	uint64_t *cgroups = calloc(MAX(j->groups, 1u), sizeof(*cgroups));
	size_t count = 0, at = 0;

	if (!cgroups)
		return -ENOMEM;
	for (struct registry_group *g; (g = idmap_next(groups, &at));) {
		for (size_t i = 0; i < g->member_count; i++) {
			if (g->members[i].job == j && !g->members[i].is_folded)
				cgroups[count++] = g->id;
		}
	}
	ids_sort(cgroups, count);
	*ret = cgroups;
	*ret_count = count;
	return 0;
}
