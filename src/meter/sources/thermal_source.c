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

struct source_state {
	struct thermal *thermal;
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
	*ret = s;
	return 0;
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

	(void)boot_ns;
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
