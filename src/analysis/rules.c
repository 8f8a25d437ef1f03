/* SPDX-License-Identifier: MIT */
#include "analysis/rules.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "analysis/rules_internal.h"
#include "analysis/variables.h"

#define TEXT_MAX 1024
#define BILLINGS_MAX 64
#define PARTITION_MAX 64

/* ---- what is read ---- */

int rules_refuse(const struct rules_reader *reader, unsigned int line, const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return error_set(reader->err, -EINVAL, "%s:%u: %s", reader->rules->files[reader->layer],
			 line, text);
}

int rules_want(const struct rules_reader *reader, const struct yaml_node *o,
	       enum yaml_node_kind kind)
{
	if (o->kind == kind)
		return 0;
	return rules_refuse(reader, o->line, "%s: %s must stand here, and not %s",
			    o->key ? o->key : "this", yaml_node_kind_name(kind),
			    yaml_node_kind_name(o->kind));
}

int rules_want_text(const struct rules_reader *reader, const struct yaml_node *o)
{
	int r = rules_want(reader, o, YAML_NODE_SCALAR);

	if (r < 0)
		return r;
	if (o->is_null || !*o->text)
		return rules_refuse(reader, o->line, "%s: nothing stands here", o->key);
	if (strlen(o->text) > TEXT_MAX)
		return rules_refuse(reader, o->line, "%s: this is longer than %d bytes", o->key,
				    TEXT_MAX);
	for (const char *p = o->text; *p; p++) {
		if (iscntrl((unsigned char)*p) && *p != '\n')
			return rules_refuse(reader, o->line, "%s: a control character stands here",
					    o->key);
	}
	return 0;
}

int rules_refuse_within(const struct rules_reader *reader, const struct yaml_node *o, int r)
{
	if (r == -ENOMEM)
		return r;
	return error_prefix(reader->err, r, "%s:%u: %s", reader->rules->files[reader->layer],
			    o->line, o->key);
}

bool rules_is_word(const char *text, const char *others)
{
	for (const char *p = text; *p; p++) {
		if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) &&
		    !strchr(others, *p))
			return false;
	}
	return islower((unsigned char)*text) && strlen(text) < RULES_WORD_MAX;
}

int rules_read_yes_no(const struct rules_reader *reader, const struct yaml_node *o, bool *ret)
{
	static const char *const words[] = { "no", "yes", "off", "on", "false", "true" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i], o->text) == 0) {
			*ret = i % 2;
			return 0;
		}
	}
	return rules_refuse(reader, o->line, "%s: yes or no must stand here, and not '%.64s'",
			    o->key, o->text);
}

const struct yaml_node *rules_find_child(const struct yaml_node *map, const char *key)
{
	for (const struct yaml_node *o = map->first; o; o = o->next) {
		if (strcmp(o->key, key) == 0)
			return o;
	}
	return NULL;
}

/* Read each entry of the list or map of that name, file by file; it may be absent. */
static int read_each(struct rules_reader *reader, const char *name, enum yaml_node_kind kind,
		     int (*read)(struct rules_reader *reader, const struct yaml_node *entry,
				 void *context),
		     void *context)
{
	int r = 0;

	for (size_t layer = reader->first_layer; r == 0 && layer < reader->layer_count; layer++) {
		const struct yaml_node *o = rules_find_child(reader->roots[layer], name);

		reader->layer = layer;
		if (!o || o->is_null)
			continue;
		r = rules_want(reader, o, kind);
		for (o = o->first; r == 0 && o; o = o->next)
			r = read(reader, o, context);
	}
	return r;
}

/* ---- lists, of which all files have a part ---- */

struct entries { /* by id, in order of first mention */
	const char *section;
	struct rule_maps maps[RULES_MAX];
	const char *ids[RULES_MAX];
	size_t count;
};

static int read_entry_id(const struct rules_reader *reader, const struct yaml_node *map,
			 const char **ret)
{
	const struct yaml_node *id;
	int r = rules_want(reader, map, YAML_NODE_MAP);

	if (r < 0)
		return r;
	id = rules_find_child(map, "id");
	if (!id)
		return rules_refuse(reader, map->line, "'id' is missing here");
	r = rules_want_text(reader, id);
	if (r == 0 && !rules_is_word(id->text, "-"))
		r = rules_refuse(reader, id->line,
				 "id: '%.64s' is no word of small letters, digits and '-'",
				 id->text);
	if (r == 0)
		*ret = id->text;
	return r;
}

static int add_entry(struct rules_reader *reader, const struct yaml_node *map, void *to)
{
	struct entries *entries = to;
	const char *id = NULL;
	size_t i = 0;
	int r = read_entry_id(reader, map, &id);

	if (r < 0)
		return r;
	assert(id);
	while (i < entries->count && strcmp(entries->ids[i], id) != 0)
		i++;
	if (i == RULES_MAX)
		return rules_refuse(reader, map->line, "%s: there are more than %d",
				    entries->section, RULES_MAX);
	if (entries->maps[i].of[reader->layer])
		return rules_refuse(reader, map->line, "id: '%s' is given twice, first in line %u",
				    id, entries->maps[i].of[reader->layer]->line);
	entries->maps[i].of[reader->layer] = map;
	entries->ids[i] = id;
	entries->count = MAX(entries->count, i + 1);
	return 0;
}

static int read_list(struct rules_reader *reader, const char *section, enum entry entry,
		     struct rule_list *list)
{
	_cleanup_free_ struct entries *entries = calloc(1, sizeof(*entries));
	int r;

	if (!entries)
		return -ENOMEM;
	entries->section = section;
	r = read_each(reader, section, YAML_NODE_LIST, add_entry, entries);
	if (r < 0)
		return r;
	list->items = calloc(entries->count + 1, sizeof(*list->items));
	if (!list->items)
		return -ENOMEM;
	reader->entry = entry;
	for (size_t i = 0; r == 0 && i < entries->count; i++)
		r = rules_read_rule(reader, &entries->maps[i], &list->items[list->count++]);
	return r;
}

/* ---- the maps billing and variables ---- */

static int read_billing(struct rules_reader *reader, const struct yaml_node *o,
			void *context UNUSED)
{
	struct billings *billings = &reader->rules->billings;
	_cleanup_(billing_clear) struct billing read = {};
	struct billing *billing;
	int r = rules_want_text(reader, o);

	if (r < 0)
		return r;
	if (strlen(o->key) > PARTITION_MAX)
		return rules_refuse(reader, o->line, "billing: '%.16s...' is longer than %d bytes",
				    o->key, PARTITION_MAX);
	r = billing_parse(o->text, &read, reader->err);
	if (r < 0)
		return rules_refuse_within(reader, o, r);
	billing = billings_get(billings, o->key);
	if (!billing)
		return -ENOMEM;
	if (billings->count > BILLINGS_MAX)
		return rules_refuse(reader, o->line, "billing: there are more than %d",
				    BILLINGS_MAX);
	read.partition = TAKE_PTR(billing->partition);
	billing_clear(billing);
	*billing = read;
	read = (struct billing){};
	return 0;
}

/* Words of expressions and sentences. */
static const char *const reserved[] = { "and", "or", "not", "min", "max", "mount" };

static int check_name(const struct rules_reader *reader, const struct yaml_node *o)
{
	const struct variables *variables = reader->rules->variables;
	const struct variable *variable = variables_find(variables, o->key, strlen(o->key));

	if (!rules_is_word(o->key, "_"))
		return rules_refuse(
			reader, o->line,
			"variables: '%.64s' is no word of small letters, digits and '_'", o->key);
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
		if (strcmp(reserved[i], o->key) == 0)
			return rules_refuse(reader, o->line,
					    "variables: '%s' is a word of the language", o->key);
	}
	if (variable && !variable_is_own(variable))
		return rules_refuse(reader, o->line,
				    "variables: '%s' is the name of a number of the record",
				    o->key);
	return 0;
}

/* A variable uses numbers of the record, never other variables: so its cost is bounded. */
static int check_names_in(const struct rules_reader *reader, const struct yaml_node *o,
			  const struct expression *e)
{
	const struct variable *variable;
	size_t i = 0;

	while ((variable = expression_variable(e, i++)) != NULL) {
		if (variable_is_own(variable))
			return rules_refuse(reader, o->line,
					    "%s: '%s' is a variable itself; names of the record "
					    "may stand here",
					    o->key, variable->name);
	}
	return i > 1 ? 0
		     : rules_refuse(reader, o->line, "%s: no number of the record stands in this",
				    o->key);
}

static int read_variable(struct rules_reader *reader, const struct yaml_node *o,
			 void *context UNUSED)
{
	_cleanup_(expression_freep) struct expression *e = NULL;
	struct names names = { .variables = reader->rules->variables, .has_mount = true };
	int r = rules_want_text(reader, o);

	if (r == 0)
		r = check_name(reader, o);
	if (r < 0)
		return r;
	r = expression_parse(o->text, EXPRESSION_NUMBER, &names, &e, reader->err);
	if (r < 0)
		return rules_refuse_within(reader, o, r);
	r = check_names_in(reader, o, e);
	if (r < 0)
		return r;
	r = variables_set_own(reader->rules->variables, o->key, o->text, e);
	if (r == -ENOSPC)
		return rules_refuse(reader, o->line, "variables: there are more than %d",
				    VARIABLES_OWN_MAX);
	if (r == 0)
		TAKE_PTR(e);
	return r;
}

/* ---- what explains what ---- */

/* The next of the words of @text, separated by ", "; NULL: no more. */
static const char *next_word(const char *text, size_t *length)
{
	text += strspn(text, ", ");
	*length = strcspn(text, ",");
	return *text ? text : NULL;
}

static bool is_word(const char *text, const char *word, size_t length)
{
	return text && strncmp(text, word, length) == 0 && !text[length];
}

static bool is_called(const struct rule *rule, const char *word, size_t length)
{
	return is_word(rule->id, word, length) || is_word(rule->group, word, length);
}

bool rule_explains(const struct rule *rule, const struct rule *other)
{
	const char *word = rule->explains;
	size_t length;

	for (; word && (word = next_word(word, &length)); word += length) {
		if (is_called(other, word, length))
			return true;
	}
	return false;
}

/* Each word is a rule that is there, or a group. */
static int check_explains(const struct rules_reader *reader, const struct rule *rule)
{
	const struct rule_list *list = &reader->rules->insights;
	const struct rule_place *last = &rule->places[rule->place_count - 1];
	const char *word = rule->explains;
	size_t length, i;

	for (; word && (word = next_word(word, &length)); word += length) {
		for (i = 0; i < list->count && !is_called(&list->items[i], word, length);)
			i++;
		if (i == list->count)
			return error_set(reader->err, -EINVAL,
					 "%s:%u: explains: no rule or group is called '%.*s'",
					 last->file, last->line, (int)MIN(length, (size_t)64),
					 word);
	}
	return 0;
}

/* ---- files ---- */

static const char *const sections[] = { "alone", "billing", "variables",
					"rules", "classes", "patterns" };

/* A file with `alone` hides those below it. */
static int read_alone(struct rules_reader *reader)
{
	const struct yaml_node *o = rules_find_child(reader->roots[reader->layer], "alone");
	bool is_alone = false;
	int r = o ? rules_want_text(reader, o) : 0;

	if (r == 0 && o)
		r = rules_read_yes_no(reader, o, &is_alone);
	if (is_alone)
		reader->first_layer = reader->layer;
	return r;
}

static int read_roots(struct rules_reader *reader)
{
	struct rules *rules = reader->rules;
	int r = 0;

	for (reader->layer = 0; r == 0 && reader->layer < reader->layer_count; reader->layer++) {
		const struct yaml_node *root = reader->roots[reader->layer];

		r = rules_want(reader, root, YAML_NODE_MAP);
		for (const struct yaml_node *o = root->first; r == 0 && o; o = o->next) {
			size_t i = 0;

			while (i < ARRAY_SIZE(sections) && strcmp(o->key, sections[i]) != 0)
				i++;
			if (i == ARRAY_SIZE(sections))
				r = rules_refuse(
					reader, o->line,
					"there is no '%.64s' here; there are alone, billing, variables, rules, "
					"classes and patterns",
					o->key);
		}
		if (r == 0)
			r = read_alone(reader);
	}
	if (r == 0)
		r = read_each(reader, "billing", YAML_NODE_MAP, read_billing, NULL);
	if (r == 0)
		r = read_each(reader, "variables", YAML_NODE_MAP, read_variable, NULL);
	if (r == 0)
		r = read_list(reader, "rules", ENTRY_RULE, &rules->insights);
	for (size_t i = 0; r == 0 && i < rules->insights.count; i++)
		r = check_explains(reader, &rules->insights.items[i]);
	if (r == 0)
		r = read_list(reader, "classes", ENTRY_CLASS, &rules->classes);
	if (r == 0)
		r = read_list(reader, "patterns", ENTRY_PATTERN, &rules->patterns);
	return r;
}

/* ---- the whole ---- */

static void rule_clear(struct rule *rule)
{
	for (size_t i = 0; i < rule->threshold_count; i++)
		free(rule->thresholds[i].name);
	free(rule->thresholds);
	free(rule->id);
	free(rule->source);
	free(rule->condition);
	free(rule->resource);
	free(rule->group);
	free(rule->explains);
	expression_free(rule->when);
	expression_free(rule->lost);
	expression_free(rule->share);
	template_free(rule->text);
	template_free(rule->advice);
	template_free(rule->directive);
	for (size_t i = 0; i < STORAGE_COUNT; i++)
		template_free(rule->advice_on[i]);
	for (size_t i = 0; i < rule->least_count; i++) {
		free(rule->least[i].text);
		expression_free(rule->least[i].holds);
	}
	free(rule->least);
}

static void rule_list_clear(struct rule_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		rule_clear(&list->items[i]);
	free(list->items);
}

struct rules *rules_free(struct rules *r)
{
	if (!r)
		return NULL;
	rule_list_clear(&r->insights);
	rule_list_clear(&r->classes);
	rule_list_clear(&r->patterns);
	variables_free(r->variables);
	billings_clear(&r->billings);
	for (size_t i = 0; i < ARRAY_SIZE(r->files); i++)
		free(r->files[i]);
	free(r);
	return NULL;
}

void rules_freep(struct rules **r)
{
	rules_free(*r);
}

static int read_texts(struct rules_reader *reader, const struct rules_text *texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int r;

		reader->rules->files[i] = strdup(texts[i].name);
		if (!reader->rules->files[i])
			return -ENOMEM;
		r = yaml_node_parse(texts[i].text, texts[i].length, texts[i].name,
				    &reader->roots[i], reader->err);
		if (r < 0)
			return r;
		reader->layer_count++;
	}
	return read_roots(reader);
}

int rules_join(const struct rules_text *texts, size_t count, struct rules **ret, struct error *err)
{
	_cleanup_(rules_freep) struct rules *rules = calloc(1, sizeof(*rules));
	struct rules_reader reader = { .rules = rules, .err = err };
	int r = -ENOMEM;

	assert(count > 0 && count <= RULES_LAYERS_MAX);
	if (rules)
		rules->variables = variables_new();
	if (rules && rules->variables)
		r = read_texts(&reader, texts, count);
	for (size_t i = 0; i < reader.layer_count; i++)
		yaml_node_free(reader.roots[i]);
	if (r == -ENOMEM)
		return error_set_errno(err, ENOMEM, "cannot read the rules");
	if (r < 0)
		return r;
	*ret = TAKE_PTR(rules);
	return 0;
}

int rules_parse(const char *text, size_t length, const char *name, struct rules **ret,
		struct error *err)
{
	const struct rules_text one = { name, text, length };

	return rules_join(&one, 1, ret, err);
}

struct rules_text rules_built_in_text(void)
{
	return (struct rules_text){ "built-in insights.yaml", rules_built_in,
				    strlen(rules_built_in) };
}

int rules_load_built_in(struct rules **ret, struct error *err)
{
	struct rules_text text = rules_built_in_text();

	return rules_join(&text, 1, ret, err);
}
