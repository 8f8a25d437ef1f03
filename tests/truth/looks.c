/* SPDX-License-Identifier: MIT */
/*
 * looks - asks again and again whether there is something to do, or does something else, for so
 * many ms of processor time, and tells how often it asked, and how much of its time, if it did
 * nothing else.
 *
 *	looks MODE MS OUTPUT
 *
 * Static, like the truth program.  What it writes, it writes at the end.
 */
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "basic/macro.h"

static uint64_t polls, yields;
static int timer_fd, epoll_fd;

static uint64_t used_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Arithmetic, for so much processor time. */
static void work(uint64_t ns)
{
	uint64_t end = used_ns() + ns;
	volatile uint64_t sink = 1;

	while (used_ns() < end)
		for (int i = 0; i < 5000; i++)
			sink = sink * 6364136223846793005u + 1442695040888963407u;
}

static void look_by_poll(void)
{
	polls += poll(NULL, 0, 0) == 0;
}

static void look_by_ppoll(void)
{
	struct timespec nothing = {};

	polls += ppoll(NULL, 0, &nothing, NULL) == 0;
}

static void look_by_select(void)
{
	struct timeval nothing = {};

	polls += select(0, NULL, NULL, NULL, &nothing) == 0;
}

static void look_by_epoll(void)
{
	struct epoll_event event;
	int empty_fd = epoll_create1(0);

	for (int i = 0; i < 101; i++)
		polls += epoll_wait(empty_fd, &event, 1, 0) == 0;
	close(empty_fd);
}

static void yield(void)
{
	yields += sched_yield() == 0;
}

/* As a library does that asks the system now and then: polls alone do not tell whether it waits. */
static void look_now_and_then(void)
{
	work(10000000);
	look_by_poll();
}

static void work_and_look(void)
{
	work(100000000);
	look_by_poll();
}

static void compute(void)
{
	work(1000000);
}

/* Between two looks it reads. */
static void look_and_read(void)
{
	char bytes[1009];
	FILE *zero = fopen("/dev/zero", "r");

	look_by_poll();
	if (!zero || fread(bytes, 1, sizeof(bytes), zero) != sizeof(bytes))
		exit(1);
	fclose(zero);
}

/* Sleeps until there is something to do, and does it. */
static void wait_for_events(void)
{
	struct epoll_event event;
	uint64_t times;

	if (epoll_wait(epoll_fd, &event, 1, -1) != 1 ||
	    read(timer_fd, &times, sizeof(times)) != sizeof(times))
		exit(1);
	work(2000000);
}

/* The wait ends by its limit, of which the kernel writes back what is left: nothing. */
static void wait_in_vain(void)
{
	struct timespec a_while = { .tv_nsec = 1000000 };
	struct timeval also = { .tv_usec = 1000 };

	poll(NULL, 0, 1);
	ppoll(NULL, 0, &a_while, NULL);
	select(0, NULL, NULL, NULL, &also);
	work(2000000);
}

static const struct {
	const char *name;
	void (*turn)(void);
	bool is_spinning;
} modes[] = {
	{ "poll", look_by_poll, true },	    { "ppoll", look_by_ppoll, true },
	{ "select", look_by_select, true }, { "epoll", look_by_epoll, true },
	{ "yield", yield, true },	    { "seldom", look_now_and_then, false },
	{ "apart", work_and_look, false },  { "compute", compute, false },
	{ "read", look_and_read, true },    { "events", wait_for_events, false },
	{ "limits", wait_in_vain, false },
};

static void open_timer(void)
{
	const struct itimerspec each = { .it_interval.tv_nsec = 5000000,
					 .it_value.tv_nsec = 5000000 };
	struct epoll_event event = { .events = EPOLLIN };

	timer_fd = timerfd_create(CLOCK_MONOTONIC, 0);
	epoll_fd = epoll_create1(0);
	if (timerfd_settime(timer_fd, 0, &each, NULL) < 0 ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &event) < 0)
		exit(1);
}

static int tell(const char *path, uint64_t spun_ns)
{
	FILE *out = fopen(path, "w");

	if (!out)
		return 1;
	fprintf(out, "{\"polls\": %lu, \"yields\": %lu, \"spun_ns\": %lu, \"used_ns\": %lu}\n",
		(unsigned long)polls, (unsigned long)yields, (unsigned long)spun_ns,
		(unsigned long)used_ns());
	return fclose(out) == 0 ? 0 : 1;
}

int main(int argc, char *argv[])
{
	uint64_t from, end;
	size_t mode = 0;

	while (argc == 4 && mode < ARRAY_SIZE(modes) && strcmp(argv[1], modes[mode].name) != 0)
		mode++;
	if (argc != 4 || mode == ARRAY_SIZE(modes)) {
		fprintf(stderr, "usage: looks MODE MS OUTPUT\n");
		return 2;
	}
	open_timer();
	from = used_ns();
	end = from + strtoull(argv[2], NULL, 10) * 1000000;
	while (used_ns() < end)
		modes[mode].turn();
	return tell(argv[3], modes[mode].is_spinning ? used_ns() - from : 0);
}
