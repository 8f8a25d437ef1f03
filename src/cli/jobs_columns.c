/* SPDX-License-Identifier: MIT */
#include "cli/jobs_columns.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "analysis/efficiency.h"
#include "basic/cleanup.h"
#include "basic/csv.h"
#include "basic/decimal.h"
#include "basic/error.h"
#include "basic/guess.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "model/record.h"

#define NS_PER_S 1000000000
#define NAME_MAX_LENGTH 64
#define SHARE_PLACES 4

/* ---- what a row says ---- */

static struct jobs_cell text_cell(const char *text)
{
	return (struct jobs_cell){ .is_known = text, .text = text };
}

static struct jobs_cell number_cell(bool is_known, uint64_t number)
{
	return (struct jobs_cell){ .is_known = is_known, .number = number };
}

/* clang-format off */
#define TEXT_OF(member) \
	static struct jobs_cell member##_of(const struct job_row *row) { return text_cell(row->member); }
TEXT_OF(cluster)
TEXT_OF(node)
TEXT_OF(manager)
TEXT_OF(id)
TEXT_OF(name)
TEXT_OF(user)
TEXT_OF(account)
TEXT_OF(partition)
TEXT_OF(state)
TEXT_OF(reason)
/* clang-format on */

static struct jobs_cell uid_of(const struct job_row *row)
{
	return number_cell(row->uid >= 0, (uint64_t)row->uid);
}

static struct jobs_cell start_of(const struct job_row *row)
{
	return number_cell(row->start_ns, row->start_ns);
}

static struct jobs_cell end_of(const struct job_row *row)
{
	return number_cell(row->end_ns && row->is_final, row->end_ns);
}

static struct jobs_cell elapsed_of(const struct job_row *row)
{
	return number_cell(row->elapsed_ns || row->is_final, row->elapsed_ns);
}

static struct jobs_cell nodes_of(const struct job_row *row)
{
	return number_cell(row->nodes, row->nodes);
}

static struct jobs_cell cpu_time_of(const struct job_row *row)
{
	const struct value *user = &row->values[METRIC_CPU_USER],
			   *system = &row->values[METRIC_CPU_SYSTEM];

	return number_cell(user->is_known && system->is_known, user->number + system->number);
}

/* By the same arithmetic as a report's. */
static struct jobs_cell use_of(const struct job_row *row, enum resource resource)
{
	_cleanup_(record_freep) struct record *record = job_row_record(row);
	struct efficiency efficiency;
	struct amount share;

	if (!record)
		return number_cell(false, 0);
	efficiency = efficiency_of(record, NULL);
	share = efficiency.uses[resource].share;
	return number_cell(share.is_known,
			   share.is_known ? (uint64_t)lround(share.number * 10000) : 0);
}

struct jobs_cell jobs_cpu_efficiency(const struct job_row *row)
{
	return use_of(row, RESOURCE_CORES);
}

struct jobs_cell jobs_memory_efficiency(const struct job_row *row)
{
	return use_of(row, RESOURCE_MEMORY);
}

/* ---- the table ---- */

/* clang-format off */
static const struct jobs_column columns[] = {
	{ "id", "jobid jobidraw", "ID", JOBS_TEXT, 0, "the manager's number of the job", id_of },
	{ "user", "", "USER", JOBS_TEXT, 4, "whose it was", user_of },
	{ "name", "jobname", "NAME", JOBS_TEXT, 0, "the job's name", name_of },
	{ "state", "", "STATE", JOBS_TEXT, 0, "RUNNING, or how it ended", state_of },
	{ "elapsed", "elapsedraw", "ELAPSED", JOBS_TIME, 0, "from its start to its end, or to the last checkpoint", elapsed_of },
	{ "nodes", "nnodes allocnodes", "NODES", JOBS_COUNT, 5, "on how many nodes it was", nodes_of },
	{ "cpu", "cpueff", "CPU", JOBS_SHARE, 0, "CPU efficiency: CPU time, of allocated cores times elapsed time", jobs_cpu_efficiency },
	{ "memory", "memeff", "MEM", JOBS_SHARE, 0, "memory efficiency: the peak, of the limit", jobs_memory_efficiency },
	{ "read", "avediskread maxdiskread", "READ", JOBS_BYTES, 0, "bytes read from all mounts and pipes", NULL, METRIC_READ_BYTES },
	{ "written", "avediskwrite maxdiskwrite", "WRITTEN", JOBS_BYTES, 0, "bytes written to all mounts and pipes", NULL, METRIC_WRITE_BYTES },
	{ "reason", "why", "WHY", JOBS_TEXT, 2, "what stands out most, or what kind of job it was", reason_of },
	/* Not shown unless they are asked for. */
	{ "cluster", "", "CLUSTER", JOBS_TEXT, 0, "the site's name of the cluster", cluster_of },
	{ "node", "nodelist", "NODE", JOBS_TEXT, 0, "the node, of a job on one", node_of },
	{ "manager", "", "MANAGER", JOBS_TEXT, 0, "who gave the job its number", manager_of },
	{ "uid", "", "UID", JOBS_COUNT, 0, "the number of its user", uid_of },
	{ "account", "", "ACCOUNT", JOBS_TEXT, 0, "the account that is charged", account_of },
	{ "partition", "", "PARTITION", JOBS_TEXT, 0, "the manager's partition or queue", partition_of },
	{ "start", "", "START", JOBS_MOMENT, 0, "when it began", start_of },
	{ "end", "", "END", JOBS_MOMENT, 0, "when it ended", end_of },
	{ "cpu_time", "totalcpu", "CPU TIME", JOBS_TIME, 0, "user and system time", cpu_time_of },
	{ "user_time", "usercpu", "USER TIME", JOBS_TIME, 0, "CPU time in user mode", NULL, METRIC_CPU_USER },
	{ "system_time", "systemcpu", "SYSTEM TIME", JOBS_TIME, 0, "CPU time in the kernel", NULL, METRIC_CPU_SYSTEM },
	{ "cores", "alloccpus ncpus reqcpus", "CORES", JOBS_CORES, 0, "cores that it might use", NULL, METRIC_CPU_ALLOCATED },
	{ "memory_peak", "maxrss", "PEAK", JOBS_BYTES, 0, "the greatest memory use, page cache included", NULL, METRIC_MEMORY_PEAK },
	{ "memory_limit", "reqmem", "LIMIT", JOBS_BYTES, 0, "memory that it might use", NULL, METRIC_MEMORY_LIMIT },
};
/* clang-format on */

const struct jobs_column *jobs_columns_at(size_t i)
{
	return i < ARRAY_SIZE(columns) ? &columns[i] : NULL;
}

/* ---- -o ---- */

static bool has_other(const struct jobs_column *column, const char *name)
{
	size_t length = strlen(name);

	for (const char *p = column->others; *p; p += strspn(p, " ")) {
		size_t word = strcspn(p, " ");

		if (word == length && strncasecmp(p, name, length) == 0)
			return true;
		p += word;
	}
	return false;
}

static bool find_metric(const char *name, struct jobs_column *ret)
{
	char key[JOB_ROW_KEY_SIZE];

	for (size_t i = 0; i < JOB_ROW_VALUES; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (!job_row_key((enum metric_id)i, key) || strcmp(key, name) != 0)
			continue;
		*ret = (struct jobs_column){ .others = "",
					     .kind = JOBS_METRIC,
					     .help = metric->help,
					     .metric = (enum metric_id)i };
		return true;
	}
	return false;
}

static int find_column(const char *name, struct jobs_column *ret, struct error *err)
{
	const char *guess;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (strcasecmp(columns[i].name, name) != 0 && !has_other(&columns[i], name))
			continue;
		*ret = columns[i];
		return 0;
	}
	if (find_metric(name, ret))
		return 0;
	guess = guess_nearest(name, &columns[0].name, ARRAY_SIZE(columns), sizeof(columns[0]));
	return error_set(err, -EINVAL, "there is no column '%s'%s%s%s", name,
			 guess ? "; did you mean '" : "; 'jobmeter jobs --help' lists them",
			 guess ? guess : "", guess ? "'?" : "");
}

/* sacct's "NAME%WIDTH": as wide as it has to be. */
static int add_column(const char *text, size_t length, struct jobs_columns *list, struct error *err)
{
	struct jobs_column column = {};
	char name[NAME_MAX_LENGTH];
	int r;

	if (list->count == JOBS_COLUMNS_MAX)
		return error_set(err, -EINVAL, "'-o' takes at most %d columns", JOBS_COLUMNS_MAX);
	snprintf(name, sizeof(name), "%.*s", (int)MIN(length, sizeof(name) - 1), text);
	name[strcspn(name, "%")] = '\0';
	r = find_column(name, &column, err);
	if (r < 0)
		return r;
	list->items[list->count++] = column;
	return 0;
}

int jobs_columns_parse(const char *text, struct jobs_columns *ret, struct error *err)
{
	struct jobs_columns list = {};

	for (;; text++) {
		size_t length = strcspn(text, ",");
		int r = add_column(text, length, &list, err);

		if (r < 0)
			return r;
		text += length;
		if (!*text)
			break;
	}
	*ret = list;
	return 0;
}

/* ---- cells ---- */

const char *jobs_column_head(const struct jobs_column *column, char buffer[JOB_ROW_KEY_SIZE])
{
	return column->head ? column->head : job_row_key(column->metric, buffer);
}

const char *jobs_column_name(const struct jobs_column *column, char buffer[JOB_ROW_KEY_SIZE])
{
	return column->name ? column->name : job_row_key(column->metric, buffer);
}

struct jobs_cell jobs_cell(const struct jobs_column *column, const struct job_row *row)
{
	const struct value *value = &row->values[column->metric];

	return column->get ? column->get(row) : number_cell(value->is_known, value->number);
}

static enum jobs_kind kind_of(const struct jobs_column *column)
{
	if (column->kind != JOBS_METRIC)
		return column->kind;
	switch (metric_get(column->metric)->unit) {
	case UNIT_BYTES:
		return JOBS_BYTES;
	case UNIT_SECONDS:
		return JOBS_TIME;
	case UNIT_CORES:
		return JOBS_CORES;
	default:
		return JOBS_COUNT;
	}
}

/* Of the local clock, to the second. */
static struct human humanize_moment(uint64_t ns)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	struct human h = { "-" };
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(h.text, sizeof(h.text), "%Y-%m-%d %H:%M:%S", &tm);
	return h;
}

const char *jobs_cell_text(const struct jobs_column *column, const struct jobs_cell *cell,
			   struct human *buffer)
{
	if (!cell->is_known)
		return "-";
	switch (kind_of(column)) {
	case JOBS_TEXT:
		return cell->text;
	case JOBS_BYTES:
		*buffer = humanize_bytes_short(cell->number);
		break;
	case JOBS_TIME:
		*buffer = humanize_duration(cell->number);
		break;
	case JOBS_MOMENT:
		*buffer = humanize_moment(cell->number);
		break;
	case JOBS_CORES:
		*buffer = humanize_cores(cell->number);
		break;
	case JOBS_SHARE:
		*buffer = humanize_percent((double)cell->number / 10000);
		break;
	default:
		snprintf(buffer->text, sizeof(buffer->text), "%llu",
			 (unsigned long long)cell->number);
		break;
	}
	return buffer->text;
}

static unsigned int places_of(const struct jobs_column *column)
{
	switch (kind_of(column)) {
	case JOBS_TIME:
		return metric_unit_places(UNIT_SECONDS);
	case JOBS_CORES:
		return metric_unit_places(UNIT_CORES);
	case JOBS_SHARE:
		return SHARE_PLACES;
	default:
		return 0;
	}
}

void jobs_cell_csv(const struct jobs_column *column, const struct jobs_cell *cell, FILE *out)
{
	char text[MAX(DECIMAL_SIZE, TIMESTAMP_SIZE)];

	if (!cell->is_known)
		return;
	if (kind_of(column) == JOBS_TEXT)
		csv_put(cell->text, out);
	else if (kind_of(column) == JOBS_MOMENT)
		csv_put(timestamp_format(text, cell->number), out);
	else
		csv_put(decimal_format(text, cell->number, places_of(column)), out);
}
