/* SPDX-License-Identifier: MIT */
#include "cli/jobs_columns.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "analysis/efficiency.h"
#include "basic/cleanup.h"
#include "basic/csv.h"
#include "basic/decimal.h"
#include "basic/error.h"
#include "basic/guess.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "cli/jobs_ask.h"
#include "cli/output.h"
#include "model/document.h"
#include "model/job_row.h"
#include "model/json_place.h"
#include "model/record.h"
#include "model/record_field.h"
#include "model/rows.h"
#include "report/page.h"
#include "report/rows_text.h"
#include "server/store/store.h"

#define NS_PER_S 1000000000
#define NAME_LEAST 8
#define S_OF_AN_HOUR 3600

/* clang-format off */
static const struct jobs_column all_columns[] = {
	{ "id", "ID", JOBS_TEXT, "id", NULL, { "jobid", "jobidraw" } },
	{ "user", "USER", JOBS_TEXT, "user", .rank = 4 },
	{ "name", "NAME", JOBS_TEXT, "name", NULL, { "jobname" }, .least = NAME_LEAST },
	{ "state", "STATE", JOBS_TEXT, "state" },
	{ "elapsed", "ELAPSED", JOBS_SECONDS, "elapsed_seconds", NULL, { "elapsedraw" } },
	{ "nodes", "NODES", JOBS_COUNT, "nodes", NULL, { "nnodes", "allocnodes" }, .rank = 5 },
	{ "cpu", "CPU", JOBS_SHARE, "cpu_efficiency" },
	{ "memory", "MEM", JOBS_SHARE, "memory_efficiency" },
	{ "read", "READ", JOBS_BYTES, "io.read.bytes", NULL, { "avediskread", "maxdiskread" } },
	{ "written", "WRITTEN", JOBS_BYTES, "io.write.bytes", NULL, { "avediskwrite", "maxdiskwrite" } },
	{ "reason", "WHY", JOBS_TEXT, "reason", NULL, { "why" }, .rank = 2 },
	/* Not shown unless they are asked for. */
	{ "cluster", "CLUSTER", JOBS_TEXT, "cluster" },
	{ "node", "NODE", JOBS_TEXT, "node", NULL, { "nodelist" } },
	{ "manager", "MANAGER", JOBS_TEXT, "manager" },
	{ "uid", "UID", JOBS_COUNT, "uid" },
	{ "account", "ACCOUNT", JOBS_TEXT, "account" },
	{ "partition", "PARTITION", JOBS_TEXT, "partition" },
	{ "exit_code", "EXIT", JOBS_COUNT, "exit_code", NULL, { "exitcode" } },
	{ "signal", "SIGNAL", JOBS_COUNT, "signal" },
	{ "start", "START", JOBS_MOMENT, "start" },
	{ "end", "END", JOBS_MOMENT, "end" },
	{ "cpu_time", "CPU TIME", JOBS_SECONDS, "cpu.user_seconds", "cpu.system_seconds", { "totalcpu" } },
	{ "user_time", "USER TIME", JOBS_SECONDS, "cpu.user_seconds", NULL, { "usercpu" } },
	{ "system_time", "SYSTEM TIME", JOBS_SECONDS, "cpu.system_seconds", NULL, { "systemcpu" } },
	{ "cores", "CORES", JOBS_CORES, "cpu.allocated_cores", NULL, { "alloccpus", "ncpus", "reqcpus" } },
	{ "memory_peak", "PEAK", JOBS_BYTES, "memory.peak_bytes", NULL, { "maxrss" } },
	{ "energy", "ENERGY", JOBS_ENERGY, "energy.joules", NULL, { "consumedenergy", "consumedenergyraw" } },
	{ "energy_rate", "PER CORE-HOUR", JOBS_ENERGY, "energy.joules_per_core_hour" },
	{ "emissions", "CO2E", JOBS_GRAMS, "emissions.grams" },
	{ "emissions_overhead", "BY PUE", JOBS_GRAMS, "emissions.overhead_grams" },
	{ "emissions_embodied", "EMBODIED", JOBS_GRAMS, "emissions.embodied_grams" },
	{ "cost", "COST", JOBS_MONEY, "cost" },
	{ "unused", "UNUSED", JOBS_SECONDS, "unused_core_seconds" },
	{ "core_time", "CORE TIME", JOBS_SECONDS, "core_seconds", NULL, { "cputime", "cputimeraw" } },
	{ "jobs", "JOBS", JOBS_COUNT, "jobs" },
	{ "memory_limit", "LIMIT", JOBS_BYTES, "memory.limit_bytes", NULL, { "reqmem" } },
};
/* clang-format on */

const char *jobs_columns_word(const void *target UNUSED, size_t i)
{
	return i < ARRAY_SIZE(all_columns) ? all_columns[i].name : NULL;
}

/* Of a metric's number. */
static const enum jobs_kind kinds[] = {
	[UNIT_COUNT] = JOBS_COUNT,   [UNIT_BYTES] = JOBS_BYTES,	  [UNIT_SECONDS] = JOBS_SECONDS,
	[UNIT_CORES] = JOBS_CORES,   [UNIT_LOAD] = JOBS_COUNT,	  [UNIT_HERTZ] = JOBS_COUNT,
	[UNIT_CELSIUS] = JOBS_COUNT, [UNIT_JOULES] = JOBS_ENERGY, [UNIT_WATTS] = JOBS_COUNT,
};

/* Digits behind the point. */
static const unsigned int places[] = {
	[JOBS_SECONDS] = 9, [JOBS_CORES] = 3, [JOBS_SHARE] = 4, [JOBS_HOURS] = 6,
	[JOBS_ENERGY] = 6,  [JOBS_GRAMS] = 6, [JOBS_MONEY] = 6,
};

/* ---- -o ---- */

static bool is_named(const struct jobs_column *column, const char *name)
{
	bool is = strcasecmp(column->name, name) == 0;

	for (size_t i = 0; i < ARRAY_SIZE(column->sacct) && column->sacct[i]; i++)
		is |= strcasecmp(column->sacct[i], name) == 0;
	return is;
}

static int find_column(const char *name, struct jobs_column *ret, struct error *err)
{
	const char *guess;

	for (size_t i = 0; i < ARRAY_SIZE(all_columns); i++) {
		if (is_named(&all_columns[i], name)) {
			*ret = all_columns[i];
			return 0;
		}
	}
	for (size_t i = 0; i < store_value_count(); i++) {
		const char *key = store_value_name(i);

		if (strcmp(key, name) == 0) {
			*ret = (struct jobs_column){ key, key, kinds[store_value_metric(i)->unit],
						     key };
			return 0;
		}
	}
	for (size_t i = 0; i < store_fact_count(); i++) {
		const struct record_field *fact = store_fact(i);

		if (strcmp(fact->key, name) == 0) {
			*ret = (struct jobs_column){ fact->key, fact->key,
						     fact->type == FIELD_STRING ? JOBS_TEXT
										: JOBS_COUNT,
						     fact->key };
			return 0;
		}
	}
	for (size_t i = 0; i < run_field_count; i++) {
		static const enum jobs_kind run_kinds[] = { [RUN_TEXT] = JOBS_TEXT,
							    [RUN_COUNT] = JOBS_COUNT,
							    [RUN_BYTES] = JOBS_BYTES,
							    [RUN_MOMENT] = JOBS_MOMENT,
							    [RUN_SECONDS] = JOBS_SECONDS };
		const char *key = run_fields[i].key;

		if (!run_fields[i].is_in_run_alone && strcmp(key, name) == 0) {
			*ret = (struct jobs_column){ key, key, run_kinds[run_fields[i].kind], key };
			return 0;
		}
	}
	guess = guess_nearest(name, &all_columns[0].name, ARRAY_SIZE(all_columns),
			      sizeof(all_columns[0]));
	return error_set(err, -EINVAL, "there is no column '%s'%s%s%s", name,
			 guess ? "; did you mean '" : "; 'jobmeter jobs --help' lists them",
			 guess ? guess : "", guess ? "'?" : "");
}

int jobs_columns_parse(const char *text, void *at, struct error *err)
{
	_cleanup_free_ char *copy = strdup(text);
	struct jobs_columns list = {};
	char *rest = copy, *name;

	while ((name = strsep(&rest, ","))) {
		int r;

		name[strcspn(name, "%")] = '\0'; /* sacct's "NAME%WIDTH": as wide as it has to be */
		if (list.count == ROWS_COLUMNS_MAX)
			return error_set(err, -EINVAL, "'-o' takes at most %d columns",
					 ROWS_COLUMNS_MAX);
		r = find_column(name, &list.items[list.count++], err);
		if (r < 0)
			return r;
	}
	*(struct jobs_columns *)at = list;
	return copy ? 0 : error_set_errno(err, ENOMEM, "cannot read '-o'");
}

int jobs_column_parse_text(const char *text, void *at, struct error *err)
{
	struct jobs_column column;
	int r = find_column(text, &column, err);

	if (r == 0 && column.kind != JOBS_TEXT)
		return error_set(err, -EINVAL,
				 "'%s' is no word: jobs are summed by one, such as user or reason",
				 text);
	if (r == 0)
		*(struct jobs_column *)at = column;
	return r;
}

/* ---- numbers of a row ---- */

/* Times 10^@digits.  False: it is not there, or is no such number. */
static bool take_number(const json_t *row, const char *key, unsigned int digits, uint64_t *ret)
{
	const struct place place = {};
	bool is_known;

	return place_take_number(&place, row, key, digits, ret, &is_known) == 0 && is_known;
}

/* As much of a record as its efficiency is made of. */
static struct record *record_of(const json_t *row)
{
	struct record *record = record_new();
	char key[JOB_ROW_KEY_SIZE];
	uint64_t number;

	for (enum metric_id id = 0; record && id < METRIC_JOB_COUNT; id++) {
		if (job_row_key(id, key) &&
		    take_number(row, key, metric_unit_places(metric_get(id)->unit), &number) &&
		    number <= VALUE_MAX)
			reading_set(&record->reading, id, number);
	}
	if (!record)
		return NULL;
	(void)take_number(row, "elapsed_seconds", 9, &record->time.elapsed_ns);
	if (take_number(row, "nodes", 0, &number))
		record->merged_nodes = record->merged_records = (unsigned int)number;
	return record;
}

static void put_share(json_t *row, const char *key, struct amount share)
{
	json_object_set_new(row, key,
			    share.is_known ? json_real(round(share.number * 10000) / 10000)
					   : json_null());
}

static void put_rate(json_t *row, const json_t *joules, double core_s)
{
	if (json_is_number(joules) && core_s > 0)
		json_object_set_new(row, "energy.joules_per_core_hour",
				    json_real(json_number_value(joules) * S_OF_AN_HOUR / core_s));
}

/* Of core time, what no thread computed in.  In a sum, of the jobs that know it. */
static void put_unused(json_t *row)
{
	const json_t *core = json_object_get(row, "core_seconds"),
		     *user = json_object_get(row, "cpu.user_seconds"),
		     *system = json_object_get(row, "cpu.system_seconds");

	if (json_is_number(core) && json_is_number(user) && json_is_number(system))
		json_object_set_new(
			row, "unused_core_seconds",
			json_real(fmax(0, json_number_value(core) - json_number_value(user) -
						  json_number_value(system))));
}

void jobs_complete_energy(json_t *row)
{
	const json_t *unused;
	double core_s;

	put_unused(row);
	unused = json_object_get(row, "unused_core_seconds");
	core_s = json_number_value(json_object_get(row, "core_seconds"));
	if (unused && core_s > 0)
		put_share(row, "cpu_efficiency", amount_of(1 - json_number_value(unused) / core_s));
	put_rate(row, json_object_get(row, JOBS_RATED_JOULES),
		 json_number_value(json_object_get(row, JOBS_RATED_CORE_SECONDS)));
	json_object_del(row, JOBS_RATED_JOULES);
	json_object_del(row, JOBS_RATED_CORE_SECONDS);
}

static void put_core_time(json_t *row, const struct record *record)
{
	const struct value *cores = &record->reading.values[METRIC_CPU_ALLOCATED];
	const double core_s = (double)cores->number / 1000 * (double)record->time.elapsed_ns /
			      NS_PER_S;

	if (!cores->is_known)
		return;
	json_object_set_new(row, "core_seconds", json_real(core_s));
	put_rate(row, json_object_get(row, "energy.joules"), core_s);
}

void jobs_complete(json_t *row)
{
	_cleanup_(record_freep) struct record *record = record_of(row);
	struct efficiency efficiency;

	if (!record)
		return;
	efficiency = efficiency_of(record, NULL);
	put_share(row, "cpu_efficiency", efficiency.uses[RESOURCE_CORES].share);
	put_share(row, "memory_efficiency", efficiency.uses[RESOURCE_MEMORY].share);
	put_core_time(row, record);
	put_unused(row);
}

/* ---- cells ---- */

static bool column_number(const struct jobs_column *column, const json_t *row, uint64_t *ret)
{
	uint64_t plus = 0;

	if (!take_number(row, column->key, places[column->kind], ret) ||
	    (column->plus && !take_number(row, column->plus, places[column->kind], &plus)))
		return false;
	return !__builtin_add_overflow(*ret, plus, ret);
}

bool jobs_cell_number(const struct jobs_column *column, const json_t *row, double *ret)
{
	const json_t *number = json_object_get(row, column->key),
		     *plus = column->plus ? json_object_get(row, column->plus) : NULL;

	*ret = json_number_value(number) + json_number_value(plus);
	return json_is_number(number) && (!column->plus || json_is_number(plus));
}

static struct human humanize_large(enum jobs_kind kind, double number)
{
	struct human h;

	if (kind == JOBS_SECONDS)
		snprintf(h.text, sizeof(h.text), "%.0f h", number / S_OF_AN_HOUR);
	else if (kind == JOBS_ENERGY)
		snprintf(h.text, sizeof(h.text), "%.0f TJ", number / 1e12);
	else
		snprintf(h.text, sizeof(h.text), "%.3g", number);
	return h;
}

/* Of the local clock, to the second. */
static struct human humanize_moment(const char *text)
{
	struct human h = { "-" };
	time_t seconds;
	uint64_t ns;
	struct tm tm;

	if (timestamp_parse(text, &ns) < 0)
		return h;
	seconds = (time_t)(ns / NS_PER_S);
	if (localtime_r(&seconds, &tm))
		strftime(h.text, sizeof(h.text), "%Y-%m-%d %H:%M:%S", &tm);
	return h;
}

static struct human humanize_about(const json_t *row, enum jobs_kind kind, uint64_t number)
{
	const char *key = kind == JOBS_ENERGY ? "energy.estimated_joules"
					      : "emissions.estimated_joules",
		   *currency = json_string_value(json_object_get(row, "currency"));
	struct human h = {}, exact = {};
	uint64_t estimated = 0;

	if (kind == JOBS_MONEY)
		snprintf(exact.text, sizeof(exact.text), "%.4g %.3s", (double)number / 1e6,
			 currency ? currency : "");
	else
		exact = kind == JOBS_ENERGY ? humanize_energy(number) : humanize_mass(number);
	(void)take_number(row, key, metric_unit_places(UNIT_JOULES), &estimated);
	snprintf(h.text, sizeof(h.text), "%s%.24s", estimated ? "~" : "", exact.text);
	return h;
}

const char *jobs_cell_text(const struct jobs_column *column, const json_t *row,
			   struct human *buffer)
{
	const char *text = json_string_value(json_object_get(row, column->key));
	uint64_t number;
	double large;

	if (text && column->kind == JOBS_TEXT)
		return text;
	*buffer = (struct human){ "-" };
	if (text && column->kind == JOBS_MOMENT)
		*buffer = humanize_moment(text);
	if (column->kind <= JOBS_MOMENT)
		return buffer->text;
	if (!column_number(column, row, &number)) { /* or it is too large for that, as sums are */
		if (jobs_cell_number(column, row, &large))
			*buffer = humanize_large(column->kind, large);
		return buffer->text;
	}
	decimal_format_exact(buffer->text, number, 0);
	if (column->kind == JOBS_BYTES)
		*buffer = humanize_bytes_short(number);
	else if (column->kind == JOBS_SECONDS)
		*buffer = humanize_duration(number);
	else if (column->kind == JOBS_CORES)
		*buffer = humanize_cores(number);
	else if (column->kind >= JOBS_ENERGY)
		*buffer = humanize_about(row, column->kind, number);
	else if (column->kind == JOBS_HOURS)
		snprintf(buffer->text, sizeof(buffer->text), "%.*f", number < 100000000 ? 2 : 0,
			 (double)number / 1e6);
	else if (column->kind == JOBS_SHARE)
		*buffer = humanize_percent((double)number / 10000);
	return buffer->text;
}

void jobs_cell_csv(const struct jobs_column *column, const json_t *row, FILE *out)
{
	char buffer[DECIMAL_SIZE];
	uint64_t number;
	double large;

	if (column->kind <= JOBS_MOMENT)
		csv_put(json_string_value(json_object_get(row, column->key)), out);
	else if (column_number(column, row, &number))
		csv_put(decimal_format(buffer, number, places[column->kind]), out);
	else if (jobs_cell_number(column, row, &large))
		fprintf(out, "%.0f", large);
}

/* ---- the table ---- */

void jobs_columns_fill(const struct jobs_columns *columns, const json_t *rows,
		       struct rows_table *table)
{
	for (size_t row = 0; row < json_array_size(rows); row++) {
		rows_row(table, ROWS_ALL);
		for (size_t i = 0; i < columns->count; i++) {
			struct human human;

			rows_cell(table,
				  cell_words(jobs_cell_text(&columns->items[i],
							    json_array_get(rows, row), &human)));
		}
	}
}

#define TEXT_MOST 40 /* columns: what others named may be as long as they like */

static void write_text(const struct jobs_table *t, FILE *out)
{
	const struct jobs_columns *columns = &t->columns;
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct rows_column heads[ROWS_COLUMNS_MAX] = {};
	struct page page = page_for(out);
	struct rows_table *table;

	for (size_t i = 0; i < columns->count; i++) {
		const struct jobs_column *column = &columns->items[i];

		heads[i].head = t->has_no_legend ? "" : column->head;
		heads[i].is_left = column->kind <= JOBS_MOMENT;
		heads[i].most = TEXT_MOST;
		heads[i].least = column->least;
		heads[i].rank = column->rank;
	}
	table = rows_table(rows, ROWS_TEXT, NULL, heads, columns->count);
	jobs_columns_fill(columns, t->rows, table);
	page.is_flush = true;
	if (!t->has_standard_columns || !isatty(fileno(out)))
		page.width = UINT16_MAX;
	rows_text(rows, ROWS_TEXT, &page);
}

static void write_csv(const struct jobs_table *t, FILE *out)
{
	const struct jobs_columns *columns = &t->columns;

	for (size_t i = 0; !t->has_no_legend && i < columns->count; i++)
		fprintf(out, "%s%s", columns->items[i].name, i + 1 < columns->count ? "," : "\n");
	for (size_t row = 0; row < json_array_size(t->rows); row++) {
		for (size_t i = 0; i < columns->count; i++) {
			jobs_cell_csv(&columns->items[i], json_array_get(t->rows, row), out);
			fputc(i + 1 < columns->count ? ',' : '\n', out);
		}
	}
}

/* A document of all, or of each. */
static int write_documents(const struct output *output, const struct jobs_table *t, FILE *out)
{
	bool is_of_each = output->format == OUTPUT_NDJSON;
	size_t count = json_array_size(t->rows);
	int r = 0;

	for (size_t i = 0; r == 0 && i < (is_of_each ? count : 1); i++) {
		_cleanup_(document_freep) struct document *d = output_new_document(output, out);

		if (!d)
			return -ENOMEM;
		if (!is_of_each) {
			document_begin_map(d);
			document_put_string(d, "schema", t->schema);
			if (t->by)
				document_put_string(d, "by", t->by);
			document_begin_list_of(d, t->list);
		}
		for (size_t j = i; j < (is_of_each ? i + 1 : count); j++)
			jobs_row_format(json_array_get(t->rows, j), d);
		if (!is_of_each) {
			document_end_list(d);
			document_end_map(d);
		}
		r = document_finish(d);
	}
	return r;
}

int jobs_table_write(const struct output *output, const void *what, FILE *out, struct error *err)
{
	int r = 0;

	if (output->format == OUTPUT_TEXT)
		write_text(what, out);
	else if (output->format == OUTPUT_CSV)
		write_csv(what, out);
	else
		r = write_documents(output, what, out);
	return output_end(out, r, "jobs", err);
}
