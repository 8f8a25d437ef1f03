/* SPDX-License-Identifier: MIT */
#include "selftest/canary.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "counters/cgroups.h"
#include "counters/details.h"
#include "counters/task_sums.h"
#include "basic/error.h"
#include "cgroup/group.h"
#include "load/held.h"
#include "selftest/selftest.h"
#include "selftest/fixture.h"
#include "model/sections/syscalls.h"
#include "selftest/verdict.h"

#define SETTLE_MS 500 /* twice as long each time */
#define SELFTESTS_MAX 3 /* on a busy machine a hook may miss a call now and then */

/* Put the canary in @group and let it run to its end. */
static int wait_for_selftest(const struct group *group, const struct held *canary,
			     struct error *err)
{
	int status, r = group_add_process(group, canary->pid, err);

	if (r >= 0)
		r = held_release(canary);
	if (r < 0)
		kill(canary->pid, SIGKILL);
	while (waitpid(canary->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(canary->fd); /* the child takes a closed socket for an end */
	if (r < 0)
		return r;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return error_set(err, -EIO, "the self-test's own operations failed");
	return 0;
}

static int let_run(const struct group *group, struct fixture *fixture, bool names_syscalls,
		   struct error *err)
{
	struct held canary;
	int r = held_fork(&canary);

	if (r < 0)
		return error_set_errno(err, r, "cannot start a process");
	if (canary.pid == 0) {
		r = selftest_run(fixture);
		if (names_syscalls)
			syscall_selftest_run();
		_exit(r < 0);
	}
	return wait_for_selftest(group, &canary, err);
}

static int judge_syscalls(const struct meter *m, struct verdict *verdict, struct error *err)
{
	_cleanup_(syscalls_clear) struct syscalls counted = {};
	int r = syscalls_read(m, &(struct details_of){ .is_all = true }, &counted, err);

	if (r == 0 && counted.is_known)
		syscall_selftest_judge(&counted, verdict);
	return r;
}

static int run_and_judge(struct meter *m, const struct group *group, bool is_thorough,
			 int settle_ms, struct verdict *ret, struct error *err)
{
	_cleanup_(reading_clear) struct reading reading = {};
	_cleanup_(fixture_close) struct fixture fixture = {};
	struct evidence evidence = { .reading = &reading, .settle_ms = settle_ms };
	uint64_t skipped = meter_skipped_runs(m);
	bool names_syscalls = meter_opened_with(m)->names_syscalls;
	const struct objects *o = meter_objects(m);
	size_t followed = objects_count_entries(o, OBJECT_FILES, "connections");
	int r = fixture_open(is_thorough, &fixture, err);

	fixture.has_libaio = is_thorough && meter_is_on(m, "end_libaio_request");
	if (r >= 0)
		r = let_run(group, &fixture, names_syscalls, err);
	if (r < 0)
		return r;
	evidence.is_settled = task_sums_wait(m, settle_ms) == 0;
	r = counted_all_read(m, &reading, err);
	if (r < 0)
		return r;
	evidence.is_disturbed = meter_skipped_runs(m) != skipped;
	evidence.hooks = meter_hooks(m, &evidence.hook_count);
	evidence.results = fixture.results;
	evidence.talk = fixture.talk;
	evidence.has_left_connections = objects_count_entries(o, OBJECT_FILES, "connections") >
					followed;
	verdict_find(&evidence, ret);
	return names_syscalls ? judge_syscalls(m, ret, err) : 0;
}

/* Each in a group of its own: where the canary before it is freed late, which may have been what
 * was doubted, it would be counted in this one too. */
static int try_selftest(struct meter *m, int root_fd, const struct hierarchy *h, bool is_thorough,
			int settle_ms, struct verdict *ret, struct error *err)
{
	_cleanup_(group_removep) struct group *group = NULL;
	int r = group_make(root_fd, h, "jobmeter-selftest", &group, err);

	if (r < 0)
		return r;
	meter_watch(m, group_id(group));
	return run_and_judge(m, group, is_thorough, settle_ms, ret, err);
}

int canary_run(struct meter *m, int root_fd, const struct hierarchy *h, uint64_t watched_id,
	       bool is_thorough, struct error *err)
{
	struct verdict verdict = {};
	int r = 0;

	meter_follow_syscalls(m, false);
	for (int selftests = 0;
	     r >= 0 && selftests < SELFTESTS_MAX && (!selftests || verdict.doubts); selftests++)
		r = try_selftest(m, root_fd, h, is_thorough, SETTLE_MS << selftests, &verdict, err);
	for (size_t i = 0; r >= 0 && i < verdict.count; i++)
		meter_believe(m, verdict.items[i].program);
	for (size_t i = 0; r >= 0 && i < verdict.count; i++) {
		if (*verdict.items[i].why)
			meter_disbelieve(m, verdict.items[i].program, "%s", verdict.items[i].why);
	}
	meter_watch(m, watched_id);
	return r;
}
