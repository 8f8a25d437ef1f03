/* SPDX-License-Identifier: MIT */
#include "export/exposition_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "basic/decimal.h"
#include "basic/fnv.h"
#include "basic/utf8.h"

static void put_bytes(struct line *line, const char *text, size_t length)
{
	assert(length <= sizeof(line->text) - line->length);
	memcpy(line->text + line->length, text, length);
	line->length += length;
}

void line_put(struct line *line, const char *text)
{
	put_bytes(line, text, strlen(text));
}

/* ---- headings ---- */

static const char *type_of(const struct line *line, const struct metric *metric)
{
	switch (metric->kind) {
	case KIND_COUNTER:
		return "counter";
	case KIND_INFO:
		return line->format == EXPOSITION_OPENMETRICS ? "info" : "gauge";
	default:
		return "gauge";
	}
}

/* A metric's name without what all of them begin with. */
static const char *short_name(const struct metric *metric)
{
	return metric->name + strlen(METRIC_PREFIX "_");
}

/* In OpenMetrics a family has the name that its samples have before "_total" or "_info". */
static int family_length(const struct line *line, const struct metric *metric)
{
	size_t length = strlen(short_name(metric));

	if (line->format == EXPOSITION_OPENMETRICS && metric->kind == KIND_COUNTER)
		length -= strlen("_total");
	if (line->format == EXPOSITION_OPENMETRICS && metric->kind == KIND_INFO)
		length -= strlen("_info");
	return (int)length;
}

static bool ends_in_unit(const char *name, int length, const char *unit)
{
	int unit_length = unit ? (int)strlen(unit) : 0;

	return unit && length > unit_length && name[length - unit_length - 1] == '_' &&
	       strncmp(name + length - unit_length, unit, (size_t)unit_length) == 0;
}

static void put_help(struct line *line, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || (*text == '"' && line->format == EXPOSITION_OPENMETRICS))
			line_put(line, "\\");
		if (*text == '\n')
			line_put(line, "\\n");
		else
			put_bytes(line, text, 1);
	}
}

void line_put_family(struct line *line, const struct metric *metric)
{
	const char *unit = metric_unit_name(metric->unit), *name = short_name(metric);
	int length = family_length(line, metric);
	char text[256];

	snprintf(text, sizeof(text), "# TYPE %s%.*s %s\n", line->prefix, length, name,
		 type_of(line, metric));
	line_put(line, text);
	if (line->format == EXPOSITION_OPENMETRICS && ends_in_unit(name, length, unit)) {
		snprintf(text, sizeof(text), "# UNIT %s%.*s %s\n", line->prefix, length, name,
			 unit);
		line_put(line, text);
	}
	snprintf(text, sizeof(text), "# HELP %s%.*s ", line->prefix, length, name);
	line_put(line, text);
	put_help(line, metric->family_help ? metric->family_help : metric->help);
	line_put(line, "\n");
}

/* ---- samples ---- */

/* Pages are looked at on terminals, too; a line's end is written as two letters. */
static bool is_shown(uint32_t c)
{
	return c == '\n' || utf8_is_printable(c);
}

/* Whether all of @value is valid, printable and short enough, and so is written as it is. */
static bool is_harmless(const char *value)
{
	const char *p = value;

	if (strlen(value) > LABEL_MAX_BYTES)
		return false;
	while (*p) {
		const char *before = p;
		uint32_t c = utf8_next(&p);

		if ((c == UTF8_REPLACEMENT && p - before == 1) || !is_shown(c))
			return false;
	}
	return true;
}

static void put_character(struct line *line, uint32_t c)
{
	char bytes[UTF8_MAX];

	if (c == '\n') {
		line_put(line, "\\n");
		return;
	}
	if (c == '\\' || c == '"')
		line_put(line, "\\");
	put_bytes(line, bytes, utf8_encode(is_shown(c) ? c : UTF8_REPLACEMENT, bytes));
}

/* As nearly all are: short, and nothing in it has to be looked at twice. */
static bool is_plain(const char *value, size_t *ret_length)
{
	size_t i = 0;

	while (value[i] >= ' ' && value[i] < 0x7f && value[i] != '"' && value[i] != '\\')
		i++;
	*ret_length = i;
	return !value[i] && i <= LABEL_MAX_BYTES;
}

static void put_odd_value(struct line *line, const char *value)
{
	bool is_marked = !is_harmless(value);
	const char *p = value, *end = value + LABEL_MAX_BYTES;
	char mark[32];

	while (*p && p < end) /* the last character may end a little beyond */
		put_character(line, utf8_next(&p));
	if (!is_marked)
		return;
	snprintf(mark, sizeof(mark), "~%016" PRIx64, fnv_bytes(FNV_BEGIN, value, strlen(value)));
	line_put(line, mark);
}

static void put_value(struct line *line, const char *value)
{
	size_t length;

	if (is_plain(value, &length))
		put_bytes(line, value, length);
	else
		put_odd_value(line, value);
}

void line_begin(struct line *line, const struct metric *metric)
{
	line_put(line, line->prefix);
	line_put(line, short_name(metric));
	line->has_label = false;
	line->labels = line->length;
}

static void begin_label(struct line *line)
{
	line_put(line, line->has_label ? "," : "{");
	line->has_label = true;
}

void line_put_label(struct line *line, const char *name, const char *value)
{
	begin_label(line);
	line_put(line, name);
	line_put(line, "=\"");
	put_value(line, value ? value : "");
	line_put(line, "\"");
}

/* A series that is born with more than 0 is counted from here on. */
static void put_created(struct line *line, const struct metric *metric, size_t labels_end)
{
	const size_t length = labels_end - line->labels;
	char text[DECIMAL_SIZE];

	if (!line->created_ns || line->format != EXPOSITION_OPENMETRICS ||
	    metric->kind != KIND_COUNTER)
		return;
	line_put(line, line->prefix);
	put_bytes(line, short_name(metric), (size_t)family_length(line, metric));
	line_put(line, "_created");
	put_bytes(line, line->text + line->labels, length);
	line_put(line, decimal_format_exact(text, line->created_ns, 9));
	line_put(line, "\n");
}

void line_end(struct line *line, const struct metric *metric, uint64_t number)
{
	char text[DECIMAL_SIZE];
	size_t labels_end;

	if (metric->label) {
		begin_label(line);
		line_put(line, metric->label);
	}
	line_put(line, line->has_label ? "} " : " ");
	labels_end = line->length;
	line_put(line, decimal_format_exact(text, number, metric_unit_places(metric->unit)));
	line_put(line, "\n");
	put_created(line, metric, labels_end);
}
