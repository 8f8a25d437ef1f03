/* SPDX-License-Identifier: MIT */
/* Frequency, temperature and throttling: of the node, and of the CPUs that a job may use. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cpulist.h"
#include "basic/error.h"
#include "model/record.h"
#include "sources/source.h"
#include "sources/thermal.h"
#include "sources/thermal_event.h"

enum { WARNING, CRITICAL, SEVERITIES };

struct source_state {
	struct thermal *thermal;
	struct thermal_event events[SEVERITIES];
};

static struct source_state *free_source(struct source_state *s)
{
	if (s)
		thermal_close(s->thermal);
	free(s);
	return NULL;
}

static int open_source(const struct source_options *options, struct source_state **ret,
		       struct error *err)
{
	struct source_state *s = calloc(1, sizeof(*s));

	if (!s || thermal_open(options->root_fd, &s->thermal) < 0) {
		free_source(s);
		return -ENOMEM;
	}
	if (!thermal_has_any(s->thermal)) {
		free_source(s);
		return error_set(err, -ENODEV, "not offered by this machine");
	}
	s->events[WARNING].limit = 1000 * (options->settings ? options->settings->thermal_warning
							     : THERMAL_WARNING_CELSIUS);
	s->events[CRITICAL].limit = 1000 * (options->settings ? options->settings->thermal_critical
							      : THERMAL_CRITICAL_CELSIUS);
	*ret = s;
	return 0;
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
	if (m.cpus) {
		r = samples_add_plain(to, METRIC_NODE_FREQUENCY_MEAN, m.frequency_hz);
		if (r == 0)
			r = samples_add_plain(to, METRIC_NODE_FREQUENCY_MIN, m.frequency_min_hz);
		if (r == 0)
			r = samples_add_plain(to, METRIC_NODE_FREQUENCY_MAX, m.frequency_max_hz);
	}
	if (r == 0 && m.has_throttles)
		r = samples_add_plain(to, METRIC_NODE_THROTTLES_CORE, m.core_throttles_total);
	if (r == 0 && m.has_throttles)
		r = samples_add_plain(to, METRIC_NODE_THROTTLES_PACKAGE, m.package_throttles_total);
	if (r == 0 && m.has_temperature)
		r = add_events(s, m.millicelsius, boot_ns, to);
	return r ? r : add_sensors(s->thermal, to);
}

static void sample_job(struct source_state *s, struct source_job_state *own,
		       const struct source_job *job, struct source_job_sample *to)
{
	struct cpulist cpus;

	(void)own;
	if (!job->cpus || cpulist_parse(job->cpus, &cpus) < 0)
		return;
	thermal_get(s->thermal, &cpus, &to->thermal);
	to->has_thermal = true;
}

static int describe_job(const struct source_state *s, struct record *record)
{
	(void)s;
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
	.open = open_source,
	.sample = sample,
	.free = free_source,
	.sample_job = sample_job,
	.describe_job = describe_job,
};
