/* SPDX-License-Identifier: MIT */
#include "predict/feature.h"

#include <math.h>

#include "basic/macro.h"

#define HOUR_S 3600
#define DAY_S (24 * HOUR_S)
#define NS UINT64_C(1000000000)

/* clang-format off */
enum {
	M0, WIDTH, LEVEL, LIKE, LAST, LAST_TWO, USER_MEDIAN, NODES, CORES, GPUS, MEMORY, LIMIT,
	ARRAY, HOUR, WEEKDAY, ACCOUNT, PARTITION, QOS, NAME,
};

const struct feature features[FEATURES] = {
	[M0] = { "m0", "The median of the user's last like jobs (logarithm, as all sizes below)." },
	[WIDTH] = { "width", "How far 9 of 10 predictions for the user were from what came." },
	[LEVEL] = { "level", "In what the like jobs are alike." },
	[LIKE] = { "like_jobs", "How many they are." },
	[LAST] = { "last", "What the user's last job took, beside m0." },
	[LAST_TWO] = { "last_two", "The mean of the last two, beside m0." },
	[USER_MEDIAN] = { "user_median", "The median of all of the user's jobs, beside m0." },
	[NODES] = { "nodes", "Nodes." },
	[CORES] = { "cores", "Cores." },
	[GPUS] = { "gpus", "GPUs." },
	[MEMORY] = { "memory_bytes", "Memory." },
	[LIMIT] = { "time_limit", "The time limit; of runtimes, beside m0." },
	[ARRAY] = { "array_tasks", "Tasks of the array." },
	[HOUR] = { "hour", "The hour of the submission, in UTC." },
	[WEEKDAY] = { "weekday", "The day of the week." },
	[ACCOUNT] = { "account", "The account.", true },
	[PARTITION] = { "partition", "The partition.", true },
	[QOS] = { "qos", "The quality of service.", true },
	[NAME] = { "name", "The job's name without its digits.", true },
};
/* clang-format on */
_Static_assert(NAME + 1 == FEATURES, "a row for each");

static float log_of(double number)
{
	return (float)log1p(MAX(number, 0.0));
}

static float beside(double number, double m0)
{
	return number > 0 ? (float)log(number / m0) : 0;
}

void features_fill(const struct job_request *request, const struct estimate made[TARGETS],
		   enum target target, float ret[FEATURES])
{
	const struct estimate *e = &made[target];
	const uint64_t seconds = request->submit_ns / NS, hour = seconds % DAY_S / HOUR_S;
	const uint64_t codes[] = { request->account, request->partition, request->qos,
				   request->name };

	ret[M0] = (float)log(e->value);
	ret[WIDTH] = e->has_interval ? (float)log(e->high / e->value) : 0;
	ret[LEVEL] = (float)e->level;
	ret[LIKE] = (float)e->like_jobs;
	ret[LAST] = beside(e->last, e->value);
	ret[LAST_TWO] = beside(e->last_two, e->value);
	ret[USER_MEDIAN] = beside(e->user_median, e->value);
	ret[NODES] = log_of(request->nodes);
	ret[CORES] = log_of(request->cores);
	ret[GPUS] = log_of(request->gpus);
	ret[MEMORY] = log_of(request->memory_bytes);
	ret[LIMIT] = target == TARGET_RUNTIME ? beside(request->limit_s, e->value)
					      : log_of(request->limit_s);
	ret[ARRAY] = log_of(request->array_tasks);
	ret[HOUR] = (float)hour;
	ret[WEEKDAY] = (float)((seconds / DAY_S + 4) % 7); /* 1970 began on a Thursday */
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		ret[ACCOUNT + i] = (float)(codes[i] % FEATURE_CODES);
}
