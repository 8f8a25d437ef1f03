/* SPDX-License-Identifier: MIT */
/*
 * RAPL: the processor's energy counters, of Intel and AMD, by the kernel's powercap files or, if
 * these cannot be read, by its perf events.
 *
 * The files are for root only (CVE-2020-8694) and stay open, so that they can be read after rights
 * are dropped. Zones: a package contains its cores and uncore; DRAM is beside it; psys is the whole
 * platform. intel-rapl-mmio repeats the same package.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/cpulist.h"
#include "basic/dir.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "energy/sensor_total.h"
#include "sources/source.h"

#define POWERCAP "sys/class/powercap"
#define PMU "sys/bus/event_source/devices/power"
#define ZONES_MAX 256
#define RANK 10
#define DEAD_NS UINT64_C(60000000000)
#define DEAD_AT_0_NS UINT64_C(1000000000)
#define BEGINS_NS UINT64_C(20000000) /* a processor's counter moves each millisecond */
#define MIRROR_UJ 1000000 /* possible difference between two reads of one counter */
#define MIRROR_MOVES 5

/* What a zone or an event of that name sees. */
/* clang-format off */
static const struct domain {
	const char *zone, *event; /* "package-0" begins with the word */
	enum energy_level level;
	enum energy_part part;
} domains[] = {
	{ "package", "energy-pkg",   ENERGY_COMPONENT, ENERGY_PACKAGE },
	{ "dram",    "energy-ram",   ENERGY_COMPONENT, ENERGY_MEMORY },
	{ "core",    "energy-cores", ENERGY_PART,      ENERGY_CORES },
	{ "uncore",  "energy-gpu",   ENERGY_PART,      ENERGY_UNCORE },
	{ "psys",    "energy-psys",  ENERGY_NODE,      ENERGY_ALL },
};
/* clang-format on */

struct rapl_zone {
	struct energy_sensor sensor;
	struct energy_counter counter;
	uint64_t first_ns; /* when it was read first */
	bool has_moved; /* since then; an event: since it was opened */
	/* A zone of another die with the same counter for that many moves: perhaps a mirror. -1:
	 * none. */
	int twin;
	unsigned int moves;
	int fd;
	bool is_event; /* of perf: a count of 2^-32 J */
};

struct source_state {
	struct rapl_zone *zones;
	size_t count, room;
};

static void close_source(struct source_state *s)
{
	for (size_t i = 0; i < s->count; i++)
		closep(&s->zones[i].fd);
	free(s->zones);
}

/* Takes @fd over, also on failure. */
static int add_zone(struct source_state *s, const struct domain *domain, const char *name,
		    uint32_t socket, int fd, struct rapl_zone **ret)
{
	struct rapl_zone *zone;

	if (s->count >= ZONES_MAX ||
	    array_reserve(&s->zones, &s->room, s->count, sizeof(*s->zones)) < 0) {
		close(fd);
		return -ENOMEM;
	}
	zone = &s->zones[s->count++];
	*zone = (struct rapl_zone){
		.sensor = { .source = "rapl",
			    .level = domain->level,
			    .part = domain->part,
			    .socket = socket,
			    .quality = ENERGY_MEASURED,
			    .rank = RANK },
		.fd = fd,
	};
	snprintf(zone->sensor.name, sizeof(zone->sensor.name), "%s", name);
	*ret = zone;
	return 0;
}

/* ---- powercap ---- */

static const struct domain *domain_of_zone(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(domains); i++) {
		const size_t length = strlen(domains[i].zone);

		if (strncmp(name, domains[i].zone, length) == 0 && strchr("-", name[length]))
			return &domains[i];
	}
	return NULL;
}

static bool read_name(int root_fd, const char *zone, char *ret, size_t size)
{
	char path[192];

	snprintf(path, sizeof(path), POWERCAP "/%.64s/name", zone);
	return file_read_one_line(root_fd, path, ret, size) > 0;
}

/* "package-1": the number of the processor; "package-1-die-2": each die has zones of its own. */
static uint32_t socket_of(const char *package)
{
	const char *at = package + strcspn(package, "0123456789");
	uint64_t number, die = 0;

	if (parse_leading_u64(&at, &number) < 0 || number > UINT16_MAX)
		return ENERGY_SOCKET_ANY;
	at += strcspn(at, "0123456789");
	return parse_leading_u64(&at, &die) < 0 || die < UINT16_MAX ? (uint32_t)(die << 16 | number)
								    : ENERGY_SOCKET_ANY;
}

/* "intel-rapl:0" or, within it, "intel-rapl:0:1". */
static int read_zone(int root_fd, const char *zone, struct source_state *s, bool *is_refused)
{
	char own[64], above[64] = "", name[ENERGY_NAME_SIZE], path[192];
	const char *last = strrchr(zone, ':');
	const bool is_inner = last && strchr(zone, ':') != last;
	const struct domain *domain;
	struct rapl_zone *made = NULL;
	int fd, r;

	if (!last || strncmp(zone, "intel-rapl:", 11) != 0 ||
	    !read_name(root_fd, zone, own, sizeof(own)) || !(domain = domain_of_zone(own)))
		return 0;
	if (is_inner) {
		snprintf(path, sizeof(path), "%.*s", (int)(last - zone), zone);
		(void)read_name(root_fd, path, above, sizeof(above));
	}
	snprintf(name, sizeof(name), "%.31s%s%.31s", above, *above ? " " : "", own);
	snprintf(path, sizeof(path), POWERCAP "/%.64s/energy_uj", zone);
	fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	*is_refused |= fd < 0 && (errno == EACCES || errno == EPERM);
	if (fd < 0)
		return 0;
	r = add_zone(s, domain, name, socket_of(*above ? above : own), fd, &made);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), POWERCAP "/%.64s/max_energy_range_uj", zone);
	(void)file_read_u64(root_fd, path, &made->counter.range_uj);
	return 0;
}

static int read_powercap(int root_fd, struct source_state *s, bool *is_refused)
{
	_cleanup_(dir_clear) struct dir zones = {};
	int r = 0;

	if (dir_read(root_fd, POWERCAP, ZONES_MAX * 4, &zones) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < zones.count; i++)
		r = read_zone(root_fd, zones.names[i], s, is_refused);
	return r;
}

/* ---- perf events ---- */

/* "event=0x02"; only of counts of 2^-32 J, as all processors have them so far. */
static bool read_event(int root_fd, const char *event, uint64_t *ret)
{
	char path[192], text[128];
	const char *value;

	snprintf(path, sizeof(path), PMU "/events/%s.scale", event);
	if (file_read_small(root_fd, path, text, sizeof(text)) <= 0 ||
	    strncmp(text, "2.3283064365386962890625e-10", 28) != 0)
		return false;
	snprintf(path, sizeof(path), PMU "/events/%s", event);
	if (file_read_small(root_fd, path, text, sizeof(text)) <= 0)
		return false;
	value = strstr(text, "event=");
	*ret = value ? strtoull(value + strlen("event="), NULL, 16) : 0;
	return value;
}

static int read_events_of(int root_fd, uint32_t type, unsigned int cpu, uint32_t socket,
			  struct source_state *s, bool *is_refused)
{
	for (size_t i = 0; i < ARRAY_SIZE(domains); i++) {
		struct perf_event_attr attr = { .type = type, .size = sizeof(attr) };
		char name[ENERGY_NAME_SIZE];
		struct rapl_zone *made;
		uint64_t config;
		int fd, r;

		if (!read_event(root_fd, domains[i].event, &config))
			continue;
		attr.config = config;
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1,
				  PERF_FLAG_FD_CLOEXEC);
		*is_refused |= fd < 0 && (errno == EACCES || errno == EPERM);
		if (fd < 0)
			continue;
		snprintf(name, sizeof(name), "%s %u", domains[i].event, socket);
		r = add_zone(s, &domains[i], name, socket, fd, &made);
		if (r < 0)
			return r;
		made->is_event = true;
	}
	return 0;
}

static int read_events(int root_fd, struct source_state *s, bool *is_refused)
{
	char text[1024];
	struct cpulist cpus;
	uint32_t socket = 0;
	uint64_t type;
	int r = 0;

	if (file_read_u64(root_fd, PMU "/type", &type) < 0 ||
	    file_read_small(root_fd, PMU "/cpumask", text, sizeof(text)) <= 0)
		return 0;
	if (cpulist_parse(text, &cpus) < 0)
		return 0;
	for (unsigned int cpu = 0; r == 0 && cpu < CPULIST_MAX; cpu++) {
		if (cpulist_contains(&cpus, cpu))
			r = read_events_of(root_fd, (uint32_t)type, cpu, socket++, s, is_refused);
	}
	return r;
}

/* ---- the source ---- */

static bool read_counter(const struct rapl_zone *zone, uint64_t *ret_uj)
{
	char text[32];
	uint64_t count;
	ssize_t length;

	if (zone->is_event) {
		if (read(zone->fd, &count, sizeof(count)) != sizeof(count))
			return false;
		*ret_uj = (uint64_t)(((unsigned __int128)count * 1000000) >> 32);
		return true;
	}
	length = pread(zone->fd, text, sizeof(text) - 1, 0);
	if (length <= 0)
		return false;
	text[length] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return parse_u64(text, ret_uj) == 0;
}

/* Some processors of AMD have a zone for each die, and one counter for all of them. */
static void find_twins(struct source_state *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct energy_sensor *own = &s->zones[i].sensor;

		s->zones[i].twin = -1;
		for (size_t k = 0; k < i && s->zones[i].twin < 0; k++) {
			const struct energy_sensor *other = &s->zones[k].sensor;

			if (own->level == other->level && own->part == other->part &&
			    own->socket != other->socket && own->socket != ENERGY_SOCKET_ANY &&
			    (own->socket & UINT16_MAX) == (other->socket & UINT16_MAX))
				s->zones[i].twin = (int)k;
		}
	}
}

/* A twin adds nothing until it differs, and then all of it at once; one that never differs is
 * the same thing. */
static void look_at_twin(struct source_state *s, struct rapl_zone *zone)
{
	const struct rapl_zone *twin = &s->zones[zone->twin];

	if ((zone->counter.last_uj > twin->counter.last_uj
		     ? zone->counter.last_uj - twin->counter.last_uj
		     : twin->counter.last_uj - zone->counter.last_uj) > MIRROR_UJ) {
		zone->twin = -1;
	} else if (++zone->moves > MIRROR_MOVES) {
		zone->sensor.socket = twin->sensor.socket;
		zone->twin = -1;
	}
}

/* Events count from 0 when they are opened: one that stands still from there on has nothing behind
 * it, as on some virtual machines.  Parts of a package may stand still: the GPU of one that has
 * nothing to draw.  Returns whether any moves. */
static bool await_events(struct source_state *s)
{
	const uint64_t end_ns = clock_now_ns(CLOCK_MONOTONIC) + BEGINS_NS;
	bool is_late, any_moves, is_awaited;

	do {
		is_late = clock_now_ns(CLOCK_MONOTONIC) >= end_ns;
		any_moves = is_awaited = false;
		for (size_t i = 0; i < s->count; i++) {
			struct rapl_zone *zone = &s->zones[i];
			uint64_t uj;

			zone->has_moved |= read_counter(zone, &uj) && uj;
			any_moves |= zone->has_moved;
			is_awaited |= !zone->has_moved && zone->sensor.level == ENERGY_COMPONENT;
		}
		is_awaited |= !any_moves;
		if (is_awaited && !is_late)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	} while (is_awaited && !is_late);
	return any_moves;
}

static int open_source(const struct source_options *options, struct source_state *s,
		       struct error *err)
{
	bool is_refused = false;
	int r = read_powercap(options->root_fd, s, &is_refused);

	if (r == 0 && !s->count) {
		r = read_events(options->root_fd, s, &is_refused);
		if (r == 0 && s->count && !await_events(s))
			return error_set(err, -ENODEV,
					 "this machine's RAPL counters stand still at 0");
	}
	find_twins(s);
	if (r < 0 || s->count)
		return r;
	return is_refused
		       ? error_set(err, -ENODEV, "this machine has RAPL, which only root may read")
		       : -ENODEV;
}

static bool read_zone_now(const struct rapl_zone *zone, struct energy_counter *counter,
			  struct energy_reading *ret)
{
	uint64_t uj;

	*ret = (struct energy_reading){ .boot_ns = clock_now_ns(CLOCK_BOOTTIME) };
	if (!read_counter(zone, &uj))
		return false;
	energy_counter_take(counter, uj, ret->boot_ns);
	ret->sensor = zone->sensor;
	ret->total = counter->total;
	if (zone->twin >= 0)
		ret->total = (struct energy_total){};
	/* a count of perf's begins when it is opened */
	ret->total.has_raw &= !zone->is_event;
	return true;
}

/* Whatever is counted takes more than 0 J in far less: a counter that has not moved since it was
 * opened means nothing, least of all at 0. */
static bool is_dead(const struct rapl_zone *zone, uint64_t boot_ns)
{
	if (zone->has_moved || zone->sensor.level == ENERGY_PART)
		return false;
	return zone->is_event ||
	       (zone->first_ns &&
		boot_ns - zone->first_ns >= (zone->counter.last_uj ? DEAD_NS : DEAD_AT_0_NS));
}

static int sample(struct source_state *s, uint64_t boot_ns UNUSED, struct samples *to)
{
	struct energy_reading reading;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->count; i++) {
		struct rapl_zone *zone = &s->zones[i];
		const uint64_t before_uj = zone->counter.last_uj;
		const bool is_first = !zone->counter.has_last;

		if (!read_zone_now(zone, &zone->counter, &reading))
			continue;
		zone->first_ns = is_first ? reading.boot_ns : zone->first_ns;
		zone->has_moved |= zone->is_event ? zone->counter.last_uj > 0
						  : !is_first && zone->counter.last_uj != before_uj;
		if (is_dead(zone, reading.boot_ns))
			continue;
		if (zone->has_moved && zone->twin >= 0) {
			look_at_twin(s, zone);
			reading.sensor = zone->sensor;
			if (zone->twin < 0)
				reading.total = zone->counter.total;
		}
		r = samples_add_energy(to, &reading);
	}
	return r;
}

static int peek(const struct source_state *s, struct energy_readings *to)
{
	struct energy_reading reading;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->count; i++) {
		struct energy_counter counter = s->zones[i].counter;

		if (s->zones[i].sensor.level == ENERGY_COMPONENT &&
		    read_zone_now(&s->zones[i], &counter, &reading) &&
		    (counter.last_uj != s->zones[i].counter.last_uj ||
		     !is_dead(&s->zones[i], reading.boot_ns)))
			r = energy_readings_add(to, &reading);
	}
	return r;
}

const struct source source_rapl = {
	.name = "rapl",
	.label = "energy by RAPL: ",
	.help = "Read the processor's own counters of energy (RAPL) for packages and memory.",
	.has_energy = true,
	.is_for_jobs = true,
	.size = sizeof(struct source_state),
	.open = open_source,
	.sample = sample,
	.peek = peek,
	.close = close_source,
};
