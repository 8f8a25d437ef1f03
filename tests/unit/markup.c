/* SPDX-License-Identifier: MIT */
#include "markup.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "basic/macro.h"
#include "basic/utf8.h"

#define DEPTH_MAX 64
#define DOCTYPE "<!DOCTYPE html>\n"

struct reader {
	const char *at;
	struct {
		const char *name;
		size_t length;
	} open[DEPTH_MAX];
	size_t depth;
};

static size_t name_length(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
}

static bool take(struct reader *r, const char *text)
{
	if (strncmp(r->at, text, strlen(text)) != 0)
		return false;
	r->at += strlen(text);
	return true;
}

static bool take_entity(struct reader *r)
{
	static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };

	for (size_t i = 0; i < ARRAY_SIZE(entities); i++) {
		if (take(r, entities[i]))
			return true;
	}
	return false;
}

/* One character of text or of a value. */
static bool take_character(struct reader *r)
{
	const char *next = r->at;
	uint32_t c = utf8_next(&next);

	if (c == '&')
		return take_entity(r);
	if (c == 0 || c == '<' || (c != '\n' && !utf8_is_printable(c)))
		return false;
	/* a byte that is no UTF-8 looks like the character that says so */
	if (c == UTF8_REPLACEMENT && next - r->at != 3)
		return false;
	r->at = next;
	return true;
}

/* Those that load something, run something or lead away are never there. */
static bool is_forbidden(const char *name, size_t length)
{
	static const char *const names[] = { "src",    "href", "style",	 "action",
					     "script", "link", "iframe", "object" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strlen(names[i]) == length && strncasecmp(names[i], name, length) == 0)
			return true;
	}
	return strncasecmp(name, "on", 2) == 0;
}

static bool take_attribute(struct reader *r)
{
	size_t length = name_length(r->at);

	if (!length || is_forbidden(r->at, length))
		return false;
	r->at += length;
	if (!take(r, "=\""))
		return false;
	while (*r->at != '"') {
		if (*r->at == '\n' || !take_character(r))
			return false;
	}
	r->at++;
	return true;
}

static bool take_begin(struct reader *r)
{
	size_t length = name_length(r->at);

	if (!length || r->depth == DEPTH_MAX ||
	    (is_forbidden(r->at, length) && strncmp(r->at, "style", length) != 0))
		return false;
	r->open[r->depth].name = r->at;
	r->open[r->depth].length = length;
	r->depth++;
	r->at += length;
	while (take(r, " ")) {
		if (!take_attribute(r))
			return false;
	}
	if (take(r, "/>")) {
		r->depth--;
		return true;
	}
	return take(r, ">");
}

static bool take_end(struct reader *r)
{
	size_t length = name_length(r->at);

	if (!r->depth)
		return false;
	r->depth--;
	if (length != r->open[r->depth].length ||
	    strncmp(r->at, r->open[r->depth].name, length) != 0)
		return false;
	r->at += length;
	return take(r, ">");
}

static bool take_anything(struct reader *r)
{
	if (take(r, "</"))
		return take_end(r);
	if (take(r, "<"))
		return take_begin(r);
	return take_character(r);
}

const char *markup_find_fault(const char *text)
{
	struct reader r = { .at = text };

	if (!take(&r, DOCTYPE))
		return r.at;
	do {
		const char *before = r.at;

		if (!take_anything(&r))
			return before;
	} while (r.depth > 0);
	r.at += strspn(r.at, "\n");
	return *r.at ? r.at : NULL;
}
