/* SPDX-License-Identifier: MIT */
#include "doctor_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "checkup.h"
#include "cleanup.h"
#include "doctor_agent.h"
#include "humanize.h"
#include "page.h"
#include "placement.h"
#include "sentence.h"
#include "rows.h"
#include "rows_text.h"

#define SENSORS_SHOWN 8

static const char *or_unknown(const char *text)
{
	return *text ? text : "unknown";
}

static void print_line(struct page *page, const char *label, struct sentence *line)
{
	page_paragraph(page, label, line->text ? line->text : "");
}

/* "T0, T1 and T2": the tiers that are on, but those that only add to others. */
static void list_on(const struct checkup *c, struct sentence *ret)
{
	size_t left = 0;

	for (size_t i = 0; i < CHECKUP_TIERS_COUNT; i++)
		left += c->tiers[i].is_on && !strchr(c->tiers[i].name, '+');
	for (size_t i = 0; i < CHECKUP_TIERS_COUNT; i++) {
		if (c->tiers[i].is_on && !strchr(c->tiers[i].name, '+'))
			sentence_add(ret, --left ? ", " : " and ", "%s", c->tiers[i].name);
	}
}

static void print_verdict(const struct checkup *c, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence off = {}, on = {};

	if (checkup_is_well(c)) {
		page_put(page, PAGE_BOLD, "The default set works here: ");
		list_on(c, &on);
		page_put(page, PAGE_PLAIN, "%s, each hook tried and checked.", on.text ? on.text : "");
		page_end_line(page);
		return;
	}
	for (size_t i = 0; i < CHECKUP_TIERS_COUNT; i++) {
		if (c->tiers[i].is_default && !c->tiers[i].is_on)
			sentence_add(&off, " and ", "%s", c->tiers[i].name);
	}
	if (c->is_live) {
		page_put(page, PAGE_ALERT, "The default set does not work here: ");
		page_put(page, PAGE_PLAIN, "%s %s off.", off.text ? off.text : "a tier",
			 off.text && strchr(off.text, ' ') ? "are" : "is");
	} else {
		page_put(page, PAGE_BOLD, "Nothing was tried: ");
		page_put(page, PAGE_PLAIN, "this root is not the running machine's.");
	}
	page_end_line(page);
}

static void print_machine(const struct machine *m, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence what = {}, kernel = {};

	sentence_add(&what, "", "%s, Linux %s", or_unknown(m->node), or_unknown(m->kernel));
	sentence_add(&what, "", " on %s", *m->arch ? m->arch : "an unknown processor");
	if (m->cpus_online)
		sentence_add(&what, ", ", "%u CPU%s", m->cpus_online, m->cpus_online == 1 ? "" : "s");
	if (m->cpus_possible > m->cpus_online)
		sentence_add(&what, "", " (%u possible)", m->cpus_possible);
	if (m->memory_bytes)
		sentence_add(&what, ", ", "%s", humanize_bytes(m->memory_bytes).text);
	if (m->is_virtual || *m->product)
		sentence_add(&what, ", ", "%s%s%s", m->is_virtual ? "virtual" : "",
			     m->is_virtual && *m->product ? ": " : "", m->product);
	print_line(page, "machine", &what);
	sentence_add(&kernel, "", "%s BTF; preemption %s (%s)", m->has_btf ? "with" : "without",
		     or_unknown(m->preemption.mode), m->preemption.source);
	print_line(page, NULL, &kernel);
}

static void print_cgroups(const struct checkup *c, struct page *page)
{
	const struct hierarchy *h = &c->hierarchy;
	_cleanup_(sentence_freep) struct sentence line = {};

	if (!c->has_hierarchy)
		sentence_add(&line, "", "%s", c->why_no_hierarchy.text);
	else if (h->is_v2)
		sentence_add(&line, "", "v2, %s the memory controller for groups of ours",
			     c->has_memory_controller ? "with" : "without");
	else
		sentence_add(&line, "", "v1, key hierarchy %s%s",
			     controller_name(h->key),
			     h->v2_mount ? "; v2 beside it has no controllers" : "");
	print_line(page, "cgroups", &line);
}

static void print_settings(const struct rights *r, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence line = {};

	if (r->unprivileged_bpf_disabled >= 0)
		sentence_add(&line, ", ", "unprivileged_bpf_disabled %d",
			     r->unprivileged_bpf_disabled);
	if (r->perf_event_paranoid != RIGHTS_UNKNOWN_PARANOIA)
		sentence_add(&line, ", ", "perf_event_paranoid %d", r->perf_event_paranoid);
	if (*r->lockdown)
		sentence_add(&line, ", ", "lockdown %s", r->lockdown);
	if (r->is_in_user_namespace)
		sentence_add(&line, ", ", "in a user namespace");
	if (line.text)
		print_line(page, NULL, &line);
}

static void print_rights(const struct rights *r, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence has = {}, lacks = {}, line = {};
	size_t count;
	const struct capability *capabilities = rights_capabilities(&count);

	for (size_t i = 0; i < count; i++)
		sentence_add(rights_has(r, capabilities[i].number) ? &has : &lacks, " ", "%s",
			     capabilities[i].name);
	if (!r->is_known)
		sentence_add(&line, "", "unknown");
	else if (r->uid == 0)
		sentence_add(&line, "", "root");
	else
		sentence_add(&line, "", "user %u", r->uid);
	if (r->is_known && has.text)
		sentence_add(&line, ", ", "%s %s", lacks.text ? "with" : "with all that matter:", has.text);
	if (r->is_known && lacks.text)
		sentence_add(&line, ", ", "without %s", lacks.text);
	print_line(page, "rights", &line);
	print_settings(r, page);
}

/* What the default set could give more. */
static void print_missing(const struct checkup *c, struct page *page)
{
	_cleanup_(strings_clear) struct strings missing = {};
	_cleanup_(sentence_freep) struct sentence line = {};

	if (checkup_list_missing(c, &missing) < 0 || !missing.count)
		return;
	for (size_t i = 0; i < missing.count; i++)
		sentence_add_whole(&line, missing.items[i]);
	print_line(page, "not seen", &line);
}

static const char *state_of(const struct checkup *c, const struct checkup_tier *tier)
{
	if (!c->is_live)
		return "not tried";
	if (tier->is_on && !tier->is_default && tier->checked_count < tier->hook_count)
		return "on, checked in part";
	if (tier->is_on)
		return "on, checked";
	return tier->on_count == tier->hook_count ? "not checked" : tier->on_count ? "in part" : "off";
}

static void print_reason(struct page *page, const char *name, const char *why)
{
	_cleanup_(sentence_freep) struct sentence line = {};

	sentence_add(&line, "", "%s: %s", name, why);
	print_line(page, NULL, &line);
}

/* All hooks have one fate, and so one reason. */
static bool has_one_reason(const struct checkup_tier *tier)
{
	return tier->on_count == 0 || tier->on_count == tier->hook_count;
}

/* The same holds for the whole default set. */
static bool is_all_off(const struct checkup *c)
{
	const char *why = checkup_why_off(c, &c->tiers[0]);

	for (size_t t = 0; t < CHECKUP_TIERS_COUNT; t++) {
		if (!c->tiers[t].is_default)
			continue;
		if (c->tiers[t].is_on || !has_one_reason(&c->tiers[t]) ||
		    strcmp(checkup_why_off(c, &c->tiers[t]), why) != 0)
			return false;
	}
	return true;
}

static void print_tier_reasons(const struct checkup *c, const struct checkup_tier *tier,
			       struct page *page)
{
	if (has_one_reason(tier)) {
		print_reason(page, tier->name, checkup_why_off(c, tier));
		return;
	}
	for (size_t i = 0; i < c->hook_count; i++) {
		const struct hook *hook = &c->hooks[i];

		if (!hook->is_on && strcmp(hook->tier, tier->name) == 0)
			print_reason(page, hook->attach, hook->why);
	}
}

static void print_reasons(const struct checkup *c, struct page *page)
{
	if (!c->is_live)
		return;
	if (is_all_off(c)) {
		print_reason(page, "all", checkup_why_off(c, &c->tiers[0]));
		return;
	}
	for (size_t t = 0; t < CHECKUP_TIERS_COUNT; t++) {
		if (c->tiers[t].is_default && !c->tiers[t].is_on)
			print_tier_reasons(c, &c->tiers[t], page);
	}
}

static const char *state_of_hook(const struct hook *hook)
{
	return hook->is_checked ? "checked" : hook->is_on ? "on" : "off";
}

static void print_hooks(const struct checkup *c, struct page *page)
{
	static const struct rows_column columns[] = {
		{ "hook", true, 0 },
		{ "", true, 2 }, /* the tier */
		{ "", true, 0 },
		{ "gives", true, 1 },
	};
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct rows_table *t = rows_table(rows, ROWS_TEXT, "hooks", columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < c->hook_count; i++) {
		const char *slash = strrchr(c->hooks[i].attach, '/');

		rows_row(t, ROWS_TEXT);
		rows_words(t, "%s", slash ? slash + 1 : c->hooks[i].attach);
		rows_words(t, "%s", c->hooks[i].tier);
		rows_words(t, "%s", state_of_hook(&c->hooks[i]));
		rows_words(t, "%s", c->hooks[i].gives);
	}
	rows_text(rows, page);
}

static void print_older(const struct older *older, bool is_verbose, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence line = {};
	size_t left = older_count(older);

	if (!left)
		return;
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		if (older_is(older, (enum object_id)id))
			sentence_add(&line, --left ? ", " : " and ", "%s", object_name((enum object_id)id));
	}
	sentence_add(&line, "", ": the code for older kernels, which counts the same and costs more a call%s",
		     is_verbose ? "" : " (--verbose: why)");
	print_line(page, NULL, &line);
	for (size_t id = 0; is_verbose && id < OBJECT_COUNT; id++) {
		if (older_is(older, (enum object_id)id))
			print_reason(page, object_name((enum object_id)id), older->why[id]);
	}
}

static void print_tiers(const struct checkup *c, bool is_verbose, struct page *page)
{
	static const struct rows_column columns[] = {
		{ "tier", true, 0 },
		{ "gives", true, 0 },
		{ "hooks", false, 0 },
		{ "", true, 0 },
	};
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct rows_table *t = rows_table(rows, ROWS_TEXT, "tiers", columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < CHECKUP_TIERS_COUNT; i++) {
		const struct checkup_tier *tier = &c->tiers[i];

		rows_row(t, ROWS_TEXT);
		rows_words(t, "%s", tier->name);
		rows_words(t, "%s", tier->gives);
		rows_words(t, c->is_live ? "%zu of %zu" : "-", tier->on_count, tier->hook_count);
		rows_words(t, "%s", state_of(c, tier));
	}
	rows_text(rows, page);
	print_reasons(c, page);
	print_older(&c->older, is_verbose, page);
	if (c->map_bytes) {
		page_label(page, NULL);
		page_put(page, PAGE_PLAIN, "their tables take %s of memory",
			 humanize_bytes(c->map_bytes).text);
		page_end_line(page);
	}
	if (is_verbose && c->hook_count) {
		page_end_line(page);
		print_hooks(c, page);
	}
}

static void print_attempts(const struct checkup *c, struct page *page)
{
	static const struct rows_column columns[] = {
		{ "feature", true, 0 },
		{ "", true, 0 },
		{ "gives", true, 1 },
	};
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct rows_table *t = rows_table(rows, ROWS_TEXT, "features", columns, ARRAY_SIZE(columns));

	if (!c->is_live)
		return;
	for (size_t i = 0; i < ATTEMPTS_COUNT; i++) {
		const struct attempt *a = &c->attempts[i];

		rows_row(t, ROWS_TEXT);
		rows_words(t, "%s", a->name);
		rows_words(t, "%s", a->is_well ? "works" : a->why);
		rows_words(t, "%s", a->gives);
	}
	page_end_line(page);
	rows_text(rows, page);
}

static void cell_spread(struct rows_table *t, const struct cost *cost, const struct cost_spread *s,
			bool is_added)
{
	const char *format = is_added ? "%+" PRId64 " ns" : "%" PRId64 " ns";

	if (!cost->is_known) {
		rows_words(t, "-");
		rows_words(t, "%s", "");
		return;
	}
	rows_words(t, format, s->median_ns);
	rows_words(t, "%" PRId64 " to %" PRId64, s->min_ns, s->max_ns);
}

static void print_costs(const struct checkup *c, struct page *page)
{
	static const struct rows_column columns[] = {
		{ "measured", true, 0 },    { "a 4 KiB read", false, 0 }, { "spread", false, 1 },
		{ "another call", false, 0 }, { "spread", false, 1 },
	};
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct rows_table *t = rows_table(rows, ROWS_TEXT, "costs", columns, ARRAY_SIZE(columns));

	page_end_line(page);
	if (!c->has_costs) {
		_cleanup_(sentence_freep) struct sentence line = {};

		sentence_add(&line, "", "not measured: %s",
			     c->is_live ? c->why_no_costs.text : "this root is not the machine's");
		print_line(page, "costs", &line);
		return;
	}
	for (size_t i = 0; i < COSTS_COUNT; i++) {
		const struct cost *cost = &c->costs.rows[i];

		rows_row(t, ROWS_TEXT);
		rows_words(t, "%s", cost->name);
		cell_spread(t, cost, &cost->read, i > 0);
		cell_spread(t, cost, &cost->call, i > 0);
	}
	rows_text(rows, page);
}

static void print_managers(const struct managers *managers, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence line = {};

	for (size_t i = 0; i < managers->count; i++) {
		const struct manager *m = &managers->items[i];

		sentence_add(&line, "; ", "%s:", m->name);
		if (m->daemon)
			sentence_add(&line, " ", "%s runs", m->daemon);
		if (m->file)
			sentence_add(&line, m->daemon ? ", " : " ", "/%s", m->file);
		if (m->tracking == TRACKING_OFF)
			sentence_add(&line, ", ", "not %s", m->setting);
	}
	sentence_add(&line, "", "%s", line.text ? "" : "no sign of one");
	print_line(page, "managers", &line);
}

static void print_sensors(const struct sensors *sensors, bool is_verbose, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence line = {};
	size_t shown = is_verbose ? sensors->count : MIN(sensors->count, (size_t)SENSORS_SHOWN);

	for (size_t i = 0; i < shown; i++) {
		const struct sensor *s = &sensors->items[i];

		sentence_add(&line, ", ", "%s %s%s", s->source, s->name,
			     s->is_readable ? "" : " (not readable)");
	}
	if (shown < sensors->count)
		sentence_add(&line, " ", "and %zu more", sensors->count - shown);
	sentence_add(&line, "", "%s", line.text ? "" : "none to be seen");
	print_line(page, "energy", &line);
}

static void print_gpus(const struct gpus *gpus, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence line = {};

	for (size_t i = 0; i < gpus->count; i++) {
		const struct gpu *g = &gpus->items[i];

		sentence_add(&line, ", ", "%s %s (%s)", g->vendor, g->address,
			     *g->driver ? g->driver : "no driver");
	}
	if (*gpus->nvidia_driver)
		sentence_add(&line, "; ", "NVIDIA's driver is %s", gpus->nvidia_driver);
	sentence_add(&line, "", "%s", line.text ? "" : "none to be seen");
	print_line(page, "GPUs", &line);
}

static void print_advice(const struct checkup *c, struct page *page)
{
	struct advice advice[ADVICE_MAX];
	size_t count = advice_of(c, advice);

	if (count)
		page_end_line(page);
	for (size_t i = 0; i < count; i++) {
		_cleanup_(sentence_freep) struct sentence line = {};

		sentence_add(&line, "", "%s; gives %s", advice[i].what, advice[i].gives);
		print_line(page, i ? NULL : "better", &line);
	}
}

void doctor_text(const struct checkup *c, const struct doctor_agent *agent, bool is_verbose,
		 struct page *page)
{
	print_verdict(c, page);
	print_missing(c, page);
	page_end_line(page);
	print_machine(&c->machine, page);
	print_cgroups(c, page);
	print_rights(&c->rights, page);
	doctor_agent_print(agent, page);
	page_end_line(page);
	print_tiers(c, is_verbose, page);
	print_attempts(c, page);
	print_costs(c, page);
	page_end_line(page);
	print_managers(&c->managers, page);
	print_sensors(&c->sensors, is_verbose, page);
	print_gpus(&c->gpus, page);
	print_advice(c, page);
}

static void print_identity(const struct identity *id, const char *label, struct page *page)
{
	const struct { const char *name, *value; } parts[] = {
		{ "job", id->job },   { "step", id->step }, { "task", id->task },
		{ "user", id->user }, { "node", id->node },
	};
	_cleanup_(sentence_freep) struct sentence line = {};

	sentence_add(&line, "", "%s: manager %s", id->rule, id->manager);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (*parts[i].value)
			sentence_add(&line, ", ", "%s %s", parts[i].name, parts[i].value);
	}
	print_line(page, label, &line);
}

static void print_groups(const char *cgroups, struct page *page)
{
	const char *label = "cgroups";

	for (const char *line = cgroups; *line; label = NULL) {
		size_t length = strcspn(line, "\n");

		page_label(page, label);
		page_put(page, PAGE_PLAIN, "%.*s", (int)length, line);
		page_end_line(page);
		line += length + (line[length] == '\n');
	}
}

void doctor_text_placement(const struct placement *p, const struct doctor_agent *agent,
			   const char *hierarchy, struct page *page)
{
	page_label(page, "process");
	page_put(page, PAGE_PLAIN, "%d%s%s", p->pid, *p->command ? " " : "", p->command);
	page_end_line(page);
	page_label(page, "leaf");
	page_put(page, PAGE_PLAIN, "%s", p->path);
	page_end_line(page);
	page_label(page, NULL);
	page_put(page, PAGE_PLAIN, "in %s, id ", hierarchy);
	if (p->leaf_id)
		page_put(page, PAGE_PLAIN, "%" PRIu64, p->leaf_id);
	else
		page_put(page, PAGE_PLAIN, "unknown: its folder is not seen from here");
	page_end_line(page);
	if (p->has_identity)
		print_identity(&p->identity, "rule", page);
	else
		page_paragraph(page, "rule",
			       "none of the built-in ones matches: no job's by these");
	if (p->has_outer)
		print_identity(&p->outer, "around it", page);
	doctor_agent_print_group(agent, page);
	print_groups(p->cgroups, page);
}
