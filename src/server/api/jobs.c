/* SPDX-License-Identifier: MIT */
/* Lists of jobs, and all of one job. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/document.h"
#include "model/job_filter.h"
#include "server/api/api.h"
#include "server/emitted.h"
#include "server/server.h"
#include "server/store/cursor.h"

static const char *column_word(size_t i)
{
	return i == 0 ? "all" : i - 1 < store_column_count() ? store_column(i - 1).name : NULL;
}

static const char *order_word(size_t i)
{
	for (size_t column = 0; column < store_column_count(); column++) {
		if (store_can_order(column) && i-- == 0)
			return store_column(column).name;
	}
	return NULL;
}

static const char *way_word(size_t i)
{
	return i == 0 ? "desc" : i == 1 ? "asc" : NULL;
}

/* clang-format off */
const struct api_parameter api_filter_parameters[] = {
	{ "user", API_STRING, "Jobs of this user: a name or a number." },
	{ "account", API_STRING, "Jobs that this account is charged for." },
	{ "partition", API_STRING, "Jobs of this partition or queue." },
	{ "state", API_STRING, "Jobs in this state, in upper or lower case." },
	{ "manager", API_STRING, "Jobs of this manager: slurm, pbs, run..." },
	{ "cluster", API_STRING, "Jobs of this cluster." },
	{ "node", API_STRING, "Jobs that ran on this node, by its records." },
	{ "name", API_STRING, "Jobs of this name." },
	{ "text", API_STRING, "Jobs with this in their id, name, user, account or reason." },
	{ "cpu_most", API_NUMBER, "Jobs whose CPU efficiency is at most so many percent.", .least = 1, .most = 1000 },
	{ "memory_most", API_NUMBER, "Jobs whose memory efficiency is at most so many percent.", .least = 1, .most = 1000 },
	{ "since", API_MOMENT, "Jobs that ran then or later." },
	{ "until", API_MOMENT, "Jobs that began before then." },
	{},
};

const struct api_parameter api_span_parameters[] = {
	{ "since", API_MOMENT, "Jobs that ran then or later." },
	{ "until", API_MOMENT, "Jobs that began before then." },
	{},
};

const struct api_parameter api_page_parameters[] = {
	{ "id", API_STRING, "Jobs of this id." },
	{ "fields", API_WORDS, "The columns, by commas; or all.", column_word },
	{ "sort", API_WORD, "What they are sorted by.", order_word },
	{ "order", API_WORD, "The greatest first (desc), or the least (asc).", way_word },
	{ "limit", API_NUMBER, "Rows of a page.", .least = 1, .most = API_LIMIT_MAX },
	{ "after", API_STRING, "Where the page before ended: its member next, or its header X-Next-Page.", .most = CURSOR_MAX },
	{},
};
const struct api_parameter api_emission_parameters[] = {
	{ "id", API_STRING, "Jobs of this id." },
	{ "by", API_WORD, "What they are added up by; without it each stands alone, the newest first.", store_sum_word },
	{ "limit", API_NUMBER, "Of jobs that stand alone: so many at most.", .least = 1, .most = API_LIMIT_MAX },
	{},
};
/* clang-format on */

struct job_filter api_filter(const struct api_call *c)
{
	return (struct job_filter){
		.user = api_text(c, "user"),
		.account = api_text(c, "account"),
		.partition = api_text(c, "partition"),
		.state = api_text(c, "state"),
		.manager = api_text(c, "manager"),
		.cluster = api_text(c, "cluster"),
		.node = api_text(c, "node"),
		.name = api_text(c, "name"),
		.text = api_text(c, "text"),
		.id = api_text(c, "id"),
		.ranges = { [JOB_CPU_PERCENT] = { .most = api_number(c, "cpu_most", 0) },
			    [JOB_MEMORY_PERCENT] = { .most = api_number(c, "memory_most", 0) } },
		.since_ns = api_moment(c, "since"),
		.until_ns = api_moment(c, "until"),
		.limit = (size_t)api_number(c, "limit", API_LIMIT),
	};
}

size_t api_job_columns(struct store_column ret[STORE_COLUMNS_MAX])
{
	for (size_t i = 0; i < store_column_count(); i++)
		ret[i] = store_column(i);
	return store_column_count();
}

int api_put_emissions(struct api_call *c, struct error *err)
{
	const struct job_filter filter = api_filter(c);
	int r;

	document_begin_map(c->document);
	r = emitted_put(c->server, api_text(c, "by"), &filter, &c->who, c->document, err);
	document_end_map(c->document);
	return r;
}

static int put_job(void *context, const struct store_job *job)
{
	const struct api_call *c = context;

	document_begin_map(c->document);
	for (size_t i = 0; i < c->column_count; i++)
		store_job_put(job, c->columns[i], c->document);
	document_end_map(c->document);
	return 0;
}

static size_t order_of(const struct api_call *c)
{
	const char *name = api_text(c, "sort");
	size_t column = 0;

	name = name ? name : "start";
	while (column + 1 < store_column_count() && strcmp(store_column(column).name, name) != 0)
		column++;
	return column;
}

int api_list_jobs(struct api_call *c, struct error *err)
{
	const struct job_filter filter = api_filter(c);
	const char *way = api_text(c, "order");
	bool wanted[STORE_COLUMNS_MAX];
	const struct store_page page = {
		.columns = wanted,
		.order = order_of(c),
		.is_ascending = way && strcmp(way, "asc") == 0,
		.after = api_text(c, "after"),
	};
	int r;

	memcpy(wanted, c->has_column, sizeof(wanted));
	wanted[page.order] = true;
	document_begin_list_of(c->document, "jobs");
	r = store_page_jobs(c->server->store, &filter, &page, &c->who, put_job, c, &c->next_page,
			    err);
	document_end_list(c->document);
	document_put_boolean(c->document, "more", c->next_page);
	document_put_string(c->document, "next", c->next_page);
	return r;
}
