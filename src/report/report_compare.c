/* SPDX-License-Identifier: MIT */
#include "report/report_compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "model/record.h"
#include "report/headline.h"
#include "report/sentence.h"

/* What is less is noise, and not worth a word. */
#define ELAPSED_SHARE_MIN 0.05
#define ELAPSED_NS_MIN UINT64_C(50000000)
#define SHARE_MIN 0.20
#define CORES_MIN 100 /* thousandths */
#define MEMORY_MIN (UINT64_C(64) << 20)
#define BYTES_MIN (UINT64_C(16) << 20)
#define META_CALLS_MIN 10000

#define CHANGES_MAX 2 /* beside the elapsed time */

struct change {
	double weight; /* the greatest changes are named */
	char text[160];
};

struct changes { /* the greatest ones, the greatest first */
	struct change items[CHANGES_MAX];
	size_t count;
};

static void add_change(struct changes *changes, const struct change *change)
{
	size_t at = changes->count;

	while (at > 0 && changes->items[at - 1].weight < change->weight)
		at--;
	if (at >= CHANGES_MAX)
		return;
	changes->count = MIN(changes->count + 1, (size_t)CHANGES_MAX);
	memmove(&changes->items[at + 1], &changes->items[at],
		(changes->count - at - 1) * sizeof(changes->items[0]));
	changes->items[at] = *change;
}

/* How much a number changed, the same for up and down; from or to nothing is the most. */
static double weight_of(uint64_t last, uint64_t now)
{
	if (last == 0 || now == 0)
		return 1e9;
	return fabs(log((double)now / (double)last));
}

static bool is_large(uint64_t last, uint64_t now, uint64_t min, double share)
{
	uint64_t difference = last > now ? last - now : now - last;

	return difference >= min && (double)difference >= share * (double)last;
}

static void compare_cores(const struct record *last, const struct record *now,
			  struct changes *changes)
{
	struct change change;
	uint64_t before, after;

	if (!record_cores_busy(last, &before) || !record_cores_busy(now, &after) ||
	    !is_large(before, after, CORES_MIN, SHARE_MIN))
		return;
	change.weight = weight_of(before, after);
	snprintf(change.text, sizeof(change.text), "%s cores used instead of %s",
		 humanize_cores(after).text, humanize_cores(before).text);
	add_change(changes, &change);
}

static void compare_memory(const struct record *last, const struct record *now,
			   struct changes *changes)
{
	const struct value *before = &last->reading.values[METRIC_MEMORY_PEAK];
	const struct value *after = &now->reading.values[METRIC_MEMORY_PEAK];
	struct change change;

	if (!before->is_known || !after->is_known ||
	    !is_large(before->number, after->number, MEMORY_MIN, SHARE_MIN))
		return;
	change.weight = weight_of(before->number, after->number);
	snprintf(change.text, sizeof(change.text), "%s of memory instead of %s",
		 humanize_bytes(after->number).text, humanize_bytes(before->number).text);
	add_change(changes, &change);
}

/* "3", "2.4": one digit behind the point at most, as cores have it. */
static struct human times(double ratio)
{
	return humanize_cores((uint64_t)(MIN(ratio, 1e6) * 1000));
}

/* How a change of bytes, or of a count, is put. */
struct words {
	struct human (*humanize)(uint64_t number);
	const char *as, *less, *no, *nothing;
};
static const struct words words_of_bytes = { humanize_bytes, "as much", "less", "nothing",
					     "nothing" };
static const struct words words_of_count = { humanize_count, "as many", "fewer", "no", "none" };

/* What of a row is compared. */
static const struct quantity {
	enum metric_id id;
	uint64_t min; /* a smaller difference is noise */
	const struct words *words;
	const char *what;
} quantities[] = {
	{ METRIC_READ_BYTES, BYTES_MIN, &words_of_bytes, "read" },
	{ METRIC_WRITE_BYTES, BYTES_MIN, &words_of_bytes, "written" },
	{ METRIC_MAPPED_READ_BYTES, BYTES_MIN, &words_of_bytes, "paged in" },
	{ METRIC_MAPPED_WRITE_BYTES, BYTES_MIN, &words_of_bytes, "dirtied" },
	{ METRIC_META_CALLS, META_CALLS_MIN, &words_of_count, "metadata calls" },
};

static void describe(const struct quantity *q, uint64_t before, uint64_t after, const char *mount,
		     char *text, size_t size)
{
	double ratio = before ? (double)after / (double)before : 0;

	if (before == 0)
		snprintf(text, size, "%s %s on %s, and %s before", q->words->humanize(after).text,
			 q->what, mount, q->words->nothing);
	else if (after == 0)
		snprintf(text, size, "%s %s on %s any more", q->words->no, q->what, mount);
	else if (ratio >= 2)
		snprintf(text, size, "%s times %s %s on %s", times(ratio).text, q->words->as,
			 q->what, mount);
	else
		snprintf(text, size, "%s %s %s on %s", humanize_percent(fabs(ratio - 1)).text,
			 ratio > 1 ? "more" : q->words->less, q->what, mount);
}

static void compare_row(const struct mount_row *last, const struct mount_row *now,
			struct changes *changes)
{
	static const struct mount_row nothing;
	const char *mount = (now ? now : last)->mount;

	if ((now ? now : last)->kind == ROW_KERNEL) /* not the job's */
		return;
	for (size_t i = 0; i < ARRAY_SIZE(quantities); i++) {
		const struct quantity *q = &quantities[i];
		uint64_t before = mount_row_number(last ? last : &nothing, q->id);
		uint64_t after = mount_row_number(now ? now : &nothing, q->id);
		struct change change;

		if (!is_large(before, after, q->min, SHARE_MIN))
			continue;
		change.weight = weight_of(before, after);
		describe(q, before, after, mount, change.text, sizeof(change.text));
		add_change(changes, &change);
	}
}

static void compare_mounts(const struct record *last, const struct record *now,
			   struct changes *changes)
{
	const struct reading *before = &last->reading, *after = &now->reading;

	if (!before->has_mounts || !after->has_mounts)
		return;
	for (size_t i = 0; i < after->mount_count; i++) {
		const struct mount_row *row = &after->mounts[i];

		compare_row(reading_find_mount(before, row->kind, row->mount, row->fstype), row,
			    changes);
	}
	for (size_t i = 0; i < before->mount_count; i++) {
		const struct mount_row *row = &before->mounts[i];

		if (!reading_find_mount(after, row->kind, row->mount, row->fstype))
			compare_row(row, NULL, changes);
	}
}

/* Which calls on which mount took most of the time by which @more took longer, if any took a good
 * part of it.  @way: how that is put. */
static void explain_elapsed(const struct record *less, const struct record *more, const char *way,
			    struct sentence *sentence)
{
	static const struct {
		enum metric_id id;
		const char *what;
	} calls[] = { { METRIC_READ_SECONDS, "reads from" },
		      { METRIC_WRITE_SECONDS, "writes to" },
		      { METRIC_META_SECONDS, "metadata calls on" } };
	const uint64_t longer_ns = more->time.elapsed_ns - less->time.elapsed_ns;
	uint64_t most_ns = (uint64_t)(SHARE_MIN * (double)longer_ns);
	const char *what = NULL, *mount = NULL;

	for (size_t i = 0; less->reading.has_mounts && i < more->reading.mount_count; i++) {
		const struct mount_row *row = &more->reading.mounts[i],
				       *other = reading_find_mount(&less->reading, row->kind,
								   row->mount, row->fstype);

		for (size_t j = 0; row->kind == ROW_MOUNT && j < ARRAY_SIZE(calls); j++) {
			uint64_t before = other ? mount_row_number(other, calls[j].id) : 0,
				 after = mount_row_number(row, calls[j].id);

			if (after <= before || after - before < most_ns)
				continue;
			most_ns = after - before;
			what = calls[j].what;
			mount = row->mount;
		}
	}
	if (what)
		sentence_add(sentence, ": ", "%s %s took %s %s%s", what, mount,
			     humanize_duration(most_ns).text, way,
			     most_ns > longer_ns ? " over all threads" : "");
}

static void tell_elapsed(const struct record *last, const struct record *now,
			 struct sentence *sentence)
{
	double before = (double)last->time.elapsed_ns, after = (double)now->time.elapsed_ns;
	bool is_slower = after > before;
	double ratio = is_slower ? after / before : before / after;

	if (!last->time.elapsed_ns || !now->time.elapsed_ns ||
	    !is_large(last->time.elapsed_ns, now->time.elapsed_ns, ELAPSED_NS_MIN,
		      ELAPSED_SHARE_MIN))
		return;
	if (ratio >= 2)
		sentence_add(sentence, ", ", "%s times as %s", times(ratio).text,
			     is_slower ? "long" : "fast");
	else
		sentence_add(sentence, ", ", "%s %s",
			     humanize_percent(fabs(after / before - 1)).text,
			     is_slower ? "slower" : "faster");
	explain_elapsed(is_slower ? last : now, is_slower ? now : last, is_slower ? "more" : "less",
			sentence);
}

char *report_compare(const struct record *last, const struct record *now)
{
	struct sentence sentence = {};
	struct changes changes = {};
	const bool has_last_failed = headline_is_failure(last),
		   has_now_failed = headline_is_failure(now);

	if (has_last_failed && !has_now_failed)
		sentence_add(&sentence, ", ", "the run before failed");
	else if (has_now_failed && !has_last_failed && last->job.exit_code == 0)
		sentence_add(&sentence, ", ", "the run before ended well");
	/* one that stopped half-way or still runs is not fast */
	if (!has_last_failed && !has_now_failed && now->is_final)
		tell_elapsed(last, now, &sentence);
	compare_cores(last, now, &changes);
	compare_memory(last, now, &changes);
	compare_mounts(last, now, &changes);
	for (size_t i = 0; i < changes.count; i++)
		sentence_add(&sentence, ", ", "%s", changes.items[i].text);
	if (!sentence.text)
		sentence_add(&sentence, "", "about the same");
	return sentence.text;
}
