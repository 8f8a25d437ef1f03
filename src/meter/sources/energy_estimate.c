/* SPDX-License-Identifier: MIT */
/*
 * An estimate of the node's energy, for machines without a sensor: the power of a server with this
 * model of processor (energy/cpu_power.h) at its CPU time. It counts where nothing is measured.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "energy/cpu_power.h"
#include "energy/sensor_total.h"
#include "sources/machine.h"
#include "sources/source.h"

#define RANK 90
#define CPUINFO_MAX (16u << 20)
#define NS_OF_A_SECOND 1000000000

struct source_state {
	int root_fd;
	unsigned int cpus;
	struct cpu_power power;
	struct energy_counter counter;
	uint64_t busy_ns;
};

static void read_model(int root_fd, char *ret, size_t size)
{
	_cleanup_free_ char *text = NULL;
	const char *line, *value;

	*ret = '\0';
	if (file_read(root_fd, "proc/cpuinfo", CPUINFO_MAX, &text, NULL) < 0)
		return;
	line = strstr(text, "model name");
	value = line ? strchr(line, ':') : NULL;
	if (value)
		snprintf(ret, size, "%.*s", (int)MIN(strcspn(value + 2, "\n"), size - 1),
			 value + 2);
}

static int open_source(const struct source_options *options, struct source_state *s,
		       struct error *err)
{
	char model[256];

	s->root_fd = options->root_fd;
	s->cpus = machine_cpus_online(s->root_fd);
	if (options->cpu_model && *options->cpu_model)
		snprintf(model, sizeof(model), "%s", options->cpu_model);
	else
		read_model(s->root_fd, model, sizeof(model));
	if (cpu_power_find(model, s->cpus, options->cpu_tdp_watts, &s->power))
		return 0;
	return error_set(err, -ENODEV,
			 "no sensor, and the processor '%.60s' is not in the table of models (the "
			 "agent's settings cpu_model and cpu_tdp)",
			 *model ? model : "unknown");
}

/* Since boot, so that the next agent continues it. */
static uint64_t energy_until(const struct source_state *s, uint64_t boot_ns)
{
	const struct cpu_power *p = &s->power;
	const unsigned __int128 idle = (unsigned __int128)p->idle_uw * boot_ns,
				more = (unsigned __int128)(p->max_uw - p->idle_uw) * s->busy_ns /
				       s->cpus;

	return (uint64_t)((idle + more) / NS_OF_A_SECOND);
}

static int sample(struct source_state *s, uint64_t boot_ns UNUSED, struct samples *to)
{
	struct energy_reading reading = {
		.sensor = { .source = s->power.source,
			    .level = ENERGY_NODE,
			    .part = ENERGY_ALL,
			    .socket = ENERGY_SOCKET_ANY,
			    .quality = ENERGY_ESTIMATED,
			    .rank = RANK,
			    .uncertainty_permille = s->power.uncertainty_permille,
			    .idle_uw = s->power.idle_uw,
			    .max_uw = s->power.max_uw },
		.boot_ns = clock_now_ns(CLOCK_BOOTTIME),
	};
	uint64_t busy_ns = s->busy_ns;

	if (machine_read_busy(s->root_fd, &busy_ns) < 0)
		return 0;
	s->busy_ns = MAX(busy_ns, s->busy_ns);
	energy_counter_take(&s->counter, energy_until(s, reading.boot_ns), reading.boot_ns);
	snprintf(reading.sensor.name, sizeof(reading.sensor.name), "%s", s->power.name);
	reading.total = s->counter.total;
	return samples_add_energy(to, &reading);
}

const struct source source_energy_estimate = {
	.name = "energy_estimate",
	.label = "energy: ",
	.help = "Estimate the node's energy from its processor's model where no sensor measures it.",
	.has_energy = true,
	.is_for_jobs = true,
	.size = sizeof(struct source_state),
	.open = open_source,
	.sample = sample,
};
