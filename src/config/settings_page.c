/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "config/settings.h"

#define COMMENT_COLUMNS 96

/* ---- the reference ---- */

/* A "|" would end the cell. */
static void print_cell(FILE *out, const char *text)
{
	for (; *text; text++)
		fputs(*text == '|' ? "\\|" : (char[]){ *text, '\0' }, out);
}

static void print_reference_row(const struct setting *setting, FILE *out)
{
	fprintf(out, "| `%s` | `%s` | ", setting->name,
		*setting->standard ? setting->standard : "''");
	print_cell(out, setting->type == SETTING_BOOL ? "on, off" : setting_allowed(setting).text);
	fprintf(out, " | %s | ", setting->needs_restart ? "restart" : "reload");
	print_cell(out, setting->help);
	fputs(" |\n", out);
}

void settings_print_reference(const struct settings *settings, FILE *out)
{
	fputs("| setting | default | allowed | changed by | |\n|---|---|---|---|---|\n", out);
	for (size_t i = 0; i < settings->count; i++)
		print_reference_row(&settings->rows[i], out);
}

/* ---- YAML: the settings of a map are neighbours in the table ---- */

/* The lines that open the maps of @name which @previous (may be NULL) is not in; returns how deep
 * @name is. */
static int open_maps(const char *name, const char *previous, const char *start, FILE *out)
{
	int depth = 0;

	for (const char *p = name, *dot; (dot = strchr(p, '.')); p = dot + 1, depth++) {
		if (previous && strncmp(previous, name, (size_t)(dot + 1 - name)) == 0)
			continue;
		fprintf(out, "%s%*s%.*s:\n", start, depth * 2, "", (int)(dot - p), p);
	}
	return depth;
}

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

/* @text as comment lines. */
static void print_comment(const char *text, FILE *out)
{
	size_t column = 0;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (column && column + 1 + length > COMMENT_COLUMNS) {
			fputc('\n', out);
			column = 0;
		}
		column += (size_t)fprintf(out, "%s%.*s", column ? " " : "# ", (int)length, text);
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void print_example_row(const struct setting *setting, const char *previous,
			      const char *value, FILE *out)
{
	const char *dot = strchr(setting->name, '.');
	struct setting_words allowed = setting_allowed(setting);
	int depth;

	if (!dot || !previous ||
	    strncmp(previous, setting->name, (size_t)(dot + 1 - setting->name)) != 0)
		fputc('\n', out);
	print_comment(setting->help, out);
	if (setting->type != SETTING_BOOL)
		fprintf(out, "# (%s)\n", allowed.text);
	depth = open_maps(setting->name, previous, "#", out);
	fprintf(out, "#%*s%s: %s\n", depth * 2, "", last_part(setting->name), value);
}

int settings_print_example(const struct settings *settings, FILE *out)
{
	void *values = calloc(1, SETTINGS_MAX * sizeof(struct setting_list));
	const char *previous = NULL;
	int r = values ? 0 : -ENOMEM;

	for (size_t i = 0; i < settings->count && r >= 0; i++) {
		struct setting setting = settings->rows[i];
		_cleanup_free_ char *value = NULL;

		setting.offset = i * sizeof(struct setting_list);
		r = setting_parse(&setting, setting.standard, values);
		value = r < 0 ? NULL : setting_format_yaml(&setting, values);
		if (r >= 0)
			setting_clear(&setting, values);
		if (!value) {
			r = -ENOMEM;
			break;
		}
		print_example_row(&setting, previous, value, out);
		previous = setting.name;
	}
	free(values);
	return r;
}

static void print_origin(const struct settings *settings, size_t row,
			 const struct setting_origin *origin, const char *name, FILE *out)
{
	switch (origin->source) {
	case SETTING_FROM_DEFAULT:
		fputs("  # default\n", out);
		break;
	case SETTING_FROM_FILE:
		fprintf(out, "  # %s:%u\n", name, origin->line);
		break;
	case SETTING_FROM_ENVIRONMENT:
		fprintf(out, "  # %s\n",
			settings_environment_name(settings, &settings->rows[row]).text);
		break;
	}
}

int settings_print(const struct settings *settings, const void *values,
		   const struct setting_origin *origins, const char *name, FILE *out)
{
	const char *previous = NULL;

	for (size_t i = 0; i < settings->count; i++) {
		const struct setting *setting = &settings->rows[i];
		_cleanup_free_ char *value = setting_format_yaml(setting, values);
		int depth;

		if (!value)
			return -ENOMEM;
		depth = open_maps(setting->name, previous, "", out);
		fprintf(out, "%*s%s: %s", depth * 2, "", last_part(setting->name), value);
		print_origin(settings, i, &origins[i], name, out);
		previous = setting->name;
	}
	return 0;
}
