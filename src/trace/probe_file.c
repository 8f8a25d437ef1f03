/* SPDX-License-Identifier: MIT */
#include "trace/probe.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "trace/probe_parts.h"

#define FILE_MAX (256 * 1024)
#define LINE_MAX_BYTES 1024
#define FIELDS_MAX 40 /* lines of a section */
#define NAMES_MAX 64 /* probes of a section's head */
#define NAMED_MAX 16
#define LIBRARIES_MAX 16

struct field { /* a line "KEY = VALUE"; both lie in the reader's text */
	const char *key, *value;
	unsigned int line;
};

struct fields {
	struct field items[FIELDS_MAX];
	size_t count;
};

struct names { /* of a section's head, or of a field */
	char *items[NAMES_MAX];
	size_t count;
};

struct library_values { /* what a library's section names */
	struct probe_named items[NAMED_MAX];
	size_t count;
};

struct file_reader {
	struct probe_set *set;
	size_t probe_room, library_room;
	const char *name; /* of the file, for errors */
	unsigned int line; /* that is being read */
	struct error *err;
	char *kind; /* of the section: "probe" */
	struct names names; /* and what it is called */
	unsigned int section_line;
	struct fields fields; /* its lines */
	struct fields defaults; /* those of [set] that probes have too */
	struct library_values values[LIBRARIES_MAX]; /* as set->libraries[] */
};

static int file_refuse(const struct file_reader *r, unsigned int line, const char *format, ...)
	PRINTF_LIKE(3, 4);

static int file_refuse(const struct file_reader *r, unsigned int line, const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return error_set(r->err, -EINVAL, "%s:%u: %s", r->name, line, text);
}

static int file_copy(const char *text, char **ret)
{
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

/* Each word of @text, which is cut. */
static int file_read_names(const struct file_reader *r, unsigned int line, char *text,
			   struct names *ret)
{
	char *word;

	ret->count = 0;
	while ((word = parse_next_word(&text))) {
		if (ret->count == NAMES_MAX)
			return file_refuse(r, line, "more than %d names stand here", NAMES_MAX);
		ret->items[ret->count++] = word;
	}
	return 0;
}

/* ---- a section [probe NAME...] ---- */

static int file_apply_field(struct probe_scope *scope, const struct file_reader *r,
			    const struct field *field)
{
	int result = strcmp(field->key, "library") == 0
			     ? 0
			     : probe_scope_read_field(scope, field->key, field->value);

	if (result == -ENOENT)
		return file_refuse(r, field->line, "a probe has no field '%.40s'", field->key);
	if (result < 0 && result != -ENOMEM)
		error_prefix(r->err, result, "%s:%u: %.64s", r->name, field->line, field->key);
	return result;
}

/* @library: an index; -1: the kernel's. */
static int file_make_probe(struct file_reader *r, const char *name, int library)
{
	struct probe_set *set = r->set;
	struct probe_scope scope = { .set = set, .err = r->err };
	struct probe *probe;
	int result = 0;

	if (set->probe_count == PROBES_MAX)
		return file_refuse(r, r->section_line, "a set can have at most %d probes",
				   PROBES_MAX);
	if (array_reserve(&set->probes, &r->probe_room, set->probe_count, sizeof(*set->probes)) < 0)
		return -ENOMEM;
	probe = calloc(1, sizeof(*probe));
	if (!probe)
		return -ENOMEM;
	set->probes[set->probe_count++] = probe;
	snprintf(probe->name, sizeof(probe->name), "%s", name);
	probe->set = set;
	probe->line = r->section_line;
	scope.probe = probe;
	if (library >= 0) {
		probe->library = set->libraries[library];
		scope.named = r->values[library].items;
		scope.named_count = r->values[library].count;
	}
	for (size_t i = 0; result == 0 && i < r->defaults.count; i++)
		result = file_apply_field(&scope, r, &r->defaults.items[i]);
	for (size_t i = 0; result == 0 && i < r->fields.count; i++)
		result = file_apply_field(&scope, r, &r->fields.items[i]);
	if (result == 0) {
		result = probe_scope_finish(&scope);
		if (result < 0 && result != -ENOMEM)
			error_prefix(r->err, result, "%s:%u", r->name, probe->line);
	}
	return result < 0 ? result : probe_lint(set, probe, NULL, r->err);
}

static const struct field *file_find_field(const struct fields *fields, const char *key)
{
	for (size_t i = 0; i < fields->count; i++) {
		if (strcmp(fields->items[i].key, key) == 0)
			return &fields->items[i];
	}
	return NULL;
}

static int file_find_library(const struct probe_set *set, const char *name)
{
	for (size_t i = 0; i < set->library_count; i++) {
		if (strcmp(set->libraries[i]->name, name) == 0)
			return (int)i;
	}
	return -ENOENT;
}

/* One probe of each library, or of the one that the section names. */
static int file_make_probes(struct file_reader *r, const char *name)
{
	const struct field *of = file_find_field(&r->fields, "library");
	bool is_kernel = file_find_field(&r->fields, "kernel") ||
			 file_find_field(&r->fields, "tracepoint");
	int only = of ? file_find_library(r->set, of->value) : -1, result = 0;

	if (strlen(name) >= PROBE_NAME_MAX)
		return file_refuse(r, r->section_line,
				   "'%.40s...' is too long for a name: 'symbol' can say it", name);
	if (is_kernel)
		return file_make_probe(r, name, -1);
	if (of && only < 0)
		return file_refuse(r, of->line, "library: no [library] is called '%.40s'",
				   of->value);
	if (!r->set->library_count)
		return file_refuse(r, r->section_line, "a [library] must stand above");
	for (int i = 0; result == 0 && i < (int)r->set->library_count; i++) {
		if (only < 0 || only == i)
			result = file_make_probe(r, name, i);
	}
	return result;
}

static int file_read_probe_section(struct file_reader *r)
{
	int result = 0;

	if (!r->names.count)
		return file_refuse(r, r->section_line, "[probe] wants a name");
	if (r->names.count > 1) {
		static const char *const of_one[] = { "symbol", "usdt", "kernel", "tracepoint" };

		for (size_t i = 0; i < ARRAY_SIZE(of_one); i++) {
			const struct field *field = file_find_field(&r->fields, of_one[i]);

			if (field)
				return file_refuse(r, field->line,
						   "%s: it is one probe's, and %zu stand here",
						   of_one[i], r->names.count);
		}
	}
	for (size_t i = 0; result == 0 && i < r->names.count; i++)
		result = file_make_probes(r, r->names.items[i]);
	return result;
}

/* ---- the other sections ---- */

static int file_read_set_section(struct file_reader *r)
{
	struct probe_set *set = r->set;

	if (*set->name)
		return file_refuse(r, r->section_line, "[set] stands here a second time");
	if (r->names.count != 1 || strlen(r->names.items[0]) >= PROBE_NAME_MAX)
		return file_refuse(r, r->section_line, "[set] wants one short name");
	snprintf(set->name, sizeof(set->name), "%s", r->names.items[0]);
	snprintf(set->group, sizeof(set->group), "%s", set->name);
	for (size_t i = 0; i < r->fields.count; i++) {
		const struct field *field = &r->fields.items[i];
		if (strcmp(field->key, "about") == 0 && !set->about) {
			if (file_copy(field->value, &set->about) < 0)
				return -ENOMEM;
		} else if (strcmp(field->key, "group") == 0 &&
			   probe_word_length(field->value) == strlen(field->value)) {
			snprintf(set->group, sizeof(set->group), "%s", field->value);
		} else if (probe_is_default_field(field->key)) {
			r->defaults.items[r->defaults.count++] = *field;
		} else {
			return file_refuse(r, field->line, "a set has no field '%.40s'",
					   field->key);
		}
	}
	return set->about ? 0
			  : file_refuse(r, r->section_line,
					"[set] wants 'about', what it shows in one sentence");
}

static int file_read_patterns(const struct file_reader *r, const struct field *field, size_t max,
			      char **patterns, size_t *ret_count)
{
	int result = probe_read_words(field->value, max, patterns, ret_count);

	return result == -E2BIG ? file_refuse(r, field->line,
					      "%s: at most %zu patterns, each below %d bytes",
					      field->key, max, PROBE_PATTERN_MAX)
				: result;
}

static int file_read_library_field(struct file_reader *r, const struct field *field,
				   struct probe_library *library, struct library_values *values)
{
	bool is_value = strncmp(field->key, "value.", 6) == 0;

	if (is_value && values->count < NAMED_MAX) {
		struct probe_named *named = &values->items[values->count++];

		if (!field->key[6] || probe_word_length(field->key + 6) != strlen(field->key + 6))
			return file_refuse(r, field->line, "'%.40s' is no name of a value",
					   field->key + 6);
		snprintf(named->name, sizeof(named->name), "%s", field->key + 6);
		named->text = field->value;
		return 0;
	}
	if (is_value)
		return file_refuse(r, field->line, "a library can have at most %d values",
				   NAMED_MAX);
	if (strcmp(field->key, "file") == 0)
		return file_read_patterns(r, field, PROBE_PATTERNS_MAX, library->patterns,
					  &library->pattern_count);
	if (strcmp(field->key, "parts") == 0)
		return file_read_patterns(r, field, PROBE_PATTERNS_MAX, library->parts,
					  &library->part_count);
	if (strcmp(field->key, "callbacks") == 0) {
		library->has_callbacks = true;
		return strcmp(field->value, "none") == 0
			       ? 0
			       : file_read_patterns(r, field, PROBE_CALLBACKS_MAX,
						    library->callbacks, &library->callback_count);
	}
	if (strcmp(field->key, "program") == 0)
		return file_copy(field->value, &library->program_marker);
	return file_refuse(r, field->line, "a library has no field '%.40s'", field->key);
}

static int file_read_library_section(struct file_reader *r)
{
	struct probe_set *set = r->set;
	struct probe_library *library;
	int result = 0;

	if (r->names.count != 1 || strlen(r->names.items[0]) >= PROBE_NAME_MAX ||
	    file_find_library(set, r->names.items[0]) >= 0)
		return file_refuse(r, r->section_line, "[library] wants one name of its own");
	if (set->probe_count)
		return file_refuse(r, r->section_line, "[library] must stand above all probes");
	if (set->library_count == LIBRARIES_MAX)
		return file_refuse(r, r->section_line, "a set can have at most %d libraries",
				   LIBRARIES_MAX);
	library = calloc(1, sizeof(*library));
	if (!library || array_reserve(&set->libraries, &r->library_room, set->library_count,
				      sizeof(*set->libraries)) < 0) {
		free(library);
		return -ENOMEM;
	}
	set->libraries[set->library_count++] = library;
	snprintf(library->name, sizeof(library->name), "%s", r->names.items[0]);
	for (size_t i = 0; result == 0 && i < r->fields.count; i++)
		result = file_read_library_field(r, &r->fields.items[i], library,
						 &r->values[set->library_count - 1]);
	if (result == 0 && !library->pattern_count)
		result = file_refuse(r, r->section_line,
				     "[library] wants 'file', the names it has");
	return result;
}

static int file_read_table_section(struct file_reader *r)
{
	struct probe_set *set = r->set;
	struct probe_table *table = &set->tables[set->table_count];
	const struct field *rows = file_find_field(&r->fields, "rows");

	if (r->names.count != 1 || !probe_word_length(r->names.items[0]) ||
	    probe_set_find_table(set, r->names.items[0]) >= 0)
		return file_refuse(r, r->section_line, "[table] wants one name of its own");
	if (set->table_count == PROBE_TABLES_MAX)
		return file_refuse(r, r->section_line, "a set can have at most %d tables",
				   PROBE_TABLES_MAX);
	if (!rows || r->fields.count != 1)
		return file_refuse(r, r->section_line, "[table] wants 'rows' and nothing else");
	snprintf(table->name, sizeof(table->name), "%s", r->names.items[0]);
	for (const char *p = rows->value; *p; p += strspn(p, " \t")) {
		uint64_t *row = &table->rows[table->row_count];

		if (table->row_count == PROBE_TABLE_ROWS)
			return file_refuse(r, rows->line, "rows: at most %d numbers",
					   PROBE_TABLE_ROWS);
		if (probe_read_number(&p, row) < 0 || (*p && *p != ' ' && *p != '\t'))
			return file_refuse(r, rows->line, "rows: '%.40s' is no number", p);
		table->row_count++;
	}
	set->table_count++;
	return 0;
}

static int file_read_words_section(struct file_reader *r)
{
	struct probe_set *set = r->set;
	struct probe_words *words = &set->words[set->words_count];
	const struct field *rows = file_find_field(&r->fields, "rows");

	if (r->names.count != 1 || !probe_word_length(r->names.items[0]))
		return file_refuse(r, r->section_line, "[words] wants the name of a value");
	if (set->words_count == PROBE_WORDS_MAX)
		return file_refuse(r, r->section_line, "a set can have at most %d lists of words",
				   PROBE_WORDS_MAX);
	if (!rows || r->fields.count != 1)
		return file_refuse(r, r->section_line, "[words] wants 'rows' and nothing else");
	snprintf(words->name, sizeof(words->name), "%s", r->names.items[0]);
	set->words_count++;
	return file_read_patterns(r, rows, PROBE_TABLE_ROWS, words->rows, &words->row_count);
}

static int file_read_map_section(struct file_reader *r)
{
	struct probe_set *set = r->set;
	struct probe_map *map = &set->maps[set->map_count];
	const struct field *entries = file_find_field(&r->fields, "entries");
	int count;

	if (r->names.count != 1 || !probe_word_length(r->names.items[0]) ||
	    probe_set_find_map(set, r->names.items[0]) >= 0)
		return file_refuse(r, r->section_line, "[map] wants one name of its own");
	if (set->map_count == PROBE_MAPS_MAX)
		return file_refuse(r, r->section_line, "a set can have at most %d maps",
				   PROBE_MAPS_MAX);
	if (!entries || r->fields.count != 1 || parse_int(entries->value, 1, 65536, &count) < 0)
		return file_refuse(r, r->section_line, "[map] wants 'entries', of 1 to 65536");
	snprintf(map->name, sizeof(map->name), "%s", r->names.items[0]);
	map->max_entries = (unsigned int)count;
	set->map_count++;
	return 0;
}

/* ---- lines ---- */

static const struct {
	const char *kind;
	int (*read)(struct file_reader *r);
} sections[] = {
	{ "set", file_read_set_section },     { "library", file_read_library_section },
	{ "table", file_read_table_section }, { "map", file_read_map_section },
	{ "words", file_read_words_section }, { "probe", file_read_probe_section },
};

/* The section whose lines have all been read. */
static int file_end_section(struct file_reader *r)
{
	if (!r->kind)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		if (strcmp(sections[i].kind, r->kind) != 0)
			continue;
		if (i > 0 && !*r->set->name)
			return file_refuse(r, r->section_line, "[set] must stand first");
		return sections[i].read(r);
	}
	return file_refuse(
		r, r->section_line,
		"no section is called '%.40s'; there are set, library, table, map, words and probe",
		r->kind);
}

static int file_begin_section(struct file_reader *r, char *line)
{
	size_t length = strlen(line);
	int result = file_end_section(r);

	if (result < 0)
		return result;
	if (line[length - 1] != ']')
		return file_refuse(r, r->line, "']' is missing at the end");
	line[length - 1] = '\0';
	line++;
	r->kind = parse_next_word(&line);
	if (!r->kind)
		return file_refuse(r, r->line, "a section has a name");
	r->section_line = r->line;
	r->fields.count = 0;
	r->names.count = 0;
	return line ? file_read_names(r, r->line, line, &r->names) : 0;
}

static char *file_trim(char *text)
{
	size_t length;

	text += strspn(text, " \t");
	length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		text[--length] = '\0';
	return text;
}

static int file_read_field(struct file_reader *r, char *line)
{
	char *equals = strchr(line, '=');
	struct field field = { .line = r->line };

	if (!equals)
		return file_refuse(r, r->line, "KEY = VALUE or [SECTION] must stand here");
	if (!r->kind)
		return file_refuse(r, r->line, "a [set] must stand above");
	*equals = '\0';
	field.key = file_trim(line);
	field.value = file_trim(equals + 1);
	if (!*field.key || !*field.value)
		return file_refuse(r, r->line, "nothing stands %s the '='",
				   *field.key ? "behind" : "before");
	if (r->fields.count == FIELDS_MAX)
		return file_refuse(r, r->line, "a section can have at most %d lines", FIELDS_MAX);
	if (file_find_field(&r->fields, field.key))
		return file_refuse(r, r->line, "'%.40s' stands here a second time", field.key);
	r->fields.items[r->fields.count++] = field;
	return 0;
}

static int file_read_line(struct file_reader *r, char *line)
{
	if (strlen(line) >= LINE_MAX_BYTES)
		return file_refuse(r, r->line, "this line is longer than %d bytes", LINE_MAX_BYTES);
	for (const char *p = line; *p; p++) {
		if (iscntrl((unsigned char)*p) && *p != '\t' && *p != '\r')
			return file_refuse(r, r->line, "a control character stands here");
	}
	line = file_trim(line);
	if (!*line || *line == '#')
		return 0;
	return *line == '[' ? file_begin_section(r, line) : file_read_field(r, line);
}

int probe_set_parse(const char *text, size_t length, const char *name, struct probe_set **ret,
		    struct error *err)
{
	_cleanup_(probe_set_freep) struct probe_set *set = calloc(1, sizeof(*set));
	_cleanup_free_ struct file_reader *r = calloc(1, sizeof(*r));
	_cleanup_free_ char *copy = strndup(text, length);
	char *rest = copy, *line;
	int result = 0;

	if (!set || !r || !copy || file_copy(name, &set->file) < 0)
		return -ENOMEM;
	*r = (struct file_reader){ .set = set, .name = name, .err = err };
	if (length > FILE_MAX || strlen(copy) != length)
		return error_set(err, -EINVAL, "%s:1: %s", name,
				 length > FILE_MAX ? "this is longer than 256 KiB"
						   : "a NUL stands in it");
	while (result == 0 && (line = parse_next_line(&rest))) {
		r->line++;
		result = file_read_line(r, line);
	}
	if (result == 0)
		result = file_end_section(r);
	if (result == 0 && !set->probe_count)
		result = file_refuse(r, r->line, "there is no probe in it");
	if (result < 0)
		return result;
	*ret = TAKE_PTR(set);
	return 0;
}

int probe_set_read(const char *directory, const char *set, struct probe_set **ret,
		   struct error *err)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	size_t length = 0;
	int r;

	if (strchr(set, '/'))
		r = file_copy(set, &path);
	else
		r = asprintf(&path, "%s/%s.probe", directory, set) < 0 ? -ENOMEM : 0;
	if (r == 0)
		r = file_read(AT_FDCWD, path, FILE_MAX, &text, &length);
	if (r < 0)
		return error_set_errno(err, r, "cannot read the probe set '%s'", path ? path : set);
	return probe_set_parse(text, length, path, ret, err);
}
