/* SPDX-License-Identifier: MIT */
#include "basic/cli.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/guess.h"
#include "basic/macro.h"
#include "basic/utf8.h"

#define HELP_COLUMN 26
#define HELP_WIDTH 80
#define TERM_INDENT 6

const struct cli_option cli_help_option = { "help", 'h', NULL, "print this", 0, NULL };

/* What parsing goes along with. */
struct state {
	const struct cli_command *command;
	const struct cli_options *groups;
	size_t group_count;
	struct error *err;
};

static int refuse_name(const struct state *state, const char *name)
{
	for (size_t i = 0; i < state->group_count; i++) {
		const struct cli_options *group = &state->groups[i];
		const char *guess = guess_nearest(name, &group->rows[0].name, group->count,
						  sizeof(struct cli_option));

		if (guess)
			return error_set(state->err, -EINVAL,
					 "there is no option '--%s'; did you mean '--%s'?", name,
					 guess);
	}
	return error_set(state->err, -EINVAL, "there is no option '--%s'; --help lists them", name);
}

/* By its name (of @length letters), or by its letter. */
static const struct cli_option *find(const struct state *state, const char *name, size_t length,
				     char letter, void **ret_target)
{
	for (size_t i = 0; i < state->group_count; i++) {
		const struct cli_options *group = &state->groups[i];

		for (size_t j = 0; j < group->count; j++) {
			const struct cli_option *row = &group->rows[j];
			bool is_found = name ? strlen(row->name) == length &&
							strncmp(row->name, name, length) == 0
					     : row->letter == letter;

			if (!is_found)
				continue;
			*ret_target = group->target;
			return row;
		}
	}
	return NULL;
}

static int keep(const struct state *state, const struct cli_option *option, void *target,
		const char *text)
{
	void *at = (char *)target + option->offset;

	if (!option->argument)
		*(bool *)at = true;
	else if (option->parse)
		return option->parse(text, at, state->err);
	else
		*(const char **)at = text;
	return 0;
}

/* An option; its argument, if it takes one, is @attached or else the next word.  Returns how many
 * words beyond the first were used. */
static int take(const struct state *state, const struct cli_option *option, void *target,
		const char *attached, const char *next)
{
	int r;

	if (!option->argument && attached)
		return error_set(state->err, -EINVAL, "'--%s' takes no argument", option->name);
	if (option->argument && !attached && !next)
		return error_set(state->err, -EINVAL, "'--%s' needs its %s", option->name,
				 option->argument);
	r = keep(state, option, target, attached ? attached : next);
	return r < 0 ? r : option->argument && !attached;
}

static int take_long(const struct state *state, const char *word, const char *next)
{
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word);
	const struct cli_option *option;
	void *target;
	char name[64];

	option = find(state, word, length, 0, &target);
	if (option)
		return take(state, option, target, equals ? equals + 1 : NULL, next);
	snprintf(name, sizeof(name), "%.*s", (int)MIN(length, sizeof(name) - 1), word);
	return refuse_name(state, name);
}

/* It may be meant for one that has no letter: "-o" for "--output". */
static int refuse_letter(const struct state *state, char letter)
{
	for (size_t i = 0; i < state->group_count; i++) {
		const struct cli_options *group = &state->groups[i];

		for (size_t k = 0; k < group->count; k++) {
			if (*group->rows[k].name == letter)
				return error_set(state->err, -EINVAL,
						 "there is no option '-%c'; did you mean '--%s'?",
						 letter, group->rows[k].name);
		}
	}
	return error_set(state->err, -EINVAL, "there is no option '-%c'; --help lists them",
			 letter);
}

/* "-q", "-oFILE", "-o FILE", and flags in one: "-qo FILE". */
static int take_short(const struct state *state, const char *word, const char *next)
{
	for (; *word; word++) {
		void *target;
		const struct cli_option *option = find(state, NULL, 0, *word, &target);
		int r;

		if (!option)
			return refuse_letter(state, *word);
		if (option->argument)
			return take(state, option, target, word[1] ? word + 1 : NULL, next);
		r = keep(state, option, target, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Broken between words, on lines that begin at @indent, where the first is already. */
static void print_wrapped(const char *text, size_t indent)
{
	size_t column = indent;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (column > indent && column + 1 + length > HELP_WIDTH) {
			printf("\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		printf("%.*s", (int)length, text);
		column += length;
		text += length + strspn(text + length, " ");
	}
	putchar('\n');
}

static void print_option(const struct cli_option *option, const void *target)
{
	_cleanup_free_ char *help = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&help, &length);
	const char *word;
	char text[64];
	int used;

	used = snprintf(text, sizeof(text), "  %c%c%s --%s", option->letter ? '-' : ' ',
			option->letter ? option->letter : ' ', option->letter ? "," : " ",
			option->name);
	if (option->argument)
		snprintf(text + used, sizeof(text) - (size_t)used, " %s", option->argument);
	if (!out)
		return;
	fputs(option->help, out);
	/* a choice that the help does not list: ": these, those" */
	if (option->word && option->word(target, 0) && option->word(target, 1) &&
	    !strstr(option->help, option->word(target, 1))) {
		for (size_t i = 0; (word = option->word(target, i)); i++)
			fprintf(out, "%s%s", i ? ", " : ": ", word);
	}
	if (fclose(out) != 0)
		return;
	printf("%-*s  ", HELP_COLUMN, text);
	print_wrapped(help, HELP_COLUMN + 2);
}

/* "jobmeter", or both words of "jobmeter run" and the blank between them. */
static const char *program_of(const struct cli_command *command)
{
	return command && command->program ? command->program : "jobmeter";
}

static const char *space_of(const struct cli_command *command)
{
	return command && command->name ? " " : "";
}

static const char *name_of(const struct cli_command *command)
{
	return command && command->name ? command->name : "";
}

static void print_help(const struct state *state)
{
	const struct cli_command *command = state->command;

	if (command->show) {
		command->show(command, state->groups, state->group_count);
		return;
	}
	printf("usage: %s%s%s %s\n\n%s.\n\n", program_of(command), space_of(command),
	       name_of(command), command->arguments, command->summary);
	for (size_t i = 0; i < state->group_count; i++) {
		for (size_t j = 0; j < state->groups[i].count; j++)
			print_option(&state->groups[i].rows[j], state->groups[i].target);
	}
	print_option(&cli_help_option, NULL);
	if (command->details)
		printf("\n%s", command->details);
	if (command->terms)
		puts("\nHow to read it:\n");
	for (const struct cli_term *term = command->terms; term && term->word; term++) {
		printf("  %s\n%*s", term->word, TERM_INDENT, "");
		print_wrapped(term->text, TERM_INDENT);
	}
}

/* One word that begins with '-'. */
static int take_word(const struct state *state, const char *word, const char *next)
{
	return word[1] == '-' ? take_long(state, word + 2, next)
			      : take_short(state, word + 1, next);
}

int cli_parse(const struct cli_command *command, const struct cli_options *groups,
	      size_t group_count, int *argc, char **argv, struct error *err)
{
	struct state state = { command, groups, group_count, err };
	int kept = 0, i;

	for (i = 1; i < *argc; i++) {
		char *word = argv[i];
		int r;

		if (strcmp(word, "--") == 0) {
			i++;
			break;
		}
		if (word[0] != '-' || word[1] == '\0') {
			if (command->is_for_command)
				break;
			argv[kept++] = word;
			continue;
		}
		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			print_help(&state);
			return 0;
		}
		r = take_word(&state, word, i + 1 < *argc ? argv[i + 1] : NULL);
		if (r < 0)
			return r;
		i += r;
	}
	for (; i < *argc; i++)
		argv[kept++] = argv[i];
	argv[kept] = NULL;
	*argc = kept;
	return 1;
}

void cli_say(const struct cli_command *command, const struct error *err)
{
	const char *text = err->text;
	char line[sizeof(err->text) * UTF8_MAX];
	size_t length = 0;
	uint32_t c;

	while ((c = utf8_next(&text))) {
		if (utf8_is_printable(c))
			length += utf8_encode(c, line + length);
		else
			line[length++] = '?'; /* a name that holds an escape must not steer the
						 terminal */
	}
	/* in one write, since others may write there, too */
	fprintf(stderr, "%s%s%s: %.*s\n", program_of(command), space_of(command), name_of(command),
		(int)length, line);
}

int cli_fail(const struct cli_command *command, const struct error *err)
{
	cli_say(command, err);
	return CLI_FAILED;
}

int cli_misuse(const struct cli_command *command, const struct error *err)
{
	cli_say(command, err);
	return CLI_USAGE;
}

int cli_found(const struct cli_command *command, const struct error *err)
{
	cli_say(command, err);
	return CLI_FOUND;
}
