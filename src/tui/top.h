/* SPDX-License-Identifier: MIT */
/*
 * top - the view model: the jobs of the last tick with their current numbers, the shown ones and
 * their order, and the effect of keys. It is independent of the terminal: see top_draw.h and
 * screen.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/columns.h"
#include "tui/numbers.h"
#include "codec/wire_snapshot.h"

struct process;
struct processes;
struct rules;
struct step;

#define TOP_TEXT_MAX 64
#define TOP_TARGETS_MAX 64

/* The levels of the tree; each is part of the one before. */
enum top_part { TOP_JOB, TOP_STEP, TOP_TASK, TOP_PROCESS };

struct top_job {
	const struct record *now, *before; /* before: NULL, where there was none */
	struct numbers numbers;
	const char *class; /* a rule's id; "": none holds; NULL: not evaluated yet */
	bool is_tagged, is_folded; /* folded: a tree shows no parts of it */
};

struct top_row {
	enum top_part part;
	struct top_job *job; /* it, or that it is part of */
	const struct step *step; /* NULL: in none, or not known; so are the others */
	const char *task;
	const struct process *process;
	struct numbers numbers;
	unsigned int depth;
	uint32_t has_next; /* bit D: its ancestor at depth D, or the row itself, has a next sibling
			    */
};

struct top_mark { /* identifies a row over updates */
	enum top_part part;
	char manager[256], id[256], step[256], task[256]; /* the kernel has no longer names of
							     groups */
	int pid;
};

enum top_mode {
	TOP_LIST,
	TOP_HELP,
	TOP_SORT, /* a column is chosen */
	TOP_SEARCH, /* texts are typed */
	TOP_FILTER,
	TOP_USER,
};

/* Characters are their own codes. */
enum top_key {
	TOP_KEY_NONE,
	TOP_KEY_BACKSPACE = 8,
	TOP_KEY_TAB = 9,
	TOP_KEY_ENTER = 10,
	TOP_KEY_ESCAPE = 27,
	TOP_KEY_UP = 0x110000,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_F, /* behind it the twelve function keys */
	TOP_KEY_COUNT = TOP_KEY_F + 13,
};

struct top_target {
	const char *manager, *id; /* manager NULL: any */
};

struct top { /* begins as top_new() makes it */
	/* What was measured */
	struct tick last, before;
	struct top_job *jobs; /* of last */
	size_t job_count;
	const struct processes *processes, *processes_before; /* the caller's; NULL: not read
							       */
	struct record *detail; /* all data of the job of top_wants_detail(); owned */
	const struct rules *rules; /* NULL: no classes and insights */

	/* What is shown of it */
	struct top_row *rows;
	size_t row_count, row_room;
	size_t column; /* by which rows are sorted: see columns.h */
	struct columns_wanted wanted; /* that are shown; {}: as there is room */
	bool has_no_legend; /* of text: no title, no lines of the node, no heads */
	bool is_inverted, is_tree, is_tagged_only, is_following, is_paused, has_detail;
	bool hides_idle; /* jobs that do nothing: see numbers_are_idle() */
	char filter[TOP_TEXT_MAX], user[TOP_TEXT_MAX], search[TOP_TEXT_MAX];
	char zoom[2][256]; /* manager and id of the job of which the parts are shown; "": none */
	struct top_target targets[TOP_TARGETS_MAX]; /* only these; the caller's texts */
	size_t target_count;

	/* Where the reader is */
	size_t selected, first; /* rows; first: the uppermost on the screen */
	struct top_mark mark; /* of the selected one */
	bool finds_mark; /* find the marked row at the next arrangement */
	size_t page; /* how many rows were on the screen */
	size_t chosen; /* a column, in TOP_SORT */
	size_t help_first; /* the uppermost line of help */
	enum top_mode mode;
	char typed[TOP_TEXT_MAX];
	char digits[24]; /* of an id, as typed so far */
	bool is_over; /* the user wants to leave */
	bool wants_reading; /* at once: the view needs more data */
	int step; /* of a recording: ticks to move on, or back */
	char message[128]; /* to be shown once; "": none */

	/* For the footer and the head */
	uint64_t interval_ns;
	double own_cores; /* NAN: not known */
	uint64_t own_bytes; /* resident; 0: not known */
	const char *source; /* "agent", "alone"... */
	const char *starting; /* why there are no data yet; NULL: there are */
	const char *position; /* of a recording: "7 of 42"; NULL: it is now */
};

struct top *top_new(const struct rules *rules); /* NULL: no memory */
struct top *top_free(struct top *t); /* NULL is fine; returns NULL */

/* Take over a new snapshot, to be compared with the last one. -ENOMEM. */
int top_feed(struct top *t, struct tick *tick);
/* The same without an earlier snapshot: after a jump in a recording.  @before may be
 * NULL. */
int top_set(struct top *t, struct tick *before, struct tick *tick);

/* Rebuild the rows: after a feed or a key. -ENOMEM. */
int top_arrange(struct top *t);

void top_press(struct top *t, uint32_t key);
/* A click on a row (from 0 on), or on the head of a column. */
void top_click_row(struct top *t, size_t row);
void top_click_column(struct top *t, size_t column);

/* Whose record and whether processes should be read before the next feed. */
const struct top_job *top_wants_detail(const struct top *t); /* NULL: none */
bool top_wants_processes(const struct top *t);
/* Takes @record over; NULL: there is none. */
void top_set_detail(struct top *t, struct record *record);

/* NULL: there is no row. */
const struct top_row *top_selected(const struct top *t);
void top_select(struct top *t, size_t row); /* or the last one */
/* The class of a job: "" where none holds or there are no rules. */
const char *top_class(const struct top *t, struct top_job *job);
/* Is it one to be shown at all: of the targets, the user and the filter? */
bool top_shows(const struct top *t, const struct top_job *job);
/* Is it hidden because it is idle? */
bool top_hides(const struct top *t, const struct top_job *job);
/* Whose jobs there are: the user whose name begins with @start and comes behind @before (NULL: the
 * first); NULL: none. */
const char *top_next_user(const struct top *t, const char *start, const char *before);
/* Does the text occur in its identifying columns? */
bool top_matches(const struct top *t, const struct top_row *row, const char *text);
/* Does its own number, of a job or a process, begin with the digits? */
bool top_has_number(const struct top_row *row, const char *digits);

/* The keys and what they do, for help; false: there is no such one. */
bool top_binding(size_t i, const char **ret_keys, const char **ret_help);
