/* SPDX-License-Identifier: MIT */
#include "canary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "error.h"
#include "held.h"
#include "macro.h"

#define SETTLE_MS 500
#define NAP_US 1000 /* how long the canary sleeps in a read, until a signal ends it */

/* What the song is worth, by operation.  The read on the pipe that a signal ends is the error. */
static const struct op_counts song[OP_COUNT] = {
	[OP_READ] = { .calls = 4, .bytes = 7 + 11 + 13, .errors = 1 },
	[OP_WRITE] = { .calls = 3, .bytes = 17 + 19 + 23 },
	[OP_OPEN] = { .calls = 1 },
	[OP_CREATE] = { .calls = 1 },
	[OP_CLOSE] = { .calls = 2 },
	[OP_FSYNC] = { .calls = 1 },
	[OP_FDATASYNC] = { .calls = 1 },
};

/* Which hooks an operation's count rests on. */
static const char *const hook_pair[] = { "enter_call", "leave_call" };

static void wake_up(int number)
{
	(void)number;
}

/* Sleep in a read until SIGALRM ends it, so that it is parked and comes back with EINTR. */
static bool nap(int pipe_fd)
{
	const struct sigaction action = { .sa_handler = wake_up }; /* no SA_RESTART */
	const struct itimerval timer = { .it_value = { .tv_usec = NAP_US },
					 .it_interval = { .tv_usec = NAP_US } };
	const struct itimerval off = {};
	sigset_t alarm;
	char byte;
	bool is_woken;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	is_woken = read(pipe_fd, &byte, 1) < 0 && errno == EINTR;
	setitimer(ITIMER_REAL, &off, NULL);
	return is_woken;
}

static bool sing(const char *path, int pipe_fd)
{
	char bytes[64] = "";
	struct iovec piece = { .iov_base = bytes, .iov_len = 13 };
	bool is_well;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return false;
	is_well = write(fd, bytes, 17) == 17 && pwrite(fd, bytes, 19, 17) == 19;
	piece.iov_len = 23;
	is_well = is_well && pwritev(fd, &piece, 1, 36) == 23;
	piece.iov_len = 13;
	is_well = is_well && fsync(fd) == 0 && fdatasync(fd) == 0 && close(fd) == 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	is_well = is_well && fd >= 0 && read(fd, bytes, 7) == 7 && pread(fd, bytes, 11, 0) == 11 &&
		  readv(fd, &piece, 1) == 13 && close(fd) == 0;
	return nap(pipe_fd) && is_well;
}

/* Put the canary in @group and let it sing to its end. */
static int wait_for_song(const struct group *group, const struct held *canary, struct error *err)
{
	int status, r = group_add_process(group, canary->pid, err);

	if (r >= 0)
		r = held_release(canary);
	close(canary->fd); /* one that was not released ends */
	while (waitpid(canary->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return r;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return error_set(err, -EIO, "the canary's own operations failed");
	return 0;
}

static void close_ends(int (*ends)[2])
{
	closep(&(*ends)[0]);
	closep(&(*ends)[1]);
}

static int let_sing(const struct group *group, struct error *err)
{
	_cleanup_(close_ends) int ends[2] = { -EBADF, -EBADF };
	char path[] = "/dev/shm/jobmeter-canary-XXXXXX";
	struct held canary;
	int fd = mkstemp(path), r;

	if (fd < 0)
		return error_set_errno(err, errno, "cannot make a file in /dev/shm");
	close(fd);
	unlink(path); /* the name is free, and the canary makes it */
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set_errno(err, errno, "cannot make a pipe");
	r = held_fork(&canary);
	if (r < 0)
		return error_set_errno(err, r, "cannot start a process");
	if (canary.pid == 0)
		_exit(sing(path, ends[0]) ? 0 : 1);
	r = wait_for_song(group, &canary, err);
	unlink(path);
	return r;
}

static void sum_ops(const struct reading *reading, struct op_counts *sums)
{
	for (size_t i = 0; i < reading->mount_count; i++) {
		for (size_t op = 0; op < OP_COUNT; op++) {
			const struct op_counts *from = &reading->mounts[i].ops[op];

			sums[op].calls += from->calls;
			sums[op].bytes += from->bytes;
			sums[op].errors += from->errors;
			sums[op].ns += from->ns;
		}
	}
}

static void judge_files(struct meter *m, const struct reading *reading)
{
	struct op_counts sums[OP_COUNT] = {};

	sum_ops(reading, sums);
	if (sums[OP_READ].errors == 0)
		meter_disbelieve(m, "settle_interrupted_call",
				 "the canary's read that a signal ended was not counted");
	if (sums[OP_READ].ns < NAP_US * UINT64_C(500))
		meter_disbelieve(m, "park_call", "the canary's sleep in a read was not timed");
	for (size_t op = 0; op < OP_COUNT; op++) {
		const struct op_counts *is = &sums[op], *should = &song[op];

		if (is->calls == should->calls && is->bytes == should->bytes &&
		    is->errors == should->errors)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(hook_pair); i++)
			meter_disbelieve(m, hook_pair[i],
					 "the canary's %s of %" PRIu64 " calls, %" PRIu64
					 " bytes was counted as %" PRIu64 " and %" PRIu64,
					 file_op_name((enum file_op)op), should->calls,
					 should->bytes, is->calls, is->bytes);
	}
}

static void judge_tasks(struct meter *m, const struct reading *reading, bool is_settled)
{
	uint64_t read_bytes = song[OP_READ].bytes, written = song[OP_WRITE].bytes;

	if (!is_settled)
		meter_disbelieve(m, "count_freed_task", "the canary's end was not seen in %d ms",
				 SETTLE_MS);
	else if (reading->values[METRIC_IO_CHARS_READ].number != read_bytes ||
		 reading->values[METRIC_IO_CHARS_WRITTEN].number != written)
		meter_disbelieve(m, "count_freed_task",
				 "the canary's %" PRIu64 " and %" PRIu64
				 " bytes were counted as %" PRIu64 " and %" PRIu64,
				 read_bytes, written,
				 reading->values[METRIC_IO_CHARS_READ].number,
				 reading->values[METRIC_IO_CHARS_WRITTEN].number);
}

static int sing_and_judge(struct meter *m, const struct group *group, struct error *err)
{
	_cleanup_(reading_clear) struct reading reading = {};
	bool has_files = meter_has_tier(m, METER_T2), has_tasks = meter_has_tier(m, METER_T0);
	bool is_settled;
	int r = let_sing(group, err);

	if (r < 0)
		return r;
	is_settled = meter_settle(m, SETTLE_MS) == 0;
	r = meter_read(m, &reading, err);
	if (r < 0)
		return r;
	if (has_files)
		judge_files(m, &reading);
	if (has_tasks)
		judge_tasks(m, &reading, is_settled);
	return 0;
}

int canary_sing(struct meter *m, int root_fd, const struct hierarchy *h, uint64_t watched_id,
		struct error *err)
{
	_cleanup_(group_removep) struct group *group = NULL;
	char name[64];
	int r;

	snprintf(name, sizeof(name), "jobmeter-canary-%d", getpid());
	r = group_make(root_fd, h, name, &group, err);
	if (r < 0)
		return r;
	meter_watch(m, group_id(group));
	r = sing_and_judge(m, group, err);
	meter_watch(m, watched_id);
	return r;
}
