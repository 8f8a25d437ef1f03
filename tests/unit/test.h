/* SPDX-License-Identifier: MIT */
/*
 * test - TEST(what_holds) { ... } runs by itself; a failed ASSERT prints both sides and goes on to
 * the next test.
 *
 * A program runs all of its tests, or those whose names contain the first argument.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

void test_register(struct test *test);

/* Each returns only if the assertion holds. */
void test_true(bool is_true, const char *text, const char *file, int line);
void test_int(int64_t a, int64_t b, const char *a_text, const char *b_text, const char *file,
	      int line);
void test_uint(uint64_t a, uint64_t b, const char *a_text, const char *b_text, const char *file,
	       int line);
void test_string(const char *a, const char *b, const char *a_text, const char *file, int line);
void test_contains(const char *text, const char *part, bool is_wanted, const char *file, int line);
/* Of a text that is freed: @parts, up to NULL, stand in it or do not; it is @wanted. */
void test_told(char *text, const char *const parts[], bool is_wanted, const char *file, int line);
void test_text(char *text, const char *wanted, const char *expression, const char *file, int line);

/* A directory of this program's own that is removed at its end. */
const char *test_dir(void);

/* A path in it, until the fourth call after this one. */
const char *test_path(const char *name);

/* A number below @end, by xorshift: the same ones in each run. */
uint64_t test_below(uint64_t end);

bool test_is_near(double a, double b);

/* The contents of a file below tests/data; never NULL; the caller frees. */
char *test_data(const char *name);

/* @text is what stands in @name below tests/data; with JOBMETER_WRITE_GOLDENS in the environment it
 * is written there. */
void test_golden(const char *text, const char *name, const char *file, int line);
#define ASSERT_GOLDEN(text, name) test_golden(text, name, __FILE__, __LINE__)

#define TEST(what)                                                     \
	static void test_##what(void);                                 \
	static struct test entry_##what = { #what, test_##what, 0 };   \
	__attribute__((constructor)) static void register_##what(void) \
	{                                                              \
		test_register(&entry_##what);                          \
	}                                                              \
	static void test_##what(void)

/* A test that has a @thing of that type, which @begin makes and @end clears. */
#define TEST_WITH(what, type, thing, begin, end)             \
	static void with_##what(type *thing);                \
	TEST(what)                                           \
	{                                                    \
		__attribute__((cleanup(end))) type own = {}; \
                                                             \
		begin(&own);                                 \
		with_##what(&own);                           \
	}                                                    \
	static void with_##what(type *thing)

#define ASSERT(expression) test_true((expression), #expression, __FILE__, __LINE__)
#define ASSERT_EQ(a, b)                    \
	_Generic((a), uint64_t             \
		 : test_uint, unsigned int \
		 : test_uint, default      \
		 : test_int)((a), (b), #a, #b, __FILE__, __LINE__)
#define ASSERT_ERR(expression, error) \
	test_int((expression), (error), #expression, #error, __FILE__, __LINE__)
#define ASSERT_OK(expression) test_int((expression), 0, #expression, "0", __FILE__, __LINE__)
#define ASSERT_STREQ(a, b) test_string((a), (b), #a, __FILE__, __LINE__)
#define ASSERT_CONTAINS(text, part) test_contains((text), (part), true, __FILE__, __LINE__)
#define ASSERT_LACKS(text, part) test_contains((text), (part), false, __FILE__, __LINE__)
/* The same of texts that are allocated, which are freed. */
#define ASSERT_TEXT(text, wanted) test_text((text), (wanted), #text, __FILE__, __LINE__)
#define ASSERT_TOLD(text, ...) \
	test_told((text), (const char *const[]){ __VA_ARGS__, NULL }, true, __FILE__, __LINE__)
#define ASSERT_UNTOLD(text, ...) \
	test_told((text), (const char *const[]){ __VA_ARGS__, NULL }, false, __FILE__, __LINE__)
