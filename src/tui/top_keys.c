/* SPDX-License-Identifier: MIT */
/* What keys and clicks do to top. */
#include <stdio.h>
#include <string.h>

#include "tui/columns.h"
#include "basic/macro.h"
#include "model/record.h"
#include "tui/top.h"
#include "basic/utf8.h"

#define F(number) (TOP_KEY_F + (number))

/* ---- what is shown ---- */

static void zoom_in(struct top *t)
{
	const struct top_row *row = top_selected(t);

	if (!row || *t->zoom[1])
		return;
	snprintf(t->zoom[0], sizeof(t->zoom[0]), "%s", row->job->now->job.manager);
	snprintf(t->zoom[1], sizeof(t->zoom[1]), "%s", row->job->now->job.id);
	t->has_detail = t->wants_reading = true;
	t->first = 0;
}

/* From a part of a job to the job. */
static void mark_job(struct top *t)
{
	t->mark.part = TOP_JOB;
	*t->mark.step = *t->mark.task = '\0';
	t->mark.pid = 0;
	t->finds_mark = true;
}

/* The innermost of what was asked for goes first. */
static void go_back(struct top *t)
{
	if (*t->zoom[1]) {
		*t->zoom[0] = *t->zoom[1] = '\0';
		t->has_detail = false;
		mark_job(t);
	} else if (t->has_detail) {
		t->has_detail = false;
	} else if (*t->filter) {
		*t->filter = '\0';
	} else {
		*t->user = '\0';
	}
}

static void tag(struct top *t)
{
	const struct top_row *row = top_selected(t);

	if (row)
		row->job->is_tagged = !row->job->is_tagged;
	top_select(t, t->selected + 1);
}

static void fold(struct top *t)
{
	const struct top_row *row = top_selected(t);

	if (!row || !t->is_tree)
		return;
	row->job->is_folded = true;
	mark_job(t);
}

static void unfold(struct top *t)
{
	const struct top_row *row = top_selected(t);

	if (row)
		row->job->is_folded = false;
}

static void untag_all(struct top *t)
{
	for (size_t i = 0; i < t->job_count; i++)
		t->jobs[i].is_tagged = false;
	t->is_tagged_only = false;
}

static void quit(struct top *t)
{
	t->is_over = true;
}

/* ---- texts that are typed ---- */

/* From row @from on, and around. */
static void find_from(struct top *t, size_t from)
{
	for (size_t i = 0; i < t->row_count && *t->search; i++) {
		size_t row = (from + i) % t->row_count;

		if (top_matches(t, &t->rows[row], t->search)) {
			top_select(t, row);
			return;
		}
	}
	if (*t->search)
		snprintf(t->message, sizeof(t->message), "nothing has '%s' in it", t->search);
}

static void find_next(struct top *t)
{
	find_from(t, t->selected + 1);
}

/* What was typed so far holds at once. */
static void apply_typed(struct top *t)
{
	if (t->mode == TOP_SEARCH) {
		snprintf(t->search, sizeof(t->search), "%s", t->typed);
		find_from(t, t->selected);
	} else if (t->mode == TOP_FILTER) {
		snprintf(t->filter, sizeof(t->filter), "%s", t->typed);
	}
}

static void press_typing(struct top *t, uint32_t key)
{
	char bytes[UTF8_MAX];
	size_t length = strlen(t->typed), more;

	if (key == TOP_KEY_ENTER) {
		if (t->mode == TOP_USER) {
			const char *first = *t->typed ? top_next_user(t, t->typed, NULL) : NULL;
			bool is_one = first && !top_next_user(t, t->typed, first);

			snprintf(t->user, sizeof(t->user), "%s", is_one ? first : t->typed);
		}
		t->mode = TOP_LIST;
	} else if (key == TOP_KEY_ESCAPE) {
		if (t->mode == TOP_FILTER)
			*t->filter = '\0';
		t->mode = TOP_LIST;
	} else if (key == F(3) && t->mode == TOP_SEARCH) {
		find_next(t);
	} else if (key == TOP_KEY_BACKSPACE) {
		while (length && (t->typed[length - 1] & 0xc0) == 0x80)
			length--;
		t->typed[length ? length - 1 : 0] = '\0';
		apply_typed(t);
	} else if (key < TOP_KEY_UP && utf8_is_printable(key)) {
		more = utf8_encode(key, bytes);
		if (length + more >= sizeof(t->typed))
			return;
		memcpy(t->typed + length, bytes, more);
		t->typed[length + more] = '\0';
		apply_typed(t);
	}
}

/* ---- the menu of columns ---- */

static void sort_by(struct top *t, size_t column)
{
	t->column = column;
	t->is_inverted = false;
	t->mode = TOP_LIST;
}

/* ---- all keys ---- */

static void refuse(struct top *t)
{
	snprintf(t->message, sizeof(t->message), "top only shows: it cannot renice or kill");
}

#define AT(member) offsetof(struct top, member)

enum { ROW = 1, PAGE, ALL };

static void move(struct top *t, int by)
{
	const size_t rows[] = { [ROW] = 1, [PAGE] = MAX(t->page, 1u), [ALL] = t->row_count };

	top_select(t, by > 0 ? t->selected + rows[by] : t->selected - MIN(t->selected, rows[-by]));
}

/* What a key does: a function, a switch that it turns, a move, a step, or a mode that it begins. */
static const struct binding {
	uint32_t keys[4];
	const char *shown, *help;
	void (*run)(struct top *t);
	size_t turns; /* a bool of struct top */
	enum { READS_NEVER, READS_ON, READS_OFF } reads; /* at once, when the switch is so */
	int moves; /* the selection, by a ROW, PAGE or ALL, down or (below 0) up */
	int steps; /* in a recording */
	enum top_mode begins;
	size_t text; /* what is there to begin with, in struct top; 0: nothing */
} bindings[] = {
	/* clang-format off */
	{ { F(1), 'h', '?' }, "F1 h ?", "this help", .begins = TOP_HELP },
	{ { F(3), '/' }, "F3 /", "search: select what has a text in it", .begins = TOP_SEARCH },
	{ { 'n' }, "n", "search on", find_next },
	{ { 0 }, "0-9", "go to the id that begins with these digits", NULL }, /* see press_digit() */
	{ { F(4), '\\' }, "F4 \\", "filter: show only what has a text in it", .begins = TOP_FILTER, .text = AT(filter) },
	{ { F(5), 't' }, "F5 t", "tree: job, step, task, process", .turns = AT(is_tree), .reads = READS_ON },
	{ { '-' }, "-", "fold: of a job in the tree no parts", fold },
	{ { '+' }, "+", "unfold it", unfold },
	{ { F(6), '>', '<' }, "F6 < >", "choose the column to sort by", .begins = TOP_SORT },
	{ { 'I' }, "I", "turn the order around", .turns = AT(is_inverted) },
	{ { 'u' }, "u", "jobs of one user (nothing: of all)", .begins = TOP_USER, .text = AT(user) },
	{ { TOP_KEY_ENTER }, "Enter", "zoom into the job: its processes and what is known of it", zoom_in },
	{ { TOP_KEY_BACKSPACE, TOP_KEY_ESCAPE }, "Esc Bksp", "back", go_back },
	{ { 'd' }, "d", "details of the selected job, below the list", .turns = AT(has_detail), .reads = READS_ON },
	{ { ' ' }, "Space", "tag the job, or no longer", tag },
	{ { 'U' }, "U", "tag none", untag_all },
	{ { 'o' }, "o", "only tagged jobs, or all", .turns = AT(is_tagged_only) },
	{ { 'i' }, "i", "hide jobs that do nothing now, or show all", .turns = AT(hides_idle) },
	{ { 'F' }, "F", "follow: the selection stays with its job", .turns = AT(is_following) },
	{ { 'Z', 'p' }, "Z p", "pause, and go on", .turns = AT(is_paused), .reads = READS_OFF },
	{ { TOP_KEY_LEFT, '[' }, "Left [", "of a recording: a tick back", .steps = -1 },
	{ { TOP_KEY_RIGHT, ']' }, "Right ]", "of a recording: a tick on", .steps = 1 },
	{ { TOP_KEY_UP, 'k' }, "Up Down", "move; also PgUp, PgDn, Home, End, k, j, g, G, the wheel, a click", .moves = -ROW },
	{ { TOP_KEY_DOWN, 'j' }, NULL, NULL, .moves = ROW }, /* the row above documents these */
	{ { TOP_KEY_PAGE_UP }, NULL, NULL, .moves = -PAGE },
	{ { TOP_KEY_PAGE_DOWN }, NULL, NULL, .moves = PAGE },
	{ { TOP_KEY_HOME, 'g' }, NULL, NULL, .moves = -ALL },
	{ { TOP_KEY_END, 'G' }, NULL, NULL, .moves = ALL },
	{ { F(10), 'q' }, "F10 q", "leave", quit },
	{ { F(2), F(7), F(8), F(9) }, NULL, NULL, refuse }, /* which htop has, and we never will */
	/* clang-format on */
};

bool top_binding(size_t i, const char **ret_keys, const char **ret_help)
{
	for (size_t at = 0; at < ARRAY_SIZE(bindings); at++) {
		if (!bindings[at].shown || i-- > 0)
			continue;
		*ret_keys = bindings[at].shown;
		*ret_help = bindings[at].help;
		return true;
	}
	return false;
}

static const struct binding *find_binding(uint32_t key)
{
	for (size_t i = 0; i < ARRAY_SIZE(bindings); i++) {
		for (size_t k = 0; key && k < ARRAY_SIZE(bindings[i].keys); k++) {
			if (bindings[i].keys[k] == key)
				return &bindings[i];
		}
	}
	return NULL;
}

static void begin(struct top *t, const struct binding *b)
{
	t->mode = b->begins;
	t->help_first = 0;
	t->chosen = t->column;
	snprintf(t->typed, sizeof(t->typed), "%s", b->text ? (const char *)t + b->text : "");
}

/* To the first job or process with a number that begins with the typed digits. */
static void press_digit(struct top *t, uint32_t key)
{
	size_t length = strlen(t->digits);

	if (length + 1 < sizeof(t->digits)) {
		t->digits[length] = (char)key;
		t->digits[length + 1] = '\0';
	}
	for (size_t i = 0; i < t->row_count; i++) {
		if (top_has_number(&t->rows[i], t->digits)) {
			top_select(t, i);
			return;
		}
	}
	snprintf(t->message, sizeof(t->message), "no id begins with %s", t->digits);
}

static void press_list(struct top *t, uint32_t key)
{
	const struct binding *b = find_binding(key);

	if (key >= '0' && key <= '9') {
		press_digit(t, key);
		return;
	}
	*t->digits = '\0';
	if (!b && key < 0x80 && column_find((char)key) < column_count)
		sort_by(t, column_find((char)key));
	if (!b)
		return;
	if (b->run) {
		b->run(t);
	} else if (b->turns) {
		bool *is_on = (bool *)((char *)t + b->turns);

		*is_on = !*is_on;
		if (b->reads)
			t->wants_reading = *is_on == (b->reads == READS_ON);
	} else if (b->moves) {
		move(t, b->moves);
	} else if (b->begins) {
		begin(t, b);
	}
	t->step += b->steps;
}

static void press_help(struct top *t, uint32_t key)
{
	size_t page = MAX(t->page, 1u);

	if (key == TOP_KEY_DOWN || key == 'j')
		t->help_first++;
	else if (key == TOP_KEY_UP || key == 'k')
		t->help_first -= t->help_first > 0;
	else if (key == TOP_KEY_PAGE_DOWN || key == ' ')
		t->help_first += page;
	else if (key == TOP_KEY_PAGE_UP)
		t->help_first -= MIN(t->help_first, page);
	else
		t->mode = TOP_LIST;
	t->is_over = key == F(10);
}

void top_press(struct top *t, uint32_t key)
{
	*t->message = '\0';
	if (key == TOP_KEY_NONE)
		return;
	switch (t->mode) {
	case TOP_LIST:
		press_list(t, key);
		break;
	case TOP_HELP:
		press_help(t, key);
		break;
	case TOP_SORT:
		if (key == TOP_KEY_UP || key == 'k')
			t->chosen = t->chosen ? t->chosen - 1 : 0;
		else if (key == TOP_KEY_DOWN || key == 'j')
			t->chosen = MIN(t->chosen + 1, column_count - 1);
		else if (key == TOP_KEY_ENTER)
			sort_by(t, t->chosen);
		else
			t->mode = TOP_LIST;
		break;
	case TOP_SEARCH:
	case TOP_FILTER:
	case TOP_USER:
		press_typing(t, key);
		break;
	}
}

void top_click_row(struct top *t, size_t row)
{
	if (t->mode == TOP_LIST && row < t->row_count)
		top_select(t, row);
}

/* Once more turns it around. */
void top_click_column(struct top *t, size_t column)
{
	if (t->mode != TOP_LIST)
		return;
	if (t->column == column)
		t->is_inverted = !t->is_inverted;
	else
		sort_by(t, column);
}

/* ---- what that needs ---- */

const struct top_job *top_wants_detail(const struct top *t)
{
	const struct top_row *row = top_selected(t);

	return t->has_detail && row ? row->job : NULL;
}

bool top_wants_processes(const struct top *t)
{
	return t->is_tree || *t->zoom[1];
}

void top_set_detail(struct top *t, struct record *record)
{
	record_free(t->detail);
	t->detail = record;
}
