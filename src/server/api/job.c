/* SPDX-License-Identifier: MIT */
/* All of one job: its records, merged into one. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/comparison.h"
#include "analysis/formula.h"
#include "analysis/rules.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/csv.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "codec/record_format.h"
#include "codec/records.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "model/json_place.h"
#include "report/html_report.h"
#include "report/page.h"
#include "report/reports.h"
#include "server/api/api.h"
#include "server/emitted.h"
#include "server/server.h"

#define READ_NS UINT64_C(5000000000) /* others wait meanwhile */
#define REPORT_WIDTH 100
#define DIGITS 15 /* of a number, as document_decimal() writes them */

static const char *yes_word(size_t i)
{
	return i == 0 ? "no" : i == 1 ? "yes" : NULL;
}

/* clang-format off */
const struct api_parameter api_job_parameters[] = {
	{ "manager", API_STRING, "Its manager, where others have that id, too." },
	{ "cluster", API_STRING, "Its cluster, likewise." },
	{ "node", API_STRING, "What it did on that node alone." },
	{ "start", API_MOMENT, "When it started, of several of that id; without it the newest." },
	{ "full", API_WORD, "Of a report as text: all there is, not the first screen.", yes_word },
	{},
};

const struct api_parameter api_compare_parameters[] = {
	{ "a", API_STRING, "The id of the job that is held against.", .is_required = true },
	{ "b", API_STRING, "The id of the one that is compared with it.", .is_required = true },
	{},
};
/* clang-format on */

/* ---- reading ---- */

struct store_question api_question(const struct api_call *c)
{
	return (struct store_question){
		.id = c->id,
		.manager = api_text(c, "manager"),
		.cluster = api_text(c, "cluster"),
		.node = api_text(c, "node"),
		.start_ns = api_moment(c, "start"),
		.tells_clock = true,
	};
}

struct taking {
	struct records *records;
	uint64_t until_ns;
	struct error *err;
};

static int take_line(void *context, const char *line, size_t length)
{
	struct taking *r = context;

	if (clock_now_ns(CLOCK_MONOTONIC) > r->until_ns)
		return error_set(r->err, -ETIME,
				 "it has too many records to merge them here: ask for one node "
				 "(node), or for its records");
	return records_parse(line, length, "the database", r->records, r->err);
}

int api_read_records(const struct api_call *c, const struct store_question *question,
		     struct records *ret, struct error *err)
{
	struct taking taking = { ret, clock_now_ns(CLOCK_MONOTONIC) + READ_NS, err };
	int r = store_read_records(c->server->store, question, &c->who, take_line, &taking, err);

	/* what the store took is no wrong question, whatever is wrong with it */
	return r == -EINVAL ? -EIO : r == 0 && !ret->count ? -EIO : r;
}

int api_read_job(const struct api_call *c, const struct store_question *question,
		 struct record **ret, struct error *err)
{
	_cleanup_(records_clear) struct records records = {};
	int r = api_read_records(c, question, &records, err);

	if (r == 0)
		r = record_merge((const struct record *const *)records.items, records.count, ret);
	return r == -ENOMEM ? error_set_errno(err, r, "cannot merge the records") : r;
}

/* ---- the whole ---- */

static int put_text(const struct api_call *c, const struct record *record)
{
	const char *full = api_text(c, "full");
	struct page page = { .out = c->out,
			     .width = REPORT_WIDTH,
			     .is_utf8 = true,
			     .is_full = full && strcmp(full, "yes") == 0 };

	report_text(record, NULL, c->server->rules, &page);
	return 0;
}

/* Of all its nodes. */
static void tell_emissions(const struct api_call *c, const struct store_question *question,
			   struct record *record)
{
	const struct job_filter job = {
		.id = question->id,
		.manager = question->manager,
		.cluster = question->cluster,
		.until_ns = question->start_ns ? question->start_ns + 1 : 0,
		.limit = 1,
	};

	if (record && !question->node && !record->emissions)
		record->emissions = emitted_words(c->server, &job, &c->who);
}

int api_put_job(struct api_call *c, struct error *err)
{
	_cleanup_(record_freep) struct record *record = NULL;
	_cleanup_(analysis_clear) struct analysis analysis = {};
	const struct store_question question = api_question(c);
	int r = api_read_job(c, &question, &record, err);

	if (r < 0)
		return r;
	if (c->document)
		return analysis_format_record(c->server->rules, record, c->document);
	tell_emissions(c, &question, record);
	if (c->format == API_TXT)
		return put_text(c, record);
	r = analysis_make(c->server->rules, record, &analysis);
	if (r < 0)
		return r;
	if (c->format == API_HTML)
		html_report(record, &analysis, c->out);
	else
		markdown_report(record, &analysis, c->out);
	return 0;
}

int api_put_records(struct api_call *c, struct error *err)
{
	const struct store_question question = api_question(c);

	return server_stream_records(c->server, &question, &c->who, c->answer, err);
}

/* ---- two of them ---- */

int api_put_comparison(struct api_call *c, struct error *err)
{
	_cleanup_(record_freep) struct record *before = NULL, *after = NULL;
	struct store_question question = api_question(c);
	struct comparison comparison = {};
	int r;

	question.id = api_text(c, "a");
	r = api_read_job(c, &question, &before, err);
	question.id = api_text(c, "b");
	if (r == 0)
		r = api_read_job(c, &question, &after, err);
	if (r == 0)
		r = comparison_make(c->server->rules->variables, before, after, &comparison);
	if (r < 0 || !before || !after)
		return r;
	document_begin_map(c->document);
	document_put_string(c->document, "baseline", before->job.id);
	document_put_string(c->document, "record", after->job.id);
	document_key(c->document, "changes");
	comparison_format(&comparison, c->document);
	document_end_map(c->document);
	comparison_clear(&comparison);
	return 0;
}

/* ---- parts ---- */

/* What the last word of a path gives of the record as JSON: what has no name has several. */
static const struct part {
	const char *word, *keys[4];
} parts[] = {
	{ "timeline", { "timeline" } },
	{ "steps", { "steps" } },
	{ "mounts", { "io" } },
	{ "energy", { "energy" } },
	{ "insights", { "insights", "classification", "efficiency", "patterns" } },
};

struct whole {
	const struct rules *rules;
	const struct record *record;
	int *ret;
};

static void format_whole(const void *what, struct document *d)
{
	const struct whole *w = what;

	*w->ret = analysis_format_record(w->rules, w->record, d);
}

static int parse_whole(const struct api_call *c, const struct record *record, json_t **ret)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0;
	int written = 0, r;

	r = document_format_line(format_whole,
				 &(struct whole){ c->server->rules, record, &written }, &text,
				 &length);
	if (r < 0 || written < 0)
		return r < 0 ? r : written;
	*ret = json_loadb(text, length, 0, NULL);
	return *ret ? 0 : -ENOMEM;
}

static void put_timeline_csv(const json_t *timeline, FILE *out)
{
	json_t *series = json_object_get(timeline, "series"), *one;
	const json_t *seconds = json_object_get(timeline, "interval_seconds");
	const char *start = json_string_value(json_object_get(timeline, "start")), *name;
	uint64_t begun_ns = 0, step_ns = (uint64_t)json_integer_value(seconds) * 1000000000;
	char moment[TIMESTAMP_SIZE];
	size_t count = 0;

	fputs("time", out);
	json_object_foreach(series, name, one)
	{
		fputc(',', out);
		csv_put(name, out);
		count = MAX(count, json_array_size(json_object_get(one, "values")));
	}
	fputc('\n', out);
	if (!start || timestamp_parse(start, &begun_ns) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		fputs(timestamp_format(moment, begun_ns + i * step_ns), out);
		json_object_foreach(series, name, one)
		{
			const json_t *value = json_array_get(json_object_get(one, "values"), i);

			fputc(',', out);
			if (json_is_number(value))
				fprintf(out, "%.*g", DIGITS, json_number_value(value));
		}
		fputc('\n', out);
	}
}

/* As the record has them, after the members that name the job. */
static int put_parts(const struct part *part, json_t *whole, FILE *out)
{
	static const char *const names[] = { "manager", "id" };
	_cleanup_(json_freep) json_t *map = json_object();
	const json_t *job = json_object_get(whole, "job");
	int r = map ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++)
		r = json_object_set(map, names[i], json_object_get(job, names[i]));
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(part->keys) && part->keys[i]; i++) {
		json_t *value = json_object_get(whole, part->keys[i]);

		r = json_object_set(map, part->keys[1] ? part->keys[i] : part->word,
				    value ? value : json_null());
	}
	if (r == 0)
		r = json_dumpf(map, out, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
	return r < 0 ? -ENOMEM : 0;
}

int api_put_part(struct api_call *c, struct error *err)
{
	_cleanup_(record_freep) struct record *record = NULL;
	_cleanup_(json_freep) json_t *whole = NULL;
	const char *word = strrchr(c->route->path, '/') + 1;
	const struct store_question question = api_question(c);
	const struct part *part = parts;
	int r = api_read_job(c, &question, &record, err);

	while (strcmp(part->word, word) != 0)
		part++;
	if (r == 0 && c->format == API_CSV && strcmp(word, "mounts") == 0) {
		record_format_csv_header(ROWS_MOUNT, c->out);
		record_format_csv(record, ROWS_MOUNT, c->out);
		return 0;
	}
	if (r == 0)
		r = parse_whole(c, record, &whole);
	if (r < 0)
		return r;
	if (c->format == API_CSV) {
		put_timeline_csv(json_object_get(whole, "timeline"), c->out);
		return 0;
	}
	return put_parts(part, whole, c->out);
}

/* ---- its nodes ---- */

static const struct node_column {
	struct store_column column;
	enum metric_id id; /* METRIC_JOB_COUNT: none */
	bool is_of_mounts;
} node_columns[] = {
	{ { "cluster", STORE_TEXT, "The node's cluster." }, METRIC_JOB_COUNT },
	{ { "node", STORE_TEXT, "The node." }, METRIC_JOB_COUNT },
	{ { "start", STORE_TIME, "When it started there." }, METRIC_JOB_COUNT },
	{ { "end", STORE_TIME, "When it ended there; null while it runs." }, METRIC_JOB_COUNT },
	{ { "elapsed_seconds", STORE_NUMBER, "How long it took there." }, METRIC_JOB_COUNT },
	{ { "cpu.user_seconds", STORE_NUMBER, NULL }, METRIC_CPU_USER },
	{ { "cpu.system_seconds", STORE_NUMBER, NULL }, METRIC_CPU_SYSTEM },
	{ { "cpu.allocated_cores", STORE_NUMBER, NULL }, METRIC_CPU_ALLOCATED },
	{ { "memory.peak_bytes", STORE_NUMBER, NULL }, METRIC_MEMORY_PEAK },
	{ { "energy.joules", STORE_NUMBER, NULL }, METRIC_ENERGY },
	{ { "io.read.bytes", STORE_NUMBER, NULL }, METRIC_READ_BYTES, true },
	{ { "io.write.bytes", STORE_NUMBER, NULL }, METRIC_WRITE_BYTES, true },
};

size_t api_node_of_job_columns(struct store_column ret[STORE_COLUMNS_MAX])
{
	for (size_t i = 0; i < ARRAY_SIZE(node_columns); i++) {
		ret[i] = node_columns[i].column;
		if (!ret[i].help)
			ret[i].help = metric_get(node_columns[i].id)->help;
	}
	return ARRAY_SIZE(node_columns);
}

static void put_node(const struct record *record, struct document *d)
{
	size_t i = 0;

	document_begin_map(d);
	document_put_string(d, node_columns[i++].column.name, record->cluster);
	document_put_string(d, node_columns[i++].column.name, record->node);
	document_put_time(d, node_columns[i++].column.name, record->time.start_ns);
	document_put_time(d, node_columns[i++].column.name, record->time.end_ns);
	document_key(d, node_columns[i++].column.name);
	document_decimal(d, record->time.elapsed_ns, metric_unit_places(UNIT_SECONDS));
	for (; i < ARRAY_SIZE(node_columns); i++) {
		const struct node_column *n = &node_columns[i];
		uint64_t sum = 0;
		bool is_known;

		if (n->is_of_mounts) {
			is_known = formula_data_total(record, n->id, &sum);
		} else {
			is_known = record->reading.values[n->id].is_known;
			sum = record->reading.values[n->id].number;
		}
		document_key(d, n->column.name);
		if (is_known)
			document_decimal(d, sum, metric_unit_places(metric_get(n->id)->unit));
		else
			document_null(d);
	}
	document_end_map(d);
}

int api_list_nodes_of_job(struct api_call *c, struct error *err)
{
	_cleanup_(records_clear) struct records records = {};
	const struct store_question question = api_question(c);
	int r = api_read_records(c, &question, &records, err);

	if (r < 0)
		return r;
	document_begin_list_of(c->document, c->route->list);
	for (size_t i = 0; i < records.count; i++)
		put_node(records.items[i], c->document);
	document_end_list(c->document);
	return 0;
}
