/* SPDX-License-Identifier: MIT */
#include "server/emitted.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/decimal.h"
#include "basic/humanize.h"
#include "energy/emission.h"
#include "energy/start.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "server/factors.h"
#include "server/server.h"
#include "server/server_config.h"

#define NS UINT64_C(1000000000)
#define MILLIONTHS 6

static const struct emission_factor *factor_of(const struct server *s, enum emission_kind kind,
					       uint64_t when_ns)
{
	const char *zone = s->config->emission_zone;
	const struct emission_factor *live = emission_factor_at(&s->fetched, zone, kind, when_ns),
				     *table = emission_factor_at(&s->factors, zone, kind, when_ns);

	/* for a time of which the provider said nothing the table holds, if there is one */
	return live && (when_ns < live->until_ns || !table) ? live : table;
}

const struct emission_factor *emitted_factor(const struct server *s, uint64_t when_ns)
{
	return factor_of(s, (enum emission_kind)s->config->emission_kind, when_ns);
}

static bool is_fetched(const struct server *s, unsigned int kind)
{
	return s->config->emission_provider && factors_kind(s->config->emission_provider) == kind;
}

static bool knows_factors(const struct server *s)
{
	return s->factors.count || s->fetched.count;
}

/* A yearly one goes on until the next is known. */
void emitted_put_metrics(const struct server *s, FILE *out)
{
	static const struct {
		const char *name, *help;
	} families[] = {
		{ "jobmeter_emission_factor_grams_per_kwh", "g CO2e per kWh that hold now." },
		{ "jobmeter_emission_factor_age_seconds",
		  "Since when its time is over; 0: it holds." },
	};
	const uint64_t now_ns = clock_now_ns(CLOCK_REALTIME);

	for (size_t i = 0; i < ARRAY_SIZE(families) && knows_factors(s); i++) {
		fprintf(out,
			"# HELP %s %s\n"
			"# TYPE %s gauge\n",
			families[i].name, families[i].help, families[i].name);
		/* that of accounts, and what a provider says for advice */
		for (unsigned int kind = 0; kind < EMISSION_KINDS; kind++) {
			const struct emission_factor *f =
				kind == s->config->emission_kind || is_fetched(s, kind)
					? factor_of(s, (enum emission_kind)kind, now_ns)
					: NULL;
			char number[DECIMAL_SIZE];

			if (!f)
				continue;
			if (i == 0)
				decimal_format(number, f->milligrams, 3);
			else
				snprintf(number, sizeof(number), "%" PRIu64,
					 now_ns > f->until_ns ? (now_ns - f->until_ns) / NS : 0);
			fprintf(out, "%s{zone=\"%s\",kind=\"%s\"} %s\n", families[i].name, f->zone,
				emission_kinds[kind], number);
		}
	}
}

static void put_source(const struct server *s, struct document *d)
{
	const struct server_config *config = s->config;

	document_put_string(d, "kind", emission_kinds[config->emission_kind]);
	document_put_string(d, "zone", *config->emission_zone ? config->emission_zone : NULL);
	document_put_string(d, "source",
			    is_fetched(s, config->emission_kind)
				    ? factors_providers[config->emission_provider]
			    : *config->emission_factors ? config->emission_factors
							: "emissions.grams_per_kwh");
}

/* ---- what is to come ---- */

int emitted_find_start(const struct server *s, struct start_question *question, struct start *ret,
		       const char **ret_source)
{
	question->zone = s->config->emission_zone;
	question->kind = factors_kind(s->config->emission_provider);
	question->now_ns = clock_now_ns(CLOCK_REALTIME);
	*ret_source = factors_providers[s->config->emission_provider];
	if (start_find(&s->fetched, question, ret) == 0)
		return 0;
	*ret_source = s->config->emission_factors;
	question->kind = (enum emission_kind)s->config->emission_kind;
	return start_find(&s->factors, question, ret);
}

void emitted_put_forecast(const struct server *s, FILE *out)
{
	const struct emission_factors *tables[] = { &s->fetched, &s->factors };
	const uint64_t now_ns = clock_now_ns(CLOCK_REALTIME);
	bool is_empty = true;

	for (size_t t = 0; is_empty && t < ARRAY_SIZE(tables); t++) {
		for (size_t i = 0; i < tables[t]->count; i++) {
			const struct emission_factor *f = &tables[t]->items[i];
			char grams[DECIMAL_SIZE];

			if (f->kind != EMISSION_FORECAST || f->until_ns <= now_ns ||
			    strcmp(f->zone, s->config->emission_zone) != 0 ||
			    emission_factor_at(tables[t], f->zone, f->kind, f->from_ns) != f)
				continue; /* of one that was corrected */
			fprintf(out, "%" PRIu64 " %" PRIu64 " %s\n", f->from_ns / NS,
				f->until_ns / NS, decimal_format(grams, f->milligrams, 3));
			is_empty = false;
		}
	}
}

bool emitted_price(const struct server *s, uint64_t when_ns, uint64_t *ret)
{
	const struct emission_factor *row =
		emission_factor_at(&s->tariffs, s->config->emission_zone, EMISSION_TARIFF, when_ns);

	const bool has_row = row && when_ns < row->until_ns; /* unlike a factor, a price ends */

	*ret = has_row ? row->milligrams : s->terms.tariff;
	return has_row || *ret;
}

double emitted_cost(const struct server *s, double joules)
{
	const uint64_t microjoules = (uint64_t)fmin(fmax(joules, 0) * 1e6, 1e18);
	struct emission_sum sum = {};
	uint64_t price;

	if (!(joules >= 0) || !emitted_price(s, clock_now_ns(CLOCK_REALTIME), &price))
		return NAN;
	emission_sum_price(&sum, microjoules, true, price);
	return (double)emission_cost(&sum, &s->terms) / 1e6;
}

/* ---- entries ---- */

struct entries {
	const struct server *server;
	struct emission_sum sum;
};

static void put_entry(void *context, uint64_t start_ns, uint64_t microjoules, struct document *d)
{
	struct entries *e = context;
	const struct emission_factor *factor = emitted_factor(e->server, start_ns);

	emission_sum_add(&e->sum, microjoules, false, factor);
	if (!factor)
		return;
	document_key(d, "grams");
	document_decimal(d, emission_of(microjoules, factor), MILLIONTHS);
	document_key(d, "grams_per_kwh");
	document_decimal(d, factor->milligrams, 3);
}

int emitted_put_ledger(const struct server *s, const struct job_filter *filter,
		       const struct store_who *who, struct document *d, struct error *err)
{
	struct entries entries = { .server = s };
	const struct store_ledger_more more = { put_entry, &entries };
	int r = store_format_ledger(s->store, filter, who, knows_factors(s) ? &more : NULL, d, err);

	if (r < 0 || !knows_factors(s))
		return r;
	document_begin_map_of(d, "emissions");
	document_key(d, "grams");
	document_decimal(d, entries.sum.micrograms, MILLIONTHS);
	put_source(s, d);
	document_put_unsigned(d, "entries_without_factor", entries.sum.unknown);
	document_end_map(d);
	return 0;
}

/* ---- jobs ---- */

struct jobs { /* read one entry after the other: the last of a job, or of a key, tells its sum */
	const struct server *server;
	const char *by;
	struct document *document; /* NULL: in words alone */
	char *words;
	struct emission_sum sum;
	uint64_t jobs, lacking; /* of a key: with entries, and without */
	uint64_t job; /* the one that was counted last */
	char *key, *cluster, *manager, *id; /* of that, or of the key: owned */
	uint64_t start_ns, seen;
};

/* Averages are for accounts; what one more kWh emits is for advice. */
static bool knows_grams(const struct jobs *j)
{
	return knows_factors(j->server) && !j->sum.unknown &&
	       j->server->config->emission_kind != EMISSION_MARGINAL;
}

enum { GRAMS, OVERHEAD, EMBODIED, COST, NUMBERS };

static void take_numbers(const struct jobs *j, struct value ret[NUMBERS])
{
	const struct emission_terms *terms = &j->server->terms;
	const bool knows = knows_grams(j);

	ret[GRAMS] = (struct value){ j->sum.micrograms & VALUE_MAX, knows };
	ret[OVERHEAD] = (struct value){ emission_overhead(&j->sum, terms) & VALUE_MAX,
					knows && terms->pue };
	ret[EMBODIED] = (struct value){ emission_embodied(&j->sum, terms) & VALUE_MAX,
					terms->embodied && !j->sum.lacks_cores };
	ret[COST] = (struct value){ emission_cost(&j->sum, terms) & VALUE_MAX, !j->sum.unpriced };
}

/* "12.4 g CO2e (average_lifecycle), 3.1 g by PUE 1.25, 2 g embodied; 0.25 EUR" */
static char *make_words(const struct jobs *j)
{
	const char *about = j->sum.estimated_microjoules ? "~" : "";
	char *text = NULL, number[DECIMAL_SIZE];
	struct value numbers[NUMBERS];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	take_numbers(j, numbers);
	if (numbers[GRAMS].is_known)
		fprintf(out, "%s%s CO2e (%s)", about, humanize_mass(numbers[GRAMS].number).text,
			emission_kinds[j->server->config->emission_kind]);
	if (numbers[OVERHEAD].is_known)
		fprintf(out, ", %s%s by PUE %s", about,
			humanize_mass(numbers[OVERHEAD].number).text,
			decimal_format(number, j->server->terms.pue, 3));
	if (numbers[EMBODIED].is_known)
		fprintf(out, "%s%s embodied", ftell(out) ? ", " : "",
			humanize_mass(numbers[EMBODIED].number).text);
	if (numbers[COST].is_known)
		fprintf(out, "%s%s%.4g %s", ftell(out) ? "; " : "", about,
			(double)numbers[COST].number / 1e6, j->server->config->currency);
	fclose(out);
	return text;
}

static void put_numbers(const struct jobs *j, struct document *d)
{
	static const char *const names[NUMBERS] = { "emissions.grams", "emissions.overhead_grams",
						    "emissions.embodied_grams", "cost" };
	struct value numbers[NUMBERS];

	take_numbers(j, numbers);
	for (size_t i = 0; i < NUMBERS; i++)
		store_put_value(d, names[i], numbers[i], MILLIONTHS);
	document_key(d, "emissions.joules");
	document_decimal(d, j->sum.microjoules, MILLIONTHS);
	document_key(d, "emissions.estimated_joules");
	document_decimal(d, j->sum.estimated_microjoules, MILLIONTHS);
	document_put_string(d, "emissions.kind",
			    knows_grams(j) ? emission_kinds[j->server->config->emission_kind]
					   : NULL);
	document_put_string(d, "currency",
			    numbers[COST].is_known ? j->server->config->currency : NULL);
}

static void end_sum(struct jobs *j)
{
	struct document *d = j->document;

	if (j->jobs && d) {
		document_begin_map(d);
		if (j->by) {
			document_put_string(d, j->by, *j->key ? j->key : NULL);
			document_put_unsigned(d, "emissions.jobs", j->jobs);
			document_put_unsigned(d, "emissions.jobs_without", j->lacking);
		} else {
			_cleanup_free_ char *words = make_words(j);

			document_put_string(d, "cluster", *j->cluster ? j->cluster : NULL);
			document_put_string(d, "manager", j->manager);
			document_put_string(d, "id", j->id);
			document_put_time(d, "start", j->start_ns);
			document_put_string(d, "text", words && *words ? words : NULL);
		}
		put_numbers(j, d);
		document_end_map(d);
	} else if (j->jobs && !j->words) {
		j->words = make_words(j);
	}
	j->sum = (struct emission_sum){};
	j->jobs = j->lacking = 0;
}

static int copy_text(char **to, const char *text)
{
	free(*to);
	*to = strdup(text ? text : "");
	return *to ? 0 : -ENOMEM;
}

static int take_share(void *context, const struct store_share *share)
{
	struct jobs *j = context;
	bool is_new = !j->seen || share->job != j->job, is_priced;
	uint64_t price;
	int r = 0;

	if (!j->seen || (j->by ? strcmp(j->key, share->key) != 0 : is_new)) {
		end_sum(j);
		j->start_ns = share->job_start_ns;
		r = copy_text(&j->key, share->key) | copy_text(&j->cluster, share->cluster) |
		    copy_text(&j->manager, share->manager) | copy_text(&j->id, share->id);
	}
	if (is_new) {
		j->job = share->job;
		j->seen++;
		j->jobs += share->has_entry;
		j->lacking += !share->has_entry;
		j->sum.core_ns += share->has_entry ? share->core_ns.number : 0;
		j->sum.lacks_cores |= share->has_entry && !share->core_ns.is_known;
	}
	if (share->has_entry) {
		emission_sum_add(&j->sum, share->microjoules, share->is_estimated,
				 emitted_factor(j->server, share->start_ns));
		is_priced = emitted_price(j->server, share->start_ns, &price);
		emission_sum_price(&j->sum, share->microjoules, is_priced, price);
	}
	return r < 0 ? -ENOMEM : 0;
}

static int read_jobs(struct jobs *j, const struct job_filter *filter, const struct store_who *who,
		     struct error *err)
{
	int r = 0;

	if (knows_factors(j->server) || j->server->tariffs.count || j->server->terms.tariff ||
	    j->server->terms.embodied)
		r = store_read_shares(j->server->store, j->by, filter, who, take_share, j, err);
	if (r == 0)
		end_sum(j);
	if (r == -ENOMEM)
		error_set_errno(err, r, "cannot add up the ledger");
	free(j->key);
	free(j->cluster);
	free(j->manager);
	free(j->id);
	return r;
}

int emitted_put(const struct server *s, const char *by, const struct job_filter *filter,
		const struct store_who *who, struct document *d, struct error *err)
{
	struct jobs jobs = { .server = s, .by = by, .document = d };
	int r;

	document_begin_list_of(d, "emissions");
	r = read_jobs(&jobs, filter, who, err);
	document_end_list(d);
	document_put_time(d, "next",
			  !by && filter->limit && jobs.seen >= filter->limit ? jobs.start_ns : 0);
	if (knows_factors(s))
		put_source(s, d);
	return r;
}

char *emitted_words(const struct server *s, const struct job_filter *job,
		    const struct store_who *who)
{
	struct jobs jobs = { .server = s };
	struct error unused;

	(void)read_jobs(&jobs, job, who, &unused);
	return jobs.words;
}
