/* SPDX-License-Identifier: MIT */
/*
 * Any files as those that a node is known by: texts end within their arrays and are one line,
 * numbers are within their bounds, what is listed is there, and no number has two values.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "basic/cpulist.h"
#include "fuzz.h"
#include "sources/gpus.h"
#include "sources/machine.h"
#include "basic/macro.h"
#include "made_root.h"
#include "cgroup/managers.h"
#include "selftest/rights.h"
#include "sources/sensors.h"
#include "sources/sources.h"
#include "sources/thermal.h"

#define CHECK_LINE(array) check_line(array, sizeof(array))

static void check_line(const char *text, size_t size)
{
	CHECK(strnlen(text, size) < size);
	CHECK(!strchr(text, '\n'));
}

static void check_machine(int root_fd)
{
	struct machine m;

	machine_read(root_fd, &m);
	CHECK_LINE(m.node);
	CHECK_LINE(m.kernel);
	CHECK_LINE(m.arch);
	CHECK_LINE(m.product);
	CHECK_LINE(m.preemption);
	CHECK(!strpbrk(m.preemption, " ()\t"));
	CHECK(m.preemption_source && *m.preemption_source);
	CHECK(m.cpus_online <= CPULIST_MAX && m.cpus_possible <= CPULIST_MAX);
	CHECK(m.memory_bytes % 1024 == 0);
}

static void check_rights(int root_fd)
{
	struct rights r;

	rights_read(root_fd, &r);
	CHECK_LINE(r.lockdown);
	CHECK(r.is_known || (!r.uid && !r.capabilities));
	CHECK(r.unprivileged_bpf_disabled >= -1 && r.unprivileged_bpf_disabled <= 100);
	CHECK(r.perf_event_paranoid >= RIGHTS_UNKNOWN_PARANOIA && r.perf_event_paranoid <= 100);
}

static void check_sensors(int root_fd)
{
	struct sensors sensors = {};

	CHECK(sensors_read(root_fd, &sensors) == 0);
	CHECK(sensors.count <= SENSORS_MAX);
	for (size_t i = 0; i < sensors.count; i++) {
		const struct sensor *s = &sensors.items[i];

		CHECK_LINE(s->name);
		CHECK(*s->source && *s->name);
		CHECK(strnlen(s->path, sizeof(s->path)) < sizeof(s->path));
		CHECK(faccessat(root_fd, s->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
	}
	sensors_clear(&sensors);
}

static void check_gpus(int root_fd)
{
	struct gpus gpus;

	gpus_read(root_fd, &gpus);
	CHECK(gpus.count <= GPUS_MAX);
	CHECK_LINE(gpus.nvidia_driver);
	CHECK(strspn(gpus.nvidia_driver, "0123456789.") == strlen(gpus.nvidia_driver));
	for (size_t i = 0; i < gpus.count; i++) {
		const struct gpu *gpu = &gpus.items[i];

		CHECK(gpu->vendor && *gpu->vendor && *gpu->address);
		CHECK(strnlen(gpu->address, sizeof(gpu->address)) < sizeof(gpu->address));
		CHECK(strnlen(gpu->driver, sizeof(gpu->driver)) < sizeof(gpu->driver));
		CHECK_LINE(gpu->device);
	}
}

static void check_managers(int root_fd)
{
	struct managers managers;

	managers_read(root_fd, &managers);
	CHECK(managers.count <= MANAGERS_MAX);
	for (size_t i = 0; i < managers.count; i++) {
		const struct manager *m = &managers.items[i];

		CHECK(m->name && (m->file || m->daemon));
		CHECK(m->daemon ? m->daemon_pid > 0 : m->daemon_pid == 0);
		CHECK(m->tracking == TRACKING_UNKNOWN || (m->file && m->setting));
	}
}

static void check_same(const struct sample *a, const struct sample *b)
{
	bool is_same = a->id == b->id;

	for (size_t i = 0; i < SAMPLE_LABELS_MAX; i++)
		is_same &= (!a->labels[i] && !b->labels[i]) ||
			   (a->labels[i] && b->labels[i] &&
			    strcmp(a->labels[i], b->labels[i]) == 0);
	CHECK(!is_same);
}

static void check_samples(int root_fd)
{
	const struct source_options options = { .root_fd = root_fd };
	struct samples samples = {};
	struct sources *sources = NULL;

	CHECK(sources_open(sources_all(), NULL, &options, &sources) == 0);
	CHECK(sources_sample(sources, 1) == 0);
	CHECK(sources_put_node(sources, 1, &samples) == 0);
	for (size_t i = 0; i < samples.count; i++) {
		const struct sample *s = &samples.items[i];
		const char *const *names = metric_labels(metric_get(s->id)->scope);

		CHECK(s->id >= METRIC_NODE_CPU_USER && s->id <= METRIC_NODE_INFO);
		for (size_t j = 0; j < SAMPLE_LABELS_MAX && names[j]; j++)
			CHECK(s->labels[j]);
		for (size_t j = 0; j < i; j++)
			check_same(s, &samples.items[j]);
	}
	samples_clear(&samples);
	sources_free(sources);
}

/* What some CPUs do is within what all do. */
static void check_thermal(int root_fd)
{
	struct thermal_moment all, some;
	const struct thermal_sensor *sensors;
	struct thermal *t = NULL;
	struct cpulist cpus = {};
	size_t count;

	CHECK(thermal_open(root_fd, &t) == 0);
	thermal_sweep(t);
	thermal_sweep(t);
	cpulist_set(&cpus, 0);
	cpulist_set(&cpus, 2);
	thermal_get(t, NULL, &all);
	thermal_get(t, &cpus, &some);
	CHECK(some.cpus <= all.cpus && some.frequency_max_hz <= all.frequency_max_hz);
	CHECK(all.frequency_min_hz <= all.frequency_hz && all.frequency_hz <= all.frequency_max_hz);
	CHECK(!all.core_throttles && !all.package_throttles); /* nothing changed in between */
	CHECK(!some.has_temperature || some.millicelsius <= all.millicelsius);
	sensors = thermal_sensors(t, &count);
	CHECK(count <= THERMAL_SENSORS_MAX);
	for (size_t i = 0; i < count; i++) {
		CHECK_LINE(sensors[i].chip);
		CHECK_LINE(sensors[i].name);
		CHECK(strnlen(sensors[i].path, sizeof(sensors[i].path)) < sizeof(sensors[i].path));
	}
	thermal_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int root_fd = made_root_fd();

	made_root_fill(root_fd, data, size);
	check_machine(root_fd);
	check_rights(root_fd);
	check_sensors(root_fd);
	check_gpus(root_fd);
	check_managers(root_fd);
	check_samples(root_fd);
	check_thermal(root_fd);
	made_root_clear();
	return 0;
}
