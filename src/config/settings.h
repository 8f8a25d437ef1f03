/* SPDX-License-Identifier: MIT */
/*
 * settings - a table of settings: read from YAML and the environment into a struct, compared,
 * shown.
 *
 * A setting is one row; parsing, errors, the reference page, the example file and the dump walk the
 * rows.  The environment overrides the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct error;

#define SETTINGS_MAX 80 /* rows of a table */
#define SETTING_FIELDS_MAX 4 /* of a list's entry */
#define SETTING_TEXT_MAX 4096 /* bytes of one text */

enum setting_type {
	SETTING_BOOL, /* bool */
	SETTING_NUMBER, /* uint64_t */
	SETTING_DURATION, /* uint64_t, in ns */
	SETTING_MIB, /* uint64_t, in MiB */
	SETTING_PERCENT, /* uint64_t, in millionths */
	SETTING_CHOICE, /* unsigned int: the place among the words */
	SETTING_TEXT, /* char *, never NULL */
	SETTING_LIST, /* struct setting_list */
};

/* Entries of one text, or of as many as the setting has fields. */
struct setting_list {
	char **texts; /* entry by entry, field by field */
	size_t count; /* entries */
	size_t fields;
};

static inline const char *setting_list_get(const struct setting_list *list, size_t entry,
					   size_t field)
{
	return list->texts[entry * list->fields + field];
}

struct setting {
	const char *name; /* "interval"; "tls.key" is key in the map tls */
	enum setting_type type;
	size_t offset; /* of its value in the struct */
	const char *standard; /* its default, as the environment would give it */
	uint64_t min, max; /* NUMBER, DURATION, MIB, PERCENT: of the value; LIST: max is of its
			      entries */
	const char *const *words; /* CHOICE: which there are; LIST: names of fields, NULL: it has
				     one text; NULL ends */
	bool (*is_allowed)(size_t field, const char *text); /* TEXT, LIST; NULL: all without control
							       characters */
	const char *allowed; /* TEXT, LIST: what is_allowed wants, in words */
	bool needs_restart; /* else a reload brings it in */
	const char *help; /* a sentence or two */
};

struct settings {
	const struct setting *rows;
	size_t count;
	const char *prefix; /* of names in the environment: "JOBMETER_" */
};

enum setting_source {
	SETTING_FROM_DEFAULT,
	SETTING_FROM_FILE,
	SETTING_FROM_ENVIRONMENT,
};

struct setting_origin {
	enum setting_source source;
	unsigned int line; /* in the file */
};

/* ---- one value ---- */

/* The allowed values, in words: "1s to 1h (ms, s, m, h, d)". */
struct setting_words {
	char text[512];
};
struct setting_words setting_allowed(const struct setting *setting);

/* From @text, as an environment has it: lists of one field are separated by commas; lists of
 * several fields are no text.  -EINVAL: not allowed; the value stays as it is. */
int setting_parse(const struct setting *setting, const char *text, void *values);
/* Replace the entries of a list; @texts are copied. */
int setting_set_list(const struct setting *setting, char *const *texts, size_t count, void *values);
/* A text as it is, lists as YAML has them; the caller frees.  NULL: no memory. */
char *setting_format(const struct setting *setting, const void *values);
/* The same as YAML, quoted where it must be. */
char *setting_format_yaml(const struct setting *setting, const void *values);
int setting_is_equal(const struct setting *setting, const void *a, const void *b); /* 1, 0, -ENOMEM
										    */
void setting_swap(const struct setting *setting, void *a, void *b);
void setting_clear(const struct setting *setting, void *values);

/* ---- all of them ---- */

/* Fill @values, which are all zeros, with the defaults; -ENOMEM. */
int settings_set_defaults(const struct settings *settings, void *values);
void settings_clear(const struct settings *settings, void *values);

/* @text ends in a NUL; @origins (SETTINGS_MAX) gets the line of each setting in it.
 * -EINVAL, -EFBIG: *err says "NAME:LINE: ..."; some values may be set. */
int settings_parse_yaml(const struct settings *settings, const char *text, size_t length,
			const char *name, void *values, struct setting_origin *origins,
			struct error *err);

/* @environment: as environ(7).  -EINVAL: a value is not allowed.  A name with the prefix that is
 * not known is no error, since others may use it: *unknown (may be NULL) says so, else it is "". */
int settings_parse_environment(const struct settings *settings, char *const *environment,
			       void *values, struct setting_origin *origins, struct error *unknown,
			       struct error *err);

/* The text of a file of settings, freed by the caller. It controls a root process: -EPERM if other
 * users may write it.  -ENOENT, -EINVAL, -EFBIG... */
int settings_read(const char *path, char **ret, size_t *ret_length, struct error *err);
/* The name before line numbers: the path's last part. */
const char *settings_base_name(const char *path);

/* "JOBMETER_TLS_KEY". */
struct setting_words settings_environment_name(const struct settings *settings,
					       const struct setting *setting);

/* The rows of a table in Markdown. */
void settings_print_reference(const struct settings *settings, FILE *out);
/* A file with each setting as a comment, with its default. */
int settings_print_example(const struct settings *settings, FILE *out);
/* The current settings as YAML, each line with its origin; @name is the file's. */
int settings_print(const struct settings *settings, const void *values,
		   const struct setting_origin *origins, const char *name, FILE *out);

/* ---- checks of texts, for several tables: struct setting.is_allowed ---- */

#define SETTING_WORD_BYTES 64 /* of a name, with its NUL */

bool setting_is_path(size_t field, const char *text); /* an absolute one */
bool setting_is_path_or_none(size_t field, const char *text);
bool setting_is_socket_path(size_t field, const char *text); /* or none */
bool setting_is_address(size_t field, const char *text); /* "127.0.0.1:9840", "[::1]:9840", or none
							  */
bool setting_is_account(size_t field, const char *text); /* a user's or a group's name */

bool setting_is_url(size_t field, const char *text); /* "http://HOST[:PORT]", https, or none */

/* Letters, digits and @others, without a '-' first. */
bool setting_is_word(const char *text, const char *others);

/* Whether an address is reached from this machine alone; "" is reached from nowhere. */
bool setting_is_loopback(const char *address);
/* Whether traffic to that URL is private: by TLS, or on this machine. */
bool setting_url_is_private(const char *url);
