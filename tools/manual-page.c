/* SPDX-License-Identifier: MIT */
/*
 * Print a manual page (manual-page PAGE.in), with what stands in tables in the place of lines that
 * are "@part@":
 *
 *   @title DATE@  the head, by the page's name: jobmeter-run.1.in
 *   @name@        the name and the summary of the command that the page is about
 *   @synopsis@    how it is called
 *   @commands@    jobmeter's commands
 *   @options@     the command's options
 *   @terms@       what its lines mean
 *   @settings@    the settings of the agent, or of the server on its page
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "config/config.h"
#include "basic/macro.h"
#include "offered.h"
#include "server/server_config.h"

struct manual {
	char name[64], section; /* "jobmeter-run", '1' */
	struct offered *about; /* the command; NULL: none */
	struct offered *commands, *daemon; /* daemon: of the page, if it is one */
	size_t command_count;
};

/* ---- text ---- */

static void print_letter(char letter)
{
	static const char *const escapes[] = { ['\\'] = "\\e",	['-'] = "\\-",	 ['\''] = "\\(aq",
					       ['`'] = "\\(ga", ['^'] = "\\(ha", ['~'] = "\\(ti" };
	size_t i = (unsigned char)letter;

	if (i < ARRAY_SIZE(escapes) && escapes[i])
		fputs(escapes[i], stdout);
	else
		putchar(letter);
}

static void print_text(const char *text)
{
	while (*text)
		print_letter(*text++);
}

/* As a line of its own, whatever it begins with. */
static void print_sentence(const char *text, char end)
{
	fputs("\\&", stdout);
	print_letter((char)toupper((unsigned char)*text));
	print_text(text + 1);
	if (end && text[strlen(text) - 1] != end)
		putchar(end);
	putchar('\n');
}

static void print_bold(const char *text)
{
	fputs("\\fB", stdout);
	print_text(text);
	fputs("\\fR", stdout);
}

static void print_italic(const char *text)
{
	fputs("\\fI", stdout);
	print_text(text);
	fputs("\\fR", stdout);
}

/* ---- parts ---- */

static void print_title(const struct manual *m, const char *date)
{
	fputs(".TH ", stdout);
	for (const char *p = m->name; *p; p++)
		putchar(toupper((unsigned char)*p));
	printf(" %c %s \"jobmeter " JOBMETER_VERSION "\" jobmeter\n", m->section, date);
}

static void print_name(const struct manual *m)
{
	const char *summary = m->about->command.summary;

	print_text(m->name);
	fputs(" \\- ", stdout);
	print_letter((char)tolower((unsigned char)*summary));
	print_text(summary + 1);
	putchar('\n');
}

/* Words in capitals are to be replaced, options are not. */
static void print_usage(const char *usage)
{
	while (*usage) {
		size_t capitals = strspn(usage, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		size_t option = *usage == '-' ? strcspn(usage, " ]|)") : 0;
		_cleanup_free_ char *word = strndup(usage, capitals ? capitals
							   : option ? option
								    : 1);

		if (!word)
			return;
		if (capitals)
			print_italic(word);
		else if (option)
			print_bold(word);
		else
			print_text(word);
		usage += strlen(word);
	}
}

static void print_synopsis(const struct manual *m)
{
	const struct cli_command *command = &m->about->command;

	print_bold(command->program ? command->program : "jobmeter");
	putchar(' ');
	if (command->name) {
		print_bold(command->name);
		putchar(' ');
	}
	print_usage(command->arguments);
	putchar('\n');
}

static void print_words(const struct offered_option *o)
{
	if (!o->row->argument || o->word_count < 2)
		return;
	fputs(strcmp(o->row->argument, "LIST") == 0 ? "Some of " : "One of ", stdout);
	for (size_t i = 0; i < o->word_count; i++) {
		print_bold(o->words[i]);
		fputs(i + 1 < o->word_count ? ", " : ".\n", stdout);
	}
}

static void print_option(const struct offered_option *o)
{
	const struct cli_option *row = o->row;
	char name[64];

	puts(".TP");
	if (row->letter) {
		snprintf(name, sizeof(name), "-%c", row->letter);
		print_bold(name);
		fputs(", ", stdout);
	}
	snprintf(name, sizeof(name), "--%s", row->name);
	print_bold(name);
	if (row->argument) {
		putchar(' ');
		print_italic(row->argument);
	}
	putchar('\n');
	print_sentence(row->help, '.');
	print_words(o);
}

static void print_options(const struct manual *m)
{
	for (size_t i = 0; i < m->about->count; i++)
		print_option(&m->about->options[i]);
}

static void print_terms(const struct manual *m)
{
	for (const struct cli_term *t = m->about->command.terms; t && t->word; t++) {
		puts(".TP");
		print_bold(t->word);
		putchar('\n');
		print_sentence(t->text, 0);
	}
}

static void print_commands(const struct manual *m)
{
	for (size_t i = 0; i < m->command_count; i++) {
		puts(".TP");
		fputs("\\fBjobmeter\\-", stdout);
		print_text(offered_name(&m->commands[i]));
		puts("\\fR(1)");
		print_sentence(m->commands[i].command.summary, '.');
	}
}

/* Lists are long, so that lines must be able to end in them. */
static void print_standard(const char *text)
{
	for (; *text; text++) {
		print_letter(*text);
		if (*text == ',')
			putchar(' ');
	}
}

static void print_settings(const struct manual *m)
{
	const struct settings *settings = strcmp(m->name, "jobmeter-server") == 0
						  ? server_config_settings()
						  : config_settings();

	(void)m;
	for (size_t i = 0; i < settings->count; i++) {
		const struct setting *s = &settings->rows[i];

		puts(".TP");
		print_bold(s->name);
		fputs(" (", stdout);
		print_standard(*s->standard ? s->standard : "empty");
		puts(")");
		print_sentence(s->help, '.');
		fputs("Allowed: ", stdout);
		print_text(setting_allowed(s).text);
		puts(".");
		fputs("\\fB", stdout);
		print_text(settings_environment_name(settings, s).text);
		printf("\\fR; changed by a %s.\n", s->needs_restart ? "restart" : "reload");
	}
}

/* ---- the page ---- */

static const struct part {
	const char *name;
	void (*print)(const struct manual *m);
	bool is_of_command;
} parts[] = {
	{ "@name@\n", print_name, true },	   { "@synopsis@\n", print_synopsis, true },
	{ "@commands@\n", print_commands, false }, { "@options@\n", print_options, true },
	{ "@settings@\n", print_settings, false }, { "@terms@\n", print_terms, true },
};

/* -EINVAL: there is no such part, or it is of no command. */
static int print_line(const struct manual *m, char *line)
{
	static const char title[] = "@title ";

	if (*line != '@') {
		fputs(line, stdout);
		return 0;
	}
	if (strncmp(line, title, strlen(title)) == 0) {
		line[strcspn(line + 1, "@") + 1] = '\0';
		print_title(m, line + strlen(title));
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (strcmp(parts[i].name, line) != 0 || (parts[i].is_of_command && !m->about))
			continue;
		parts[i].print(m);
		return 0;
	}
	return -EINVAL;
}

/* "share/man/jobmeter-run.1.in": what it is called, and which command it is about. */
static int find_page(const char *path, struct manual *m)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strlen(name);

	if (length < 6 || length - 5 >= sizeof(m->name) || strcmp(name + length - 3, ".in") != 0 ||
	    name[length - 5] != '.')
		return -EINVAL;
	snprintf(m->name, sizeof(m->name), "%.*s", (int)length - 5, name);
	m->section = name[length - 4];
	for (size_t i = 0; i < m->command_count; i++) {
		if (strncmp(m->name, "jobmeter-", 9) == 0 &&
		    strcmp(m->name + 9, offered_name(&m->commands[i])) == 0)
			m->about = &m->commands[i];
	}
	if (m->section == '8' && offered_read_program(m->name, &m->daemon) == 1)
		m->about = m->daemon;
	return 0;
}

static int print_page(struct manual *m, const char *path)
{
	_cleanup_fclose_ FILE *in = fopen(path, "re");
	char line[1024];

	if (!in) {
		fprintf(stderr, "manual-page: cannot open '%s': %s\n", path, strerror(errno));
		return 1;
	}
	for (unsigned int at = 1; fgets(line, sizeof(line), in); at++) {
		if (print_line(m, line) < 0) {
			fprintf(stderr,
				"manual-page: %s:%u: there is no such part of this page: %s", path,
				at, line);
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct manual m = {};
	int r = 2;

	m.command_count = offered_read_program("jobmeter", &m.commands);
	if (argc != 2 || find_page(argv[1], &m) < 0)
		fputs("usage: manual-page NAME.SECTION.in\n", stderr);
	else
		r = print_page(&m, argv[1]);
	free(m.commands);
	free(m.daemon);
	return r;
}
