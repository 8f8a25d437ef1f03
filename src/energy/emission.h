/* SPDX-License-Identifier: MIT */
/*
 * emission - the emissions of energy, by factors in g CO2e per kWh.
 *
 * A factor holds for a zone and a time, and is of a kind.  Kinds are never mixed: averages are for
 * accounts, marginal ones for advice.  Nothing computed is stored, so a corrected factor corrects
 * all results.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum emission_kind {
	EMISSION_AVERAGE_LIFECYCLE, /* of all that the zone consumes, plants and fuels from their
				       making on */
	EMISSION_AVERAGE_DIRECT, /* the same, burning alone */
	EMISSION_MARGINAL, /* of one more kWh */
	EMISSION_FORECAST, /* of a time to come: for advice, in no account */
	EMISSION_KINDS,
};
extern const char *const emission_kinds[EMISSION_KINDS + 1]; /* "average_lifecycle"..., NULL */

#define EMISSION_ZONE_SIZE 32
#define EMISSION_HEAD "zone,kind,from,until,grams_per_kwh"
/* Per kWh: a hundred times what the worst plant emits. */
#define EMISSION_MILLIGRAMS_MAX UINT64_C(100000000)

struct emission_factor {
	char zone[EMISSION_ZONE_SIZE]; /* "DEU", "FR-COR": as the table has it */
	enum emission_kind kind;
	uint64_t from_ns, until_ns; /* since the epoch */
	uint64_t milligrams; /* per kWh */
};

struct emission_factors { /* begins as {} */
	struct emission_factor *items; /* owned; by zone, kind and from, a correction behind the
					  former */
	size_t count, room;
};

/*
 * Add what a table says: lines of "zone,kind,from,until,grams_per_kwh", that one as the head, with
 * ",source" behind it or without, times as RFC 3339; lines that begin with '#' are none.  @name: of
 * the table, for errors.  @text is cut to pieces.  -EINVAL: *err names the line; *to is to be
 * cleared in any case.
 */
int emission_factors_parse(char *text, const char *name, struct emission_factors *to,
			   struct error *err);
/* The same of a file, of at most 16 MiB. */
int emission_factors_read(const char *path, struct emission_factors *to, struct error *err);
int emission_factors_add(struct emission_factors *to, const struct emission_factor *one); /* -ENOMEM
											   */
void emission_factors_clear(struct emission_factors *factors);

/* The one that holds at @when_ns: of several, the one that begins last; if all have ended, the last
 * one; the caller reports its age. NULL: none had begun. */
const struct emission_factor *emission_factor_at(const struct emission_factors *factors,
						 const char *zone, enum emission_kind kind,
						 uint64_t when_ns);

/* Micrograms of CO2e, rounded to the nearest. */
uint64_t emission_of(uint64_t microjoules, const struct emission_factor *factor);

/* Further settings of a site, in thousandths. */
struct emission_terms {
	uint64_t pue; /* of what the building takes for each unit of the machines; 0: not known */
	uint64_t embodied; /* grams for a core and an hour: what making the machines emitted */
	uint64_t tariff; /* of the currency, for a kWh; 0: not known */
};

/* A number such as "1.25", up to 100,000, in thousandths.  -EINVAL. */
int emission_parse_number(const char *text, uint64_t *ret);

/* Emissions and cost of jobs. */
struct emission_sum { /* begins as {} */
	uint64_t microjoules, estimated_microjoules;
	uint64_t micrograms; /* by factors, of what the machines took */
	uint64_t unknown; /* entries without a factor: then the sum is not known */
	uint64_t core_ns;
	bool lacks_cores; /* of a job: core_ns is not of all */
};
/* @factor: NULL: there is none. */
void emission_sum_add(struct emission_sum *sum, uint64_t microjoules, bool is_estimated,
		      const struct emission_factor *factor);
/* Micrograms of what the building takes beyond its machines, and of making these; millionths of the
 * currency for all the energy. */
uint64_t emission_overhead(const struct emission_sum *sum, const struct emission_terms *terms);
uint64_t emission_embodied(const struct emission_sum *sum, const struct emission_terms *terms);
uint64_t emission_cost(const struct emission_sum *sum, const struct emission_terms *terms);
