/* SPDX-License-Identifier: MIT */
#include "predict/predictor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/fnv.h"
#include "basic/macro.h"

#define MIB (1024.0 * 1024)

/* clang-format off */
const struct target_row target_rows[TARGETS] = {
	[TARGET_RUNTIME] = { "runtime", "seconds", "How long it runs.", 1 },
	[TARGET_MEMORY] = { "memory", "bytes", "The peak of its memory, over all nodes.", MIB },
	[TARGET_POWER] = { "power", "watts", "The mean power of a node.", 0.001 },
	[TARGET_CORES] = { "cores", "cores", "Busy cores, as a mean over its time.", 0.01 },
	[TARGET_ENERGY] = { "energy", "joules", "Nodes, times power, times runtime.", 0.001 },
};

enum { BY_NAME = 1, BY_SIZE = 2, BY_LIMIT = 4, BY_PARTITION = 8 };
static const struct {
	unsigned int by;
	const char *words;
} levels[] = {
	{ BY_NAME | BY_SIZE | BY_LIMIT | BY_PARTITION, "same name, size, time limit and partition" },
	{ BY_SIZE | BY_LIMIT, "same size and time limit" },
	{ BY_NAME, "same name" },
	{ BY_SIZE, "same size" },
	{ 0, "same user" },
};
#define LEVELS ARRAY_SIZE(levels)
/* clang-format on */

struct past { /* one job of a user */
	uint64_t keys[LEVELS];
	double values[TARGETS];
	bool is_lower_bound;
};

struct scores { /* the newest; of each the distance on the scale of logarithms */
	double items[PREDICTOR_SCORES];
	unsigned int count, next;
};

struct history { /* of a user */
	struct past jobs[PREDICTOR_JOBS]; /* a ring */
	unsigned int count, next;
	struct scores scores[TARGETS];
};

struct predictor {
	struct idmap users; /* struct history, by the user's hash */
	struct scores scores[TARGETS]; /* of all users */
};

const char *predictor_level(unsigned int level)
{
	return level < LEVELS ? levels[level].words : NULL;
}

uint64_t request_hash(const char *text)
{
	return text && *text ? fnv_text(FNV_BEGIN, text) : 0;
}

uint64_t request_hash_name(const char *text)
{
	uint64_t hash = FNV_BEGIN;

	for (const char *c = text ? text : ""; *c; c++) {
		if (*c < '0' || *c > '9')
			hash = fnv_bytes(hash, c, 1);
	}
	return text && *text ? hash : 0;
}

static uint64_t key_of(const struct job_request *r, unsigned int by)
{
	const struct {
		unsigned int by;
		double number;
		uint64_t hash;
	} rows[] = {
		{ BY_NAME, 0, r->name },     { BY_NAME, 0, r->script },
		{ BY_SIZE, r->nodes, 0 },    { BY_SIZE, r->cores, 0 },
		{ BY_SIZE, r->gpus, 0 },     { BY_LIMIT, r->limit_s, 0 },
		{ BY_PARTITION, 0, r->qos }, { BY_PARTITION, 0, r->partition },
	};
	uint64_t hash = FNV_BEGIN;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!(rows[i].by & by))
			continue;
		hash = fnv_bytes(hash, &rows[i].number, sizeof(rows[i].number));
		hash = fnv_bytes(hash, &rows[i].hash, sizeof(rows[i].hash));
	}
	return hash;
}

struct predictor *predictor_new(void)
{
	return calloc(1, sizeof(struct predictor));
}

struct predictor *predictor_free(struct predictor *p)
{
	struct history *history;
	size_t at = 0;

	if (!p)
		return NULL;
	while ((history = idmap_next(&p->users, &at)))
		free(history);
	idmap_clear(&p->users);
	free(p);
	return NULL;
}

void predictor_freep(struct predictor **p)
{
	predictor_free(*p);
}

static double limit_below(double value, enum target target)
{
	return MAX(value, target_rows[target].least);
}

/* The @i-th before the next: 1 is the newest. */
static const struct past *newest(const struct history *h, unsigned int i)
{
	return &h->jobs[(h->next + PREDICTOR_JOBS - i) % PREDICTOR_JOBS];
}

/* ---- like jobs ---- */

/* Values of the last @most jobs that are like in what @by has at least, of which there are enough,
 * those of jobs that were killed as infinite. */
static unsigned int find_like(const struct history *h, const struct job_request *request,
			      unsigned int by, enum target target, unsigned int most,
			      double ret[PREDICTOR_JOBS], double *ret_bound,
			      unsigned int *ret_level)
{
	for (unsigned int level = 0; h && level < LEVELS; level++) {
		const uint64_t key = key_of(request, levels[level].by);
		unsigned int found = 0;

		if (by & ~levels[level].by)
			continue;
		*ret_bound = 0;
		for (unsigned int i = 1; i <= h->count && found < most; i++) {
			const struct past *job = newest(h, i);

			if (job->keys[level] != key || isnan(job->values[target]))
				continue;
			if (job->is_lower_bound)
				*ret_bound = MAX(*ret_bound, job->values[target]);
			ret[found++] = job->is_lower_bound ? INFINITY : job->values[target];
		}
		*ret_level = level;
		if (found >= PREDICTOR_LIKE_LEAST)
			return found;
	}
	return 0;
}

/* Within so much, on the scale of logarithms, PREDICTOR_NOMINAL of the next ones lie if they are
 * like those before: between the two scores whose ranks of count + 1 are next to it.  Negative:
 * there are too few. */
static double conformal_width(const struct scores *s)
{
	double sorted[PREDICTOR_SCORES];
	const double rank = (s->count + 1) * PREDICTOR_NOMINAL;
	const unsigned int below = (unsigned int)rank;

	if (rank > s->count || !below)
		return -1;
	memcpy(sorted, s->items, s->count * sizeof(*sorted));
	qsort(sorted, s->count, sizeof(*sorted), array_compare_doubles);
	if (below >= s->count)
		return sorted[below - 1];
	return sorted[below - 1] + (rank - below) * (sorted[below] - sorted[below - 1]);
}

static void add_score(struct scores *s, double distance)
{
	s->items[s->next] = distance;
	s->next = (s->next + 1) % PREDICTOR_SCORES;
	s->count = MIN(s->count + 1, (unsigned int)PREDICTOR_SCORES);
}

static void set_interval(const struct predictor *p, const struct history *h, enum target target,
			 struct estimate *e)
{
	const struct scores *own = &h->scores[target], *all = &p->scores[target];
	double width = conformal_width(own);

	e->scored = own->count;
	if (width < 0) {
		width = conformal_width(all);
		e->scored = all->count;
	}
	e->has_interval = width >= 0 && !e->is_lower_bound;
	if (!e->has_interval)
		return;
	e->low = e->value * exp(-width);
	e->high = e->value * exp(width);
}

/* Of the newest that ended by themselves. */
static void add_last(const struct history *h, enum target target, struct estimate *e)
{
	double values[PREDICTOR_JOBS];
	unsigned int count = 0;

	for (unsigned int i = 1; i <= h->count; i++) {
		const struct past *job = newest(h, i);

		if (!job->is_lower_bound && !isnan(job->values[target]))
			values[count++] = limit_below(job->values[target], target);
	}
	if (!count)
		return;
	e->last = values[0];
	e->last_two = count > 1 ? (values[0] + values[1]) / 2 : values[0];
	qsort(values, count, sizeof(*values), array_compare_doubles);
	e->user_median = values[count / 2];
}

static void estimate_target(const struct history *h, const struct job_request *request,
			    enum target target, struct estimate *ret)
{
	double values[PREDICTOR_JOBS], bound = 0;
	unsigned int level = 0, count = find_like(h, request, 0, target, PREDICTOR_LIKE, values,
						  &bound, &level);

	if (!count)
		return;
	qsort(values, count, sizeof(*values), array_compare_doubles);
	*ret = (struct estimate){
		.is_known = true, .like_jobs = count, .level = level, .model = "m0"
	};
	ret->value = values[count / 2];
	if (count % 2 == 0 && isfinite(ret->value))
		ret->value = sqrt(limit_below(ret->value, target) *
				  limit_below(values[count / 2 - 1], target));
	ret->is_lower_bound = !isfinite(ret->value);
	if (ret->is_lower_bound)
		ret->value = bound;
	ret->value = limit_below(ret->value, target);
	add_last(h, target, ret);
}

void predictor_estimate(const struct predictor *p, const struct job_request *request,
			struct estimate ret[TARGETS])
{
	const struct history *h = idmap_get(&p->users, request->user);
	struct estimate *energy = &ret[TARGET_ENERGY];
	const struct estimate *power = &ret[TARGET_POWER], *runtime = &ret[TARGET_RUNTIME];

	memset(ret, 0, TARGETS * sizeof(*ret));
	for (enum target t = 0; t < TARGET_ENERGY; t++)
		estimate_target(h, request, t, &ret[t]);
	if (power->is_known && runtime->is_known) {
		*energy = *runtime;
		energy->like_jobs = MIN(power->like_jobs, runtime->like_jobs);
		energy->value = MAX(request->nodes, 1.0) * power->value * runtime->value;
	}
	for (enum target t = 0; t < TARGETS; t++) {
		if (ret[t].is_known)
			set_interval(p, h, t, &ret[t]);
	}
}

int predictor_learn(struct predictor *p, const struct past_job *job,
		    const struct estimate made[TARGETS])
{
	struct history *h = idmap_get(&p->users, job->request.user);
	const struct job_outcome *outcome = &job->outcome;
	struct past *past;

	if (!h) {
		int r = (h = calloc(1, sizeof(*h))) ? idmap_put(&p->users, job->request.user, h)
						    : -ENOMEM;

		if (r < 0) {
			free(h);
			return r;
		}
	}
	for (enum target t = 0; t < TARGETS; t++) {
		double distance;

		if (!made[t].is_known || made[t].is_lower_bound || outcome->is_lower_bound ||
		    isnan(outcome->values[t]))
			continue;
		distance = fabs(log(limit_below(outcome->values[t], t) / made[t].value));
		add_score(&h->scores[t], distance);
		add_score(&p->scores[t], distance);
	}
	past = &h->jobs[h->next];
	h->next = (h->next + 1) % PREDICTOR_JOBS;
	h->count = MIN(h->count + 1, (unsigned int)PREDICTOR_JOBS);
	memcpy(past->values, outcome->values, sizeof(past->values));
	past->is_lower_bound = outcome->is_lower_bound;
	for (size_t i = 0; i < LEVELS; i++)
		past->keys[i] = key_of(&job->request, levels[i].by);
	return 0;
}

/* ---- as time went ---- */

struct moment {
	uint64_t ns;
	size_t job;
};

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

int predictor_replay(struct predictor *p, const struct past_job *jobs, size_t count,
		     void (*take)(void *context, const struct predictor *p, size_t job,
				  const struct estimate made[TARGETS]),
		     void *context)
{
	_cleanup_free_ struct moment *submits = calloc(count + 1, sizeof(*submits));
	_cleanup_free_ struct moment *ends = calloc(count + 1, sizeof(*ends));
	_cleanup_free_ struct estimate(*made)[TARGETS] = calloc(count + 1, sizeof(*made));
	int r = submits && ends && made ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < count; i++) {
		submits[i] = (struct moment){ jobs[i].request.submit_ns, i };
		ends[i] = (struct moment){ MAX(jobs[i].outcome.end_ns, submits[i].ns), i };
	}
	if (r < 0)
		return r;
	qsort(submits, count, sizeof(*submits), compare_moments);
	qsort(ends, count, sizeof(*ends), compare_moments);
	for (size_t i = 0, ended = 0; r == 0 && ended < count;) {
		size_t job;

		if (i < count && submits[i].ns <= ends[ended].ns) {
			job = submits[i++].job;
			predictor_estimate(p, &jobs[job].request, made[job]);
			if (take)
				take(context, p, job, made[job]);
			continue;
		}
		job = ends[ended++].job;
		r = predictor_learn(p, &jobs[job], made[job]);
	}
	return r;
}

/* ---- advice ---- */

double predictor_chance_above(const struct predictor *p, const struct job_request *request,
			      enum target target, double limit, unsigned int *ret_count)
{
	double values[PREDICTOR_JOBS], bound;
	unsigned int level, above = 0;
	unsigned int count = find_like(idmap_get(&p->users, request->user), request, BY_NAME,
				       target, PREDICTOR_JOBS, values, &bound, &level);

	for (unsigned int i = 0; i < count; i++)
		above += values[i] > limit;
	*ret_count = count;
	return (above + 1.0) / (count + 1.0);
}

double predictor_within(const struct predictor *p, const struct job_request *request,
			enum target target, double risk, double *ret_chance,
			unsigned int *ret_count)
{
	double values[PREDICTOR_JOBS], bound;
	unsigned int level, at;
	unsigned int count = find_like(idmap_get(&p->users, request->user), request, BY_NAME,
				       target, PREDICTOR_JOBS, values, &bound, &level);

	*ret_count = count;
	if (!count)
		return -1;
	qsort(values, count, sizeof(*values), array_compare_doubles);
	/* one more of @count + 1 lies above the greatest */
	at = (unsigned int)MIN(ceil((count + 1) * (1 - risk)), (double)count);
	while (at > 0 && !isfinite(values[at - 1]))
		at--;
	if (!at)
		return -1;
	while (at < count && !(values[at] > values[at - 1])) /* as great */
		at++;
	*ret_chance = (count - at + 1.0) / (count + 1.0);
	return values[at - 1];
}
