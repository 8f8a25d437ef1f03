/* SPDX-License-Identifier: MIT */
#include "model/job_row.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"
#include "model/document.h"
#include "model/record.h"

#define RUNNING "RUNNING" /* as agents call it */

#define AT(member) offsetof(struct job_row, member)
/* clang-format off */
const struct job_row_text job_row_texts[] = {
	{ "cluster", AT(cluster) },
	{ "node", AT(node) },
	{ "manager", AT(manager) },
	{ "id", AT(id) },
	{ "name", AT(name) },
	{ "user", AT(user) },
	{ "account", AT(account) },
	{ "partition", AT(partition) },
	{ "state", AT(state) },
	{ "reason", AT(reason) },
};
/* clang-format on */
const size_t job_row_text_count = ARRAY_SIZE(job_row_texts);

char **job_row_text(const struct job_row_text *text, struct job_row *row)
{
	return (char **)(void *)((char *)row + text->offset);
}

const char *job_row_text_get(const struct job_row_text *text, const struct job_row *row)
{
	return *(char *const *)(const void *)((const char *)row + text->offset);
}

void job_row_clear(struct job_row *row)
{
	for (size_t i = 0; i < job_row_text_count; i++)
		free(*job_row_text(&job_row_texts[i], row));
	*row = JOB_ROW_EMPTY;
}

void job_rows_clear(struct job_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		job_row_clear(&rows->items[i]);
	free(rows->items);
	*rows = (struct job_rows){};
}

int job_rows_add(struct job_rows *rows, struct job_row *row)
{
	if ((rows->count & (rows->count - 1)) == 0) { /* there is room for a power of two */
		struct job_row *larger = reallocarray(
			rows->items, rows->count ? rows->count * 2 : 1, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		rows->items = larger;
	}
	rows->items[rows->count++] = *row;
	*row = JOB_ROW_EMPTY;
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct job_row *first = a, *second = b;
	const char *id = first->id ? first->id : "", *other = second->id ? second->id : "";

	if (first->start_ns != second->start_ns)
		return first->start_ns > second->start_ns ? -1 : 1;
	return strverscmp(other, id);
}

void job_rows_sort(struct job_rows *rows)
{
	if (rows->count)
		qsort(rows->items, rows->count, sizeof(*rows->items), compare_rows);
}

static bool is_of_mounts(const struct metric *metric)
{
	return metric->scope == SCOPE_MOUNT || metric->scope == SCOPE_MOUNT_OP;
}

/* One number of the whole job. */
static bool is_scalar(const struct metric *metric)
{
	if (metric->kind == KIND_HISTOGRAM || !metric->section)
		return false;
	return metric->scope == SCOPE_JOB || is_of_mounts(metric) || metric->scope == SCOPE_SOCKET;
}

const char *job_row_key(enum metric_id id, char buffer[JOB_ROW_KEY_SIZE])
{
	const struct metric *metric = metric_get(id);

	if (!is_scalar(metric))
		return NULL;
	snprintf(buffer, JOB_ROW_KEY_SIZE, "%s%s.%s", is_of_mounts(metric) ? "io." : "",
		 metric->section, metric->key);
	return buffer;
}

static bool copy(const char *from, char **ret)
{
	*ret = from ? strdup(from) : NULL;
	return *ret || !from;
}

static void take_values(const struct record *record, struct job_row *row)
{
	for (size_t i = 0; i < JOB_ROW_VALUES; i++) {
		enum metric_id id = (enum metric_id)i;
		uint64_t number;

		if (i < METRIC_JOB_COUNT)
			row->values[i] = record->reading.values[i];
		else if (is_scalar(metric_get(id)) && record_total(record, id, &number) &&
			 number <= VALUE_MAX)
			row->values[i] = (struct value){ number, true };
	}
}

int job_row_of_record(const struct record *record, struct job_row *ret)
{
	struct job_row row = JOB_ROW_EMPTY;
	bool is_whole = copy(record->cluster, &row.cluster);

	is_whole &= copy(record->node, &row.node);
	is_whole &= copy(record->job.manager, &row.manager);
	is_whole &= copy(record->job.id, &row.id);
	is_whole &= copy(record->job.name, &row.name);
	is_whole &= copy(record->job.user, &row.user);
	is_whole &= copy(record->job.account, &row.account);
	is_whole &= copy(record->job.partition, &row.partition);
	is_whole &= copy(record->is_final ? record->job.state : RUNNING, &row.state);
	if (!is_whole) {
		job_row_clear(&row);
		return -ENOMEM;
	}
	row.uid = record->job.uid;
	row.is_final = record->is_final;
	row.start_ns = record->time.start_ns;
	row.end_ns = record->time.end_ns;
	row.elapsed_ns = record->time.elapsed_ns;
	row.nodes = MAX(record->merged_nodes, 1u);
	take_values(record, &row);
	*ret = row;
	return 0;
}

struct record *job_row_record(const struct job_row *row)
{
	struct record *record = record_new();

	if (!record)
		return NULL;
	memcpy(record->reading.values, row->values, sizeof(record->reading.values));
	record->time.start_ns = row->start_ns;
	record->time.elapsed_ns = row->elapsed_ns;
	record->merged_nodes = record->merged_records = row->nodes;
	return record;
}

void job_row_format(const struct job_row *row, struct document *d)
{
	char key[JOB_ROW_KEY_SIZE];

	for (size_t i = 0; i < job_row_text_count; i++)
		document_put_string(d, job_row_texts[i].key,
				    job_row_text_get(&job_row_texts[i], row));
	document_key(d, "uid");
	if (row->uid < 0)
		document_null(d);
	else
		document_signed(d, row->uid);
	document_put_boolean(d, "final", row->is_final);
	document_put_time(d, "start", row->start_ns);
	document_put_time(d, "end", row->end_ns);
	document_key(d, "elapsed_seconds");
	document_decimal(d, row->elapsed_ns, metric_unit_places(UNIT_SECONDS));
	document_put_unsigned(d, "nodes", row->nodes);
	for (size_t i = 0; i < JOB_ROW_VALUES; i++) {
		const struct value *value = &row->values[i];

		if (!job_row_key((enum metric_id)i, key))
			continue;
		document_key(d, key);
		if (value->is_known)
			document_decimal(d, value->number,
					 metric_unit_places(metric_get((enum metric_id)i)->unit));
		else
			document_null(d);
	}
}
