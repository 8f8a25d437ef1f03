/* SPDX-License-Identifier: MIT */
#include "selftest/canary.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "counters/counted_all.h"
#include "basic/error.h"
#include "cgroup/group.h"
#include "load/held.h"
#include "selftest/song.h"
#include "selftest/stage.h"
#include "selftest/syscall_song.h"
#include "model/sections/syscalls.h"
#include "selftest/verdict.h"

#define SETTLE_MS 500 /* twice as long each time */
#define SONGS_MAX 3 /* on a busy machine a hook may miss a call now and then */

/* Put the canary in @group and let it sing to its end. */
static int wait_for_song(const struct group *group, const struct held *canary, struct error *err)
{
	int status, r = group_add_process(group, canary->pid, err);

	if (r >= 0)
		r = held_release(canary);
	if (r < 0)
		kill(canary->pid, SIGKILL);
	while (waitpid(canary->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(canary->fd); /* who is released and finds it closed takes that for an end */
	if (r < 0)
		return r;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return error_set(err, -EIO, "the canary's own operations failed");
	return 0;
}

static _Noreturn void be_canary(struct stage *stage, bool names_syscalls)
{
	int r = song_sing(stage);

	if (names_syscalls)
		syscall_song_sing();
	_exit(r < 0);
}

static int let_sing(const struct group *group, struct stage *stage, bool names_syscalls, struct error *err)
{
	struct held canary;
	int r = held_fork(&canary);

	if (r < 0)
		return error_set_errno(err, r, "cannot start a process");
	if (canary.pid == 0)
		be_canary(stage, names_syscalls);
	return wait_for_song(group, &canary, err);
}

static void apply(struct meter *m, const struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->count; i++)
		meter_believe(m, verdict->items[i].program);
	for (size_t i = 0; i < verdict->count; i++) {
		if (*verdict->items[i].why)
			meter_disbelieve(m, verdict->items[i].program, "%s", verdict->items[i].why);
	}
}

static bool has_doubts(const struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->count; i++) {
		if (*verdict->items[i].why)
			return true;
	}
	return false;
}

static int judge_syscalls(const struct meter *m, struct verdict *verdict, struct error *err)
{
	_cleanup_(syscalls_clear) struct syscalls counted = {};
	uint64_t open;
	int r = meter_read_syscalls(m, &counted, &open, err);

	if (r == 0 && counted.is_known)
		syscall_song_judge(&counted, verdict);
	return r;
}

static int sing_and_judge(struct meter *m, const struct group *group, bool is_thorough, int settle_ms,
			  struct verdict *ret, struct error *err)
{
	_cleanup_(reading_clear) struct reading reading = {};
	_cleanup_(stage_close) struct stage stage = {};
	struct evidence evidence = { .reading = &reading, .settle_ms = settle_ms };
	uint64_t skipped = meter_skipped_runs(m);
	bool names_syscalls = meter_opened_with(m)->names_syscalls;
	size_t followed = meter_followed_connections(m);
	int r = stage_open(is_thorough, &stage, err);

	stage.has_libaio = is_thorough && meter_is_on(m, "end_libaio_request");
	if (r >= 0)
		r = let_sing(group, &stage, names_syscalls, err);
	if (r < 0)
		return r;
	evidence.is_settled = meter_settle(m, settle_ms) == 0;
	r = counted_all_read(m, &reading, err);
	if (r < 0)
		return r;
	evidence.is_disturbed = meter_skipped_runs(m) != skipped;
	evidence.hooks = meter_hooks(m, &evidence.hook_count);
	evidence.results = stage.results;
	evidence.talk = stage.talk;
	evidence.has_left_connections = meter_followed_connections(m) > followed;
	verdict_find(&evidence, ret);
	return names_syscalls ? judge_syscalls(m, ret, err) : 0;
}

/* Each in a group of its own: where the canary before it is freed late, which may have been what was doubted, it would be
 * counted in this one too. */
static int try_song(struct meter *m, int root_fd, const struct hierarchy *h, bool is_thorough, int settle_ms,
		    struct verdict *ret, struct error *err)
{
	_cleanup_(group_removep) struct group *group = NULL;
	char name[64];
	int r;

	snprintf(name, sizeof(name), "jobmeter-canary-%d", getpid());
	r = group_make(root_fd, h, name, &group, err);
	if (r < 0)
		return r;
	meter_watch(m, group_id(group));
	return sing_and_judge(m, group, is_thorough, settle_ms, ret, err);
}

int canary_sing(struct meter *m, int root_fd, const struct hierarchy *h, uint64_t watched_id,
		bool is_thorough, struct error *err)
{
	struct verdict verdict = {};
	int r = 0;

	meter_follow_syscalls(m, false);
	for (int songs = 0; r >= 0 && songs < SONGS_MAX && (!songs || has_doubts(&verdict)); songs++)
		r = try_song(m, root_fd, h, is_thorough, SETTLE_MS << songs, &verdict, err);
	if (r >= 0)
		apply(m, &verdict);
	meter_watch(m, watched_id);
	return r;
}
