/* SPDX-License-Identifier: MIT */
/*
 * emission - the emissions of energy, by factors in g CO2e per kWh.
 *
 * A factor is valid for a zone and a time, and is of a kind. Kinds are never mixed: averages are
 * for accounts, marginal ones for advice. No result is stored, so a corrected factor corrects all
 * results.
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
	EMISSION_TARIFF, /* no emission: a kWh's price, in thousandths of the currency */
	EMISSION_KINDS,
};
extern const char *const emission_kinds[EMISSION_KINDS + 1]; /* "average_lifecycle"..., NULL */

#define EMISSION_ZONE_SIZE 32
#define EMISSION_HEAD "zone,kind,from,until,grams_per_kwh"
/* Per kWh: a hundred times the emissions of the worst plant. */
#define EMISSION_MILLIGRAMS_MAX UINT64_C(100000000)

struct emission_factor {
	char zone[EMISSION_ZONE_SIZE]; /* "DEU", "FR-COR": as the table has it */
	enum emission_kind kind;
	uint64_t from_ns, until_ns; /* since the epoch */
	uint64_t milligrams; /* per kWh; of a tariff the price */
	size_t line; /* of the table it was read from: corrections stand behind */
	size_t back; /* so many rows before it, in a table, is the one of the series up to here that
			ends last */
};

struct emission_factors { /* begins as {} */
	struct emission_factor *items; /* owned; by zone, kind and from, a correction behind the
					  former */
	size_t count, room;
};

/*
 * Add a table: a head "zone,kind,from,until,grams_per_kwh", or that with ",source", then such
 * lines, with times as RFC 3339; lines that begin with '#' are comments. @name: of the table, for
 * errors. @text is cut to pieces. -EINVAL: *err names the line; *to must be cleared in any case.
 */
int emission_factors_parse(char *text, const char *name, struct emission_factors *to,
			   struct error *err);
/* The same of a file, of at most 16 MiB. */
int emission_factors_read(const char *path, struct emission_factors *to, struct error *err);
int emission_factors_add(struct emission_factors *to, const struct emission_factor *one); /* -ENOMEM
											   */
void emission_factors_clear(struct emission_factors *factors);

/* The factor at @when_ns: of several, the one that begins last. When all have ended, the last
 * one remains until the next is known, and the caller reports its age; in a gap between two it
 * remains for as long as it was valid. NULL: unknown. */
const struct emission_factor *emission_factor_at(const struct emission_factors *factors,
						 const char *zone, enum emission_kind kind,
						 uint64_t when_ns);

/* Micrograms of CO2e, rounded to the nearest. */
uint64_t emission_of(uint64_t microjoules, const struct emission_factor *factor);

/* Further settings of a site, in thousandths. */
struct emission_terms {
	uint64_t pue; /* of the building, for each unit of the machines; 0: not known */
	uint64_t embodied; /* of making the machines: grams for a core and an hour */
	uint64_t tariff; /* of the currency, for a kWh of which no table has the price; 0: not known
			  */
};

/* A number such as "1.25", up to 100,000, in thousandths.  -EINVAL. */
int emission_parse_number(const char *text, uint64_t *ret);

/* Emissions and cost of jobs. */
struct emission_sum { /* begins as {} */
	uint64_t microjoules, estimated_microjoules;
	uint64_t micrograms; /* by factors, of the machines' energy */
	uint64_t unknown; /* entries without a factor: then the sum is not known */
	unsigned __int128 priced; /* microjoules x thousandths of the currency for a kWh */
	uint64_t unpriced; /* entries without a price: then the cost is not known */
	uint64_t core_ns;
	bool lacks_cores; /* of a job: core_ns is not of all */
};
/* @factor: NULL: none. */
void emission_sum_add(struct emission_sum *sum, uint64_t microjoules, bool is_estimated,
		      const struct emission_factor *factor);
/* @thousandths: of the currency, for a kWh. */
void emission_sum_price(struct emission_sum *sum, uint64_t microjoules, bool is_known,
			uint64_t thousandths);
/* Micrograms of the building beyond its machines, and of making these; millionths of the
 * currency for all the energy. */
uint64_t emission_overhead(const struct emission_sum *sum, const struct emission_terms *terms);
uint64_t emission_embodied(const struct emission_sum *sum, const struct emission_terms *terms);
uint64_t emission_cost(const struct emission_sum *sum, const struct emission_terms *terms);
