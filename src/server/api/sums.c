/* SPDX-License-Identifier: MIT */
/* Sums over jobs, the nodes that there are, what the columns mean, and how the server is. */
#include "model/document.h"
#include "model/job_filter.h"
#include "server/api/api.h"
#include "server/server.h"

#define DAY_NS UINT64_C(86400000000000)

/* clang-format off */
const struct api_parameter api_sum_parameters[] = {
	{ "limit", API_NUMBER, "Rows at most.", .least = 1, .most = API_LIMIT_MAX },
	{},
};

const struct api_parameter api_usage_parameters[] = {
	{ "by", API_WORD, "What they are added up by (user).", store_usage_word },
	{ "period", API_WORD, "A row for each, in UTC; a job belongs to the day on which it started.", store_usage_period },
	{ "user", API_STRING, "Jobs of this user: a name or a number." },
	{ "account", API_STRING, "Jobs that this account is charged for." },
	{ "partition", API_STRING, "Jobs of this partition or queue." },
	{ "since", API_MOMENT, "Jobs that started on the day of that time or later.", .least = DAY_NS },
	{ "until", API_MOMENT, "Jobs that started on a day that began before then.", .most = DAY_NS },
	{},
};
/* clang-format on */

int api_list_sums(struct api_call *c, struct error *err)
{
	const struct job_filter filter = api_filter(c);

	return store_format_sums(c->server->store, c->route->by, c->route->list, c->has_column,
				 &filter, &c->who, c->document, err);
}

int api_list_usage(struct api_call *c, struct error *err)
{
	const struct job_filter filter = api_filter(c);
	const char *given = api_text(c, "by"), *by = given ? given : store_usage_word(0);

	document_put_string(c->document, "by", by);
	return store_format_usage(c->server->store, by, api_text(c, "period"), &filter, &c->who,
				  c->document, err);
}

int api_list_nodes(struct api_call *c, struct error *err)
{
	const struct job_filter filter = api_filter(c);

	return store_format_nodes(c->server->store, &filter, &c->who, c->document, err);
}

size_t api_metric_columns(struct store_column ret[STORE_COLUMNS_MAX])
{
	ret[0] = (struct store_column){ "name", STORE_TEXT, "The column's name." };
	ret[1] = (struct store_column){ "type", STORE_TEXT, "text, number, time or boolean." };
	ret[2] = (struct store_column){ "help", STORE_TEXT, "What it means." };
	return 3;
}

int api_list_metrics(struct api_call *c, struct error *err UNUSED)
{
	static const char *const types[] = { [STORE_TEXT] = "text",
					     [STORE_NUMBER] = "number",
					     [STORE_TIME] = "time",
					     [STORE_BOOLEAN] = "boolean" };

	document_begin_list_of(c->document, c->route->list);
	for (size_t i = 0; i < store_column_count(); i++) {
		const struct store_column column = store_column(i);

		document_begin_map(c->document);
		document_put_string(c->document, "name", column.name);
		document_put_string(c->document, "type", types[column.type]);
		document_put_string(c->document, "help", column.help);
		document_end_map(c->document);
	}
	document_end_list(c->document);
	return 0;
}

int api_put_health(struct api_call *c, struct error *err)
{
	int r = server_check(c->server, err);

	document_begin_map(c->document);
	document_put_string(c->document, "status", "ok");
	document_end_map(c->document);
	return r;
}
