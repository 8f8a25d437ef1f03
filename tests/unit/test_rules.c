/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "analysis/rules.h"
#include "test.h"
#include "analysis/variables.h"

#define ENTRY                           \
	"  - id: site-memory\n"         \
	"    severity: warning\n"       \
	"    source: the site\n"        \
	"    when: memory_usage > 80\n" \
	"    text: \"{memory_usage} of the memory\"\n"
#define RULE "rules:\n" ENTRY

static const char *refuse(const char *text)
{
	static struct error err;
	struct rules *rules = NULL;

	err.text[0] = '\0';
	test_int(rules_parse(text, strlen(text), "site.yaml", &rules, &err), -EINVAL, text,
		 "-EINVAL", __FILE__, __LINE__);
	ASSERT(!rules);
	return err.text;
}

static struct rules *read_rules(const char *text)
{
	struct rules *rules = NULL;
	struct error err = {};

	if (rules_parse(text, strlen(text), "site.yaml", &rules, &err) < 0)
		test_string(err.text, "", text, __FILE__, __LINE__);
	return rules;
}

TEST(the_built_in_rules_are_right)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	struct error err = {};

	ASSERT_OK(rules_load_built_in(&rules, &err));
	ASSERT_STREQ(err.text, "");
	ASSERT(rules->insights.count > 20);
	ASSERT(rules->classes.count > 5);
	ASSERT_EQ((uint64_t)rules->patterns.count, (uint64_t)PATTERN_KINDS);
}

TEST(a_sites_own_rule_is_read)
{
	_cleanup_(rules_freep) struct rules *rules = read_rules(
		RULE "    advice: use less\n"
		     "    resource: memory\n"
		     "    lost: memory_unused\n"
		     "    thresholds: {most: 5 %, least: 3}\n");
	const struct rule *rule = &rules->insights.items[0];

	ASSERT_EQ((uint64_t)rules->insights.count, (uint64_t)1);
	ASSERT_STREQ(rule->id, "site-memory");
	ASSERT_EQ(rule->severity, SEVERITY_WARNING);
	ASSERT_EQ(rule->places[0].line, 2u);
	ASSERT_STREQ(rule->condition, "memory_usage > 80");
	ASSERT_EQ((uint64_t)rule->threshold_count, (uint64_t)2);
	ASSERT(rule->thresholds[0].amount.number == 0.05);
	ASSERT(!rule->directive && rule->lost);
}

TEST(a_file_without_rules_says_nothing)
{
	_cleanup_(rules_freep) struct rules *nothing = read_rules(""),
					    *empty = read_rules("rules:\nclasses: []\n");

	ASSERT(nothing->insights.count == 0 && empty->insights.count == 0);
}

TEST(patterns_are_thresholds_and_a_source)
{
	_cleanup_(rules_freep) struct rules *rules = read_rules(
		"patterns:\n  - id: hang\n    source: the site\n    thresholds: {share: 1 "
		"%, cores: 0.1, rate: 1K / 1s, time: 20 min, busy: 0.5}\n");

	ASSERT(rules->pattern_settings.is_asked[PATTERN_HANG]);
	ASSERT(!rules->pattern_settings.is_asked[PATTERN_LEAK]);
	ASSERT(rules->pattern_settings.hang.time == 1200);
	ASSERT(rules->pattern_settings.hang.rate == 1024);
}

/* ---- files above others ---- */

#define SITE_BELOW                                              \
	"rules:\n"                                              \
	"  - id: busy\n"                                        \
	"    severity: info\n"                                  \
	"    thresholds: {share: 80 %, time: 10 s}\n"           \
	"    source: below\n"                                   \
	"    when: cpu_efficiency > share and elapsed > time\n" \
	"    text: \"{cores_busy}\"\n"                          \
	"classes:\n"                                            \
	"  - id: fast\n"                                        \
	"    thresholds: {most: 5 s}\n"                         \
	"    source: below\n"                                   \
	"    when: elapsed < most\n"                            \
	"    share: cpu_efficiency\n"                           \
	"    text: \"{elapsed}\"\n"                             \
	"patterns:\n"                                           \
	"  - id: hang\n"                                        \
	"    source: below\n"                                   \
	"    thresholds: {share: 1 %, cores: 0.1, rate: 1K / 1s, time: 10 min, busy: 0.5}\n"

static int join(const char *above, struct rules **ret, struct error *err)
{
	const struct rules_text texts[] = {
		{ "below.yaml", SITE_BELOW, strlen(SITE_BELOW) },
		{ "above.yaml", above, strlen(above) },
	};

	return rules_join(texts, 2, ret, err);
}

static struct rules *read_above(const char *above)
{
	struct rules *rules = NULL;
	struct error err = {};

	if (join(above, &rules, &err) < 0)
		test_string(err.text, "", above, __FILE__, __LINE__);
	return rules;
}

static const char *refuse_above(const char *above)
{
	static struct error err;
	struct rules *rules = NULL;

	err.text[0] = '\0';
	test_int(join(above, &rules, &err), -EINVAL, above, "-EINVAL", __FILE__, __LINE__);
	ASSERT(!rules);
	return err.text;
}

TEST(a_file_above_changes_one_threshold_and_keeps_the_rest)
{
	_cleanup_(rules_freep) struct rules *rules =
		read_above("rules:\n  - id: busy\n    thresholds: {share: 95}\n");
	const struct rule *rule = &rules->insights.items[0];

	ASSERT_EQ((uint64_t)rules->insights.count, (uint64_t)1);
	ASSERT_EQ((uint64_t)rule->threshold_count, (uint64_t)2);
	ASSERT_STREQ(rule->thresholds[0].name, "share");
	ASSERT(rule->thresholds[0].amount.number == 95 && rule->thresholds[0].is_bare);
	ASSERT(rule->thresholds[1].amount.number == 10);
	ASSERT_STREQ(rule->source, "below");
	ASSERT_EQ((uint64_t)rule->place_count, (uint64_t)2);
	ASSERT_STREQ(rule->places[0].file, "below.yaml");
	ASSERT_EQ(rule->places[0].line, 2u);
	ASSERT_STREQ(rule->places[1].file, "above.yaml");
	ASSERT_EQ(rule->places[1].line, 2u);
}

TEST(each_key_is_taken_from_the_last_file_that_has_it)
{
	_cleanup_(rules_freep) struct rules *rules = read_above(
		"rules:\n  - id: busy\n    severity: critical\n    thresholds: {few: 3}\n    when: "
		"ranks < few\n  - id: ours\n    severity: info\n    source: us\n    when: elapsed "
		"> 5\n"
		"    text: \"{elapsed}\"\n");
	const struct rule *rule = &rules->insights.items[0];

	ASSERT_EQ((uint64_t)rules->insights.count, (uint64_t)2);
	ASSERT_EQ(rule->severity, SEVERITY_CRITICAL);
	ASSERT_STREQ(rule->condition, "ranks < few");
	ASSERT_EQ((uint64_t)rule->threshold_count, (uint64_t)3);
	ASSERT_STREQ(template_text(rule->text), "{cores_busy}");
	ASSERT_STREQ(rules->insights.items[1].id, "ours");
	ASSERT_EQ((uint64_t)rules->insights.items[1].place_count, (uint64_t)1);
}

TEST(thresholds_of_classes_and_patterns_change_as_those_of_rules)
{
	_cleanup_(rules_freep) struct rules *rules = read_above(
		"classes:\n  - id: fast\n    thresholds: {most: 9 s}\npatterns:\n  - id: "
		"hang\n    thresholds: {time: 30 min}\n");

	ASSERT(rules->classes.items[0].thresholds[0].amount.number == 9);
	ASSERT(rules->pattern_settings.hang.time == 1800);
	ASSERT(rules->pattern_settings.hang.busy == 0.5);
	ASSERT(rules->pattern_settings.is_asked[PATTERN_HANG]);
}

TEST(what_is_not_wanted_is_switched_off)
{
	_cleanup_(rules_freep) struct rules *rules = read_above(
		"rules:\n  - id: busy\n    enabled: no\nclasses:\n  - {id: fast, enabled: off}\n"
		"patterns:\n  - {id: hang, enabled: false}\n");

	ASSERT(rules->insights.items[0].is_disabled);
	ASSERT(rules->classes.items[0].is_disabled);
	ASSERT(!rules->pattern_settings.is_asked[PATTERN_HANG]);
}

TEST(what_stands_alone_has_nothing_below_it)
{
	_cleanup_(rules_freep) struct rules *alone = read_above("alone: yes\n" RULE),
					    *both = read_above("alone: no\n" RULE);

	ASSERT_EQ((uint64_t)alone->insights.count, (uint64_t)1);
	ASSERT_STREQ(alone->insights.items[0].id, "site-memory");
	ASSERT(alone->classes.count == 0 && !alone->pattern_settings.is_asked[PATTERN_HANG]);
	ASSERT_EQ((uint64_t)both->insights.count, (uint64_t)2);
}

/* ---- a site's own variables ---- */

TEST(a_sites_own_variables_are_names_like_others)
{
	_cleanup_(rules_freep) struct rules *rules = read_above(
		"variables:\n  cores_wasted: cpu_allocated_cores - cores_busy\n"
		"  share: system_share * 2\n" /* a rule's own word of that name goes before it */
		"  mount_large_share: mount_read_bytes / read_bytes\n"
		"rules:\n  - id: ours\n    severity: info\n    source: us\n    when: cores_wasted "
		"> 2\n"
		"    text: \"{cores_wasted}\"\n"
		"  - id: each\n    each: mount\n    severity: info\n    source: us\n    when: "
		"mount_large_share > 0.5\n    text: \"{mount_read_bytes}\"\n");
	const struct variable *own = variables_find(rules->variables, "cores_wasted", 12);

	ASSERT(own && variable_is_own(own) && !own->is_mount);
	ASSERT_STREQ(own->help, "cpu_allocated_cores - cores_busy");
	ASSERT(variables_find(rules->variables, "mount_large_share", 17)->is_mount);
	ASSERT_EQ((uint64_t)rules->insights.count, (uint64_t)3);
}

TEST(a_short_name_is_never_short_for_a_sites_own)
{
	_cleanup_(rules_freep) struct rules *rules =
		read_rules("variables: {elapsed_bytes: read_bytes}\n" RULE);

	ASSERT_STREQ(variables_find(rules->variables, "elapsed", 7)->name, "elapsed_seconds");
}

TEST(there_is_an_end_to_variables)
{
	char text[4096] = "variables:\n", line[40];

	for (int i = 0; i <= VARIABLES_OWN_MAX; i++) {
		snprintf(line, sizeof(line), "  v%d: elapsed\n", i);
		strcat(text, line);
	}
	ASSERT_CONTAINS(refuse(text), "site.yaml:66: variables: there are more than 64");
}

TEST(the_last_file_says_what_a_variable_is)
{
	const char *below = "variables: {a: read_bytes, b: elapsed}\n",
		   *above = "variables: {a: write_bytes}\n";
	const struct rules_text texts[] = { { "below.yaml", below, strlen(below) },
					    { "above.yaml", above, strlen(above) } };
	_cleanup_(rules_freep) struct rules *rules = NULL;

	ASSERT_OK(rules_join(texts, 2, &rules, NULL));
	ASSERT_STREQ(variables_find(rules->variables, "a", 1)->help, "write_bytes");
	ASSERT_STREQ(variables_find(rules->variables, "b", 1)->help, "elapsed");
}

/* ---- what a site bills by ---- */

TEST(weights_are_by_partition_and_the_last_file_counts)
{
	const char *below = "billing: {gpu: 'CPU=2', '*': 'CPU=1.0,Mem=0.25G'}\n",
		   *above = "billing: {gpu: 'cpu=3,GRES/gpu=8,Node=0'}\n";
	const struct rules_text texts[] = { { "below.yaml", below, strlen(below) },
					    { "above.yaml", above, strlen(above) } };
	_cleanup_(rules_freep) struct rules *rules = NULL;
	const struct billing *gpu, *other;

	ASSERT_OK(rules_join(texts, 2, &rules, NULL));
	gpu = billings_find(&rules->billings, "gpu");
	other = billings_find(&rules->billings, "long");
	ASSERT(gpu->weights[RESOURCE_CORES] == 3 && gpu->weights[RESOURCE_MEMORY] == 0);
	ASSERT_EQ((uint64_t)gpu->left_out_count, (uint64_t)1);
	ASSERT_STREQ(gpu->left_out[0], "GRES/gpu");
	ASSERT(other == billings_find(&rules->billings, NULL));
	ASSERT(other->weights[RESOURCE_MEMORY] == 0.25 / (1 << 30));
	ASSERT_STREQ(other->text, "CPU=1.0,Mem=0.25G");
}

/* ---- what is refused ---- */

struct refusal {
	const char *text, *says;
	bool is_part; /* @says is a part of what is said */
};

/* clang-format off */
static const struct refusal refusals[] = {
	{ "rules:\n  - id: a\n    color: red\n", "site.yaml:3: there is no 'color' here; there are id enabled severity each thresholds least source when text advice advice_on_network advice_on_disk advice_on_memory directive resource lost group explains" },
	{ "rulez: []\n", "site.yaml:1: there is no 'rulez' here; there are alone, billing, variables, rules, classes and patterns" },
	{ "rules: 5\n", "site.yaml:1: rules: a list must stand here, and not a scalar" },
	{ "rules:\n  - 5\n", "site.yaml:2: this: a map must stand here, and not a scalar" },
	{ "rules:\n  - severity: info\n", "site.yaml:2: 'id' is missing here" },
	{ "rules:\n  - id: [a]\n", "site.yaml:2: id: a scalar must stand here, and not a list" },
	{ "rules:\n  - id:\n", "site.yaml:2: id: nothing stands here" },
	{ "rules:\n  - id: A\n", "site.yaml:2: id: 'A' is no word of small letters", true },
	{ "rules:\n  - id: a\n    severity: bad\n", "site.yaml:3: severity: 'bad' is none; there are info, warning and critical" },
	{ "rules:\n  - id: a\n    severity: info\n    each: job\n", "site.yaml:4: each: a rule can be asked for each 'mount' or 'mount by path', and not for each 'job'" },
	{ RULE ENTRY, "site.yaml:7: id: 'site-memory' is given twice, first in line 2", true },
	/* expressions and sentences */
	{ "rules:\n  - id: a\n    severity: info\n    source: me\n    when: memory_usag > 80\n    text: x\n", "site.yaml:5: when: column 1: there is no name 'memory_usag'; did you mean 'memory_usage'?" },
	{ "rules:\n  - id: a\n    severity: info\n    source: me\n    when: 1 > 2\n    text: x\n", "site.yaml:5: when: this asks nothing of the record", true },
	{ "rules:\n  - id: a\n    severity: info\n    source: me\n    when: elapsed > 2\n    text: x\n", "site.yaml:6: text: it needs a number of the record", true },
	{ "rules:\n  - id: a\n    severity: info\n    source: me\n    when: elapsed > 2\n    text: \"so {elapsed_second} long\"\n", "site.yaml:6: text: column 5: there is no name 'elapsed_second'; did you mean 'elapsed_seconds'?" },
	{ RULE "    advice: \"{mount}\"\n", "site.yaml:7: advice: column 2: this wants 'each: mount'", true },
	{ RULE "    least: {read_call: 7}\n", "site.yaml:7: least: 'read_call' is no number of the record", true },
	{ RULE "    least: {read_calls: 7 GiB}\n", "site.yaml:7: read_calls: ", true },
	{ RULE "    explains: nothing\n", "site.yaml:2: explains: no rule or group is called 'nothing'", true },
	{ RULE "    advice: \"{elapsed:signal}\"\n", "':whole' and ':signal' are for plain numbers", true },
	{ RULE "    advice: \"{\"\n", "site.yaml:7: advice: column 1: this '{' has no '}'", true },
	{ RULE "    advice: \"a}\"\n", "column 2: this '}' has no '{'", true },
	{ RULE "    advice: \"{elapsed:memory}\"\n", "':memory' is for bytes", true },
	{ RULE "    advice: \"{elapsed:hours}\"\n", "there are ':memory', ':whole' and ':signal'", true },
	{ RULE "    lost: elapsed\n", "'resource' is missing here", true },
	/* thresholds */
	{ RULE "    thresholds: {elapsed: 5}\n", "'elapsed' is the name of a number of the record", true },
	{ RULE "    thresholds: {a: elapsed}\n", "a: a number must stand here, and no name", true },
	{ RULE "    thresholds: {A: 5}\n", "'A' is no word", true },
	{ RULE "    thresholds: {a: 5 parsecs}\n", "site.yaml:7: a: column 3: there is no unit 'parsecs'", true },
	{ RULE "    thresholds: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1}\n", "more than 8", true },
	/* classes */
	{ "classes:\n  - id: a\n    source: me\n    when: elapsed > 5\n    text: \"{elapsed}\"\n", "site.yaml:2: 'share' is missing here", true },
	{ "classes:\n  - id: a\n    source: me\n    when: elapsed > 5\n    share: elapsed\n", "share: a share must stand here, and not seconds", true },
	{ "classes:\n  - id: a\n    severity: info\n", "site.yaml:3: there is no 'severity' here", true },
	/* patterns */
	{ "patterns:\n  - id: hang\n    when: elapsed > 5\n", "site.yaml:3: there is no 'when' here; there are id enabled thresholds source", true },
	{ "patterns:\n  - id: hang\n", "site.yaml:2: 'source' is missing", true },
	{ "patterns:\n  - id: hang\n    source: me\n", "site.yaml:2: thresholds: 'share' is missing", true },
	/* a site's own variables */
	{ "variables:\n  elapsed: cpu_seconds\n", "site.yaml:2: variables: 'elapsed' is the name of a number of the record" },
	{ "variables:\n  a: cpu_seconds\n  b: a + a\n", "site.yaml:3: b: 'a' is a variable itself; names of the record may stand here" },
	{ "variables:\n  a: 5 + 6\n", "site.yaml:2: a: no number of the record stands in this" },
	{ "variables:\n  min: cpu_seconds\n", "site.yaml:2: variables: 'min' is a word of the language" },
	{ "variables:\n  A: cpu_seconds\n", "'A' is no word", true },
	{ "variables:\n  a: cpu_second\n", "site.yaml:2: a: column 1: there is no name 'cpu_second'; did you mean", true },
	{ "variables: []\n", "variables: a map must stand here", true },
	{ "variables:\n  a: mount_read_bytes\nrules:\n  - id: x\n    severity: info\n    source: me\n    when: a > 5\n    text: \"{a}\"\n", "'a' is of one mount; it wants 'each: mount'", true },
	/* weights */
	{ "billing:\n  gpu: CPUs=1\n", "site.yaml:2: gpu: there is no 'CPUs' to bill; there are CPU, Mem, and others of Slurm such as GRES/gpu" },
	{ "billing:\n  gpu: CPU=-1\n", "site.yaml:2: gpu: CPU: a number from 0 on must stand here, and not '-1'" },
	{ "billing:\n  gpu: CPU=1..2\n", "a number from 0 on must stand", true },
	{ "billing:\n  gpu: CPU=.\n", "a number from 0 on must stand", true },
	{ "billing:\n  gpu: CPU=1e99\n", "'1e99' ends in no unit", true },
	{ "billing:\n  gpu: CPU=1G\n", "'1G' ends in no unit", true },
	{ "billing:\n  gpu: Mem=1X\n", "'1X' ends in no unit", true },
	{ "billing:\n  gpu: CPU=1,CPU=2\n", "CPU is given twice", true },
	{ "billing:\n  gpu: Node=5\n", "neither CPU nor Mem has a weight", true },
	{ "billing:\n  gpu: CPU=0\n", "neither CPU nor Mem has a weight", true },
	{ "billing:\n  gpu: CPU\n", "NAME=WEIGHT must stand here", true },
	{ "billing: CPU=1\n", "billing: a map must stand here", true },
};

static const struct refusal refusals_above[] = {
	{ "rules:\n  - id: busy\n    enabled: 3\n", "above.yaml:3: enabled: yes or no must stand here, and not '3'" },
	{ "rules:\n  - id: busy\n    thresholds: {share: 5 s}\n", "above.yaml:3: thresholds: share: a share must stand here, and not seconds" },
	{ "rules:\n  - id: busy\n    thresholds: {shares: 5 %}\n", "above.yaml:3: thresholds: 'busy' has no 'shares'; did you mean 'share'?" },
	{ "rules:\n  - id: busy\n    thresholds: {enough: 5 %}\n", "above.yaml:3: thresholds: 'busy' has no 'enough'; it has share, time" },
	{ "rules:\n  - id: busy\n    thresholds: {share: 0.8}\n", "above.yaml:2: with this: below.yaml:6: when: ", true },
	{ "rules:\n  - id: busi\n    thresholds: {share: 5 %}\n", "above.yaml:2: 'severity' is missing here, of a new 'busi'; did you mean 'busy'?" },
	{ "patterns:\n  - id: hang\n    thresholds: {time: 1 ms}\n", "above.yaml:2: thresholds: time: this must be from", true },
	{ "rules:\n  - id: busy\n  - id: busy\n", "above.yaml:3: id: 'busy' is given twice, first in line 2", true },
};
/* clang-format on */

static void check_refusal(const char *said, const struct refusal *wanted)
{
	if (wanted->is_part)
		ASSERT_CONTAINS(said, wanted->says);
	else
		test_string(said, wanted->says, wanted->text, __FILE__, __LINE__);
}

TEST(errors_say_file_and_line)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		check_refusal(refuse(refusals[i].text), &refusals[i]);
}

TEST(a_change_that_does_not_fit_is_told_by_the_line_of_the_change)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals_above); i++)
		check_refusal(refuse_above(refusals_above[i].text), &refusals_above[i]);
}
