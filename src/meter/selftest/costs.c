/* SPDX-License-Identifier: MIT */
#include "selftest/checkup.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "cgroup/group.h"
#include "basic/macro.h"
#include "load/meter.h"

#define ROUNDS_MAX 9
#define ROUNDS_MIN 3
#define TIME_NS UINT64_C(1200000000) /* no round begins after this */
#define BATCHES 20 /* the fastest counts: the others were interrupted */
#define BATCH_CALLS 1000
#define PAGE 4096

struct setting {
	const char *name;
	unsigned int tiers;
	bool has_clock, has_histograms;
};

/* clang-format off */
static const struct setting settings[COSTS_COUNT] = {
	{ "no meter", 0,       false, false },
	{ "totals", METER_T0, false, false },
	{ "files: counts", METER_T2, false, false },
	{ "files: and times", METER_T2, true,  false },
	{ "files: default", METER_T2, true,  true },
};
/* clang-format on */

/* Results of one turn. */
struct turn {
	uint64_t read_ns, call_ns; /* of a batch of calls */
};

struct worker {
	pid_t pid;
	int fd; /* a byte requests a turn, which is the answer */
};

static bool read_batch(int file_fd)
{
	char page[PAGE];

	for (int i = 0; i < BATCH_CALLS; i++) {
		if (pread(file_fd, page, sizeof(page), 0) != sizeof(page))
			return false;
	}
	return true;
}

static bool take_turn(int file_fd, struct turn *ret)
{
	*ret = (struct turn){ UINT64_MAX, UINT64_MAX };
	for (int i = 0; i < BATCHES; i++) {
		uint64_t begin = clock_now_ns(CLOCK_MONOTONIC), between, end;

		if (!read_batch(file_fd))
			return false;
		between = clock_now_ns(CLOCK_MONOTONIC);
		for (int call = 0; call < BATCH_CALLS; call++)
			(void)syscall(SYS_getppid);
		end = clock_now_ns(CLOCK_MONOTONIC);
		ret->read_ns = MIN(ret->read_ns, between - begin);
		ret->call_ns = MIN(ret->call_ns, end - between);
	}
	return true;
}

static _Noreturn void work(int fd)
{
	char page[PAGE] = "", byte;
	struct turn turn;
	int file_fd = memfd_create("jobmeter-costs", MFD_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (file_fd < 0 || write(file_fd, page, sizeof(page)) != sizeof(page))
		_exit(1);
	while (recv(fd, &byte, 1, 0) == 1) {
		if (!take_turn(file_fd, &turn) ||
		    send(fd, &turn, sizeof(turn), MSG_NOSIGNAL) != sizeof(turn))
			_exit(1);
	}
	_exit(0);
}

static int worker_start(struct worker *ret, struct error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set_errno(err, errno, "cannot make a socket pair");
	ret->pid = fork();
	if (ret->pid == 0) {
		close(pair[0]);
		work(pair[1]);
	}
	close(pair[1]);
	if (ret->pid < 0) {
		close(pair[0]);
		return error_set_errno(err, errno, "cannot start a process");
	}
	ret->fd = pair[0];
	return 0;
}

/* It ends when its socket does. */
static void worker_end(struct worker *w)
{
	if (w->pid <= 0)
		return;
	close(w->fd);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* One turn under one setting.  1: its hooks are not all on, and nothing is known. */
static int measure_turn(const struct meter_options *options, const struct worker *worker,
			struct turn *ret, struct error *err)
{
	_cleanup_(meter_closep) struct meter *meter = NULL;

	if (options->tiers) {
		int r = meter_open(options, &meter);

		if (r < 0)
			return error_set_errno(err, r, "cannot start the meter");
		if (!meter_has_tier(meter, (enum meter_tier)options->tiers))
			return 1;
	}
	if (send(worker->fd, "", 1, MSG_NOSIGNAL) != 1 ||
	    recv(worker->fd, ret, sizeof(*ret), MSG_WAITALL) != sizeof(*ret))
		return error_set(err, -EIO, "the process that is to be measured has ended");
	return 0;
}

struct turns {
	struct turn taken[COSTS_COUNT][ROUNDS_MAX];
	bool is_refused[COSTS_COUNT];
	unsigned int rounds;
};

static int measure_round(struct meter_options *options, const struct worker *worker,
			 struct turns *turns, struct error *err)
{
	for (size_t i = 0; i < COSTS_COUNT; i++) {
		int r;

		if (turns->is_refused[i])
			continue;
		options->tiers = settings[i].tiers;
		options->has_clock = settings[i].has_clock;
		options->has_histograms = settings[i].has_histograms;
		r = measure_turn(options, worker, &turns->taken[i][turns->rounds], err);
		if (r < 0)
			return r;
		turns->is_refused[i] = r > 0;
	}
	turns->rounds++;
	return 0;
}

static int compare_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* @batches: ns of BATCH_CALLS calls. */
static struct cost_spread spread_of(int64_t *batches, unsigned int count)
{
	struct cost_spread s;

	qsort(batches, count, sizeof(*batches), compare_ns);
	s.min_ns = batches[0] / BATCH_CALLS;
	s.median_ns = batches[count / 2] / BATCH_CALLS;
	s.max_ns = batches[count - 1] / BATCH_CALLS;
	return s;
}

static void evaluate(const struct turns *turns, struct costs *ret)
{
	int64_t reads[ROUNDS_MAX], calls[ROUNDS_MAX];

	*ret = (struct costs){ .rounds = turns->rounds, .calls = BATCHES * BATCH_CALLS };
	for (size_t i = 0; i < COSTS_COUNT; i++) {
		struct cost *row = &ret->rows[i];

		row->name = settings[i].name;
		row->is_known = !turns->is_refused[i];
		if (!row->is_known)
			continue;
		for (unsigned int k = 0; k < turns->rounds; k++) {
			const struct turn *bare = &turns->taken[0][k], *t = &turns->taken[i][k];

			reads[k] = (int64_t)(t->read_ns - (i ? bare->read_ns : 0));
			calls[k] = (int64_t)(t->call_ns - (i ? bare->call_ns : 0));
		}
		row->read = spread_of(reads, turns->rounds);
		row->call = spread_of(calls, turns->rounds);
	}
}

int costs_measure(int root_fd, const struct hierarchy *h, struct costs *ret, struct error *err)
{
	_cleanup_(group_removep) struct group *group = NULL;
	_cleanup_(worker_end) struct worker worker = {};
	struct meter_options options = { .root_fd = root_fd, .hierarchy = h };
	struct turns turns = {};
	uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
	int r = group_make(root_fd, h, "jobmeter-costs", &group, err);

	if (r < 0)
		return r;
	options.watched_id = group_id(group);
	r = worker_start(&worker, err);
	if (r >= 0)
		r = group_add_process(group, worker.pid, err);
	while (r >= 0 && turns.rounds < ROUNDS_MAX &&
	       (turns.rounds < ROUNDS_MIN || clock_now_ns(CLOCK_MONOTONIC) - begin < TIME_NS))
		r = measure_round(&options, &worker, &turns, err);
	if (r < 0)
		return r;
	evaluate(&turns, ret);
	return 0;
}
