/* SPDX-License-Identifier: MIT */
#include "losses.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "tool.h"

#define LOOP_STEPS 1000000
#define CPUS_MAX 1024

const char *loss_name(enum loss loss)
{
	static const char *const names[LOSS_COUNT] = {
		[LOSS_COMPUTE] = "a tight loop on every CPU",
		[LOSS_SWITCH] = "`stress-ng --switch`",
		[LOSS_MPI] = "MPI ping-pong of 2 ranks",
	};

	return names[loss];
}

const char *loss_missing(enum loss loss, const char *pingpong)
{
	if (loss == LOSS_SWITCH && !tool_exists("stress-ng"))
		return "stress-ng is not installed";
	if (loss == LOSS_MPI && !tool_exists("mpirun"))
		return "mpirun is not installed";
	if (loss == LOSS_MPI && (!pingpong || access(pingpong, X_OK) < 0))
		return "pingpong was not built: libopenmpi-dev is not installed";
	return NULL;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Millions of steps a second. */
static double compute(int seconds)
{
	double begin = now(), end = begin;
	volatile uint64_t state = 88172645463325252;
	uint64_t rounds = 0;

	for (; end - begin < seconds; end = now()) {
		uint64_t x = state;

		for (int i = 0; i < LOOP_STEPS; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		state = x;
		rounds++;
	}
	return (double)rounds / (end - begin);
}

/* One process a CPU, which the scheduler spreads; what they do together. */
static int compute_everywhere(int seconds, double *ret, struct error *err)
{
	long cpus = MIN(sysconf(_SC_NPROCESSORS_ONLN), (long)CPUS_MAX);
	pid_t pids[CPUS_MAX];
	double sum = 0, one;
	int fds[2];

	if (pipe(fds) < 0)
		return error_set_errno(err, errno, "cannot make a pipe");
	for (long i = 0; i < cpus; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			one = compute(seconds);
			_exit(write(fds[1], &one, sizeof(one)) != sizeof(one));
		}
	}
	close(fds[1]);
	while (read(fds[0], &one, sizeof(one)) == sizeof(one))
		sum += one;
	close(fds[0]);
	for (long i = 0; i < cpus; i++) {
		if (pids[i] > 0)
			waitpid(pids[i], NULL, 0);
	}
	*ret = sum;
	return sum > 0 ? 0 : error_set(err, -EIO, "no loop could be run");
}

/* The number that is the @column'th word of the last line with @mark in it. */
static int run_and_find(const char *command, const char *mark, int column, double *ret,
			struct error *err)
{
	char line[1024];
	double found = 0;
	FILE *pipe = popen(command, "re");

	if (!pipe)
		return error_set_errno(err, errno, "cannot run '%s'", command);
	while (fgets(line, sizeof(line), pipe)) {
		char *at = strstr(line, mark), *saved = NULL,
		     *word = at ? strtok_r(at, " \n", &saved) : NULL;

		for (int i = 0; i < column && word; i++)
			word = strtok_r(NULL, " \n", &saved);
		if (word && atof(word) > 0)
			found = atof(word);
	}
	if (pclose(pipe) != 0 || found <= 0)
		return error_set(err, -EIO, "'%s' failed", command);
	*ret = found;
	return 0;
}

int loss_measure(enum loss loss, const char *pingpong, int seconds, double *ret, struct error *err)
{
	char command[4096 + 256];

	switch (loss) {
	case LOSS_COMPUTE:
		return compute_everywhere(seconds, ret, err);
	case LOSS_SWITCH: /* "stress-ng: metrc: [7] switch BOGO REAL USER SYSTEM OPS-A-SECOND ..."
			   */
		snprintf(command, sizeof(command),
			 "cd /tmp && stress-ng --switch 1 --timeout %ds --metrics-brief 2>&1",
			 seconds);
		return run_and_find(command, "] switch ", 6, ret, err);
	case LOSS_MPI:
		snprintf(command, sizeof(command),
			 "mpirun --allow-run-as-root --oversubscribe -np 2 '%s' %d 2>/dev/null",
			 pingpong, seconds);
		return run_and_find(command, "", 0, ret, err);
	case LOSS_COUNT:
		break;
	}
	return -EINVAL;
}
