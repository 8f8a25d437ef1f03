/* SPDX-License-Identifier: MIT */
#include "report/html.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/utf8.h"

/* ---- text ---- */

static void put_character(uint32_t c, FILE *out)
{
	/* neither control characters nor the two code points that are none */
	const bool is_allowed = utf8_is_printable(c) && (c & 0xfffe) != 0xfffe;
	char buffer[UTF8_MAX];

	switch (c) {
	case '&':
		fputs("&amp;", out);
		return;
	case '<':
		fputs("&lt;", out);
		return;
	case '>':
		fputs("&gt;", out);
		return;
	case '"':
		fputs("&quot;", out);
		return;
	case '\'':
		fputs("&#39;", out);
		return;
	default:
		fwrite(buffer, 1, utf8_encode(is_allowed ? c : UTF8_REPLACEMENT, buffer), out);
	}
}

static size_t count_characters(const char *text)
{
	size_t count = 0;

	while (utf8_next(&text) != 0)
		count++;
	return count;
}

static void put_escaped(const char *text, FILE *out)
{
	size_t count = count_characters(text), half = HTML_TEXT_MAX / 2;
	bool is_long = count > HTML_TEXT_MAX;
	uint32_t c;

	for (size_t i = 0; (c = utf8_next(&text)) != 0; i++) {
		if (is_long && i == half)
			put_character(0x2026, out); /* … */
		if (!is_long || i < half || i >= count - half)
			put_character(c == '\n' || c == '\t' ? ' ' : c, out);
	}
}

static void put_formatted(const char *format, va_list args, FILE *out) PRINTF_LIKE(1, 0);
static void put_formatted(const char *format, va_list args, FILE *out)
{
	_cleanup_free_ char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL; /* undefined after a failure */
	else
		put_escaped(text, out);
}

/* ---- elements ---- */

static void close_tag(struct html *h)
{
	if (h->is_in_tag)
		fputc('>', h->out);
	h->is_in_tag = false;
}

/* Those of HTML that have no end. */
static bool is_void(const char *name)
{
	static const char *const names[] = { "br", "col", "hr", "input", "link", "meta" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

void html_begin(struct html *h, const char *name)
{
	assert(h->depth < HTML_DEPTH_MAX);
	close_tag(h);
	fprintf(h->out, "<%s", name);
	h->open[h->depth++] = name;
	h->is_in_tag = true;
}

void html_begin_class(struct html *h, const char *name, const char *class)
{
	html_begin(h, name);
	html_attribute(h, "class", "%s", class);
}

void html_begin_attributes(struct html *h, const char *name, const char *const attributes[][2],
			   size_t count)
{
	html_begin(h, name);
	for (size_t i = 0; i < count; i++) {
		if (attributes[i][1])
			html_attribute(h, attributes[i][0], "%s", attributes[i][1]);
	}
}

void html_begin_attribute(struct html *h, const char *name)
{
	assert(h->is_in_tag);
	fprintf(h->out, " %s=\"", name);
}

void html_end_attribute(struct html *h)
{
	fputc('"', h->out);
}

void html_attribute(struct html *h, const char *name, const char *format, ...)
{
	va_list args;

	html_begin_attribute(h, name);
	va_start(args, format);
	put_formatted(format, args, h->out);
	va_end(args);
	html_end_attribute(h);
}

void html_text(struct html *h, const char *format, ...)
{
	va_list args;

	close_tag(h);
	va_start(args, format);
	put_formatted(format, args, h->out);
	va_end(args);
}

void html_end(struct html *h)
{
	const char *name;

	assert(h->depth > 0);
	name = h->open[--h->depth];
	if (is_void(name)) {
		fputs("/>", h->out);
		h->is_in_tag = false;
		return;
	}
	close_tag(h);
	fprintf(h->out, "</%s>", name);
	if (h->depth < 5) /* lines for who reads the source */
		fputc('\n', h->out);
}

void html_element(struct html *h, const char *name, const char *class, const char *format, ...)
{
	va_list args;

	html_begin(h, name);
	if (class)
		html_attribute(h, "class", "%s", class);
	close_tag(h);
	va_start(args, format);
	put_formatted(format, args, h->out);
	va_end(args);
	html_end(h);
}

void html_raw(struct html *h, const char *text)
{
	close_tag(h);
	fputs(text, h->out);
}
