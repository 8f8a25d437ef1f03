/* SPDX-License-Identifier: MIT */

#include <string.h>

#include "basic/macro.h"
#include "basic/parse.h"
#include "basic/utf8.h"
#include "server/sync/manager.h"

#define NS UINT64_C(1000000000)
#define KEY_MAX 255 /* bytes of what an index holds */

struct value value_known(uint64_t number)
{
	return (struct value){ .number = number, .is_known = number <= VALUE_MAX };
}

struct value *value_of_run(struct store_run *run, size_t offset)
{
	return (struct value *)(void *)((char *)run + offset);
}

/* What is too long is cut between two characters; a byte of no character is none that a database
 * takes. */
void value_take_text(char *text, struct store_run *run, size_t offset)
{
	char *at = text;

	while (*at) {
		const char *next = at;
		uint32_t c = utf8_next(&next);

		if (next - text > MANAGER_TEXT_MAX)
			*at = '\0';
		else if (c == UTF8_REPLACEMENT && next == at + 1)
			*at = '?';
		at = *at ? (char *)next : at;
	}
	if (*text)
		*(const char **)(void *)((char *)run + offset) = text;
}

/* "None assigned" and the like mean that there is none. */
void value_take_word(char *text, struct store_run *run, size_t offset)
{
	if (strncmp(text, "None", 4) != 0 && strcmp(text, "Unknown") != 0)
		value_take_text(text, run, offset);
}

void value_take_number(char *text, struct store_run *run, size_t offset)
{
	uint64_t number;

	if (parse_u64(text, &number) == 0)
		*value_of_run(run, offset) = value_known(number);
}

static void take_units(const char *text, uint64_t unit_ns, struct value *ret)
{
	uint64_t number;

	if (parse_u64(text, &number) == 0 && number <= VALUE_MAX / unit_ns)
		*ret = value_known(number * unit_ns);
}

void value_take_seconds(char *text, struct store_run *run, size_t offset)
{
	take_units(text, NS, value_of_run(run, offset));
}

void value_take_minutes(char *text, struct store_run *run, size_t offset)
{
	take_units(text, 60 * NS, value_of_run(run, offset));
}

void value_set_utc(struct store_run *run, size_t offset, struct tm *tm)
{
	const time_t seconds = timegm(tm);

	if (seconds > 0)
		*value_of_run(run, offset) = value_known((uint64_t)seconds * NS);
}

/* "1-02:03:04", "02:03:04" or "03:04.5" */
void value_take_duration(char *text, struct store_run *run, size_t offset)
{
	static const unsigned int factors[] = { 60, 60, 24 };
	uint64_t parts[4] = {}, sum = 0;
	const char *at = text;
	size_t count = 0;

	do {
		if (parse_leading_u64(&at, &parts[count]) < 0 || parts[count] > UINT32_MAX)
			return;
	} while (++count < ARRAY_SIZE(parts) && (*at == ':' || *at == '-') && at++);
	if (*at && *at != '.')
		return;
	for (size_t i = 0; i < count; i++)
		sum = sum * (i ? factors[count - 1 - i] : 1) + parts[i];
	if (sum <= VALUE_MAX / NS)
		*value_of_run(run, offset) = value_known(sum * NS);
}

/* Since the epoch. */
void value_take_epoch(char *text, struct store_run *run, size_t offset)
{
	if (*text != '0')
		value_take_seconds(text, run, offset);
}

/* "10gb", "4194304kb" */
void value_take_size(char *text, struct store_run *run, size_t offset)
{
	static const char units[] = "kmgtp";
	const char *at = text, *unit;
	uint64_t number;
	int shift;

	if (parse_leading_u64(&at, &number) < 0)
		return;
	unit = *at ? strchr(units, *at | 0x20) : NULL;
	shift = unit ? (int)(10 * (unit - units + 1)) : 0;
	if (number >> (62 - shift) == 0)
		*value_of_run(run, offset) = value_known(number << shift);
}

/* ---- states ---- */

/* In Slurm's words, which all have in the end. */
/* clang-format off */
static const struct {
	const char *word, *state;
} states[] = {
	/* PBS's records */
	{ "Q", "PENDING" }, { "S", "RUNNING" }, { "R", "REQUEUED" }, { "D", "CANCELLED" }, { "A", "FAILED" },
	/* LSF's, and its reasons of an end */
	{ "PEND", "PENDING" }, { "PSUSP", "PENDING" }, { "WAIT", "PENDING" }, { "PROV", "PENDING" },
	{ "RUN", "RUNNING" }, { "UNKWN", "RUNNING" }, { "USUSP", "SUSPENDED" }, { "SSUSP", "SUSPENDED" },
	{ "DONE", "COMPLETED" }, { "EXIT", "FAILED" }, { "ZOMBI", "FAILED" },
	{ "TERM_RUNLIMIT", "TIMEOUT" }, { "TERM_CPULIMIT", "TIMEOUT" }, { "TERM_DEADLINE", "DEADLINE" },
	{ "TERM_MEMLIMIT", "OUT_OF_MEMORY" }, { "TERM_PREEMPT", "PREEMPTED" },
	{ "TERM_OWNER", "CANCELLED" }, { "TERM_FORCE_OWNER", "CANCELLED" },
	{ "TERM_ADMIN", "CANCELLED" }, { "TERM_FORCE_ADMIN", "CANCELLED" },
	{ "TERM_REQUEUE_OWNER", "REQUEUED" }, { "TERM_REQUEUE_ADMIN", "REQUEUED" },
	/* Flux's, and its results; RUN as above */
	{ "DEPEND", "PENDING" }, { "PRIORITY", "PENDING" }, { "SCHED", "PENDING" }, { "CLEANUP", "COMPLETING" },
	{ "COMPLETED", "COMPLETED" }, { "FAILED", "FAILED" }, { "CANCELED", "CANCELLED" }, { "TIMEOUT", "TIMEOUT" },
};
/* clang-format on */

/* A word that is not known changes nothing. */
void value_take_state(char *text, struct store_run *run, size_t offset UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		if (strcmp(states[i].word, text) == 0)
			run->state = states[i].state;
	}
}

bool value_is_run(const struct store_run *run)
{
	return run->id && run->submit.is_known && run->state && strlen(run->id) <= KEY_MAX &&
	       strlen(run->cluster) <= KEY_MAX && (!run->sluid || strlen(run->sluid) <= KEY_MAX);
}
