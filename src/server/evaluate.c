/* SPDX-License-Identifier: MIT */
#include "server/evaluate.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/replacement.h"
#include "model/job_filter.h"
#include "predict/evaluation.h"
#include "predict/ridge.h"
#include "predict/trace_file.h"
#include "server/predict.h"
#include "server/store/store.h"
#include "service/log.h"

#define NS UINT64_C(1000000000)
#define FILE_MAX (1u << 30) /* bytes */
#define JOBS_MAX 500000 /* the newest of a database */

static const struct learner *const learners[] = { &ridge_learner, &forest_learner,
						  &boosting_learner, NULL };

static void put_sums(const char *name, const struct evaluation_sums *s, FILE *out)
{
	const double jobs = (double)MAX(s->jobs, (size_t)1);
	const double intervals = (double)MAX(s->with_interval, (size_t)1);

	fprintf(out, "  %-10s %8zu %9.1f %% %10.2f %10.2f %9.1f %% %9.1f %%  x %.1f\n", name,
		s->jobs, 100 * (double)s->within_two / jobs, exp(s->error / jobs),
		sqrt(s->squared_error / jobs), 100 * (double)s->with_interval / jobs,
		100 * (double)s->within / intervals, exp(s->width / intervals));
}

static struct evaluation_sums add_up(const struct evaluation_sums *windows, size_t count)
{
	struct evaluation_sums sums = {};

	for (size_t i = 0; i < count; i++) {
		sums.jobs += windows[i].jobs;
		sums.within_two += windows[i].within_two;
		sums.with_interval += windows[i].with_interval;
		sums.within += windows[i].within;
		sums.error += windows[i].error;
		sums.squared_error += windows[i].squared_error;
		sums.width += windows[i].width;
	}
	return sums;
}

static void put_windows(const struct evaluation *e, size_t first, size_t count, const char *title,
			FILE *out)
{
	const struct evaluation_sums m0 = add_up(e->m0 + first, count);

	fprintf(out, "  %-10s %8s %11s %10s %10s %11s %11s  %s\n", title, "jobs", "factor 2",
		"mean x/", "log RMSE", "intervals", "within", "width");
	put_sums("m0", &m0, out);
	for (size_t i = 0; i < e->learner_count; i++) {
		const struct evaluation_sums sums = add_up(e->of[i] + first, count);

		if (sums.jobs)
			put_sums(e->learners[i]->name, &sums, out);
		else
			fprintf(out, "  %-10s not fitted: too few jobs, or libxgboost is missing\n",
				e->learners[i]->name);
	}
}

static struct model_score score_of(const struct evaluation_sums *s)
{
	return (struct model_score){
		.within_two = (double)s->within_two / (double)MAX(s->jobs, (size_t)1),
		.within = (double)s->within / (double)MAX(s->with_interval, (size_t)1),
		.error = s->error / (double)MAX(s->jobs, (size_t)1),
	};
}

/* @ret: of the target, when it is to be served. */
static int put_target(const struct past_job *jobs, size_t count, enum target target,
		      struct model *ret, FILE *out)
{
	const size_t last = EVALUATION_WINDOWS - 1;
	struct evaluation e;
	int r = evaluation_run(jobs, count, target, learners, &e, ret ? &ret->fitted : NULL);

	if (r == -ENODATA) {
		fprintf(out, "%s: not known: %zu jobs had like ones before\n\n",
			target_rows[target].name, e.jobs);
		return 0;
	}
	if (r < 0)
		return r;
	fprintf(out, "%s: %zu jobs; %zu more were killed: lower bounds, not scored\n",
		target_rows[target].name, e.jobs, e.lower_bounds);
	put_windows(&e, 0, last, "validation", out);
	put_windows(&e, last, 1, "last", out);
	put_windows(&e, 0, EVALUATION_WINDOWS, "all", out);
	fprintf(out, "  served: %s\n\n", e.chosen == SIZE_MAX ? "m0" : e.learners[e.chosen]->name);
	if (!ret || e.chosen == SIZE_MAX)
		return 0;
	ret->own = score_of(&e.of[e.chosen][last]);
	ret->m0 = score_of(&e.m0[last]);
	ret->scored = e.m0[last].jobs;
	return 0;
}

static int write_models(const char *path, const struct models *models, FILE *out, struct error *err)
{
	struct replacement file = {};
	int r = replacement_open(path, 0644, &file, err);

	if (r < 0)
		return r;
	r = models_write(models, file.stream);
	if (r < 0) {
		replacement_abandon(&file);
		return error_set_errno(err, r, "cannot write '%s'", path);
	}
	r = replacement_commit(&file, err);
	if (r == 0)
		fprintf(out, "%s: written; the server reads it at its next prediction\n", path);
	return r;
}

const struct models *served_models(struct served *served, const char *path)
{
	_cleanup_free_ char *bytes = NULL;
	struct error err = {};
	struct stat file = {};
	uint64_t modified_ns;
	size_t size = 0;
	int r;

	if (stat(path, &file) < 0) {
		models_clear(&served->models);
		*served = (struct served){};
		return &served->models;
	}
	modified_ns = (uint64_t)file.st_mtim.tv_sec * NS + (uint64_t)file.st_mtim.tv_nsec;
	if (served->inode == file.st_ino && served->modified_ns == modified_ns)
		return &served->models;
	models_clear(&served->models);
	served->inode = file.st_ino;
	served->modified_ns = modified_ns;
	r = file_read(AT_FDCWD, path, MODELS_SIZE_MAX, &bytes, &size);
	if (r < 0)
		error_set_errno(&err, r, "it cannot be read");
	else
		r = models_read(bytes, size, learners, &served->models, &err);
	if (r < 0)
		log_say(CONFIG_LOG_ERROR, "no trained models of '%s' are served: %s", path,
			err.text);
	return &served->models;
}

static int read_file(const char *path,
		     int (*parse)(char *text, struct trace_file *ret, struct error *err),
		     struct trace_file *ret, FILE *out, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	int r = file_read(AT_FDCWD, path, FILE_MAX, &text, NULL);

	if (r < 0)
		return error_set_errno(err, r, "cannot read '%s'", path);
	r = parse(text, ret, err);
	if (r < 0)
		return error_prefix(err, r, "%s", path);
	fprintf(out, "%zu jobs that ended, %zu that say nothing, %zu rows that are none\n\n",
		ret->count, ret->silent, ret->refused);
	return 0;
}

int evaluate_jobs(struct store *s, const char *swf, const char *sacct, bool takes_estimates,
		  const char *model_file, FILE *out, struct error *err)
{
	_cleanup_(trace_file_clear) struct trace_file file = {};
	_cleanup_(past_jobs_clear) struct past_jobs stored = {};
	_cleanup_(models_clear) struct models models = { .made_ns = clock_now_ns(CLOCK_REALTIME) };
	const struct store_who all = { .sees_all = true };
	int r;

	if (swf)
		r = read_file(swf, trace_file_parse_swf, &file, out, err);
	else if (sacct)
		r = read_file(sacct, trace_file_parse_sacct, &file, out, err);
	else
		r = predict_read_jobs(s, &(struct job_filter){}, &all, false, takes_estimates,
				      JOBS_MAX, &stored, err);
	for (enum target t = 0; r == 0 && t < TARGETS; t++) {
		struct model *model = model_file ? &models.of[t] : NULL;

		r = swf || sacct ? put_target(file.jobs, file.count, t, model, out)
				 : put_target(stored.items, stored.count, t, model, out);
		if (r < 0)
			error_set_errno(err, r, "cannot evaluate");
	}
	return r < 0 || !model_file ? r : write_models(model_file, &models, out, err);
}
