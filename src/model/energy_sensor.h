/* SPDX-License-Identifier: MIT */
/*
 * energy sensor - what a source of energy figures says of one sensor: which part of the node it
 * sees, how good it is, and how much went through it since the source was opened.
 *
 * A source adds one reading for each of its sensors, at each sample, to the samples that it is
 * given (samples_add_energy()); slow ones alike, and fast ones have is_for_jobs.  Which sensors are
 * counted, so that nothing is counted twice, is decided in one place (energy/sensor_choice.h), from
 * the members below: a source says what its sensor sees, and does not ask who else sees it.
 *
 * Energies are microjoules, powers microwatts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Node contains components, a component contains parts.  A part is shown and never added. */
enum energy_level {
	ENERGY_NODE, /* all of it, up to its power supplies or its main board */
	ENERGY_COMPONENT, /* those of one source and different ENERGY_PART do not overlap, unless
			     `contains` says so */
	ENERGY_PART, /* inside a component of the same source: cores of a package */
	ENERGY_LEVEL_COUNT,
};

enum energy_part {
	ENERGY_ALL, /* the node */
	ENERGY_PACKAGE, /* a processor with its cores, caches and uncore; not its memory */
	ENERGY_MEMORY, /* DRAM beside the package */
	ENERGY_GPU,
	ENERGY_MODULE, /* boards that carry several of these: `contains` says which */
	ENERGY_CORES, /* from here on inside a package */
	ENERGY_UNCORE,
	ENERGY_IO,
	ENERGY_PART_COUNT,
};

enum energy_quality {
	ENERGY_MEASURED, /* a sensor of the hardware's own */
	ENERGY_ATTRIBUTED, /* somebody's share of what was measured */
	ENERGY_ESTIMATED, /* from a model of the machine */
	ENERGY_GAP, /* nothing is known of that time; it stands in for what went on before */
	ENERGY_QUALITY_COUNT,
};

#define ENERGY_SOCKET_ANY UINT32_MAX
#define ENERGY_SENSORS_MAX 256 /* of a node */
#define ENERGY_NAME_SIZE 64

struct energy_sensor {
	const char *source; /* a literal, the word that people read: "rapl", "dcmi", "redfish" */
	char name[ENERGY_NAME_SIZE]; /* as the node names it; one within its source */
	enum energy_level level;
	enum energy_part part;
	uint32_t socket; /* processor, GPU or module number; ENERGY_SOCKET_ANY */
	uint32_t contains; /* of a component: 1u << ENERGY_... of the components inside; where any
			      of those is found on its socket, it is not counted itself */
	enum energy_quality quality;
	/* Of sensors of one level, part and socket, those of the lowest rank are counted: 10
	 * counters of energy in the node, 20 powers that were integrated, 30 what a BMC says, 90
	 * estimates. */
	unsigned int rank;
	unsigned int uncertainty_permille; /* plus or minus; 0: not known */
	uint64_t idle_uw; /* what it shows when nothing runs; 0: not known, it is learned */
	uint64_t max_uw; /* and when all runs; 0: not known */
};

/* What a counter, or a power that is integrated, adds up to since the source was opened.  Made by
 * energy/sensor_total.h alone. */
struct energy_total {
	uint64_t total_uj; /* never falls; without gaps */
	/* Of times in which nothing is known (two wraps were possible, the power was too old): how
	 * long these were, and what the power before would have made of them.  Never fall. */
	uint64_t gap_ns, gap_uj;
	uint64_t power_uw; /* the last that is known: a counter's over its last interval */
	bool has_power;
	/* Of a counter of the hardware's or the kernel's own, which goes on while no agent is
	 * there: what it says itself, and its range, so that the next agent goes on from it. */
	bool has_raw;
	uint64_t raw_uj, range_uj;
};

struct energy_reading {
	struct energy_sensor sensor;
	struct energy_total total;
	uint64_t boot_ns; /* of the moment for which the total is right, by CLOCK_BOOTTIME */
	bool is_stale; /* the hardware gave no new value: shown, and no interval ends with it */
};

struct energy_readings { /* begins as {} */
	struct energy_reading *items; /* owned */
	size_t count, room;
	uint64_t unheld_uj; /* of GPUs, while nobody held them: a part of what their sensors say */
};

/* -ENOMEM; -ENOSPC: over ENERGY_SENSORS_MAX. */
int energy_readings_add(struct energy_readings *list, const struct energy_reading *one);
int energy_readings_add_all(struct energy_readings *to, const struct energy_readings *from);
void energy_readings_clear(struct energy_readings *list);

/* "node", "component", "part"; "node", "package", "memory"...; "measured"... */
const char *energy_level_name(enum energy_level level);
const char *energy_part_name(enum energy_part part);
const char *energy_quality_name(enum energy_quality quality);
extern const char *const energy_level_names[ENERGY_LEVEL_COUNT];
extern const char *const energy_part_names[ENERGY_PART_COUNT];
extern const char *const energy_quality_names[ENERGY_QUALITY_COUNT];
