/* SPDX-License-Identifier: MIT */
/* Of this program's own file, and of instructions. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "test.h"
#include "trace/image.h"
#include "trace/libraries.h"

int image_has_two_returns(int n);

static volatile int sink;

__attribute__((noinline)) int image_has_two_returns(int n)
{
	if (sink == n)
		return 1;
	sink = n;
	return n + sink;
}

struct seen {
	size_t count;
	struct image_site last;
};

static int see(void *context, const struct image_site *site)
{
	struct seen *seen = context;

	seen->count++;
	seen->last = *site;
	return 0;
}

static int open_own(struct image **ret)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ASSERT_OK(image_open(fd, ret, NULL));
	return fd;
}

TEST(a_function_is_found_by_its_name_where_its_code_stands)
{
	_cleanup_(image_freep) struct image *image = NULL;
	_cleanup_close_ int fd = open_own(&image);
	unsigned char code[8];
	struct seen seen = {};
	const unsigned char *own = (const unsigned char *)image_has_two_returns;

	ASSERT_OK(image_visit_functions(image, "image_has_two_returns", see, &seen));
	ASSERT(seen.count >= 1);
	ASSERT_STREQ(seen.last.name, "image_has_two_returns");
	ASSERT(pread(fd, code, sizeof(code), (off_t)seen.last.offset) == sizeof(code));
	ASSERT(memcmp(code, own, sizeof(code)) == 0 ||
	       memcmp(code, own + 4, sizeof(code)) == 0); /* behind an endbr64 */
	ASSERT(!image_is_static(image));
	ASSERT(image_defines(image, "image_has_two_returns"));
	ASSERT(!image_defines(image, "image_has_three_returns"));
}

TEST(a_pattern_stands_for_several_and_a_name_for_itself)
{
	_cleanup_(image_freep) struct image *image = NULL;
	_cleanup_close_ int fd = open_own(&image);
	struct seen seen = {};

	ASSERT(fd >= 0);
	ASSERT_OK(image_visit_functions(image, "image_has_two", see, &seen));
	ASSERT_EQ(seen.count, 0u);
	ASSERT_OK(image_visit_functions(image, "image_has_two*", see, &seen));
	ASSERT(seen.count >= 1);
}

#if defined(__x86_64__)
TEST(returns_of_a_function_are_found)
{
	_cleanup_(image_freep) struct image *image = NULL;
	_cleanup_close_ int fd = open_own(&image);
	struct seen function = {}, returns = {};
	unsigned char code;

	ASSERT_OK(image_visit_functions(image, "image_has_two_returns", see, &function));
	ASSERT_OK(image_visit_returns(image, &function.last, see, &returns));
	ASSERT(returns.count >= 1);
	ASSERT(pread(fd, &code, 1, (off_t)returns.last.offset) == 1);
	ASSERT(code == 0xc3 || code == 0xf3);
}

TEST(instructions_have_the_lengths_that_an_assembler_gives_them)
{
	static const struct {
		const char *bytes;
		size_t length;
	} rows[] = {
		{ "\x55", 1 }, /* push %rbp */
		{ "\x41\x57", 2 }, /* push %r15 */
		{ "\xf3\x0f\x1e\xfa", 4 }, /* endbr64 */
		{ "\x48\x83\xec\x18", 4 }, /* sub $0x18,%rsp */
		{ "\x48\x81\xec\x18\x01\x00\x00", 7 },
		{ "\x48\x8b\x44\x24\x08", 5 }, /* mov 0x8(%rsp),%rax */
		{ "\x48\x8b\x84\x24\x08\x01\x00\x00", 8 },
		{ "\x48\x8b\x05\x01\x02\x03\x04", 7 }, /* mov 0x4030201(%rip),%rax */
		{ "\x8b\x04\x25\x01\x02\x03\x04", 7 }, /* mov 0x4030201,%eax */
		{ "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 10 }, /* movabs */
		{ "\xb8\x01\x02\x03\x04", 5 },
		{ "\x66\xb8\x01\x02", 4 },
		{ "\xe8\x01\x02\x03\x04", 5 }, /* call */
		{ "\x0f\x84\x01\x02\x03\x04", 6 }, /* je */
		{ "\x74\x10", 2 },
		{ "\xf6\xc3\x01", 3 }, /* test $1,%bl */
		{ "\xf7\xd8", 2 }, /* neg %eax */
		{ "\xf7\xc7\x01\x00\x00\x00", 6 }, /* test $1,%edi */
		{ "\x0f\x1f\x44\x00\x00", 5 }, /* nopl 0x0(%rax,%rax,1) */
		{ "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 10 },
		{ "\xc5\xf8\x28\xc1", 4 }, /* vmovaps %xmm1,%xmm0 */
		{ "\xc4\xe3\x7d\x39\xc1\x01", 6 }, /* vextracti128 $1,%ymm0,%xmm1 */
		{ "\x62\xf1\xfe\x48\x6f\x07", 6 }, /* vmovdqu64 (%rdi),%zmm0 */
		{ "\x66\x0f\x3a\x0f\xc1\x08", 6 }, /* palignr */
		{ "\xc2\x08\x00", 3 }, /* ret $8 */
		{ "\xf3\xc3", 2 },
		{ "\xc8\x10\x00\x00", 4 }, /* enter */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const unsigned char *code = (const unsigned char *)rows[i].bytes;

		ASSERT_EQ(instruction_length(code, rows[i].length + 3), rows[i].length);
		ASSERT_EQ(instruction_length(code, rows[i].length - 1), (size_t)0);
	}
}

TEST(the_kernel_emulates_pushes_nops_jumps_and_calls)
{
	static const unsigned char push[] = { 0x41, 0x57 }, nop[] = { 0x0f, 0x1f, 0x44 },
				   call[] = { 0xe8, 1 }, je[] = { 0x0f, 0x84 },
				   sub[] = { 0x48, 0x83 }, landing[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	ASSERT_EQ(image_cost_of(push, 2), IMAGE_EMULATED);
	ASSERT_EQ(image_cost_of(nop, 3), IMAGE_EMULATED);
	ASSERT_EQ(image_cost_of(call, 2), IMAGE_EMULATED);
	ASSERT_EQ(image_cost_of(je, 2), IMAGE_EMULATED);
	ASSERT_EQ(image_cost_of(sub, 2), IMAGE_STEPPED);
	ASSERT_EQ(image_cost_of(landing, 4), IMAGE_STEPPED);
	ASSERT_EQ(image_cost_of(landing, 0), IMAGE_STEPPED);
}
#endif

TEST(what_is_no_program_is_refused)
{
	char text[] = "#!/bin/sh\nexit 0\n", none[] = "";
	struct image *image = NULL;
	struct error err = {};

	ASSERT_ERR(image_open_memory(text, sizeof(text), &image, &err), -ENOEXEC);
	ASSERT_CONTAINS(err.text, "no program or library");
	ASSERT_ERR(image_open_memory(none, 0, &image, NULL), -ENOEXEC);
	ASSERT(!image);
}

static int count_path(void *context, const char *path, bool is_program)
{
	size_t *count = context;

	ASSERT_EQ(path[0], '/');
	ASSERT(!is_program);
	++*count;
	return 0;
}

TEST(a_linkers_cache_that_is_cut_gives_what_is_whole)
{
	/* A header with two entries, the second of which points behind the end. */
	static const char cache[] = "glibc-ld.so.cache1.1"
				    "\2\0\0\0"
				    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
				    "\3\0\0\0\x60\0\0\0\x60\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
				    "\3\0\0\0\x60\0\0\0\xff\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
				    "/no/libx.so";
	size_t count = 0;

	ASSERT_OK(libraries_visit_cache(cache, sizeof(cache), count_path, &count));
	ASSERT_EQ(count, 1u);
	for (size_t size = 0; size < sizeof(cache); size++)
		ASSERT_OK(libraries_visit_cache(cache, size, count_path, &count));
	ASSERT_EQ(count, 1u);
}
