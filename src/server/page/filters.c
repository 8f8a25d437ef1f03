/* SPDX-License-Identifier: MIT */
/* Which jobs a page shows: by parameters, and as a form. */
#include <stdio.h>
#include <string.h>

#include "basic/clock.h"
#include "basic/macro.h"
#include "model/job_filter.h"
#include "server/page/site.h"

#define DAY_NS UINT64_C(86400000000000)

/* clang-format off */
const struct api_parameter site_days_parameters[] = {
	{ "days", API_NUMBER, "Jobs that ran in so many days before now.", .least = 1, .most = 36500 },
	{},
};

#define BOUND(name, what) { name, API_NUMBER, what, .least = 1, .most = UINT32_MAX }
const struct api_parameter site_range_parameters[] = {
	BOUND("cpu_above", "Jobs whose CPU efficiency is more than so many percent."),
	BOUND("memory_above", "The same of memory."),
	BOUND("wait_above", "Jobs that waited for more than so many seconds."),
	BOUND("wait_most", "Jobs that waited for at most so many."),
	BOUND("cores_above", "Jobs of more than so many cores."),
	BOUND("cores_most", "Jobs of at most so many."),
	BOUND("elapsed_above", "Jobs that took more than so many seconds."),
	BOUND("elapsed_most", "Jobs that took at most so many."),
	{},
};
/* The first words of two parameters each. */
static const char *const ranges[JOB_NUMBER_COUNT] = {
	[JOB_CPU_PERCENT] = "cpu", [JOB_MEMORY_PERCENT] = "memory", [JOB_WAIT_S] = "wait", [JOB_CORES] = "cores",
	[JOB_ELAPSED_S] = "elapsed",
};
/* clang-format on */

struct job_filter site_filter(const struct site_call *c, unsigned int days)
{
	struct job_filter filter = api_filter(&c->api);
	uint64_t now_ns = clock_now_ns(CLOCK_REALTIME);
	char name[32];
	uint64_t span_ns = api_number(&c->api, "days", filter.since_ns ? 0 : days) * DAY_NS;

	if (span_ns)
		filter.since_ns = MAX(filter.since_ns, now_ns - MIN(now_ns, span_ns));
	for (size_t i = 0; i < JOB_NUMBER_COUNT; i++) {
		snprintf(name, sizeof(name), "%s_above", ranges[i]);
		filter.ranges[i].above = api_number(&c->api, name, 0);
		snprintf(name, sizeof(name), "%s_most", ranges[i]);
		filter.ranges[i].most = api_number(&c->api, name, 0);
	}
	return filter;
}

/* clang-format off */
static const struct choice {
	const char *value, *words;
} states[] = {
	{ "", "any" }, { "PENDING", "waiting" }, { "RUNNING", "running" }, { "COMPLETED", "completed" }, { "ENDED", "ended" }, { "FAILED", "failed" },
	{ "CANCELLED", "cancelled" }, { "TIMEOUT", "out of time" }, { "OUT_OF_MEMORY", "out of memory" }, { "NODE_FAIL", "node failed" }, { "INCOMPLETE", "incomplete" }, {},
}, spans[] = {
	{ "", "any time" }, { "1", "the last day" }, { "7", "7 days" }, { "30", "30 days" }, { "365", "a year" }, { "3650", "10 years" }, {},
}, shares[] = {
	{ "", "any" }, { "10", "up to 10 %" }, { "30", "up to 30 %" }, { "60", "up to 60 %" }, {},
};
/* clang-format on */

static const struct select {
	const char *name, *label;
	const struct choice *choices; /* up to one without a value */
	const char *before, *behind; /* a value that is none of them */
} states_select = { "state", "State", states, "", "" },
  spans_select = { "days", "Time", spans, "", " days" },
  some_spans_select = { "days", "Time", spans + 1, "", " days" },
  shares_select = { "cpu_most", "CPU used", shares, "up to ", " %" };

static void put_select(struct site_call *c, const struct select *select, const char *usual)
{
	const char *text = api_text(&c->api, select->name), *given = text ? text : usual;
	bool is_there = !given;

	html_begin(c->h, "label");
	html_text(c->h, "%s", select->label);
	html_begin_tag(c->h, "select", { "name", select->name });
	for (const struct choice *choice = select->choices; choice->value; choice++) {
		bool is_chosen = given && strcmp(given, choice->value) == 0;

		html_begin_tag(c->h, "option", { "value", choice->value },
			       { "selected", is_chosen ? "selected" : NULL });
		html_text(c->h, "%s", choice->words);
		html_end(c->h);
		is_there |= is_chosen;
	}
	if (!is_there) { /* an address may name another */
		html_begin_tag(c->h, "option", { "value", given }, { "selected", "selected" });
		html_text(c->h, "%s%s%s", select->before, given, select->behind);
		html_end(c->h);
	}
	html_end(c->h);
	html_end(c->h);
}

static void put_input(struct site_call *c, const char *name, const char *label)
{
	html_begin(c->h, "label");
	html_text(c->h, "%s", label);
	html_begin_tag(c->h, "input", { "name", name }, { "value", api_text(&c->api, name) });
	html_end(c->h);
	html_end(c->h);
}

/* clang-format off */
static const struct extra { /* parameters with a field where they are given */
	const char *name, *label;
} extras[] = {
	{ "node", "Node" }, { "cluster", "Cluster" }, { "manager", "Manager" }, { "id", "Job" }, { "since", "Since" }, { "until", "Until" },
	{ "cpu_above", "CPU above, %" }, { "memory_above", "Memory above, %" }, { "memory_most", "Memory up to, %" },
	{ "wait_above", "Wait above, s" }, { "wait_most", "Wait up to, s" }, { "cores_above", "Cores above" }, { "cores_most", "Cores up to" },
	{ "elapsed_above", "Elapsed above, s" }, { "elapsed_most", "Elapsed up to, s" },
};
/* clang-format on */

static const char *label_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(extras); i++) {
		if (strcmp(extras[i].name, name) == 0)
			return extras[i].label;
	}
	return NULL;
}

/* What the form does not offer to all: a field, to change or empty it, or as it was asked for. */
static void put_others(struct site_call *c)
{
	static const char *const shown[] = { "text", "state",	"days",	 "cpu_most", "name",
					     "user", "account", "after", "partition" };
	const struct api_parameter *p;

	for (size_t i = 0; (p = api_parameter(c->api.route, i)); i++) {
		bool is_shown = !api_text(&c->api, p->name);

		for (size_t j = 0; j < ARRAY_SIZE(shown); j++)
			is_shown |= strcmp(p->name, shown[j]) == 0;
		if (is_shown)
			continue;
		if (label_of(p->name)) {
			put_input(c, p->name, label_of(p->name));
			continue;
		}
		html_begin_tag(c->h, "input", { "type", "hidden" }, { "name", p->name },
			       { "value", c->api.values[i] });
		html_end(c->h);
	}
}

void site_put_filters(struct site_call *c, const char *path, unsigned int days)
{
	char usual[16];

	snprintf(usual, sizeof(usual), "%u", days);
	html_begin_tag(c->h, "form", { "class", "filters" }, { "action", path },
		       { "role", "search" });
	put_input(c, "text", "Contains");
	put_select(c, &states_select, NULL);
	put_select(c, days ? &some_spans_select : &spans_select, days ? usual : NULL);
	put_select(c, &shares_select, NULL);
	put_input(c, "name", "Name");
	put_input(c, "partition", "Partition");
	put_input(c, "account", "Account");
	if (c->sees_others)
		put_input(c, "user", "User");
	put_others(c);
	html_element(c->h, "button", NULL, "Show");
	html_end(c->h);
}
