/* SPDX-License-Identifier: MIT */
#include "trace/deadline.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "basic/macro.h"

#define NS_PER_S UINT64_C(1000000000)

struct deadline {
	int fd, left_fd; /* the second: it is not wanted any more */
	struct timespec after;
	bool is_endless;
	void (*reached)(void *context);
	void *context;
	pthread_t thread;
};

static void *deadline_wait(void *context)
{
	struct deadline *d = context;
	struct pollfd p[] = { { .fd = d->left_fd, .events = POLLIN },
			      { .fd = d->fd, .events = POLLIN } };

	ppoll(p, ARRAY_SIZE(p), d->is_endless ? NULL : &d->after, NULL);
	if (!p[0].revents)
		d->reached(d->context);
	return NULL;
}

int deadline_new(int fd, uint64_t after_ns, void (*reached)(void *context), void *context,
		 struct deadline **ret)
{
	struct deadline *d = calloc(1, sizeof(*d));
	sigset_t all, before;
	int r;

	if (!d)
		return -ENOMEM;
	*d = (struct deadline){ .fd = fd,
				.left_fd = eventfd(0, EFD_CLOEXEC),
				.after = { .tv_sec = (time_t)(after_ns / NS_PER_S),
					   .tv_nsec = (long)(after_ns % NS_PER_S) },
				.is_endless = !after_ns,
				.reached = reached,
				.context = context };
	sigfillset(&all); /* signals are for the thread that made it */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = d->left_fd < 0 ? -errno : -pthread_create(&d->thread, NULL, deadline_wait, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0) {
		if (d->left_fd >= 0)
			close(d->left_fd);
		free(d);
		return r;
	}
	*ret = d;
	return 0;
}

struct deadline *deadline_free(struct deadline *d)
{
	if (!d)
		return NULL;
	eventfd_write(d->left_fd, 1);
	pthread_join(d->thread, NULL);
	close(d->left_fd);
	free(d);
	return NULL;
}
