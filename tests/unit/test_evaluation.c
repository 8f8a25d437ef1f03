/* SPDX-License-Identifier: MIT */
#include "predict/evaluation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "predict/models.h"
#include "predict/ridge.h"
#include "server/evaluate.h"
#include "test.h"

#define JOBS 3000
#define MINUTE_NS UINT64_C(60000000000)

static double uniform(void)
{
	return ((double)test_below(1u << 30) + 0.5) / (1u << 30);
}

/* Runtimes that @exponent says of the cores, or of nothing that is known: sizes are never alike, so
 * that M0 cannot know. */
static struct past_job *make_jobs(double exponent)
{
	struct past_job *jobs = calloc(JOBS, sizeof(*jobs));

	for (size_t i = 0; jobs && i < JOBS; i++) {
		double cores = exp(5 * uniform());

		jobs[i] = (struct past_job){
			.request = { .user = 1 + i % 5,
				     .name = 1 + i % 2,
				     .cores = cores,
				     .submit_ns = i * MINUTE_NS },
			.outcome.end_ns = i * MINUTE_NS + MINUTE_NS * test_below(30),
		};
		for (enum target t = 0; t < TARGETS; t++)
			jobs[i].outcome.values[t] = NAN;
		jobs[i].outcome.values[TARGET_RUNTIME] = 1000 * pow(cores, exponent) *
							 exp(0.4 * (uniform() - 0.5));
	}
	return jobs;
}

static const struct learner *const ridge_alone[] = { &ridge_learner, NULL };
static const struct learner *const all[] = { &ridge_learner, &forest_learner, &boosting_learner,
					     NULL };

TEST(a_model_that_knows_the_law_is_chosen)
{
	_cleanup_free_ struct past_job *jobs = make_jobs(1);
	struct evaluation e;

	ASSERT_OK(evaluation_run(jobs, JOBS, TARGET_RUNTIME, ridge_alone, &e));
	ASSERT_EQ(e.chosen, (size_t)0);
	for (size_t w = 0; w < EVALUATION_WINDOWS; w++) {
		ASSERT(e.of[0][w].error < 0.5 * e.m0[w].error);
		ASSERT((double)e.of[0][w].within_two > 0.95 * (double)e.of[0][w].jobs);
	}
}

TEST(what_is_no_better_than_the_median_is_not_served)
{
	_cleanup_free_ struct past_job *jobs = make_jobs(0);
	struct evaluation e;

	for (size_t i = 0; i < JOBS; i++)
		jobs[i].outcome.values[TARGET_RUNTIME] = i % 2 ? 1000 : 10; /* as its name says */
	ASSERT_OK(evaluation_run(jobs, JOBS, TARGET_RUNTIME, ridge_alone, &e));
	ASSERT_EQ(e.chosen, SIZE_MAX);
}

TEST(intervals_hold_what_they_say)
{
	_cleanup_free_ struct past_job *jobs = make_jobs(1);
	struct evaluation e;
	size_t within = 0, count = 0;

	ASSERT_OK(evaluation_run(jobs, JOBS, TARGET_RUNTIME, ridge_alone, &e));
	for (size_t w = 0; w < EVALUATION_WINDOWS; w++) {
		within += e.of[0][w].within;
		count += e.of[0][w].with_interval;
	}
	ASSERT(count > JOBS / 2);
	ASSERT((double)within > 0.86 * (double)count && (double)within < 0.94 * (double)count);
	ASSERT((double)e.m0_all.within > 0.88 * (double)e.m0_all.with_interval);
	ASSERT((double)e.m0_all.within < 0.92 * (double)e.m0_all.with_interval);
}

TEST(trees_learn_the_law_where_libxgboost_is)
{
	_cleanup_free_ struct past_job *jobs = make_jobs(1);
	struct evaluation e;

	ASSERT_OK(evaluation_run(jobs, JOBS, TARGET_RUNTIME, all, &e));
	for (size_t i = 1; i < e.learner_count; i++) {
		if (e.of[i][0].jobs) /* else it is not installed */
			ASSERT(e.of[i][0].error < 0.5 * e.m0[0].error);
	}
}

/* Of the runtime, by @learner; its file's bytes belong to the caller.  NULL: libxgboost is not
 * installed. */
static char *write_file(const struct learner *learner, const struct past_job *jobs,
			struct models *ret, size_t *ret_size)
{
	struct model *model = &ret->of[TARGET_RUNTIME];
	char *bytes = NULL;
	FILE *file;

	*ret = (struct models){ .made_ns = 17 };
	if (evaluation_fit(jobs, JOBS, TARGET_RUNTIME, learner, &model->fitted) < 0) {
		ASSERT(learner != &ridge_learner);
		return NULL;
	}
	file = open_memstream(&bytes, ret_size);
	ASSERT(file);
	model->scored = 19;
	ASSERT_OK(models_write(ret, file));
	fclose(file);
	return bytes;
}

TEST(a_file_of_models_says_what_they_said)
{
	_cleanup_free_ struct past_job *jobs = make_jobs(1);

	for (size_t i = 0; all[i]; i++) {
		_cleanup_(models_clear) struct models written = {}, read = {};
		const struct job_request request = { .user = 1, .name = 1, .cores = 64 };
		const struct estimate m0 = { .is_known = true,
					     .has_interval = true,
					     .value = 100,
					     .low = 50,
					     .high = 200,
					     .model = "m0" };
		struct estimate made[TARGETS] = { [TARGET_RUNTIME] = m0 }, again[TARGETS];
		_cleanup_free_ char *bytes = NULL;
		struct error err = {};
		size_t size;

		bytes = write_file(all[i], jobs, &written, &size);
		if (!bytes)
			continue;
		ASSERT_OK(models_read(bytes, size, all, &read, &err));
		ASSERT_EQ(read.made_ns, (uint64_t)17);
		ASSERT_EQ(read.of[TARGET_RUNTIME].scored, (uint64_t)19);
		memcpy(again, made, sizeof(made));
		models_apply(&written, &request, made);
		models_apply(&read, &request, again);
		ASSERT_STREQ(again[TARGET_RUNTIME].model, all[i]->name);
		ASSERT(again[TARGET_RUNTIME].value == made[TARGET_RUNTIME].value);
		ASSERT(again[TARGET_RUNTIME].low == made[TARGET_RUNTIME].low);
		ASSERT(again[TARGET_RUNTIME].value > 2 * m0.value); /* 64 cores are many */
		ASSERT(!again[TARGET_MEMORY].is_known);
	}
}

TEST(a_file_that_is_not_whole_is_refused)
{
	_cleanup_free_ struct past_job *jobs = make_jobs(1);
	_cleanup_(models_clear) struct models written = {};
	_cleanup_free_ char *bytes = NULL;
	struct models read;
	struct error err = {};
	size_t size;

	bytes = write_file(&ridge_learner, jobs, &written, &size);
	for (size_t i = 0; i < size; i += 7) {
		ASSERT_ERR(models_read(bytes, i, all, &read, &err), -EBADMSG);
		if (i >= 24 && i < 32) /* when it was made */
			continue;
		bytes[i] ^= 0x10;
		ASSERT_ERR(models_read(bytes, size, all, &read, &err), -EBADMSG);
		bytes[i] ^= 0x10;
	}
	ASSERT_ERR(models_read(bytes, size, (const struct learner *[]){ NULL }, &read, &err),
		   -EBADMSG);
}

TEST(too_few_jobs_are_no_evaluation)
{
	_cleanup_free_ struct past_job *jobs = make_jobs(1);
	struct evaluation e;

	ASSERT_ERR(evaluation_run(jobs, 50, TARGET_RUNTIME, ridge_alone, &e), -ENODATA);
	ASSERT_ERR(evaluation_run(jobs, JOBS, TARGET_MEMORY, ridge_alone, &e), -ENODATA);
}
