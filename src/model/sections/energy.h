/* SPDX-License-Identifier: MIT */
/*
 * energy - where a job's energy comes from: an entry for each part, source and quality.  Entries do
 * not overlap: their sum is the job's energy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/energy_sensor.h"
#include "model/reading.h"

struct parts;
struct record;

#define ENERGY_SOURCE_SIZE 24
#define ENERGY_POLICY_SIZE 12
#define ENERGY_ENTRIES_MAX 16

struct energy_entry {
	char source[ENERGY_SOURCE_SIZE]; /* "rapl", "specpower" */
	char idle_policy[ENERGY_POLICY_SIZE]; /* whose idle power is: "allocated" */
	enum energy_level level; /* of the sensor */
	enum energy_part part; /* what it saw; of the node beside others: what these did not see */
	enum energy_quality quality;
	uint64_t uncertainty_permille; /* plus or minus; 0: not known */
	uint64_t uj;
};

struct energy {
	bool is_known;
	struct energy_entry *items; /* owned: a node has thousands of these, most of one entry */
	size_t count;
};

const struct energy *energy_of(const struct record *r);
const struct energy *energy_of_parts(const struct parts *p); /* never NULL */

/* Add to the entry of that source, part, quality and policy; uncertainties become their mean, by
 * energy.  One too many becomes part of the last.  -ENOMEM. */
int energy_add(struct energy *e, const struct energy_entry *entry);

/* The worst of any entry with energy in it: an estimate is worse than a share of what was measured.
 */
enum energy_quality energy_quality(const struct energy *e);
/* The highest: of the node where a sensor of the whole node is among them. */
enum energy_level energy_level(const struct energy *e);
/* Of the sum, in thousandths; not known where that of any entry is not. */
struct value energy_uncertainty(const struct energy *e);
/* Any sensor of a component is among them. */
bool energy_has_components(const struct energy *e);
/* The sum over entries of the part and quality of the @i-th, if it is the first of them. */
bool energy_of_component(const struct energy *e, size_t i, uint64_t *ret_uj);
uint64_t energy_total(const struct energy *e);
