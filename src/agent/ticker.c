/* SPDX-License-Identifier: MIT */
#include "agent/ticker.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"

#define NS_PER_S UINT64_C(1000000000)

uint64_t ticker_next(uint64_t now_ns, uint64_t interval_ns)
{
	uint64_t passed = now_ns / interval_ns;

	return passed >= UINT64_MAX / interval_ns ? UINT64_MAX : (passed + 1) * interval_ns;
}

/* ECANCELED: the clock was set since, which the timer goes by already. */
static int aim(struct ticker *t, struct error *err)
{
	uint64_t next = ticker_next(clock_now_ns(CLOCK_REALTIME), t->interval_ns);
	struct itimerspec when = {};

	when.it_value.tv_sec = (time_t)(next / NS_PER_S);
	when.it_value.tv_nsec = (long)(next % NS_PER_S);
	if (timerfd_settime(t->fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, NULL) < 0 &&
	    errno != ECANCELED)
		return error_set_errno(err, errno, "cannot set the timer of readings");
	t->due_ns = next;
	return 0;
}

int ticker_open(uint64_t interval_ns, struct ticker *ret, struct error *err)
{
	struct ticker t = TICKER_NONE;
	int r;

	t.interval_ns = interval_ns;
	t.fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (t.fd < 0)
		return error_set_errno(err, errno, "cannot create the timer of readings");
	r = aim(&t, err);
	if (r < 0) {
		ticker_close(&t);
		return r;
	}
	*ret = t;
	return 0;
}

void ticker_close(struct ticker *t)
{
	closep(&t->fd);
	*t = TICKER_NONE;
}

int ticker_set(struct ticker *t, uint64_t interval_ns, struct error *err)
{
	t->interval_ns = interval_ns;
	return aim(t, err);
}

int ticker_read(struct ticker *t, bool *ret_is_due, struct error *err)
{
	uint64_t times;
	ssize_t n = read(t->fd, &times, sizeof(times));

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		*ret_is_due = false;
		return 0;
	}
	if (n < 0 && errno != ECANCELED)
		return error_set_errno(err, errno, "cannot read the timer of readings");
	*ret_is_due = n >= 0;
	return aim(t, err);
}
