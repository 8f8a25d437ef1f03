/* SPDX-License-Identifier: MIT */
/* rows_items - what rows are made of: for those who print them, and for parts that only reports
 * have. */
#pragma once

#include "report/shade.h"
#include "model/histogram.h"
#include "report/plot.h"
#include "model/rows.h"

struct analysis;
struct insight;
struct insights;
struct patterns;

enum rows_item_kind {
	ITEM_PART,
	ITEM_LINE,
	ITEM_GAP,
	ITEM_TABLE,
	ITEM_HEAD,
	ITEM_FINDINGS,
	ITEM_SHARES,
	ITEM_TIMELINE,
	ITEM_HISTOGRAM,
};

struct rows_entry { /* a part of something, for some forms */
	unsigned int forms;
	const char *text;
};

struct rows_entries {
	struct rows_entry *items;
	size_t count, room;
};

struct rows_table {
	struct rows *rows;
	struct rows_column *columns;
	size_t column_count;
	struct rows_cell *cells; /* row by row */
	size_t cell_count, cell_room;
	unsigned int *row_forms;
	size_t row_count, row_room;
	struct rows_entries remarks;
	bool lacks_dashes; /* of text: a column in which nothing is known is left out */
};

struct rows_line {
	const char *text, *path; /* NULL: none; without text there is no line */
	bool is_alert, has_share, is_share_known;
	double share;
};

struct rows_head {
	const char *name, *outcome, *elapsed;
	const char *place, *merged, *command, *score; /* NULL, or so */
	bool is_failure;
	struct rows_entries classes; /* "io-bound 40 %" */
	struct rows_entries facts; /* "user", "alice": two by two */
};

struct rows_findings {
	const struct analysis *analysis; /* the caller's */
	const char *verdict; /* where there are none */
	bool is_whole; /* with what it is known by, else the first ones in short */
};

#define FINDINGS_FIRST 2 /* of the analysis, on the first screen */

/* What is said where there are none. */
const char *findings_verdict(const struct analysis *a);

/* What to do in one line: what to ask the resource manager for, else the advice; NULL: neither. */
const char *finding_action(const struct insight *insight);

/* Parts of a whole: first what is wanted, then what is lost, then the rest. */
struct rows_shares {
	const char *whole; /* "4 cores x 2 m 14 s = 8 m 56 s" */
	struct rows_share_part {
		const struct shade *shade;
		double share; /* of the whole; the first may be more */
		const char *text; /* "3 m 24 s" */
	} items[32];
	size_t count;
};

#define PLOTS_MAX 8

struct rows_timeline {
	struct over_time time;
	uint64_t start_ns, interval_ns, elapsed_ns;
	struct plot plots[PLOTS_MAX]; /* their values are owned; one without layers is not known */
	size_t count;
	const struct patterns *patterns; /* the caller's; NULL: not looked for */
	const char *data; /* of a first screen: the curve of what took more time, "read" or
			     "write"; NULL: that of more bytes */
};

struct rows_histogram {
	const char *heading; /* of it and those that follow; NULL: that of the one before */
	const char *title;
	enum histogram_kind kind;
	const struct histogram *histogram; /* the record's */
	const struct shade *shade;
};

struct rows_item {
	enum rows_item_kind kind;
	unsigned int forms;
	const char *label; /* the title of a part, too; NULL: none */
	union {
		struct rows_line line;
		struct rows_table table;
		struct rows_head head;
		struct rows_findings findings;
		struct rows_shares shares;
		struct rows_timeline timeline;
		struct rows_histogram histogram;
	};
};

struct rows {
	struct rows_item **items; /* each stays where it is */
	size_t count, room;
	char **texts;
	size_t text_count, text_room;
	bool is_bound;
};

/* An item of zeros at the end.  NULL: no memory. */
struct rows_item *rows_add(struct rows *rows, enum rows_item_kind kind, unsigned int forms,
			   const char *label);
void rows_entries_add(struct rows_entries *entries, unsigned int forms, const char *text);

/* "≥1.2 GiB", "-", "3.1 ms". */
const char *rows_cell_text(const struct rows_cell *cell, struct human *buffer);

/* Does the form have it, and is there anything in it? */
bool rows_item_is_in(const struct rows_item *item, unsigned int form);
bool rows_column_is_in(const struct rows_table *table, size_t column, unsigned int form);
