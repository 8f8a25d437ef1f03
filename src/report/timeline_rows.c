/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "analysis/amount.h"
#include "analysis/core_time.h"
#include "basic/humanize.h"
#include "model/record.h"
#include "model/sections/energy.h"
#include "report/mount_rows.h"
#include "report/record_rows.h"
#include "report/rows_items.h"

static void add_layer(struct rows_timeline *t, const struct record *r, enum metric_id id,
		      const struct shade *shade, const char *label, const char *word)
{
	struct plot *plot = &t->plots[t->count - 1];
	double *values = calloc(TIMELINE_BUCKETS_MAX, sizeof(*values));

	if (!values || !over_time_values(&t->time, r, id, values)) {
		free(values);
		return;
	}
	plot->layers[plot->count].shade = shade;
	plot->layers[plot->count].label = label;
	plot->layers[plot->count].word = word;
	plot->layers[plot->count++].values = values;
}

static void begin_plot(struct rows_timeline *t, const struct plot *plot)
{
	t->plots[t->count] = *plot;
	t->plots[t->count++].time = &t->time;
}

static void add_cores(struct rows_timeline *t, const struct record *r, struct rows *rows)
{
	const struct value *allocated = &r->reading.values[METRIC_CPU_ALLOCATED];
	struct plot plot = {
		.id = "cores", .title = "Cores in use", .word = "cores", .unit = " cores"
	};

	if (allocated->is_known && allocated->number > 0) {
		plot.limit = (double)allocated->number / 1000;
		plot.limit_label = rows_format(rows, "%s allowed",
					       humanize_cores(allocated->number).text);
	}
	begin_plot(t, &plot);
	add_layer(t, r, METRIC_CPU_USER, &shade_on_cpu, "user mode", NULL);
	add_layer(t, r, METRIC_CPU_SYSTEM, &shade_system, NULL, NULL);
}

/* Where anything went through sockets. */
static void add_network(struct rows_timeline *t, const struct record *r)
{
	const struct network *n = &r->reading.network;

	if (!network_total(n, METRIC_NETWORK_RECEIVED_BYTES) &&
	    !network_total(n, METRIC_NETWORK_SENT_BYTES))
		return;
	begin_plot(t, &(struct plot){ .id = "network",
				      .title = "Received and sent, all sockets",
				      .unit = "",
				      .kind = AXIS_RATE });
	add_layer(t, r, METRIC_NETWORK_RECEIVED_BYTES, &shade_received, NULL, "received");
	add_layer(t, r, METRIC_NETWORK_SENT_BYTES, &shade_sent, NULL, "sent");
}

/* With its share of the node's idle power. */
static void add_power(struct rows_timeline *t, const struct record *r)
{
	const bool is_estimated = energy_quality(energy_of(r)) >= ENERGY_ESTIMATED;

	if (!r->reading.values[METRIC_ENERGY].is_known)
		return;
	begin_plot(t, &(struct plot){ .id = "power",
				      .title = is_estimated ? "Power (estimated)" : "Power",
				      .word = is_estimated ? "~power" : "power",
				      .unit = "",
				      .kind = AXIS_POWER });
	add_layer(t, r, METRIC_ENERGY, &shade_power, NULL, NULL);
}

void timeline_rows(const struct record *r, const struct patterns *patterns, struct rows *rows)
{
	const struct file_times times = file_times_of(r);
	struct rows_item *item;
	struct over_time time;
	struct rows_timeline *t;
	const struct value *limit = &r->reading.values[METRIC_MEMORY_LIMIT];
	struct plot plot = {
		.id = "memory", .title = "Memory", .word = "memory", .unit = "", .kind = AXIS_BYTES
	};

	rows_part(rows, "Over time");
	if (!over_time_of(r, &time)) {
		rows_line(rows, ROWS_HTML, NULL, "not known: the record has no timeline");
		return;
	}
	item = rows_add(rows, ITEM_TIMELINE, ROWS_FIRST, "over time");
	if (!item)
		return;
	item->timeline = (struct rows_timeline){
		.time = time,
		.start_ns = r->timeline.start_ns,
		.interval_ns = timeline_interval_ns(&r->timeline),
		.elapsed_ns = r->time.elapsed_ns,
		.patterns = patterns,
		.data = times.read_ns > times.write_ns	 ? "read"
			: times.read_ns < times.write_ns ? "write"
							 : NULL,
	};
	t = &item->timeline;
	add_cores(t, r, rows);
	begin_plot(t, &(struct plot){ .id = "waiting",
				      .title = "Threads that waited",
				      .unit = " threads" });
	for (size_t c = 0; c < CAUSE_COUNT; c++) {
		if (lost_can_be(c))
			add_layer(t, r, cause_metric((enum cause)c), shade_of_cause(c), NULL, NULL);
	}
	/* without its causes it would look like all there was */
	for (size_t c = CAUSE_COUNT; t->plots[t->count - 1].count && c < LOST_COUNT; c++)
		add_layer(t, r, lost_metric(c), shade_of_cause(c), NULL, NULL);
	begin_plot(t, &(struct plot){ .id = "data",
				      .title = "Read and written, all mounts",
				      .unit = "",
				      .kind = AXIS_RATE });
	add_layer(t, r, METRIC_READ_BYTES, &shade_read, NULL, "read");
	add_layer(t, r, METRIC_WRITE_BYTES, &shade_write, NULL, "write");
	add_network(t, r);
	if (limit->is_known && limit->number > 0) {
		plot.limit = (double)limit->number;
		plot.limit_label = rows_format(rows, "limit %s",
					       humanize_bytes(limit->number).text);
	}
	begin_plot(t, &plot);
	add_layer(t, r, METRIC_MEMORY_USAGE, &shade_memory, NULL, NULL);
	add_power(t, r);
}

bool histogram_rows(const char *heading, const char *title, enum histogram_kind kind,
		    const struct histogram *histogram, const struct shade *shade, struct rows *rows)
{
	struct rows_item *item = histogram_total(histogram)
					 ? rows_add(rows, ITEM_HISTOGRAM, ROWS_HTML, NULL)
					 : NULL;

	if (!item)
		return false;
	item->histogram = (struct rows_histogram){ .heading = heading,
						   .title = title,
						   .kind = kind,
						   .histogram = histogram,
						   .shade = shade };
	return true;
}
