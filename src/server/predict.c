/* SPDX-License-Identifier: MIT */
#include "server/predict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "model/job_filter.h"
#include "model/metric.h"
#include "server/store/store.h"

#define NS 1e9
#define PAGE 1000

/* The metrics that are read, in places of store_job.values. */
enum { PEAK, JOULES, ESTIMATED, USER_S, SYSTEM_S, ALLOCATED, READ, WRITE, METRICS };
static const char *const metric_names[METRICS] = {
	"memory.peak_bytes",  "energy.joules",	     "energy.estimated_joules", "cpu.user_seconds",
	"cpu.system_seconds", "cpu.allocated_cores", "io.read.bytes",		"io.write.bytes",
};

/* What a state says of a run; all others ended by themselves. */
static const struct ending {
	const char *state; /* as a prefix: "CANCELLED by 1000" */
	enum target lacked; /* of which the run is a lower bound; TARGETS: it says nothing */
} endings[] = {
	{ "OUT_OF_MEMORY", TARGET_MEMORY },
	{ "TIMEOUT", TARGET_RUNTIME },
	{ "DEADLINE", TARGET_RUNTIME },
	{ "CANCELLED", TARGETS },
	{ "PREEMPTED", TARGETS },
	{ "NODE_FAIL", TARGETS },
	{ "BOOT_FAIL", TARGETS },
	{ "REQUEUED", TARGETS },
	{ "REVOKED", TARGETS },
	{ "PENDING", TARGETS },
	{ "RUNNING", TARGETS },
	{ "SUSPENDED", TARGETS },
	{ "LOST", TARGETS },
};

static const struct ending *find_ending(const char *state)
{
	for (size_t i = 0; state && i < ARRAY_SIZE(endings); i++) {
		if (strncasecmp(state, endings[i].state, strlen(endings[i].state)) == 0)
			return &endings[i];
	}
	return NULL;
}

enum target predict_lacked(const char *state)
{
	const struct ending *ending = find_ending(state);

	return ending ? ending->lacked : TARGETS;
}

struct job_reading {
	struct past_jobs *to;
	size_t places[METRICS]; /* SIZE_MAX: there is no such column */
	bool is_of_one, takes_estimates;
};

void past_jobs_clear(struct past_jobs *jobs)
{
	free(jobs->items);
	*jobs = (struct past_jobs){};
}

static double value_of(const struct job_reading *r, const struct store_job *job,
		       unsigned int metric)
{
	size_t place = r->places[metric];

	if (place == SIZE_MAX || !job->values[place].is_known)
		return NAN;
	return (double)job->values[place].number /
	       pow(10, metric_unit_places(store_value_metric(place)->unit));
}

static double number_of(const struct value *first, const struct value *second)
{
	return first->is_known	  ? (double)first->number
	       : second->is_known ? (double)second->number
				  : 0;
}

static bool says_something(const struct store_job *job, bool *ret_is_lower_bound)
{
	*ret_is_lower_bound = predict_lacked(job->state) != TARGETS;
	if (find_ending(job->state))
		return *ret_is_lower_bound;
	return job->is_final && job->end_ns && !job->waits && job->elapsed_ns.is_known;
}

static struct job_request request_of(const struct store_job *job, uint64_t user, double allocated)
{
	const struct store_run *run = &job->run;
	struct job_request request = {
		.user = user,
		.account = request_hash(job->account),
		.partition = request_hash(job->partition),
		.qos = request_hash(run->qos),
		.name = request_hash_name(job->name),
		.nodes = number_of(&run->requested_nodes, &job->nodes),
		.cores = number_of(&run->requested_cores, &run->cores),
		.gpus = number_of(&run->requested_gpus, &run->gpus),
		.memory_bytes = number_of(&run->requested_memory, &run->allocated_memory),
		.limit_s = (double)run->time_limit.number / NS,
		.submit_ns = run->submit.is_known ? run->submit.number : job->start_ns,
	};

	if (request.cores <= 0 && !isnan(allocated))
		request.cores = allocated;
	return request;
}

struct job_request predict_request_of(const struct store_job *job)
{
	const struct value cores = store_job_number(job, metric_names[ALLOCATED]);

	return request_of(job, PREDICT_ONE_USER,
			  cores.is_known ? (double)cores.number / 1000 : NAN);
}

static int take_job(void *context, const struct store_job *job)
{
	const struct job_reading *r = context;
	const double joules = value_of(r, job, JOULES), estimated = value_of(r, job, ESTIMATED);
	const double cpu_s = value_of(r, job, USER_S) + value_of(r, job, SYSTEM_S);
	const double elapsed_s = (double)job->elapsed_ns.number / NS;
	bool is_lower_bound;
	struct past_job *past;

	if (!says_something(job, &is_lower_bound))
		return 0;
	if (array_reserve(&r->to->items, &r->to->room, r->to->count, sizeof(*past)) < 0)
		return -ENOMEM;
	past = &r->to->items[r->to->count++];
	*past = (struct past_job){
		.request = request_of(job, r->is_of_one ? PREDICT_ONE_USER : (uint64_t)job->uid + 1,
				      value_of(r, job, ALLOCATED)),
		.id = request_hash(job->id),
		.outcome = { .is_lower_bound = is_lower_bound, .end_ns = job->end_ns },
	};
	for (enum target t = 0; t < TARGETS; t++)
		past->outcome.values[t] = NAN;
	past->outcome.values[TARGET_RUNTIME] = elapsed_s;
	past->outcome.values[TARGET_MEMORY] = value_of(r, job, PEAK);
	past->outcome.read_bytes = value_of(r, job, READ);
	past->outcome.write_bytes = value_of(r, job, WRITE);
	if (elapsed_s <= 0)
		return 0;
	past->outcome.values[TARGET_CORES] = cpu_s / elapsed_s;
	/* what no sensor measured is an outcome only where the site says so, and a killed job's
	 * mean is none of a whole run */
	if (isnan(joules) || (estimated > 0 && !r->takes_estimates))
		return 0;
	r->to->has_estimates |= estimated > 0;
	past->outcome.values[TARGET_ENERGY] = joules;
	if (!is_lower_bound)
		past->outcome.values[TARGET_POWER] = joules / elapsed_s /
						     MAX((double)job->nodes.number, 1.0);
	return 0;
}

static size_t find_value(const char *name)
{
	for (size_t i = 0; i < store_value_count(); i++) {
		if (strcmp(store_value_name(i), name) == 0)
			return i;
	}
	return SIZE_MAX;
}

int predict_read_jobs(struct store *s, const struct job_filter *filter, const struct store_who *who,
		      bool is_of_one, bool takes_estimates, size_t most, struct past_jobs *to,
		      struct error *err)
{
	_cleanup_free_ char *after = NULL;
	struct job_reading reading = { .to = to,
				       .is_of_one = is_of_one,
				       .takes_estimates = takes_estimates };
	bool wanted[STORE_COLUMNS_MAX] = {};
	struct store_page page = { .columns = wanted };
	size_t read = 0;
	int r;

	for (size_t i = 0; i < METRICS; i++)
		reading.places[i] = find_value(metric_names[i]);
	for (size_t i = 0; i < store_column_count(); i++) {
		const char *name = store_column(i).name;

		if (strcmp(name, "start") == 0)
			page.order = i;
		for (size_t j = 0; j < METRICS; j++)
			wanted[i] |= strcmp(name, metric_names[j]) == 0;
	}
	do {
		struct job_filter of_page = *filter;
		char *next = NULL;

		of_page.limit = MIN(most - read, (size_t)PAGE);
		page.after = after;
		r = store_page_jobs(s, &of_page, &page, who, take_job, &reading, &next, err);
		free(after);
		after = next;
		read += of_page.limit;
	} while (r >= 0 && after && read < most);
	return r == -ENOMEM && err && !*err->text ? error_set_errno(err, ENOMEM, "cannot read jobs")
						  : r;
}

int predict_read_history(struct store *s, const struct job_filter *filter,
			 const struct store_who *who, bool *estimates, struct predictor **ret,
			 size_t *ret_count, struct error *err)
{
	_cleanup_(past_jobs_clear) struct past_jobs jobs = {};
	_cleanup_(predictor_freep) struct predictor *p = predictor_new();
	int r = p ? predict_read_jobs(s, filter, who, true, estimates && *estimates,
				      PREDICT_HISTORY, &jobs, err)
		  : -ENOMEM;

	if (r == 0)
		r = predictor_replay(p, jobs.items, jobs.count, NULL, NULL);
	if (r < 0)
		return *err->text ? r : error_set_errno(err, r, "cannot predict");
	if (estimates)
		*estimates = jobs.has_estimates;
	*ret_count = jobs.count;
	*ret = TAKE_PTR(p);
	return 0;
}
