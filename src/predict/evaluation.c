/* SPDX-License-Identifier: MIT */
#include "predict/evaluation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/macro.h"

#define FIRST_SHARE 0.3
#define CALIBRATION_SHARE 0.2
#define LEAST 100

struct table { /* in the order of their submission */
	float *features; /* FEATURES each */
	float *targets; /* log(outcome / M0) */
	float *widths; /* of M0's interval, as a logarithm; 0: none */
	uint64_t *submit_ns, *end_ns;
	size_t count;
	const struct past_job *jobs;
	enum target target;
	size_t lower_bounds;
};

static void rows_clear(struct table *rows)
{
	free(rows->features);
	free(rows->targets);
	free(rows->widths);
	free(rows->submit_ns);
	free(rows->end_ns);
}

void fitted_clear(struct fitted *f)
{
	if (f->model)
		f->learner->free(f->model);
	*f = (struct fitted){};
}

static void take_row(void *context, const struct predictor *p UNUSED, size_t job,
		     const struct estimate made[TARGETS])
{
	struct table *rows = context;
	const struct past_job *past = &rows->jobs[job];
	const struct estimate *e = &made[rows->target];
	const double outcome = past->outcome.values[rows->target];
	const size_t at = rows->count;

	if (!e->is_known || e->is_lower_bound || isnan(outcome))
		return;
	if (past->outcome.is_lower_bound) {
		rows->lower_bounds++;
		return;
	}
	features_fill(&past->request, made, rows->target, rows->features + at * FEATURES);
	rows->targets[at] = (float)log(MAX(outcome, target_rows[rows->target].least) / e->value);
	rows->widths[at] = e->has_interval ? (float)log(e->high / e->value) : 0;
	rows->submit_ns[at] = past->request.submit_ns;
	rows->end_ns[at] = past->outcome.end_ns;
	rows->count++;
}

static int make_rows(const struct past_job *jobs, size_t count, struct table *rows)
{
	_cleanup_(predictor_freep) struct predictor *p = predictor_new();

	rows->jobs = jobs;
	rows->features = calloc(count + 1, FEATURES * sizeof(*rows->features));
	rows->targets = calloc(count + 1, sizeof(*rows->targets));
	rows->widths = calloc(count + 1, sizeof(*rows->widths));
	rows->submit_ns = calloc(count + 1, sizeof(*rows->submit_ns));
	rows->end_ns = calloc(count + 1, sizeof(*rows->end_ns));
	if (!p || !rows->features || !rows->targets || !rows->widths || !rows->submit_ns ||
	    !rows->end_ns)
		return -ENOMEM;
	return predictor_replay(p, jobs, count, take_row, rows);
}

static void add(struct evaluation_sums *sums, double error, double width)
{
	sums->jobs++;
	sums->error += fabs(error);
	sums->squared_error += error * error;
	sums->within_two += fabs(error) <= M_LN2;
	if (width <= 0)
		return;
	sums->with_interval++;
	sums->within += fabs(error) <= width;
	sums->width += width;
}

/* By what M0's width is multiplied so that 90 % of the rows lie within; 0: too few have one. */
static double calibrate(const struct learner *learner, const void *model, const struct table *rows,
			const size_t *at, size_t count)
{
	_cleanup_free_ float *scores = calloc(MAX(count, (size_t)1), sizeof(*scores));
	size_t scored = 0, rank;

	for (size_t i = 0; scores && i < count; i++) {
		double said = learner->predict(model, rows->features + at[i] * FEATURES);

		if (rows->widths[at[i]] > 0)
			scores[scored++] =
				(float)(fabs(rows->targets[at[i]] - said) / rows->widths[at[i]]);
	}
	rank = (size_t)ceil((double)(scored + 1) * PREDICTOR_NOMINAL);
	if (!scores || rank > scored || !rank)
		return 0;
	qsort(scores, scored, sizeof(*scores), array_compare_floats);
	return scores[rank - 1];
}

/* Rows that had ended when @first was submitted, in the order of their submission. */
static size_t find_ended(const struct table *rows, size_t first, size_t *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < first; i++) {
		if (rows->end_ns[i] <= rows->submit_ns[first])
			ret[count++] = i;
	}
	return count;
}

/* Learns of the rows @at, of which the newest fifth makes the interval.  -ENODATA: too few. */
static int fit(const struct table *rows, const size_t *at, size_t count,
	       const struct learner *learner, struct fitted *ret)
{
	const size_t learned = count - (size_t)((double)count * CALIBRATION_SHARE);
	_cleanup_free_ float *features_of = calloc(learned + 1, FEATURES * sizeof(float));
	_cleanup_free_ float *targets = calloc(learned + 1, sizeof(*targets));

	if (!features_of || !targets)
		return -ENOMEM;
	for (size_t i = 0; i < learned; i++) {
		memcpy(features_of + i * FEATURES, rows->features + at[i] * FEATURES,
		       FEATURES * sizeof(float));
		targets[i] = rows->targets[at[i]];
	}
	*ret = (struct fitted){ .learner = learner, .jobs = learned };
	ret->model = learner->fit(features_of, targets, learned);
	if (!ret->model)
		return -ENODATA;
	ret->factor = calibrate(learner, ret->model, rows, at + learned, count - learned);
	return 0;
}

static int fit_all(const struct table *rows, const struct learner *learner, struct fitted *ret)
{
	_cleanup_free_ size_t *all = calloc(rows->count, sizeof(*all));

	for (size_t i = 0; all && i < rows->count; i++)
		all[i] = i;
	return all ? fit(rows, all, rows->count, learner, ret) : -ENOMEM;
}

static int run_window(const struct table *rows, size_t first, size_t last,
		      const struct learner *learner, struct evaluation_sums *ret)
{
	_cleanup_free_ size_t *ended = calloc(rows->count, sizeof(*ended));
	struct fitted fitted = {};
	int r;

	if (!ended)
		return -ENOMEM;
	r = fit(rows, ended, find_ended(rows, first, ended), learner, &fitted);
	for (size_t i = first; r == 0 && i < last; i++)
		add(ret,
		    rows->targets[i] -
			    learner->predict(fitted.model, rows->features + i * FEATURES),
		    fitted.factor * rows->widths[i]);
	fitted_clear(&fitted);
	return r;
}

static double mean_error(const struct evaluation_sums *sums, size_t count)
{
	double error = 0;
	size_t jobs = 0;

	for (size_t i = 0; i < count; i++) {
		error += sums[i].error;
		jobs += sums[i].jobs;
	}
	return jobs ? error / (double)jobs : INFINITY;
}

static void choose(struct evaluation *e)
{
	const size_t last = EVALUATION_WINDOWS - 1;
	double least = mean_error(e->m0, last);

	e->chosen = SIZE_MAX;
	for (size_t i = 0; i < e->learner_count; i++) {
		double error = mean_error(e->of[i], last);

		if (error >= least)
			continue;
		least = error;
		e->chosen = i;
	}
	if (e->chosen != SIZE_MAX &&
	    mean_error(&e->of[e->chosen][last], 1) >= mean_error(&e->m0[last], 1))
		e->chosen = SIZE_MAX;
}

int evaluation_run(const struct past_job *jobs, size_t count, enum target target,
		   const struct learner *const *learners, struct evaluation *ret,
		   struct fitted *ret_fitted)
{
	_cleanup_(rows_clear) struct table rows = { .target = target };
	size_t begin, length;
	int r = make_rows(jobs, count, &rows);

	if (ret_fitted)
		*ret_fitted = (struct fitted){};
	*ret = (struct evaluation){ .jobs = rows.count,
				    .lower_bounds = rows.lower_bounds,
				    .chosen = SIZE_MAX };
	if (r < 0)
		return r;
	if (rows.count < LEAST)
		return -ENODATA;
	begin = (size_t)((double)rows.count * FIRST_SHARE);
	length = (rows.count - begin) / EVALUATION_WINDOWS;
	while (ret->learner_count < EVALUATION_LEARNERS && learners[ret->learner_count]) {
		ret->learners[ret->learner_count] = learners[ret->learner_count];
		ret->learner_count++;
	}
	for (size_t w = 0; w < EVALUATION_WINDOWS; w++) {
		size_t first = begin + w * length;
		size_t last = w + 1 == EVALUATION_WINDOWS ? rows.count : first + length;

		for (size_t i = first; i < last; i++) {
			add(&ret->m0[w], rows.targets[i], rows.widths[i]);
			add(&ret->m0_all, rows.targets[i], rows.widths[i]);
		}
		for (size_t i = 0; i < ret->learner_count; i++) {
			r = run_window(&rows, first, last, ret->learners[i], &ret->of[i][w]);
			if (r == -ENOMEM)
				return r;
		}
	}
	choose(ret);
	return ret_fitted && ret->chosen != SIZE_MAX
		       ? fit_all(&rows, ret->learners[ret->chosen], ret_fitted)
		       : 0;
}
