/* SPDX-License-Identifier: MIT */
/*
 * rules - findings about a job and their conditions: rules, classes and patterns
 * (share/insights.yaml), a site's own names, and its billing.
 *
 * Files join in layers: a later one replaces keys and thresholds of an id or a name of an earlier
 * one. Names, units and sentences are checked when a file is read, with line numbers. A rule
 * applies to any record.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analysis/billing.h"
#include "analysis/expression.h"
#include "analysis/pattern_settings.h"
#include "model/file_system.h"
#include "analysis/template.h"

struct error;

#define RULES_MAX 256
#define THRESHOLDS_MAX 8
#define LEAST_MAX 8
#define RULES_LAYERS_MAX 4
/* The default of a rule. */
#define RULES_LEAST_ELAPSED "1 s"
#define RULES_LEAST_ELAPSED_NS 1000000000

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL };

struct rule_place { /* in a file that mentions the rule */
	const char *file; /* the rules' */
	unsigned int line;
};

/* What a number of the record must at least be; a file may change it by its name. */
struct least {
	const struct variable *variable;
	char *text; /* "elapsed >= 10 s" */
	struct expression *holds;
};

struct rule { /* or a class, or a pattern, of which only thresholds and source are said */
	char *id;
	bool is_disabled; /* it is not asked */
	enum severity severity;
	bool is_each_mount, is_by_path; /* by path: where its mounts are not known, of all together
					 */
	struct constant *thresholds;
	size_t threshold_count;
	struct least *least; /* below any of these the rule is silent */
	size_t least_count;
	char *source; /* where the thresholds are from */
	char *condition; /* the text of when */
	struct expression *when;
	struct template *text; /* the finding */
	struct template *advice; /* NULL: none */
	struct template *advice_on[STORAGE_COUNT]; /* where files are on such; NULL: the same */
	struct template *directive; /* an option for the manager; NULL: none */
	char *resource; /* lost resource: "memory"; NULL: none */
	char *group; /* of rules with the same subject; NULL: none */
	char *explains; /* ids of rules and groups of which it is the cause, by ", "; NULL: none */
	struct expression *lost; /* how much of it; NULL: not said */
	struct expression *share; /* of a class: how much of it the job is */
	struct rule_place places[RULES_LAYERS_MAX]; /* where it is made, then where it is changed */
	size_t place_count;
};

struct rule_list {
	struct rule *items;
	size_t count;
};

struct rules {
	struct variables *variables;
	struct rule_list insights, classes, patterns;
	struct pattern_settings pattern_settings; /* from the patterns' thresholds */
	struct billings billings;
	char *files[RULES_LAYERS_MAX]; /* the names of those that they are from */
};

struct rules_text { /* a file's, all NUL-ended; nothing is kept */
	const char *name; /* before line numbers in errors */
	const char *text;
	size_t length;
};

/* Those of all @texts (at most RULES_LAYERS_MAX), the lowest first. -EINVAL: *err is "NAME:LINE:
 * REASON". */
int rules_join(const struct rules_text *texts, size_t count, struct rules **ret, struct error *err);

/* One file alone. */
int rules_parse(const char *text, size_t length, const char *name, struct rules **ret,
		struct error *err);

/* Does it name the other one, or its group, among those that it explains? */
bool rule_explains(const struct rule *rule, const struct rule *other);

/* Those that are built in. */
struct rules_text rules_built_in_text(void);
int rules_load_built_in(struct rules **ret, struct error *err);

struct rules *rules_free(struct rules *r); /* NULL is fine; returns NULL */
void rules_freep(struct rules **r);

/* "info"... */
const char *severity_name(enum severity severity);

/* The text of share/insights.yaml as it was when this was built. */
extern const char rules_built_in[];
