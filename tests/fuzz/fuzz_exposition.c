/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as what jobs, mounts and devices are called: both formats stay valid UTF-8 and
 * printable, every line is a comment or one whole sample, the page is the same however small its
 * pieces, and OpenMetrics ends in EOF.
 */
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "export/exposition.h"
#include "fuzz.h"
#include "basic/macro.h"
#include "made_snapshot.h"
#include "basic/utf8.h"

#define NAMES_MAX 6
#define PAGE_MAX (8 << 20)

/* The input is names, with a NUL behind each. */
static size_t split(char *text, size_t size, const char *names[NAMES_MAX])
{
	size_t count = 0;

	for (char *p = text; p < text + size && count < NAMES_MAX; p += strlen(p) + 1)
		names[count++] = p;
	return count;
}

static void fill(struct snapshot *s, const char *const *names, size_t count)
{
	s->has_mounts = s->has_seconds = true;
	for (size_t i = 0; i < count; i++)
		made_mount(s, ROW_MOUNT, names[i], names[(i + 1) % count]);
	for (size_t i = 0; i + 1 < count; i += 2) {
		struct job *job = made_job(s, names[i], names[i + 1])->job;

		job->name = strdup(names[i]);
		job->user = strdup(names[i + 1]);
		for (uint32_t mount = 0; mount < count; mount++) {
			made_row(s, mount, OP_READ, INTERFACE_SPLICE,
				 (struct op_counts){ 1, 2, 3, 4, 0 });
			made_row(s, mount, OP_OPEN, INTERFACE_CALL,
				 (struct op_counts){ 1, 0, 3, 4, 5 });
		}
	}
}

static void add_samples(struct samples *to, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *labels[SAMPLE_LABELS_MAX] = { names[i] };

		CHECK(samples_add(to, METRIC_NODE_DISK_BUSY, labels, i) == 0);
	}
}

static char *page_of(const struct snapshot *s, const char *const *names, size_t count,
		     enum exposition_format format, size_t piece)
{
	static char page[PAGE_MAX];
	struct exposition_options options = { .format = format, .snapshot = s };
	_cleanup_(exposition_freep) struct exposition *e = NULL;
	size_t length = 0;
	ssize_t n;

	add_samples(&options.samples, names, count);
	CHECK(exposition_new(&options, &e) == 0);
	while ((n = exposition_next(e, page + length, MIN(piece, PAGE_MAX - 1 - length))) > 0)
		length += (size_t)n;
	CHECK(n == 0 && length < PAGE_MAX - 1);
	page[length] = '\0';
	return strdup(page);
}

static void check_text(const char *page)
{
	while (*page) {
		const char *before = page;
		uint32_t c = utf8_next(&page);

		CHECK(c != UTF8_REPLACEMENT || page - before > 1);
		CHECK(c == '\n' || utf8_is_printable(c));
	}
}

/* "name="value"", behind which @p is left. */
static const char *check_label(const char *p)
{
	size_t length = strspn(p, "abcdefghijklmnopqrstuvwxyz_");

	CHECK(length > 0 && strncmp(p + length, "=\"", 2) == 0);
	for (p += length + 2; *p != '"'; p++) {
		CHECK(*p && *p != '\n');
		if (*p == '\\') {
			p++;
			CHECK(*p == '\\' || *p == '"' || *p == 'n');
		}
	}
	return p + 1;
}

/* One line, behind which @p is left. */
static const char *check_line(const char *p)
{
	size_t length = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (*p == '#')
		return strchr(p, '\n') + 1;
	CHECK(length > 0);
	p += length;
	if (*p == '{') {
		do
			p = check_label(p + 1);
		while (*p == ',');
		CHECK(*p++ == '}');
	}
	CHECK(*p == ' ');
	length = strspn(p + 1, "0123456789.");
	CHECK(length > 0 && p[1 + length] == '\n');
	return p + length + 2;
}

static void check_format(const struct snapshot *s, const char *const *names, size_t count,
			 enum exposition_format format)
{
	_cleanup_free_ char *whole = page_of(s, names, count, format, PAGE_MAX),
			    *pieces = page_of(s, names, count, format, 1 + count * 7);

	CHECK(strcmp(whole, pieces) == 0);
	check_text(whole);
	for (const char *p = whole; *p;)
		p = check_line(p);
	CHECK(format == EXPOSITION_TEXT ||
	      strcmp(whole + strlen(whole) - strlen("# EOF\n"), "# EOF\n") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = malloc(size + 1);
	_cleanup_(made_snapshot_clear) struct snapshot s = {};
	const char *names[NAMES_MAX];
	size_t count;

	memcpy(text, data, size);
	text[size] = '\0';
	count = split(text, size, names);
	fill(&s, names, count);
	check_format(&s, names, count, EXPOSITION_TEXT);
	check_format(&s, names, count, EXPOSITION_OPENMETRICS);
	return 0;
}
