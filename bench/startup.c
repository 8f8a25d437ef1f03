/* SPDX-License-Identifier: MIT */
#include "startup.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double to_ms(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static _Noreturn void be_silent(const char *const argv[])
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

static bool measure_once(struct startup *item)
{
	struct rusage usage;
	double start = now_ms();
	pid_t pid = fork();
	int status;

	if (pid == 0)
		be_silent(item->argv);
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0)
		return false;
	samples_add(&item->wall_ms, now_ms() - start);
	samples_add(&item->cpu_ms, to_ms(usage.ru_utime) + to_ms(usage.ru_stime));
	return true;
}

void startup_measure(struct startup *items, int count, int times)
{
	for (int i = 0; i < times; i++) {
		for (int k = 0; k < count; k++) {
			if (items[k].argv[0] && !measure_once(&items[k]))
				items[k].argv[0] = NULL;
		}
	}
}
