/* SPDX-License-Identifier: MIT */
#include "agent/agent_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "basic/clock.h"
#include "config/config.h"
#include "basic/error.h"
#include "agent/helper.h"
#include "service/log.h"
#include "basic/macro.h"
#include "load/meter.h"
#include "basic/notify.h"
#include "agent/push.h"
#include "service/permission.h"
#include "agent/run_groups.h"
#include "agent/tracer_helper.h"
#include "node/sampler.h"

static void tell_news(struct agent *a)
{
	struct error news = {};

	while (sampler_has_news(a->sampler, &news))
		log_say(CONFIG_LOG_WARNING, "%s", news.text);
}

/* If the last one is older than that. */
static void take_reading(struct agent *a, uint64_t max_age_ns)
{
	struct snapshot *snapshot;
	struct error err = {};

	if (sampler_get(a->sampler, max_age_ns, &snapshot, &err) < 0)
		log_say(CONFIG_LOG_WARNING, "%s", err.text);
	else
		snapshot_unref(snapshot);
	tell_news(a);
}

static void tick(struct agent *a)
{
	struct error err = {};
	bool is_due = false;

	if (ticker_read(&a->ticker, &is_due, &err) < 0)
		log_say(CONFIG_LOG_ERROR, "%s", err.text);
	if (is_due)
		take_reading(a, 0);
}

static void apply(struct agent *a)
{
	struct permission *permission;
	struct error err = {};

	log_set_level(a->config->log_level);
	sampler_set_budget(a->sampler, a->config->budget);
	if (ticker_set(&a->ticker, a->config->interval_ns, &err) < 0)
		log_say(CONFIG_LOG_ERROR, "%s", err.text);
	push_apply(a->push, a->config);
	if (agent_make_permission(a->config, &permission, &err) < 0) {
		log_say(CONFIG_LOG_ERROR, "%s: permissions stay unchanged", err.text);
		return;
	}
	permission_become(a->permission, permission);
}

/* What is wrong changes nothing. */
static void reload(struct agent *a)
{
	struct config_changes changes = {};
	struct error err = {};
	int r;

	(void)notify_send("RELOADING=1", NULL);
	r = config_reload(&a->config, &changes, &err);
	if (r < 0) {
		log_say(CONFIG_LOG_ERROR, "%s: the old settings stay", err.text);
	} else {
		apply(a);
		log_say(CONFIG_LOG_INFO, "read the settings again; changed: %s%s%s",
			*changes.applied ? changes.applied : "nothing",
			*changes.waiting ? "; after a restart: " : "", changes.waiting);
	}
	(void)notify_send("READY=1", NULL);
}

static void take_signals(struct agent *a)
{
	struct signalfd_siginfo signal;

	while (read(a->signal_fd, &signal, sizeof(signal)) == (ssize_t)sizeof(signal)) {
		if (signal.ssi_signo == SIGHUP) {
			reload(a);
			continue;
		}
		a->is_ending = true;
		a->keeps = signal.ssi_signo == SIGUSR1;
	}
}

static void run_helper(struct agent *a)
{
	if (helper_run(a->helper) >= 0)
		return;
	log_say(CONFIG_LOG_ERROR,
		"the root helper is gone: there are no groups for users' runs any more");
	/* its descriptor stays readable for ever: the table of runs fails from now on, and says why
	 */
	a->helper = helper_stop(a->helper);
	run_groups_leave_helper(a->runs);
}

/* Most groups are no jobs. */
static void take_traced(void *context, const struct trace_post *post)
{
	struct error err = {};
	int r = sampler_add_trace(((struct agent *)context)->sampler, post, &err);

	if (r < 0 && r != -ENOENT)
		log_say(CONFIG_LOG_WARNING, "%s", err.text);
}

static int least(int a, int b)
{
	return a < 0 ? b : b < 0 ? a : MIN(a, b);
}

static void run_once(struct agent *a)
{
	enum { SIGNALS, TICKS, TCP, SOCKET, HELPER, TRACER, TRACED, SAMPLER, EDGES, PUSH, COUNT };
	struct pollfd fds[COUNT] = {
		[SIGNALS] = { a->signal_fd, POLLIN, 0 },
		[TICKS] = { a->ticker.fd, POLLIN, 0 },
		[TCP] = { a->tcp ? http_fd(a->tcp) : -1, POLLIN, 0 },
		[SOCKET] = { a->socket ? http_fd(a->socket) : -1, POLLIN, 0 },
		[HELPER] = { a->helper ? helper_fd(a->helper) : -1, POLLIN, 0 },
		[TRACER] = { a->tracer ? tracer_helper_fd(a->tracer) : -1, POLLIN, 0 },
		[TRACED] = { a->tracer ? tracer_helper_words_fd(a->tracer) : -1, POLLIN, 0 },
		[SAMPLER] = { sampler_fd(a->sampler), POLLIN, 0 },
		[EDGES] = { sampler_edge_fd(a->sampler), POLLIN, 0 },
		[PUSH] = { push_fd(a->push), POLLIN, 0 },
	};
	int timeout =
		least(a->tcp ? http_timeout_ms(a->tcp) : -1,
		      least(a->socket ? http_timeout_ms(a->socket) : -1, push_timeout_ms(a->push)));
	const int edge_timeout = sampler_edge_timeout_ms(a->sampler);
	uint64_t ahead_ns, begun_ns;
	uid_t uid;

	if (poll(fds, COUNT, least(timeout, edge_timeout)) < 0)
		return;
	if (fds[EDGES].revents || edge_timeout >= 0)
		sampler_take_edge(a->sampler);
	if (fds[SIGNALS].revents)
		take_signals(a);
	if (fds[TICKS].revents)
		tick(a);
	if (fds[SAMPLER].revents)
		sampler_work(a->sampler);
	if (fds[HELPER].revents)
		run_helper(a);
	if (fds[TRACED].revents)
		tracer_helper_hear(a->tracer, take_traced, a);
	if (fds[TRACER].revents) {
		log_say(CONFIG_LOG_ERROR,
			"the helper that traces is gone: nothing is traced until a restart");
		tracer_helper_bury(a->tracer);
	}
	if (a->tcp)
		http_run(a->tcp);
	if (a->socket)
		http_run(a->socket);
	push_work(a->push);
	if (!api_wants_ahead(a->api, &ahead_ns, &uid))
		return;
	begun_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
	take_reading(a, ahead_ns);
	http_charge(a->socket, uid, clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns);
}

static const char *form_of_start(const struct agent *a)
{
	struct meter *meter = sampler_meter(a->sampler);

	if (meter)
		return meter_is_taken_over(meter) ? "started, and took over what was counting"
						  : "started";
	return a->config->has_bpf ? "started without BPF, which the kernel does not permit: only "
				    "cgroup files are read"
				  : "started without BPF, which is switched off: only cgroup "
				    "files are read";
}

/* What cannot be written down stays where it is. */
static int keep(struct agent *a, const struct error *why)
{
	a->keeps = sampler_can_keep(a->sampler);
	log_say(CONFIG_LOG_ERROR, "%s: what jobs did %s", why->text,
		a->keeps ? "stays in the kernel, for the next agent" : "is lost");
	return -EIO;
}

int agent_run(struct agent *a)
{
	struct error err = {};

	take_reading(a, 0);
	log_say(CONFIG_LOG_INFO, "%s%s%s", form_of_start(a), a->tcp ? ", scraped on " : "",
		a->tcp ? a->config->listen : "");
	(void)notify_send("READY=1", NULL);
	while (!a->is_ending)
		run_once(a);
	(void)notify_send("STOPPING=1", NULL);
	if (a->tracer)
		tracer_helper_finish(a->tracer, take_traced, a);
	/* who leaves what counts to the next agent writes down as much: the next one may be of
	 * another build */
	if (sampler_finish(a->sampler, &err) < 0 && !(a->keeps && sampler_can_keep(a->sampler)))
		return keep(a, &err);
	tell_news(a);
	push_finish(a->push);
	return 0;
}
