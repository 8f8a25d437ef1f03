/* SPDX-License-Identifier: MIT */
#include "model/sections/hot_files.h"

#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "made.h"
#include "codec/records.h"
#include "test.h"

#define _cleanup_record_ _cleanup_(record_freep)

static struct hot_file *add(struct hot_list *list, const char *path, uint64_t bytes, uint64_t calls,
			    uint64_t ns)
{
	struct hot_file *file;

	ASSERT_OK(hot_list_add(list, path, "/scratch", &file));
	*hot_file_number(file, METRIC_FILE_READ_BYTES) = bytes;
	*hot_file_number(file, METRIC_FILE_READ_CALLS) = calls;
	*hot_file_number(file, METRIC_FILE_READ_SECONDS) = ns;
	return file;
}

/* Of one of a file's metrics, wherever they stand in the table. */
static uint64_t made_number(unsigned int id)
{
	return 101 + id - METRIC_FILE_FIRST;
}

/* A record whose files are known; every number of its one file is another prime or so. */
static struct record *record_with_files(void)
{
	struct record *r = made_record(0);
	struct hot_file *file;

	r->files.is_known = r->files.has_seconds = r->files.knows_dropped = true;
	file = add(&r->files.hot, "/scratch/a", 0, 0, 0);
	for (unsigned int i = METRIC_FILE_FIRST; i < METRIC_FILE_END; i++)
		*hot_file_number(file, (enum metric_id)i) = made_number(i);
	*hot_file_number(file, METRIC_FILE_READ_BYTES) = 10007;
	*hot_file_number(file, METRIC_FILE_WRITE_BYTES) = 1009;
	*hot_file_number(file, METRIC_FILE_READ_ERRORS) = 3;
	*hot_file_number(file, METRIC_FILE_WRITE_ERRORS) = 2;
	*hot_file_number(file, METRIC_FILE_SIZE) = 4099;
	file = add(&r->files.dirs, "/scratch", 10007, 17, 19);
	file->files = 23;
	hot_file_add(&r->files.total, file);
	r->files.dropped.files = 5;
	r->files.dropped.lacks_order = true;
	*hot_file_number(&r->files.dropped, METRIC_FILE_OPENS) = 7;
	r->files.small.files = 11;
	r->files.small.bytes = 13;
	r->files.small.opens = 29;
	return r;
}

static int parse(const char *text, struct record **ret, struct error *err)
{
	struct records list = {};
	int r = records_parse(text, strlen(text), "text", &list, err);

	*ret = NULL;
	if (r == 0) {
		*ret = list.items[0];
		list.count = 0;
	}
	records_clear(&list);
	return r;
}

TEST(each_ranking_keeps_its_first_and_the_list_is_by_bytes)
{
	struct hot_list list = {};

	add(&list, "/bytes-1", 100, 1, 1);
	add(&list, "/bytes-2", 90, 1, 1);
	add(&list, "/bytes-3", 80, 1, 1);
	add(&list, "/calls", 1, 50, 1);
	add(&list, "/time", 2, 1, 50);
	add(&list, "/nothing", 0, 0, 0);
	hot_list_choose(&list, 1);
	ASSERT_EQ(list.count, 3);
	ASSERT_STREQ(list.items[0].path, "/bytes-1");
	ASSERT_STREQ(list.items[1].path, "/time");
	ASSERT_STREQ(list.items[2].path, "/calls");
	hot_list_clear(&list);
}

TEST(a_file_that_leads_two_rankings_leaves_no_room_to_the_next)
{
	struct hot_list list = {};

	add(&list, "/all", 100, 100, 100);
	add(&list, "/second", 50, 50, 50);
	hot_list_choose(&list, 1);
	ASSERT_EQ(list.count, 1);
	hot_list_clear(&list);

	hot_list_choose(&list, 1); /* none is fine */
	ASSERT_EQ(list.count, 0);
}

TEST(what_ranks_a_file_is_the_sum_of_its_parts)
{
	_cleanup_record_ struct record *r = record_with_files();
	const struct hot_file *file = &r->files.hot.items[0];

	ASSERT_EQ(hot_file_rank(file, HOT_BY_BYTES), 10007 + 1009);
	ASSERT_EQ(hot_file_rank(file, HOT_BY_CALLS),
		  made_number(METRIC_FILE_READ_CALLS) + made_number(METRIC_FILE_WRITE_CALLS) +
			  made_number(METRIC_FILE_OPENS) + made_number(METRIC_FILE_CREATES) +
			  made_number(METRIC_FILE_CLOSES) + made_number(METRIC_FILE_OTHERS));
	ASSERT_EQ(hot_file_rank(file, HOT_BY_TIME), made_number(METRIC_FILE_READ_SECONDS) +
							    made_number(METRIC_FILE_WRITE_SECONDS) +
							    made_number(METRIC_FILE_META_SECONDS));
}

TEST(files_come_back_from_json_as_they_were)
{
	_cleanup_record_ struct record *r = record_with_files(), *back = NULL;
	_cleanup_free_ char *text = made_json(r);

	ASSERT_OK(parse(text, &back, NULL));
	ASSERT_TEXT(made_json(back), text);
	ASSERT(memcmp(back->files.hot.items[0].numbers, r->files.hot.items[0].numbers,
		      sizeof(r->files.hot.items[0].numbers)) == 0);
	ASSERT_EQ(back->files.total.files, 23);
	ASSERT_EQ(back->files.dirs.items[0].files, 23);
	ASSERT(back->files.dropped.lacks_order && !back->files.total.lacks_order);
	ASSERT_EQ(back->files.small.opens, 29);
}

TEST(what_is_not_known_of_files_is_null)
{
	_cleanup_record_ struct record *r = record_with_files(), *back = NULL;
	_cleanup_free_ char *text = NULL;

	r->files.has_seconds = r->files.knows_dropped = false;
	text = made_json(r);
	ASSERT_CONTAINS(text, "\"meta_seconds\": null");
	ASSERT_CONTAINS(text, "\"files\": null");
	ASSERT_OK(parse(text, &back, NULL));
	ASSERT(back->files.is_known && !back->files.has_seconds && !back->files.knows_dropped);
}

TEST(a_record_of_a_run_without_files_has_no_such_member)
{
	_cleanup_record_ struct record *r = made_record(0), *back = NULL;
	_cleanup_free_ char *text = made_json(r);

	ASSERT(strstr(text, "\"hot\"") == NULL);
	ASSERT_OK(parse(text, &back, NULL));
	ASSERT(!back->files.is_known);
}

TEST(files_that_cannot_be_are_refused_with_their_place)
{
	static const struct {
		const char *from, *to, *wanted;
	} rows[] = {
		{ "\"bytes\": 10007", "\"bytes\": 1", "files.hot[0].read.bytes is less than" },
		{ "\"reread_bytes\": 1", "\"reread_bytes\": 99991",
		  "reread_bytes is more than was read" },
		{ "\"path\": \"/scratch/a\",", "", "files.hot[0].path is missing" },
		{ "\"path\": \"/scratch/a\"", "\"path\": 3", "files.hot[0].path is a number" },
		{ "\"dropped\": {", "\"other\": {", "files.dropped is missing" },
		{ "\"small\": {", "\"other\": {", "files.small.files is missing" },
		{ "\"opens\": 7", "\"opens\": -7", "files.dropped.opens is out of range" },
		{ "\"opens\": 7", "\"opens\": null", "files.dropped.opens is missing" },
		{ "\"hot\": [", "\"hot\": 3, \"other\": [", "files.hot is a number" },
		{ "\"errors\": 3,", "\"errors\": 99991,", "read.calls is less than its errors" },
	};
	_cleanup_record_ struct record *r = record_with_files();
	_cleanup_free_ char *text = made_json(r);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *at = strstr(strstr(text, "\"hot\""), rows[i].from);
		_cleanup_free_ char *broken = NULL;
		struct record *back = NULL;
		struct error err = {};

		if (!at)
			at = strstr(strstr(text, "\"followed\""), rows[i].from);
		ASSERT(at != NULL);
		ASSERT(asprintf(&broken, "%.*s%s%s", (int)(at - text), text, rows[i].to,
				at + strlen(rows[i].from)) > 0);
		ASSERT_ERR(parse(broken, &back, &err), -EINVAL);
		ASSERT_CONTAINS(err.text, rows[i].wanted);
	}
}

TEST(ranks_add_up_by_path_and_a_size_is_the_greatest)
{
	_cleanup_record_ struct record *a = record_with_files(), *b = record_with_files(),
				       *merged = NULL;
	const struct record *records[] = { a, b };
	const struct hot_file *file;

	*hot_file_number(&b->files.hot.items[0], METRIC_FILE_SIZE) = 5003;
	add(&b->files.hot, "/scratch/b", 999983, 1, 1);
	ASSERT_OK(record_merge(records, 2, &merged));
	ASSERT(merged->files.is_known);
	ASSERT_EQ(merged->files.hot.count, 2);
	ASSERT_STREQ(merged->files.hot.items[0].path, "/scratch/b");
	file = &merged->files.hot.items[1];
	ASSERT_EQ(hot_file_get(file, METRIC_FILE_READ_BYTES), 2 * 10007);
	ASSERT_EQ(hot_file_get(file, METRIC_FILE_SIZE), 5003);
	ASSERT_EQ(file->files, 1);
	ASSERT_EQ(merged->files.dirs.items[0].files, 23);
	ASSERT_EQ(merged->files.total.files, 46);
	ASSERT_EQ(merged->files.dropped.files, 10);
	ASSERT(merged->files.dropped.lacks_order);
	ASSERT_EQ(merged->files.small.opens, 58);
}

TEST(of_a_part_of_the_ranks_the_files_are_not_known)
{
	_cleanup_record_ struct record *a = record_with_files(), *b = made_record(1),
				       *merged = NULL, *other = NULL;
	const struct record *records[] = { a, b }, *reverse[] = { b, a };

	ASSERT_OK(record_merge(records, 2, &merged));
	ASSERT(!merged->files.is_known);
	ASSERT_OK(record_merge(reverse, 2, &other));
	ASSERT(!other->files.is_known);
}

TEST(many_ranks_with_files_of_their_own_stay_bounded)
{
	struct hot_files sum = { .is_known = true }, one = { .is_known = true };

	for (int rank = 0; rank < 300; rank++) {
		char path[32];

		for (int i = 0; i < 7; i++) {
			snprintf(path, sizeof(path), "/rank-%d/%d", rank, i);
			add(&one.hot, path, (uint64_t)(rank + 1), 1, 1);
		}
		ASSERT_OK(hot_files_merge(&sum, &one));
		hot_list_clear(&one.hot);
		ASSERT(sum.hot.count <= HOT_MERGED);
	}
	ASSERT(hot_list_find(&sum.hot, "/rank-299/6", "/scratch") != NULL);
	hot_files_clear(&sum);
}

TEST(what_came_later_is_told_by_file)
{
	_cleanup_record_ struct record *a = record_with_files(), *b = record_with_files();
	struct strings notes = {};
	struct hot_file *file = &b->files.hot.items[0];

	*hot_file_number(file, METRIC_FILE_READ_BYTES) += 503;
	*hot_file_number(file, METRIC_FILE_READ_CALLS) += 3;
	*hot_file_number(file, METRIC_FILE_REREAD) = 0; /* a jump ahead made the range longer */
	*hot_file_number(&b->files.dropped, METRIC_FILE_OPENS) += 11;
	add(&b->files.hot, "/scratch/new", 1009, 1, 1);
	ASSERT_OK(hot_files_subtract(&b->files, &a->files, &notes));
	ASSERT_EQ(notes.count, 0);
	ASSERT_EQ(b->files.hot.count, 2);
	ASSERT_STREQ(b->files.hot.items[0].path, "/scratch/new");
	file = &b->files.hot.items[1];
	ASSERT_EQ(hot_file_get(file, METRIC_FILE_READ_BYTES), 503);
	ASSERT_EQ(hot_file_get(file, METRIC_FILE_READ_CALLS), 3);
	ASSERT_EQ(hot_file_get(file, METRIC_FILE_REREAD), 0);
	ASSERT_EQ(hot_file_get(file, METRIC_FILE_SIZE), 4099);
	ASSERT_EQ(b->files.dirs.count, 0); /* nothing was done there */
	ASSERT_EQ(hot_file_get(&b->files.dropped, METRIC_FILE_OPENS), 11);
	ASSERT_EQ(b->files.small.files, 0);
}

TEST(what_was_not_in_a_list_that_was_cut_may_be_from_before)
{
	struct hot_files a = { .is_known = true }, b = { .is_known = true }, unknown = {};
	struct strings notes = {};
	char path[32];

	for (uint64_t i = 0; i < HOT_SHOWN; i++) {
		snprintf(path, sizeof(path), "/%d", (int)i);
		add(&a.hot, path, 100 + i, 1, 1);
	}
	add(&b.hot, "/other", 1009, 7, 1);
	ASSERT_OK(hot_files_subtract(&b, &unknown, &notes)); /* all is later */
	ASSERT_EQ(notes.count, 0);
	ASSERT_OK(hot_files_subtract(&b, &a, &notes));
	ASSERT_EQ(notes.count, 1);
	ASSERT_CONTAINS(notes.items[0], "1 files and directories may be in part from before");
	ASSERT_EQ(b.hot.count, 1);
	strings_clear(&notes);
	hot_files_clear(&a);
	hot_files_clear(&b);
}
