/* SPDX-License-Identifier: MIT */
/*
 * api - /api/v1: what the server shows over HTTP, to each caller their own.
 *
 * One table of routes says paths, parameters, columns and formats; requests are checked and sent on
 * by it, and the OpenAPI file is made of it.  A request is strict: what is not in the table is
 * refused, and never left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "server/store/store.h"

struct document;
struct error;
struct http_answer;
struct http_request;
struct record;
struct records;
struct server;

#define API_PATH "/api/v1"
#define API_VALUES_MAX 32 /* parameters of a route */
#define API_GROUPS_MAX 5
#define API_LIMIT 100 /* rows of a page by default; at most: */
#define API_LIMIT_MAX 1000
#define API_TEXT_MAX 1024 /* bytes of a value */

enum api_format { API_JSON, API_CSV, API_YAML, API_NDJSON, API_TXT, API_MARKDOWN, API_HTML };
#define IN(format) (1u << (format))
#define API_LISTS (IN(API_JSON) | IN(API_CSV) | IN(API_YAML))
#define API_DOCUMENTS (IN(API_JSON) | IN(API_YAML))
#define API_REPORTS (API_DOCUMENTS | IN(API_TXT) | IN(API_MARKDOWN) | IN(API_HTML))

enum api_type {
	API_STRING,
	API_NUMBER, /* from @least to @most */
	API_MOMENT, /* RFC 3339, or milliseconds since the epoch as Grafana has them; only the last
		       multiple of @least ns, or the next one of @most, counts where they are not 0
		     */
	API_WORD, /* one of those of word() */
	API_WORDS, /* several, by commas */
};

struct api_parameter {
	const char *name; /* NULL ends an array */
	enum api_type type;
	const char *help;
	const char *(*word)(size_t i); /* NULL behind the last */
	uint64_t least, most;
	bool is_required;
};

struct api_call {
	struct server *server;
	const struct http_request *request;
	const struct api_route *route;
	struct store_who who; /* which rows are shown */
	const char *id; /* of the path; NULL: it has none */
	enum api_format format;
	const char *values[API_VALUES_MAX]; /* of the route's parameters; NULL: not given */
	/* What is answered: members of a map, or where the format is no document's (NULL) a text */
	struct document *document;
	FILE *out;
	char *next_page; /* the caller's to free */
	struct http_answer *answer; /* for what is streamed in the place of all that */
	bool has_column[STORE_COLUMNS_MAX]; /* of the route's, those that are shown... */
	size_t columns[STORE_COLUMNS_MAX], column_count; /* ...in this order */
};

struct api_route {
	const char *path; /* behind API_PATH: "/jobs/{id}" */
	const char *summary;
	unsigned int formats;
	/* Of a list: the member with its rows, what their columns may be, and which they are where
	 * no `fields` is given; NULL: all. */
	const char *list;
	size_t (*columns)(struct store_column ret[STORE_COLUMNS_MAX]);
	const char *fields;
	int (*answer)(struct api_call *c, struct error *err);
	bool is_open; /* needs no caller */
	bool is_kept; /* what took long is given again for a moment */
	bool is_post; /* what it wants comes as a map of JSON in the body */
	const char *by; /* of a list of sums, which has their columns: what they are added up by */
	const struct api_parameter *parameters[API_GROUPS_MAX]; /* arrays, up to a NULL */
};
extern const struct api_route server_api_routes[]; /* up to one without a path */

/* Answers that took long, of all threads. */
struct kept *api_kept_new(void); /* NULL: no memory */
void api_kept_free(struct kept *k);

/* As struct http_route wants it. */
int server_api_answer(void *context, const struct http_request *request, struct http_answer *ret);

/* Take the query's values by the route's parameters, into @c.  -EINVAL: *err says what is wrong. */
int api_take_values(struct api_call *c, struct error *err);

const struct api_parameter *api_parameter(const struct api_route *route, size_t i); /* or NULL */
/* What the columns of its list may be; 0: it is none. */
size_t api_columns(const struct api_route *route, struct store_column ret[STORE_COLUMNS_MAX]);
unsigned int api_status(int code); /* of HTTP, for an error of the store's */
const char *api_format_name(enum api_format format, const char **ret_type); /* NULL: no more */

/* Values of the call's parameters, which have been checked; an empty one is none. */
const char *api_text(const struct api_call *c, const char *name); /* or NULL */
uint64_t api_number(const struct api_call *c, const char *name, uint64_t standard);
uint64_t api_moment(const struct api_call *c, const char *name); /* 0: none */

/* ---- what the routes share ---- */

struct job_filter;
struct job_filter api_filter(const struct api_call *c);
extern const struct api_parameter api_filter_parameters[], api_page_parameters[],
	api_job_parameters[], api_sum_parameters[], api_usage_parameters[], api_span_parameters[],
	api_emission_parameters[], api_compare_parameters[];

int api_put_openapi(struct api_call *c, struct error *err); /* openapi.c */

/* jobs.c */
int api_list_jobs(struct api_call *c, struct error *err);
int api_put_emissions(struct api_call *c, struct error *err);
size_t api_job_columns(struct store_column ret[STORE_COLUMNS_MAX]);

/* job.c */
struct store_question api_question(const struct api_call *c); /* for the job of the path */
/* All of that job, its nodes merged, as far as the caller sees it. */
int api_read_job(const struct api_call *c, const struct store_question *question,
		 struct record **ret, struct error *err);
/* The same before they are merged; the caller clears. */
int api_read_records(const struct api_call *c, const struct store_question *question,
		     struct records *ret, struct error *err);
int api_put_job(struct api_call *c, struct error *err);
int api_put_part(struct api_call *c, struct error *err); /* what the path's last word names */
int api_put_records(struct api_call *c, struct error *err);
int api_put_comparison(struct api_call *c, struct error *err); /* of two jobs */
int api_list_nodes_of_job(struct api_call *c, struct error *err);
size_t api_node_of_job_columns(struct store_column ret[STORE_COLUMNS_MAX]);

/* predict.c */
int api_put_models(struct api_call *c, struct error *err);
int api_put_schedule(struct api_call *c, struct error *err);
int api_put_forecast(struct api_call *c, struct error *err);
int api_put_prediction(struct api_call *c, struct error *err);
int api_keep_prediction(struct api_call *c, struct error *err);
int api_list_predictions(struct api_call *c, struct error *err);

/* sums.c */
int api_list_sums(struct api_call *c, struct error *err);
int api_list_usage(struct api_call *c, struct error *err);
int api_list_nodes(struct api_call *c, struct error *err);
int api_list_metrics(struct api_call *c, struct error *err);
size_t api_metric_columns(struct store_column ret[STORE_COLUMNS_MAX]);
int api_put_health(struct api_call *c, struct error *err);
