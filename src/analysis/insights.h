/* SPDX-License-Identifier: MIT */
/*
 * insights - what the rules say of one record: what is so, with its numbers, and what to do.
 *
 * A rule of which a number is not known says nothing; it is listed with the names that were
 * missing.  One cause is told once: what a finding explains is left out, and so are rules of its
 * group that stand behind it in the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/rules.h"
#include "analysis/variables.h"

struct document;
struct patterns;

#define INSIGHTS_PER_RULE_MAX                                              \
	8 /* of a rule that is asked for each mount: those with most bytes \
	   */

#define INSIGHTS_MOUNTS_MAX 64 /* mounts that rules look at: those with most time in calls */

struct busiest { /* mounts: those with more time than that, and so many with just that */
	uint64_t least_ns;
	size_t equal;
};

struct insight {
	const struct rule *rule;
	struct subject subject;
	char *text;
	char *advice, *directive; /* NULL: none, or a number in it is not known */
	struct amount lost;
	double weight; /* what was lost, of all that there was */
	bool is_explained; /* while they are looked for: another one is its cause */
};

struct unknown_rule {
	const struct rule *rule;
	char *names; /* "cpu_throttled_seconds, cores_used" */
};

struct insights { /* begins as {}; must not outlive the rules and the record */
	/* The severest first, and of these in the order of the file; of several mounts what lost
	 * most.  What another one explains is left out. */
	struct insight *items;
	size_t count;
	/* The row of all mounts, where it is not known on which of them operations by path were;
	 * else NULL. */
	struct mount_row *together;
	struct record_times *times;
	struct busiest busiest;
	struct unknown_rule *unknown;
	size_t unknown_count;
	/* It lasted less than nearly all rules take, or a rule holds but for the time that it takes
	 * at least: nothing found does not mean that nothing is wrong. */
	bool is_too_short;
};

/* @patterns: what was found in the record's timeline; NULL: nothing was looked for.  They must
 * outlive the insights.  -ENOMEM. */
int insights_find(const struct rules *rules, const struct record *record,
		  const struct patterns *patterns, struct insights *ret);
void insights_clear(struct insights *insights);

/* The first sentences of a report.  Returns how many, at most INSIGHTS_FIRST. */
#define INSIGHTS_FIRST 3
size_t insights_first(const struct insights *insights, const struct insight *ret[INSIGHTS_FIRST]);

/* A list of maps. */
void insights_format(const struct insights *insights, struct document *d);
void insights_format_unknown(const struct insights *insights, struct document *d);

/* Whether the condition holds of the subject, with all that its numbers must at least be; and if
 * not known, which names are not; the caller frees. -ENOMEM, else an enum truth. */
int rule_ask(const struct rule *rule, const struct subject *subject, char **ret_names);

/* What is not known of its condition, or if that is known, of its sentence.  NULL: no memory. */
char *rule_unknown_names(const struct rule *rule, const struct subject *subject);

/* The variables that the rule looks at and tells of; what it only advises is no evidence. */
#define EVIDENCE_MAX 64
struct evidence {
	const struct variable *items[EVIDENCE_MAX]; /* each once */
	size_t count;
};
struct evidence rule_evidence(const struct rule *rule);

/* A map of the variables that the rule looks at and tells of, with their values. */
void rule_format_evidence(const struct rule *rule, const struct subject *subject,
			  struct document *d);
