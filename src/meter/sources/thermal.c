/* SPDX-License-Identifier: MIT */
#include "sources/thermal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/dir.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "model/record.h"
#include "sources/source.h"

#define NAMES_MAX 4096 /* in one directory */
#define CHIP_NAME_MAX 32
#define CPU_DIR "sys/devices/system/cpu"
#define KILOHERTZ_MAX UINT64_C(100000000) /* larger values are no frequency */
#define MILLICELSIUS_MAX UINT64_C(200000)

struct processor_state {
	unsigned int cpu;
	uint32_t package, core; /* the kernel's own numbers; a core's is unique in its package */
	bool has_frequency_file, has_throttle_files;
	uint64_t hertz; /* 0: not known */
	uint64_t core_throttles, package_throttles;
	uint64_t core_throttles_before, package_throttles_before;
};

struct thermal {
	int root_fd;
	bool is_swept;
	struct processor_state *processors; /* by number */
	size_t processor_count;
	struct thermal_sensor *sensors;
	size_t sensor_count;
};

/* ---- which CPUs ---- */

static bool has_file(int root_fd, unsigned int cpu, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/%s", cpu, file);
	return faccessat(root_fd, path, F_OK, 0) == 0;
}

static bool read_number(int root_fd, unsigned int cpu, const char *file, uint64_t *ret)
{
	char path[128];

	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/%s", cpu, file);
	return file_read_u64(root_fd, path, ret) == 0;
}

static uint32_t read_id(int root_fd, unsigned int cpu, const char *file, uint32_t otherwise)
{
	uint64_t id = 0;

	return read_number(root_fd, cpu, file, &id) && id < UINT32_MAX ? (uint32_t)id : otherwise;
}

static int list_processors(struct thermal *t)
{
	_cleanup_free_ char *text = NULL;
	struct cpulist online;

	if (file_read(t->root_fd, CPU_DIR "/online", 64u << 10, &text, NULL) < 0)
		return 0;
	if (cpulist_parse(text, &online) < 0 || cpulist_count(&online) == 0)
		return 0;
	t->processors = calloc(cpulist_count(&online), sizeof(*t->processors));
	if (!t->processors)
		return -ENOMEM;
	for (unsigned int cpu = 0; cpu < CPULIST_MAX; cpu++) {
		if (cpulist_contains(&online, cpu)) {
			t->processors[t->processor_count++] = (struct processor_state){
				.cpu = cpu,
				.package = read_id(t->root_fd, cpu, "topology/physical_package_id",
						   0),
				.core = read_id(t->root_fd, cpu, "topology/core_id", cpu),
				.has_frequency_file = has_file(t->root_fd, cpu,
							       "cpufreq/scaling_cur_freq"),
				.has_throttle_files = has_file(
					t->root_fd, cpu, "thermal_throttle/core_throttle_count"),
			};
		}
	}
	return 0;
}

static bool is_in(const struct cpulist *cpus, const struct processor_state *p)
{
	return !cpus || cpulist_contains(cpus, p->cpu);
}

/* One of the first @end processors, as far as they are among @cpus. */
static bool has_package(const struct thermal *t, const struct cpulist *cpus, size_t end,
			uint32_t package)
{
	for (size_t i = 0; i < end; i++) {
		if (is_in(cpus, &t->processors[i]) && t->processors[i].package == package)
			return true;
	}
	return false;
}

static size_t count_packages(const struct thermal *t)
{
	size_t count = 0;

	for (size_t i = 0; i < t->processor_count; i++)
		count += !has_package(t, NULL, i, t->processors[i].package);
	return count;
}

/* ---- which sensors ---- */

static int add_sensor(struct thermal *t, const char *chip, const char *name, const char *path,
		      uint32_t package)
{
	struct thermal_sensor *larger, *s;

	if (t->sensor_count == THERMAL_SENSORS_MAX || strlen(path) >= sizeof(s->path) ||
	    faccessat(t->root_fd, path, F_OK, 0) < 0)
		return 0;
	larger = reallocarray(t->sensors, t->sensor_count + 1, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	t->sensors = larger;
	s = &larger[t->sensor_count++];
	*s = (struct thermal_sensor){ .package = package };
	snprintf(s->chip, sizeof(s->chip), "%.31s", chip);
	snprintf(s->name, sizeof(s->name), "%.63s", name);
	snprintf(s->path, sizeof(s->path), "%s", path);
	return 0;
}

/* coretemp: "Package id 1" is package 1's. */
static int add_coretemp(struct thermal *t, const char *dir, const char *file)
{
	char path[192], label[64];
	const char *rest = label;
	uint64_t package;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	(void)file_read_one_line(t->root_fd, path, label, sizeof(label));
	if (strncmp(label, "Package id ", strlen("Package id ")) != 0)
		return 0;
	rest += strlen("Package id ");
	if (parse_u64(rest, &package) < 0 || package >= THERMAL_PACKAGE_ANY)
		return 0;
	snprintf(path, sizeof(path), "%s/%.*s_input", dir, (int)strcspn(file, "_"), file);
	return add_sensor(t, "coretemp", label, path, (uint32_t)package);
}

static bool is_label(const char *file)
{
	const char *end = strchr(file, '_');

	return strncmp(file, "temp", strlen("temp")) == 0 && end && strcmp(end, "_label") == 0 &&
	       strlen(file) < CHIP_NAME_MAX;
}

static int read_coretemp(struct thermal *t, const char *dir)
{
	_cleanup_(dir_clear) struct dir files = {};
	int r = 0;

	if (dir_read(t->root_fd, dir, NAMES_MAX, &files) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < files.count; i++) {
		if (is_label(files.names[i]))
			r = add_coretemp(t, dir, files.names[i]);
	}
	return r;
}

/* AMD's: Tctl steers the fan and is above the true one on some; those have Tdie, too. */
static int read_amd(struct thermal *t, const char *dir, const char *chip)
{
	static const char *const wanted[] = { "Tdie", "Tctl" };

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		for (unsigned int number = 1; number <= 2; number++) {
			char path[192], label[64];

			snprintf(path, sizeof(path), "%s/temp%u_label", dir, number);
			(void)file_read_one_line(t->root_fd, path, label, sizeof(label));
			if (strcmp(label, wanted[i]) != 0)
				continue;
			snprintf(path, sizeof(path), "%s/temp%u_input", dir, number);
			return add_sensor(t, chip, label, path, THERMAL_PACKAGE_ANY);
		}
	}
	return 0;
}

static int read_hwmon(struct thermal *t)
{
	_cleanup_(dir_clear) struct dir chips = {};
	int r = 0;

	if (dir_read(t->root_fd, "sys/class/hwmon", NAMES_MAX, &chips) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < chips.count; i++) {
		char dir[96], path[128], chip[32];

		if (strlen(chips.names[i]) >= CHIP_NAME_MAX)
			continue;
		snprintf(dir, sizeof(dir), "sys/class/hwmon/%s", chips.names[i]);
		snprintf(path, sizeof(path), "%s/name", dir);
		(void)file_read_one_line(t->root_fd, path, chip, sizeof(chip));
		if (strcmp(chip, "coretemp") == 0)
			r = read_coretemp(t, dir);
		else if (strcmp(chip, "k10temp") == 0 || strcmp(chip, "zenpower") == 0)
			r = read_amd(t, dir, chip);
	}
	return r;
}

static int read_zones(struct thermal *t)
{
	_cleanup_(dir_clear) struct dir zones = {};
	int r = 0;

	if (dir_read(t->root_fd, "sys/class/thermal", NAMES_MAX, &zones) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < zones.count; i++) {
		char path[128], type[32];

		if (strlen(zones.names[i]) >= CHIP_NAME_MAX)
			continue;
		snprintf(path, sizeof(path), "sys/class/thermal/%s/type", zones.names[i]);
		(void)file_read_one_line(t->root_fd, path, type, sizeof(type));
		snprintf(path, sizeof(path), "sys/class/thermal/%s/temp", zones.names[i]);
		if (strcmp(type, "x86_pkg_temp") == 0)
			r = add_sensor(t, type, zones.names[i], path, THERMAL_PACKAGE_ANY);
	}
	return r;
}

/* If there are as many sensors as packages, and none is identified, they are in the same order. */
static void settle_packages(struct thermal *t)
{
	size_t next = 0;

	for (size_t i = 0; i < t->sensor_count; i++) {
		if (t->sensors[i].package != THERMAL_PACKAGE_ANY)
			return;
	}
	if (t->sensor_count != count_packages(t))
		return;
	for (uint32_t package = 0; package <= UINT16_MAX && next < t->sensor_count; package++) {
		if (has_package(t, NULL, t->processor_count, package))
			t->sensors[next++].package = package;
	}
}

int thermal_open(int root_fd, struct thermal **ret)
{
	_cleanup_(thermal_closep) struct thermal *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->root_fd = root_fd;
	r = list_processors(t);
	if (r == 0)
		r = read_hwmon(t);
	if (r == 0 && !t->sensor_count)
		r = read_zones(t);
	if (r < 0)
		return r;
	settle_packages(t);
	*ret = TAKE_PTR(t);
	return 0;
}

struct thermal *thermal_close(struct thermal *t)
{
	if (!t)
		return NULL;
	free(t->processors);
	free(t->sensors);
	free(t);
	return NULL;
}

void thermal_closep(struct thermal **t)
{
	thermal_close(*t);
}

bool thermal_has_any(const struct thermal *t)
{
	bool has = t->sensor_count > 0;

	for (size_t i = 0; i < t->processor_count; i++)
		has |= t->processors[i].has_frequency_file || t->processors[i].has_throttle_files;
	return has;
}

const struct thermal_sensor *thermal_sensors(const struct thermal *t, size_t *ret_count)
{
	*ret_count = t->sensor_count;
	return t->sensors;
}

/* ---- a sweep ---- */

/* A CPU that was offline starts again at 0; earlier counts are not counted twice. */
static void read_throttles(const struct thermal *t, struct processor_state *p)
{
	const struct {
		const char *file;
		uint64_t *now, *before;
	} counts[] = {
		{ "thermal_throttle/core_throttle_count", &p->core_throttles,
		  &p->core_throttles_before },
		{ "thermal_throttle/package_throttle_count", &p->package_throttles,
		  &p->package_throttles_before },
	};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		uint64_t now = *counts[i].now;

		(void)read_number(t->root_fd, p->cpu, counts[i].file, &now);
		*counts[i].before = t->is_swept ? MIN(*counts[i].now, now) : now;
		*counts[i].now = now;
	}
}

void thermal_sweep(struct thermal *t)
{
	for (size_t i = 0; i < t->processor_count; i++) {
		uint64_t kilohertz = 0;

		if (t->processors[i].has_frequency_file &&
		    (!read_number(t->root_fd, t->processors[i].cpu, "cpufreq/scaling_cur_freq",
				  &kilohertz) ||
		     kilohertz > KILOHERTZ_MAX))
			kilohertz = 0;
		t->processors[i].hertz = kilohertz * 1000;
		if (t->processors[i].has_throttle_files)
			read_throttles(t, &t->processors[i]);
	}
	for (size_t i = 0; i < t->sensor_count; i++) {
		struct thermal_sensor *s = &t->sensors[i];

		s->is_known = file_read_u64(t->root_fd, s->path, &s->millicelsius) == 0 &&
			      s->millicelsius <= MILLICELSIUS_MAX;
	}
	t->is_swept = true;
}

/* ---- what it found ---- */

/* Whether it is the first of these CPUs of its package, or of its core. */
static bool is_first(const struct thermal *t, const struct cpulist *cpus, size_t index,
		     bool of_core)
{
	const struct processor_state *p = &t->processors[index];

	for (size_t i = 0; i < index; i++) {
		const struct processor_state *q = &t->processors[i];

		if (is_in(cpus, q) && q->has_throttle_files && q->package == p->package &&
		    (!of_core || q->core == p->core))
			return false;
	}
	return true;
}

/* Each CPU of a core, and of a package, hears of the same event: so the first one counts. */
static void add_throttles(const struct thermal *t, const struct cpulist *cpus, size_t index,
			  struct thermal_moment *to)
{
	const struct processor_state *p = &t->processors[index];

	if (!p->has_throttle_files)
		return;
	to->has_throttles = true;
	if (is_first(t, cpus, index, true)) {
		to->core_throttles += p->core_throttles - p->core_throttles_before;
		to->core_throttles_total += p->core_throttles;
	}
	if (is_first(t, cpus, index, false)) {
		to->package_throttles += p->package_throttles - p->package_throttles_before;
		to->package_throttles_total += p->package_throttles;
	}
}

void thermal_get(const struct thermal *t, const struct cpulist *cpus, struct thermal_moment *ret)
{
	struct thermal_moment m = {};
	uint64_t sum = 0;

	for (size_t i = 0; i < t->processor_count; i++) {
		const struct processor_state *p = &t->processors[i];

		if (!is_in(cpus, p))
			continue;
		add_throttles(t, cpus, i, &m);
		if (!p->hertz)
			continue;
		sum += p->hertz;
		m.frequency_min_hz = m.cpus ? MIN(m.frequency_min_hz, p->hertz) : p->hertz;
		m.frequency_max_hz = MAX(m.frequency_max_hz, p->hertz);
		m.cpus++;
	}
	m.frequency_hz = m.cpus ? sum / m.cpus : 0;
	for (size_t i = 0; i < t->sensor_count; i++) {
		const struct thermal_sensor *s = &t->sensors[i];

		if (!s->is_known || (cpus && s->package != THERMAL_PACKAGE_ANY &&
				     !has_package(t, cpus, t->processor_count, s->package)))
			continue;
		m.millicelsius = MAX(m.millicelsius, s->millicelsius);
		m.has_temperature = true;
	}
	*ret = m;
}

void thermal_event_take(struct thermal_event *e, uint64_t millicelsius, uint64_t boot_ns)
{
	const uint64_t margin = e->is_on ? MIN(THERMAL_EVENT_MARGIN, e->limit) : 0;
	const bool is_on = millicelsius >= e->limit - margin;

	if (e->is_on)
		e->ns += boot_ns - e->last_ns;
	e->count += is_on && !e->is_on;
	e->is_on = is_on;
	e->last_ns = boot_ns;
}

/* ---- the source: of the node, and of the CPUs that a job may use ---- */

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
