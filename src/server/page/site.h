/* SPDX-License-Identifier: MIT */
/*
 * site - the pages that people open in a browser: who may see one, what stands around it, and the
 * style sheet and the script.
 *
 * A page is complete without a script.  It asks the store with the caller's condition, as the API
 * does, takes its parameters by tables as the API does, and writes through html.h alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "http/http.h"
#include "report/html.h"
#include "server/api/api.h"

struct caller;
struct error;
struct job_filter;

struct site_call {
	struct api_call api; /* its out, answer and document are not used */
	const struct caller *caller;
	struct html *h;
	bool sees_others; /* jobs of others than the caller are among those that are shown */
	bool is_begun; /* the page's list of jobs has a row */
	const char *sort; /* the column by which it is sorted */
};

struct site_page {
	const char *path; /* one that ends in "/" has the rest as its id */
	const char *title; /* of the page, and in the navigation; NULL: it is not there */
	bool is_of_all; /* for those who see others' jobs alone */
	bool is_of_operators;
	struct api_route route; /* parameters */
	/* Writes the content of <main>.  If it fails, its output is dropped. */
	int (*put)(struct site_call *c, struct error *err);
};

extern const struct site_page jobs_page, job_page, usage_page, files_page, spread_page, nodes_page;

/* As struct http_route wants them. */
int site_answer(void *context, const struct http_request *request, struct http_answer *ret);
int site_answer_asset(void *context, const struct http_request *request, struct http_answer *ret);

struct site_document {
	const char *title;
	const char *path; /* of the page that it is; NULL: none */
	const struct caller *caller; /* NULL: not signed in; the page has no navigation */
	const struct http_request *request;
	bool is_again; /* the browser asks for it again at once */
	int (*put)(void *context, struct html *h); /* writes the content of <main> */
	void *context;
};

/* Negative: what @put returned, and there is no answer. */
int site_put_document(struct server *s, const struct site_document *document,
		      struct http_answer *ret);

/* ---- addresses, as the value of an attribute ---- */

struct address {
	struct html *h;
	FILE *out;
	const char *between; /* two fields of the query */
	bool has_query;
};

struct address address_begin(struct html *h, const char *attribute, const char *path);
void address_add(struct address *a, const char *key, const char *value); /* NULL: nothing */
void address_add_moment(struct address *a, const char *key, uint64_t ns);
/* The parameters of this page as they were given, but for these and the place in a list. */
void address_add_filter(struct address *a, const struct site_call *c, const char *const *without);
void address_end(struct address *a);
/* A link to such an address, which is added to in between; @text may be anybody's. */
struct address site_begin_link(struct html *h, const char *path);
void site_end_link(struct address *a, const char *text);

/* The same as text in @out: what was asked for with this request. */
void address_print_request(const struct http_request *request, FILE *out);

/* ---- what several pages show ---- */

struct store_job;
struct site_head { /* up to one without a text */
	const char *text, *class;
};
void site_begin_table(struct html *h, const struct site_head *heads); /* up to its rows */
void site_end_table(struct html *h);
void site_put_cell(struct html *h, const char *label, const char *class, const char *text);
void site_put_link(struct html *h, const char *path, const char *text, bool is_current);
/* A cell of a table or of a card; on narrow screens @label precedes its value. */
void site_begin_cell(struct html *h, const char *label, const char *class);
/* A bar and a number of percent. */
void site_put_share(struct html *h, bool is_known, double share);
void site_put_hours(struct html *h, double seconds); /* below 0: "-" */
void site_put_moment(struct html *h, uint64_t ns); /* 0: "-" */
void site_put_age(struct html *h, uint64_t ns); /* "12 min ago": in one number */
void site_put_reason(struct html *h, const struct store_job *job); /* the rule's name, in words */
void site_put_job_head(struct html *h, const struct store_job *job); /* of a row: id and name */
void site_put_job_link(struct html *h, const struct store_job *job, const char *text);

/* ---- filters.c: which jobs are shown ---- */

/* Beside those of the API. */
extern const struct api_parameter site_days_parameters[], site_range_parameters[];
/* As the parameters say; @days: of how many days where they do not say; 0: all. */
struct job_filter site_filter(const struct site_call *c, unsigned int days);
/* A form with them, for the page at @path. */
void site_put_filters(struct site_call *c, const char *path, unsigned int days);

struct records;
struct record;
/* heat.c: the nodes of a job of several; @merged: of all @records. */
void site_put_heat(const struct records *records, const struct record *merged, struct html *h);

/* jobs_page.c: a table of jobs, by a column of store_can_order(), as far as the filter's limit. */
int site_list_jobs(struct site_call *c, const struct job_filter *filter, const char *sort,
		   struct error *err);
