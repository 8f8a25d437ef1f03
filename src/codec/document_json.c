/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/document_backend.h"
#include "basic/cleanup.h"
#include "basic/utf8.h"

#define DEPTH_MAX 16

struct level {
	bool is_flat;
	bool has_items;
};

struct json {
	struct document document;
	FILE *out;
	bool is_one_line;
	bool is_of_many; /* lines: it is not the last to write to the file */
	bool is_after_key;
	unsigned int depth;
	struct level levels[DEPTH_MAX]; /* [0] is the document itself */
};

static struct json *json_of(struct document *d)
{
	return (struct json *)(void *)d;
}

static void break_line(const struct json *json)
{
	fputc_unlocked('\n', json->out);
	for (unsigned int i = 0; i < json->depth; i++)
		fputs_unlocked("  ", json->out);
}

/* What stands between two items, or between a bracket and the first. */
static void separate(struct json *json)
{
	struct level *level = &json->levels[json->depth];

	if (json->is_after_key) {
		json->is_after_key = false;
		return;
	}
	if (level->has_items)
		fputc_unlocked(',', json->out);
	if (!level->is_flat && json->depth > 0)
		break_line(json);
	else if (level->has_items && !json->is_one_line)
		fputc_unlocked(' ', json->out);
	level->has_items = true;
}

/* How much of @text stands for itself: almost all, of most texts. */
static size_t plain_length(const char *text)
{
	size_t length = 0;

	while (text[length] >= ' ' && text[length] <= '~' && text[length] != '"' &&
	       text[length] != '\\')
		length++;
	return length;
}

static void write_escaped(FILE *out, const char *text)
{
	static const char short_escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	size_t plain = plain_length(text);
	uint32_t c;

	fputc_unlocked('"', out);
	fwrite_unlocked(text, 1, plain, out);
	text += plain;
	while ((c = utf8_next(&text)) != 0) {
		char buffer[UTF8_MAX];
		const char *escape = c < 0x80 ? strchr(short_escapes, (int)c) : NULL;

		/* the pairs: what is escaped, and its letter */
		if (escape && (escape - short_escapes) % 2 == 0)
			fprintf(out, "\\%c", escape[1]);
		else if (!utf8_is_printable(c) && c < 0x10000)
			fprintf(out, "\\u%04x", (unsigned int)c);
		else
			fwrite_unlocked(buffer, 1, utf8_encode(c, buffer), out);
	}
	fputc_unlocked('"', out);
}

static void json_begin(struct document *d, enum nesting nesting, bool is_flat)
{
	struct json *json = json_of(d);

	separate(json);
	fputc_unlocked(nesting == NESTING_MAP ? '{' : '[', json->out);
	assert(json->depth + 1 < DEPTH_MAX);
	is_flat |= json->levels[json->depth].is_flat && json->depth > 0;
	json->depth++;
	json->levels[json->depth] = (struct level){ .is_flat = is_flat || json->is_one_line };
}

static void json_end(struct document *d, enum nesting nesting)
{
	struct json *json = json_of(d);
	const struct level *level = &json->levels[json->depth];

	assert(json->depth > 0);
	json->depth--;
	if (level->has_items && !level->is_flat)
		break_line(json);
	fputc_unlocked(nesting == NESTING_MAP ? '}' : ']', json->out);
}

static void json_key(struct document *d, const char *key)
{
	struct json *json = json_of(d);

	separate(json);
	write_escaped(json->out, key);
	fputs_unlocked(json->is_one_line ? ":" : ": ", json->out);
	json->is_after_key = true;
}

static void json_string(struct document *d, const char *text)
{
	separate(json_of(d));
	write_escaped(json_of(d)->out, text);
}

static void json_literal(struct document *d, const char *text)
{
	separate(json_of(d));
	fputs_unlocked(text, json_of(d)->out);
}

static int json_finish(struct document *d)
{
	const struct json *json = json_of(d);

	fputc_unlocked('\n', json->out);
	errno = 0;
	if ((!json->is_of_many && fflush(json->out) != 0) || ferror(json->out))
		return errno ? -errno : -EIO;
	return 0;
}

static void json_free(struct document *d)
{
	free(json_of(d));
}

struct document *document_new_json(FILE *out, enum document_style style)
{
	static const struct document_backend backend = {
		json_begin, json_end, json_key, json_string, json_literal, json_finish, json_free,
	};
	struct json *json = calloc(1, sizeof(*json));

	if (!json)
		return NULL;
	json->document.backend = &backend;
	json->out = out;
	json->is_one_line = style != DOCUMENT_INDENTED;
	json->is_of_many = style == DOCUMENT_LINE_OF_MANY;
	return &json->document;
}

int document_format_line(void (*format)(const void *what, struct document *d), const void *what,
			 char **ret, size_t *ret_length)
{
	_cleanup_(document_freep) struct document *d = NULL;
	FILE *out = open_memstream(ret, ret_length);
	int r = -ENOMEM;

	if (!out)
		return -ENOMEM;
	d = document_new_json(out, DOCUMENT_ONE_LINE);
	if (d) {
		format(what, d);
		r = document_finish(d);
	}
	if (fclose(out) != 0 && r == 0)
		r = -ENOMEM;
	if (r < 0) {
		free(*ret);
		*ret = NULL;
	}
	return r;
}
