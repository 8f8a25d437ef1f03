/* SPDX-License-Identifier: MIT */
#include "cli/doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "model/document.h"
#include "model/rows.h"
#include "report/page.h"
#include "report/sentence.h"
#include "load/tiers.h"
#include "selftest/checkup.h"

/* Losses that are no matter of the node, but are said in the records of their jobs: these in all,
 * or one a reading. */
#define FEW_EVENTS UINT64_C(1000)
/* 2025, before this was written: a clock that says less was never set. */
#define LEAST_CLOCK_NS (UINT64_C(1735689600) * 1000000000)

void doctor_agent_ask(struct doctor_agent *a, pid_t pid)
{
	_cleanup_(client_closep) struct client *client = NULL;
	int r;

	a->was_asked = true;
	r = client_open(NULL, &client, &a->why);
	if (r < 0) {
		a->is_there = r != -ENOENT && r != -ECONNREFUSED;
		return;
	}
	a->is_there = true;
	a->socket_path = strdup(client_socket_path(client));
	if (pid)
		r = client_find_process(client, pid, &a->group, &a->why);
	else
		r = client_get_agent(client, &a->facts, &a->why);
	a->has_answer = r >= 0 && !pid;
	a->has_group = r >= 0 && pid;
}

void doctor_agent_clear(struct doctor_agent *a)
{
	free(a->socket_path);
	client_agent_clear(&a->facts);
	client_group_clear(&a->group);
	*a = (struct doctor_agent){};
}

bool doctor_agent_is_well(const struct doctor_agent *a, const struct checkup *c)
{
	if (!a || !a->has_answer)
		return false;
	for (size_t i = 0; i < CHECKUP_TIERS_COUNT; i++) {
		if (c->tiers[i].is_default && !strings_contain(&a->facts.tiers, c->tiers[i].name))
			return false;
	}
	return true;
}

/* ---- a health check of the node ---- */

/* Kept by the kernel's discipline of the clock: no server of time has set it, if it says so. */
static bool is_clock_set(void)
{
	struct timex state = {};

	return adjtimex(&state) >= 0 && !(state.status & STA_UNSYNC);
}

int doctor_agent_judge(const struct doctor_agent *a, struct strings *ret)
{
	const struct client_agent *facts = &a->facts;
	const struct client_push *push = &facts->push;
	const uint64_t now_ns = clock_now_ns(CLOCK_REALTIME);
	char moment[TIMESTAMP_SIZE];
	int r = 0;

	if (!a->has_answer)
		return strings_add(ret, "%s", a->why.text);
	for (size_t i = 0; r >= 0 && i < meter_tier_count; i++) {
		if (meter_tiers[i].is_needed &&
		    !strings_contain(&facts->tiers, meter_tiers[i].name))
			r = strings_add(ret, "%s are not measured (jobmeter doctor says why)",
					tier_words(meter_tiers[i].name));
	}
	if (r >= 0 && facts->failed_readings > facts->readings)
		r = strings_add(ret, "%" PRIu64 " readings failed, and %" PRIu64 " did not",
				facts->failed_readings, facts->readings);
	if (r >= 0 && facts->lost_events > MAX(facts->readings, FEW_EVENTS))
		r = strings_add(ret, "%" PRIu64 " events were lost in %" PRIu64 " readings",
				facts->lost_events, facts->readings);
	if (r >= 0 && push->max_bytes && push->bytes > push->max_bytes / 2)
		r = strings_add(ret, "the spool is %" PRIu64 " %% full: %s",
				push->bytes * 100 / push->max_bytes,
				push->why_unsent ? push->why_unsent : "the server is slow");
	if (r >= 0 && now_ns < LEAST_CLOCK_NS)
		r = strings_add(ret, "the clock is wrong: %s", timestamp_format(moment, now_ns));
	return r;
}

void doctor_agent_print_health(const struct doctor_agent *a, const struct strings *reasons,
			       struct page *page)
{
	_cleanup_(sentence_freep) struct sentence s = {};
	const struct client_push *push = &a->facts.push;

	for (size_t i = 0; i < reasons->count; i++)
		sentence_add(&s, "; ", "%s", reasons->items[i]);
	if (!reasons->count) {
		sentence_add(&s, "", "agent %s measures %" PRIu64 " live job%s", a->facts.version,
			     a->facts.jobs_live, a->facts.jobs_live == 1 ? "" : "s");
		if (push->server)
			sentence_add(&s, ", ", "%" PRIu64 " records wait for the server",
				     push->finals_unsent + push->checkpoints_unsent);
		if (!is_clock_set())
			sentence_add(&s, ", ", "the clock is not synchronized");
	}
	page_put(page, reasons->count ? PAGE_ALERT : PAGE_BOLD, "%s",
		 reasons->count ? "not healthy: " : "healthy: ");
	page_put(page, PAGE_PLAIN, "%s", s.text ? s.text : "");
	page_end_line(page);
}

void doctor_agent_put_health(const struct doctor_agent *a, const struct strings *reasons,
			     struct document *d)
{
	document_begin_map(d);
	document_put_string(d, "schema", DOCTOR_SCHEMA);
	document_put_string(d, "version", JOBMETER_VERSION);
	document_put_boolean(d, "healthy", !reasons->count);
	document_put_strings(d, "reasons", reasons);
	document_put_boolean(d, "clock_synchronized", is_clock_set());
	doctor_agent_put(a, d);
	document_end_map(d);
}

/* ---- for people ---- */

static void print_list(struct rows *rows, const char *name, const struct strings *list)
{
	rows_begin(rows, ROWS_TEXT, NULL);
	for (size_t i = 0; i < list->count; i++)
		rows_say(rows, "; ", "%s%s", i ? "" : name, list->items[i]);
}

static void print_push(struct rows *rows, const struct client_push *push)
{
	char moment[TIMESTAMP_SIZE];

	if (!push->server)
		return;
	rows_begin(rows, ROWS_TEXT, NULL);
	rows_say(rows, "", "sends records to %s", push->server);
	rows_say(rows, ", ", "%" PRIu64 " final and %" PRIu64 " of running jobs wait",
		 push->finals_unsent, push->checkpoints_unsent);
	if (push->oldest_ns)
		rows_say(rows, ", ", "the oldest since %s",
			 timestamp_format(moment, push->oldest_ns));
	if (push->answered_ns)
		rows_say(rows, ", ", "last answered at %s",
			 timestamp_format(moment, push->answered_ns));
	else
		rows_say(rows, ", ", "no answer since the agent started");
	if (push->refused)
		rows_say(rows, ", ", "%" PRIu64 " refused", push->refused);
	if (push->finals_dropped)
		rows_say(rows, ", ", "%" PRIu64 " final ones dropped, as the spool was full",
			 push->finals_dropped);
	if (push->why_unsent)
		rows_line(rows, ROWS_TEXT, NULL, "%s", push->why_unsent);
}

void doctor_agent_print(const struct doctor_agent *a, struct rows *rows)
{
	if (!a || !a->was_asked)
		return;
	rows_begin(rows, ROWS_TEXT, "agent");
	if (!a->has_answer) {
		rows_say(rows, "", "%s: %s", a->is_there ? "it does not answer" : "none runs",
			 a->why.text);
		if (!a->is_there)
			rows_line(rows, ROWS_TEXT, NULL,
				  "jobmeter-agent measures for users without rights: ask your "
				  "site to run it.");
		return;
	}
	rows_say(rows, "", "%s answers at %s", a->facts.version, a->socket_path);
	for (size_t i = 0; i < meter_tier_count; i++)
		rows_say(rows, ", ", "%s %s", tier_words(meter_tiers[i].name),
			 strings_contain(&a->facts.tiers, meter_tiers[i].name) ? "on" : "off");
	for (size_t i = 0; i < a->facts.tiers.count; i++) {
		if (strncmp(a->facts.tiers.items[i], "T3", 2) == 0)
			rows_say(rows, ", ", "%s on", tier_words(a->facts.tiers.items[i]));
	}
	rows_say(rows, ", ", "%" PRIu64 " live job%s", a->facts.jobs_live,
		 a->facts.jobs_live == 1 ? "" : "s");
	print_list(rows, "does not measure ", &a->facts.missing);
	print_list(rows, "", &a->facts.notes);
	print_push(rows, &a->facts.push);
}

void doctor_agent_print_group(const struct doctor_agent *a, struct rows *rows)
{
	if (!a || !a->was_asked)
		return;
	rows_begin(rows, ROWS_TEXT, "agent");
	if (!a->is_there)
		rows_say(rows, "", "none runs here; it would know the site's own rules");
	else if (!a->has_group)
		rows_say(rows, "", "says: %s", a->why.text);
	else
		rows_say(rows, "", "with the site's rules: manager %s, job %s", a->group.manager,
			 a->group.id);
	if (a->has_group && a->group.step)
		rows_say(rows, ", ", "step %s", a->group.step);
}

/* ---- for programs ---- */

/* False: there is no more to say. */
static bool begin(const struct doctor_agent *a, struct document *d)
{
	document_key(d, "agent");
	if (!a || !a->was_asked) {
		document_null(d);
		return false;
	}
	document_begin_map(d);
	document_put_boolean(d, "runs", a->is_there);
	doctor_put(d, "socket", a->socket_path);
	doctor_put(d, "why", a->why.text);
	return true;
}

static void put_push(const struct client_push *push, struct document *d)
{
	document_key(d, "push");
	if (!push->server) {
		document_null(d);
		return;
	}
	document_begin_map(d);
	document_put_string(d, "server", push->server);
	document_put_unsigned(d, "finals_unsent", push->finals_unsent);
	document_put_unsigned(d, "checkpoints_unsent", push->checkpoints_unsent);
	document_put_time(d, "oldest", push->oldest_ns);
	document_put_time(d, "answered", push->answered_ns);
	document_put_unsigned(d, "refused", push->refused);
	document_put_unsigned(d, "finals_dropped", push->finals_dropped);
	document_put_string(d, "why_unsent", push->why_unsent);
	document_end_map(d);
}

void doctor_agent_put(const struct doctor_agent *a, struct document *d)
{
	if (!begin(a, d))
		return;
	doctor_put(d, "version", a->facts.version);
	document_put_strings(d, "tiers", &a->facts.tiers);
	document_put_strings(d, "missing", &a->facts.missing);
	document_put_strings(d, "notes", &a->facts.notes);
	document_put_known(d, "jobs_live", a->has_answer, a->facts.jobs_live, 0);
	put_push(&a->facts.push, d);
	document_end_map(d);
}

void doctor_agent_put_group(const struct doctor_agent *a, struct document *d)
{
	if (!begin(a, d))
		return;
	document_key(d, "identity");
	if (a->has_group) {
		document_begin_flat_map(d);
		doctor_put(d, "manager", a->group.manager);
		doctor_put(d, "job", a->group.id);
		doctor_put(d, "step", a->group.step);
		document_end_map(d);
	} else {
		document_null(d);
	}
	document_end_map(d);
}
