/* SPDX-License-Identifier: MIT */
#include "sources/pm_counters.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "energy/sensor_total.h"
#include "model/record.h"
#include "sources/source.h"

#define DIR "sys/cray/pm_counters/"
#define TRIES 3
#define UJ_OF_A_JOULE UINT64_C(1000000)
#define STOPPED_NS UINT64_C(2000000000) /* twenty times the time in which they change */
#define LABEL "energy by pm_counters: "

/*
 * `energy` has all of them in it.  XC nodes with one accelerator have `accel_energy`, others one
 * for each: where accel0_energy is, accel_energy would be the sum.
 */
/* clang-format off */
static const struct {
	const char *file;
	enum energy_level level;
	enum energy_part part;
	uint32_t socket;
} counters[] = {
	{ "energy",        ENERGY_NODE,      ENERGY_ALL,     ENERGY_SOCKET_ANY },
	{ "cpu_energy",    ENERGY_COMPONENT, ENERGY_PACKAGE, ENERGY_SOCKET_ANY },
	{ "memory_energy", ENERGY_COMPONENT, ENERGY_MEMORY,  ENERGY_SOCKET_ANY },
	{ "accel0_energy", ENERGY_COMPONENT, ENERGY_GPU, 0 },
	{ "accel1_energy", ENERGY_COMPONENT, ENERGY_GPU, 1 },
	{ "accel2_energy", ENERGY_COMPONENT, ENERGY_GPU, 2 },
	{ "accel3_energy", ENERGY_COMPONENT, ENERGY_GPU, 3 },
	{ "accel4_energy", ENERGY_COMPONENT, ENERGY_GPU, 4 },
	{ "accel5_energy", ENERGY_COMPONENT, ENERGY_GPU, 5 },
	{ "accel6_energy", ENERGY_COMPONENT, ENERGY_GPU, 6 },
	{ "accel7_energy", ENERGY_COMPONENT, ENERGY_GPU, 7 },
	{ "accel_energy",  ENERGY_COMPONENT, ENERGY_GPU, 0 },
};
/* clang-format on */
enum { FIRST_ACCELERATOR = 3, ONE_ACCELERATOR = ARRAY_SIZE(counters) - 1 };

static_assert(ARRAY_SIZE(counters) <= PM_COUNTERS_MAX, "a place for each");

/* ---- reading ---- */

int pm_counter_parse(const char *text, const char *unit, uint64_t *ret)
{
	const size_t length = strlen(unit);
	uint64_t number;
	int r = parse_leading_u64(&text, &number);

	if (r < 0)
		return r;
	text += strspn(text, " \t");
	if (*text && *text != '\n' &&
	    (!length || strncmp(text, unit, length) != 0 || !strchr(" \t\n", text[length])))
		return -EINVAL;
	*ret = number;
	return 0;
}

static int read_counter(int root_fd, const char *file, const char *unit, uint64_t *ret)
{
	char path[64], text[128];
	int r;

	snprintf(path, sizeof(path), DIR "%s", file);
	r = file_read_small(root_fd, path, text, sizeof(text));
	return r < 0 ? r : pm_counter_parse(text, unit, ret);
}

static int read_once(int root_fd, struct pm_counters *ret)
{
	struct pm_counters p = {};
	uint64_t after;
	int r = read_counter(root_fd, "freshness", "", &p.freshness);

	if (r < 0)
		return r;
	(void)read_counter(root_fd, "startup", "", &p.startup);
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		if (read_counter(root_fd, counters[i].file, "J", &p.joules[i]) == 0 &&
		    p.joules[i] <= INT64_MAX / UJ_OF_A_JOULE)
			p.known |= UINT32_C(1) << i;
	}
	r = read_counter(root_fd, "freshness", "", &after);
	if (r < 0 || after != p.freshness)
		return r < 0 ? r : -EAGAIN;
	if (p.known & UINT32_C(1) << FIRST_ACCELERATOR)
		p.known &= ~(UINT32_C(1) << ONE_ACCELERATOR);
	*ret = p;
	return 0;
}

int pm_counters_read(int root_fd, struct pm_counters *ret)
{
	int r = -EAGAIN;

	for (unsigned int i = 0; r == -EAGAIN && i < TRIES; i++)
		r = read_once(root_fd, ret);
	return r;
}

/* ---- the source ---- */

struct source_state {
	int root_fd;
	int error; /* of the last reading */
	bool has_last, is_stale, is_stopped;
	struct pm_counters last;
	uint64_t read_ns; /* when they had last changed, and went into these: */
	struct energy_counter counters[ARRAY_SIZE(counters)];
};

static int open_source(const struct source_options *options, struct source_state *s,
		       struct error *err)
{
	struct pm_counters first;
	int r = pm_counters_read(options->root_fd, &first);

	s->root_fd = options->root_fd;
	if (r == 0 || r == -EAGAIN)
		return 0;
	return r == -ENOENT ? -ENODEV : error_set_errno(err, r, "cannot read /" DIR "freshness");
}

static void take(struct source_state *s, const struct pm_counters *now, uint64_t boot_ns)
{
	const bool is_restart = s->has_last && now->startup != s->last.startup;

	s->is_stale = s->has_last && now->freshness == s->last.freshness;
	s->is_stopped = s->is_stale && boot_ns - s->read_ns >= STOPPED_NS;
	if (s->is_stale)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		const uint64_t uj = now->joules[i] * UJ_OF_A_JOULE;

		if (!(now->known & UINT32_C(1) << i))
			continue;
		if (is_restart)
			energy_counter_restart(&s->counters[i], uj, boot_ns);
		else
			energy_counter_take(&s->counters[i], uj, boot_ns);
	}
	s->last = *now;
	s->has_last = true;
	s->read_ns = boot_ns;
}

static int add(const struct source_state *s, size_t i, struct samples *to)
{
	struct energy_reading reading = {
		.sensor = { .source = "pm_counters",
			    .level = counters[i].level,
			    .part = counters[i].part,
			    .socket = counters[i].socket,
			    .quality = ENERGY_MEASURED,
			    .rank = 10 },
		.total = s->counters[i].total,
		.boot_ns = s->read_ns,
		.is_stale = s->is_stale,
	};

	snprintf(reading.sensor.name, sizeof(reading.sensor.name), "%s", counters[i].file);
	return samples_add_energy(to, &reading);
}

static int sample(struct source_state *s, uint64_t boot_ns, struct samples *to)
{
	struct pm_counters now;
	int r = 0;

	s->error = pm_counters_read(s->root_fd, &now);
	if (s->error < 0)
		return 0;
	take(s, &now, boot_ns);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(counters); i++) {
		/* An absent accelerator reads 0. */
		if (now.known & UINT32_C(1) << i && now.joules[i])
			r = add(s, i, to);
	}
	return r;
}

static int describe(const struct source_state *s, struct strings *missing)
{
	if (s->error == -EAGAIN)
		return strings_add(missing, LABEL "they changed while they were read, three times");
	if (s->error < 0)
		return strings_add(missing, LABEL "cannot read /" DIR ": %s", strerror(-s->error));
	return s->is_stopped ? strings_add(missing, LABEL
					   "the node's controller does not update them any more")
			     : 0;
}

const struct source source_pm_counters = {
	.name = "pm_counters",
	.label = LABEL,
	.help = "Read the energy counters of a Cray node: node, processors, memory, accelerators.",
	.has_energy = true,
	.is_for_jobs = true,
	.size = sizeof(struct source_state),
	.open = open_source,
	.sample = sample,
	.describe = describe,
};
