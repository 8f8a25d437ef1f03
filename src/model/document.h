/* SPDX-License-Identifier: MIT */
/*
 * document - writes maps, lists and values as a stream of JSON or YAML; nothing is kept in memory.
 *
 * Output is valid UTF-8 whatever the strings hold: each invalid byte becomes U+FFFD.  What goes
 * wrong with the file is remembered, and told once by document_finish().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct document; /* opaque */
struct strings;

enum document_style {
	DOCUMENT_INDENTED,
	DOCUMENT_ONE_LINE, /* JSON only */
	DOCUMENT_LINE_OF_MANY, /* the same, and what is written may stay in the file's buffer */
};

/* @out stays the caller's, and is not locked: one thread writes to it.  NULL: no memory. */
struct document *document_new_json(FILE *out, enum document_style style);
struct document *document_new_yaml(FILE *out);
/* As CSV the flat maps in the list @list of a map, a row each, whose keys are the columns: the line
 * with their names is the caller's.  All else is left out. */
struct document *document_new_csv(FILE *out, const char *list);
struct document *document_free(struct document *d); /* NULL is fine; returns NULL */
void document_freep(struct document **d);

/* Within a map each value follows its key.  What is flat stands on one line. */
void document_begin_map(struct document *d);
void document_begin_flat_map(struct document *d);
void document_end_map(struct document *d);
void document_begin_list(struct document *d);
void document_begin_flat_list(struct document *d);
void document_end_list(struct document *d);
void document_key(struct document *d, const char *key);

void document_string(struct document *d, const char *text); /* NULL: null */
void document_unsigned(struct document *d, uint64_t number);
void document_signed(struct document *d, int64_t number);
/* As decimal_format(). */
void document_decimal(struct document *d, uint64_t number, unsigned int places);
/* The same below 0. */
void document_signed_decimal(struct document *d, int64_t number, unsigned int places);
void document_time(struct document *d, uint64_t ns); /* since the epoch, as RFC 3339 in UTC; 0: null
						      */
void document_boolean(struct document *d, bool is_true);
void document_null(struct document *d);

/* A member of a map: its key, and the value as above. */
void document_put_string(struct document *d, const char *key, const char *text);
void document_put_unsigned(struct document *d, const char *key, uint64_t number);
void document_put_signed(struct document *d, const char *key, int64_t number);
/* A decimal; null if it is not known. */
void document_put_known(struct document *d, const char *key, bool is_known, uint64_t number,
			unsigned int places);
void document_put_time(struct document *d, const char *key, uint64_t ns);
void document_put_boolean(struct document *d, const char *key, bool is_true);
void document_put_strings(struct document *d, const char *key, const struct strings *list);
void document_begin_map_of(struct document *d, const char *key);
void document_begin_flat_map_of(struct document *d, const char *key);
void document_begin_list_of(struct document *d, const char *key);
void document_begin_flat_list_of(struct document *d, const char *key);

/* End the document and flush.  -EIO and the like: it is not whole. */
int document_finish(struct document *d);

/* What @format writes of @what as a line of JSON with its newline; the caller frees *ret. */
int document_format_line(void (*format)(const void *what, struct document *d), const void *what,
			 char **ret, size_t *ret_length);
