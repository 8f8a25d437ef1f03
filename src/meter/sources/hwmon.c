/* SPDX-License-Identifier: MIT */
#include "sources/hwmon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/dir.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "energy/sensor_total.h"
#include "model/record.h"
#include "sources/source.h"

#define LABEL "sensors of hwmon: "
#define DEADLINE_MS 2000
#define MICROWATTS_MAX UINT64_C(100000000000) /* larger values are no power */
#define MILLICELSIUS_MAX UINT64_C(200000)
#define CLASS "sys/class/hwmon"
#define NAMES_MAX 4096 /* in one directory */
#define CHANNEL_MAX 1024
#define IN(part) (UINT32_C(1) << (part))

/*
 * Grace: NVIDIA, "Grace Performance Tuning Guide", Power Telemetry. Module includes the regulators'
 * losses, Grace, and on Grace Hopper the GPU with its memory; Grace includes the cores, SysIO and
 * the memory, which has no value of its own: so all of Grace is the package.
 *
 * amdgpu: of an APU this is the whole chip with its cores, which no file shows.
 */
/* clang-format off */
static const struct kind {
	const char *chip, *text; /* how its oem_info or label begins; a number follows; NULL: any */
	enum energy_level level;
	enum energy_part part;
	uint32_t contains;
	unsigned int channel; /* 0: any */
} kinds[] = {
	{ "power_meter", "Module Power Socket ", ENERGY_COMPONENT, ENERGY_MODULE, IN(ENERGY_PACKAGE) | IN(ENERGY_MEMORY) | IN(ENERGY_GPU), 0 },
	{ "power_meter", "Grace Power Socket ",  ENERGY_COMPONENT, ENERGY_PACKAGE, 0, 0 },
	{ "power_meter", "CPU Power Socket ",    ENERGY_PART,      ENERGY_CORES,   0, 0 },
	{ "power_meter", "SysIO Power Socket ",  ENERGY_PART,      ENERGY_IO,      0, 0 },
	{ "power_meter", NULL,                   ENERGY_NODE,      ENERGY_ALL,     0, 0 },
	{ "amdgpu",      NULL,                   ENERGY_COMPONENT, ENERGY_GPU,     0, 1 },
	{ "i915",        NULL,                   ENERGY_COMPONENT, ENERGY_GPU,     0, 1 },
	{ "xe",          NULL,                   ENERGY_COMPONENT, ENERGY_GPU,     0, 1 },
	{ "amd_energy",  "Esocket",              ENERGY_COMPONENT, ENERGY_PACKAGE, 0, 0 },
};
static const struct kind unknown = { .level = ENERGY_PART, .part = ENERGY_MODULE };

static const char *const types[HWMON_KIND_COUNT] = {
	[HWMON_ENERGY] = "energy", [HWMON_POWER] = "power", [HWMON_TEMPERATURE] = "temp", [HWMON_FAN] = "fan",
};
/* clang-format on */

struct chip {
	int root_fd;
	char name[33], where[33]; /* "0000:c1:00.0", else "hwmon3" */
	char dir[64]; /* of its files */
};

struct figure { /* a file "power2_average" */
	enum hwmon_kind kind;
	bool is_mean;
	unsigned int channel;
};

static bool is_chip(const struct chip *c, const char *name)
{
	return strcmp(c->name, name) == 0;
}

/* ---- its files ---- */

static const char *name_file(const struct chip *c, enum hwmon_kind kind, unsigned int channel,
			     const char *what, char ret[HWMON_PATH_SIZE])
{
	snprintf(ret, HWMON_PATH_SIZE, "%s/%s%u_%s", c->dir, types[kind], channel, what);
	return ret;
}

static bool has_file(const struct chip *c, enum hwmon_kind kind, unsigned int channel,
		     const char *what)
{
	char path[HWMON_PATH_SIZE];

	return faccessat(c->root_fd, name_file(c, kind, channel, what, path), F_OK, 0) == 0;
}

static bool read_number(const struct chip *c, const struct figure *f, const char *what,
			uint64_t *ret)
{
	char path[HWMON_PATH_SIZE];

	return file_read_u64(c->root_fd, name_file(c, f->kind, f->channel, what, path), ret) == 0;
}

static bool parse_figure(const char *file, struct figure *ret)
{
	for (size_t kind = 0; kind < HWMON_KIND_COUNT; kind++) {
		const size_t length = strlen(types[kind]);
		const char *rest = file + length;
		uint64_t channel;

		if (strncmp(file, types[kind], length) != 0 ||
		    parse_leading_u64(&rest, &channel) < 0 || channel > CHANNEL_MAX)
			continue;
		ret->kind = (enum hwmon_kind)kind;
		ret->channel = (unsigned int)channel;
		ret->is_mean = kind == HWMON_POWER && strcmp(rest, "_average") == 0;
		return ret->is_mean || strcmp(rest, "_input") == 0;
	}
	return false;
}

/* Another file, or another source, has the same value. */
static bool is_second(const struct chip *c, const struct figure *f)
{
	if (f->kind == HWMON_POWER)
		return has_file(c, HWMON_ENERGY, f->channel, "input") ||
		       (!f->is_mean && has_file(c, HWMON_POWER, f->channel, "average"));
	return f->kind == HWMON_TEMPERATURE &&
	       (is_chip(c, "coretemp") || is_chip(c, "k10temp") || is_chip(c, "zenpower"));
}

static bool is_battery(const struct chip *c, const struct figure *f)
{
	uint64_t yes;

	return f->kind == HWMON_POWER && read_number(c, f, "is_battery", &yes) && yes;
}

/* A mean without its period is good for nothing where the driver has a file for it. */
static bool has_period(const struct chip *c, const struct figure *f)
{
	uint64_t ms;

	if (!f->is_mean)
		return true;
	if (!read_number(c, f, "average_interval", &ms))
		return !is_chip(c, "power_meter");
	return ms <= HWMON_PERIOD_MAX_MS;
}

/* ---- what its energy means ---- */

/* @ret_socket: the number behind the text. */
static const struct kind *find_kind(const struct chip *c, const struct figure *f, const char *text,
				    uint32_t *ret_socket)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct kind *k = &kinds[i];
		const size_t length = k->text ? strlen(k->text) : 0;
		uint64_t number;

		if (!is_chip(c, k->chip) || (k->channel && k->channel != f->channel))
			continue;
		if (!k->text)
			return k;
		if (strncmp(k->text, text, length) == 0 && parse_u64(text + length, &number) == 0 &&
		    number < ENERGY_SOCKET_ANY) {
			*ret_socket = (uint32_t)number;
			return k;
		}
	}
	return &unknown;
}

static void describe_energy(const struct chip *c, const struct figure *f,
			    const struct hwmon_sensors *others, struct energy_sensor *ret)
{
	char path[HWMON_PATH_SIZE], text[ENERGY_NAME_SIZE] = "";
	const struct kind *kind;

	name_file(c, f->kind, f->channel, is_chip(c, "power_meter") ? "oem_info" : "label", path);
	(void)file_read_one_line(c->root_fd, path, text, sizeof(text));
	ret->socket = ENERGY_SOCKET_ANY;
	kind = find_kind(c, f, text, &ret->socket);
	ret->source = "hwmon";
	ret->level = kind->level;
	ret->part = kind->part;
	ret->contains = kind->contains;
	ret->quality = ENERGY_MEASURED;
	ret->rank = f->kind == HWMON_ENERGY ? 12 : 20; /* after the processor's own counters */
	if (kind->part == ENERGY_GPU)
		ret->socket = 0;
	for (size_t i = 0; kind->part == ENERGY_GPU && i < others->count; i++)
		ret->socket += others->items[i].energy.part == ENERGY_GPU;
	if (kind->text)
		snprintf(ret->name, sizeof(ret->name), "%s", text);
	else
		snprintf(ret->name, sizeof(ret->name), "%.20s %.20s %s%u", c->name, c->where,
			 types[f->kind], f->channel);
}

/* With several ACPI meters, it is not known which one is the node's. */
static void settle_nodes(struct hwmon_sensors *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += *list->items[i].energy.name && list->items[i].energy.level == ENERGY_NODE;
	for (size_t i = 0; count > 1 && i < list->count; i++) {
		struct energy_sensor *s = &list->items[i].energy;

		if (*s->name && s->level == ENERGY_NODE) {
			s->level = unknown.level;
			s->part = unknown.part;
		}
	}
}

/* ---- chips ---- */

static bool has_figures(int root_fd, const char *dir)
{
	_cleanup_(dir_clear) struct dir files = {};
	struct figure f;

	if (dir_read(root_fd, dir, NAMES_MAX, &files) < 0)
		return false;
	for (size_t i = 0; i < files.count; i++) {
		if (parse_figure(files.names[i], &f))
			return true;
	}
	return false;
}

/* Of older drivers the files are the device's: of the ACPI meter up to Linux 6.14 at least, until
 * 5.x its name, too. */
static bool open_chip(int root_fd, const char *number, struct chip *ret)
{
	struct chip c = { .root_fd = root_fd };
	char path[96], target[256];
	const char *device;
	ssize_t length;

	if (snprintf(c.dir, sizeof(c.dir), CLASS "/%s", number) >= (int)sizeof(c.dir) - 8)
		return false;
	snprintf(path, sizeof(path), "%s/name", c.dir);
	(void)file_read_one_line(root_fd, path, c.name, sizeof(c.name));
	snprintf(path, sizeof(path), "%s/device/name", c.dir);
	if (!*c.name)
		(void)file_read_one_line(root_fd, path, c.name, sizeof(c.name));
	snprintf(path, sizeof(path), "%s/device", c.dir);
	length = readlinkat(root_fd, path, target, sizeof(target) - 1);
	target[MAX(length, 0)] = '\0';
	device = strrchr(target, '/');
	snprintf(c.where, sizeof(c.where), "%.32s", device ? device + 1 : number);
	if (!has_figures(root_fd, c.dir))
		snprintf(c.dir, sizeof(c.dir), "%.63s", path);
	*ret = c;
	return *c.name;
}

static void find_in(const struct chip *c, struct hwmon_sensors *to)
{
	_cleanup_(dir_clear) struct dir files = {};

	if (dir_read(c->root_fd, c->dir, NAMES_MAX, &files) < 0)
		return;
	for (size_t i = 0; i < files.count; i++) {
		struct hwmon_sensor *s = &to->items[to->count];
		struct figure f;

		if (!parse_figure(files.names[i], &f) || to->per_kind[f.kind] == HWMON_EACH_MAX ||
		    is_second(c, &f) || is_battery(c, &f))
			continue;
		if (!has_period(c, &f)) {
			to->left_out++;
			continue;
		}
		*s = (struct hwmon_sensor){ .kind = f.kind };
		snprintf(s->chip, sizeof(s->chip), "%s", c->name);
		snprintf(s->path, sizeof(s->path), "%s/%s", c->dir, files.names[i]);
		if (f.kind == HWMON_ENERGY || f.kind == HWMON_POWER)
			describe_energy(c, &f, to, &s->energy);
		if (is_chip(c, "amd_energy") && s->energy.level == ENERGY_PART)
			continue; /* one a core, of which there may be hundreds */
		to->count++;
		to->per_kind[f.kind]++;
	}
}

void hwmon_sensors_find(int root_fd, struct hwmon_sensors *ret)
{
	_cleanup_(dir_clear) struct dir chips = {};

	*ret = (struct hwmon_sensors){};
	if (dir_read(root_fd, CLASS, NAMES_MAX, &chips) < 0)
		return;
	for (size_t i = 0; i < chips.count; i++) {
		struct chip c;

		if (open_chip(root_fd, chips.names[i], &c))
			find_in(&c, ret);
	}
	settle_nodes(ret);
}

/* ---- the source: on a thread of its own, since the ACPI meter asks the firmware, which may ask
 * the BMC ---- */

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
