/* SPDX-License-Identifier: MIT */
#include "tui/columns.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/cause.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "report/shade.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "tui/processes.h"
#include "model/record.h"
#include "model/sections/steps.h"
#include "tui/top.h"
#include "basic/utf8.h"

#define MEMORY_ALARM 0.9 /* of the limit */

/* ---- texts ---- */

static bool put(char *ret, size_t size, const char *text)
{
	snprintf(ret, size, "%s", text ? text : "");
	return text && *text;
}

/* What is too long loses its middle. */
static bool put_shortened(char *ret, size_t size, const char *text, unsigned int width)
{
	_cleanup_free_ char *shortened = text && *text ? utf8_shorten(text, width) : NULL;

	return put(ret, size, shortened);
}

static bool put_bytes(char *ret, size_t size, double bytes)
{
	return !isnan(bytes) && put(ret, size, humanize_bytes_short((uint64_t)(bytes + 0.5)).text);
}

static bool put_count(char *ret, size_t size, double count)
{
	return !isnan(count) && put(ret, size, humanize_count_short((uint64_t)(count + 0.5)).text);
}

/* Cores or threads, on average, to a tenth. */
static bool put_threads(char *ret, size_t size, double threads)
{
	if (isnan(threads))
		return false;
	snprintf(ret, size, threads < 99.95 ? "%.1f" : "%.0f", threads);
	return true;
}

/* Of a unit of systemd that is too long, its kind goes first. */
static void cut_suffix(char *text, unsigned int width)
{
	static const char *const suffixes[] = { ".service", ".scope" };
	size_t length = strlen(text);

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t size = strlen(suffixes[i]);

		if (utf8_columns(text) > width && length > size &&
		    strcmp(text + length - size, suffixes[i]) == 0)
			text[length - size] = '\0';
	}
}

static bool format_id(const struct top *t UNUSED, const struct top_row *row, unsigned int width,
		      char *ret, size_t size)
{
	char text[1024];

	switch (row->part) {
	case TOP_JOB:
		snprintf(text, sizeof(text), "%s", row->job->now->job.id);
		cut_suffix(text, width);
		break;
	case TOP_STEP:
		snprintf(text, sizeof(text), ".%s", row->step ? row->step->id : "-");
		break;
	case TOP_TASK:
		snprintf(text, sizeof(text), "task %s", row->task);
		break;
	case TOP_PROCESS:
		snprintf(text, sizeof(text), "%d", row->process->pid);
		break;
	}
	return put_shortened(ret, size, text, width);
}

static bool format_manager(const struct top *t UNUSED, const struct top_row *row,
			   unsigned int width, char *ret, size_t size)
{
	return row->part == TOP_JOB && put_shortened(ret, size, row->job->now->job.manager, width);
}

static bool format_user(const struct top *t UNUSED, const struct top_row *row, unsigned int width,
			char *ret, size_t size)
{
	const struct record *r = row->job->now;
	char number[24];

	if (row->part != TOP_JOB || (!r->job.user && r->job.uid < 0))
		return false;
	snprintf(number, sizeof(number), "%lld", (long long)r->job.uid);
	return put_shortened(ret, size, r->job.user ? r->job.user : number, width);
}

/* "(python3)": the command of a job without a name. */
static bool format_name(const struct top *t UNUSED, const struct top_row *row, unsigned int width,
			char *ret, size_t size)
{
	const struct record *r = row->job->now;
	char text[256];

	if (row->part == TOP_PROCESS)
		return put_shortened(ret, size, row->process->name, width);
	if (row->part != TOP_JOB)
		return false;
	if (r->job.name || !r->job.command || !r->job.command[0])
		return put_shortened(ret, size, r->job.name, width);
	snprintf(text, sizeof(text), "(%s)", r->job.command[0]);
	return put_shortened(ret, size, text, width);
}

static bool format_class(const struct top *t, const struct top_row *row, unsigned int width,
			 char *ret, size_t size)
{
	return row->part == TOP_JOB && put_shortened(ret, size, top_class(t, row->job), width);
}

/* What a job does most, as processes' states are called. */
static char state_of_job(const struct top_row *row)
{
	const struct numbers *n = &row->numbers;

	if (row->job->now->is_final)
		return 'x'; /* it ended since the last look */
	if (isnan(n->cores))
		return '-';
	if (numbers_are_idle(n))
		return 'S';
	return n->blocked > n->cores + (isnan(n->waiting) ? 0 : n->waiting) ? 'D' : 'R';
}

static bool format_state(const struct top *t UNUSED, const struct top_row *row,
			 unsigned int width UNUSED, char *ret, size_t size)
{
	if (row->part == TOP_PROCESS)
		snprintf(ret, size, "%c", row->process->state);
	else if (row->part == TOP_JOB)
		snprintf(ret, size, "%c", state_of_job(row));
	else
		*ret = '\0';
	return true;
}

/* "1.9/4": used of allowed.  Where there is no room, the tenths go, then what is allowed. */
static bool format_cores(const struct top *t UNUSED, const struct top_row *row, unsigned int width,
			 char *ret, size_t size)
{
	const double cores = row->numbers.cores;
	char used[32] = "-", allowed[40];

	if (row->part != TOP_JOB || isnan(row->numbers.cores_allowed))
		return put_threads(ret, size, cores);
	put_threads(used, sizeof(used), cores);
	snprintf(allowed, sizeof(allowed), "/%s",
		 humanize_cores((uint64_t)(row->numbers.cores_allowed * 1000 + 0.5)).text);
	if (strlen(used) + strlen(allowed) > width && !isnan(cores))
		snprintf(used, sizeof(used), "%.0f", cores);
	snprintf(ret, size, "%s%s", used, strlen(used) + strlen(allowed) > width ? "" : allowed);
	return true;
}

/* "1.2 read": how many, and on what most. */
static bool format_blocked(const struct top *t UNUSED, const struct top_row *row,
			   unsigned int width UNUSED, char *ret, size_t size)
{
	const struct numbers *n = &row->numbers;
	char count[32];

	if (!put_threads(count, sizeof(count), n->blocked))
		return false;
	if (n->cause < CAUSE_COUNT && n->blocked >= 0.05)
		snprintf(ret, size, "%s %s", count, shade_of_cause(n->cause)->word);
	else
		snprintf(ret, size, "%s", count);
	return true;
}

static bool is_short_of_memory(const struct top_row *row)
{
	return row->part == TOP_JOB &&
	       row->numbers.memory >= MEMORY_ALARM * row->numbers.memory_limit;
}

/* "3.1G/16G", and "!" where it is nearly all, which goes before the limit where there is no room
 * for both. */
static bool format_memory(const struct top *t UNUSED, const struct top_row *row, unsigned int width,
			  char *ret, size_t size)
{
	const char *alarm = is_short_of_memory(row) ? "!" : "";
	char used[32] = "-", limit[32];

	put_bytes(used, sizeof(used), row->numbers.memory);
	if (row->part != TOP_JOB || !put_bytes(limit, sizeof(limit), row->numbers.memory_limit))
		return !isnan(row->numbers.memory) && put(ret, size, used);
	if (strlen(used) + 1 + strlen(limit) + strlen(alarm) <= width)
		snprintf(ret, size, "%s/%s%s", used, limit, alarm);
	else
		snprintf(ret, size, "%s%s", used, alarm);
	return true;
}

/* "/scratch 1.2k  / 31": as many as there is room for, the busiest first. */
static bool format_places(const struct top *t UNUSED, const struct top_row *row, unsigned int width,
			  char *ret, size_t size)
{
	size_t used = 0;

	*ret = '\0';
	for (size_t i = 0; i < row->numbers.mount_count; i++) {
		const struct mount_numbers *mount = &row->numbers.mounts[i];
		char count[32], next[256];
		_cleanup_free_ char *name = utf8_shorten(mount->mount, width > 8 ? width - 6 : 1);

		if (!name || !(mount->meta > 0) || !put_count(count, sizeof(count), mount->meta))
			continue;
		snprintf(next, sizeof(next), "%s%s %s", used ? "  " : "", name, count);
		if (utf8_columns(ret) + utf8_columns(next) > width)
			break;
		used += (size_t)snprintf(ret + used, size - used, "%s", next);
	}
	return used > 0;
}

static bool format_time(const struct top *t UNUSED, const struct top_row *row,
			unsigned int width UNUSED, char *ret, size_t size)
{
	uint64_t s = isnan(row->numbers.elapsed) ? 0 : (uint64_t)row->numbers.elapsed;

	if (isnan(row->numbers.elapsed))
		return false;
	if (s < 3600)
		snprintf(ret, size, "%u:%02u", (unsigned int)(s / 60), (unsigned int)(s % 60));
	else if (s < (uint64_t)100 * 3600)
		snprintf(ret, size, "%uh%02um", (unsigned int)(s / 3600),
			 (unsigned int)(s / 60 % 60));
	else
		snprintf(ret, size, "%llud%02uh", (unsigned long long)(s / 86400),
			 (unsigned int)(s / 3600 % 24));
	return true;
}

/* "~163": estimated. */
static bool format_power(const struct top *t UNUSED, const struct top_row *row,
			 unsigned int width UNUSED, char *ret, size_t size)
{
	const struct numbers *n = &row->numbers;

	snprintf(ret, size, n->power < 9.95 ? "%s%.1f" : "%s%.0f", n->is_power_estimated ? "~" : "",
		 n->power);
	return !isnan(n->power);
}

/* "1.2/2": kept busy, of those held. */
static bool format_gpus(const struct top *t UNUSED, const struct top_row *row,
			unsigned int width UNUSED, char *ret, size_t size)
{
	char busy[32] = "-", held[32];

	if (!put_threads(held, sizeof(held), row->numbers.gpus_held))
		return false;
	put_threads(busy, sizeof(busy), row->numbers.gpus);
	snprintf(ret, size, "%s/%s", busy, held);
	return true;
}

#define NUMBER(member) offsetof(struct numbers, member)
/* clang-format off */
const struct column top_columns[] = {
	{ "id",      "ID",      'N', 8, 20, 0, true,  "the manager's number of the job; its steps, tasks, processes", format_id, NULL, 0, NULL },
	{ "user",    "USER",     0,  8, 10, 4, true,  "owner of the job", format_user, NULL, 0, NULL },
	{ "name",    "NAME",     0,  8, 18, 5, true,  "its name; in brackets: what it runs; a process' command", format_name, NULL, 0, NULL },
	{ "class",   "CLASS",    0, 10, 14, 9, true,  "what kind of job it was so far", format_class, NULL, 0, NULL },
	{ "cores",   "CORES",   'P', 7,  9, 0, false, "cores kept busy, of those allowed", format_cores, NULL, NUMBER(cores), NULL },
	{ "wait",    "WAIT",    'Q', 4,  5, 6, false, "threads that waited for a CPU, on average", NULL, put_threads, NUMBER(waiting), NULL },
	{ "blocked", "BLOCKED", 'B', 9, 13, 3, true,  "threads that waited for files, sync, locks or the network", format_blocked, NULL, NUMBER(blocked), NULL },
	{ "memory",  "MEMORY",  'M', 9, 10, 1, false, "memory in use, of the limit; '!': 90 % of it or more", format_memory, NULL, NUMBER(memory), is_short_of_memory },
	{ "read",    "READ",    'R', 4,  5, 2, false, "bytes read a second", NULL, put_bytes, NUMBER(read), NULL },
	{ "write",   "WRITE",   'W', 5,  5, 2, false, "bytes written a second", NULL, put_bytes, NUMBER(write), NULL },
	{ "meta",    "META",    'O', 4,  5, 7, false, "operations on metadata (open, stat...) a second", NULL, put_count, NUMBER(meta), NULL },
	{ "recv",    "RECV",    'V', 4,  5, 12, false, "bytes received through sockets a second", NULL, put_bytes, NUMBER(received), NULL },
	{ "sent",    "SENT",    'S', 4,  5, 12, false, "bytes sent through sockets a second", NULL, put_bytes, NUMBER(sent), NULL },
	{ "power",   "WATTS",   'E', 5,  6, 13, false, "power with its idle share; '~': estimated", format_power, NULL, NUMBER(power), NULL },
	{ "gpus",    "GPUS",     0,  7,  9, 2, false, "GPUs kept busy, of those held; where there are any", format_gpus, NULL, NUMBER(gpus), NULL, .is_of_gpus = true },
	{ "mounts",  "METADATA BY MOUNT", 0, 18, 40, 8, true, "where these were, a second each", format_places, NULL, 0, NULL },
	{ "time",    "TIME",    'T', 6,  6, 5, false, "since its start", format_time, NULL, NUMBER(elapsed), NULL },
	{ "state",   "S",        0,  1,  1, 5, true,  "R runs, D is blocked most, S does nothing; x: the job ended", format_state, NULL, 0, NULL },
	{ "manager", "MANAGER",  0,  6, 10, 11, true, "resource manager of the job", format_manager, NULL, 0, NULL },
};
/* clang-format on */

const size_t column_count = ARRAY_SIZE(top_columns);
_Static_assert(ARRAY_SIZE(top_columns) <= COLUMNS_MAX, "all can be wanted");

static double number_of(const struct column *c, const struct top_row *row)
{
	return *(const double *)((const char *)&row->numbers + c->number);
}

size_t column_find(char key)
{
	size_t i = 0;

	while (i < column_count && (!key || top_columns[i].key != key))
		i++;
	return i;
}

bool column_format(const struct top *t, size_t column, const struct top_row *row,
		   unsigned int width, char *ret, size_t size)
{
	const struct column *c = &top_columns[column];

	return c->format ? c->format(t, row, width, ret, size)
			 : c->put(ret, size, number_of(c, row));
}

/* What is known goes before what is not. */
static int compare_numbers(double a, double b)
{
	if (isnan(a) || isnan(b))
		return !!isnan(a) - !!isnan(b);
	return (a < b) - (a > b);
}

static int compare_texts(const struct top *t, const struct column *column, const struct top_row *a,
			 const struct top_row *b)
{
	char text_a[COLUMN_TEXT_MAX] = "", text_b[COLUMN_TEXT_MAX] = "";
	bool is_known_a = column->format(t, a, column->most, text_a, sizeof(text_a));
	bool is_known_b = column->format(t, b, column->most, text_b, sizeof(text_b));

	if (!is_known_a || !is_known_b)
		return !is_known_a - !is_known_b;
	return strverscmp(text_a, text_b);
}

int column_compare(const struct top *t, size_t column, const struct top_row *a,
		   const struct top_row *b)
{
	const struct column *c = &top_columns[column];

	return c->number ? compare_numbers(number_of(c, a), number_of(c, b))
			 : compare_texts(t, c, a, b);
}

static bool is_offered(size_t column, unsigned int rank, bool has_gpus)
{
	return top_columns[column].rank <= rank && (has_gpus || !top_columns[column].is_of_gpus);
}

static unsigned int least_of(unsigned int rank, bool has_gpus)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(top_columns); i++)
		sum += is_offered(i, rank, has_gpus) ? top_columns[i].least + 1 : 0;
	return sum ? sum - 1 : 0;
}

/* The greatest rank that there is room for. */
static unsigned int rank_for(unsigned int width, bool has_gpus)
{
	unsigned int rank = 0;

	for (size_t i = 0; i < ARRAY_SIZE(top_columns); i++) {
		if (top_columns[i].rank > rank && least_of(top_columns[i].rank, has_gpus) <= width)
			rank = top_columns[i].rank;
	}
	return rank;
}

static void add_column(struct columns_layout *to, size_t column)
{
	to->items[to->count].column = column;
	to->items[to->count++].width = top_columns[column].least;
}

unsigned int columns_width(const struct columns_wanted *wanted)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < wanted->count; i++)
		sum += top_columns[wanted->items[i]].least + 1;
	return sum ? sum - 1 : 0;
}

void columns_fit(const struct columns_wanted *wanted, unsigned int width,
		 struct columns_layout *ret)
{
	struct columns_wanted fitting = *wanted;
	unsigned int rank = rank_for(width, wanted->has_gpus), used;
	unsigned int left;
	bool has_grown;

	*ret = (struct columns_layout){};
	while (fitting.count > 1 && columns_width(&fitting) > width)
		fitting.count--;
	for (size_t i = 0; i < fitting.count; i++)
		add_column(ret, fitting.items[i]);
	for (size_t i = 0; !wanted->count && i < ARRAY_SIZE(top_columns); i++) {
		if (is_offered(i, rank, wanted->has_gpus))
			add_column(ret, i);
	}
	used = wanted->count ? columns_width(&fitting) : least_of(rank, wanted->has_gpus);
	/* What is left goes to those that want more, one by one. */
	left = width > used ? width - used : 0;
	has_grown = true;
	while (left && has_grown) {
		has_grown = false;
		for (size_t i = 0; i < ret->count && left; i++) {
			if (ret->items[i].width >= top_columns[ret->items[i].column].most)
				continue;
			ret->items[i].width++;
			left--;
			has_grown = true;
		}
	}
}

/* ---- by name ---- */

static int find_name(const char *name, size_t *ret, struct error *err)
{
	char known[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(top_columns); i++) {
		if (strcmp(top_columns[i].name, name) == 0) {
			*ret = i;
			return 0;
		}
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
					 used ? ", " : "", top_columns[i].name);
	}
	return error_set(err, -EINVAL, "there is no column '%.40s'; there are %s", name, known);
}

int columns_parse(const char *text, struct columns_wanted *ret, struct error *err)
{
	_cleanup_free_ char *copy = strdup(text);
	struct columns_wanted wanted = {};
	char *rest = copy, *name;
	int r = 0;

	if (!copy)
		return error_set_errno(err, ENOMEM, "cannot take the columns");
	while (r == 0 && (name = strsep(&rest, ","))) {
		if (wanted.count == COLUMNS_MAX)
			return error_set(err, -EINVAL, "more than %d columns are too many",
					 COLUMNS_MAX);
		r = find_name(name, &wanted.items[wanted.count++], err);
	}
	if (r == 0)
		*ret = wanted;
	return r;
}
