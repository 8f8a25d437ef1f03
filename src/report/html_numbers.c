/* SPDX-License-Identifier: MIT */
#include "amount.h"
#include "cleanup.h"
#include "hardware_words.h"
#include "html_parts.h"
#include "html_table.h"
#include "network_lines.h"
#include "port_words.h"
#include "record.h"
#include "thermal_words.h"
#include "victim_words.h"

#define STEPS_SHOWN 64

static struct human tell(const struct value *values, enum metric_id id)
{
	const struct value *value = &values[id];

	if (metric_get(id)->unit == UNIT_SECONDS && value->is_known)
		return humanize_duration(value->number);
	return amount_format(value->is_known ? amount_of_metric(id, value->number)
					     : (struct amount){},
			     dimension_of_metric(id));
}

static void put_number(const char *label, const char *text, struct html *h)
{
	html_begin(h, "div");
	html_element(h, "dt", NULL, "%s", label);
	html_element(h, "dd", NULL, "%s", text);
	html_end(h);
}

void html_put_numbers(const struct record *r, struct html *h)
{
	/* clang-format off */
	static const struct {
		const char *label;
		enum metric_id id;
	} rows[] = {
		{ "CPU time of the program", METRIC_CPU_USER },
		{ "in the kernel", METRIC_CPU_SYSTEM },
		{ "waiting for a CPU", METRIC_CPU_RUN_QUEUE },
		{ "stolen by a hypervisor or interrupts", METRIC_CPU_STOLEN },
		{ "held back by a quota", METRIC_CPU_THROTTLED },
		{ "memory, peak", METRIC_MEMORY_PEAK },
		{ "of its limit", METRIC_MEMORY_LIMIT },
		{ "peak of one process", METRIC_MEMORY_PROCESS_PEAK },
		{ "page faults, minor", METRIC_MEMORY_MINOR_FAULTS },
		{ "page faults, major", METRIC_MEMORY_MAJOR_FAULTS },
		{ "killed for lack of memory", METRIC_MEMORY_OOM_KILLS },
		{ "switches by itself", METRIC_CPU_VOLUNTARY_SWITCHES },
		{ "switches by the kernel", METRIC_CPU_INVOLUNTARY_SWITCHES },
	};
	/* clang-format on */
	_cleanup_free_ char *hardware = hardware_words(r), *thermal = thermal_words(r);

	html_begin(h, "section");
	html_element(h, "h2", NULL, "Processors and memory");
	html_begin_class(h, "dl", "numbers");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		put_number(rows[i].label, tell(r->reading.values, rows[i].id).text, h);
	if (hardware)
		put_number("processor's counters", hardware, h);
	if (thermal)
		put_number("frequency, temperature", thermal, h);
	for (size_t i = 0; r->ports && i < r->ports->count; i++) {
		_cleanup_free_ char *words = port_words(&r->ports->items[i]);

		put_number("fabric port", words ? words : "-", h);
	}
	for (size_t i = 0; i < r->victims.count; i++) {
		_cleanup_free_ char *words = victim_words(&r->victims.items[i]);

		put_number("killed", words ? words : "-", h);
	}
	html_end(h);
	html_end(h);
}

/* ---- steps ---- */

static void put_step(const struct step *step, struct html *h)
{
	bool has_time = step->start_ns && step->end_ns > step->start_ns;

	html_table_begin_row(h, "%s", step->id);
	html_table_end_name(h);
	html_table_cell(h, "%s",
			has_time ? humanize_duration(step->end_ns - step->start_ns).text : "-");
	html_table_cell(h, "%s", tell(step->values, METRIC_CPU_USER).text);
	html_table_cell(h, "%s", tell(step->values, METRIC_CPU_SYSTEM).text);
	html_table_cell(h, "%s", tell(step->values, METRIC_MEMORY_PEAK).text);
	html_table_cell(h, "%s", network_bytes(&step->network, METRIC_NETWORK_SENT_BYTES).text);
	html_table_cell(h, "%s", network_bytes(&step->network, METRIC_NETWORK_RECEIVED_BYTES).text);
	html_table_cell(h, "%s", tell(step->values, METRIC_TASKS_ENDED).text);
	html_table_end_row(h);
}

void html_put_steps(const struct record *r, struct html *h)
{
	static const struct html_column columns[] = {
		{ "step" },	   { "elapsed" },      { "CPU, program" },
		{ "CPU, kernel" }, { "memory, peak" }, { "sent" },
		{ "received" },	   { "threads ended" },
	};

	if (!r->steps.count)
		return;
	html_begin(h, "section");
	html_element(h, "h2", NULL, "Steps");
	html_table_begin(h, "Steps", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < MIN(r->steps.count, (size_t)STEPS_SHOWN); i++)
		put_step(&r->steps.items[i], h);
	html_table_end(h);
	if (r->steps.count > STEPS_SHOWN)
		html_element(h, "p", "note", "And %zu more.", r->steps.count - STEPS_SHOWN);
	html_end(h);
}
