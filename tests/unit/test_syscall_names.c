/* SPDX-License-Identifier: MIT */
#include "load/syscall_names.h"

#include <string.h>
#include <sys/syscall.h>

#include "bpf/syscall_counts.h"
#include "selftest/selftest.h"
#include "model/sections/syscalls.h"
#include "test.h"
#include "selftest/verdict.h"

static uint8_t traits[SYSCALL_ROWS];

TEST(calls_have_the_names_of_the_kernels_headers)
{
	char name[SYSCALL_NAME_SIZE];

	ASSERT_STREQ(syscall_name(SYS_read, name), "read");
	ASSERT_STREQ(syscall_name(SYS_getppid, name), "getppid");
	ASSERT_STREQ(syscall_name(SYS_clone3, name), "clone3");
	ASSERT_STREQ(syscall_name(SYSCALL_COMPAT - 1, name), "syscall_511");
	ASSERT_STREQ(syscall_name(SYSCALL_BEYOND, name), "(other)");
	ASSERT_STREQ(syscall_name(UINT32_MAX, name), "(other)");
}

#if defined(__x86_64__)
TEST(calls_of_other_machines_are_told_apart)
{
	char name[SYSCALL_NAME_SIZE];

	ASSERT_STREQ(syscall_name(SYSCALL_COMPAT + 20, name), "getpid (i386)");
	ASSERT_STREQ(syscall_name(SYSCALL_COMPAT + 511, name), "syscall_511 (i386)");
	ASSERT_STREQ(syscall_name(SYSCALL_X32 + 0, name), "read (x32)");
	ASSERT_STREQ(syscall_name(SYSCALL_X32 + 520, name), "execve (x32)");
}
#endif

TEST(no_two_rows_have_one_name)
{
	static char names[SYSCALL_ROWS][SYSCALL_NAME_SIZE];

	for (uint32_t i = 0; i < SYSCALL_ROWS; i++) {
		syscall_name(i, names[i]);
		ASSERT(strlen(names[i]) <= SYSCALL_NAME_MAX);
		for (uint32_t j = 0; j < i; j++)
			ASSERT(strcmp(names[i], names[j]) != 0);
	}
}

TEST(those_that_are_peculiar_are_known_on_each_machine)
{
	syscall_traits_fill(traits);
	ASSERT_EQ(traits[SYS_clone], (unsigned int)SYSCALL_MAKES_TASK);
	ASSERT_EQ(traits[SYS_execve], (unsigned int)SYSCALL_EXECUTES);
	ASSERT_EQ(traits[SYS_rt_sigreturn], (unsigned int)SYSCALL_HAS_NO_RESULT);
	ASSERT_EQ(traits[SYS_restart_syscall], (unsigned int)SYSCALL_GOES_ON);
	ASSERT_EQ(traits[SYS_read], 0u);
#if defined(__x86_64__)
	ASSERT_EQ(traits[335], (unsigned int)SYSCALL_IS_TRAP);
	ASSERT_EQ(traits[336], (unsigned int)SYSCALL_IS_TRAP);
#endif
#if defined(__x86_64__)
	ASSERT_EQ(traits[SYSCALL_COMPAT + 2], (unsigned int)SYSCALL_MAKES_TASK); /* fork */
	ASSERT_EQ(traits[SYSCALL_COMPAT + 119], (unsigned int)SYSCALL_HAS_NO_RESULT); /* sigreturn
										       */
	ASSERT_EQ(traits[SYSCALL_X32 + 520], (unsigned int)SYSCALL_EXECUTES);
#endif
	ASSERT_EQ(traits[SYSCALL_BEYOND], 0u);
}

static void add(struct syscalls *s, const char *name, uint64_t calls, uint64_t errors, uint64_t ns)
{
	struct syscall_row *row = syscalls_get(s, name);

	syscall_set(row, METRIC_SYSCALL_CALLS, calls);
	syscall_set(row, METRIC_SYSCALL_ERRORS, errors);
	syscall_set(row, METRIC_SYSCALL_SECONDS, ns);
}

TEST(a_hook_that_miscounted_the_canary_is_doubted_and_says_why)
{
	struct syscalls counted = { .is_known = true };
	struct verdict verdict = {};

	add(&counted, "getppid", 3, 0, 100);
	add(&counted, "getpgid", 2, 2, 100);
	add(&counted, "nanosleep", 1, 0, 1000000);
	add(&counted, "exit_group", 1, 0, 1);
	add(&counted, "ppoll", 1, 1, 1);
	syscall_selftest_judge(&counted, &verdict);
	ASSERT_EQ(verdict.count, 5u);
	for (size_t i = 0; i < verdict.count; i++)
		ASSERT_STREQ(verdict.items[i].why, "");
	verdict = (struct verdict){};
	add(&counted, "getppid", 2, 0, 100);
	add(&counted, "nanosleep", 1, 0, 999999);
	syscall_selftest_judge(&counted, &verdict);
	ASSERT_STREQ(verdict.items[0].why, "of 3 calls of getppid, 0 failed, it saw 2 and 0");
	ASSERT_CONTAINS(verdict.items[2].why,
			"nanosleep took 1000000 ns at least, and 999999 by it");
	ASSERT_STREQ(verdict.items[1].why, "");
	syscalls_clear(&counted);
}
