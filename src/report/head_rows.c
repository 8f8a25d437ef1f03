/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "report/headline.h"
#include "report/mount_rows.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "report/rows_items.h"
#include "report/sentence.h"
#include "basic/timestamp.h"

#define WORDS_MAX 64 /* of the command */

static void add_fact(struct rows *rows, struct rows_entries *facts, const char *label,
		     const char *text)
{
	if (!text)
		return;
	rows_entries_add(facts, ROWS_ALL, label);
	rows_entries_add(facts, ROWS_ALL, rows_format(rows, "%s", text));
}

static void add_moment(struct rows *rows, struct rows_entries *facts, const char *label,
		       uint64_t ns)
{
	char text[TIMESTAMP_SIZE];

	if (!ns)
		return;
	timestamp_format(text, ns - ns % 1000000000);
	add_fact(rows, facts, label, rows_format(rows, "%.10s %.8s", text, text + 11));
}

static void add_facts(const struct record *r, struct rows *rows, struct rows_entries *facts)
{
	add_fact(rows, facts, "name", r->job.name);
	add_fact(rows, facts, "job", r->job.id);
	add_fact(rows, facts, "manager", r->job.manager);
	add_fact(rows, facts, "state", r->job.state);
	add_fact(rows, facts, "user", r->job.user);
	add_fact(rows, facts, "account", r->job.account);
	add_fact(rows, facts, "partition", r->job.partition);
	add_moment(rows, facts, "start, UTC", r->time.start_ns);
	add_moment(rows, facts, "end, UTC", r->time.end_ns);
	add_fact(rows, facts, "workdir", r->job.dir);
}

static const char *command_of(const struct record *r, struct rows *rows)
{
	_cleanup_(sentence_freep) struct sentence line = {};

	for (size_t i = 0; r->job.command && r->job.command[i] && i < WORDS_MAX; i++)
		sentence_add(&line, " ", "%s", r->job.command[i]);
	return line.text ? rows_format(rows, "%s", line.text) : NULL;
}

/* Only a site's weights make it more than the CPU efficiency. */
static const char *score_of(const struct efficiency *e, struct rows *rows)
{
	if (!e->billing || !e->score.is_known)
		return NULL;
	return rows_format(rows, "score %.0f of 100%s", e->score.number, efficiency_basis(e));
}

/* Of a job that began before the meter, the least that it can have been. */
static const char *elapsed_of(const struct record *r, struct rows *rows)
{
	const uint64_t from_ns = r->time.measured_from_ns;

	if (!r->time.elapsed_ns && !r->time.start_ns && from_ns && r->time.end_ns > from_ns)
		return rows_format(rows, "≥%s", humanize_duration(r->time.end_ns - from_ns).text);
	return rows_format(rows, "%s", humanize_duration(r->time.elapsed_ns).text);
}

void head_rows(const struct record *r, const struct analysis *a, struct rows *rows)
{
	_cleanup_free_ char *place = headline_place(r), *outcome = headline_outcome(r);
	struct rows_item *item = rows_add(rows, ITEM_HEAD, ROWS_FIRST, NULL);
	const char *between = record_note(r, RECORD_NOTE_BETWEEN);

	if (!item)
		return;
	item->head = (struct rows_head){
		.name = rows_format(rows, "%s", headline_name(r)),
		.outcome = rows_format(rows, "%s", outcome ? outcome : "-"),
		.elapsed = elapsed_of(r, rows),
		.place = place ? rows_format(rows, "%s", place) : NULL,
		.command = command_of(r, rows),
		.score = score_of(&a->efficiency, rows),
		.is_failure = headline_is_failure(r),
	};
	if (r->merged_records != 1)
		item->head.merged = rows_format(rows, "merged from %u records on %u node%s%s%s%s",
						r->merged_records, r->merged_nodes,
						r->merged_nodes == 1 ? "" : "s",
						between ? "; the time includes " : "",
						between ? between : "",
						between ? " between them" : "");
	for (size_t i = 0; i < a->classes.count; i++)
		rows_entries_add(
			&item->head.classes, ROWS_ALL,
			rows_format(rows, "%s %s", a->classes.items[i].rule->id,
				    amount_format(a->classes.items[i].share, DIMENSION_SHARE).text));
	add_facts(r, rows, &item->head.facts);
}

/* ---- findings ---- */

const char *finding_action(const struct insight *insight)
{
	return insight->directive ? insight->directive : insight->advice;
}

const char *findings_verdict(const struct analysis *a)
{
	if (a->insights.is_too_short)
		return "Nothing stands out yet: some rules need 5 s.";
	return a->efficiency.core_time.has_causes
		       ? "Nothing stands out."
		       : "Nothing stands out in what was measured; waits were not.";
}

void findings_rows(const struct analysis *a, bool is_whole, unsigned int forms, struct rows *rows)
{
	struct rows_item *item = rows_add(rows, ITEM_FINDINGS, forms, NULL);

	if (item)
		item->findings = (struct rows_findings){
			.analysis = a,
			.verdict = findings_verdict(a),
			.is_whole = is_whole,
		};
}
