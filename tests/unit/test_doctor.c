/* SPDX-License-Identifier: MIT */
#include "cli/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "selftest/checkup.h"
#include "basic/cleanup.h"
#include "model/document.h"
#include "report/page.h"
#include "cgroup/placement.h"
#include "made.h"
#include "test.h"

static void checkup_freep(struct checkup **c)
{
	free(*c);
}
#define _cleanup_checkup_ _cleanup_(checkup_freep)

static void add_hook(struct checkup *c, const char *tier, const char *attach, const char *why)
{
	struct hook *hook = &c->hooks[c->hook_count++];

	*hook = (struct hook){ tier,	    "a_program",   attach,
			       "something", .is_on = !why, .is_checked = !why };
	snprintf(hook->why, sizeof(hook->why), "%s", why ? why : "");
}

/* One hook a tier, both on and believed. */
static struct checkup *make_well(void)
{
	struct checkup *c = calloc(1, sizeof(*c));

	c->is_live = c->has_hierarchy = c->has_memory_controller = c->has_run = true;
	c->hierarchy.is_v2 = true;
	c->hierarchy.v2_own = (char *)"/";
	strcpy(c->machine.node, "node17");
	strcpy(c->machine.kernel, "6.1.0-50-amd64");
	strcpy(c->machine.preemption, "voluntary");
	c->machine.preemption_source = "the scheduler";
	c->machine.has_btf = true;
	c->rights = (struct rights){ .is_known = true,
				     .capabilities = UINT64_MAX,
				     .perf_event_paranoid = 2 };
	for (size_t i = 0; i < CHECKUP_FEATURES_COUNT; i++)
		c->features[i] = (struct checkup_feature){ "fentry", "a_function", "more",
							   .is_well = true };
	add_hook(c, "T0", "tp_btf/a", NULL);
	add_hook(c, "T2", "tp_btf/b", NULL);
	add_hook(c, "T2+", "fentry/c", NULL);
	add_hook(c, "T1", "tp_btf/d", NULL);
	c->tiers[0] = (struct checkup_tier){ true, "T0", "totals", 1, 1, 1, true };
	c->tiers[1] = (struct checkup_tier){ true, "T2", "files", 1, 1, 1, true };
	c->tiers[2] = (struct checkup_tier){ false, "T2+", "more of T2", 1, 1, 1, true };
	c->tiers[3] = (struct checkup_tier){ false, "T1", "times", 1, 1, 1, true };
	c->tiers[4] = (struct checkup_tier){ false, "T3", "calls", 1, 1, 1, true };
	return c;
}

static void switch_off(struct checkup *c, size_t i, const char *why)
{
	c->hooks[i].is_on = c->tiers[i].is_on = false;
	c->tiers[i].on_count = 0;
	snprintf(c->hooks[i].why, sizeof(c->hooks[i].why), "%s", why);
}

/* The text, of which no line is wider than the page. */
static char *print_at(unsigned int width, const struct checkup *c, const struct doctor_agent *agent,
		      bool is_verbose)
{
	struct made_text t = {};
	struct page page = { .out = made_text_stream(&t), .width = width };
	char *text;

	doctor_text(c, agent, is_verbose, &page);
	text = made_text_end(&t);
	for (char *line = text; *line; line += strcspn(line, "\n") + 1)
		ASSERT(strcspn(line, "\n") <= width);
	return text;
}

static char *print_with(const struct checkup *c, const struct doctor_agent *agent, bool is_verbose)
{
	free(print_at(60, c, agent, is_verbose));
	return print_at(80, c, agent, is_verbose);
}

static char *print(const struct checkup *c, bool is_verbose)
{
	return print_with(c, NULL, is_verbose);
}

static json_t *write_json_with(const struct checkup *c, const struct doctor_agent *agent)
{
	_cleanup_free_ char *text = NULL;
	struct made_text t = {};
	json_t *json;

	doctor_document(c, agent, made_text_document(&t, DOCUMENT_INDENTED));
	text = made_text_end(&t);
	json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	ASSERT(json != NULL);
	return json;
}

static json_t *write_json(const struct checkup *c)
{
	return write_json_with(c, NULL);
}

TEST(where_all_works_the_first_line_says_so_and_no_hook_is_named)
{
	_cleanup_checkup_ struct checkup *c = make_well();
	_cleanup_free_ char *text = print(c, false), *long_text = print(c, true);

	ASSERT(strncmp(text, "The default set works here", 26) == 0);
	ASSERT_CONTAINS(text, "node17");
	ASSERT_LACKS(text, "hooks       hook");
	ASSERT_LACKS(text, "better");
	ASSERT_CONTAINS(long_text, "something");
}

static const char *const why_older = "prog 'count_request_end': R1 type=mem expected=scalar";

TEST(the_code_for_older_kernels_is_named_in_one_line_and_is_no_failure)
{
	_cleanup_checkup_ struct checkup *c = make_well();
	_cleanup_free_ char *text = NULL;

	ASSERT_UNTOLD(print(c, true), "older");
	older_note(&c->older, OBJECT_TIME, why_older);
	older_note(&c->older, OBJECT_FILES, why_older);
	older_note(&c->older, OBJECT_BLOCK, why_older);
	text = print(c, false);
	ASSERT(strncmp(text, "The default set works here", 26) == 0);
	ASSERT_CONTAINS(text, "time, files and block: the code for older kernels");
	ASSERT_LACKS(text, "count_request_end");
}

TEST(what_the_kernel_said_to_the_newer_code_is_told_on_demand)
{
	_cleanup_checkup_ struct checkup *c = make_well();
	json_t *json, *list;

	older_note(&c->older, OBJECT_FILES, why_older);
	older_note(&c->older, OBJECT_BLOCK, "");
	ASSERT_TOLD(print(c, true), "files: prog 'count_request_end': R1 type=mem",
		    "block: no reason given");
	json = write_json(c);
	list = json_object_get(json, "older_code");
	ASSERT_EQ(json_array_size(list), (size_t)2);
	ASSERT_STREQ(json_string_value(json_object_get(json_array_get(list, 0), "object")),
		     "files");
	ASSERT_STREQ(json_string_value(json_object_get(json_array_get(list, 0), "why")), why_older);
	json_decref(json);
}

TEST(one_reason_for_all_is_told_once)
{
	_cleanup_checkup_ struct checkup *c = make_well();
	_cleanup_free_ char *text = NULL;

	switch_off(c, 0, "not permitted");
	switch_off(c, 1, "not permitted");
	switch_off(c, 3, "not permitted");
	text = print(c, false);
	ASSERT(strncmp(text,
		       "The default set does not work here: totals and files are not measured.",
		       70) == 0);
	ASSERT_CONTAINS(text, "all: not permitted");
	ASSERT_LACKS(text, "totals: not permitted");
}

TEST(one_hook_that_is_off_is_named_with_its_reason)
{
	_cleanup_checkup_ struct checkup *c = make_well();

	add_hook(c, "T2", "tp_btf/io",
		 "the self-test's read of 7 bytes was counted as 0, and that is "
		 "quite some way off what it did");
	c->tiers[1] = (struct checkup_tier){ true, "T2", "files", 2, 1, 1, false };
	ASSERT_TOLD(print(c, false), "files are not measured", "in part",
		    "tp_btf/io: the self-test's read of 7 bytes");
}

TEST(what_T2_could_give_more_is_told_once_and_is_no_failure)
{
	_cleanup_checkup_ struct checkup *c = make_well();
	_cleanup_free_ char *text = NULL, *text_without_T2 = NULL;
	json_t *json;

	switch_off(c, 2, "this kernel offers no fentry");
	text = print(c, false);
	ASSERT(strncmp(text, "The default set works here", 26) == 0);
	ASSERT_CONTAINS(text, "missing     Something: this kernel offers no fentry.\n");
	ASSERT_LACKS(strstr(text, "no fentry") + 1, "no fentry");
	json = write_json(c);
	ASSERT(json_is_true(json_object_get(json, "works")));
	ASSERT_STREQ(json_string_value(json_array_get(json_object_get(json, "missing"), 0)),
		     "something: this kernel offers no fentry");
	json_decref(json);

	switch_off(c, 1, "not permitted");
	text_without_T2 = print(c, false);
	ASSERT_CONTAINS(text_without_T2, "files are not measured.");
	ASSERT_LACKS(text_without_T2, "missing");
}

TEST(a_hook_that_nothing_checked_is_told_apart)
{
	_cleanup_checkup_ struct checkup *c = make_well();

	c->hooks[2].is_checked = false;
	c->tiers[2].checked_count = 0;
	ASSERT_TOLD(print(c, true), "on, checked in part", "more on files  on ",
		    "files          checked");
}

TEST(what_could_not_be_checked_is_not_said_to_work)
{
	_cleanup_checkup_ struct checkup *c = make_well();
	_cleanup_free_ char *text = NULL;

	c->has_run = c->tiers[0].is_on = c->tiers[1].is_on = false;
	strcpy(c->why_no_selftest.text, "cannot make a cgroup");
	text = print(c, false);
	ASSERT_CONTAINS(text, "not checked");
	ASSERT_CONTAINS(text, "all: cannot make a cgroup");
}

TEST(a_captured_tree_was_not_tried)
{
	_cleanup_checkup_ struct checkup *c = make_well();
	_cleanup_free_ char *text = NULL;
	json_t *json;

	c->is_live = c->tiers[0].is_on = c->tiers[1].is_on = false;
	c->hook_count = 0;
	text = print(c, true);
	ASSERT(strncmp(text, "Nothing was tried", 17) == 0);
	ASSERT_LACKS(text, "does not work");
	json = write_json(c);
	ASSERT(json_is_false(json_object_get(json, "tried")));
	ASSERT(json_is_false(json_object_get(json, "works")));
	json_decref(json);
}

TEST(an_empty_checkup_is_told_without_a_number)
{
	_cleanup_checkup_ struct checkup *c = calloc(1, sizeof(*c));
	json_t *json;

	for (size_t i = 0; i < CHECKUP_TIERS_COUNT; i++)
		c->tiers[i].name = c->tiers[i].gives = "x";
	c->machine.preemption_source = "the kernel's version";
	c->rights.perf_event_paranoid = RIGHTS_UNKNOWN_PARANOIA;
	c->rights.unprivileged_bpf_disabled = -1;
	ASSERT_TOLD(print(c, true), "unknown");
	json = write_json(c);
	ASSERT(json_is_null(json_object_get(json_object_get(json, "machine"), "memory_bytes")));
	ASSERT(json_is_null(json_object_get(json_object_get(json, "rights"), "uid")));
	ASSERT(json_is_null(json_object_get(json, "costs")));
	json_decref(json);
}

TEST(costs_have_a_sign_and_a_spread_and_may_be_missing)
{
	_cleanup_checkup_ struct checkup *c = make_well();
	_cleanup_free_ char *text = NULL;
	json_t *rows;
	json_t *json;

	c->has_costs = true;
	for (size_t i = 0; i < COSTS_COUNT; i++)
		c->costs.rows[i] =
			(struct cost){ "files: default", i < 2, { -3, 5, 40 }, { -230, 90, 700 } };
	text = print(c, false);
	ASSERT_CONTAINS(text, "+5 ns");
	ASSERT_CONTAINS(text, "-3 to 40");
	ASSERT_CONTAINS(text, "90 ns"); /* bare */
	ASSERT_LACKS(text, "+90 ns");
	ASSERT_CONTAINS(text, "too noisy");
	ASSERT_CONTAINS(text, "-230 to 700");
	json = write_json(c);
	rows = json_object_get(json_object_get(json, "costs"), "settings");
	ASSERT_EQ(json_array_size(rows), (uint64_t)COSTS_COUNT);
	ASSERT(json_is_null(json_object_get(json_array_get(rows, 2), "added_read_nanoseconds")));
	json_decref(json);
}

TEST(a_placement_names_both_jobs)
{
	_cleanup_free_ char *text = NULL;
	struct made_text t = {};
	FILE *out = made_text_stream(&t);
	struct page page = { .out = out, .width = 80 };
	struct placement p = {
		.pid = 7,
		.command = "a\x1b[31mb",
		.path = (char *)"/x",
		.dir = (char *)"/sys/x",
		.cgroups = (char *)"4:memory:/x\n0::/",
		.has_identity = true,
		.has_outer = true,
		.identity = { .rule = "run", .manager = "run", .job = "9" },
		.outer = { .rule = "slurm-v1", .manager = "slurm", .job = "42", .step = "0" },
	};

	doctor_text_placement(&p, NULL, "the v1 hierarchy memory", &page);
	text = made_text_end(&t);
	ASSERT_CONTAINS(text, "run: manager run, job 9\n");
	ASSERT_CONTAINS(text, "slurm-v1: manager slurm, job 42, step 0\n");
	ASSERT_CONTAINS(text, "id unknown");
	ASSERT_CONTAINS(text, "4:memory:/x\n            0::/\n");
	ASSERT_LACKS(text, "\x1b");
}

TEST(the_agent_says_its_version_its_tiers_and_what_it_does_not_see)
{
	_cleanup_checkup_ struct checkup *c = make_well();
	_cleanup_(doctor_agent_clear) struct doctor_agent agent = {
		.was_asked = true,
		.is_there = true,
		.has_answer = true,
		.socket_path = strdup("/run/a.sock"),
		.facts = { .version = strdup("7.8.9"), .jobs_live = 1 },
	};
	_cleanup_free_ char *text = NULL;
	json_t *json, *part;

	ASSERT_OK(strings_add(&agent.facts.tiers, "T0"));
	ASSERT_OK(strings_add(&agent.facts.missing, "bytes by libaio"));
	text = print_with(c, &agent, false);
	ASSERT_CONTAINS(
		text,
		"agent       7.8.9 answers at /run/a.sock, totals on, wait times off, files off,\n"
		"            1 live job\n");
	ASSERT_CONTAINS(text, "            does not measure bytes by libaio\n");
	ASSERT_LACKS(text, "sends records");
	json = write_json_with(c, &agent);
	part = json_object_get(json, "agent");
	ASSERT(json_is_null(json_object_get(part, "push")));
	ASSERT(json_is_true(json_object_get(part, "runs")));
	ASSERT_STREQ(json_string_value(json_object_get(part, "version")), "7.8.9");
	ASSERT_EQ(json_array_size(json_object_get(part, "tiers")), (uint64_t)1);
	json_decref(json);
}

TEST(the_agent_says_what_waits_for_the_server_and_why)
{
	_cleanup_checkup_ struct checkup *c = make_well();
	_cleanup_(doctor_agent_clear) struct doctor_agent agent = {
		.was_asked = true,
		.is_there = true,
		.has_answer = true,
		.socket_path = strdup("/run/a.sock"),
		.facts = { .version = strdup("7"),
			   .push = { .server = strdup("https://s"),
				     .why_unsent = strdup("the server answers 503"),
				     .finals_unsent = 3,
				     .checkpoints_unsent = 5,
				     .refused = 1,
				     .oldest_ns = UINT64_C(7000000000) } },
	};
	_cleanup_free_ char *text = print_with(c, &agent, false);
	json_t *json = write_json_with(c, &agent),
	       *push = json_object_get(json_object_get(json, "agent"), "push");

	ASSERT_CONTAINS(text, "sends records to https://s, 3 final and 5 of running jobs");
	ASSERT_CONTAINS(text, "1 refused");
	ASSERT_CONTAINS(text, "the server answers 503\n");
	ASSERT_EQ(json_integer_value(json_object_get(push, "finals_unsent")), 3);
	ASSERT(json_is_null(json_object_get(push, "answered")));
	json_decref(json);
}

TEST(without_an_agent_that_is_said_and_of_a_tree_nothing)
{
	_cleanup_checkup_ struct checkup *c = make_well();
	struct doctor_agent none = { .was_asked = true },
			    silent = { .was_asked = true, .is_there = true };
	_cleanup_free_ char *tree_text = print(c, false);
	json_t *json = write_json(c);

	ASSERT_LACKS(tree_text, "agent");
	ASSERT(json_is_null(json_object_get(json, "agent")));
	json_decref(json);

	error_set(&none.why, -ENOENT, "no agent answers at 'x'");
	ASSERT_TOLD(print_with(c, &none, false),
		    "agent       none runs: no agent answers at 'x'\n");
	json = write_json_with(c, &none);
	ASSERT(json_is_false(json_object_get(json_object_get(json, "agent"), "runs")));
	ASSERT(json_is_null(json_object_get(json_object_get(json, "agent"), "version")));
	json_decref(json);

	error_set(&silent.why, -ETIMEDOUT, "the agent at 'x' does not answer");
	ASSERT_TOLD(print_with(c, &silent, false),
		    "it does not answer: the agent at 'x' does not answer");
}

/* The reasons in one text; "": healthy. */
static char *judge(const struct doctor_agent *agent)
{
	_cleanup_(strings_clear) struct strings reasons = {};
	struct made_text t = {};
	FILE *out = made_text_stream(&t);

	ASSERT_OK(doctor_agent_judge(agent, &reasons));
	for (size_t i = 0; i < reasons.count; i++)
		fprintf(out, "%s\n", reasons.items[i]);
	return made_text_end(&t);
}

TEST(a_node_is_healthy_until_its_numbers_are_or_will_be_wrong)
{
	char *tiers[] = { (char *)"T0", (char *)"T2" };
	struct doctor_agent agent = {
		.was_asked = true,
		.is_there = true,
		.has_answer = true,
		.facts = { .tiers = { tiers, 2 },
			   .readings = 2000,
			   .failed_readings = 3,
			   .lost_events = 2000,
			   .push = { .server = (char *)"https://s",
				     .bytes = 50,
				     .max_bytes = 100,
				     .why_unsent = (char *)"the server answers 503" } },
	};

	ASSERT_TEXT(judge(&agent), "");
	agent.facts.tiers.count = 1;
	agent.facts.failed_readings = agent.facts.lost_events = 2001;
	agent.facts.push.bytes = 51;
	ASSERT_TEXT(judge(&agent), "files are not measured (jobmeter doctor says why)\n"
				   "2001 readings failed, and 2000 did not\n"
				   "2001 events were lost in 2000 readings\n"
				   "the spool is 51 % full: the server answers 503\n");
	agent.has_answer = false;
	error_set(&agent.why, -ETIMEDOUT, "the agent at 'x' does not answer");
	ASSERT_TEXT(judge(&agent), "the agent at 'x' does not answer\n");
}

static char *print_group(const struct doctor_agent *agent)
{
	struct made_text t = {};
	FILE *out = made_text_stream(&t);
	struct page page = { .out = out, .width = 80 };
	struct placement p = { .pid = 7, .path = (char *)"/x", .cgroups = (char *)"0::/x" };

	doctor_text_placement(&p, agent, "the v2 hierarchy", &page);
	return made_text_end(&t);
}

TEST(the_sites_rules_are_the_agents)
{
	struct doctor_agent agent = {
		.was_asked = true,
		.is_there = true,
		.has_group = true,
		.group = { .manager = (char *)"ours", .id = (char *)"9", .step = (char *)"2" },
	};

	ASSERT_TOLD(print_group(&agent), "rule        no built-in rule matches",
		    "agent       with the site's rules: manager ours, job 9, step 2\n");
	agent.has_group = false;
	error_set(&agent.why, -ENOENT, "that is part of no job");
	ASSERT_TOLD(print_group(&agent), "agent       says: that is part of no job\n");
	agent.is_there = false;
	ASSERT_TOLD(print_group(&agent),
		    "agent       none runs here; it would know the site's own rules");
}
