/* SPDX-License-Identifier: MIT */
/* Any text as rules, alone and above others: an error says the file and the line; what is taken can
 * be asked of a record.
 */
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "fuzz.h"
#include "analysis/insights.h"
#include "made.h"
#include "made_rates.h"
#include "analysis/patterns.h"

static void ask(const struct rules *rules, const struct record *record)
{
	_cleanup_(insights_clear) struct insights insights = {};
	struct patterns patterns = {};

	CHECK(patterns_find(&rules->pattern_settings, record, &patterns) == 0);
	CHECK(insights_find(rules, record, &patterns, &insights) == 0);
	for (size_t i = 0; i < insights.count; i++)
		CHECK(insights.items[i].text);
}

/* What a site's file stands above, with names as those that are built in. */
#define BELOW                                                                                    \
	"variables: {wasted: core_seconds - cpu_seconds}\n"                                      \
	"rules:\n"                                                                               \
	"  - id: cpu-low\n"                                                                      \
	"    severity: warning\n"                                                                \
	"    thresholds: {enough: 65 %, time: 10 s}\n"                                           \
	"    source: below\n"                                                                    \
	"    when: cpu_efficiency < enough and elapsed > time\n"                                 \
	"    text: \"{cores_busy} {wasted}\"\n"                                                  \
	"  - {id: small-reads, each: mount, severity: info, source: below, when: "               \
	"mount_read_calls > 5,\n"                                                                \
	"     text: \"{mount} {mount_read_calls}\"}\n"                                           \
	"classes:\n"                                                                             \
	"  - {id: cpu-bound, thresholds: {least: 70 %}, source: below, when: cpu_efficiency >= " \
	"least,\n"                                                                               \
	"     share: cpu_efficiency, text: \"{cores_busy}\"}\n"                                  \
	"patterns:\n"                                                                            \
	"  - {id: hang, source: below,\n"                                                        \
	"     thresholds: {share: 1 %, cores: 0.1, rate: 1K / 1s, time: 10 min, busy: 0.5}}\n"

/* NULL: it is refused, with file and line; by the file above, since what is below is right. */
static struct rules *read_rules(const struct rules_text *texts, size_t count)
{
	struct rules *rules = NULL;
	struct error err = {};

	if (rules_join(texts, count, &rules, &err) < 0)
		CHECK(!rules && strncmp(err.text, "rules.yaml:", strlen("rules.yaml:")) == 0 &&
		      !strchr(err.text, '\n'));
	return rules;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(rules_freep) struct rules *alone = NULL, *above = NULL;
	_cleanup_(record_freep) struct record *nothing = record_new(), *much = made_record(0);
	struct made_rates rates = made_rates(64);
	_cleanup_(record_freep) struct record *long_one = made_rates_record(&rates, 5);
	_cleanup_free_ char *text = malloc(size + 1);
	const struct rules_text texts[] = { { "below.yaml", BELOW, strlen(BELOW) },
					    { "rules.yaml", text, size } };

	memcpy(text, data, size);
	text[size] = '\0';
	alone = read_rules(texts + 1, 1);
	above = read_rules(texts, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct rules *rules = i ? above : alone;

		if (!rules)
			continue;
		ask(rules, nothing);
		ask(rules, much);
		ask(rules, long_one);
	}
	return 0;
}
