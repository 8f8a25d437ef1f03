/* SPDX-License-Identifier: MIT */
/*
 * sensed - the sources of the node's numbers, sampled once a second as an agent does it:
 *
 *     sensed SECONDS [--root DIR] [--settings REDFISH-URL CREDENTIALS CA CHASSIS] SOURCE...
 *
 * A line of JSON a sample: {"at": seconds since it began, "took": of the sample itself, "samples":
 * how many numbers of the node there are, "energy": [...], "missing": [...]}.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "basic/clock.h"
#include "basic/parse.h"
#include "model/record.h"
#include "sources/sources.h"
#include "sources/thermal.h"

#define S UINT64_C(1000000000)

static json_t *json_of(const struct energy_reading *r, uint64_t start_ns)
{
	return json_pack("{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:f,s:b}", "source", r->sensor.source,
			 "name", r->sensor.name, "level", energy_level_name(r->sensor.level),
			 "part", energy_part_name(r->sensor.part), "socket",
			 r->sensor.socket == ENERGY_SOCKET_ANY ? (json_int_t)-1
							       : (json_int_t)r->sensor.socket,
			 "total_uj", (json_int_t)r->total.total_uj, "power_uw",
			 (json_int_t)r->total.power_uw, "gap_ns", (json_int_t)r->total.gap_ns, "at",
			 ((double)r->boot_ns - (double)start_ns) / 1e9, "is_stale", r->is_stale);
}

static json_t *json_of_energy(const struct sources *sources, uint64_t start_ns)
{
	struct energy_readings energy = {};
	json_t *list = json_array();

	if (sources_put_energy(sources, &energy) < 0)
		exit(1);
	for (size_t i = 0; i < energy.count; i++)
		json_array_append_new(list, json_of(&energy.items[i], start_ns));
	energy_readings_clear(&energy);
	return list;
}

static json_t *json_of_missing(const struct sources *sources)
{
	struct record record = {};
	json_t *list = json_array();

	if (sources_describe(sources, &record) < 0)
		exit(1);
	for (size_t i = 0; i < record.coverage.missing.count; i++)
		json_array_append_new(list, json_string(record.coverage.missing.items[i]));
	strings_clear(&record.coverage.missing);
	return list;
}

static void sample(struct sources *sources, uint64_t start_ns)
{
	const uint64_t at_ns = clock_now_ns(CLOCK_BOOTTIME);
	struct samples numbers = {};
	uint64_t took_ns;
	json_t *line;

	if (sources_sample(sources, at_ns) < 0 || sources_put_node(sources, at_ns, &numbers) < 0)
		exit(1);
	took_ns = clock_now_ns(CLOCK_BOOTTIME) - at_ns;
	line = json_pack("{s:f,s:f,s:I,s:o,s:o}", "at", (double)(at_ns - start_ns) / 1e9, "took",
			 (double)took_ns / 1e9, "samples", (json_int_t)numbers.count, "energy",
			 json_of_energy(sources, start_ns), "missing", json_of_missing(sources));
	sources_ask(sources);
	json_dumpf(line, stdout, JSON_COMPACT);
	puts("");
	fflush(stdout);
	json_decref(line);
	samples_clear(&numbers);
}

int main(int argc, char **argv)
{
	struct source_settings settings = {
		"", "", "", "", THERMAL_WARNING_CELSIUS, THERMAL_CRITICAL_CELSIUS
	};
	struct source_options options = { .settings = &settings };
	const struct source_list all = sources_all();
	bool is_wanted[SOURCES_MAX] = {};
	struct sources *sources = NULL;
	const char *root = "/";
	uint64_t start_ns;
	int seconds, i = 2;

	if (argc < 3 || parse_int(argv[1], 1, 3600, &seconds) < 0)
		return 2;
	if (strcmp(argv[i], "--root") == 0 && argc > i + 1) {
		root = argv[i + 1];
		i += 2;
	}
	if (i < argc && strcmp(argv[i], "--settings") == 0 && argc > i + 4) {
		settings.redfish_url = argv[i + 1];
		settings.redfish_credentials = argv[i + 2];
		settings.redfish_ca = argv[i + 3];
		settings.redfish_chassis = argv[i + 4];
		i += 5;
	}
	for (; i < argc; i++)
		is_wanted[sources_index(argv[i])] = true;
	options.root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (options.root_fd < 0 || sources_open(all, is_wanted, &options, &sources) < 0)
		return 1;
	start_ns = clock_now_ns(CLOCK_BOOTTIME);
	for (int n = 0; n <= seconds; n++) {
		struct timespec until = { (time_t)((start_ns + (uint64_t)n * S) / S),
					  (long)(start_ns % S) };

		while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
		sample(sources, start_ns);
	}
	sources_free(sources);
	return 0;
}
