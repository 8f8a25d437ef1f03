/* SPDX-License-Identifier: MIT */
/* A shape of its own that has all that fields can be: what sections make of theirs, they all do. */
#include "model/shape.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "made.h"
#include "model/document.h"
#include "model/json_place.h"
#include "test.h"

#define ROWS_MAX 5

struct row {
	char name[8], place[8];
	uint64_t read[METRIC_BLOCK_READ_LATENCIES - METRIC_BLOCK_READ_BYTES];
	struct histogram latencies;
	struct value calls[METRIC_SYSCALL_END - METRIC_SYSCALL_FIRST];
};

struct rows {
	uint64_t ns;
	struct row *items;
	size_t count;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

static int check(const struct place *place, void *row)
{
	return strcmp(((const struct row *)row)->name, "odd") == 0
		       ? place_refuse(place, "name", "is odd")
		       : 0;
}

/* clang-format off */
static const struct field row_fields[] = {
	{ "name", SHAPE_TEXT, SHAPE_KEY | SHAPE_NEEDED, offsetof(struct row, name), sizeof(((struct row *)0)->name) },
	{ "place", SHAPE_TEXT, SHAPE_KEY | SHAPE_NEEDED, offsetof(struct row, place), sizeof(((struct row *)0)->place) },
	{ "read", SHAPE_NUMBERS, 0, offsetof(struct row, read),
	  .first = METRIC_BLOCK_READ_BYTES, .end = METRIC_BLOCK_READ_LATENCIES + 1, .most = 1000 },
	{ NULL, SHAPE_VALUES, SHAPE_NEEDED, offsetof(struct row, calls),
	  .first = METRIC_SYSCALL_FIRST, .end = METRIC_SYSCALL_END },
};
static const struct shape row_shape = { SHAPE_OF(struct row, row_fields), .is_flat = true,
	.max = ROWS_MAX, .has_other = true, .order = compare, .check = check };
static const struct field fields[] = {
	{ "seconds", SHAPE_NUMBER, SHAPE_NEEDED, offsetof(struct rows, ns), .unit = UNIT_SECONDS },
	{ "rows", SHAPE_LIST, 0, offsetof(struct rows, items), .rows = &row_shape },
};
/* clang-format on */
static const struct shape shape = { SHAPE_OF(struct rows, fields) };

static void clear(struct rows *r)
{
	shape_clear(&shape, r);
}

static struct row row_of(const char *name, uint64_t calls, uint64_t longest, uint64_t bytes)
{
	struct row row = {
		.place = "here",
		.read = { bytes },
		.latencies.counts = { [3] = bytes },
		.calls = { { calls, true }, { 0, true }, { calls, true }, { longest, true } }
	};

	snprintf(row.name, sizeof(row.name), "%s", name);
	return row;
}

static void add(struct rows *r, const char *name, uint64_t calls, uint64_t longest, uint64_t bytes)
{
	const struct row row = row_of(name, calls, longest, bytes);

	ASSERT_OK(shape_add_row(&shape, r, &row));
	shape_sort(&shape, r);
}

static const struct row *get(const struct rows *r, const char *name)
{
	const struct row like = row_of(name, 0, 0, 0);

	return shape_find(&shape, r, &like);
}

static uint64_t number(const struct rows *r, const char *name, enum metric_id id)
{
	return shape_number(&shape, get(r, name), id).number;
}

static char *text_of(const struct rows *r)
{
	struct made_text t = {};
	struct document *d = made_text_document(&t, DOCUMENT_ONE_LINE);

	document_begin_map(d);
	shape_format(&shape, r, d);
	document_end_map(d);
	return made_text_end(&t);
}

static int parse(const char *text, struct rows *ret, struct error *err)
{
	const struct place place = { .err = err };
	json_t *json = json_loads(text, 0, NULL);
	int r = json ? shape_parse(&shape, &place, json, ret) : -EBADMSG;

	json_decref(json);
	return r;
}

TEST(it_comes_back_as_it_was_written)
{
	_cleanup_(clear) struct rows r = { .ns = 2500000000 }, back = {};
	_cleanup_free_ char *text = NULL;

	add(&r, "b", 3, 5, 0);
	add(&r, "a", 7, 11, 13);
	r.items[1].calls[METRIC_SYSCALL_LONGEST - METRIC_SYSCALL_FIRST] = (struct value){};
	text = text_of(&r);
	ASSERT_STREQ(
		text,
		"{\"seconds\":2.5,\"rows\":["
		"{\"name\":\"a\",\"place\":\"here\",\"read\":{\"bytes\":13,\"requests\":0,\"errors\":0,"
		"\"seconds\":0,\"latencies\":[0,0,0,13]},\"calls\":7,\"errors\":0,\"seconds\":0.000000007,"
		"\"longest_seconds\":0.000000011},"
		"{\"name\":\"b\",\"place\":\"here\",\"calls\":3,\"errors\":0,\"seconds\":0.000000003,"
		"\"longest_seconds\":null}]}\n");
	ASSERT_OK(parse(text, &back, NULL));
	ASSERT_TEXT(text_of(&back), text);
}

#define ROW(name, rest) "{\"name\":\"" name "\",\"place\":\"x\"," rest "}"
#define CALLS "\"calls\":1,\"errors\":0,\"seconds\":0"
#define LIST(rows) "{\"seconds\":1,\"rows\":[" rows "]}"

TEST(what_is_odd_is_refused_by_its_place)
{
	static const struct {
		const char *text, *wanted;
	} cases[] = {
		{ "{}", "seconds is missing" },
		{ "{\"seconds\":-1}", "seconds is out of range" },
		{ "{\"seconds\":1,\"rows\":{}}", "rows is a map and should be a list" },
		{ LIST("3"), "rows[0] is a number and should be a map" },
		{ LIST("{}"), "rows[0].name is missing" },
		{ LIST("{\"name\":\"\"}"), "rows[0].name is missing" },
		{ LIST("{\"name\":7}"), "rows[0].name is a number and should be a string" },
		{ LIST("{\"name\":\"12345678\"}"), "rows[0].name has more than 7 bytes" },
		{ LIST("{\"name\":\"a\"}"), "rows[0].place is missing" },
		{ LIST(ROW("a", "\"calls\":1,\"seconds\":0")), "rows[0].errors is missing" },
		{ LIST(ROW("a", "\"read\":7")), "rows[0].read is a number and should be a map" },
		{ LIST(ROW("a", "\"read\":{\"bytes\":1001}")), "rows[0].read.bytes is too much" },
		{ LIST(ROW("a", "\"read\":{\"latencies\":[-1]}")),
		  "rows[0].read.latencies holds something else than counts" },
		{ LIST(ROW("odd", CALLS)), "rows[0].name is odd" },
		{ LIST(ROW("a", CALLS) "," ROW("a", CALLS)), "rows[1].name stands there twice" },
		{ LIST(ROW("a", CALLS) "," ROW("b", CALLS) "," ROW("c", CALLS) "," ROW(
			  "d", CALLS) "," ROW("e", CALLS) "," ROW("f", CALLS)),
		  "rows has more than 5 entries" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(clear) struct rows r = {};
		struct error err = {};

		ASSERT_ERR(parse(cases[i].text, &r, &err), -EINVAL);
		ASSERT_STREQ(err.text, cases[i].wanted);
	}
}

TEST(sums_are_added_peaks_are_the_greatest_and_what_a_part_does_not_know_is_unknown)
{
	_cleanup_(clear) struct rows a = { .ns = 3 }, b = { .ns = 5 };

	add(&a, "x", 3, 100, 7);
	add(&a, "y", 1, 1, 1);
	add(&b, "x", 5, 20, 11);
	add(&b, "w", 13, 1, 0);
	b.items[1].calls[1] = (struct value){};
	ASSERT_OK(shape_join(&shape, false, &a, &b));
	ASSERT_EQ(a.ns, 8u);
	ASSERT_EQ(a.count, 3u);
	ASSERT_STREQ(a.items[0].name, "w");
	ASSERT_EQ(number(&a, "x", METRIC_SYSCALL_CALLS), 8u);
	ASSERT_EQ(number(&a, "x", METRIC_SYSCALL_LONGEST), 100u);
	ASSERT_EQ(number(&a, "x", METRIC_BLOCK_READ_BYTES), 18u);
	ASSERT_EQ(get(&a, "x")->latencies.counts[3], 18u);
	ASSERT(!shape_number(&shape, get(&a, "x"), METRIC_SYSCALL_ERRORS).is_known);
	ASSERT(!shape_has(&shape, get(&a, "w"), METRIC_BLOCK_READ_BYTES));
	ASSERT_EQ(shape_total(&shape, &a, METRIC_SYSCALL_CALLS).number, 22u);
	ASSERT_EQ(shape_total(&shape, &a, METRIC_SYSCALL_LONGEST).number, 100u);
}

TEST(numbers_are_raised_and_do_not_fall)
{
	_cleanup_(clear) struct rows now = { .ns = 3 }, shown = { .ns = 5 };

	add(&now, "x", 3, 100, 7);
	add(&shown, "x", 5, 20, 2);
	add(&shown, "y", 1, 1, 1);
	ASSERT_OK(shape_join(&shape, true, &now, &shown));
	ASSERT_EQ(now.ns, 5u);
	ASSERT_EQ(number(&now, "x", METRIC_SYSCALL_CALLS), 5u);
	ASSERT_EQ(number(&now, "x", METRIC_BLOCK_READ_BYTES), 7u);
	ASSERT_EQ(number(&now, "y", METRIC_SYSCALL_CALLS), 1u);
}

TEST(a_difference_has_what_came_since)
{
	_cleanup_(clear) struct rows later = { .ns = 8 }, earlier = { .ns = 3 };

	add(&earlier, "same", 2, 20, 0);
	add(&earlier, "x", 3, 20, 7);
	add(&earlier, "y", 3, 20, 0);
	add(&later, "new", 0, 0, 0);
	add(&later, "same", 2, 20, 0);
	add(&later, "x", 8, 20, 18);
	add(&later, "y", 7, 30, 0);
	ASSERT(shape_subtract(&shape, &later, &earlier));
	ASSERT_EQ(later.ns, 5u);
	ASSERT_EQ(later.count, 3u); /* nothing came to the same one */
	ASSERT_STREQ(later.items[0].name, "new");
	ASSERT_EQ(number(&later, "x", METRIC_SYSCALL_CALLS), 5u);
	ASSERT_EQ(get(&later, "x")->latencies.counts[3], 11u);
	ASSERT(!shape_number(&shape, get(&later, "x"), METRIC_SYSCALL_LONGEST).is_known);
	ASSERT_EQ(number(&later, "y", METRIC_SYSCALL_LONGEST), 30u); /* it rose */
	ASSERT(!shape_subtract(&shape, &later, &earlier)); /* it fell, and one is gone */
	ASSERT_EQ(number(&later, "x", METRIC_SYSCALL_CALLS), 2u);
	ASSERT(!shape_is_empty(&shape, &later));
	clear(&later);
	ASSERT(shape_is_empty(&shape, &later));
}

TEST(what_finds_no_room_is_one_row)
{
	_cleanup_(clear) struct rows r = {}, back = {};
	_cleanup_free_ char *text = NULL;
	char name[8], names[SHAPE_NAME_SIZE];

	for (int i = 0; i < ROWS_MAX + 3; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		add(&r, name, 1, 1, 1);
	}
	ASSERT_EQ(r.count, ROWS_MAX + 1u);
	ASSERT_STREQ(r.items[0].name, SHAPE_OTHER);
	ASSERT_STREQ(shape_name(&shape, &r.items[0], names), "(other)/(other)");
	ASSERT_EQ(shape_number(&shape, shape_at(&shape, &r, 0), METRIC_SYSCALL_CALLS).number, 3u);
	ASSERT(!shape_at(&shape, &r, ROWS_MAX + 1));
	text = text_of(&r);
	ASSERT_OK(parse(text, &back, NULL));
	ASSERT_EQ(back.count, r.count);
}
