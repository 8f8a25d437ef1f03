/* SPDX-License-Identifier: MIT */
/* Frequency, temperature and throttling: of the node, and of the CPUs that a job may use. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/cpulist.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "model/record.h"
#include "sources/source.h"
#include "sources/thermal.h"

enum { WARNING, CRITICAL, SEVERITIES };

struct source_state {
	struct thermal *thermal;
	struct thermal_event events[SEVERITIES];
};

static void close_source(struct source_state *s)
{
	thermal_close(s->thermal);
}

static int open_source(const struct source_options *options, struct source_state *s,
		       struct error *err)
{
	const struct source_settings *settings = options->settings;

	if (thermal_open(options->root_fd, &s->thermal) < 0)
		return -ENOMEM;
	s->events[WARNING].limit = 1000 *
				   (settings ? settings->thermal_warning : THERMAL_WARNING_CELSIUS);
	s->events[CRITICAL].limit = 1000 * (settings ? settings->thermal_critical
						     : THERMAL_CRITICAL_CELSIUS);
	return thermal_has_any(s->thermal) ? 0
					   : error_set(err, -ENODEV, "not offered by this machine");
}

/* Of the warmest package. */
static int add_events(struct source_state *s, uint64_t millicelsius, uint64_t boot_ns,
		      struct samples *to)
{
	static const enum metric_id counts[] = { METRIC_NODE_THERMAL_WARNINGS,
						 METRIC_NODE_THERMAL_CRITICALS };
	static const enum metric_id times[] = { METRIC_NODE_THERMAL_WARNING_TIME,
						METRIC_NODE_THERMAL_CRITICAL_TIME };
	int r = 0;

	for (size_t i = 0; r == 0 && i < SEVERITIES; i++) {
		thermal_event_take(&s->events[i], millicelsius, boot_ns);
		r = samples_add_plain(to, counts[i], s->events[i].count);
		if (r == 0)
			r = samples_add_plain(to, times[i], s->events[i].ns);
	}
	return r;
}

static int add_sensors(const struct thermal *t, struct samples *to)
{
	size_t count;
	const struct thermal_sensor *sensors = thermal_sensors(t, &count);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		char package[16] = "";
		const char *labels[SAMPLE_LABELS_MAX] = { sensors[i].chip,
							  sensors[i].path + strlen("sys/class/"),
							  package };

		if (sensors[i].package != THERMAL_PACKAGE_ANY)
			snprintf(package, sizeof(package), "%u", sensors[i].package);
		if (sensors[i].is_known)
			r = samples_add(to, METRIC_NODE_TEMPERATURE, labels,
					sensors[i].millicelsius);
	}
	return r;
}

static int sample(struct source_state *s, uint64_t boot_ns, struct samples *to)
{
	struct thermal_moment m;
	int r = 0;

	thermal_sweep(s->thermal);
	thermal_get(s->thermal, NULL, &m);
	const struct {
		bool is_known;
		enum metric_id id;
		uint64_t number;
	} numbers[] = {
		{ m.cpus, METRIC_NODE_FREQUENCY_MEAN, m.frequency_hz },
		{ m.cpus, METRIC_NODE_FREQUENCY_MIN, m.frequency_min_hz },
		{ m.cpus, METRIC_NODE_FREQUENCY_MAX, m.frequency_max_hz },
		{ m.has_throttles, METRIC_NODE_THROTTLES_CORE, m.core_throttles_total },
		{ m.has_throttles, METRIC_NODE_THROTTLES_PACKAGE, m.package_throttles_total },
	};

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(numbers); i++) {
		if (numbers[i].is_known)
			r = samples_add_plain(to, numbers[i].id, numbers[i].number);
	}
	if (r == 0 && m.has_temperature)
		r = add_events(s, m.millicelsius, boot_ns, to);
	return r ? r : add_sensors(s->thermal, to);
}

static void sample_job(struct source_state *s, struct source_job_state *own UNUSED,
		       const struct source_job *job, struct source_job_sample *to)
{
	struct cpulist cpus;

	if (!job->cpus || cpulist_parse(job->cpus, &cpus) < 0)
		return;
	thermal_get(s->thermal, &cpus, &to->thermal);
	to->has_thermal = true;
}

static int describe_job(const struct source_state *s UNUSED, struct record *record)
{
	return record->thermal.samples.is_known
		       ? 0
		       : strings_add(&record->coverage.missing,
				     THERMAL_LABEL "it began and ended between two readings");
}

const struct source source_thermal = {
	.name = "thermal",
	.label = THERMAL_LABEL,
	.help = "Sample frequency, temperature and thermal throttling of CPUs, for the node and for each job's CPUs.",
	.is_for_jobs = true,
	.size = sizeof(struct source_state),
	.open = open_source,
	.sample = sample,
	.close = close_source,
	.sample_job = sample_job,
	.describe_job = describe_job,
};
