/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
	struct test *first;
	struct test **last;
	jmp_buf failed;
	char dir[64];
} tests;

void test_register(struct test *test)
{
	if (!tests.last)
		tests.last = &tests.first;
	*tests.last = test;
	tests.last = &test->next;
}

static void __attribute__((noreturn)) fail(const char *file, int line)
{
	printf("  at %s:%d\n", file, line);
	longjmp(tests.failed, 1);
}

void test_true(bool is_true, const char *text, const char *file, int line)
{
	if (is_true)
		return;
	printf("  %s is false\n", text);
	fail(file, line);
}

void test_int(int64_t a, int64_t b, const char *a_text, const char *b_text, const char *file,
	      int line)
{
	if (a == b)
		return;
	printf("  %s is %" PRId64 ", and %s is %" PRId64 "\n", a_text, a, b_text, b);
	if (a < 0)
		printf("  (%s)\n", strerror((int)-a));
	fail(file, line);
}

void test_uint(uint64_t a, uint64_t b, const char *a_text, const char *b_text, const char *file,
	       int line)
{
	if (a == b)
		return;
	printf("  %s is %" PRIu64 ", and %s is %" PRIu64 "\n", a_text, a, b_text, b);
	fail(file, line);
}

void test_string(const char *a, const char *b, const char *a_text, const char *file, int line)
{
	if (a == b || (a && b && strcmp(a, b) == 0))
		return;
	printf("  %s is\n    \"%s\"\n  and should be\n    \"%s\"\n", a_text, a ? a : "(null)",
	       b ? b : "(null)");
	fail(file, line);
}

void test_contains(const char *text, const char *part, bool is_wanted, const char *file, int line)
{
	if ((text && strstr(text, part)) == is_wanted)
		return;
	printf("  \"%s\" is %s in\n%s\n", part, is_wanted ? "not" : "there",
	       text ? text : "(null)");
	fail(file, line);
}

void test_told(char *text, const char *const parts[], bool is_wanted, const char *file, int line)
{
	for (size_t i = 0; parts[i]; i++)
		test_contains(text, parts[i], is_wanted, file, line);
	free(text);
}

void test_text(char *text, const char *wanted, const char *expression, const char *file, int line)
{
	test_string(text, wanted, expression, file, line);
	free(text);
}

uint64_t test_below(uint64_t end)
{
	static uint64_t seed = 88172645463325252u;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % end;
}

const char *test_dir(void)
{
	if (!tests.dir[0]) {
		strcpy(tests.dir, "/tmp/jobmeter-test-XXXXXX");
		if (!mkdtemp(tests.dir))
			abort();
	}
	return tests.dir;
}

const char *test_path(const char *name)
{
	static char paths[4][512];
	static size_t count;
	char *path = paths[count++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_dir(), name);
	return path;
}

bool test_is_near(double a, double b)
{
	return a - b < 1e-9 && b - a < 1e-9;
}

char *test_data(const char *name)
{
	char path[512], *text;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", TEST_DATA, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	text = calloc(1, 1 << 20);
	length = fd < 0 ? -1 : read(fd, text, (1 << 20) - 1);
	if (length < 0) {
		perror(path);
		abort();
	}
	close(fd);
	return text;
}

/* Tell of the first line that differs. */
static void show_difference(const char *text, const char *wanted)
{
	size_t same = 0, start = 0, line = 1;

	for (; text[same] && text[same] == wanted[same]; same++) {
		if (text[same] == '\n') {
			start = same + 1;
			line++;
		}
	}
	printf("  line %zu is\n    %.*s\n  and should be\n    %.*s\n", line,
	       (int)strcspn(text + start, "\n"), text + start, (int)strcspn(wanted + start, "\n"),
	       wanted + start);
}

void test_golden(const char *text, const char *name, const char *file, int line)
{
	bool is_right = true;
	char path[512];
	FILE *out;

	if (!getenv("JOBMETER_WRITE_GOLDENS")) {
		char *wanted = test_data(name);

		is_right = strcmp(text, wanted) == 0;
		if (!is_right) {
			printf("  not what stands in %s:\n", name);
			show_difference(text, wanted);
		}
		free(wanted);
	} else {
		snprintf(path, sizeof(path), "%s/%s", TEST_DATA, name);
		out = fopen(path, "w");
		is_right = out && fputs(text, out) >= 0;
		if (out && fclose(out) < 0)
			is_right = false;
	}
	if (!is_right)
		fail(file, line);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type, (void)where;
	return remove(path);
}

static bool run(const struct test *test)
{
	if (setjmp(tests.failed)) {
		printf("FAILED %s\n", test->name);
		return false;
	}
	test->run();
	return true;
}

int main(int argc, char **argv)
{
	int ran = 0, failed = 0;

	for (const struct test *test = tests.first; test; test = test->next) {
		if (argc > 1 && !strstr(test->name, argv[1]))
			continue;
		ran++;
		failed += !run(test);
	}
	if (tests.dir[0])
		nftw(tests.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	printf("%d tests, %d failed\n", ran, failed);
	return failed || !ran;
}
