/* SPDX-License-Identifier: MIT */
/* Predictions before a job: from the caller's own jobs, and nobody else's. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "energy/emission.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "model/json_place.h"
#include "predict/request.h"
#include "server/api/api.h"
#include "server/api/caller.h"
#include "server/emitted.h"
#include "server/predict.h"
#include "server/server.h"
#include "server/server_config.h"
#include "server/store/predictions.h"

#define SCHEMA "jobmeter.prediction/1"
#define PLACES 3
#define GREATEST 1e15 /* of a number that is written */
#define JOULES_PER_KWH 3.6e6
#define JOB_ID_MAX 128
#define PREDICTIONS_MAX 1000

static void put_real(struct document *d, const char *key, double number)
{
	document_key(d, key);
	if (isfinite(number) && number >= 0)
		document_decimal(d, (uint64_t)llround(MIN(number, GREATEST) * pow(10, PLACES)),
				 PLACES);
	else
		document_null(d);
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

static void put_target(struct document *d, enum target target, const struct estimate *e)
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
	}
	document_end_map(d);
}

/* By the factor that holds now. */
static void put_emission(const struct server *s, const struct estimate *energy, struct document *d)
{
	const struct emission_factor *factor = emitted_factor(s, clock_now_ns(CLOCK_REALTIME));
	const double grams = factor ? (double)factor->milligrams / 1000 / JOULES_PER_KWH : NAN;

	document_begin_map_of(d, "co2e_grams");
	put_real(d, "value", energy->is_known ? energy->value * grams : NAN);
	put_real(d, "low", energy->has_interval ? energy->low * grams : NAN);
	put_real(d, "high", energy->has_interval ? energy->high * grams : NAN);
	document_end_map(d);
}

/* What the caller asks for, and what is said of it.  @ret_job: the body has
 * to name the job; NULL: it does not. */
static int predict(struct api_call *c, struct predictor **ret_predictor,
		   struct job_request *ret_request, char **ret_job, struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	struct place place = { .err = err };
	const struct caller *caller = c->request->caller;
	const struct store_who own = { .uid = caller->uid };
	const char *text = c->request->body;
	size_t jobs = 0;
	int r = place_parse_map(text ? text : "", c->request->body_length, &root, err);

	*ret_request = (struct job_request){ .user = PREDICT_ONE_USER };
	if (r == 0 && ret_job) {
		r = place_take_string(&place, root, "job", ret_job);
		json_object_del(root, "job");
		if (r == 0 && (!*ret_job || !**ret_job || strlen(*ret_job) > JOB_ID_MAX))
			r = place_refuse(&place, "job", "is the job's id, and has to be there");
	}
	if (r == 0)
		r = take_request(&place, root, ret_request);
	if (r == 0)
		r = predict_read_history(c->server->store, &(struct job_filter){}, &own,
					 ret_predictor, &jobs, err);
	if (r < 0)
		return r;
	document_begin_map(c->document);
	document_put_string(c->document, "schema", SCHEMA);
	document_put_unsigned(c->document, "jobs", jobs);
	return 0;
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

static void put_estimates(struct api_call *c, const struct predictor *p,
			  const struct job_request *request,
			  const struct estimate estimates[TARGETS])
{
	struct document *d = c->document;

	put_real(d, "nominal", PREDICTOR_NOMINAL);
	document_begin_map_of(d, "targets");
	for (enum target t = 0; t < TARGETS; t++)
		put_target(d, t, &estimates[t]);
	document_end_map(d);
	put_emission(c->server, &estimates[TARGET_ENERGY], d);
	put_advice(p, request, d);
	document_end_map(d);
}

/* By the best model of each target: M0 where none was trained. */
static void estimate(struct api_call *c, const struct predictor *p,
		     const struct job_request *request, struct estimate ret[TARGETS])
{
	predictor_estimate(p, request, ret);
	models_apply(served_models(&c->server->served, c->server->config->model_file), request,
		     ret);
}

int api_put_prediction(struct api_call *c, struct error *err)
{
	_cleanup_(predictor_freep) struct predictor *p = NULL;
	struct estimate estimates[TARGETS];
	struct job_request request;
	int r = predict(c, &p, &request, NULL, err);

	if (r < 0)
		return r;
	estimate(c, p, &request, estimates);
	put_estimates(c, p, &request, estimates);
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
	_cleanup_(predictor_freep) struct predictor *p = NULL;
	_cleanup_free_ char *job = NULL;
	struct store *store = c->server->store;
	struct estimate estimates[TARGETS];
	struct job_request request;
	int r = predict(c, &p, &request, &job, err);

	if (r < 0)
		return r;
	estimate(c, p, &request, estimates);
	r = store_begin(store, err);
	for (enum target t = 0; r == 0 && t < TARGETS; t++) {
		const struct estimate *e = &estimates[t];

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
	put_estimates(c, p, &request, estimates);
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
	const struct caller *caller = c->request->caller;
	const struct store_who own = { .uid = caller->uid };
	struct document *d = c->document;
	struct scoring s = { .document = d };
	int r = predict_read_jobs(c->server->store, &(struct job_filter){}, &own, true,
				  PREDICT_HISTORY, &s.jobs, err);

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
