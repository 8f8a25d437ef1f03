/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "analysis/rules_internal.h"
#include "analysis/variables.h"

/* Words that mean something in expressions and sentences. */
static const char *const taken[] = { "and", "or", "not", "min", "max", "mount" };

static int check_name(const struct rules_reader *reader, const struct yaml_node *o)
{
	const struct variables *variables = reader->rules->variables;
	const struct variable *variable = variables_find(variables, o->key, strlen(o->key));

	if (!rules_is_word(o->key, "_"))
		return rules_refuse(
			reader, o->line,
			"variables: '%.64s' is no word of small letters, digits and '_'", o->key);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		if (strcmp(taken[i], o->key) == 0)
			return rules_refuse(reader, o->line,
					    "variables: '%s' is a word of the language", o->key);
	}
	if (variable && !variable_is_own(variable))
		return rules_refuse(reader, o->line,
				    "variables: '%s' is the name of a number of the record",
				    o->key);
	return 0;
}

/* One of them stands for a number of the record, and never for another of them: so what one costs
 * has a bound. */
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

int rules_read_variables(struct rules_reader *reader)
{
	return rules_read_each(reader, "variables", YAML_NODE_MAP, read_variable, NULL);
}
