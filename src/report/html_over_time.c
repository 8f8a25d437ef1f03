/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "amount.h"
#include "core_time.h"
#include "html_parts.h"
#include "hue.h"
#include "plot.h"
#include "record.h"

struct series { /* the numbers of one plot at a time */
	struct over_time time;
	double values[PLOT_LAYERS_MAX][TIMELINE_BUCKETS_MAX];
};

static void add_layer(struct plot *plot, struct series *s, const struct record *r,
		      enum metric_id id, const struct hue *hue, const char *label)
{
	double *values = s->values[plot->count];

	if (!over_time_values(&s->time, r, id, values))
		return;
	plot->layers[plot->count].hue = hue;
	plot->layers[plot->count].label = label;
	plot->layers[plot->count++].values = values;
}

/* A plot, or a word that there is none. */
static void put(const struct plot *plot, struct html *h)
{
	if (plot->count)
		plot_put(plot, h);
	else
		html_element(h, "p", "none", "%s: nobody looked.", plot->title);
}

static void put_cores(const struct record *r, struct series *s, struct html *h)
{
	const struct value *allocated = &r->reading.values[METRIC_CPU_ALLOCATED];
	struct plot plot = {
		.id = "cores", .title = "Cores in use", .unit = " cores", .time = &s->time
	};
	char limit[64];

	add_layer(&plot, s, r, METRIC_CPU_USER, &hue_on_cpu, "the program");
	add_layer(&plot, s, r, METRIC_CPU_SYSTEM, &hue_system, NULL);
	if (allocated->is_known && allocated->number > 0) {
		snprintf(limit, sizeof(limit), "%s allowed",
			 humanize_cores(allocated->number).text);
		plot.limit = (double)allocated->number / 1000;
		plot.limit_label = limit;
	}
	put(&plot, h);
}

static void put_waiting(const struct record *r, struct series *s, struct html *h)
{
	struct plot plot = { .id = "waiting",
			     .title = "Threads that waited",
			     .unit = " threads",
			     .time = &s->time };

	for (size_t c = 0; c < CAUSE_COUNT; c++) {
		if (lost_can_be(c))
			add_layer(&plot, s, r, cause_metric((enum cause)c), hue_of_cause(c), NULL);
	}
	/* without its causes it would look like all there was */
	for (size_t c = CAUSE_COUNT; plot.count && c < LOST_COUNT; c++)
		add_layer(&plot, s, r, lost_metric(c), hue_of_cause(c), NULL);
	put(&plot, h);
}

static void put_data(const struct record *r, struct series *s, struct html *h)
{
	struct plot plot = { .id = "data",
			     .title = "Read and written, all mounts",
			     .unit = "",
			     .kind = AXIS_RATE,
			     .time = &s->time };

	add_layer(&plot, s, r, METRIC_READ_BYTES, &hue_read, NULL);
	add_layer(&plot, s, r, METRIC_WRITE_BYTES, &hue_write, NULL);
	put(&plot, h);
}

/* Where anything went through sockets. */
static void put_network(const struct record *r, struct series *s, struct html *h)
{
	const struct network *n = &r->reading.network;
	struct plot plot = { .id = "network",
			     .title = "Received and sent, all sockets",
			     .unit = "",
			     .kind = AXIS_RATE,
			     .time = &s->time };

	if (!network_total(n, METRIC_NETWORK_RECEIVED_BYTES) && !network_total(n, METRIC_NETWORK_SENT_BYTES))
		return;
	add_layer(&plot, s, r, METRIC_NETWORK_RECEIVED_BYTES, &hue_received, NULL);
	add_layer(&plot, s, r, METRIC_NETWORK_SENT_BYTES, &hue_sent, NULL);
	put(&plot, h);
}

static void put_memory(const struct record *r, struct series *s, struct html *h)
{
	const struct value *limit = &r->reading.values[METRIC_MEMORY_LIMIT];
	struct plot plot = {
		.id = "memory", .title = "Memory", .unit = "", .kind = AXIS_BYTES, .time = &s->time
	};
	char label[64];

	add_layer(&plot, s, r, METRIC_MEMORY_USAGE, &hue_memory, NULL);
	if (limit->is_known && limit->number > 0) {
		snprintf(label, sizeof(label), "limit %s", humanize_bytes(limit->number).text);
		plot.limit = (double)limit->number;
		plot.limit_label = label;
	}
	put(&plot, h);
}

static void put_plots(const struct record *r, struct series *s, struct html *h)
{
	put_cores(r, s, h);
	put_waiting(r, s, h);
	put_data(r, s, h);
	put_network(r, s, h);
	put_memory(r, s, h);
	html_element(h, "p", "note", "A step is %s of time.",
		     tick_format((double)timeline_interval_ns(&r->timeline) / 1e9, AXIS_TIME).text);
}

void html_put_over_time(const struct record *r, struct html *h)
{
	struct series *s = calloc(1, sizeof(*s));

	html_begin(h, "section");
	html_element(h, "h2", NULL, "Over time");
	if (s && over_time_of(r, &s->time))
		put_plots(r, s, h);
	else
		html_element(h, "p", NULL, "Not known: the record has no timeline.");
	html_end(h);
	free(s);
}
