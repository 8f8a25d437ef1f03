/* SPDX-License-Identifier: MIT */
#include "cli/doctor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "selftest/advice.h"
#include "selftest/checkup.h"
#include "load/tiers.h"
#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "report/page.h"
#include "cgroup/placement.h"
#include "report/sentence.h"
#include "model/rows.h"
#include "report/rows_text.h"

#define SENSORS_SHOWN 8

static const char *or_unknown(const char *text)
{
	return *text ? text : "unknown";
}

static void print_verdict(const struct checkup *c, const struct doctor_agent *agent,
			  struct page *page)
{
	_cleanup_(sentence_freep) struct sentence off = {}, on = {};

	if (!checkup_is_well(c) && doctor_agent_is_well(agent, c)) {
		/* whoever has no rights here is measured by the agent */
		page_put(page, PAGE_BOLD, "The agent of this node measures everything here; ");
		page_words(page, PAGE_PLAIN, 0, "you need no rights of your own.");
		page_end_line(page);
		return;
	}
	if (checkup_is_well(c)) {
		size_t left = 0;

		page_put(page, PAGE_BOLD, "The default set works here: ");
		for (size_t i = 0; i < CHECKUP_TIERS_COUNT; i++)
			left += c->tiers[i].is_on && !strchr(c->tiers[i].name, '+');
		for (size_t i = 0; i < CHECKUP_TIERS_COUNT; i++) {
			if (c->tiers[i].is_on && !strchr(c->tiers[i].name, '+'))
				sentence_add(&on, --left ? ", " : " and ", "%s",
					     tier_words(c->tiers[i].name));
		}
		sentence_add(&on, "", ".");
		page_words(page, PAGE_PLAIN, 0, on.text ? on.text : "");
		page_end_line(page);
		return;
	}
	for (size_t i = 0; i < CHECKUP_TIERS_COUNT; i++) {
		if (c->tiers[i].is_default && !c->tiers[i].is_on)
			sentence_add(&off, " and ", "%s", tier_words(c->tiers[i].name));
	}
	if (c->is_live) {
		page_put(page, PAGE_ALERT, "The default set does not work here: ");
		sentence_add(&off, " ", "%sare not measured.", off.text ? "" : "some parts ");
		page_words(page, PAGE_PLAIN, 0, off.text ? off.text : "");
	} else {
		page_put(page, PAGE_BOLD, "Nothing was tried: ");
		page_words(page, PAGE_PLAIN, 0, "this root is not the running machine's.");
	}
	page_end_line(page);
}

static void print_machine(const struct machine *m, struct rows *rows)
{
	rows_line(rows, ROWS_TEXT, "machine", "%s, Linux %s", or_unknown(m->node),
		  or_unknown(m->kernel));
	rows_say(rows, "", " on %s", *m->arch ? m->arch : "an unknown processor");
	if (m->cpus_online)
		rows_say(rows, ", ", "%u CPU%s", m->cpus_online, m->cpus_online == 1 ? "" : "s");
	if (m->cpus_possible > m->cpus_online)
		rows_say(rows, "", " (%u possible)", m->cpus_possible);
	if (m->memory_bytes)
		rows_say(rows, ", ", "%s", humanize_bytes(m->memory_bytes).text);
	if (m->is_virtual || *m->product)
		rows_say(rows, ", ", "%s%s%s", m->is_virtual ? "virtual" : "",
			 m->is_virtual && *m->product ? ": " : "", m->product);
	rows_line(rows, ROWS_TEXT, NULL, "%s BTF; preemption %s (%s)",
		  m->has_btf ? "with" : "without", or_unknown(m->preemption), m->preemption_source);
}

static void print_cgroups(const struct checkup *c, struct rows *rows)
{
	const struct hierarchy *h = &c->hierarchy;

	rows_begin(rows, ROWS_TEXT, "cgroups");
	if (!c->has_hierarchy)
		rows_say(rows, "", "%s", c->why_no_hierarchy.text);
	else if (h->is_v2)
		rows_say(rows, "", "v2, %s the memory controller for cgroups of a run",
			 c->has_memory_controller ? "with" : "without");
	else
		rows_say(rows, "", "v1, key hierarchy %s%s", controller_name(h->key),
			 h->v2_mount ? "; v2 beside it has no controllers" : "");
}

static void print_rights(const struct rights *r, struct rows *rows)
{
	_cleanup_(sentence_freep) struct sentence has = {}, lacks = {};
	size_t count;
	const struct capability *capabilities = rights_capabilities(&count);

	for (size_t i = 0; i < count; i++)
		sentence_add(rights_has(r, capabilities[i].number) ? &has : &lacks, " ", "%s",
			     capabilities[i].name);
	rows_line(rows, ROWS_TEXT, "rights", "%s",
		  !r->is_known	? "unknown"
		  : r->uid == 0 ? "root"
				: "user");
	if (r->is_known && r->uid != 0)
		rows_say(rows, " ", "%u", r->uid);
	if (r->is_known && has.text)
		rows_say(rows, ", ", "%s %s",
			 lacks.text ? "with" : "with all that matter:", has.text);
	if (r->is_known && lacks.text)
		rows_say(rows, ", ", "without %s", lacks.text);
	rows_begin(rows, ROWS_TEXT, NULL);
	if (r->unprivileged_bpf_disabled >= 0)
		rows_say(rows, ", ", "unprivileged_bpf_disabled %d", r->unprivileged_bpf_disabled);
	if (r->perf_event_paranoid != RIGHTS_UNKNOWN_PARANOIA)
		rows_say(rows, ", ", "perf_event_paranoid %d", r->perf_event_paranoid);
	if (*r->lockdown)
		rows_say(rows, ", ", "lockdown %s", r->lockdown);
	if (r->is_in_user_namespace)
		rows_say(rows, ", ", "in a user namespace");
}

/* What the default set could give more. */
static void print_missing(const struct checkup *c, struct rows *rows)
{
	_cleanup_(strings_clear) struct strings missing = {};

	if (checkup_list_missing(c, &missing) < 0 || !missing.count)
		return;
	rows_begin(rows, ROWS_TEXT, "missing");
	for (size_t i = 0; i < missing.count; i++)
		rows_say_whole(rows, missing.items[i]);
}

static const char *state_of(const struct checkup *c, const struct checkup_tier *tier)
{
	if (!c->is_live)
		return "not tried";
	if (tier->is_on && !tier->is_default && tier->checked_count < tier->hook_count)
		return "on, checked in part";
	if (tier->is_on)
		return "on, checked";
	return tier->on_count == tier->hook_count ? "not checked"
	       : tier->on_count			  ? "in part"
						  : "off";
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
			       struct rows *rows)
{
	if (has_one_reason(tier)) {
		rows_line(rows, ROWS_TEXT, NULL, "%s: %s", tier_words(tier->name),
			  checkup_why_off(c, tier));
		return;
	}
	for (size_t i = 0; i < c->hook_count; i++) {
		const struct hook *hook = &c->hooks[i];

		if (!hook->is_on && strcmp(hook->tier, tier->name) == 0)
			rows_line(rows, ROWS_TEXT, NULL, "%s: %s", hook->attach, hook->why);
	}
}

static void print_reasons(const struct checkup *c, struct rows *rows)
{
	if (!c->is_live)
		return;
	if (is_all_off(c)) {
		rows_line(rows, ROWS_TEXT, NULL, "%s: %s", "all", checkup_why_off(c, &c->tiers[0]));
		return;
	}
	for (size_t t = 0; t < CHECKUP_TIERS_COUNT; t++) {
		if (c->tiers[t].is_default && !c->tiers[t].is_on)
			print_tier_reasons(c, &c->tiers[t], rows);
	}
}

static const char *state_of_hook(const struct hook *hook)
{
	return hook->is_checked ? "checked" : hook->is_on ? "on" : "off";
}

static void print_hooks(const struct checkup *c, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "hook", true, 0 },
		{ "", true, 2 }, /* the tier */
		{ "", true, 0 },
		{ "gives", true, 1 },
	};
	struct rows_table *t = rows_table(rows, ROWS_TEXT, "hooks", columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < c->hook_count; i++) {
		const char *slash = strrchr(c->hooks[i].attach, '/');

		rows_row(t, ROWS_TEXT);
		rows_words(t, "%s", slash ? slash + 1 : c->hooks[i].attach);
		rows_words(t, "%s", tier_words(c->hooks[i].tier));
		rows_words(t, "%s", state_of_hook(&c->hooks[i]));
		rows_words(t, "%s", c->hooks[i].gives);
	}
}

static void print_older(const struct older *older, bool is_verbose, struct rows *rows)
{
	size_t left = older_count(older);

	if (!left)
		return;
	rows_begin(rows, ROWS_TEXT, NULL);
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		if (older_is(older, (enum object_id)id))
			rows_say(rows, --left ? ", " : " and ", "%s",
				 object_name((enum object_id)id));
	}
	rows_say(rows, "",
		 ": the code for older kernels, which counts the same and costs more a call%s",
		 is_verbose ? "" : " (--verbose: why)");
	for (size_t id = 0; is_verbose && id < OBJECT_COUNT; id++) {
		if (older_is(older, (enum object_id)id))
			rows_line(rows, ROWS_TEXT, NULL, "%s: %s", object_name((enum object_id)id),
				  older->why[id]);
	}
}

static void print_tiers(const struct checkup *c, bool is_verbose, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "measured", true, 0 },
		{ "gives", true, 1 },
		{ "hooks", false, 0 },
		{ "", true, 0 },
	};
	struct rows_table *t = rows_table(rows, ROWS_TEXT, "parts", columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < CHECKUP_TIERS_COUNT; i++) {
		const struct checkup_tier *tier = &c->tiers[i];

		rows_row(t, ROWS_TEXT);
		rows_words(t, "%s", tier_words(tier->name));
		rows_words(t, "%s", tier->gives);
		rows_words(t, c->is_live ? "%zu of %zu" : "-", tier->on_count, tier->hook_count);
		rows_words(t, "%s", state_of(c, tier));
	}
	print_reasons(c, rows);
	print_older(&c->older, is_verbose, rows);
	if (c->map_bytes)
		rows_line(rows, ROWS_TEXT, NULL, "the BPF tables take %s of memory",
			  humanize_bytes(c->map_bytes).text);
	if (is_verbose && c->hook_count) {
		rows_gap(rows);
		print_hooks(c, rows);
	}
}

static void print_features(const struct checkup *c, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "feature", true, 0 },
		{ "", true, 0 },
		{ "gives", true, 1 },
	};
	struct rows_table *t;

	if (!c->is_live)
		return;
	rows_gap(rows);
	t = rows_table(rows, ROWS_TEXT, "features", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < CHECKUP_FEATURES_COUNT; i++) {
		const struct checkup_feature *a = &c->features[i];

		rows_row(t, ROWS_TEXT);
		rows_words(t, "%s", a->name);
		rows_words(t, "%s", a->is_well ? "works" : a->why);
		rows_words(t, "%s", a->gives);
	}
}

#define NOISE_NS 50 /* of a call, on a machine at rest */

static void cell_spread(struct rows_table *t, const struct cost *cost, const struct cost_spread *s,
			bool is_added)
{
	const char *format = is_added ? "%+" PRId64 " ns" : "%" PRId64 " ns";

	if (!cost->is_known) {
		rows_words(t, "-");
		rows_words(t, "%s", "");
		return;
	}
	if (is_added && s->max_ns - s->min_ns > MAX(s->median_ns, NOISE_NS))
		rows_words(t, "too noisy");
	else
		rows_words(t, format, s->median_ns);
	rows_words(t, "%" PRId64 " to %" PRId64, s->min_ns, s->max_ns);
}

static void print_costs(const struct checkup *c, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "measured", true, 0 },      { "a 4 KiB read", false, 0 }, { "spread", false, 1 },
		{ "another call", false, 0 }, { "spread", false, 1 },
	};
	struct rows_table *t;

	rows_gap(rows);
	if (!c->has_costs) {
		rows_line(rows, ROWS_TEXT, "costs", "not measured: %s",
			  c->is_live ? c->why_no_costs.text : "this root is not the machine's");
		return;
	}
	t = rows_table(rows, ROWS_TEXT, "costs", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < COSTS_COUNT; i++) {
		const struct cost *cost = &c->costs.rows[i];

		rows_row(t, ROWS_TEXT);
		rows_words(t, "%s", cost->name);
		cell_spread(t, cost, &cost->read, i > 0);
		cell_spread(t, cost, &cost->call, i > 0);
	}
}

static void print_managers(const struct managers *managers, struct rows *rows)
{

	rows_begin(rows, ROWS_TEXT, "managers");
	for (size_t i = 0; i < managers->count; i++) {
		const struct manager *m = &managers->items[i];

		rows_say(rows, "; ", "%s:", m->name);
		if (m->daemon)
			rows_say(rows, " ", "%s runs", m->daemon);
		if (m->file)
			rows_say(rows, m->daemon ? ", " : " ", "/%s", m->file);
		if (m->tracking == TRACKING_OFF)
			rows_say(rows, ", ", "not %s", m->setting);
	}
	if (!rows_has_said(rows))
		rows_say(rows, "", "%s", "none found");
}

static void print_sensors(const struct sensors *sensors, bool is_verbose, struct rows *rows)
{
	size_t shown = is_verbose ? sensors->count : MIN(sensors->count, (size_t)SENSORS_SHOWN);

	rows_begin(rows, ROWS_TEXT, "energy");
	for (size_t i = 0; i < shown; i++) {
		const struct sensor *s = &sensors->items[i];

		rows_say(rows, ", ", "%s %s%s", s->source, s->name,
			 s->is_readable ? "" : " (not readable)");
	}
	if (shown < sensors->count)
		rows_say(rows, " ", "and %zu more", sensors->count - shown);
	if (!rows_has_said(rows))
		rows_say(rows, "", "%s", "none found");
}

static void print_gpus(const struct gpus *gpus, struct rows *rows)
{

	rows_begin(rows, ROWS_TEXT, "GPUs");
	for (size_t i = 0; i < gpus->count; i++) {
		const struct gpu *g = &gpus->items[i];

		rows_say(rows, ", ", "%s %s (%s)", g->vendor, g->address,
			 *g->driver ? g->driver : "no driver");
	}
	if (*gpus->nvidia_driver)
		rows_say(rows, "; ", "NVIDIA's driver is %s", gpus->nvidia_driver);
	if (!rows_has_said(rows))
		rows_say(rows, "", "%s", "none found");
}

static void print_advice(const struct checkup *c, struct rows *rows)
{
	struct advice advice[ADVICE_MAX];
	size_t count = advice_of(c, advice);

	if (count)
		rows_gap(rows);
	for (size_t i = 0; i < count; i++)
		rows_line(rows, ROWS_TEXT, i ? NULL : "better", "%s: gives %s", advice[i].what,
			  advice[i].gives);
}

void doctor_text(const struct checkup *c, const struct doctor_agent *agent, bool is_verbose,
		 struct page *page)
{
	_cleanup_(rows_freep) struct rows *rows = rows_new();

	print_missing(c, rows);
	rows_gap(rows);
	print_machine(&c->machine, rows);
	print_cgroups(c, rows);
	print_rights(&c->rights, rows);
	doctor_agent_print(agent, rows);
	rows_gap(rows);
	print_tiers(c, is_verbose, rows);
	print_features(c, rows);
	print_costs(c, rows);
	rows_gap(rows);
	print_managers(&c->managers, rows);
	print_sensors(&c->sensors, is_verbose, rows);
	print_gpus(&c->gpus, rows);
	print_advice(c, rows);
	print_verdict(c, agent, page);
	rows_text(rows, ROWS_TEXT, page);
}

static void print_identity(const struct identity *id, const char *label, struct rows *rows)
{
	const struct {
		const char *name, *value;
	} parts[] = {
		{ "job", id->job },   { "step", id->step }, { "task", id->task },
		{ "user", id->user }, { "node", id->node },
	};

	rows_line(rows, ROWS_TEXT, label, "%s: manager %s", id->rule, id->manager);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (*parts[i].value)
			rows_say(rows, ", ", "%s %s", parts[i].name, parts[i].value);
	}
}

void doctor_text_placement(const struct placement *p, const struct doctor_agent *agent,
			   const char *hierarchy, struct page *page)
{
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	const char *label = "cgroups";

	rows_line(rows, ROWS_TEXT, "process", "%d%s%s", p->pid, *p->command ? " " : "", p->command);
	rows_line(rows, ROWS_TEXT, "cgroup", "%s", p->path);
	rows_line(rows, ROWS_TEXT, NULL, "in %s, id ", hierarchy);
	if (p->cgroup_id)
		rows_say(rows, "", "%" PRIu64, p->cgroup_id);
	else
		rows_say(rows, "", "unknown: its directory is not visible here");
	if (p->has_identity)
		print_identity(&p->identity, "rule", rows);
	else
		rows_line(rows, ROWS_TEXT, "rule", "no built-in rule matches: not part of a job");
	if (p->has_outer)
		print_identity(&p->outer, "around it", rows);
	doctor_agent_print_group(agent, rows);
	for (const char *line = p->cgroups; *line; label = NULL) {
		size_t length = strcspn(line, "\n");

		rows_line(rows, ROWS_TEXT, label, "%.*s", (int)length, line);
		line += length + (line[length] == '\n');
	}
	rows_text(rows, ROWS_TEXT, page);
}
