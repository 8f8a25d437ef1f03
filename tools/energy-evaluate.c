/* SPDX-License-Identifier: MIT */
/*
 * How wrong are the models of energy?  Reads a public table, and prints errors as rows of Markdown.
 *
 *     build/tools/energy-evaluate specpower-2026-03-09.csv nx12-rapl-basic.csv
 *
 * Of SPECpower's servers: each fifth, which src/energy/cpu_power_table.inc does not know.  Of
 * kepler-model-db's trace of one server with RAPL: models are fitted to the first 70 % of the time,
 * and compared with the rest.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"
#include "energy/cpu_power.h"
#include "power_model.h"

#define FIELDS_MAX 32
#define ROWS_MAX 100000
#define LINE_SIZE 4096
#define HELD_OUT 5
#define FAMILY_YEAR 2017 /* families are of machines since then */
#define TRAINED_PERCENT 70

/* ---- CSV ---- */

static size_t split(char *line, char *fields[FIELDS_MAX])
{
	size_t count = 0;

	line[strcspn(line, "\r\n")] = '\0';
	while (count < FIELDS_MAX) {
		char *end;

		if (*line == '"') {
			fields[count++] = ++line;
			end = strchr(line, '"');
			if (!end)
				break;
			*end = '\0';
			end = *(end + 1) ? end + 1 : NULL;
		} else {
			fields[count++] = line;
			end = strchr(line, ',');
		}
		if (!end)
			break;
		*end = '\0';
		line = end + 1;
	}
	return count;
}

static size_t find(char *const *fields, size_t count, const char *name)
{
	size_t i = 0;

	while (i < count && strcmp(fields[i], name) != 0)
		i++;
	return i;
}

/* Ends the program where there is no such column: nothing stands in for what is not known. */
static double number_at(char *const *fields, char *const *head, size_t columns, const char *name)
{
	const size_t i = find(head, columns, name);

	if (i == columns) {
		fprintf(stderr, "energy-evaluate: the table lacks the column '%s'\n", name);
		exit(1);
	}
	return atof(fields[i]);
}

/* ---- errors ---- */

struct errors {
	double *items;
	size_t count;
};

static void add_error(struct errors *e, double told, double truth)
{
	if (e->count < ROWS_MAX && truth > 0)
		e->items[e->count++] = fabs(told - truth) / truth * 100;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_errors(const char *what, struct errors *e)
{
	double sum = 0;

	qsort(e->items, e->count, sizeof(*e->items), compare);
	for (size_t i = 0; i < e->count; i++)
		sum += e->items[i];
	if (e->count)
		printf("| %s | %zu | %.1f %% | %.1f %% | %.1f %% |\n", what, e->count,
		       sum / (double)e->count, e->items[e->count / 2], e->items[e->count * 9 / 10]);
	free(e->items);
	*e = (struct errors){};
}

static struct errors begin_errors(void)
{
	return (struct errors){ .items = calloc(ROWS_MAX, sizeof(double)) };
}

/* ---- SPECpower ---- */

static void add_errors(struct errors e[3], const struct cpu_power *p, double idle, double most)
{
	const double told_idle = (double)p->idle_uw / 1e6, told_most = (double)p->max_uw / 1e6;

	add_error(&e[0], told_idle, idle);
	add_error(&e[1], (told_idle + told_most) / 2, (idle + most) / 2);
	add_error(&e[2], told_most, most);
}

/* With nothing to do, half loaded (in the middle of both, as the model has it too) and at full
 * load. */
static void evaluate_servers(FILE *in, char *const *head, size_t columns)
{
	static const char *const names[] = { "avg. watts @ active idle", "avg. watts @ 100%",
					     "CPU Description", "Total Threads", "Published" };
	static const char *const rungs[] = { "specpower", "specpower-family" };
	static const char *const moments[] = { "idle", "half way", "full load" };
	struct errors errors[ARRAY_SIZE(rungs)][ARRAY_SIZE(moments)];
	size_t at[ARRAY_SIZE(names)], number = 0, unknown = 0; /* models that are in no row */
	char line[LINE_SIZE], *fields[FIELDS_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		at[i] = find(head, columns, names[i]);
	for (size_t r = 0; r < ARRAY_SIZE(rungs); r++) {
		for (size_t m = 0; m < ARRAY_SIZE(moments); m++)
			errors[r][m] = begin_errors();
	}
	for (; fgets(line, sizeof(line), in); number++) {
		double idle, most;
		unsigned int threads;
		struct cpu_power p;
		char *family;

		if (split(line, fields) < columns || number % HELD_OUT != HELD_OUT - 1)
			continue;
		idle = atof(fields[at[0]]);
		most = atof(fields[at[1]]);
		if (!(idle > 0) || !(most > idle))
			continue;
		threads = (unsigned int)atoi(fields[at[3]]);
		if (cpu_power_find(fields[at[2]], threads, 0, &p) &&
		    strcmp(p.source, rungs[0]) == 0)
			add_errors(errors[0], &p, idle, most);
		else
			unknown++;
		/* as if a virtual machine did not say which model it is */
		family = strpbrk(fields[at[2]], "0123456789");
		if (family && strlen(fields[at[4]]) >= 4 &&
		    atoi(fields[at[4]] + strlen(fields[at[4]]) - 4) >= FAMILY_YEAR) {
			*family = '\0';
			if (cpu_power_find(fields[at[2]], threads, 0, &p))
				add_errors(errors[1], &p, idle, most);
		}
	}
	for (size_t r = 0; r < ARRAY_SIZE(rungs); r++) {
		for (size_t m = 0; m < ARRAY_SIZE(moments); m++) {
			char what[64];

			snprintf(what, sizeof(what), "%s, %s", rungs[r], moments[m]);
			print_errors(what, &errors[r][m]);
		}
	}
	printf("| model that is not in the table | %zu | - | - | - |\n", unknown);
}

/* ---- a trace with RAPL ---- */

static const char *const counters[] = { "bpf_cpu_time_us", "cpu_cycles", "cpu_instructions",
					"cache_miss" };
static const char *const sensors[] = { "package_power", "dram_power" };
#define COUNTERS ARRAY_SIZE(counters)

struct moment {
	double time, counters[COUNTERS], powers[ARRAY_SIZE(sensors)];
};

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

/* @mask: a bit a counter. */
static void evaluate_model(const char *name, unsigned int mask, size_t sensor,
			   const struct moment *moments, size_t count)
{
	struct power_model model = { .terms = 1 };
	struct errors errors = begin_errors();
	const size_t trained = count * TRAINED_PERCENT / 100;
	double greatest[COUNTERS] = {};

	for (size_t i = 0; i < trained; i++) {
		for (size_t k = 0; k < COUNTERS; k++)
			greatest[k] = fmax(greatest[k], moments[i].counters[k]);
	}
	for (size_t k = 0; k < COUNTERS; k++)
		model.terms += mask >> k & 1;
	for (size_t i = 0; i < count; i++) {
		double terms[POWER_TERMS_MAX] = { 1 };
		size_t used = 1;

		for (size_t k = 0; k < COUNTERS; k++) {
			if (mask >> k & 1 && greatest[k] > 0)
				terms[used++] = moments[i].counters[k] / greatest[k];
		}
		if (i == trained)
			power_model_fit(&model);
		if (i < trained)
			power_model_add(&model, terms, moments[i].powers[sensor]);
		else
			add_error(&errors, power_model_predict(&model, terms),
				  moments[i].powers[sensor]);
	}
	print_errors(name, &errors);
}

/* What it costs that no reading is taken where one job ends and the next begins: two moments of the
 * trace, far from each other, as two jobs that an interval has in it one after the other.  The
 * dynamic part is divided by CPU time, the idle part by time. */
static void evaluate_edges(const struct moment *moments, size_t count)
{
	struct errors errors = begin_errors();
	double idle = INFINITY;

	for (size_t i = 0; i < count; i++)
		idle = fmin(idle, moments[i].powers[0]);
	for (size_t i = 0; i < count / 2; i++) {
		const struct moment *jobs[] = { &moments[i], &moments[i + count / 2] };
		const double cpu = jobs[0]->counters[0] + jobs[1]->counters[0],
			     dynamic = jobs[0]->powers[0] + jobs[1]->powers[0] - 2 * idle;

		for (size_t k = 0; cpu > 0 && k < ARRAY_SIZE(jobs); k++)
			add_error(&errors, idle + dynamic * jobs[k]->counters[0] / cpu,
				  jobs[k]->powers[0]);
	}
	print_errors("package, two jobs in one interval", &errors);
}

static void evaluate_trace(FILE *in, char *const *head, size_t columns)
{
	struct moment *moments = calloc(ROWS_MAX, sizeof(*moments));
	char line[LINE_SIZE], *fields[FIELDS_MAX] = {};
	size_t count = 0;

	while (moments && count < ROWS_MAX && fgets(line, sizeof(line), in)) {
		struct moment *m = &moments[count];

		if (split(line, fields) < columns)
			continue;
		m->time = number_at(fields, head, columns, "timestamp");
		for (size_t k = 0; k < COUNTERS; k++)
			m->counters[k] = number_at(fields, head, columns, counters[k]);
		for (size_t k = 0; k < ARRAY_SIZE(sensors); k++)
			m->powers[k] = number_at(fields, head, columns, sensors[k]);
		count++;
	}
	if (!moments)
		return;
	qsort(moments, count, sizeof(*moments), compare_moments);
	evaluate_model("package by CPU time", 1, 0, moments, count);
	evaluate_model("package by cycles", 2, 0, moments, count);
	evaluate_model("package by cycles, instructions, LLC misses", 14, 0, moments, count);
	evaluate_model("DRAM by CPU time", 1, 1, moments, count);
	evaluate_model("DRAM by cycles, instructions, LLC misses", 14, 1, moments, count);
	evaluate_edges(moments, count);
	free(moments);
}

static int evaluate(const char *path)
{
	char line[LINE_SIZE], *head[FIELDS_MAX];
	FILE *in = fopen(path, "re");
	size_t columns;

	if (!in || !fgets(line, sizeof(line), in)) {
		fprintf(stderr, "energy-evaluate: cannot read '%s': %s\n", path, strerror(errno));
		if (in)
			fclose(in);
		return 1;
	}
	columns = split(line, head);
	if (find(head, columns, "avg. watts @ 100%") < columns)
		evaluate_servers(in, head, columns);
	else if (find(head, columns, "package_power") < columns)
		evaluate_trace(in, head, columns);
	else
		fprintf(stderr, "energy-evaluate: '%s' is none of the tables that are known\n",
			path);
	fclose(in);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc < 2) {
		fputs("Usage: energy-evaluate FILE...\n", stderr);
		return 2;
	}
	puts("| what | compared | mean error | median | 90 % below |\n|---|---|---|---|---|");
	for (int i = 1; i < argc; i++)
		failed |= evaluate(argv[i]);
	return failed;
}
