/* SPDX-License-Identifier: MIT */
#include "predict/predictor.h"

#include <math.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "test.h"

#define HOUR_NS UINT64_C(3600000000000)
#define JOBS 4000
#define USERS 20

static double uniform(void)
{
	return ((double)test_below(1u << 30) + 0.5) / (1u << 30);
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* One that follows the others: it ends before the next begins. */
static struct past_job make_job(size_t i, uint64_t user, uint64_t name, double runtime_s)
{
	struct past_job job = {
		.request = { .user = user, .name = name, .nodes = 2, .submit_ns = i * HOUR_NS },
		.outcome = { .end_ns = i * HOUR_NS + HOUR_NS / 2 },
	};

	for (enum target t = 0; t < TARGETS; t++)
		job.outcome.values[t] = NAN;
	job.outcome.values[TARGET_RUNTIME] = runtime_s;
	return job;
}

struct counts {
	const struct past_job *jobs;
	size_t known, within, is_half_known;
	double width;
};

static void count_within(void *context, const struct predictor *p, size_t job,
			 const struct estimate made[TARGETS])
{
	const struct estimate *e = &made[TARGET_RUNTIME];
	struct counts *c = context;
	double came = c->jobs[job].outcome.values[TARGET_RUNTIME];

	(void)p;
	if (!e->has_interval)
		return;
	c->known++;
	c->within += came >= e->low && came <= e->high;
	c->width += log(e->high / e->low);
}

/* Jobs of so many names, each with a runtime of its own, times noise. */
static struct counts replay(double noise, struct predictor *p)
{
	_cleanup_free_ struct past_job *jobs = calloc(JOBS, sizeof(*jobs));
	struct counts counts = { .jobs = jobs };

	for (size_t i = 0; jobs && i < JOBS; i++) {
		uint64_t user = 1 + test_below(USERS), name = 1 + test_below(3);

		jobs[i] = make_job(i, user, name,
				   100 * (double)(user * name) * exp(noise * normal()));
	}
	ASSERT(jobs);
	ASSERT_OK(predictor_replay(p, jobs, JOBS, count_within, &counts));
	return counts;
}

TEST(a_known_law_is_recovered)
{
	_cleanup_(predictor_freep) struct predictor *p = predictor_new();
	const struct job_request request = { .user = 7, .name = 3, .nodes = 2 };
	struct estimate estimates[TARGETS];

	replay(0.1, p);
	predictor_estimate(p, &request, estimates);
	ASSERT(fabs(log(estimates[TARGET_RUNTIME].value / 2100)) < 0.2);
	ASSERT(estimates[TARGET_RUNTIME].low < 2100 && estimates[TARGET_RUNTIME].high > 2100);
	ASSERT(!estimates[TARGET_MEMORY].is_known && !estimates[TARGET_ENERGY].is_known);
}

TEST(intervals_of_90_percent_hold_88_to_92_percent_of_exchangeable_jobs)
{
	_cleanup_(predictor_freep) struct predictor *p = predictor_new();
	const struct counts c = replay(0.5, p);

	ASSERT(c.known > JOBS / 2);
	ASSERT((double)c.within / (double)c.known >= 0.88);
	ASSERT((double)c.within / (double)c.known <= 0.92);
}

TEST(noise_gets_wide_intervals)
{
	_cleanup_(predictor_freep) struct predictor *of_law = predictor_new();
	_cleanup_(predictor_freep) struct predictor *of_noise = predictor_new();
	const struct counts law = replay(0.1, of_law), noise = replay(2, of_noise);

	ASSERT(noise.width / (double)noise.known > 10 * law.width / (double)law.known);
}

TEST(thin_history_is_not_known)
{
	_cleanup_(predictor_freep) struct predictor *p = predictor_new();
	const struct estimate none[TARGETS] = {};
	struct estimate estimates[TARGETS];

	for (size_t i = 0; i < 3; i++) {
		const struct past_job job = make_job(i, 1, 1, 60);

		predictor_estimate(p, &job.request, estimates);
		ASSERT(!estimates[TARGET_RUNTIME].is_known);
		ASSERT_OK(predictor_learn(p, &job, none));
	}
	predictor_estimate(p, &(struct job_request){ .user = 1, .name = 2 }, estimates);
	ASSERT(estimates[TARGET_RUNTIME].is_known && !estimates[TARGET_RUNTIME].has_interval);
	ASSERT_STREQ(predictor_level(estimates[TARGET_RUNTIME].level), "same user");
	predictor_estimate(p, &(struct job_request){ .user = 2, .name = 1 }, estimates);
	ASSERT(!estimates[TARGET_RUNTIME].is_known);
}

TEST(killed_jobs_are_lower_bounds)
{
	_cleanup_(predictor_freep) struct predictor *p = predictor_new();
	const struct estimate none[TARGETS] = {};
	struct estimate estimates[TARGETS];
	double chance;
	unsigned int count;

	for (size_t i = 0; i < 8; i++) {
		struct past_job job = make_job(i, 1, 1, 60 + (double)i);

		job.outcome.is_lower_bound = i % 2;
		ASSERT_OK(predictor_learn(p, &job, none));
	}
	/* 60, 62, 64, 66 and four that are longer than that */
	predictor_estimate(p, &(struct job_request){ .user = 1, .name = 1, .nodes = 2 }, estimates);
	ASSERT(estimates[TARGET_RUNTIME].is_lower_bound);
	ASSERT(test_is_near(estimates[TARGET_RUNTIME].value, 67));
	ASSERT(!estimates[TARGET_RUNTIME].has_interval);
	chance = predictor_chance_above(p, &(struct job_request){ .user = 1, .name = 1 },
					TARGET_RUNTIME, 70, &count);
	ASSERT_EQ(count, 8u);
	ASSERT(test_is_near(chance, 5.0 / 9));
}

TEST(a_job_that_still_ran_is_not_known_to_the_next)
{
	_cleanup_(predictor_freep) struct predictor *p = predictor_new();
	struct past_job jobs[6];
	struct counts counts = { .jobs = jobs };

	for (size_t i = 0; i < 6; i++) {
		jobs[i] = make_job(i, 1, 1, 60);
		jobs[i].outcome.end_ns = 100 * HOUR_NS;
	}
	ASSERT_OK(predictor_replay(p, jobs, 6, count_within, &counts));
	ASSERT_EQ(counts.known, (size_t)0);
}

TEST(advice_says_the_chance_of_being_killed)
{
	_cleanup_(predictor_freep) struct predictor *p = predictor_new();
	const struct job_request request = { .user = 1, .name = 1, .nodes = 2 };
	const struct estimate none[TARGETS] = {};
	double chance, value;
	unsigned int count;

	for (size_t i = 0; i < 99; i++) {
		const struct past_job job = make_job(i, 1, 1, 1 + (double)(i * 37 % 99));

		ASSERT_OK(predictor_learn(p, &job, none));
	}
	value = predictor_within(p, &request, TARGET_RUNTIME, 0.05, &chance, &count);
	ASSERT_EQ(count, 99u);
	ASSERT(test_is_near(value, 95) && test_is_near(chance, 0.05));
	ASSERT(test_is_near(predictor_chance_above(p, &request, TARGET_RUNTIME, value, &count),
			    chance));
	/* no history shows less than one of a hundred */
	value = predictor_within(p, &request, TARGET_RUNTIME, 0.0001, &chance, &count);
	ASSERT(test_is_near(value, 99) && test_is_near(chance, 0.01));
	ASSERT(predictor_within(p, &(struct job_request){ .user = 2 }, TARGET_RUNTIME, 0.05,
				&chance, &count) < 0);
}

TEST(numbers_in_a_name_mean_nothing_and_other_letters_do)
{
	ASSERT_EQ(request_hash_name("run-17"), request_hash_name("run-18"));
	ASSERT(request_hash_name("run-17") != request_hash_name("fun-17"));
	ASSERT_EQ(request_hash_name(NULL), UINT64_C(0));
	ASSERT(request_hash_name("\x1b[2J'; DROP TABLE jobs") != 0);
}
