/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "analysis/rules.h"
#include "test.h"

/* A hang's entry with one threshold written otherwise. */
static const char *refuse(const char *share, const char *time, const char *more)
{
	static struct error err;
	struct rules *rules = NULL;
	char text[512];

	err.text[0] = '\0';
	snprintf(text, sizeof(text),
		 "patterns:\n  - id: hang\n    source: me\n    thresholds: {%s cores: 0.1, rate: "
		 "1K / "
		 "1s, time: %s, busy: 0.5%s}\n",
		 share, time, more);
	test_int(rules_parse(text, strlen(text), "site.yaml", &rules, &err), -EINVAL, text,
		 "-EINVAL", __FILE__, __LINE__);
	ASSERT(!rules);
	return err.text;
}

TEST(each_threshold_must_stand_there_and_no_other)
{
	ASSERT_STREQ(refuse("", "10 min", ""), "site.yaml:2: thresholds: 'share' is missing");
	ASSERT_STREQ(refuse("share: 1 %,", "10 min", ", slope: 5"),
		     "site.yaml:2: thresholds: 'hang' has no 'slope'");
}

TEST(a_threshold_is_of_its_kind)
{
	ASSERT_STREQ(refuse("share: 1 %,", "600", ""),
		     "site.yaml:2: thresholds: time: seconds must stand here, and not a number");
	ASSERT_STREQ(refuse("share: 0.01,", "10 min", ""),
		     "site.yaml:2: thresholds: share: a share must stand here, and not a number");
	ASSERT_STREQ(refuse("share: 1M,", "10 min", ""),
		     "site.yaml:2: thresholds: share: a share must stand here, and not bytes");
}

TEST(a_threshold_is_within_bounds)
{
	ASSERT_CONTAINS(refuse("share: 1 %,", "0 s", ""),
			"site.yaml:2: thresholds: time: this must be from 1 s to ");
	ASSERT_CONTAINS(refuse("share: 90 %,", "10 min", ""),
			"site.yaml:2: thresholds: share: this must be from <0.1 % to 50 %");
}

TEST(a_pattern_that_nobody_looks_for_is_an_error)
{
	struct error err = {};
	struct rules *rules = NULL;
	static const char text[] = "patterns:\n  - id: leek\n    source: me\n";

	ASSERT_ERR(rules_parse(text, strlen(text), "site.yaml", &rules, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "site.yaml:2: id: there is no pattern 'leek'; there are phase,");
}

TEST(each_kind_of_pattern_is_built_in)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	struct error err = {};

	ASSERT_OK(rules_load_built_in(&rules, &err));
	for (size_t kind = 0; kind < PATTERN_KINDS; kind++)
		test_true(rules->pattern_settings.is_asked[kind],
			  pattern_id((enum pattern_kind)kind), __FILE__, __LINE__);
}
