/* SPDX-License-Identifier: MIT */
/* The nodes that send records: when they were heard of last, what runs there, and how they are. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "basic/clock.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "server/page/site.h"
#include "server/server.h"

#define DAYS 7 /* unless others are asked for */
#define DAY_NS UINT64_C(86400000000000)
#define MINUTE_NS UINT64_C(60000000000)
#define SILENT_NS (30 * MINUTE_NS) /* jobs that run send checkpoints more often */
#define POWER_NS (60 * MINUTE_NS) /* older than that it is no power of now */
#define ROWS_MAX 2000

struct listing {
	struct site_call *call;
	uint64_t now_ns;
	size_t rows, silent;
};

static void put_jobs_link(struct site_call *c, const struct store_node *node)
{
	char days[16];
	struct address address = site_begin_link(c->h, "/jobs");

	snprintf(days, sizeof(days), "%u", (unsigned int)api_number(&c->api, "days", DAYS));
	address_add(&address, "node", node->node);
	address_add(&address, "cluster", node->cluster);
	address_add(&address, "days", days);
	site_end_link(&address, humanize_count(node->jobs).text);
}

static void put_watts(struct html *h, const char *label, const struct value *power)
{
	site_begin_cell(h, label, NULL);
	if (power->is_known)
		html_text(h, "%.0f W", (double)power->number / 1000);
	else
		html_text(h, "-");
	html_end(h);
}

/* The load beside the CPUs, and the share of the memory that is not available. */
static void put_state(struct html *h, const struct value *values)
{
	const struct value *cpus = &values[STORE_NODE_CPUS], *load = &values[STORE_NODE_LOAD],
			   *memory = &values[STORE_NODE_MEMORY],
			   *available = &values[STORE_NODE_AVAILABLE];
	const bool has_share = memory->is_known && available->is_known && memory->number;

	site_begin_cell(h, "Load", NULL);
	if (load->is_known)
		html_text(h, "%.1f", (double)load->number / 100);
	else
		html_text(h, "-");
	if (load->is_known && cpus->is_known)
		html_element(h, "span", "name", "of %s", humanize_count(cpus->number).text);
	html_end(h);
	site_begin_cell(h, "Memory in use", NULL);
	if (has_share)
		html_text(h, "%s",
			  humanize_percent(
				  1 - fmin((double)available->number / (double)memory->number, 1))
				  .text);
	else
		html_text(h, "-");
	if (memory->is_known)
		html_element(h, "span", "name", "of %s", humanize_bytes(memory->number).text);
	html_end(h);
}

/* @lines: of @count, those that are named. */
static void put_lacks(struct html *h, const char *lines, uint64_t count)
{
	uint64_t named = 0;

	html_begin(h, "details");
	html_element(h, "summary", NULL, "%s not measured", humanize_count(count).text);
	html_begin(h, "ul");
	for (size_t length; (length = strcspn(lines, "\n")) > 0; named++) {
		html_element(h, "li", NULL, "%.*s", (int)length, lines);
		lines += length + (lines[length] == '\n');
	}
	if (count > named)
		html_element(h, "li", NULL, "and %llu more", (unsigned long long)(count - named));
	html_end(h);
	html_end(h);
}

static void put_coverage(struct html *h, const struct store_node *node)
{
	const struct value *missing = &node->values[STORE_NODE_MISSING],
			   *lost = &node->values[STORE_NODE_LOST];

	site_begin_cell(h, "Coverage", "text");
	if (!missing->is_known)
		html_text(h, "-");
	else if (missing->number && node->lacks && *node->lacks)
		put_lacks(h, node->lacks, missing->number);
	else if (missing->number)
		html_text(h, "%s not measured", humanize_count(missing->number).text);
	else
		html_text(h, "all");
	if (lost->is_known && lost->number)
		html_element(h, "span", "alert", " %s events lost",
			     humanize_count(lost->number).text);
	html_end(h);
}

static void put_node(void *context, const struct store_node *node)
{
	struct listing *l = context;
	struct html *h = l->call->h;
	const uint64_t age_ns = l->now_ns - MIN(l->now_ns, node->last_ns);
	const bool is_silent = node->running && age_ns > SILENT_NS;

	l->rows++;
	l->silent += is_silent;
	html_begin(h, "tr");
	html_begin_tag(h, "th", { "scope", "row" });
	html_text(h, "%s", node->node);
	html_element(h, "span", "name", "%s", node->cluster);
	html_end(h);
	site_begin_cell(h, "State", "text");
	html_element(h, "span",
		     is_silent	     ? "alert"
		     : node->running ? "runs"
				     : "well",
		     "%s",
		     is_silent	     ? "silent"
		     : node->running ? "jobs run"
				     : "no job runs");
	html_end(h);
	site_begin_cell(h, "Last heard, UTC", "text");
	site_put_moment(h, node->last_ns);
	site_put_age(h, age_ns);
	html_end(h);
	site_put_cell(h, "Running", NULL, humanize_count(node->running).text);
	site_begin_cell(h, "Jobs", NULL);
	put_jobs_link(l->call, node);
	html_end(h);
	put_state(h, node->values);
	put_watts(h, "Power", &node->power_mw);
	put_watts(h, "Outside jobs", &node->unattributed_mw);
	put_coverage(h, node);
	html_end(h);
}

static int put_nodes(struct site_call *c, struct error *err)
{
	/* clang-format off */
	static const struct site_head heads[] = {
		{ "Node", "text" }, { "State", "text" }, { "Last heard, UTC", "text" }, { "Running", NULL }, { "Jobs", NULL },
		{ "Load", NULL }, { "Memory in use", NULL }, { "Power", NULL }, { "Outside jobs", NULL }, { "Coverage", "text" }, {},
	};
	/* clang-format on */
	struct listing l = { .call = c, .now_ns = clock_now_ns(CLOCK_REALTIME) };
	const uint64_t span_ns = api_number(&c->api, "days", DAYS) * DAY_NS;
	const char *node = api_text(&c->api, "node");
	int r;

	html_begin_class(c->h, "div", "list-head");
	html_element(c->h, "h1", NULL, "%s%s", node ? "Node " : "Nodes", node ? node : "");
	if (node)
		site_put_link(c->h, "/nodes", "All nodes", false);
	html_end(c->h);
	html_element(c->h, "p", "note",
		     "Nodes that reported in the last %llu days. Silent: a job runs there, and "
		     "no report came for %llu minutes. Load, memory and coverage: from the node's "
		     "last report. Power: the newest interval of its energy ledger, if it is of "
		     "the last hour; outside jobs: the part that belongs to no job.",
		     (unsigned long long)(span_ns / DAY_NS),
		     (unsigned long long)(SILENT_NS / MINUTE_NS));
	site_begin_table(c->h, heads);
	r = store_list_nodes(c->api.server->store, node, l.now_ns - MIN(l.now_ns, span_ns),
			     l.now_ns - POWER_NS, ROWS_MAX, put_node, &l, err);
	site_end_table(c->h);
	if (l.rows)
		html_element(c->h, "p", l.silent ? "alert" : "note", "%zu node%s, %zu silent.",
			     l.rows, l.rows == 1 ? "" : "s", l.silent);
	else
		html_element(c->h, "p", "none", "No node has reported.");
	return r;
}

static const struct api_parameter node_parameters[] = {
	{ "node", API_STRING, "This node alone." },
	{},
};

const struct site_page nodes_page = {
	.path = "/nodes",
	.title = "Nodes",
	.is_of_operators = true,
	.route = { .parameters = { site_days_parameters, node_parameters } },
	.put = put_nodes,
};
