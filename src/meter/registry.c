/* SPDX-License-Identifier: MIT */
#include "registry.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cleanup.h"
#include "macro.h"
#include "registry_parts.h"
#include "text.h"
#include "utf8.h"

#define GRACE_NS UINT64_C(200000000)
#define RETENTION_NS UINT64_C(300000000000)
#define JOBS_MAX 16384
#define STEPS_MAX 1024
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
	r->options.boot_id[sizeof(r->options.boot_id) - 1] = '\0';
	r->real_minus_boot_ns = options->started_real_ns - options->started_boot_ns;
	/* Names come from outside.  Without a seed, only those who choose them to collide take longer. */
	if (getrandom(&r->seed, sizeof(r->seed), GRND_NONBLOCK) < 0)
		r->seed = UINT64_C(0xcbf29ce484222325);
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
		free(j->steps[i]);
	}
	free(j->steps);
	free(j->rows);
	free(j->buckets);
	free(j->mounts);
	free(j->pending);
	free(j->top_path);
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
	idmap_clear(&r->jobs_by_name);
	idmap_clear(&r->user_jobs);
	idmap_clear(&r->mounts_by_name);
	snapshot_unref(r->shown);
	free(r->shown_slots);
	free(r->jobs);
	free(r->tasks);
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

uint64_t registry_left_out(const struct registry *r)
{
	return r->left_out;
}

void registry_unplaced(const struct registry *r, struct op_counts ret[OP_COUNT])
{
	memcpy(ret, r->unplaced, sizeof(r->unplaced));
}

/* ---- jobs by name ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
	do {
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	} while (*text++);
	return hash;
}

static uint64_t hash_name(const struct registry *r, const char *manager, const char *id)
{
	return hash_text(hash_text(r->seed, manager), id);
}

static struct registry_job *first_named(const struct registry *r, const char *manager, const char *id)
{
	return idmap_get(&r->jobs_by_name, hash_name(r, manager, id));
}

static bool is_named(const struct registry_job *j, const char *manager, const char *id)
{
	return strcmp(j->facts->id, id) == 0 && strcmp(j->facts->manager, manager) == 0;
}

static int append_job(struct registry *r, struct registry_job *j)
{
	if (r->job_count == r->job_room) {
		size_t room = r->job_room ? r->job_room * 2 : 64;
		struct registry_job **larger = reallocarray(r->jobs, room, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		r->jobs = larger;
		r->job_room = room;
	}
	j->index = r->job_count;
	r->jobs[r->job_count++] = j;
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
	return j->facts ? j : registry_job_free(j);
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
	size_t share = MAX(r->options.jobs_max / USERS_JOBS_SHARE, (size_t)1);

	return r->job_count < r->options.jobs_max && (uid == UINT32_MAX || count_of_user(r, uid) < share);
}

int registry_job_enlist(struct registry_job *j)
{
	struct registry *r = j->registry;
	uint64_t hash = hash_name(r, j->facts->manager, j->facts->id);
	bool is_users = j->maker_uid != UINT32_MAX;
	int code;

	if (!has_room(r, j->maker_uid)) {
		r->left_out++;
		return -ENOSPC;
	}
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
	uint64_t hash = hash_name(r, j->facts->manager, j->facts->id);
	struct registry_job *first = idmap_get(&r->jobs_by_name, hash);

	if (first != j) {
		while (first->next_same != j)
			first = first->next_same;
		first->next_same = j->next_same;
	} else if (j->next_same) {
		idmap_put(&r->jobs_by_name, hash, j->next_same); /* replaces, which needs no memory */
	} else {
		idmap_remove(&r->jobs_by_name, hash);
	}
}

/* Its place in the list is the caller's affair. */
void registry_job_drop(struct registry_job *j)
{
	struct registry *r = j->registry;

	forget_name(j);
	if (j->maker_uid != UINT32_MAX)
		count_user(r, j->maker_uid, count_of_user(r, j->maker_uid) - 1);
	registry_job_free(j);
}

static bool is_better_shown(const struct registry_job *a, const struct registry_job *b)
{
	if (a->is_ended != b->is_ended)
		return !a->is_ended;
	return a->is_ended ? a->index > b->index : a->index < b->index;
}

struct registry_job *registry_find(struct registry *r, const char *manager, const char *id)
{
	struct registry_job *found = NULL;

	for (struct registry_job *j = first_named(r, manager, id); j; j = j->next_same) {
		if (is_named(j, manager, id) && (!found || is_better_shown(j, found)))
			found = j;
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
		larger = reallocarray(larger, MAX(j->step_count * 2, (size_t)1), sizeof(struct registry_step *));
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

bool registry_job_is_live(const struct registry_job *j)
{
	return !j->is_ended;
}

const char *registry_job_path(const struct registry_job *j)
{
	return j->has_top ? j->top_path : NULL;
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

bool registry_job_is_changed(const struct registry_job *j)
{
	return j->is_changed;
}

void registry_job_saved(struct registry_job *j)
{
	j->is_changed = false;
}

/* ---- the ends of jobs ---- */

void registry_job_set_end(struct registry_job *j, uint64_t end_boot_ns)
{
	struct job *facts = registry_job_facts(j);

	j->is_ended = end_boot_ns != 0;
	j->is_changed = true;
	if (!facts)
		return; /* its end is not known, that is all */
	facts->end_boot_ns = end_boot_ns;
	facts->end_ns = registry_real(j->registry, end_boot_ns);
}

void registry_end_jobs(struct registry *r, uint64_t boot_ns)
{
	for (size_t i = 0; i < r->job_count; i++) {
		struct registry_job *j = r->jobs[i];

		if (j->is_ended || j->live_groups || j->last_death_ns + r->options.grace_ns > boot_ns)
			continue;
		registry_job_set_end(j, j->last_death_ns ? j->last_death_ns : boot_ns);
		free_attached(j);
	}
}

void registry_expire(struct registry *r, uint64_t boot_ns, void (*dropped)(void *context, struct registry_job *j),
		     void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->job_count; i++) {
		struct registry_job *j = r->jobs[i];
		bool is_over = j->is_ended && !j->groups &&
			       j->facts->end_boot_ns + r->options.retention_ns <= boot_ns;

		if (!is_over) {
			j->index = kept;
			r->jobs[kept++] = j;
			continue;
		}
		if (dropped)
			dropped(context, j);
		registry_job_drop(j);
	}
	r->job_count = kept;
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int registry_job_leaves(const struct registry_job *j, uint64_t **ret, size_t *ret_count)
{
	const struct idmap *groups = &j->registry->groups;
	uint64_t *leaves = calloc(MAX(j->groups, 1u), sizeof(*leaves));
	size_t count = 0, at = 0;

	if (!leaves)
		return -ENOMEM;
	for (struct registry_group *g; (g = idmap_next(groups, &at));) {
		for (size_t i = 0; i < g->member_count; i++) {
			if (g->members[i].job == j && !g->members[i].is_folded)
				leaves[count++] = g->id;
		}
	}
	qsort(leaves, count, sizeof(*leaves), compare_ids);
	*ret = leaves;
	*ret_count = count;
	return 0;
}

/* ---- learning ---- */

static bool is_same_user(const struct registry_job *j, const struct identity *id)
{
	return !*id->user || j->facts->uid < 0 || (uint64_t)j->facts->uid == strtoull(id->user, NULL, 10);
}

/* Is the group that @id was found for one of @j's, as far as the names tell? */
static bool is_same_job(const struct registry_job *j, const char *name, const struct identity *id, const char *path)
{
	if (!is_named(j, id->manager, name))
		return false;
	if (id->is_remade)
		return is_same_user(j, id);
	return !j->top_path ||
	       (strlen(j->top_path) == id->job_end && strncmp(j->top_path, path, id->job_end) == 0);
}

/* A group that is being learned. */
struct newcomer {
	const struct group_life *life;
	const struct registry_group *parent;
	char path[GROUP_PATH_SIZE]; /* whole components only */
	bool is_whole;
};

static bool is_top(const struct newcomer *n, const struct identity *id)
{
	return n->is_whole && n->path[id->job_end] == '\0';
}

static struct registry_job *job_of_parent(const struct newcomer *n, const char *name, const struct identity *id)
{
	for (size_t i = 0; n->parent && i < n->parent->member_count; i++) {
		struct registry_job *j = n->parent->members[i].job;

		if (is_same_job(j, name, id, n->path))
			return j;
	}
	return NULL;
}

static bool is_made_by_user(const struct group_life *life)
{
	return life->maker_uid != 0 && life->maker_uid != UINT32_MAX;
}

/* The job that is there already; the latest of several. */
static struct registry_job *find_job(struct registry *r, const struct newcomer *n, const char *name,
				     const struct identity *id)
{
	for (struct registry_job *j = first_named(r, id->manager, name); j; j = j->next_same) {
		if (!is_same_job(j, name, id, n->path))
			continue;
		if (id->is_remade || !is_top(n, id))
			return j;
		/* a top group made anew is another job's; one that we did not know was its own all the time */
		if (j->top_id == n->life->id || (!j->top_id && !j->is_ended))
			return j;
	}
	return NULL;
}

static void take_start(struct registry *r, struct registry_job *j, const struct newcomer *n)
{
	const struct group_life *life = n->life;

	j->facts->start_boot_ns = life->born_ns;
	j->facts->start_ns = registry_real(r, life->born_ns);
	j->facts->measured_from_ns = life->born_ns ? j->facts->start_ns : r->options.started_real_ns;
}

static struct registry_job *make_job(struct registry *r, const struct newcomer *n, const char *name,
				     const struct identity *id)
{
	struct registry_job *j = registry_job_new(r, id->manager, name);

	if (!j)
		return NULL;
	if (!id->is_roots && is_made_by_user(n->life))
		j->maker_uid = n->life->maker_uid;
	j->is_remade = id->is_remade;
	j->facts->uid = *id->user ? strtoll(id->user, NULL, 10) : -1;
	j->top_path = strndup(n->path, id->job_end);
	take_start(r, j, n);
	return j->top_path && registry_job_enlist(j) == 0 ? j : registry_job_free(j);
}

static struct registry_job *get_job(struct registry *r, const struct newcomer *n, const struct identity *id)
{
	_cleanup_free_ char *name = utf8_repair(id->job);
	struct registry_job *j;

	if (!name)
		return NULL;
	j = is_top(n, id) ? NULL : job_of_parent(n, name, id);
	if (j)
		return j;
	if (id->is_roots && is_made_by_user(n->life))
		return NULL; /* made to look like another's */
	j = find_job(r, n, name, id);
	return j ? j : make_job(r, n, name, id);
}

/* A group of a job that had ended is there: it goes on. */
static void reopen(struct registry_job *j, const struct group_life *life)
{
	if (j->is_ended && !life->died_ns)
		registry_job_set_end(j, 0);
}

static void take_top(struct registry_job *j, const struct newcomer *n, const struct identity *id)
{
	if (!is_top(n, id) || (j->has_top && j->top_id != n->life->id))
		return;
	if (j->top_id != n->life->id) {
		char *path = strndup(n->path, id->job_end);

		if (!path)
			return;
		free(j->top_path);
		j->top_path = path;
	}
	j->top_id = n->life->id;
	j->has_top = true;
}

static struct registry_member *find_member(struct registry_group *g, const struct registry_job *j)
{
	for (size_t i = 0; i < g->member_count; i++) {
		if (g->members[i].job == j)
			return &g->members[i];
	}
	return NULL;
}

static void begin_step(struct registry *r, struct registry_step *step, const struct group_life *life)
{
	if (!step->start_ns)
		step->start_ns = registry_real(r, life->born_ns);
	if (!life->died_ns)
		step->end_ns = 0;
	step->live_groups++;
}

/* Make the group one of @j's and @step's. */
static void join(struct registry *r, struct registry_group *g, struct registry_job *j, struct registry_step *step,
		 bool is_step_top, const struct group_life *life)
{
	struct registry_member *m = find_member(g, j);

	if (!m) {
		if (g->member_count == MEMBERS_MAX)
			return;
		m = &g->members[g->member_count++];
		*m = (struct registry_member){ .job = j };
		j->groups++;
	}
	m->step = step;
	m->is_step_top = is_step_top;
	j->live_groups++;
	if (step)
		begin_step(r, step, life);
	reopen(j, life);
}

static void join_as(struct registry *r, struct registry_group *g, const struct newcomer *n, const struct identity *id)
{
	struct registry_job *j = get_job(r, n, id);
	struct registry_step *step = NULL;

	if (!j)
		return;
	if (*id->step)
		step = registry_job_step(j, id->step);
	take_top(j, n, id);
	join(r, g, j, step, n->is_whole && id->step_end && n->path[id->step_end] == '\0', n->life);
}

static bool is_job(const struct registry *r, const struct identity *id)
{
	return r->options.has_units || strcmp(id->manager, "systemd") != 0;
}

static void join_all(struct registry *r, struct registry_group *g, const struct newcomer *n)
{
	const struct identity_rules *rules = r->options.rules;
	struct identity id, outer;
	bool is_found = identity_of(rules, n->path, &id);

	while (is_found && g->member_count < MEMBERS_MAX) {
		if (is_job(r, &id))
			join_as(r, g, n, &id);
		is_found = identity_around(rules, n->path, &id, &outer);
		if (is_found)
			id = outer;
	}
}

/* What stands in a path that was cut is that of the group above, if it is known. */
static void join_as_parent(struct registry *r, struct registry_group *g, const struct newcomer *n)
{
	for (size_t i = 0; i < n->parent->member_count; i++) {
		const struct registry_member *m = &n->parent->members[i];

		join(r, g, m->job, m->step, false, n->life);
	}
}

/* A counter of files begins anew with a new top group. */
static void end_top(struct registry_job *j)
{
	j->has_top = false;
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		enum metric_kind kind = metric_get((enum metric_id)i)->kind;

		if (kind != KIND_COUNTER && kind != KIND_PEAK) {
			if (kind == KIND_GAUGE)
				j->set[i] = (struct value){};
			continue;
		}
		if (kind == KIND_COUNTER && j->set[i].is_known)
			value_add(j->base, (enum metric_id)i, j->set[i].number);
		else if (j->set[i].is_known && j->base[i].number <= j->set[i].number)
			j->base[i] = j->set[i];
		j->set[i] = (struct value){};
	}
}

static void die(struct registry *r, struct registry_group *g, const struct group_life *life)
{
	g->died_ns = life->died_ns;
	g->died_feed = r->feeds;
	g->peak_bytes = life->peak_bytes;
	g->oom_kills = life->oom_kills;
	g->has_oom_kills = life->has_oom_kills;
	for (size_t i = 0; i < g->member_count; i++) {
		struct registry_job *j = g->members[i].job;
		struct registry_step *step = g->members[i].step;

		j->live_groups--;
		j->last_death_ns = MAX(j->last_death_ns, life->died_ns);
		if (j->has_top && j->top_id == g->id)
			end_top(j);
		if (step && --step->live_groups == 0)
			step->end_ns = registry_real(r, life->died_ns);
	}
}

static void prepare(const struct registry *r, const struct group_life *life, struct newcomer *ret)
{
	char *last;

	*ret = (struct newcomer){ .life = life, .is_whole = !life->is_cut };
	memcpy(ret->path, life->path, sizeof(ret->path) - 1);
	last = strrchr(ret->path, '/');
	if (life->is_cut && last)
		*last = '\0';
	if (life->parent)
		ret->parent = idmap_get(&r->groups, life->parent);
	if (ret->parent && !ret->parent->is_learned)
		ret->parent = NULL;
}

static int add_group(struct registry *r, const struct group_life *life, struct registry_group *g)
{
	struct newcomer n;
	bool is_new = !g;

	prepare(r, life, &n);
	if (is_new) {
		g = calloc(1, sizeof(*g));
		if (!g)
			return -ENOMEM;
		g->id = life->id;
	}
	g->is_learned = true;
	g->wanted_members = 0; /* its path tells better */
	g->parent = life->parent;
	if (life->is_cut && n.parent)
		join_as_parent(r, g, &n);
	else
		join_all(r, g, &n);
	if (g->member_count == 0 || (is_new && idmap_put(&r->groups, g->id, g) < 0)) {
		int code = g->member_count ? -ENOMEM : 0;

		for (size_t i = 0; i < g->member_count; i++) {
			g->members[i].job->groups--;
			g->members[i].job->live_groups--;
		}
		free(g);
		return code;
	}
	if (n.parent)
		((struct registry_group *)n.parent)->children++;
	if (life->died_ns)
		die(r, g, life);
	return 0;
}

/* Those above come first: they are older, or their paths are shorter. */
static int compare_births(const void *a, const void *b)
{
	const struct group_life *x = *(const struct group_life *const *)a, *y = *(const struct group_life *const *)b;
	size_t x_length, y_length;

	if (x->born_ns != y->born_ns)
		return x->born_ns < y->born_ns ? -1 : 1;
	x_length = strlen(x->path);
	y_length = strlen(y->path);
	if (x_length != y_length)
		return x_length < y_length ? -1 : 1;
	return compare_ids(&x->id, &y->id);
}

static int learn_birth(struct registry *r, const struct group_life *life, struct idmap *ignored)
{
	struct registry_group *g = idmap_get(&r->groups, life->id);
	int code;

	if (g && (g->is_learned || registry_group_is_folded(g)))
		return 0; /* twice in the list, or to be erased */
	code = add_group(r, life, g);
	if (code < 0 || idmap_get(&r->groups, life->id))
		return code;
	return idmap_put(ignored, life->id, r);
}

int registry_learn(struct registry *r, const struct group_life *groups, size_t count, uint64_t boot_ns,
		   uint64_t real_ns)
{
	_cleanup_free_ const struct group_life **births = calloc(count + 1, sizeof(*births));
	_cleanup_(idmap_clear) struct idmap ignored = {};
	size_t birth_count = 0;
	int code = 0;

	if (!births)
		return -ENOMEM;
	r->real_minus_boot_ns = real_ns - boot_ns;
	for (size_t i = 0; code == 0 && i < count; i++) {
		struct registry_group *g = idmap_get(&r->groups, groups[i].id);

		if (idmap_get(&r->ignored, groups[i].id))
			code = idmap_put(&ignored, groups[i].id, r);
		else if (!g || !g->is_learned)
			births[birth_count++] = &groups[i];
		else if (groups[i].died_ns && !g->died_ns)
			die(r, g, &groups[i]);
	}
	qsort(births, birth_count, sizeof(*births), compare_births);
	for (size_t i = 0; code == 0 && i < birth_count; i++)
		code = learn_birth(r, births[i], &ignored);
	registry_end_jobs(r, boot_ns);
	if (code < 0)
		return code;
	registry_drop_halves(r);
	idmap_clear(&r->ignored); /* what is not in the list any more is not remembered, either */
	r->ignored = ignored;
	ignored = (struct idmap){};
	return 0;
}
