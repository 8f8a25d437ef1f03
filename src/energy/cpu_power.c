/* SPDX-License-Identifier: MIT */
#include "energy/cpu_power.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"

struct row {
	const char *name;
	unsigned int idle_mw, max_mw; /* of a whole server, for each hardware thread */
};

#include "energy/cpu_power_table.inc"

/* Of the mean errors at idle, half way and full load, on machines that the tables do not know, the
 * greatest, rounded up: docs/internals/energy.md.  Of TDP: over all loads of 619 servers. */
#define MODEL_PERMILLE 200
#define FAMILY_PERMILLE 350
#define TDP_PERMILLE 320

/* Power at full load as a part of the processors' TDP, and at idle of that: medians over
 * SPECpower's servers of 2017 and later. */
#define TDP_MAX_PERCENT 122
#define TDP_IDLE_PERCENT 20

static const char *const dropped[] = {
	"intel", "amd",	 "cpu", "processor", "processors", "-",
	"dual",	 "quad", "six", "core",	     "eight",
};

static bool is_dropped(const char *word)
{
	const size_t digits = strspn(word, "0123456789");

	if (digits && (strcmp(word + digits, "core") == 0 || strcmp(word + digits, "-core") == 0))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(dropped); i++) {
		if (strcmp(word, dropped[i]) == 0)
			return true;
	}
	return false;
}

static bool is_frequency(const char *word)
{
	const char *unit = word + strspn(word, "0123456789.");

	return strcmp(unit, "ghz") == 0 || strcmp(unit, "mhz") == 0;
}

/* In lower case, without "(r)" and the like, up to the end of the name. */
static void simplify(const char *model, char ret[256])
{
	static const char *const marks[] = { "(r)", "(tm)", "(c)" };
	size_t length = 0;

	while (*model && length < 255) {
		size_t mark = 0;

		while (mark < ARRAY_SIZE(marks) &&
		       strncasecmp(model, marks[mark], strlen(marks[mark])) != 0)
			mark++;
		if (mark < ARRAY_SIZE(marks)) {
			model += strlen(marks[mark]);
			ret[length++] = ' ';
			continue;
		}
		if (strchr("@,;/(\n", *model))
			break;
		ret[length++] = (char)tolower((unsigned char)*model++);
	}
	ret[length] = '\0';
}

void cpu_power_name(const char *model, char *ret, size_t size)
{
	char text[256], *save = NULL, *words[32];
	size_t count = 0, length = 0;

	simplify(model, text);
	for (char *word = strtok_r(text, " \t", &save); word && count < ARRAY_SIZE(words);
	     word = strtok_r(NULL, " \t", &save)) {
		if (is_frequency(word)) { /* "2.40 ghz", "2400mhz" */
			count -= count && !strpbrk(word, "0123456789");
			break;
		}
		if (!is_dropped(word))
			words[count++] = word;
	}
	*ret = '\0';
	for (size_t i = 0; i < count && length < size; i++)
		length += (size_t)snprintf(ret + length, size - length, "%s%s", i ? " " : "",
					   words[i]);
}

static bool find(const struct row *rows, size_t count, const char *name, unsigned int cpus,
		 struct cpu_power *ret)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		snprintf(ret->name, sizeof(ret->name), "%s", name);
		ret->idle_uw = UINT64_C(1000) * rows[i].idle_mw * cpus;
		ret->max_uw = UINT64_C(1000) * rows[i].max_mw * cpus;
		return true;
	}
	return false;
}

/* The words before the first one with a digit. */
static void cut_to_family(char *name)
{
	const size_t letters = strcspn(name, "0123456789");

	if (!name[letters])
		return;
	name[letters] = '\0';
	if (strrchr(name, ' '))
		*strrchr(name, ' ') = '\0';
	else
		*name = '\0';
}

bool cpu_power_find(const char *model, unsigned int cpus, uint64_t tdp_watts, struct cpu_power *ret)
{
	struct cpu_power p = { .source = "specpower", .uncertainty_permille = MODEL_PERMILLE };
	char name[sizeof(p.name)];

	cpu_power_name(model, name, sizeof(name));
	if (!cpus)
		return false;
	*ret = p;
	if (find(models, ARRAY_SIZE(models), name, cpus, ret))
		return true;
	if (tdp_watts) {
		*ret = (struct cpu_power){ .source = "tdp", .uncertainty_permille = TDP_PERMILLE };
		snprintf(ret->name, sizeof(ret->name), "%s", name);
		ret->max_uw = tdp_watts * TDP_MAX_PERCENT * 10000;
		ret->idle_uw = ret->max_uw / 100 * TDP_IDLE_PERCENT;
		return true;
	}
	cut_to_family(name);
	ret->source = "specpower-family";
	ret->uncertainty_permille = FAMILY_PERMILLE;
	return find(families, ARRAY_SIZE(families), name, cpus, ret);
}
