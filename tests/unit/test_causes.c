/* SPDX-License-Identifier: MIT */
#include "load/calls.h"
#include "model/cause.h"

#include <sys/syscall.h>

#include "test.h"

static struct call_cause causes[TIME_CALLS];

static void expect(long nr, enum cause cause, uint8_t file)
{
	causes_fill(causes);
	ASSERT_EQ(causes[nr].cause, cause);
	ASSERT_EQ(causes[nr].file, file);
}

TEST(reads_and_writes_ask_for_the_kind_of_their_file)
{
	expect(SYS_read, CAUSE_FILE_READ, 0);
	expect(SYS_preadv2, CAUSE_FILE_READ, 0);
	expect(SYS_pwrite64, CAUSE_FILE_WRITE, 0);
	expect(SYS_copy_file_range, CAUSE_FILE_READ, 0);
	expect(SYS_sendfile, CAUSE_FILE_READ, 0); /* where it writes to, which is its first argument
						   */
	expect(SYS_recvmsg, CAUSE_NETWORK, 0);
}

TEST(other_operations_on_files_are_files_whatever_they_are_on)
{
	expect(SYS_openat, CAUSE_FILE_META, TIME_NO_FILE);
	expect(SYS_close, CAUSE_FILE_META, TIME_NO_FILE);
	expect(SYS_getdents64, CAUSE_FILE_META, TIME_NO_FILE);
	expect(SYS_fsync, CAUSE_SYNC, TIME_NO_FILE);
	expect(SYS_msync, CAUSE_SYNC, TIME_NO_FILE);
	expect(SYS_execve, CAUSE_FILE_READ, TIME_NO_FILE);
	expect(SYS_io_submit, CAUSE_FILE_ASYNC, TIME_NO_FILE);
}

TEST(calls_that_wait_for_something_else_are_told_by_their_number)
{
	expect(SYS_futex, TIME_FUTEX, TIME_NO_FILE); /* its arguments decide */
	expect(SYS_epoll_pwait, CAUSE_POLL, TIME_NO_FILE);
	expect(SYS_clock_nanosleep, CAUSE_SLEEP, TIME_NO_FILE);
	expect(SYS_wait4, CAUSE_CHILDREN, TIME_NO_FILE);
	expect(SYS_ioctl, CAUSE_OTHER, TIME_NO_FILE);
	expect(SYS_restart_syscall, TIME_AS_BEFORE, TIME_NO_FILE);
	expect(TIME_CALLS - 1, CAUSE_OTHER, TIME_NO_FILE);
}

TEST(each_number_has_a_cause)
{
	causes_fill(causes);
	for (size_t nr = 0; nr < TIME_CALLS; nr++)
		ASSERT(causes[nr].cause < CAUSE_COUNT || causes[nr].cause == TIME_AS_BEFORE ||
		       causes[nr].cause == TIME_FUTEX);
}
