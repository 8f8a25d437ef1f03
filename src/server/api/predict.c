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
#include "server/predict.h"
#include "server/server.h"
#include "server/server_config.h"

#define SCHEMA "jobmeter.prediction/1"
#define PLACES 3
#define GREATEST 1e15 /* of a number that is written */
#define JOULES_PER_KWH 3.6e6

void api_put_real(struct document *d, const char *key, double number)
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

int api_parse_request(const char *text, size_t length, struct job_request *ret, struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	struct place place = { .err = err };
	int r = place_parse_map(text ? text : "", length, &root, err);
	const char *key;
	json_t *unused;

	json_object_foreach(root, key, unused)
	{
		r = r == 0 ? check_key(&place, key) : r;
	}
	for (size_t i = 0; r == 0 && i < request_field_count; i++)
		r = take_field(&place, root, &request_fields[i], ret);
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
		api_put_real(d, "value", e->value);
		document_put_boolean(d, "at_least", e->is_lower_bound);
		api_put_real(d, "low", e->has_interval ? e->low : NAN);
		api_put_real(d, "high", e->has_interval ? e->high : NAN);
		document_put_string(d, "model", "m0");
		document_put_string(d, "likeness", predictor_level(e->level));
		document_put_unsigned(d, "like_jobs", e->like_jobs);
		document_put_unsigned(d, "scored", e->scored);
	}
	document_end_map(d);
}

/* By the factor that holds now. */
static void put_emission(const struct server *s, const struct estimate *energy, struct document *d)
{
	const struct emission_factor *factor = emission_factor_at(
		&s->factors, s->config->emission_zone, (enum emission_kind)s->config->emission_kind,
		clock_now_ns(CLOCK_REALTIME));
	const double grams = factor ? (double)factor->milligrams / 1000 / JOULES_PER_KWH : NAN;

	document_begin_map_of(d, "co2e_grams");
	api_put_real(d, "value", energy->is_known ? energy->value * grams : NAN);
	api_put_real(d, "low", energy->has_interval ? energy->low * grams : NAN);
	api_put_real(d, "high", energy->has_interval ? energy->high * grams : NAN);
	document_end_map(d);
}

/* A predictor that knows the caller's newest jobs. */
static int read_history(struct api_call *c, struct predictor **ret, size_t *ret_count,
			struct error *err)
{
	_cleanup_(past_jobs_clear) struct past_jobs jobs = {};
	_cleanup_(predictor_freep) struct predictor *p = predictor_new();
	const struct caller *caller = c->request->caller;
	const struct store_who own = { .uid = caller->uid };
	int r = p ? predict_read_jobs(c->server->store, &(struct job_filter){}, &own, true,
				      PREDICT_HISTORY, &jobs, err)
		  : -ENOMEM;

	if (r == 0)
		r = predictor_replay(p, jobs.items, jobs.count, NULL, NULL);
	if (r < 0)
		return *err->text ? r : error_set_errno(err, r, "cannot predict");
	*ret_count = jobs.count;
	*ret = TAKE_PTR(p);
	return 0;
}

int api_put_prediction(struct api_call *c, struct error *err)
{
	_cleanup_(predictor_freep) struct predictor *p = NULL;
	struct job_request request = { .user = PREDICT_ONE_USER };
	struct estimate estimates[TARGETS];
	struct document *d = c->document;
	size_t jobs = 0;
	int r = api_parse_request(c->request->body, c->request->body_length, &request, err);

	if (r == 0)
		r = read_history(c, &p, &jobs, err);
	if (r < 0)
		return r;
	predictor_estimate(p, &request, estimates);
	document_begin_map(d);
	document_put_string(d, "schema", SCHEMA);
	document_put_unsigned(d, "jobs", jobs);
	api_put_real(d, "nominal", PREDICTOR_NOMINAL);
	document_begin_map_of(d, "targets");
	for (enum target t = 0; t < TARGETS; t++)
		put_target(d, t, &estimates[t]);
	document_end_map(d);
	put_emission(c->server, &estimates[TARGET_ENERGY], d);
	document_end_map(d);
	return 0;
}
