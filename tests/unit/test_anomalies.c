/* SPDX-License-Identifier: MIT */
/* Histories are generated, with a fixed seed: docs/internals/anomalies.md has what this prints. */
#include "analysis/anomalies.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "model/sections/load_balance.h"
#include "test.h"

#define JOBS 4000
#define LIKES 50
#define NODES 20
#define FACTOR 1.8 /* of what is planted */

static uint64_t state;

static double uniform(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static char likes[LIKES][8], nodes[NODES][8];
static struct anomaly_job history[JOBS];
static bool is_planted[JOBS], is_told[JOBS];
static size_t nodes_told;
static const char *node_told;

/* Each of @noise: lognormal.  Of each job only its time differs, of a few it is planted. */
static void generate(double noise, double planted, const char *slow)
{
	state = 1;
	for (size_t i = 0; i < LIKES; i++)
		snprintf(likes[i], sizeof(likes[i]), "like%zu", i);
	for (size_t i = 0; i < NODES; i++)
		snprintf(nodes[i], sizeof(nodes[i]), "n%zu", i);
	for (size_t i = 0; i < JOBS; i++) {
		size_t like = (size_t)(uniform() * LIKES), node = (size_t)(uniform() * NODES);
		struct anomaly_job *job = &history[i];

		*job = (struct anomaly_job){
			.like = likes[like], .node = nodes[node], .start_ns = i, .tag = i
		};
		job->numbers[0] = (double)(60 << like % 8) * exp(noise * normal());
		for (size_t k = 1; k < ANOMALY_NUMBERS; k++)
			job->numbers[k] = NAN;
		is_planted[i] = uniform() < planted;
		is_told[i] = false;
		if (is_planted[i])
			job->numbers[0] *= FACTOR;
		if (slow && strcmp(job->node, slow) == 0)
			job->numbers[0] *= FACTOR;
	}
	nodes_told = 0;
}

static int take(void *context UNUSED, const struct anomaly *anomaly)
{
	if (anomaly->job) {
		ASSERT_EQ(anomaly->number, 0);
		ASSERT(anomaly->deviation.count >= ANOMALY_LIKE_MIN);
		is_told[anomaly->job->tag] = true;
	} else {
		nodes_told++;
		node_told = anomaly->node;
	}
	return 0;
}

static void measure(double noise, double *ret_precision, double *ret_recall)
{
	size_t both = 0, planted = 0, told = 0;

	generate(noise, 0.02, NULL);
	ASSERT_OK(anomalies_find(history, JOBS, take, NULL));
	for (size_t i = 0; i < JOBS; i++) {
		both += is_planted[i] && is_told[i];
		planted += is_planted[i];
		told += is_told[i];
	}
	*ret_precision = told ? (double)both / (double)told : 1;
	*ret_recall = (double)both / (double)planted;
	printf("noise %.0f %%: %zu planted, %zu told, precision %.2f, recall %.2f\n", noise * 100,
	       planted, told, *ret_precision, *ret_recall);
}

TEST(what_is_planted_is_found_and_little_else)
{
	double precision, recall;

	measure(0.05, &precision, &recall);
	ASSERT(precision > 0.9 && recall > 0.75); /* the first eight of each kind cannot be told */
	measure(0.1, &precision, &recall);
	ASSERT(precision > 0.5 && recall > 0.5);
	measure(0.3, &precision, &recall);
	ASSERT(recall < 0.5); /* 1.8 times is nothing among such */
}

TEST(where_nothing_is_planted_nothing_is_told)
{
	size_t told = 0;

	generate(0.03, 0, NULL);
	ASSERT_OK(anomalies_find(history, JOBS, take, NULL));
	for (size_t i = 0; i < JOBS; i++)
		told += is_told[i];
	ASSERT_EQ(told, 0);
	ASSERT_EQ(nodes_told, 0);
	ASSERT_OK(anomalies_find(history, 0, take, NULL));
}

TEST(a_node_that_is_slow_on_like_jobs_is_found_alone)
{
	generate(0.1, 0.02, "n7");
	ASSERT_OK(anomalies_find(history, JOBS, take, NULL));
	ASSERT_EQ(nodes_told, 1);
	ASSERT_STREQ(node_told, "n7");
}

#define RANKED_JOBS 2000
#define RANKS_LEAST 9
#define RANKS_MOST 128

/* Jobs of 9 to 128 ranks; in one of five a rank has @FACTOR as much work. */
static void measure_ranks(double noise, double *ret_precision, double *ret_recall)
{
	size_t both = 0, planted = 0, told = 0;

	state = 1;
	for (size_t i = 0; i < RANKED_JOBS; i++) {
		struct rank_times ranks = {};
		size_t count = RANKS_LEAST + (size_t)(uniform() * (RANKS_MOST - RANKS_LEAST + 1));
		size_t slow = uniform() < 0.2 ? (size_t)(uniform() * (double)count) : count;
		const struct rank_time *found;
		struct deviation d;

		for (size_t k = 0; k < count; k++) {
			double seconds = 60 * exp(noise * normal()) * (k == slow ? FACTOR : 1);

			ASSERT_OK(rank_times_add(&ranks, "", "", k, (uint64_t)(seconds * 1e9)));
		}
		found = rank_deviation(&ranks, &d);
		planted += slow < count;
		told += found != NULL;
		both += found && found->rank == slow;
		ASSERT(!found || d.count == count - 1);
		rank_times_clear(&ranks);
	}
	*ret_precision = told ? (double)both / (double)told : 1;
	*ret_recall = (double)both / (double)planted;
	printf("ranks, noise %.0f %%: %zu planted, %zu told, precision %.2f, recall %.2f\n",
	       noise * 100, planted, told, *ret_precision, *ret_recall);
}

TEST(a_rank_with_more_work_than_the_others_of_its_job_is_found)
{
	double precision, recall;

	measure_ranks(0.05, &precision, &recall);
	ASSERT(precision > 0.99 && recall > 0.99);
	measure_ranks(0.1, &precision, &recall);
	ASSERT(precision > 0.9 && recall > 0.9);
	measure_ranks(0.3, &precision, &recall);
	ASSERT(recall < 0.5);
}

/* Ranks 0, @step, ... of @node with as many seconds of work. */
static const struct rank_time *odd_of(const uint64_t *seconds, size_t count, const char *node,
				      uint64_t step, struct deviation *ret)
{
	static struct rank_times ranks;

	rank_times_clear(&ranks);
	for (size_t i = 0; i < count; i++)
		ASSERT_OK(rank_times_add(&ranks, node, "", i * step, seconds[i] * 1000000000));
	return rank_deviation(&ranks, ret);
}

TEST(a_rank_is_held_against_the_others_of_its_job)
{
	static const uint64_t more[] = { 10, 10, 10, 11, 100, 10, 9, 10, 10 },
			      both[] = { 10, 10, 1, 11, 100, 10, 9, 10, 10 },
			      less[] = { 0, 10, 10, 11, 10, 10, 9, 10, 10 },
			      even[] = { 10, 10, 10, 11, 12, 10, 9, 10, 10 };
	const struct rank_time *odd;
	struct deviation d;

	ASSERT(!odd_of(more, 8, "", 1, &d)); /* too few */
	ASSERT(!odd_of(even, 9, "", 1, &d));
	ASSERT(!odd_of(more, 9, "n1", 0, &d)); /* the same rank each time */
	ASSERT(!odd_of(NULL, 0, "", 1, &d));
	odd = odd_of(more, 9, "n1", 1, &d);
	ASSERT(odd && odd->rank == 4 && d.value == 100 && d.median == 10 && d.count == 8);
	ASSERT_STREQ(odd->node, "n1");
	odd = odd_of(both, 9, "", 1, &d); /* for that one the others wait */
	ASSERT(odd && odd->rank == 4);
	odd = odd_of(less, 9, "", 1, &d);
	ASSERT(odd && odd->rank == 0 && d.value == 0 && d.median == 10);
	(void)odd_of(NULL, 0, "", 1, &d); /* freed */
}
