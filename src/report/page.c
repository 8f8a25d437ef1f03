/* SPDX-License-Identifier: MIT */
#include "report/page.h"

#include <assert.h>
#include <errno.h>
#include <langinfo.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/utf8.h"

#define WIDTH_MIN 60
#define WIDTH_MAX 100
#define WIDTH_DEFAULT 80
#define BAR_MAX 64

static unsigned int terminal_width(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return WIDTH_DEFAULT;
	return MIN(MAX((unsigned int)size.ws_col, WIDTH_MIN), WIDTH_MAX);
}

struct page page_for(FILE *out)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool is_terminal = isatty(fileno(out));

	return (struct page){
		.out = out,
		.width = is_terminal ? terminal_width(fileno(out)) : WIDTH_DEFAULT,
		.is_utf8 = strcasecmp(nl_langinfo(CODESET), "UTF-8") == 0,
		.has_color = is_terminal && !(no_color && *no_color) &&
			     !(term && strcmp(term, "dumb") == 0),
	};
}

int sheet_open(FILE *to, struct sheet *ret)
{
	*ret = (struct sheet){ .page = page_for(to), .to = to };
	ret->page.out = open_memstream(&ret->text, &ret->length);
	return ret->page.out ? 0 : -ENOMEM;
}

int sheet_print(struct sheet *s)
{
	bool is_whole = fclose(TAKE_PTR(s->page.out)) == 0;

	if (!is_whole)
		return -ENOMEM;
	errno = 0;
	if (fwrite(s->text, 1, s->length, s->to) != s->length || fflush(s->to) != 0)
		return errno ? -errno : -EIO;
	return 0;
}

void sheet_clear(struct sheet *s)
{
	if (s->page.out)
		fclose(s->page.out);
	free(s->text);
	*s = (struct sheet){};
}

/* Signs that one character of ASCII would turn into others. */
static const char *ascii_pair(uint32_t c)
{
	return c == 0x2265 ? ">=" : c == 0xb1 ? "+-" : NULL;
}

/* How many blanks before it such signs take, so that columns stay where they are. */
static size_t count_pairs(const struct page *page, const char *text)
{
	size_t count = 0;
	uint32_t c;

	while (!page->is_utf8 && (c = utf8_next(&text)) != 0)
		count += ascii_pair(c) != NULL;
	return count;
}

static void put_character(struct page *page, uint32_t c)
{
	unsigned int width = utf8_is_printable(c) ? utf8_width(c) : 1;
	char buffer[UTF8_MAX];

	page->column += width;
	if (!utf8_is_printable(c))
		fputc('?', page->out);
	else if (c < 0x80 || page->is_utf8)
		fwrite(buffer, 1, utf8_encode(c, buffer), page->out);
	else if (ascii_pair(c))
		fputs(ascii_pair(c), page->out);
	else
		for (unsigned int i = 0; i < width; i++)
			fputc(utf8_ascii(c), page->out);
}

static void put_text(struct page *page, enum page_style style, const char *text)
{
	static const char *const escapes[] = {
		[PAGE_PLAIN] = "",	  [PAGE_BOLD] = "\x1b[1m",     [PAGE_DIM] = "\x1b[2m",
		[PAGE_GOOD] = "\x1b[32m", [PAGE_ALERT] = "\x1b[1;31m",
	};
	bool is_styled = page->has_color && style != PAGE_PLAIN && *text;
	uint32_t c;

	if (*text && page->has_gap)
		fputc('\n', page->out);
	page->has_gap &= !*text;
	/* at least one blank stays */
	if (page->pending > 1)
		page->pending -= MIN(page->pending - 1, count_pairs(page, text));
	for (; *text && page->pending > 0; page->pending--)
		fputc(' ', page->out);
	if (is_styled)
		fputs(escapes[style], page->out);
	while ((c = utf8_next(&text)) != 0)
		put_character(page, c);
	if (is_styled)
		fputs("\x1b[0m", page->out);
}

void page_put(struct page *page, enum page_style style, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;
	int r;

	va_start(args, format);
	r = vasprintf(&text, format, args);
	va_end(args);
	if (r < 0)
		text = NULL; /* undefined after a failure */
	else
		put_text(page, style, text);
}

void page_pad(struct page *page, size_t column, size_t gap)
{
	size_t blanks = MAX(column > page->column ? column - page->column : 0, gap);

	page->pending += blanks;
	page->column += blanks;
}

void page_end_line(struct page *page)
{
	fputc('\n', page->out);
	page->column = page->pending = 0;
}

size_t page_indent(const struct page *page)
{
	return page->is_flush ? 0 : page->indent ? page->indent : PAGE_INDENT;
}

void page_gap(struct page *page)
{
	page->has_gap = true;
}

void page_label(struct page *page, const char *label)
{
	if (label)
		put_text(page, PAGE_DIM, label);
	if (!page->is_flush)
		page_pad(page, page_indent(page), page->column >= page_indent(page));
}

/* How much of @text fits into @room, with its blanks; at least its first word. */
static size_t fitting_length(const char *text, size_t room)
{
	size_t end = 0, next;

	for (; text[end]; end = next) {
		_cleanup_free_ char *part = NULL;

		next = end + strspn(text + end, " ");
		next += strcspn(text + next, " ");
		part = strndup(text, next);
		if (end && (!part || utf8_columns(part) > room))
			break;
	}
	return end;
}

void page_words(struct page *page, enum page_style style, size_t indent, const char *text)
{
	while (*text) {
		size_t room = page->width > page->column ? page->width - page->column : 0, length;
		_cleanup_free_ char *part = NULL;

		length = fitting_length(text, room);
		part = strndup(text, length);
		if (!part)
			return;
		if (page->column != indent && utf8_columns(part) > room) {
			page_end_line(page);
			page_pad(page, indent, 0);
			text += strspn(text, " ");
			continue;
		}
		put_text(page, style, part);
		text += length;
		if (*text) {
			page_end_line(page);
			page_pad(page, indent, 0);
			text += strspn(text, " ");
		}
	}
}

void page_paragraph(struct page *page, const char *label, const char *text)
{
	page_label(page, label);
	page_words(page, PAGE_PLAIN, page_indent(page), text);
	page_end_line(page);
}

/* In eighths of a column; returns how many columns that takes. */
static unsigned int put_blocks(struct page *page, double columns)
{
	static const char *const parts[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	unsigned int eighths = (unsigned int)(MIN(MAX(columns, 0.0), (double)BAR_MAX) * 8 + 0.5);
	char full[BAR_MAX * sizeof("█")] = "";

	for (unsigned int i = 0; i < eighths / 8; i++)
		memcpy(full + i * strlen("█"), "█", sizeof("█"));
	page_put(page, PAGE_PLAIN, "%s%s", full, parts[eighths % 8]);
	return (eighths + 7) / 8;
}

void page_bar(struct page *page, double share, unsigned int columns)
{
	char empty[BAR_MAX * sizeof("·")] = "";
	unsigned int taken;

	assert(columns <= BAR_MAX);
	taken = put_blocks(page, MIN(share, 1.0) * columns);
	for (unsigned int i = 0; i < columns - taken; i++)
		memcpy(empty + i * strlen("·"), "·", sizeof("·"));
	page_put(page, PAGE_DIM, "%s", empty);
}

void page_block(struct page *page, double columns)
{
	put_blocks(page, columns);
}

void page_level(struct page *page, double share)
{
	static const char *const levels[] = { "·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	double level = ceil(MIN(MAX(share, 0.0), 1.0) * 8);

	page_put(page, PAGE_PLAIN, "%s", isnan(share) ? " " : levels[(size_t)level]);
}
