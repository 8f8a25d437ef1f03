/* SPDX-License-Identifier: MIT */
/* Print the completion of a program for a shell (completion zsh|fish PROGRAM, completion bash
 * PROGRAM TEMPLATE), from the tables of its options. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "offered.h"

struct program {
	const char *name;
	struct offered *commands;
	size_t count;
	bool has_commands;
};

/* Each letter of @special with a backslash before it. */
static void print_escaped(const char *text, const char *special)
{
	for (; *text; text++) {
		if (strchr(special, *text))
			putchar('\\');
		putchar(*text);
	}
}

static void print_words(const struct offered_option *option, const char *separator)
{
	for (size_t i = 0; i < option->word_count; i++)
		printf("%s%s", i ? separator : "", option->words[i]);
}

static const struct offered_option *next_option(const struct offered *command, size_t i)
{
	return i < command->count ? &command->options[i] : NULL;
}

/* ---- bash ---- */

static void print_bash_options(const struct offered *command)
{
	const struct offered_option *o;

	printf("\t%s) options=\"", *offered_name(command) ? offered_name(command) : "\"\"");
	for (size_t i = 0; (o = next_option(command, i)); i++) {
		printf("%s--%s", i ? " " : "", o->row->name);
		if (o->row->letter)
			printf(" -%c", o->row->letter);
	}
	puts("\" ;;");
}

static void print_bash_arguments(const struct offered *command)
{
	const char *name = offered_name(command);
	const struct offered_option *o;

	for (size_t i = 0; (o = next_option(command, i)); i++) {
		if (!o->row->argument)
			continue;
		printf("\t\"%s --%s\"", name, o->row->name);
		if (o->row->letter)
			printf(" | \"%s -%c\"", name, o->row->letter);
		printf(") kind=\"%s\" words=\"", o->row->argument);
		print_words(o, " ");
		puts("\" ;;");
	}
}

static void print_bash_operands(const struct offered *command)
{
	if (*offered_operands(command))
		printf("\t%s) kind=%s ;;\n",
		       *offered_name(command) ? offered_name(command) : "\"\"",
		       offered_operands(command));
}

static void print_bash_commands(const struct offered *command)
{
	printf("%s ", offered_name(command));
}

/* What stands between two '@' in the template. */
static void print_bash_part(const struct program *p, const char *part)
{
	static const struct part {
		const char *name;
		void (*print)(const struct offered *command);
	} parts[] = {
		{ "options", print_bash_options },
		{ "arguments", print_bash_arguments },
		{ "operands", print_bash_operands },
		{ "commands", print_bash_commands },
	};

	if (strcmp(part, "program") == 0)
		fputs(p->name, stdout);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		for (size_t j = 0; strcmp(parts[i].name, part) == 0 && j < p->count; j++) {
			if (p->has_commands || parts[i].print != print_bash_commands)
				parts[i].print(&p->commands[j]);
		}
	}
}

/* "@part@" is such a place, and any other '@' itself; a part alone on its line ends its lines
 * itself. */
static void fill_line(const struct program *p, char *line)
{
	for (char *at = line; *at;) {
		size_t length = *at == '@' ? strspn(at + 1, "abcdefghijklmnopqrstuvwxyz") : 0;

		if (!length || at[length + 1] != '@') {
			putchar(*at++);
			continue;
		}
		at[length + 1] = '\0';
		print_bash_part(p, at + 1);
		at += length + 2;
		if (strcmp(at, "\n") == 0 && at - length - 2 == line)
			return;
	}
}

static int print_bash(const struct program *p, const char *template)
{
	_cleanup_fclose_ FILE *in = fopen(template, "re");
	char line[1024];

	if (!in) {
		fprintf(stderr, "completion: cannot open '%s': %s\n", template, strerror(errno));
		return 1;
	}
	while (fgets(line, sizeof(line), in))
		fill_line(p, line);
	return 0;
}

/* ---- zsh ---- */

static const char *zsh_action(const char *kind)
{
	static const struct action {
		const char *kind, *action;
	} actions[] = {
		{ "FILE", "_files" },
		{ "DIR", "_files -/" },
		{ "USER", "_users" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].kind, kind) == 0)
			return actions[i].action;
	}
	return "";
}

static void print_zsh_option(const struct offered_option *o)
{
	const struct cli_option *row = o->row;

	if (row->letter)
		printf(" \\\n\t\t'(-%c --%s)'{-%c%s,--%s%s}", row->letter, row->name, row->letter,
		       row->argument ? "+" : "", row->name, row->argument ? "=" : "");
	else
		printf(" \\\n\t\t--%s%s", row->name, row->argument ? "=" : "");
	fputs("$'[", stdout);
	print_escaped(row->help, "[]:\\'");
	putchar(']');
	if (row->argument) {
		printf(":%s:", row->argument);
		if (o->word_count && strcmp(row->argument, "LIST") == 0) {
			fputs("_sequence compadd - ", stdout);
			print_words(o, " ");
		} else if (o->word_count) {
			putchar('(');
			print_words(o, " ");
			putchar(')');
		} else {
			fputs(zsh_action(row->argument), stdout);
		}
	}
	putchar('\'');
}

static void print_zsh_arguments(const struct offered *command)
{
	const char *operands = offered_operands(command);
	const struct offered_option *o;

	fputs("\t_arguments -s -S", stdout);
	for (size_t i = 0; (o = next_option(command, i)); i++)
		print_zsh_option(o);
	if (strcmp(operands, "COMMAND") == 0)
		fputs(" \\\n\t\t'(-)1:COMMAND:_command_names -e' '*::ARGUMENT:_normal'", stdout);
	else if (*operands)
		printf(" \\\n\t\t'*:%s:%s'", operands, zsh_action(operands));
	putchar('\n');
}

static void print_zsh_commands(const struct program *p)
{
	puts("local line state context curcontext=$curcontext\nlocal -A opt_args\n\n"
	     "_arguments -C '(- *)'{-h,--help}'[list the commands]' '(- *)--version[say which one "
	     "this is]' \\\n"
	     "\t'1:command:->command' '*::argument:->argument'\n"
	     "case $state in\ncommand)\n\tlocal -a commands=(");
	for (size_t i = 0; i < p->count; i++) {
		printf("\t\t$'%s:", offered_name(&p->commands[i]));
		print_escaped(p->commands[i].command.summary, ":\\'");
		puts("'");
	}
	puts("\t)\n\t_describe -t commands command commands ;;\nargument)\n\tcase $line[1] in");
	for (size_t i = 0; i < p->count; i++) {
		printf("\t%s)\n", offered_name(&p->commands[i]));
		print_zsh_arguments(&p->commands[i]);
		puts("\t;;");
	}
	puts("\tesac ;;\nesac");
}

static int print_zsh(const struct program *p)
{
	printf("#compdef %s\n# SPDX-License-Identifier: MIT\n# Made from the program's own "
	       "tables.\n\n",
	       p->name);
	if (p->has_commands)
		print_zsh_commands(p);
	else
		print_zsh_arguments(&p->commands[0]);
	return 0;
}

/* ---- fish ---- */

static void print_fish_begin(const struct program *p, const struct offered *command)
{
	printf("complete -c %s", p->name);
	if (p->has_commands)
		printf(" -n '__%s_is %s'", p->name, offered_name(command));
}

static void print_fish_quoted(const char *option, const char *text)
{
	printf(" %s '", option);
	print_escaped(text, "\\'");
	putchar('\'');
}

static void print_fish_argument(const struct offered_option *o)
{
	const char *kind = o->row->argument;

	if (o->word_count && strcmp(kind, "LIST") == 0) {
		fputs(" -x -a '(__fish_complete_list , \"printf %s\\\\\\\\n ", stdout);
		print_words(o, " ");
		fputs("\")'", stdout);
	} else if (o->word_count) {
		fputs(" -x -a '", stdout);
		print_words(o, " ");
		putchar('\'');
	} else if (strcmp(kind, "FILE") == 0) {
		fputs(" -r -F", stdout);
	} else if (strcmp(kind, "DIR") == 0) {
		fputs(" -x -a '(__fish_complete_directories (commandline -ct))'", stdout);
	} else if (strcmp(kind, "USER") == 0) {
		fputs(" -x -a '(__fish_complete_users)'", stdout);
	} else {
		fputs(" -x", stdout);
	}
}

static void print_fish_command(const struct program *p, const struct offered *command)
{
	const char *operands = offered_operands(command);
	const struct offered_option *o;

	print_fish_begin(p, command);
	if (strcmp(operands, "FILE") == 0)
		puts(" -F");
	else if (strcmp(operands, "COMMAND") == 0)
		puts(" -x -a '(__fish_complete_subcommand --fcs-skip=2)'");
	else
		puts(" -f");
	for (size_t i = 0; (o = next_option(command, i)); i++) {
		print_fish_begin(p, command);
		if (o->row->letter)
			printf(" -s %c", o->row->letter);
		printf(" -l %s", o->row->name);
		if (o->row->argument)
			print_fish_argument(o);
		print_fish_quoted("-d", o->row->help);
		putchar('\n');
	}
}

static int print_fish(const struct program *p)
{
	puts("# SPDX-License-Identifier: MIT\n# Made from the program's own tables.");
	if (p->has_commands)
		printf("function __%s_is\n\tset -l words (commandline -opc)\n"
		       "\ttest (count $words) -gt 1; and test $words[2] = $argv[1]\nend\n"
		       "function __%s_is_bare\n\ttest (count (commandline -opc)) -eq 1\nend\n"
		       "complete -c %s -n __%s_is_bare -f -s h -l help -d 'list the commands'\n"
		       "complete -c %s -n __%s_is_bare -f -l version -d 'say which one this is'\n",
		       p->name, p->name, p->name, p->name, p->name, p->name);
	for (size_t i = 0; p->has_commands && i < p->count; i++) {
		printf("complete -c %s -n __%s_is_bare -f -a %s", p->name, p->name,
		       offered_name(&p->commands[i]));
		print_fish_quoted("-d", p->commands[i].command.summary);
		putchar('\n');
	}
	for (size_t i = 0; i < p->count; i++)
		print_fish_command(p, &p->commands[i]);
	return 0;
}

int main(int argc, char **argv)
{
	const char *shell = argc > 2 ? argv[1] : "";
	struct program p = { .name = argc > 2 ? argv[2] : "" };
	int r = 2;

	p.count = offered_read_program(p.name, &p.commands);
	p.has_commands = p.count && *offered_name(&p.commands[0]);
	if (p.count && argc == 4 && strcmp(shell, "bash") == 0)
		r = print_bash(&p, argv[3]);
	else if (p.count && argc == 3 && strcmp(shell, "zsh") == 0)
		r = print_zsh(&p);
	else if (p.count && argc == 3 && strcmp(shell, "fish") == 0)
		r = print_fish(&p);
	else
		fputs("usage: completion bash PROGRAM TEMPLATE, completion zsh|fish PROGRAM\n",
		      stderr);
	free(p.commands);
	return r;
}
