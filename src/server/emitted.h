/* SPDX-License-Identifier: MIT */
/* emitted - what jobs emitted and cost, by the ledger, the site's factors and its tariff.  Nothing
 * of it is stored: a corrected factor corrects every answer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct document;
struct emission_factor;
struct error;
struct job_filter;
struct server;
struct store_who;

/* Of the zone and the kind that the settings name.  NULL: none was known then. */
const struct emission_factor *emitted_factor(const struct server *s, uint64_t when_ns);

struct start;
struct start_question;
/* Of @question the slack and the lengths.  *ret_source: whose forecasts they are.  -ENODATA: those
 * of the zone, if there are any, do not cover a run that starts now. */
int emitted_find_start(const struct server *s, struct start_question *question, struct start *ret,
		       const char **ret_source);
/* A line "FROM UNTIL GRAMS_PER_KWH" for each interval from now on, times in seconds since the
 * epoch; none: there is no forecast. */
void emitted_put_forecast(const struct server *s, FILE *out);
/* In the site's currency, of so many joules and what the building takes for them; NAN: not known.
 */
double emitted_cost(const struct server *s, double joules);
/* Thousandths of the currency for a kWh at that time.  False: not known. */
bool emitted_price(const struct server *s, uint64_t when_ns, uint64_t *ret);

/* The factor that holds now, and since when its time is over. */
void emitted_put_metrics(const struct server *s, FILE *out);

/* store_format_ledger(), with what each entry emitted, and "emissions" of all. */
int emitted_put_ledger(const struct server *s, const struct job_filter *filter,
		       const struct store_who *who, struct document *d, struct error *err);

/* "emissions": a map for each job (@by NULL), or for all of one @by, that has entries in the
 * ledger; "next", where the filter's limit ended them: when the last of these jobs started.  Errors
 * are those of store_read_shares(). */
int emitted_put(const struct server *s, const char *by, const struct job_filter *filter,
		const struct store_who *who, struct document *d, struct error *err);

/* The same of one job in words.  NULL: nothing is known.  The caller frees. */
char *emitted_words(const struct server *s, const struct job_filter *job,
		    const struct store_who *who);
