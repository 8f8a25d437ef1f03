/* SPDX-License-Identifier: MIT */
/* Energy, temperatures and fans by hwmon.  On a thread of its own: the ACPI meter asks the
 * firmware, which may ask the BMC. */
#include <errno.h>
#include <string.h>

#include "basic/error.h"
#include "basic/file.h"
#include "energy/sensor_total.h"
#include "model/record.h"
#include "sources/hwmon_sensors.h"
#include "sources/source.h"

#define LABEL "sensors of hwmon: "
#define DEADLINE_MS 2000
#define MICROWATTS_MAX UINT64_C(100000000000) /* larger values are no power */
#define MILLICELSIUS_MAX UINT64_C(200000)

struct total {
	struct energy_counter counter; /* of an energy */
	struct energy_integral integral; /* of a power */
};

struct source_state {
	int root_fd;
	struct hwmon_sensors sensors;
	struct total totals[HWMON_KIND_COUNT * HWMON_EACH_MAX];
	size_t unread; /* of energy and power, at the last sample */
};

static int open_source(const struct source_options *options, struct source_state *s,
		       struct error *err)
{
	s->root_fd = options->root_fd;
	hwmon_sensors_find(s->root_fd, &s->sensors);
	if (s->sensors.count || !s->sensors.left_out)
		return s->sensors.count ? 0 : -ENODEV;
	return error_set(err, -ENODEV, "%zu give means over more than a minute",
			 s->sensors.left_out);
}

static int add_energy(const struct hwmon_sensor *sensor, struct total *total, uint64_t number,
		      uint64_t boot_ns, struct samples *to)
{
	struct energy_reading reading = { .sensor = sensor->energy, .boot_ns = boot_ns };

	if (sensor->kind == HWMON_ENERGY) {
		energy_counter_take(&total->counter, number, boot_ns);
		reading.total = total->counter.total;
	} else {
		energy_integral_take(&total->integral, number, boot_ns);
		reading.total = total->integral.total;
	}
	return samples_add_energy(to, &reading);
}

static int add_gauge(const struct hwmon_sensor *sensor, uint64_t number, struct samples *to)
{
	const char *labels[SAMPLE_LABELS_MAX] = { sensor->chip, sensor->path + strlen("sys/class/"),
						  "" };

	return samples_add(to,
			   sensor->kind == HWMON_FAN ? METRIC_NODE_FAN : METRIC_NODE_TEMPERATURE,
			   labels, number);
}

static int sample(struct source_state *s, uint64_t boot_ns, struct samples *to)
{
	static const uint64_t max[HWMON_KIND_COUNT] = {
		[HWMON_ENERGY] = INT64_MAX,
		[HWMON_POWER] = MICROWATTS_MAX,
		[HWMON_TEMPERATURE] = MILLICELSIUS_MAX,
		[HWMON_FAN] = UINT16_MAX,
	};
	int r = 0;

	s->unread = 0;
	for (size_t i = 0; r == 0 && i < s->sensors.count; i++) {
		const struct hwmon_sensor *sensor = &s->sensors.items[i];
		uint64_t number;

		if (file_read_u64(s->root_fd, sensor->path, &number) < 0 ||
		    number > max[sensor->kind])
			s->unread += *sensor->energy.name != '\0';
		else if (*sensor->energy.name)
			r = add_energy(sensor, &s->totals[i], number, boot_ns, to);
		else
			r = add_gauge(sensor, number, to);
	}
	return r;
}

static int describe(const struct source_state *s, struct strings *missing)
{
	int r = 0;

	if (s->unread)
		r = strings_add(missing, LABEL "%zu of energy or power cannot be read", s->unread);
	if (r == 0 && s->sensors.left_out)
		r = strings_add(missing,
				LABEL "%zu left out, which give means over more than a minute",
				s->sensors.left_out);
	return r;
}

const struct source source_hwmon = {
	.name = "hwmon",
	.label = LABEL,
	.help = "Read energy, power, temperatures and fans that drivers show as hwmon devices: the ACPI power meter, NVIDIA Grace, GPUs of AMD and Intel, disks and others.",
	.has_energy = true,
	.deadline_ms = DEADLINE_MS,
	.size = sizeof(struct source_state),
	.open = open_source,
	.sample = sample,
	.describe = describe,
};
