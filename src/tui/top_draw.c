/* SPDX-License-Identifier: MIT */
#include "tui/top_draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "basic/cleanup.h"
#include "tui/columns.h"
#include "tui/grid.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "tui/top.h"
#include "tui/top_node.h"
#include "basic/utf8.h"

#define KEYS_ROWS_MIN 14 /* below this many rows there is no bar of keys */
#define LIST_ROWS_MIN 4 /* that details leave */
#define KEYS_COLUMNS 10 /* of help */
#define HELP_COLUMNS 80 /* that its whole head takes, with where in it we are */

/* ---- where what is ---- */

struct places {
	unsigned int node_rows, heads, list; /* from the title on: the node, the heads, the list */
};

/* @rows: 0: as many as it takes. */
static struct places places_of(const struct top *t, unsigned int columns, unsigned int rows)
{
	struct places p = { .node_rows = top_node_rows(t, columns, rows) };

	p.heads = 1 + p.node_rows;
	p.list = p.heads + 1;
	return p;
}

/* ---- the title ---- */

static void put_time(struct grid *g, const struct top *t, unsigned int after)
{
	time_t s = (time_t)(t->last.real_ns / 1000000000);
	char text[16] = "";
	struct tm tm;
	unsigned int column;

	if (!t->last.real_ns || !localtime_r(&s, &tm) ||
	    !strftime(text, sizeof(text), "%H:%M:%S", &tm))
		return;
	column = g->columns > strlen(text) ? g->columns - (unsigned int)strlen(text) : 0;
	if (column > after + 1)
		grid_put(g, 0, column, g->columns, STYLE_DIM, text);
}

/* "▼": the greatest first. */
static const char *order_sign(const struct top *t)
{
	return !top_columns[t->column].number == !t->is_inverted ? "▲" : "▼";
}

static unsigned int put_state(const struct top *t, struct grid *g, unsigned int at)
{
	const struct {
		bool is_on;
		const char *what, *text;
	} rows[] = {
		{ t->is_paused, "PAUSED", "" },	      { t->is_following, "following", "" },
		{ t->is_tagged_only, "tagged", "" },  { t->hides_idle, "idle hidden", "" },
		{ *t->filter, "filter ", t->filter }, { *t->user, "user ", t->user },
		{ *t->zoom[1], "in ", t->zoom[1] },   { t->position, "", t->position },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].is_on)
			at = grid_print(g, 0, at + 2, STYLE_BOLD, "%s%s", rows[i].what,
					rows[i].text ? rows[i].text : "");
	}
	return at;
}

static size_t count_shown(const struct top *t)
{
	size_t count = 0;

	for (size_t i = 0; i < t->row_count; i++)
		count += t->rows[i].part == TOP_JOB;
	return count;
}

/* Behind @at, whole or not at all.  Returns the column behind it. */
static unsigned int put_dim(struct grid *g, unsigned int row, unsigned int at, const char *text)
{
	unsigned int gap = at ? 2 : 0;

	return at + gap + utf8_columns(text) <= g->columns
		       ? grid_put(g, row, at + gap, g->columns, STYLE_DIM, text)
		       : at;
}

/* Over what time rates are, where it is another than that between two looks: in the first frame,
 * and in one that is late. */
static unsigned int put_span(const struct top *t, struct grid *g, unsigned int at)
{
	uint64_t span_ns = t->last.boot_ns - t->before.boot_ns;
	char text[64];

	if (!t->before.boot_ns || t->before.boot_ns > t->last.boot_ns) /* a recording of two boots
									*/
		return at;
	if (span_ns >= t->interval_ns / 4 * 3 && span_ns <= t->interval_ns / 4 * 5)
		return at;
	snprintf(text, sizeof(text), "over %s", humanize_duration(span_ns).text);
	return put_dim(g, 0, at, text);
}

static void draw_title(const struct top *t, struct grid *g)
{
	const char *node = t->job_count ? t->jobs[0].now->node : NULL;
	size_t shown = count_shown(t);
	unsigned int at = grid_put(g, 0, 0, g->columns, STYLE_BOLD,
				   g->columns < 60 ? "top" : "jobmeter top");

	if (t->starting)
		return;
	if (node && g->columns >= 60)
		at = grid_print(g, 0, at + 2, STYLE_PLAIN, "%s", node);
	if (shown == t->job_count)
		at = grid_print(g, 0, at + 2, STYLE_PLAIN, "%zu job%s", shown,
				shown == 1 ? "" : "s");
	else
		at = grid_print(g, 0, at + 2, STYLE_PLAIN, "%zu of %zu jobs", shown, t->job_count);
	at = grid_print(g, 0, at + 2, STYLE_PLAIN, "by %s %s", top_columns[t->column].title,
			order_sign(t));
	put_time(g, t, put_span(t, g, put_state(t, g, at)));
}

/* ---- the list ---- */

static void put_in_column(struct grid *g, unsigned int row, unsigned int at, unsigned int width,
			  bool is_left, enum style style, const char *text)
{
	unsigned int length = (unsigned int)MIN(utf8_columns(text), width);

	grid_put(g, row, is_left ? at : at + width - length, width, style, text);
}

static void draw_heads(const struct top *t, struct grid *g, unsigned int row)
{
	struct columns_layout layout;
	unsigned int at = 1;

	columns_fit(&t->wanted, g->columns - 1, &layout);
	grid_paint(g, row, 0, g->columns, STYLE_HEAD);
	for (size_t i = 0; i < layout.count; i++) {
		const size_t column = layout.items[i].column;

		put_in_column(g, row, at, layout.items[i].width, top_columns[column].is_left,
			      column == t->column ? STYLE_SELECTED : STYLE_HEAD,
			      top_columns[column].title);
		at += layout.items[i].width + 1;
	}
}

static void draw_cell(const struct top *t, const struct top_row *row, size_t column, struct grid *g,
		      unsigned int at_row, unsigned int at, unsigned int width)
{
	const struct column *c = &top_columns[column];
	char text[COLUMN_TEXT_MAX], branch[64] = "";
	unsigned int indent = 0;
	bool is_alarming = c->is_alarming && c->is_alarming(row);

	if (column == 0) {
		size_t used = 0;

		/* the lines that lead to a part of a job: "│├" */
		for (unsigned int depth = 1; depth <= row->depth && used < sizeof(branch);
		     depth++) {
			bool has_next = row->has_next & (UINT32_C(1) << depth);
			const char *sign = depth == row->depth ? (has_next ? "├" : "└")
					   : has_next	       ? "│"
							       : " ";

			used += (size_t)snprintf(branch + used, sizeof(branch) - used, "%s", sign);
		}
		indent = (unsigned int)MIN(utf8_columns(branch), width - 1);
		grid_put(g, at_row, at, width, STYLE_DIM, branch);
	}
	if (!column_format(t, column, row, width - indent, text, sizeof(text)))
		snprintf(text, sizeof(text), "%s", c->number || row->part == TOP_JOB ? "-" : "");
	put_in_column(g, at_row, at + indent, width - indent, c->is_left,
		      is_alarming ? STYLE_ALERT : STYLE_PLAIN, text);
}

static void draw_row(const struct top *t, const struct top_row *row, struct grid *g,
		     unsigned int at_row)
{
	struct columns_layout layout;
	unsigned int at = 1;

	columns_fit(&t->wanted, g->columns - 1, &layout);
	if (row->job->is_tagged && row->part == TOP_JOB)
		grid_put(g, at_row, 0, 1, STYLE_TAGGED, "*");
	else if (row->job->is_folded && t->is_tree && !*t->zoom[1])
		grid_put(g, at_row, 0, 1, STYLE_DIM, "+");
	for (size_t i = 0; i < layout.count; i++) {
		draw_cell(t, row, layout.items[i].column, g, at_row, at, layout.items[i].width);
		at += layout.items[i].width + 1;
	}
}

static void draw_selected(struct grid *g, unsigned int row)
{
	if (grid_at(g, row, 0)->character == ' ')
		grid_put(g, row, 0, 1, STYLE_SELECTED, ">");
	grid_paint(g, row, 0, g->columns, STYLE_SELECTED);
}

static void draw_list(struct top *t, struct grid *g, unsigned int begin, unsigned int end)
{
	unsigned int room = end > begin ? end - begin : 0;

	t->page = room;
	if (t->selected < t->first)
		t->first = t->selected;
	if (room && t->selected >= t->first + room)
		t->first = t->selected - room + 1;
	if (t->first + room > t->row_count)
		t->first = t->row_count > room ? t->row_count - room : 0;
	if (t->starting) {
		grid_put(g, begin, 1, g->columns, STYLE_DIM, t->starting);
		return;
	}
	for (unsigned int i = 0; i < room && t->first + i < t->row_count; i++) {
		draw_row(t, &t->rows[t->first + i], g, begin + i);
		if (t->first + i == t->selected)
			draw_selected(g, begin + i);
	}
	if (!t->row_count && room)
		grid_put(g, begin, 1, g->columns, STYLE_DIM,
			 !t->job_count ? "no job runs here that you may see"
			 : t->hides_idle
				 ? "no job that is shown does anything; i shows the idle ones"
				 : "no job is as the filter wants it");
}

/* ---- below it ---- */

static void draw_foot(const struct top *t, struct grid *g, unsigned int row)
{
	if (t->mode == TOP_SEARCH || t->mode == TOP_FILTER || t->mode == TOP_USER) {
		static const char *const words[] = {
			[TOP_SEARCH] = "search", [TOP_FILTER] = "filter", [TOP_USER] = "user"
		};
		unsigned int at = grid_print(g, row, 0, STYLE_BOLD, "%s: ", words[t->mode]);

		at = grid_put(g, row, at, g->columns, STYLE_PLAIN, t->typed);
		at = grid_put(g, row, at, 1, STYLE_SELECTED, "_");
		for (const char *user = NULL;
		     t->mode == TOP_USER && (user = top_next_user(t, t->typed, user));)
			at = put_dim(g, row, at, user);
	} else if (*t->message) {
		grid_put(g, row, 0, g->columns, STYLE_ALERT, t->message);
	} else {
		unsigned int at = 0;
		char text[160];

		if (!isnan(t->own_cores)) {
			snprintf(text, sizeof(text), "top %s of a core%s%s",
				 humanize_percent(t->own_cores).text, t->own_bytes ? ", " : "",
				 t->own_bytes ? humanize_bytes(t->own_bytes).text : "");
			at = put_dim(g, row, at, text);
		}
		if (t->last.took_ns) {
			snprintf(text, sizeof(text), "a reading %s%s%s",
				 humanize_duration(t->last.took_ns).text,
				 t->source ? ", by the " : "", t->source ? t->source : "");
			at = put_dim(g, row, at, text);
		}
		if (t->interval_ns) {
			snprintf(text, sizeof(text), "every %s",
				 humanize_duration(t->interval_ns).text);
			put_dim(g, row, at, text);
		}
	}
}

/* ---- help, and the menu of columns ---- */

static size_t count_bindings(void)
{
	const char *keys, *help;
	size_t count = 0;

	while (top_binding(count, &keys, &help))
		count++;
	return count;
}

/* It may be scrolled. */
static void draw_help(struct top *t, struct grid *g)
{
	size_t bindings = count_bindings(), lines = bindings + column_count, room = g->rows - 1;
	unsigned int at;
	char text[80];

	t->help_first = MIN(t->help_first, lines > room ? lines - room : 0);
	at = grid_put(g, 0, 0, g->columns, STYLE_BOLD,
		      g->columns < HELP_COLUMNS
			      ? "Keys and columns; q goes back"
			      : "Keys, then columns and the letters that sort; q goes back");
	if (lines > room) {
		snprintf(text, sizeof(text), "%zu-%zu of %zu, PgDn", t->help_first + 1,
			 t->help_first + room, lines);
		put_dim(g, 0, at, text);
	}
	for (size_t i = 0; i < room && t->help_first + i < lines; i++) {
		_cleanup_free_ char *line = NULL;
		const char *keys = "", *help = "";
		char key[2] = "";

		if (!top_binding(t->help_first + i, &keys, &help)) {
			const struct column *column = &top_columns[t->help_first + i - bindings];

			key[0] = column->key;
			keys = key;
			if (asprintf(&line, "%s: %s", column->title, column->help) < 0)
				line = NULL;
			help = line ? line : "";
		}
		grid_put(g, (unsigned int)i + 1, 1, KEYS_COLUMNS, STYLE_BOLD, keys);
		grid_put(g, (unsigned int)i + 1, 1 + KEYS_COLUMNS, g->columns, STYLE_PLAIN, help);
	}
	t->page = room;
}

/* ---- all of it ---- */

/* How many rows the details take, of @room. */
static unsigned int measure_detail(const struct top *t, const struct top_job *job,
				   const struct grid *g, unsigned int room)
{
	_cleanup_(grid_freep) struct grid *scratch = grid_new(g->columns, room, g->is_ascii);

	return scratch ? top_detail_draw(t, job, scratch, 0, room) : room;
}

/* Right below the list where that is short, else at the bottom.  Returns where the list ends. */
static unsigned int draw_detail(const struct top *t, struct grid *g, unsigned int begin,
				unsigned int foot)
{
	unsigned int least = begin + LIST_ROWS_MIN, end = foot, rows;
	const struct top_job *job = top_wants_detail(t);

	if (!job || foot <= least)
		return foot;
	rows = (unsigned int)MIN(t->row_count, (size_t)GRID_ROWS_MAX);
	end -= measure_detail(t, job, g, foot - least);
	end = MAX(MIN(end, begin + rows), least);
	top_detail_draw(t, job, g, end, foot);
	return end;
}

static void draw_main(struct top *t, struct grid *g)
{
	const struct places p = places_of(t, g->columns, g->rows);
	bool has_keys = g->rows >= KEYS_ROWS_MIN;
	unsigned int foot = g->rows - (has_keys ? 2 : 1);
	unsigned int end = draw_detail(t, g, p.list, foot);

	draw_title(t, g);
	top_node_draw(t, g, 1, p.node_rows);
	draw_heads(t, g, p.heads);
	draw_list(t, g, p.list, end);
	draw_foot(t, g, foot);
	if (has_keys) {
		static const char *const keys[][2] = {
			{ "F1", "Help" },  { "F3", "Search" }, { "F4", "Filter" },
			{ "F5", "Tree" },  { "F6", "SortBy" }, { "Enter", "Zoom" },
			{ "d", "Detail" }, { "Z", "Pause" },   { "F10", "Quit" },
		};
		unsigned int at = 0;

		for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
			if (at + strlen(keys[i][0]) + strlen(keys[i][1]) > g->columns)
				break;
			at = grid_put(g, g->rows - 1, at, g->columns, STYLE_BOLD, keys[i][0]);
			at = grid_put(g, g->rows - 1, at, g->columns, STYLE_HEAD, keys[i][1]) + 1;
		}
	}
}

void top_draw(struct top *t, struct grid *g)
{
	if (g->columns < TOP_COLUMNS_MIN || g->rows < TOP_ROWS_MIN)
		grid_put(g, 0, 0, g->columns, STYLE_PLAIN, "too small");
	else if (t->mode == TOP_HELP)
		draw_help(t, g);
	else if (t->mode == TOP_SORT) {
		grid_put(g, 0, 0, g->columns, STYLE_BOLD, "sort by (Enter takes it, Esc does not)");
		for (size_t i = 0; i < column_count && i + 1 < g->rows; i++) {
			unsigned int row = (unsigned int)i + 1;

			grid_print(g, row, 1, STYLE_PLAIN, "%-17s  %s", top_columns[i].title,
				   top_columns[i].help);
			if (i == t->chosen)
				draw_selected(g, row);
		}
	} else {
		draw_main(t, g);
	}
}

static unsigned int text_begin(const struct top *t, unsigned int columns)
{
	return t->has_no_legend ? 0 : places_of(t, columns, 0).list;
}

unsigned int top_text_rows(const struct top *t, unsigned int columns)
{
	const unsigned int begin = text_begin(t, columns);

	return begin +
	       (unsigned int)MIN(MAX(t->row_count, (size_t)1), (size_t)GRID_ROWS_MAX - begin);
}

unsigned int top_text_columns(const struct top *t, unsigned int columns)
{
	return MAX(columns, columns_width(&t->wanted) + 1);
}

void top_draw_text(struct top *t, struct grid *g)
{
	const struct places p = places_of(t, g->columns, 0);
	const unsigned int begin = text_begin(t, g->columns);

	if (!t->has_no_legend) {
		draw_title(t, g);
		top_node_draw(t, g, 1, p.node_rows);
		draw_heads(t, g, p.heads);
	}
	for (unsigned int i = 0; i < t->row_count && begin + i < g->rows; i++)
		draw_row(t, &t->rows[i], g, begin + i);
}

bool top_find_row(const struct top *t, const struct grid *g, unsigned int row, size_t *ret)
{
	const unsigned int begin = places_of(t, g->columns, g->rows).list;

	if (row < begin || row >= g->rows || row - begin >= t->page ||
	    t->first + row - begin >= t->row_count)
		return false;
	*ret = t->first + row - begin;
	return true;
}

bool top_find_column(const struct top *t, const struct grid *g, unsigned int row,
		     unsigned int column, size_t *ret)
{
	struct columns_layout layout;
	unsigned int at = 1;

	if (g->columns < TOP_COLUMNS_MIN || row != places_of(t, g->columns, g->rows).heads)
		return false;
	columns_fit(&t->wanted, g->columns - 1, &layout);
	for (size_t i = 0; i < layout.count; i++) {
		const unsigned int width = layout.items[i].width;

		if (column >= at && column < at + width) {
			*ret = layout.items[i].column;
			return true;
		}
		at += width + 1;
	}
	return false;
}
