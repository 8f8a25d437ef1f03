/* SPDX-License-Identifier: MIT */
/* jobmeter gpu: this node's GPUs, and the jobs and processes on them. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "cgroup/hierarchy.h"
#include "cli/commands.h"
#include "client/client.h"
#include "model/document.h"
#include "model/json_place.h"
#include "model/metric.h"
#include "model/rows.h"
#include "report/page.h"
#include "report/rows_text.h"
#include "sources/sources.h"

#define STEP_NS 200000000 /* between two samples without an agent */
#define STEPS 6 /* the driver's list, a first sample of the cards, and what grew since then */
#define WATCH_S 2

struct gpu_settings {
	bool is_watch, is_json, is_standalone;
};

/* ---- without an agent ---- */

static void format_own(const void *sources, struct document *d)
{
	document_begin_map(d);
	document_put_string(d, "schema", "jobmeter.gpus/1");
	(void)sources_format(sources, "gpu", -1, d);
	document_end_map(d);
}

static int measure(char **ret, struct error *err)
{
	const struct source_list list = sources_all();
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(hierarchy_clear) struct hierarchy hierarchy = {};
	struct error no_cgroups = {};
	struct source_options options = { .root_fd = root_fd };
	_cleanup_(sources_freep) struct sources *sources = NULL;
	bool is_wanted[SOURCES_MAX];
	size_t length;
	int r;

	for (size_t i = 0; i < list.count; i++)
		is_wanted[i] = list.items[i]->format != NULL;
	if (hierarchy_read(root_fd, &hierarchy, &no_cgroups) == 0)
		options.hierarchy = &hierarchy;
	r = sources_open(list, is_wanted, &options, &sources);
	for (size_t i = 0; r >= 0 && i < STEPS; i++) {
		r = sources_sample(sources, clock_now_ns(CLOCK_BOOTTIME));
		if (!sources_are_sampled(sources))
			break; /* there is no driver */
		nanosleep(&(struct timespec){ .tv_nsec = STEP_NS }, NULL);
	}
	if (r >= 0)
		r = document_format_line(format_own, sources, ret, &length);
	return r < 0 ? error_set_errno(err, r, "cannot read the GPUs") : 0;
}

/* ---- for people ---- */

static void add_number(const json_t *map, const char *key, enum metric_unit unit,
		       struct rows_table *table)
{
	const unsigned int places = metric_unit_places(unit);
	uint64_t number;

	if (!place_number_of(map, key, places, &number))
		rows_cell(table, cell_words(NULL));
	else if (unit == UNIT_BYTES)
		rows_cell(table, cell_number(ROWS_SIZE, number));
	else if (unit == UNIT_SECONDS)
		rows_cell(table, cell_number(ROWS_TIME, number));
	else if (unit == UNIT_LOAD)
		rows_cell(table, cell_share((double)number / 100));
	else if (unit == UNIT_CELSIUS)
		rows_words(table, "%.0f °C", (double)number / 1000);
	else if (unit == UNIT_WATTS)
		rows_words(table, "%.0f W", (double)number / 1e6);
	else if (unit == UNIT_JOULES)
		rows_words(table, "%s", humanize_energy(number).text);
	else
		rows_words(table, "%llu", (unsigned long long)number);
}

struct column {
	const char *key;
	enum metric_unit unit;
};

static void add_numbers(const json_t *map, const struct column *columns, size_t count,
			struct rows_table *table)
{
	for (size_t i = 0; i < count; i++)
		add_number(map, columns[i].key, columns[i].unit, table);
}

/* The first, which is worst. */
static const char *reason_of(const json_t *reasons)
{
	const char *reason = json_string_value(json_array_get(reasons, 0));

	return reason ? reason : "throttled";
}

static void add_cards(const json_t *list, struct rows *rows)
{
	static const struct rows_column heads[] = {
		{ "GPU", .least = 16 },
		{ "busy" },
		{ "memory" },
		{ "of" },
		{ "temp" },
		{ "power" },
		{ "limit", .rank = 2 },
		{ "fan", .rank = 4 },
		{ "energy", .rank = 3 },
		{ "state", .is_left = true, .rank = 1 },
	};
	static const struct column numbers[] = {
		{ "utilization_ratio", UNIT_LOAD },   { "memory_used_bytes", UNIT_BYTES },
		{ "memory_total_bytes", UNIT_BYTES }, { "temperature_celsius", UNIT_CELSIUS },
		{ "power_watts", UNIT_WATTS },	      { "power_limit_watts", UNIT_WATTS },
		{ "fan_ratio", UNIT_LOAD },	      { "energy_joules", UNIT_JOULES },
	};
	struct rows_table *table = rows_table(rows, ROWS_TEXT, NULL, heads, ARRAY_SIZE(heads));

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *card = json_array_get(list, i);
		const json_t *reasons = json_object_get(card, "throttle_reasons");
		uint64_t lost = 0, throttled = 0, index = 0;

		(void)place_number_of(card, "lost", 0, &lost);
		(void)place_number_of(card, "throttled", 0, &throttled);
		(void)place_number_of(card, "index", 0, &index);
		rows_row(table, ROWS_TEXT);
		rows_words(table, "%llu %s", (unsigned long long)index,
			   place_text_of(card, "model"));
		add_numbers(card, numbers, ARRAY_SIZE(numbers), table);
		rows_cell(table, cell_words(lost	? "lost"
					    : throttled ? reason_of(reasons)
					    : json_is_true(json_object_get(card, "mig")) ? "MIG"
											 : "ok"));
	}
}

/* "slurm 4711", or "-". */
static void add_job(const json_t *map, struct rows_table *table)
{
	if (json_is_string(json_object_get(map, "job")))
		rows_words(table, "%s %s", place_text_of(map, "manager"),
			   place_text_of(map, "job"));
	else
		rows_cell(table, cell_words(NULL));
}

static void add_processes(const json_t *list, struct rows *rows)
{
	static const struct rows_column heads[] = {
		{ "GPU" },
		{ "job", .is_left = true },
		{ "user", .is_left = true, .rank = 1 },
		{ "pid" },
		{ "memory" },
		{ "busy" },
		{ "memory busy", .rank = 2 },
		{ "CPU", .rank = 3 },
		{ "time", .rank = 4 },
		{ "command", .is_left = true },
	};
	struct rows_table *table = rows_table(rows, ROWS_TEXT, NULL, heads, ARRAY_SIZE(heads));

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *card = json_array_get(list, i),
			     *processes = json_object_get(card, "processes"),
			     *held = json_object_get(card, "held_without_process");

		for (size_t k = 0; k < json_array_size(processes); k++) {
			const json_t *process = json_array_get(processes, k);
			static const struct column numbers[] = {
				{ "memory_bytes", UNIT_BYTES },	     { "sm_ratio", UNIT_LOAD },
				{ "memory_ratio", UNIT_LOAD },	     { "cpu_ratio", UNIT_LOAD },
				{ "elapsed_seconds", UNIT_SECONDS },
			};
			const json_t *uid = json_object_get(process, "uid");
			const struct passwd *user =
				json_integer_value(uid) >= 0
					? getpwuid((uid_t)json_integer_value(uid))
					: NULL;

			rows_row(table, ROWS_TEXT);
			rows_cell(table, cell_words(place_text_of(process, "gpu")));
			add_job(process, table);
			if (user || json_integer_value(uid) < 0) /* it is gone */
				rows_cell(table, cell_words(user ? user->pw_name : NULL));
			else
				rows_words(table, "%lld", (long long)json_integer_value(uid));
			add_number(process, "pid", UNIT_COUNT, table);
			add_numbers(process, numbers, ARRAY_SIZE(numbers), table);
			rows_cell(table, cell_words(place_text_of(process, "command")));
		}
		for (size_t k = 0; k < json_array_size(held); k++) {
			rows_row(table, ROWS_TEXT);
			rows_cell(table, cell_words(place_text_of(json_array_get(held, k), "gpu")));
			add_job(json_array_get(held, k), table);
			for (size_t cell = 2; cell < ARRAY_SIZE(heads) - 1; cell++)
				rows_cell(table, cell_words(NULL));
			rows_cell(table, cell_words("(held without a process)"));
		}
	}
}

static int print(const char *text, struct error *err)
{
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	_cleanup_(json_freep) json_t *root = NULL;
	struct page page = page_for(stdout);
	const json_t *list;
	int r = place_parse_map(text, strlen(text), &root, err);

	if (r < 0)
		return error_prefix(err, -EPROTO, "the agent's answer");
	list = json_object_get(root, "gpus");
	if (!json_array_size(list))
		rows_line(rows, ROWS_TEXT, NULL,
			  "No GPU can be read here: 'jobmeter doctor' says why.");
	page.is_flush = true;
	add_cards(list, rows);
	rows_gap(rows);
	add_processes(list, rows);
	rows_text(rows, ROWS_TEXT, &page);
	return 0;
}

static int show(const struct gpu_settings *settings, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	int r = client_get_or(settings->is_standalone, client_get_gpus, measure, &text, err);

	if (r < 0)
		return r;
	if (settings->is_watch && !settings->is_json && isatty(STDOUT_FILENO))
		printf("\033[H\033[2J");
	if (!settings->is_json)
		r = print(text ? text : "", err);
	else if (fputs(text, stdout) < 0)
		r = error_set_errno(err, EIO, "cannot write");
	return r == 0 && fflush(stdout) < 0 ? error_set_errno(err, errno, "cannot write") : r;
}

#define AT(member) offsetof(struct gpu_settings, member)
static const struct cli_option options[] = {
	{ "watch", 0, NULL, "print again every 2 seconds", AT(is_watch), NULL },
	{ "json", 0, NULL, "print JSON, with --watch a line a time", AT(is_json), NULL },
	{ "standalone", 0, NULL, "query the driver here, even if an agent runs", AT(is_standalone),
	  NULL },
};

static int run_gpu(const struct cli_command *command, int argc, char **argv)
{
	struct gpu_settings settings = {};
	const struct cli_options groups[] = { { options, ARRAY_SIZE(options), &settings } };
	struct error err = {};
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r > 0 && argc > 0)
		r = error_set(&err, -EINVAL, "unexpected argument '%s'", argv[0]);
	if (r < 0)
		return cli_misuse(command, &err);
	r = show(&settings, &err);
	while (r == 0 && settings.is_watch) {
		nanosleep(&(struct timespec){ .tv_sec = WATCH_S }, NULL);
		r = show(&settings, &err);
	}
	return r < 0 ? cli_fail(command, &err) : CLI_WELL;
}

const struct cli_command cmd_gpu = {
	.name = "gpu",
	.arguments = "[OPTION...]",
	.summary = "Show this node's GPUs, and the jobs and processes on them",
	.details =
		"The numbers come from the agent of this node, which shows processes to their owner, root and\n"
		"admins; without an agent, from the driver, over one second.\n",
	.run = run_gpu,
};
