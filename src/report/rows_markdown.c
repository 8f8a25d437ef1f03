/* SPDX-License-Identifier: MIT */
#include "report/rows_markdown.h"

#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "report/curve.h"
#include "report/rows_items.h"
#include "report/sentence.h"
#include "basic/utf8.h"

#define FINDINGS_SHOWN 8
#define SHARE_MIN 0.005 /* less is not told */

/* ---- words ---- */

/* With a capital and a full stop. */
static void put_sentence(const char *text, FILE *out)
{
	_cleanup_(sentence_freep) struct sentence s = {};

	sentence_add_whole(&s, text);
	markdown_put(s.text ? s.text : "", out);
}

static void put_label(const char *label, FILE *out)
{
	if (label)
		fprintf(out, "\n**%c%s**: ",
			*label >= 'a' && *label <= 'z' ? *label - 'a' + 'A' : *label, label + 1);
	else
		fputc('\n', out);
}

static void put_line(const struct rows_item *item, bool goes_on, FILE *out)
{
	if (goes_on)
		fputc(' ', out);
	else
		put_label(item->label, out);
	if (item->line.has_share)
		fprintf(out, "%s%s",
			item->line.is_share_known ? humanize_percent(item->line.share).text : "-",
			item->line.text ? ", " : ".");
	if (!item->line.text)
		return;
	if (item->label)
		markdown_put(item->line.text, out);
	else
		put_sentence(item->line.text, out);
	if (item->label && item->line.text[strlen(item->line.text) - 1] != '.')
		fputc('.', out);
}

/* ---- the head ---- */

static void put_head(const struct rows_head *head, FILE *out)
{
	fputs("## ", out);
	markdown_put(head->command ? head->command : head->name, out);
	fputs("\n\n**", out);
	markdown_put(head->outcome, out);
	fprintf(out, "**, %s", head->elapsed);
	if (head->place) {
		fputs(", ", out);
		markdown_put(head->place, out);
	}
	if (head->score)
		fprintf(out, ", %s", head->score);
	fputc('\n', out);
	for (size_t i = 0; i < head->classes.count; i++) {
		fputs(i ? ", " : "\nClass: ", out);
		markdown_put(head->classes.items[i].text, out);
	}
	fputs(head->classes.count ? "\n" : "", out);
}

/* The first of them, numbered; or all by severity. */
static void put_findings(const struct rows_findings *findings, FILE *out)
{
	const struct insights *insights = &findings->analysis->insights;
	size_t shown = findings->is_whole ? insights->count
					  : MIN(insights->count, (size_t)FINDINGS_SHOWN);

	fputc('\n', out);
	if (!insights->count) {
		markdown_put(findings->verdict, out);
		fputc('\n', out);
	}
	for (size_t i = 0; i < shown; i++) {
		const struct insight *insight;

		if (findings->is_whole)
			fprintf(out,
				"- **%s**: ", severity_name(insights->items[i].rule->severity));
		else
			fprintf(out, "%zu. ", i + 1);
		insight = &insights->items[i];
		markdown_put(insight->text, out);
		if (insight->advice) {
			fputc(' ', out);
			markdown_put(insight->advice, out);
		}
		if (insight->directive) {
			fputc(' ', out);
			markdown_put_code(insight->directive, out);
		}
		fputc('\n', out);
	}
	if (insights->count > shown)
		fprintf(out, "\nAnd %zu more.\n", insights->count - shown);
}

/* ---- tables ---- */

static void put_row(const struct rows_table *t, const struct rows_cell *cells, FILE *out)
{
	struct human buffer;

	fputc('|', out);
	for (size_t i = 0; i < t->column_count; i++) {
		if (!rows_column_is_in(t, i, ROWS_MARKDOWN))
			continue;
		fputc(' ', out);
		markdown_put(rows_cell_text(&cells[i], &buffer), out);
		fputs(" |", out);
	}
	fputc('\n', out);
}

static void put_table(const struct rows_table *t, FILE *out)
{
	fputs("\n|", out);
	for (size_t i = 0; i < t->column_count; i++) {
		if (rows_column_is_in(t, i, ROWS_MARKDOWN))
			fprintf(out, " %s |", t->columns[i].head);
	}
	fputs("\n|", out);
	for (size_t i = 0; i < t->column_count; i++) {
		if (rows_column_is_in(t, i, ROWS_MARKDOWN))
			fputs(i == 0 || t->columns[i].is_left ? "---|" : "---:|", out);
	}
	fputc('\n', out);
	for (size_t i = 0; i < t->row_count; i++) {
		if (t->row_forms[i] & ROWS_MARKDOWN && (i + 1) * t->column_count <= t->cell_count)
			put_row(t, &t->cells[i * t->column_count], out);
	}
	for (size_t i = 0; i < t->remarks.count; i++) {
		if (!(t->remarks.items[i].forms & ROWS_MARKDOWN))
			continue;
		fputc('\n', out);
		put_sentence(t->remarks.items[i].text, out);
		fputc('\n', out);
	}
}

/* ---- parts of a whole, and time ---- */

static void put_shares(const char *label, const struct rows_shares *shares, FILE *out)
{
	put_label(label, out);
	fputs(shares->whole, out);
	for (size_t i = 0; i < shares->count; i++) {
		const struct rows_share_part *part = &shares->items[i];

		if (i == 0 || part->share >= SHARE_MIN)
			fprintf(out, "%s %s %s", i ? "," : ";", part->shade->label,
				humanize_percent(part->share).text);
	}
	fputs(".\n", out);
}

static void put_curve(const struct curve_axis *axis, const struct curve *curve, enum axis_kind kind,
		      FILE *out)
{
	static const char *const levels[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	const size_t highest = ARRAY_SIZE(levels) - 1;

	fputs("    ", out);
	for (size_t i = 0; i < axis->columns * axis->wide; i++) {
		double share = curve->values[i / axis->wide] / fmax(curve->greatest, 1e-9);

		fputs(isnan(share) ? "·" : levels[lround(share * (double)highest)], out);
	}
	fprintf(out, "  %s, at most %s\n", curve->name, curve_format(curve->most, kind).text);
}

static void put_timeline(const struct rows_timeline *t, FILE *out)
{
	struct curve_axis axis = curve_axis_of(&t->time, CURVE_MAX);
	struct curve curve;

	fputc('\n', out);
	for (size_t i = 0; i < t->count; i++) {
		for (size_t k = 0; curve_of(&t->plots[i], k, &axis, &curve); k++) {
			if (curve.name)
				put_curve(&axis, &curve, t->plots[i].kind, out);
		}
	}
}

static void put_item(const struct rows_item *item, FILE *out)
{
	switch (item->kind) {
	case ITEM_TABLE:
		return put_table(&item->table, out);
	case ITEM_HEAD:
		return put_head(&item->head, out);
	case ITEM_FINDINGS:
		return put_findings(&item->findings, out);
	case ITEM_SHARES:
		return put_shares(item->label, &item->shares, out);
	case ITEM_TIMELINE:
		return put_timeline(&item->timeline, out);
	default:
		return; /* no form of Markdown */
	}
}

void rows_markdown(const struct rows *rows, FILE *out)
{
	bool is_in_line = false; /* one more may go on */

	for (size_t i = 0; rows && i < rows->count; i++) {
		const struct rows_item *item = rows->items[i];
		bool is_line = item->kind == ITEM_LINE,
		     goes_on = is_in_line && is_line && !item->label;

		if (!rows_item_is_in(item, ROWS_MARKDOWN))
			continue;
		if (is_in_line && !goes_on)
			fputc('\n', out);
		is_in_line = is_line;
		if (is_line)
			put_line(item, goes_on, out);
		else
			put_item(item, out);
	}
	fputs(is_in_line ? "\n" : "", out);
}

static void put_character(uint32_t c, FILE *out)
{
	char buffer[UTF8_MAX];

	if (c == 0x7f || c < 0x20)
		c = ' ';
	if (!utf8_is_printable(c))
		c = UTF8_REPLACEMENT;
	fwrite(buffer, 1, utf8_encode(c, buffer), out);
}

void markdown_put(const char *text, FILE *out)
{
	uint32_t c;

	for (size_t i = 0; (c = utf8_next(&text)) != 0; i++) {
		if (i == MARKDOWN_TEXT_MAX) {
			fputs("…", out);
			return;
		}
		if (c < 0x80 && strchr("\\`*_{}[]<>#|!&~", (int)c))
			fputc('\\', out);
		put_character(c, out);
	}
}

void markdown_put_code(const char *text, FILE *out)
{
	uint32_t c;

	fputc('`', out);
	for (size_t i = 0; i < MARKDOWN_TEXT_MAX && (c = utf8_next(&text)) != 0; i++)
		put_character(c == '`' ? ' ' : c, out);
	fputc('`', out);
}
