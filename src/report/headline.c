/* SPDX-License-Identifier: MIT */
#include "report/headline.h"

#include <string.h>

#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "basic/text.h"
#include "model/record.h"
#include "report/sentence.h"
#include "basic/utf8.h"

#define NODE_MAX 32

const char *headline_name(const struct record *r)
{
	const char *name = record_name(r);

	return name ? name : r->job.id ? r->job.id : "(no name)";
}

/* What a resource manager ended, whatever its script returned. */
static const struct ending {
	const char *state;
	bool is_failure;
} endings[] = {
	{ "TIMEOUT", true },   { "OUT_OF_MEMORY", true }, { "NODE_FAIL", true },
	{ "BOOT_FAIL", true }, { "DEADLINE", true },	  { "INCOMPLETE", true },
	{ "FAILED", true },    { "CANCELLED", false },	  { "PREEMPTED", false },
};

static const struct ending *find_ending(const char *state)
{
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		if (text_is_equal(state, endings[i].state))
			return &endings[i];
	}
	return NULL;
}

bool headline_is_failed_state(const char *state)
{
	const struct ending *ending = find_ending(state);

	return ending && ending->is_failure;
}

bool headline_is_failure(const struct record *r)
{
	return r->job.signal > 0 || r->job.exit_code > 0 || headline_is_failed_state(r->job.state);
}

char *headline_outcome(const struct record *r)
{
	const char *signal = r->job.signal > 0 ? sigabbrev_np(r->job.signal) : NULL;
	struct sentence s = {};

	if (r->job.exit_code > 0)
		sentence_add(&s, "", "exit %d%s%s", r->job.exit_code, signal ? " after SIG" : "",
			     signal ? signal : "");
	else if (signal)
		sentence_add(&s, "", "killed by SIG%s", signal);
	else if (r->job.signal > 0)
		sentence_add(&s, "", "killed by signal %d", r->job.signal);
	else if (r->job.exit_code == 0)
		sentence_add(&s, "", "%s", find_ending(r->job.state) ? r->job.state : "OK");
	else if (!r->is_final)
		sentence_add(&s, "", "still running");
	else if (r->merged_records > 1)
		sentence_add(&s, "", "ended differently");
	else
		sentence_add(&s, "", "%s",
			     !r->job.state			    ? "exit -"
			     : text_is_equal(r->job.state, "ENDED") ? "ended"
								    : r->job.state);
	return s.text;
}

char *headline_place(const struct record *r)
{
	_cleanup_free_ char *node = r->node ? utf8_shorten(r->node, NODE_MAX) : NULL;
	const struct value *cores = &r->reading.values[METRIC_CPU_ALLOCATED];
	struct sentence s = {};

	if (r->merged_nodes > 1)
		sentence_add(&s, "", "%u nodes", r->merged_nodes);
	else if (node)
		sentence_add(&s, "", "%s", node);
	if (cores->is_known)
		sentence_add(&s, ", ", "%s core%s", humanize_cores(cores->number).text,
			     cores->number == 1000 ? "" : "s");
	return s.text;
}
