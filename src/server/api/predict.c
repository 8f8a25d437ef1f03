/* SPDX-License-Identifier: MIT */
/* Predictions before a job, from the caller's own jobs only. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "energy/emission.h"
#include "energy/start.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "model/json_place.h"
#include "predict/request.h"
#include "predict/what_if.h"
#include "server/api/api.h"
#include "server/api/caller.h"
#include "server/emitted.h"
#include "server/predict.h"
#include "server/server.h"
#include "server/server_config.h"

#define SCHEMA "jobmeter.prediction/1"
#define PLACES 3
#define GREATEST 1e15 /* of a number that is written */
#define JOULES_PER_KWH 3.6e6
#define JOB_ID_MAX 128
#define PREDICTIONS_MAX 1000
#define NS 1e9
#define SECONDS_MAX 1e9
#define SLACK "slack_seconds" /* how long the start may wait: no feature */
#define SLACK_STANDARD_S 86400.0

static void put_real(struct document *d, const char *key, double number)
{
	document_key(d, key);
	if (isfinite(number) && number >= 0)
		document_decimal(d, (uint64_t)llround(MIN(number, GREATEST) * pow(10, PLACES)),
				 PLACES);
	else
		document_null(d);
}

static uint64_t ns_of(double seconds)
{
	return (uint64_t)(fmax(0, fmin(seconds, SECONDS_MAX)) * NS);
}

static int take_field(const struct place *place, const json_t *map,
		      const struct request_field *field, struct job_request *ret)
{
	void *at = (char *)ret + field->offset;
	const json_t *text = NULL;
	uint64_t number = 0;
	bool is_known;
	int r;

	if (field->kind == REQUEST_NUMBER) {
		r = place_take_number(place, map, field->key, PLACES, &number, &is_known);
		*(double *)at = (double)number / pow(10, PLACES);
		return r;
	}
	r = place_get(place, map, field->key, JSON_STRING, &text);
	if (r == 0 && text)
		*(uint64_t *)at = field->kind == REQUEST_NAME
					  ? request_hash_name(json_string_value(text))
					  : request_hash(json_string_value(text));
	return r;
}

static int check_key(const struct place *place, const char *key)
{
	for (size_t i = 0; i < request_field_count; i++) {
		if (strcmp(request_fields[i].key, key) == 0)
			return 0;
	}
	return place_refuse(place, key,
			    "is no feature that is known at submit: see "
			    "docs/prediction.md");
}

static int take_request(const struct place *place, json_t *root, struct job_request *ret)
{
	const char *key;
	json_t *unused;
	int r = 0;

	json_object_foreach(root, key, unused)
	{
		r = r == 0 ? check_key(place, key) : r;
	}
	for (size_t i = 0; r == 0 && i < request_field_count; i++)
		r = take_field(place, root, &request_fields[i], ret);
	return r;
}

/* ---- answers ---- */

/* @quality: of the energies that it may rest on; NULL: on none. */
static void put_target(struct document *d, enum target target, const struct estimate *e,
		       const char *quality)
{
	const struct target_row *row = &target_rows[target];

	document_begin_map_of(d, row->name);
	document_put_boolean(d, "known", e->is_known);
	document_put_string(d, "unit", row->unit);
	if (!e->is_known) {
		document_put_string(d, "reason",
				    "fewer than 3 like jobs of yours ended and say this");
	} else {
		put_real(d, "value", e->value);
		document_put_boolean(d, "at_least", e->is_lower_bound);
		put_real(d, "low", e->has_interval ? e->low : NAN);
		put_real(d, "high", e->has_interval ? e->high : NAN);
		document_put_string(d, "model", e->model);
		document_put_string(d, "likeness", predictor_level(e->level));
		document_put_unsigned(d, "like_jobs", e->like_jobs);
		document_put_unsigned(d, "scored", e->scored);
		if (quality)
			document_put_string(d, "quality", quality);
	}
	document_end_map(d);
}

static void put_range(struct document *d, const char *key, double value, double low, double high)
{
	document_begin_map_of(d, key);
	put_real(d, "value", value);
	put_real(d, "low", low);
	put_real(d, "high", high);
	document_end_map(d);
}

/* What the energy emits by the factor that holds now, and what it costs. */
static void put_emission(const struct server *s, const struct estimate *energy, struct document *d)
{
	const struct emission_factor *factor = emitted_factor(s, clock_now_ns(CLOCK_REALTIME));
	const double grams = factor ? (double)factor->milligrams / 1000 / JOULES_PER_KWH : NAN;
	const double value = energy->is_known ? energy->value : NAN,
		     low = energy->has_interval ? energy->low : NAN,
		     high = energy->has_interval ? energy->high : NAN;
	uint64_t price;

	put_range(d, "co2e_grams", value * grams, low * grams, high * grams);
	put_range(d, "cost", emitted_cost(s, value), emitted_cost(s, low), emitted_cost(s, high));
	document_put_string(d, "currency",
			    emitted_price(s, clock_now_ns(CLOCK_REALTIME), &price)
				    ? s->config->currency
				    : NULL);
}

/* The best start within the slack, or why it is not known. */
static void put_start(const struct server *s, const struct estimate made[TARGETS],
		      const struct job_request *request, double slack_s, struct document *d)
{
	const struct estimate *runtime = &made[TARGET_RUNTIME], *energy = &made[TARGET_ENERGY];
	const bool has_interval = runtime->is_known && runtime->has_interval;
	const double length_s = runtime->is_known ? runtime->value : request->limit_s;
	const double kwh = energy->is_known ? energy->value / JOULES_PER_KWH : NAN;
	struct start_question question = {
		.slack_ns = ns_of(slack_s),
		.length_ns = ns_of(length_s),
		.low_ns = ns_of(has_interval ? runtime->low : length_s),
		.high_ns = ns_of(has_interval ? runtime->high : length_s),
	};
	const char *source = NULL, *reason = NULL;
	struct start start = {};

	if (!question.length_ns)
		reason = "neither the runtime nor a time limit is known";
	else if (emitted_find_start(s, &question, &start, &source) < 0)
		reason = "no forecast of the emission factor covers a run that starts now";
	document_begin_map_of(d, "start");
	document_put_boolean(d, "known", !reason);
	put_real(d, "slack_seconds", slack_s);
	if (reason) {
		document_put_string(d, "reason", reason);
	} else {
		document_put_time(d, "at", start.at_ns);
		document_put_boolean(d, "now", start.at_ns == question.now_ns);
		put_real(d, "gain", 1 - start.best / start.now);
		put_real(d, "error", start.error);
		document_put_unsigned(d, "past_forecasts", start.pairs);
		put_real(d, "co2e_grams", kwh * start.best);
		put_real(d, "co2e_grams_now", kwh * start.now);
		put_real(d, "runtime_seconds", length_s);
		document_put_string(d, "source", source);
	}
	document_end_map(d);
}

/* The caller's own jobs alone, also for those who see others'. */
static struct store_who own_jobs(const struct api_call *c)
{
	const struct caller *caller = c->request->caller;

	return (struct store_who){ .uid = caller->uid };
}

static int read_jobs(struct api_call *c, bool takes_estimates, struct past_jobs *to,
		     struct error *err)
{
	const struct store_who own = own_jobs(c);

	return predict_read_jobs(c->server->store, &(struct job_filter){}, &own, true,
				 takes_estimates, PREDICT_HISTORY, to, err);
}

static int read_body(const struct api_call *c, json_t **ret, struct error *err)
{
	const char *text = c->request->body;

	return place_parse_map(text ? text : "", c->request->body_length, ret, err);
}

/* What the caller would best ask for, and what is asked for, each with the chance that one of the
 * like jobs needs more: which kills it, or, of cores, makes it slower. */
static void put_advice(const struct predictor *p, const struct job_request *request,
		       struct document *d)
{
	const struct {
		const char *key;
		enum target target;
		double asked;
	} rows[] = {
		{ "memory_bytes", TARGET_MEMORY, request->memory_bytes },
		{ "time_limit_seconds", TARGET_RUNTIME, request->limit_s },
		{ "cores", TARGET_CORES, request->cores },
	};

	document_begin_map_of(d, "advice");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned int jobs = 0;
		double chance = NAN, of_asked = NAN;
		double value = predictor_within(p, request, rows[i].target, PREDICT_ADVICE_RISK,
						&chance, &jobs);

		if (jobs && rows[i].asked > 0)
			of_asked = predictor_chance_above(p, request, rows[i].target, rows[i].asked,
							  &jobs);
		document_begin_map_of(d, rows[i].key);
		put_real(d, "value", value);
		put_real(d, "chance_above", value >= 0 ? chance : NAN);
		put_real(d, "asked", rows[i].asked > 0 ? rows[i].asked : NAN);
		put_real(d, "chance_above_asked", of_asked);
		document_put_unsigned(d, "jobs", jobs);
		document_end_map(d);
	}
	document_end_map(d);
}

struct prediction {
	struct predictor *predictor; /* owned */
	struct job_request request;
	double slack_s; /* negative: no start time is wanted */
	size_t jobs;
	bool has_estimates; /* energies of the user's jobs that count */
	struct estimate estimates[TARGETS];
};

static void prediction_clear(struct prediction *p)
{
	predictor_free(p->predictor);
}

/* What @root asks for, by the best model of each target: M0 where none was trained. */
static int predict(struct api_call *c, json_t *root, struct prediction *ret, struct error *err)
{
	const struct store_who own = own_jobs(c);
	const struct place place = { .err = err };
	struct server *s = c->server;
	uint64_t slack = 0;
	bool is_known = false;
	int r = place_take_number(&place, root, SLACK, PLACES, &slack, &is_known);

	json_object_del(root, SLACK);
	if (is_known)
		ret->slack_s = (double)slack / pow(10, PLACES);
	ret->request = (struct job_request){ .user = PREDICT_ONE_USER,
					     .submit_ns = clock_now_ns(CLOCK_REALTIME) };
	if (r == 0)
		r = take_request(&place, root, &ret->request);
	ret->has_estimates = s->config->predicts_from_estimates;
	if (r == 0)
		r = predict_read_history(s->store, &(struct job_filter){}, &own,
					 &ret->has_estimates, &ret->predictor, &ret->jobs, err);
	if (r < 0)
		return r;
	predictor_estimate(ret->predictor, &ret->request, ret->estimates);
	models_apply(served_models(&s->served, s->config->model_file), &ret->request,
		     ret->estimates);
	return 0;
}

/* A trained model may have learned from the estimates of others. */
static const char *quality_of(const struct server *s, const struct prediction *p,
			      enum target target)
{
	const struct estimate *e = &p->estimates[target];

	if (target != TARGET_POWER && target != TARGET_ENERGY)
		return NULL;
	return p->has_estimates || (s->config->predicts_from_estimates && e->is_known &&
				    strcmp(e->model, "m0") != 0)
		       ? "estimated"
		       : "measured";
}

static void put_prediction(struct api_call *c, const struct prediction *p)
{
	struct document *d = c->document;

	document_begin_map(d);
	document_put_string(d, "schema", SCHEMA);
	document_put_unsigned(d, "jobs", p->jobs);
	put_real(d, "nominal", PREDICTOR_NOMINAL);
	document_begin_map_of(d, "targets");
	for (enum target t = 0; t < TARGETS; t++)
		put_target(d, t, &p->estimates[t], quality_of(c->server, p, t));
	document_end_map(d);
	put_emission(c->server, &p->estimates[TARGET_ENERGY], d);
	put_advice(p->predictor, &p->request, d);
	if (p->slack_s >= 0)
		put_start(c->server, p->estimates, &p->request, p->slack_s, d);
	document_end_map(d);
}

/* ---- what if ---- */

/* An older project's body of measured use, and what is made of it. */
static const struct {
	const char *key;
	enum use use; /* USES: none; it says nothing of power, or not of how much */
	double scale;
} usages[] = {
	{ "cpu_cores", USE_CORES, 1 },	     { "cpu_usage_percent", USE_BUSY, 0.01 },
	{ "io_read_mbps", USE_READ, 1e6 },   { "io_write_mbps", USE_WRITE, 1e6 },
	{ "memory_usage_percent", USES, 0 }, { "duration_seconds", USES, 0 },
};

static bool is_usage(const json_t *root)
{
	for (size_t i = 0; i < ARRAY_SIZE(usages); i++) {
		if (json_object_get(root, usages[i].key))
			return true;
	}
	return false;
}

static int put_what_if(struct api_call *c, const json_t *root, struct error *err)
{
	_cleanup_(past_jobs_clear) struct past_jobs jobs = {};
	const struct place place = { .err = err };
	struct document *d = c->document;
	struct estimate energy = {};
	double use[USES], seconds = NAN;
	struct what_if answer;
	int r = 0;

	for (size_t i = 0; i < USES; i++)
		use[i] = NAN;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(usages); i++) {
		uint64_t number = 0;
		bool is_known = false;

		r = place_take_number(&place, root, usages[i].key, PLACES, &number, &is_known);
		if (is_known && usages[i].use != USES)
			use[usages[i].use] = (double)number / pow(10, PLACES) * usages[i].scale;
		else if (is_known && strcmp(usages[i].key, "duration_seconds") == 0)
			seconds = (double)number / pow(10, PLACES);
	}
	use[USE_BUSY] *= use[USE_CORES]; /* percent of them */
	if (r == 0)
		r = read_jobs(c, false, &jobs, err);
	if (r == 0)
		r = what_if_ask(jobs.items, jobs.count, use, &answer);
	if (r < 0 && r != -ENODATA)
		return *err->text ? r : error_set_errno(err, r, "cannot answer");
	document_begin_map(d);
	document_put_string(d, "schema", "jobmeter.what-if/1");
	document_put_string(
		d, "what",
		"the power of a job of yours with this use, if it were measured: no "
		"prediction, as its use is not known before it runs; memory and job type "
		"are not used");
	document_put_boolean(d, "known", r == 0);
	document_put_string(d, "reason",
			    r < 0 ? "too few jobs of yours have measured energy" : NULL);
	document_put_unsigned(d, "jobs", answer.jobs);
	if (r == 0) {
		energy = (struct estimate){ .is_known = seconds > 0,
					    .has_interval = seconds > 0 && !isnan(answer.low),
					    .value = answer.watts * seconds,
					    .low = answer.low * seconds,
					    .high = answer.high * seconds };
		put_range(d, "watts", answer.watts, answer.low, answer.high);
		put_range(d, "joules", energy.value, energy.low, energy.high);
		put_emission(c->server, &energy, d);
	}
	document_end_map(d);
	return 0;
}

/* ---- the routes ---- */

static int answer(struct api_call *c, json_t *root, double slack_s, struct error *err)
{
	_cleanup_(prediction_clear) struct prediction prediction = { .slack_s = slack_s };
	int r = predict(c, root, &prediction, err);

	if (r == 0)
		put_prediction(c, &prediction);
	return r;
}

int api_put_prediction(struct api_call *c, struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	int r = read_body(c, &root, err);

	if (r < 0)
		return r;
	return is_usage(root) ? put_what_if(c, root, err) : answer(c, root, -1, err);
}

int api_put_schedule(struct api_call *c, struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	int r = read_body(c, &root, err);

	return r < 0 ? r : answer(c, root, SLACK_STANDARD_S, err);
}

int api_put_forecast(struct api_call *c, struct error *err UNUSED)
{
	emitted_put_forecast(c->server, c->out);
	return 0;
}

static void put_score(struct document *d, const char *key, const struct model_score *score)
{
	document_begin_map_of(d, key);
	put_real(d, "within_factor_2", score->within_two);
	put_real(d, "within_interval", score->within);
	put_real(d, "factor", exp(score->error));
	document_end_map(d);
}

/* What is served for each target, and how good it was in the newest window of its training. */
int api_put_models(struct api_call *c, struct error *err UNUSED)
{
	const struct models *models = served_models(&c->server->served,
						    c->server->config->model_file);
	struct document *d = c->document;

	document_begin_map(d);
	document_put_string(d, "schema", "jobmeter.models/1");
	if (models->made_ns)
		document_put_time(d, "trained", models->made_ns);
	put_real(d, "nominal", PREDICTOR_NOMINAL);
	document_begin_map_of(d, "targets");
	for (enum target t = 0; t < TARGETS; t++) {
		const struct model *model = &models->of[t];
		const bool is_trained = model->fitted.learner;

		document_begin_map_of(d, target_rows[t].name);
		document_put_string(d, "help", target_rows[t].help);
		document_put_string(d, "unit", target_rows[t].unit);
		document_put_string(d, "model", is_trained ? model->fitted.learner->name : "m0");
		if (is_trained) {
			document_put_unsigned(d, "jobs", model->fitted.jobs);
			document_put_unsigned(d, "scored", model->scored);
			put_score(d, "score", &model->own);
			put_score(d, "score_of_m0", &model->m0);
		}
		document_end_map(d);
	}
	document_end_map(d);
	document_end_map(d);
	return 0;
}

/* ---- predictions that are kept ---- */

int api_keep_prediction(struct api_call *c, struct error *err)
{
	const struct caller *caller = c->request->caller;
	_cleanup_(prediction_clear) struct prediction prediction = { .slack_s = -1 };
	_cleanup_(json_freep) json_t *root = NULL;
	_cleanup_free_ char *job = NULL;
	const struct place place = { .err = err };
	struct store *store = c->server->store;
	int r = read_body(c, &root, err);

	if (r == 0)
		r = place_take_string(&place, root, "job", &job);
	json_object_del(root, "job");
	if (r == 0 && (!job || !*job || strlen(job) > JOB_ID_MAX))
		r = place_refuse(&place, "job", "is the job's id, and has to be there");
	if (r == 0)
		r = predict(c, root, &prediction, err);
	if (r < 0)
		return r;
	r = store_begin(store, err);
	for (enum target t = 0; r == 0 && t < TARGETS; t++) {
		const struct estimate *e = &prediction.estimates[t];

		if (!e->is_known || e->is_lower_bound)
			continue;
		store_put_prediction(store, &(struct store_prediction){
						    .job_id = job,
						    .target = target_rows[t].name,
						    .model = e->model,
						    .uid = caller->uid,
						    .made_ns = clock_now_ns(CLOCK_REALTIME),
						    .value = e->value,
						    .low = e->has_interval ? e->low : NAN,
						    .high = e->has_interval ? e->high : NAN,
					    });
	}
	if (r == 0)
		r = store_commit(store, err);
	if (r < 0) {
		store_abandon(store);
		return r;
	}
	put_prediction(c, &prediction);
	return 0;
}

/* Each is beside what came of its job, and so scored. */
struct scoring {
	struct document *document;
	struct past_jobs jobs;
	size_t scored, within_two, with_interval, within;
};

static const struct past_job *find_job(const struct scoring *s, const char *id, uint64_t made_ns)
{
	for (size_t i = 0; i < s->jobs.count; i++) { /* the newest first */
		if (s->jobs.items[i].id == request_hash(id) &&
		    s->jobs.items[i].outcome.end_ns >= made_ns)
			return &s->jobs.items[i];
	}
	return NULL;
}

static void score(struct scoring *s, const struct store_prediction *p, double came)
{
	double ratio = came / p->value;

	s->scored++;
	s->within_two += ratio >= 0.5 && ratio <= 2;
	s->with_interval += !isnan(p->low);
	s->within += came >= p->low && came <= p->high;
}

static int take_prediction(void *context, const struct store_prediction *p)
{
	struct scoring *s = context;
	const struct past_job *job = find_job(s, p->job_id, p->made_ns);
	struct document *d = s->document;
	double came = NAN;

	for (enum target t = 0; job && t < TARGETS; t++) {
		if (strcmp(target_rows[t].name, p->target) == 0)
			came = job->outcome.values[t];
	}
	if (job && !isnan(came) && !job->outcome.is_lower_bound)
		score(s, p, came);
	document_begin_flat_map(d);
	document_put_string(d, "job", p->job_id);
	document_put_string(d, "target", p->target);
	document_put_string(d, "model", p->model);
	document_put_time(d, "made", p->made_ns);
	put_real(d, "value", p->value);
	put_real(d, "low", p->low);
	put_real(d, "high", p->high);
	put_real(d, "outcome", came);
	document_put_boolean(d, "at_least", job && job->outcome.is_lower_bound);
	document_end_map(d);
	return 0;
}

int api_list_predictions(struct api_call *c, struct error *err)
{
	const struct store_who own = own_jobs(c);
	struct document *d = c->document;
	struct scoring s = { .document = d };
	int r = read_jobs(c, c->server->config->predicts_from_estimates, &s.jobs, err);

	document_begin_map(d);
	document_begin_list_of(d, "predictions");
	if (r == 0)
		r = store_list_predictions(c->server->store, &own, PREDICTIONS_MAX, take_prediction,
					   &s, err);
	document_end_list(d);
	document_put_unsigned(d, "scored", s.scored);
	document_put_unsigned(d, "within_factor_2", s.within_two);
	document_put_unsigned(d, "with_interval", s.with_interval);
	document_put_unsigned(d, "within_interval", s.within);
	document_end_map(d);
	past_jobs_clear(&s.jobs);
	return r;
}
