/* SPDX-License-Identifier: MIT */
/* Histories are generated, with a fixed seed: docs/internals/anomalies.md has what this prints. */
#include "analysis/anomalies.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"
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

TEST(a_rank_is_held_against_the_others_of_its_job)
{
	static const double others[8] = { 10, 10, 10, 11, 10, 9, 10, 10 };
	double copy[8];
	struct deviation d;

	memcpy(copy, others, sizeof(copy));
	ASSERT(!deviation_of(100, copy, 7, &d)); /* too few */
	ASSERT(deviation_of(100, copy, 8, &d));
	ASSERT(d.median == 10 && d.count == 8 && d.value == 100);
	memcpy(copy, others, sizeof(copy));
	ASSERT(!deviation_of(12, copy, 8, &d));
	ASSERT(!deviation_of(NAN, copy, 8, &d));
}
