/* SPDX-License-Identifier: MIT */
/*
 * insights - the findings of rules in one record, with numbers and advice.
 *
 * A rule with an unknown number has no finding; it is listed with the missing names. Each cause is
 * reported once: a finding hides those that it explains, and later rules of its group.
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

#define INSIGHTS_MOUNTS_MAX 64 /* mounts that rules look at: those with the most time in calls */

struct busiest { /* mounts: those above a time, and some of those with just that time */
	uint64_t least_ns;
	size_t equal;
};

struct insight {
	const struct rule *rule;
	struct subject subject;
	char *text;
	char *advice, *directive; /* NULL: none, or a number in it is not known */
	struct amount lost;
	double weight; /* the lost share of the resource */
	bool is_explained; /* during the search: another one is its cause */
};

struct unknown_rule {
	const struct rule *rule;
	char *names; /* "cpu_throttled_seconds, cores_used" */
};

/* Add to a list of them; takes *names over.  -ENOMEM. */
int unknown_rule_add(struct unknown_rule **list, size_t *count, const struct rule *rule,
		     char **names);
void unknown_rules_free(struct unknown_rule *list, size_t count);

struct insights { /* begins as {}; must not outlive the rules and the record */
	/* As each report, column and page shows them: by severity, then in the order of the file,
	 * but for what lost much more; several mounts of a rule by loss.  Explained ones are left
	 * out. */
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

/* @patterns: those of the record's timeline, or NULL; they outlive the insights. -ENOMEM. */
int insights_find(const struct rules *rules, const struct record *record,
		  const struct patterns *patterns, struct insights *ret);
void insights_clear(struct insights *insights);

/* A list of maps. */
void insights_format(const struct insights *insights, struct document *d);
void insights_format_unknown(const struct insights *insights, struct document *d);

/* Whether the condition holds of the subject, with all that its numbers must at least be; and if
 * not known, which names are not; the caller frees. -ENOMEM, else an enum truth. */
int rule_ask(const struct rule *rule, const struct subject *subject, char **ret_names);

/* What is not known of its condition, or if that is known, of its sentence.  NULL: no memory. */
char *rule_unknown_names(const struct rule *rule, const struct subject *subject);

/* The variables of the rule's condition and sentence; those of its advice are no evidence. */
#define EVIDENCE_MAX 64
struct evidence {
	const struct variable *items[EVIDENCE_MAX]; /* each once */
	size_t count;
};
struct evidence rule_evidence(const struct rule *rule);

/* Writes them as a map, with their values. */
void rule_format_evidence(const struct rule *rule, const struct subject *subject,
			  struct document *d);
