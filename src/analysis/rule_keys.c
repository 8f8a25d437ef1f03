/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/guess.h"
#include "analysis/rules_internal.h"
#include "analysis/variables.h"

static const char *const severities[] = { "info", "warning", "critical", NULL };

const char *severity_name(enum severity severity)
{
	return severities[severity];
}

static struct names names_of(const struct rules_reader *reader)
{
	return (struct names){ .variables = reader->rules->variables,
			       .constants = reader->rule->thresholds,
			       .constant_count = reader->rule->threshold_count,
			       .has_mount = reader->rule->is_each_mount };
}

/* The readers of keys; @at is a member of the rule. */

static int read_string(struct rules_reader *reader UNUSED, const struct yaml_node *o, void *at)
{
	char *copy = strdup(o->text);

	*(char **)at = copy;
	return copy ? 0 : -ENOMEM;
}

static int read_enabled(struct rules_reader *reader, const struct yaml_node *o, void *at)
{
	bool is_enabled = true;
	int r = rules_read_yes_no(reader, o, &is_enabled);

	*(bool *)at = !is_enabled;
	return r;
}

static int read_severity(struct rules_reader *reader, const struct yaml_node *o, void *at)
{
	for (size_t i = 0; severities[i]; i++) {
		if (strcmp(severities[i], o->text) == 0) {
			*(enum severity *)at = (enum severity)i;
			return 0;
		}
	}
	return rules_refuse(reader, o->line,
			    "severity: '%.64s' is none; there are info, warning and critical",
			    o->text);
}

static int read_each(struct rules_reader *reader, const struct yaml_node *o, void *at)
{
	reader->rule->is_by_path = strcmp(o->text, "mount by path") == 0;
	if (!reader->rule->is_by_path && strcmp(o->text, "mount") != 0)
		return rules_refuse(
			reader, o->line,
			"each: a rule can be asked for each 'mount' or 'mount by path', and not for each '%.64s'",
			o->text);
	*(bool *)at = true;
	return 0;
}

/* ---- thresholds ---- */

static struct constant *find_threshold(const struct rule *rule, const char *name)
{
	for (size_t i = 0; i < rule->threshold_count; i++) {
		assert(rule->thresholds[i].name);
		if (strcmp(rule->thresholds[i].name, name) == 0)
			return &rule->thresholds[i];
	}
	return NULL;
}

static int refuse_threshold(const struct rules_reader *reader, const struct yaml_node *o)
{
	const struct rule *rule = reader->rule;
	const char *guess = guess_nearest(o->key, &rule->thresholds[0].name, rule->threshold_count,
					  sizeof(rule->thresholds[0]));
	char known[256] = "none";
	size_t used = 0;

	if (guess)
		return rules_refuse(reader, o->line,
				    "thresholds: '%s' has no '%.64s'; did you mean '%s'?", rule->id,
				    o->key, guess);
	for (size_t i = 0; i < rule->threshold_count && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
					 rule->thresholds[i].name);
	return rules_refuse(reader, o->line, "thresholds: '%s' has no '%.64s'; it has %s", rule->id,
			    o->key, known);
}

static int add_threshold(struct rules_reader *reader, const struct yaml_node *o,
			 const struct constant *c)
{
	struct rule *rule = reader->rule;
	const struct variable *variable = variables_find(reader->rules->variables, o->key,
							 strlen(o->key));

	if (!rules_is_word(o->key, "_"))
		return rules_refuse(
			reader, o->line,
			"thresholds: '%.64s' is no word of small letters, digits and '_'", o->key);
	if (variable && !variable_is_own(variable)) /* a rule's own word goes before a site's */
		return rules_refuse(reader, o->line,
				    "thresholds: '%s' is the name of a number of the record",
				    o->key);
	if (rule->threshold_count >= THRESHOLDS_MAX)
		return rules_refuse(reader, o->line, "thresholds: there are more than %d",
				    THRESHOLDS_MAX);
	rule->thresholds[rule->threshold_count] = *c;
	rule->thresholds[rule->threshold_count].name = strdup(o->key);
	return rule->thresholds[rule->threshold_count].name ? (rule->threshold_count++, 0)
							    : -ENOMEM;
}

/* Of the same kind, since conditions rely on it. */
static int change_threshold(struct rules_reader *reader, const struct yaml_node *o,
			    const struct constant *c, struct constant *known)
{
	char *name = known->name;

	if (!dimension_is_equal(c->dimension, known->dimension) && !c->is_bare)
		return rules_refuse(reader, o->line,
				    "thresholds: %s: %s must stand here, and not %s", name,
				    dimension_name(known->dimension).text,
				    dimension_name(c->dimension).text);
	*known = *c;
	known->name = name;
	return 0;
}

static int read_threshold(struct rules_reader *reader, const struct yaml_node *o, bool may_add)
{
	_cleanup_(expression_freep) struct expression *e = NULL;
	struct constant *known = find_threshold(reader->rule, o->key), c = {};
	struct names names = { .variables = reader->rules->variables };
	int r = rules_want_text(reader, o);

	if (r < 0)
		return r;
	if (!known && !may_add)
		return refuse_threshold(reader, o);
	r = expression_parse(o->text, EXPRESSION_NUMBER, &names, &e, reader->err);
	if (r < 0)
		return rules_refuse_within(reader, o, r);
	if (!expression_is_constant(e, &c))
		return rules_refuse(reader, o->line, "%s: a number must stand here, and no name",
				    o->key);
	return known ? change_threshold(reader, o, &c, known) : add_threshold(reader, o, &c);
}

/* Those of all files; a file that changes a rule without its condition changes thresholds, and
 * adds none. */
static int read_thresholds(struct rules_reader *reader, const struct rule_maps *maps)
{
	bool is_new = true;
	int r = 0;

	reader->rule->thresholds = calloc(THRESHOLDS_MAX, sizeof(struct constant));
	if (!reader->rule->thresholds)
		return -ENOMEM;
	for (size_t layer = 0; r == 0 && layer < reader->layer_count; layer++) {
		const struct yaml_node *map = maps->of[layer], *o;

		if (!map)
			continue;
		reader->layer = layer;
		o = rules_find_child(map, "thresholds");
		r = o ? rules_want(reader, o, YAML_NODE_MAP) : 0;
		for (o = o ? o->first : NULL; r == 0 && o; o = o->next)
			r = read_threshold(reader, o, is_new || rules_find_child(map, "when"));
		is_new = false;
	}
	return r;
}

/* ---- what a number must at least be ---- */

/* The least elapsed time of a rule, unless it has its own. */
#define LEAST_ELAPSED "elapsed"

/* The present entry, or the next free one. */
static struct least *find_least(const struct rule *rule, const struct variable *variable)
{
	size_t i = 0;

	while (i < rule->least_count && rule->least[i].variable != variable)
		i++;
	return &rule->least[i];
}

static int set_least(struct rules_reader *reader, const char *name, const char *value)
{
	struct rule *rule = reader->rule;
	struct names names = names_of(reader);
	_cleanup_(expression_freep) struct expression *e = NULL;
	_cleanup_free_ char *text = NULL, *condition = NULL;
	struct least *least;
	int r;

	if (asprintf(&text, "%s >= %s", name, value) < 0 ||
	    asprintf(&condition, "%s >= (%s)", name, value) < 0)
		return -ENOMEM;
	r = expression_parse(condition, EXPRESSION_CONDITION, &names, &e, reader->err);
	if (r < 0)
		return r;
	least = find_least(rule, expression_variable(e, 0));
	if (least == &rule->least[LEAST_MAX])
		return error_set(reader->err, -EINVAL, "there are more than %d", LEAST_MAX);
	rule->least_count += !least->variable;
	free(least->text);
	expression_free(least->holds);
	*least = (struct least){ expression_variable(e, 0), TAKE_PTR(text), TAKE_PTR(e) };
	return 0;
}

static int read_one_least(struct rules_reader *reader, const struct yaml_node *o)
{
	int r = rules_want_text(reader, o);

	if (r < 0)
		return r;
	if (!variables_find(reader->rules->variables, o->key, strlen(o->key)))
		return rules_refuse(reader, o->line, "least: '%.64s' is no number of the record",
				    o->key);
	r = set_least(reader, o->key, o->text);
	return r < 0 ? rules_refuse_within(reader, o, r) : 0;
}

/* Those of all files, a later one's number for an earlier one's. */
static int read_least(struct rules_reader *reader, const struct rule_maps *maps)
{
	int r;

	reader->rule->least = calloc(LEAST_MAX + 1, sizeof(struct least));
	if (!reader->rule->least)
		return -ENOMEM;
	r = set_least(reader, LEAST_ELAPSED, RULES_LEAST_ELAPSED);
	for (size_t layer = 0; r == 0 && layer < reader->layer_count; layer++) {
		const struct yaml_node *o = maps->of[layer]
						    ? rules_find_child(maps->of[layer], "least")
						    : NULL;

		reader->layer = layer;
		r = o ? rules_want(reader, o, YAML_NODE_MAP) : 0;
		for (o = o ? o->first : NULL; r == 0 && o; o = o->next)
			r = read_one_least(reader, o);
	}
	return r;
}

static int read_expression(struct rules_reader *reader, const struct yaml_node *o,
			   enum expression_kind kind, struct expression **at)
{
	struct names names = names_of(reader);
	int r = expression_parse(o->text, kind, &names, at, reader->err);

	return r < 0 ? rules_refuse_within(reader, o, r) : 0;
}

static int read_when(struct rules_reader *reader, const struct yaml_node *o, void *at)
{
	int r = read_expression(reader, o, EXPRESSION_CONDITION, &reader->rule->when);

	if (r == 0 && !expression_variable(reader->rule->when, 0))
		return rules_refuse(reader, o->line, "when: this asks nothing of the record");
	return r < 0 ? r : read_string(reader, o, at);
}

static int read_number(struct rules_reader *reader, const struct yaml_node *o, void *at)
{
	return read_expression(reader, o, EXPRESSION_NUMBER, at);
}

static int read_share(struct rules_reader *reader, const struct yaml_node *o, void *at)
{
	int r = read_expression(reader, o, EXPRESSION_NUMBER, at);
	struct dimension dimension;

	if (r < 0)
		return r;
	dimension = expression_dimension(reader->rule->share);
	return dimension_is_plain(dimension)
		       ? 0
		       : rules_refuse(reader, o->line, "share: a share must stand here, and not %s",
				      dimension_name(dimension).text);
}

static int read_template(struct rules_reader *reader, const struct yaml_node *o, void *at)
{
	struct names names = names_of(reader);
	int r = template_parse(o->text, &names, at, reader->err);

	return r < 0 ? rules_refuse_within(reader, o, r) : 0;
}

/* A finding needs a number. */
static int read_text(struct rules_reader *reader, const struct yaml_node *o, void *at)
{
	int r = read_template(reader, o, at);

	if (r == 0 && !template_expression(reader->rule->text, 0))
		return rules_refuse(reader, o->line,
				    "text: it needs a number of the record, such as {cores_busy}");
	return r;
}

/* ---- the keys ---- */

#define AT(member) offsetof(struct rule, member)

/* In the order in which they are read: later ones use earlier ones. */
/* clang-format off */
static const struct rule_key {
	const char *name;
	unsigned int entries; /* which may have it */
	bool is_required;
	size_t at; /* in struct rule */
	/* From the last file that has it, or from all of them: */
	int (*read)(struct rules_reader *reader, const struct yaml_node *o, void *at);
	int (*read_all)(struct rules_reader *reader, const struct rule_maps *maps);
} keys[] = {
	{ "id", ENTRY_ANY, true, AT(id), read_string, NULL },
	{ "enabled", ENTRY_ANY, false, AT(is_disabled), read_enabled, NULL },
	{ "severity", ENTRY_RULE, true, AT(severity), read_severity, NULL },
	{ "each", ENTRY_RULE, false, AT(is_each_mount), read_each, NULL },
	{ "thresholds", ENTRY_ANY, false, 0, NULL, read_thresholds },
	{ "least", ENTRY_RULE, false, 0, NULL, read_least },
	{ "source", ENTRY_ANY, true, AT(source), read_string, NULL },
	{ "when", ENTRY_RULE | ENTRY_CLASS, true, AT(condition), read_when, NULL },
	{ "share", ENTRY_CLASS, true, AT(share), read_share, NULL },
	{ "text", ENTRY_RULE | ENTRY_CLASS, true, AT(text), read_text, NULL },
	{ "advice", ENTRY_RULE, false, AT(advice), read_template, NULL },
	{ "advice_on_network", ENTRY_RULE, false, AT(advice_on[STORAGE_NETWORK]), read_template, NULL },
	{ "advice_on_disk", ENTRY_RULE, false, AT(advice_on[STORAGE_DISK]), read_template, NULL },
	{ "advice_on_memory", ENTRY_RULE, false, AT(advice_on[STORAGE_MEMORY]), read_template, NULL },
	{ "directive", ENTRY_RULE, false, AT(directive), read_template, NULL },
	{ "resource", ENTRY_RULE, false, AT(resource), read_string, NULL },
	{ "lost", ENTRY_RULE, false, AT(lost), read_number, NULL },
	{ "group", ENTRY_RULE, false, AT(group), read_string, NULL },
	{ "explains", ENTRY_RULE, false, AT(explains), read_string, NULL },
};
/* clang-format on */

static bool is_allowed(const struct rules_reader *reader, const struct rule_key *key)
{
	return key->entries & reader->entry;
}

static int refuse_key(const struct rules_reader *reader, const struct yaml_node *o)
{
	char allowed[256];
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys) && used < sizeof(allowed); i++) {
		if (is_allowed(reader, &keys[i]))
			used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, " %s",
						 keys[i].name);
	}
	return rules_refuse(reader, o->line, "there is no '%.64s' here; there are%s", o->key,
			    allowed);
}

static int check_keys(const struct rules_reader *reader, const struct yaml_node *map)
{
	for (const struct yaml_node *o = map->first; o; o = o->next) {
		size_t i = 0;

		while (i < ARRAY_SIZE(keys) &&
		       (strcmp(keys[i].name, o->key) != 0 || !is_allowed(reader, &keys[i])))
			i++;
		if (i == ARRAY_SIZE(keys))
			return refuse_key(reader, o);
	}
	return 0;
}

/* Who means to change a rule that is there may have missed its name. */
static int refuse_missing(struct rules_reader *reader, const struct rule_maps *maps,
			  const struct rule_key *key)
{
	const struct rules *rules = reader->rules;
	const struct rule_list *list = reader->entry == ENTRY_CLASS	? &rules->classes
				       : reader->entry == ENTRY_PATTERN ? &rules->patterns
									: &rules->insights;
	const char *guess = NULL;

	for (reader->layer = 0; !maps->of[reader->layer];)
		reader->layer++;
	if (reader->layer && reader->rule->id && list->count > 1) /* the last is this one */
		guess = guess_nearest(reader->rule->id, &list->items[0].id, list->count - 1,
				      sizeof(list->items[0]));
	if (guess)
		return rules_refuse(reader, maps->of[reader->layer]->line,
				    "'%s' is missing here, of a new '%s'; did you mean '%s'?",
				    key->name, reader->rule->id, guess);
	return rules_refuse(reader, maps->of[reader->layer]->line, "'%s' is missing here",
			    key->name);
}

static int read_key(struct rules_reader *reader, const struct rule_key *key,
		    const struct rule_maps *maps)
{
	const struct yaml_node *o = NULL;
	size_t layer = reader->layer_count;
	int r;

	if (!is_allowed(reader, key))
		return 0;
	if (key->read_all)
		return key->read_all(reader, maps);
	while (!o && layer > 0) {
		layer--;
		o = maps->of[layer] ? rules_find_child(maps->of[layer], key->name) : NULL;
	}
	if (!o)
		return key->is_required ? refuse_missing(reader, maps, key) : 0;
	reader->layer = layer;
	r = rules_want_text(reader, o);
	return r < 0 ? r : key->read(reader, o, (char *)reader->rule + key->at);
}

/* The last file that mentions the rule. */
static const struct yaml_node *last_map(struct rules_reader *reader, const struct rule_maps *maps)
{
	reader->layer = reader->layer_count - 1;
	while (!maps->of[reader->layer])
		reader->layer--;
	return maps->of[reader->layer];
}

/* What a file breaks in a rule that is another's is that file's: it is named first. */
static int blame(struct rules_reader *reader, const struct rule_maps *maps, int r)
{
	size_t layer = reader->layer;
	const struct yaml_node *last = last_map(reader, maps);

	if (r == -ENOMEM || reader->layer == layer)
		return r;
	return error_prefix(reader->err, r, "%s:%u: with this", reader->rules->files[reader->layer],
			    last->line);
}

static int check_rule(struct rules_reader *reader, const struct rule_maps *maps)
{
	const struct yaml_node *last = last_map(reader, maps);
	struct rules *rules = reader->rules;
	int r = 0;

	if (reader->rule->lost && !reader->rule->resource)
		return rules_refuse(reader, last->line,
				    "'resource' is missing here: what is lost?");
	if (reader->entry == ENTRY_PATTERN)
		r = pattern_settings_add(&rules->pattern_settings, reader->rule, reader->err);
	return r < 0 ? error_prefix(reader->err, r, "%s:%u", rules->files[reader->layer],
				    last->line)
		     : 0;
}

int rules_read_rule(struct rules_reader *reader, const struct rule_maps *maps, struct rule *rule)
{
	int r = 0;

	reader->rule = rule;
	for (size_t layer = 0; r == 0 && layer < reader->layer_count; layer++) {
		const struct yaml_node *map = maps->of[layer];

		if (!map)
			continue;
		reader->layer = layer;
		rule->places[rule->place_count++] =
			(struct rule_place){ reader->rules->files[layer], map->line };
		r = check_keys(reader, map);
	}
	assert(rule->place_count > 0);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(keys); i++)
		r = read_key(reader, &keys[i], maps);
	if (r < 0)
		return blame(reader, maps, r);
	return check_rule(reader, maps);
}
