/* SPDX-License-Identifier: MIT */
/* jobmeter energy: the sensors, their values, and which jobs used the energy. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "cli/commands.h"
#include "client/client.h"
#include "model/document.h"
#include "model/json_place.h"
#include "model/metric.h"
#include "model/rows.h"
#include "model/snapshot.h"
#include "energy/node_energy.h"
#include "sources/machine.h"
#include "report/page.h"
#include "report/rows_text.h"
#include "sources/sources.h"

#define BETWEEN_S 1 /* two samples, so that counters have a power */
#define SENSOR_LEAST 26 /* "amdgpu 0000:c1:00.0 power1" */

struct energy_settings {
	bool is_audit, is_json, is_standalone;
};

/* ---- without an agent ---- */

static int sample(struct sources *sources, struct node_energy *energy)
{
	_cleanup_(energy_readings_clear) struct energy_readings readings = {};
	struct snapshot none = { .boot_ns = clock_now_ns(CLOCK_BOOTTIME) };
	int r = sources_sample(sources, none.boot_ns);

	if (r >= 0)
		r = sources_put_energy(sources, &readings);
	sources_ask(sources);
	return r < 0 ? r : node_energy_take(energy, &readings, &none);
}

static void format_own(const void *energy, struct document *d)
{
	node_energy_format((struct node_energy *)energy, d);
}

static int measure(char **ret, struct error *err)
{
	const struct source_list list = sources_all();
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct source_options options = { .root_fd = root_fd };
	_cleanup_(sources_freep) struct sources *sources = NULL;
	struct node_energy *energy = NULL;
	bool is_wanted[SOURCES_MAX];
	size_t length;
	int r;

	for (size_t i = 0; i < list.count; i++)
		is_wanted[i] = list.items[i]->has_energy;
	r = sources_open(list, is_wanted, &options, &sources);
	if (r == 0)
		r = node_energy_new(machine_for_energy(root_fd), POLICY_ALLOCATED, &energy);
	if (r == 0)
		r = sample(sources, energy);
	if (r == 0) {
		nanosleep(&(struct timespec){ .tv_sec = BETWEEN_S }, NULL);
		r = sample(sources, energy);
	}
	if (r == 0)
		r = document_format_line(format_own, energy, ret, &length);
	node_energy_free(energy);
	return r < 0 ? error_set_errno(err, r, "cannot read the sensors") : 0;
}

/* ---- for people ---- */

static void add_sensors(const json_t *root, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "sensor", .least = SENSOR_LEAST },
		{ "source", .is_left = true, .rank = 1 },
		{ "level", .is_left = true, .rank = 2 },
		{ "quality", .is_left = true, .rank = 3 },
		{ "now" },
		{ "so far" },
		{ "counted", .is_left = true },
	};
	const json_t *list = json_object_get(root, "sensors");
	struct rows_table *table;

	if (!json_array_size(list)) {
		rows_line(
			rows, ROWS_TEXT, NULL, "%s",
			"No sensor of energy can be read here, and the processor's model is not known: "
			"see the agent's settings cpu_model and cpu_tdp.");
		return;
	}
	table = rows_table(rows, ROWS_TEXT, NULL, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *sensor = json_array_get(list, i);
		const bool is_about = strcmp(place_text_of(sensor, "quality"), "estimated") == 0;
		uint64_t uw, uj;

		rows_row(table, ROWS_TEXT);
		rows_cell(table, cell_words(place_text_of(sensor, "name")));
		rows_cell(table, cell_words(place_text_of(sensor, "source")));
		rows_cell(table, cell_words(place_text_of(sensor, "level")));
		rows_cell(table, cell_words(place_text_of(sensor, "quality")));
		if (place_number_of(sensor, "watts", metric_unit_places(UNIT_WATTS), &uw))
			rows_words(table, "%s%.1f W", is_about ? "~" : "", (double)uw / 1e6);
		else
			rows_cell(table, cell_words(NULL));
		if (place_number_of(sensor, "joules", metric_unit_places(UNIT_JOULES), &uj))
			rows_words(table, "%s%s", is_about ? "~" : "", humanize_energy(uj).text);
		else
			rows_cell(table, cell_words(NULL));
		rows_cell(table,
			  cell_words(json_is_true(json_object_get(sensor, "stale")) ? "no, stale"
				     : json_is_true(json_object_get(sensor, "counted")) ? "yes"
											: "no"));
	}
}

static bool is_estimated(const json_t *sensor)
{
	return json_is_true(json_object_get(sensor, "counted")) &&
	       strcmp(place_text_of(sensor, "quality"), "estimated") == 0;
}

static bool has_estimates(const json_t *root)
{
	const json_t *list = json_object_get(root, "sensors");

	for (size_t i = 0; i < json_array_size(list); i++) {
		if (is_estimated(json_array_get(list, i)))
			return true;
	}
	return false;
}

/* Why there are no better numbers, and how good these are. */
static void add_estimate(const json_t *root, struct rows *rows)
{
	const json_t *list = json_object_get(root, "sensors");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *sensor = json_array_get(list, i);
		uint64_t permille;

		if (!is_estimated(sensor))
			continue;
		rows_begin(rows, ROWS_TEXT, NULL);
		rows_say(rows, "",
			 "No sensor measures this node: its energy is estimated from '%s' (%s)",
			 place_text_of(sensor, "name"), place_text_of(sensor, "source"));
		if (place_number_of(sensor, "uncertainty", 3, &permille))
			rows_say(rows, ", ", "±%.0f %%", (double)permille / 10);
		rows_say(rows, "", ".");
	}
}

static void add_balance(const json_t *root, struct rows *rows)
{
	static const struct {
		const char *key, *name;
	} owners[] = {
		{ "jobs_joules", "jobs" }, { "system_joules", "system" },
		{ "idle_joules", "idle" }, { "unattributed_joules", "unattributed" },
		{ "came_joules", "all" },
	};
	const json_t *balance = json_object_get(root, "balance");
	const json_t *learned = json_object_get(root, "learned");
	const char *about = has_estimates(root) ? "~" : "";
	uint64_t uj, uw, count;

	for (size_t i = 0; i < ARRAY_SIZE(owners); i++) {
		if (place_number_of(balance, owners[i].key, metric_unit_places(UNIT_JOULES), &uj))
			rows_line(rows, ROWS_TEXT, owners[i].name, "%s%s", uj ? about : "",
				  humanize_energy(uj).text);
	}
	rows_line(
		rows, ROWS_TEXT, "not balanced", "%lld µJ",
		(long long)json_integer_value(json_object_get(balance, "unbalanced_microjoules")));
	if (place_number_of(balance, "inconsistent_intervals", 0, &count) && count)
		rows_line(rows, ROWS_TEXT, "inconsistent",
			  "%llu intervals in which components took over 1 %% more than the node",
			  (unsigned long long)count);
	if (place_number_of(balance, "edges", 0, &count) && count)
		rows_line(rows, ROWS_TEXT, "edges", "%s reading%s where jobs began and ended",
			  humanize_count(count).text, count == 1 ? "" : "s");
	rows_line(rows, ROWS_TEXT, "idle policy", "%s", place_text_of(root, "idle_policy"));
	for (size_t i = 0; i < json_array_size(learned); i++) {
		const json_t *pool = json_array_get(learned, i);

		if (place_number_of(pool, "idle_watts", 6, &uw) &&
		    place_number_of(pool, "idle_intervals", 0, &count))
			rows_line(
				rows, ROWS_TEXT, i ? NULL : "idle power", "%s %s%.1f W, %s",
				place_text_of(pool, "component"), about, (double)uw / 1e6,
				count ? "learned while next to nothing ran"
				      : "a fifth of the greatest so far: nothing idle was seen yet");
	}
}

static int print(const struct energy_settings *settings, const char *text, struct error *err)
{
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	_cleanup_(json_freep) json_t *root = NULL;
	struct page page = page_for(stdout);
	int r = place_parse_map(text, strlen(text), &root, err);

	if (r < 0)
		return error_prefix(err, -EPROTO, "the agent's answer");
	add_sensors(root, rows);
	rows_gap(rows);
	add_estimate(root, rows);
	rows_gap(rows);
	if (settings->is_audit)
		add_balance(root, rows);
	rows_text(rows, ROWS_TEXT, &page);
	if (settings->is_audit &&
	    json_integer_value(
		    json_object_get(json_object_get(root, "balance"), "unbalanced_microjoules")))
		return error_set(err, -ENOTRECOVERABLE,
				 "what owners have is not what came in: please report this");
	return 0;
}

#define AT(member) offsetof(struct energy_settings, member)
static const struct cli_option options[] = {
	{ "audit", 0, NULL, "print the owners of the energy, and exit with 3 if it does not add up",
	  AT(is_audit), NULL },
	{ "json", 0, NULL, "print JSON", AT(is_json), NULL },
	{ "standalone", 0, NULL, "read the sensors here, even if an agent runs", AT(is_standalone),
	  NULL },
};

static int run_energy(const struct cli_command *command, int argc, char **argv)
{
	struct energy_settings settings = {};
	const struct cli_options groups[] = { { options, ARRAY_SIZE(options), &settings } };
	_cleanup_free_ char *text = NULL;
	struct error err = {};
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r > 0 && argc > 0)
		r = error_set(&err, -EINVAL, "unexpected argument '%s'", argv[0]);
	if (r < 0)
		return cli_misuse(command, &err);
	r = client_get_or(settings.is_standalone, client_get_energy, measure, &text, &err);
	if (r == 0 && settings.is_json)
		r = fputs(text, stdout) < 0 ? error_set_errno(&err, EIO, "cannot write") : 0;
	else if (r == 0 && text)
		r = print(&settings, text, &err);
	if (r == -ENOTRECOVERABLE)
		return cli_found(command, &err);
	return r < 0 ? cli_fail(command, &err) : CLI_WELL;
}

const struct cli_command cmd_energy = {
	.name = "energy",
	.arguments = "[OPTION...]",
	.summary = "Show this node's energy sensors and which jobs used the energy",
	.details =
		"The numbers come from the agent of this node, for root and admins only; without an agent, the\n"
		"sensors are read twice, one second apart.\n",
	.run = run_energy,
};
