/* SPDX-License-Identifier: MIT */
/* Which groups are whose: births and deaths become jobs and their ends. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "jobs/registry_internal.h"
#include "basic/utf8.h"

static bool is_same_user(const struct registry_job *j, const struct identity *id)
{
	return !*id->user || j->facts->uid < 0 ||
	       (uint64_t)j->facts->uid == strtoull(id->user, NULL, 10);
}

/* Is the group that @id was found for one of @j's, as far as the names tell? */
static bool is_same_job(const struct registry_job *j, const char *name, const struct identity *id,
			const char *path)
{
	if (!registry_job_is_named(j, id->manager, name))
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

static struct registry_job *job_of_parent(const struct newcomer *n, const char *name,
					  const struct identity *id)
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

static bool is_delegated(const struct group_life *life)
{
	return life->is_delegated || is_made_by_user(life);
}

/* Where a user makes the names, none of them is a manager's, or says that it is somebody else's. */
static bool is_made_up(const struct group_life *life, const struct identity *id)
{
	if (!is_delegated(life))
		return false;
	return id->is_roots || (*id->user && strtoull(id->user, NULL, 10) != life->maker_uid);
}

/* The job that is there already; the latest of several. */
static struct registry_job *find_job(struct registry *r, const struct newcomer *n, const char *name,
				     const struct identity *id)
{
	for (struct registry_job *j = registry_first_named(r, id->manager, name); j;
	     j = j->next_same) {
		if (!is_same_job(j, name, id, n->path))
			continue;
		if (id->is_remade || !is_top(n, id))
			return j;
		/* a top group made anew is another job's; one that we did not know was its own all
		 * the time */
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
	j->facts->measured_from_ns = life->born_ns ? j->facts->start_ns
				     : r->feeds	   ? r->learned_real_ns
						   : /* the tree was walked again */
					     r->options.started_real_ns;
}

static int make_job(struct registry *r, const struct newcomer *n, const char *name,
		    const struct identity *id, struct registry_job **ret)
{
	struct registry_job *j = registry_job_new(r, id->manager, name);
	int code = -ENOMEM;

	if (!j)
		return -ENOMEM;
	if (is_made_by_user(n->life))
		j->maker_uid = n->life->maker_uid;
	j->is_delegated = is_delegated(n->life);
	j->is_remade = id->is_remade;
	j->facts->uid = -1;
	if (*id->user) {
		j->facts->uid = strtoll(id->user, NULL, 10);
	} else if (is_made_by_user(n->life) && !id->is_for_others) {
		j->facts->uid = n->life->maker_uid;
	} else if (n->life->maker_uid == 0 && strcmp(id->manager, "run") == 0) {
		j->facts->uid = 0; /* those of users are announced before anybody sees them */
		j->is_roots = true;
	}
	j->top_path = strndup(n->path, id->job_end);
	take_start(r, j, n);
	if (j->top_path)
		code = registry_job_enlist(j);
	if (code < 0) {
		registry_job_free(j);
		return code;
	}
	j->lost_groups = registry_lacking_take(r, id->manager, name);
	*ret = j;
	return 0;
}

/* *ret is NULL: it is nobody's.  -ENOSPC: the job cannot be known, for now. */
static int get_job(struct registry *r, const struct newcomer *n, const struct identity *id,
		   struct registry_job **ret)
{
	_cleanup_free_ char *name = utf8_repair(id->job);

	if (!name)
		return -ENOMEM;
	*ret = is_top(n, id) ? NULL : job_of_parent(n, name, id);
	if (*ret || is_made_up(n->life, id) ||
	    (is_made_by_user(n->life) && r->options.user_jobs_max == SIZE_MAX))
		return 0;
	*ret = find_job(r, n, name, id);
	return *ret ? 0 : make_job(r, n, name, id, ret);
}

/* What the group did will never be in the job, should that become known later.  With the top group
 * of most managers their job is over. */
static int lack(struct registry *r, const struct newcomer *n, const struct identity *id)
{
	_cleanup_free_ char *name = utf8_repair(id->job);

	if (!name)
		return -ENOMEM;
	if (!n->life->died_ns || id->is_remade || !is_top(n, id))
		return registry_lacking_add(r, id->manager, name);
	registry_lacking_take(r, id->manager, name);
	return 0;
}

static void take_top(struct registry_job *j, const struct newcomer *n, const struct identity *id)
{
	if (!is_top(n, id) || (j->has_top && j->top_id != n->life->id))
		return;
	if (j->top_id != n->life->id) {
		char *path = strndup(n->path, id->job_end);
		struct job *facts = registry_job_facts(j);

		if (!path || !facts) {
			free(path);
			return;
		}
		free(j->top_path);
		j->top_path = path;
		facts->group_id = n->life->id;
	}
	j->top_id = n->life->id;
	j->has_top = true;
}

/* Whether it was the last live group of its step.  One that a job's state names may never have
 * come.
 */
static bool leave(struct registry_member *m)
{
	if (!m->is_live)
		return false;
	m->is_live = false;
	assert(m->job->live_groups > 0);
	m->job->live_groups--;
	assert(!m->step || m->step->live_groups > 0);
	return m->step && --m->step->live_groups == 0;
}

/* Make the group one of @j's and @step's, of the task @rank. */
static void join(struct registry *r, struct registry_group *g, struct registry_job *j,
		 struct registry_step *step, uint32_t rank, bool is_step_top,
		 const struct group_life *life)
{
	struct registry_member *m = registry_group_member(g, j);

	if (!m) {
		if (g->member_count == MEMBERS_MAX)
			return;
		m = &g->members[g->member_count++];
		*m = (struct registry_member){ .job = j };
		j->groups++;
	}
	(void)leave(m); /* a path may name a job twice */
	m->is_live = true;
	m->step = step;
	m->rank = step ? rank : RANK_NONE;
	m->is_step_top = is_step_top;
	j->live_groups++;
	if (step) {
		if (!step->start_ns)
			step->start_ns = registry_real(r, life->born_ns);
		if (!life->died_ns)
			step->end_ns = 0;
		step->live_groups++;
	}
	/* A group of a job that had ended is there: it goes on. */
	if (j->is_ended && !life->died_ns)
		registry_job_set_end(j, 0);
}

static int join_as(struct registry *r, struct registry_group *g, const struct newcomer *n,
		   const struct identity *id)
{
	struct registry_step *step = NULL;
	struct registry_job *j = NULL;
	int code = get_job(r, n, id, &j);

	if (!j)
		return code;
	if (*id->step)
		step = registry_job_step(j, id->step);
	take_top(j, n, id);
	join(r, g, j, step, registry_rank_of(id->task),
	     n->is_whole && id->step_end && n->path[id->step_end] == '\0', n->life);
	return 0;
}

/* A unit of systemd's holds a manager's jobs, and is none that they are part of. */
static int put_inside(struct registry_job *j, const struct registry_job *outer)
{
	struct job *facts;

	if (j->facts->is_inside || strcmp(outer->facts->manager, "systemd") == 0)
		return 0;
	facts = registry_job_facts(j);
	if (!facts)
		return -ENOMEM;
	facts->is_inside = true;
	return 0;
}

/* -ENOSPC: there was no room for some of its jobs. */
static int join_all(struct registry *r, struct registry_group *g, const struct newcomer *n)
{
	const struct identity_rules *rules = r->options.rules;
	struct identity id, outer, left_out[MEMBERS_MAX];
	bool is_found = identity_of(rules, n->path, &id);
	size_t left_out_count = 0;
	int code = 0;

	while (is_found && g->member_count + left_out_count < MEMBERS_MAX) {
		if (r->options.has_units || strcmp(id.manager, "systemd") != 0)
			code = join_as(r, g, n, &id);
		if (code == -ENOSPC)
			left_out[left_out_count++] = id;
		else if (code < 0)
			return code;
		code = 0;
		is_found = identity_around(rules, n->path, &id, &outer);
		if (is_found)
			id = outer;
	}
	for (size_t i = 1; code == 0 && i < g->member_count; i++)
		code = put_inside(g->members[i - 1].job, g->members[i].job);
	if (!g->member_count && !n->life->died_ns)
		return left_out_count ? -ENOSPC : 0; /* it is tried again, with all that it did */
	for (size_t i = 0; code == 0 && i < left_out_count; i++)
		code = lack(r, n, &left_out[i]);
	return code;
}

/* What stands in a path that was cut is that of the group above, if it is known. */
static void join_as_parent(struct registry *r, struct registry_group *g, const struct newcomer *n)
{
	for (size_t i = 0; i < n->parent->member_count; i++) {
		const struct registry_member *m = &n->parent->members[i];

		join(r, g, m->job, m->step, m->rank, false, n->life);
	}
}

/* A counter of files begins anew with a new top group. */
static void end_top(struct registry_job *j)
{
	struct value said[METRIC_JOB_COUNT] = {};

	j->has_top = false;
	j->base = j->base ? j->base : calloc(METRIC_JOB_COUNT, sizeof(*j->base));
	if (!j->base)
		return; /* what the next one says counts from where it is more */
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		enum metric_kind kind = metric_get((enum metric_id)i)->kind;

		if (kind == KIND_COUNTER || kind == KIND_PEAK)
			said[i] = j->set[i];
		if (kind == KIND_COUNTER || kind == KIND_PEAK || kind == KIND_GAUGE)
			j->set[i] = (struct value){};
	}
	values_add(j->base, said);
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

		j->last_death_ns = MAX(j->last_death_ns, life->died_ns);
		if (j->has_top && j->top_id == g->id)
			end_top(j);
		if (leave(&g->members[i]))
			g->members[i].step->end_ns = registry_real(r, life->died_ns);
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
	int code = 0;

	prepare(r, life, &n);
	if (is_new) {
		g = calloc(1, sizeof(*g));
		if (!g)
			return -ENOMEM;
		g->id = life->id;
	}
	g->is_learned = true;
	g->is_fed = false;
	g->wanted_members = 0; /* its path tells better */
	g->parent = life->parent;
	g->answers = life->answers;
	if (life->is_cut && n.parent)
		join_as_parent(r, g, &n);
	else
		code = join_all(r, g, &n);
	if (!is_new)
		code = 0; /* it stays what it is known as */
	if (code == 0 && g->member_count && is_new && idmap_put(&r->groups, g->id, g) < 0)
		code = -ENOMEM;
	if (code < 0 || !g->member_count) {
		for (size_t i = 0; i < g->member_count; i++) {
			assert(g->members[i].job->groups > 0);
			g->members[i].job->groups--;
			(void)leave(&g->members[i]);
		}
		free(g);
		return code;
	}
	if (n.parent && !g->is_counted) {
		((struct registry_group *)n.parent)->children++;
		g->is_counted = true;
	}
	if (life->died_ns)
		die(r, g, life);
	return 0;
}

/* Those above come first: they are older, or their paths are shorter. */
static int compare_births(const void *a, const void *b)
{
	const struct group_life *x = *(const struct group_life *const *)a,
				*y = *(const struct group_life *const *)b;
	size_t x_length, y_length;

	if (x->born_ns != y->born_ns)
		return x->born_ns < y->born_ns ? -1 : 1;
	x_length = strlen(x->path);
	y_length = strlen(y->path);
	if (x_length != y_length)
		return x_length < y_length ? -1 : 1;
	return ids_compare(&x->id, &y->id);
}

/* Groups that belong to no job are not looked at again; those for whose job there was no room are.
 */
static int learn_birth(struct registry *r, const struct group_life *life, struct idmap *ignored,
		       struct idmap *put_off)
{
	struct registry_group *g = idmap_get(&r->groups, life->id);
	bool was_put_off = idmap_get(&r->put_off, life->id) != NULL;
	int code;

	if (g && (g->is_learned || registry_group_is_folded(g)))
		return 0; /* twice in the list, or to be erased */
	if (was_put_off && !r->has_room_again && !life->died_ns)
		return idmap_put(put_off, life->id, r);
	code = add_group(r, life, g);
	if (code == -ENOSPC)
		return idmap_put(put_off, life->id, r);
	if (code < 0 || idmap_get(&r->groups, life->id))
		return code;
	return idmap_put(ignored, life->id, r);
}

int registry_learn(struct registry *r, const struct group_life *groups, size_t count,
		   uint64_t boot_ns, uint64_t real_ns)
{
	_cleanup_free_ const struct group_life **births = calloc(count + 1, sizeof(*births));
	_cleanup_(idmap_clear) struct idmap ignored = {}, put_off = {};
	size_t birth_count = 0;
	int code = 0;

	if (!births)
		return -ENOMEM;
	r->real_minus_boot_ns = real_ns - boot_ns;
	r->learned_real_ns = real_ns;
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
		code = learn_birth(r, births[i], &ignored, &put_off);
	registry_end_jobs(r, boot_ns);
	if (code < 0)
		return code;
	registry_drop_halves(r);
	idmap_clear(&r->ignored); /* what is not in the list any more is not remembered, either */
	r->ignored = ignored;
	ignored = (struct idmap){};
	idmap_clear(&r->put_off);
	r->put_off = put_off;
	put_off = (struct idmap){};
	r->has_room_again = false;
	return 0;
}

int registry_learn_one(struct registry *r, const struct group_life *life, const char *manager,
		       const char *id, uint64_t boot_ns, uint64_t real_ns)
{
	_cleanup_free_ struct registry_group *g = calloc(1, sizeof(*g));
	struct identity identity = { .manager = manager, .job_end = strlen(life->path) };
	struct newcomer n;
	int code;

	if (!g)
		return -ENOMEM;
	r->real_minus_boot_ns = real_ns - boot_ns;
	r->learned_real_ns = real_ns;
	g->id = life->id;
	g->is_learned = true;
	snprintf(identity.job, sizeof(identity.job), "%s", id);
	prepare(r, life, &n);
	code = join_as(r, g, &n, &identity);
	if (code == 0)
		code = idmap_put(&r->groups, g->id, g);
	if (code == 0)
		TAKE_PTR(g);
	return code;
}
