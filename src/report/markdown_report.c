/* SPDX-License-Identifier: MIT */
#include "markdown_report.h"

#include <math.h>
#include <stdlib.h>

#include "analysis.h"
#include "cleanup.h"
#include "device_lines.h"
#include "hardware_words.h"
#include "headline.h"
#include "hue.h"
#include "markdown.h"
#include "network_lines.h"
#include "syscall_lines.h"
#include "over_time.h"
#include "record.h"
#include "rows.h"
#include "port_words.h"
#include "sentence.h"
#include "thermal_words.h"
#include "victim_words.h"

#define INSIGHTS_SHOWN 8
#define MOUNTS_SHOWN 8
#define DEVICES_SHOWN 8
#define ROWS_MAX 12 /* mounts, and what is none */
#define STEPS_SHOWN 8
#define MISSING_SHOWN 8
#define SHARE_MIN 0.005
#define LINE_COLUMNS 48

/* ---- parts that others show, too ---- */

void markdown_classes(const struct classes *classes, FILE *out)
{
	for (size_t i = 0; i < classes->count; i++)
		fprintf(out, "%s%s %s", i ? ", " : "\nClass: ", classes->items[i].rule->id,
			amount_format(classes->items[i].share, DIMENSION_SHARE).text);
	fputs(classes->count ? "\n" : "", out);
}

void markdown_insight(const struct insight *insight, FILE *out)
{
	markdown_put(insight->text, out);
	if (insight->advice) {
		fputc(' ', out);
		markdown_put(insight->advice, out);
	}
	if (insight->directive) {
		fputc(' ', out);
		markdown_put_code(insight->directive, out);
	}
	fputc('\n', out);
}

/* ---- the head ---- */

static void put_head(const struct record *r, const struct analysis *analysis, FILE *out)
{
	_cleanup_free_ char *outcome = headline_outcome(r), *extent = headline_extent(r);

	fputs("## ", out);
	markdown_put(headline_name(r), out);
	fputs("\n\n**", out);
	markdown_put(outcome ? outcome : "-", out);
	fputs("**, ", out);
	markdown_put(extent ? extent : "-", out);
	if (analysis->efficiency.score.is_known)
		fprintf(out, ", score %.0f of 100%s", analysis->efficiency.score.number,
			efficiency_basis(&analysis->efficiency));
	fputc('\n', out);
	markdown_classes(&analysis->classes, out);
}

static void put_insights(const struct insights *insights, FILE *out)
{
	for (size_t i = 0; i < MIN(insights->count, (size_t)INSIGHTS_SHOWN); i++) {
		fprintf(out, "%s%zu. ", i ? "" : "\n", i + 1);
		markdown_insight(&insights->items[i], out);
	}
	if (insights->count > INSIGHTS_SHOWN)
		fprintf(out, "\nAnd %zu more.\n", insights->count - INSIGHTS_SHOWN);
}

/* ---- processors and memory ---- */

static void put_share(const char *label, double seconds, const struct core_time *t, FILE *out)
{
	if (seconds >= SHARE_MIN * t->core)
		fprintf(out, ", %s %s", label, humanize_percent(seconds / t->core).text);
}

static void put_core_time(const struct core_time *t, FILE *out)
{
	if (!t->is_known || t->core <= 0)
		return;
	fprintf(out, "\n**Core time**: %s; %s %s",
		amount_format(amount_of(t->core), DIMENSION_SECONDS).text, hue_on_cpu.label,
		humanize_percent(t->on_cpu / t->core).text);
	for (size_t c = 0; t->has_causes && c < LOST_COUNT; c++)
		put_share(hue_of_cause(c)->label, t->lost[c], t, out);
	if (t->has_causes)
		put_share(hue_idle.label, t->idle, t, out);
	else
		put_share("not used", t->unused, t, out);
	fputs(".\n", out);
}

static void put_words(const char *label, const char *words, FILE *out)
{
	if (!words)
		return;
	fprintf(out, "\n**%s**: ", label);
	markdown_put(words, out);
	fputs(".\n", out);
}

static void put_hardware(const struct record *r, FILE *out)
{
	_cleanup_free_ char *counted = hardware_words(r), *felt = thermal_words(r);

	put_words("Processor", counted, out);
	put_words("Frequency and temperature", felt, out);
}

static void put_ports(const struct record *r, FILE *out)
{
	for (size_t i = 0; r->ports && i < r->ports->count; i++) {
		_cleanup_free_ char *words = port_words(&r->ports->items[i]);

		put_words("Fabric", words, out);
	}
}

static void put_memory(const struct record *r, FILE *out)
{
	const struct value *peak = &r->reading.values[METRIC_MEMORY_PEAK];
	const struct value *limit = &r->reading.values[METRIC_MEMORY_LIMIT];
	const struct value *kills = &r->reading.values[METRIC_MEMORY_OOM_KILLS];

	fprintf(out, "\n**Memory**: %s peak",
		peak->is_known ? humanize_bytes(peak->number).text : "-");
	if (limit->is_known && r->merged_records <= 1)
		fprintf(out, " of %s", humanize_bytes(limit->number).text);
	if (kills->is_known && kills->number > 0)
		fprintf(out, "; %s killed because memory ran out",
			humanize_count(kills->number).text);
	for (size_t i = 0; i < r->victims.count; i++) {
		_cleanup_free_ char *words = victim_words(&r->victims.items[i]);

		fputs(i ? ", " : ": ", out);
		markdown_put(words ? words : "-", out);
	}
	fputs(".\n", out);
}

/* ---- over time ---- */

/* The mean of what lies in a column; NAN: nobody looked. */
static double column_mean(const struct over_time *t, const double *values, size_t column)
{
	double from = t->span * (double)column / LINE_COLUMNS;
	double to = t->span * (double)(column + 1) / LINE_COLUMNS, sum = 0, time = 0;

	for (size_t i = 0; i < t->count; i++) {
		double part = fmin(to, t->edges[i + 1]) - fmax(from, t->edges[i]);

		if (part <= 0 || isnan(values[i]))
			continue;
		sum += part * values[i];
		time += part;
	}
	return time > 0 ? sum / time : (double)NAN;
}

static void put_line(const struct over_time *t, const double *values, FILE *out)
{
	static const char *const levels[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	const size_t highest = ARRAY_SIZE(levels) - 1;
	double means[LINE_COLUMNS], most = 0;

	for (size_t i = 0; i < LINE_COLUMNS; i++) {
		means[i] = column_mean(t, values, i);
		most = isnan(means[i]) ? most : fmax(most, means[i]);
	}
	for (size_t i = 0; i < LINE_COLUMNS; i++) {
		double level = most > 0 ? means[i] / most * (double)highest : 0;

		fputs(isnan(means[i]) ? "·" : levels[(size_t)lround(level)], out);
	}
}

struct lines {
	struct over_time time;
	double values[TIMELINE_BUCKETS_MAX], more[TIMELINE_BUCKETS_MAX];
};

static void put_series(const char *label, const struct record *r, struct lines *l,
		       enum metric_id id, enum metric_id other, struct dimension dimension,
		       FILE *out)
{
	double mean, most;

	if (!over_time_values(&l->time, r, id, l->values))
		return;
	if (other != id) {
		if (!over_time_values(&l->time, r, other, l->more))
			return;
		for (size_t i = 0; i < l->time.count; i++)
			l->values[i] += l->more[i];
	}
	if (!over_time_sum_up(&l->time, l->values, &mean, &most))
		return;
	fputs("    ", out);
	put_line(&l->time, l->values, out);
	fprintf(out, "  %s, at most %s\n", label, amount_format(amount_of(most), dimension).text);
}

static void put_over_time(const struct record *r, FILE *out)
{
	struct dimension rate = { .bytes = 1, .seconds = -1 };
	struct lines *l = calloc(1, sizeof(*l));

	if (l && over_time_of(r, &l->time)) {
		fputc('\n', out);
		put_series("cores in use", r, l, METRIC_CPU_USER, METRIC_CPU_SYSTEM,
			   DIMENSION_NUMBER, out);
		put_series("memory", r, l, METRIC_MEMORY_USAGE, METRIC_MEMORY_USAGE,
			   DIMENSION_BYTES, out);
		put_series("read", r, l, METRIC_READ_BYTES, METRIC_READ_BYTES, rate, out);
		put_series("written", r, l, METRIC_WRITE_BYTES, METRIC_WRITE_BYTES, rate, out);
	}
	free(l);
}

/* ---- files ---- */

static uint64_t work_of(const struct mount_row *row, const void *what)
{
	(void)what;
	return row->ops[OP_READ].bytes + row->ops[OP_WRITE].bytes +
	       mount_row_number(row, METRIC_META_CALLS);
}

static void put_data(const struct op_counts *counts, FILE *out)
{
	uint64_t good = counts->calls - MIN(counts->errors, counts->calls);

	fprintf(out, " | %s | %s | %s", counts->bytes ? humanize_bytes(counts->bytes).text : "0",
		humanize_count(counts->calls).text,
		good ? humanize_bytes(counts->bytes / good).text : "-");
}

static void put_row(const struct record *r, const struct mount_row *row, FILE *out)
{
	fputs("| ", out);
	markdown_put(row->mount, out);
	put_data(&row->ops[OP_READ], out);
	put_data(&row->ops[OP_WRITE], out);
	fprintf(out, " | %s | %s |\n",
		humanize_count(mount_row_number(row, METRIC_META_CALLS)).text,
		rows_time(r, row->has_seconds, mount_row_number(row, METRIC_META_CALLS),
			  mount_row_number(row, METRIC_META_SECONDS)).text);
}

static void put_files(const struct record *r, FILE *out)
{
	struct rows rows = rows_select(r, work_of, NULL);
	size_t shown = 0;

	if (rows.count)
		fputs("\n| mount | read | calls | mean | written | calls | mean | metadata | time "
		      "|\n"
		      "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
		      out);
	for (size_t i = 0; i < rows.count && shown < ROWS_MAX; i++) {
		if (rows_leave_out(&rows, i, MOUNTS_SHOWN))
			continue;
		put_row(r, rows.items[i], out);
		shown++;
	}
	if (rows.count > shown)
		fprintf(out, "\nAnd %zu more, which did less.\n", rows.count - shown);
	rows_clear(&rows);
}

/* ---- block devices ---- */

static void put_device_data(const struct block_counts *counts, FILE *out)
{
	fprintf(out, " | %s | %s | %s", counts->bytes ? humanize_bytes(counts->bytes).text : "0",
		humanize_count(counts->requests).text, device_p99(counts).text);
}

static void put_devices(const struct record *r, FILE *out)
{
	struct device_line lines[DEVICE_LINES_MAX];
	size_t count = device_lines(r, lines);

	if (count)
		fputs("\n| device | read | requests | p99 | written | requests | p99 | flushes |\n"
		      "|---|---:|---:|---:|---:|---:|---:|---:|\n",
		      out);
	for (size_t i = 0; i < MIN(count, (size_t)DEVICES_SHOWN); i++) {
		fputs("| ", out);
		markdown_put(lines[i].device, out);
		put_device_data(lines[i].ops[BLOCK_READ], out);
		put_device_data(lines[i].ops[BLOCK_WRITE], out);
		fprintf(out, " | %s |\n", humanize_count(lines[i].ops[BLOCK_FLUSH]->requests).text);
	}
	if (count > DEVICES_SHOWN)
		fprintf(out, "\nAnd %zu more, which moved less.\n", count - DEVICES_SHOWN);
}

/* ---- the rest ---- */

static void put_network(const struct record *r, FILE *out)
{
	struct network_line lines[REACH_COUNT];
	unsigned int count = network_lines(r, lines);

	for (unsigned int i = 0; i < count; i++)
		fprintf(out, "\n**%s**: sent %s, received %s (%s, %s)%s%s%s%s.\n", lines[i].label,
			humanize_bytes(lines[i].sent).text, humanize_bytes(lines[i].received).text,
			lines[i].kinds, lines[i].how_many, *lines[i].again ? ", " : "", lines[i].again,
			*lines[i].round_trips ? "; round trips: " : "", lines[i].round_trips);
}

static void put_syscalls(const struct record *r, FILE *out)
{
	struct syscall_line lines[SYSCALL_LINES_SHOWN];
	size_t count = syscall_lines(r, lines);

	if (!count)
		return;
	for (size_t i = 0; i <= SYSCALL_CELLS; i++)
		fprintf(out, "%s%s", i ? " | " : "\n| ", syscall_heads[i]);
	fputs(" |\n|---|", out);
	for (size_t i = 0; i < SYSCALL_CELLS; i++)
		fputs("---:|", out);
	fputc('\n', out);
	for (size_t i = 0; i < count; i++) {
		fputs("| ", out);
		markdown_put(lines[i].name, out);
		for (size_t j = 0; j < SYSCALL_CELLS; j++)
			fprintf(out, " | %s", lines[i].cells[j].text);
		fputs(" |\n", out);
	}
	if (*syscall_rest(r).text)
		fprintf(out, "\n%s.\n", syscall_rest(r).text);
}

static void put_step(const struct step *step, FILE *out)
{
	const struct value *user = &step->values[METRIC_CPU_USER],
			   *system = &step->values[METRIC_CPU_SYSTEM];
	const struct value *peak = &step->values[METRIC_MEMORY_PEAK];
	bool is_known = user->is_known && system->is_known;
	bool has_time = step->start_ns && step->end_ns > step->start_ns;

	fputs("| ", out);
	markdown_put(step->id, out);
	fprintf(out, " | %s",
		has_time ? humanize_duration(step->end_ns - step->start_ns).text : "-");
	fprintf(out, " | %s",
		is_known ? humanize_duration(user->number + system->number).text : "-");
	fprintf(out, " | %s", peak->is_known ? humanize_bytes(peak->number).text : "-");
	fprintf(out, " | %s | %s |\n", network_bytes(&step->network, METRIC_NETWORK_SENT_BYTES).text,
		network_bytes(&step->network, METRIC_NETWORK_RECEIVED_BYTES).text);
}

static void put_steps(const struct record *r, FILE *out)
{
	if (!r->steps.count)
		return;
	fputs("\n| step | elapsed | CPU time | memory | sent | received |\n|---|---:|---:|---:|---:|---:|\n", out);
	for (size_t i = 0; i < MIN(r->steps.count, (size_t)STEPS_SHOWN); i++)
		put_step(&r->steps.items[i], out);
	if (r->steps.count > STEPS_SHOWN)
		fprintf(out, "\nAnd %zu more steps.\n", r->steps.count - STEPS_SHOWN);
}

static void put_sentence(const char *text, FILE *out)
{
	_cleanup_(sentence_freep) struct sentence s = {};

	sentence_add_whole(&s, text);
	fputc(' ', out);
	markdown_put(s.text ? s.text : "", out);
}

static void put_missing(const struct record *r, FILE *out)
{
	const struct strings *missing = &r->coverage.missing;

	if (!missing->count && !r->coverage.lost_events)
		return;
	fputs("\n**Not seen**:", out);
	for (size_t i = 0; i < MIN(missing->count, (size_t)MISSING_SHOWN); i++)
		put_sentence(missing->items[i], out);
	if (missing->count > MISSING_SHOWN)
		fprintf(out, " And %zu more.", missing->count - MISSING_SHOWN);
	if (r->coverage.lost_events)
		fprintf(out, " %s event%s could not be kept.", humanize_count(r->coverage.lost_events).text,
			r->coverage.lost_events == 1 ? "" : "s");
	fputs("\n", out);
}

void markdown_report(const struct record *r, const struct analysis *analysis, FILE *out)
{
	put_head(r, analysis, out);
	put_insights(&analysis->insights, out);
	put_core_time(&analysis->efficiency.core_time, out);
	put_hardware(r, out);
	put_memory(r, out);
	put_over_time(r, out);
	put_files(r, out);
	put_devices(r, out);
	put_network(r, out);
	put_ports(r, out);
	put_syscalls(r, out);
	put_steps(r, out);
	put_missing(r, out);
}
