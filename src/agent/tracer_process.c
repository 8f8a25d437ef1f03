/* SPDX-License-Identifier: MIT */
/* The helper's side: it forks a process for each session, and counts them.  Whatever comes in is
 * checked here and in the session, as if from an enemy. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/span_sender.h"
#include "agent/tracer_helper.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "export/trace_output.h"
#include "service/privileges.h"
#include "service/syscall_filter.h"
#include "trace/probe.h"
#include "trace/tracing.h"
#include "trace/installed_sets.h"

#define AGAIN_NS UINT64_C(10000000000) /* between two begins of the session of all jobs */
#define TURN_MS 200 /* while it is to begin */

#define DEBTORS_MAX 64

struct session {
	pid_t pid; /* 0: none */
	int pid_fd;
	uint32_t uid;
	uint64_t begun_ns;
};

struct debtor { /* a user whose last trace cost others more than its time allowed */
	uint32_t uid;
	uint64_t until_ns;
};

struct tracer_process {
	int fd, words_fd; /* to the agent */
	int spans_fd; /* to the span sender; -EBADF: none */
	pid_t spans_pid;
	const struct tracer_plan *plan;
	struct session jobs; /* of all of them */
	uint64_t jobs_due_ns; /* when it may begin */
	struct session sessions[TRACER_SESSIONS];
	struct debtor debtors[DEBTORS_MAX];
};

void tracer_send_reply(int fd, int result, const char *text)
{
	struct tracer_reply reply = { .magic = TRACER_MAGIC, .result = result };

	snprintf(reply.text, sizeof(reply.text), "%s", text);
	(void)send(fd, &reply, sizeof(reply), MSG_NOSIGNAL);
}

static bool is_text(const char *text, size_t size)
{
	return strnlen(text, size) < size;
}

static bool is_request(const struct tracer_request *q)
{
	return q->magic == TRACER_MAGIC && q->uid != UINT32_MAX && q->gid != UINT32_MAX &&
	       q->format <= TRACE_NDJSON && q->level <= PROBE_LEVEL_TRACE &&
	       q->duration_ns <= TRACER_DURATION_MAX_S * UINT64_C(1000000000) &&
	       is_text(q->sets, sizeof(q->sets)) && is_text(q->group, sizeof(q->group)) &&
	       is_text(q->job, sizeof(q->job)) && (*q->group ? q->pid == 0 : q->pid > 0);
}

/* In place of the one that has to wait least. */
static void note_debt(struct tracer_process *p, uint32_t uid, uint64_t until_ns)
{
	struct debtor *least = &p->debtors[0];

	for (size_t i = 1; i < DEBTORS_MAX; i++) {
		if (p->debtors[i].until_ns < least->until_ns)
			least = &p->debtors[i];
	}
	*least = (struct debtor){ uid, until_ns };
}

static struct session *find_room(struct tracer_process *p, uint32_t uid, struct error *err)
{
	const uint64_t now = clock_now_ns(CLOCK_MONOTONIC);
	struct session *found = NULL;
	unsigned int count = 0;

	for (size_t i = 0; i < DEBTORS_MAX; i++) {
		if (p->debtors[i].uid == uid && p->debtors[i].until_ns > now) {
			error_set(
				err, 0,
				"your last trace cost programs of others too much; the next one can begin in %d s",
				(int)((p->debtors[i].until_ns - now) / 1000000000) + 1);
			return NULL;
		}
	}

	for (size_t i = 0; i < TRACER_SESSIONS; i++) {
		if (!p->sessions[i].pid)
			found = &p->sessions[i];
		else if (p->sessions[i].uid == uid)
			count++;
	}
	if (count >= TRACER_SESSIONS_OF_USER)
		error_set(err, 0, "another trace of yours is under way");
	else if (!found)
		error_set(err, 0, "%d traces are under way already", TRACER_SESSIONS);
	return count < TRACER_SESSIONS_OF_USER ? found : NULL;
}

static void begin_child(int fd, int other_fd, pid_t parent)
{
	privileges_close_others(fd, other_fd);
	prctl(PR_SET_NAME, "jobmeter-trace");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
}

static void begin_jobs(struct tracer_process *p)
{
	pid_t parent = getpid();

	p->jobs_due_ns = clock_now_ns(CLOCK_MONOTONIC) + AGAIN_NS;
	p->jobs.pid = fork();
	if (p->jobs.pid == 0) {
		begin_child(p->words_fd, p->spans_fd >= 0 ? p->spans_fd : p->words_fd, parent);
		tracer_trace_jobs(p->plan, p->words_fd, p->spans_fd);
	}
	if (p->jobs.pid < 0)
		p->jobs.pid = 0;
	else
		p->jobs.pid_fd = (int)syscall(SYS_pidfd_open, p->jobs.pid, 0);
}

static void begin_session(struct tracer_process *p, const struct tracer_request *request, int fd)
{
	pid_t parent = getpid();
	struct error err = {};
	struct session *s;

	if (!is_request(request)) {
		tracer_send_reply(fd, -EBADMSG, "this is no request");
		return;
	}
	if (!p->plan->serves_users) {
		tracer_send_reply(fd, -EPERM, "users may not trace here");
		return;
	}
	s = find_room(p, request->uid, &err);
	if (!s) {
		tracer_send_reply(fd, -EBUSY, err.text);
		return;
	}
	s->pid = fork();
	if (s->pid == 0) {
		begin_child(fd, fd, parent);
		tracer_session(request, fd);
	}
	if (s->pid < 0) {
		s->pid = 0;
		tracer_send_reply(fd, -EAGAIN, "cannot start what traces");
		return;
	}
	s->uid = request->uid;
	s->begun_ns = clock_now_ns(CLOCK_MONOTONIC);
	s->pid_fd = (int)syscall(SYS_pidfd_open, s->pid, 0); /* it is our child, and so still it */
}

/* The descriptor that came with it; -EBADF: none, or too many. */
static int passed_with(const struct msghdr *message)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fd = -EBADF;

	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

/* False: the agent is gone. */
static bool serve_once(struct tracer_process *p)
{
	struct tracer_request request = {};
	struct iovec data = { &request, sizeof(request) };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(p->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	_cleanup_close_ int fd = -EBADF;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	fd = passed_with(&message);
	if (n != (ssize_t)sizeof(request) || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		request = (struct tracer_request){};
	if (fd >= 0)
		begin_session(p, &request, fd);
	return true;
}

static void bury_session(struct tracer_process *p, struct session *s)
{
	int status = 0;

	while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (s != &p->jobs && WIFEXITED(status))
		note_debt(p, s->uid,
			  s->begun_ns + (uint64_t)WEXITSTATUS(status) * TRACER_COST_NS *
						TRACING_OUTSIDE_PART);
	closep(&s->pid_fd);
	*s = (struct session){};
}

static bool run_once(struct tracer_process *p)
{
	struct pollfd fds[2 + TRACER_SESSIONS] = {
		{ p->fd, POLLIN, 0 },
		[1 + TRACER_SESSIONS] = { p->jobs.pid ? p->jobs.pid_fd : -1, POLLIN, 0 },
	};
	const bool wants_jobs = p->words_fd >= 0 && !p->jobs.pid;

	for (size_t i = 0; i < TRACER_SESSIONS; i++)
		fds[i + 1] = (struct pollfd){ p->sessions[i].pid ? p->sessions[i].pid_fd : -1,
					      POLLIN, 0 };
	if (poll(fds, ARRAY_SIZE(fds), wants_jobs ? TURN_MS : -1) < 0)
		return errno == EINTR;
	if (fds[1 + TRACER_SESSIONS].revents)
		bury_session(p, &p->jobs);
	if (wants_jobs && clock_now_ns(CLOCK_MONOTONIC) >= p->jobs_due_ns)
		begin_jobs(p);
	for (size_t i = 0; i < TRACER_SESSIONS; i++) {
		if (fds[i + 1].revents)
			bury_session(p, &p->sessions[i]);
	}
	return !fds[0].revents || serve_once(p);
}

/* If memory gets scarce, a trace goes first.  While we still may say so. */
static void offer_to_oom(void)
{
	static const char most[] = "1000";
	_cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, most, strlen(most));
}

static int begin(struct tracer_process *p)
{
	const struct privileges_options options = { .features = PRIVILEGE_TRACING,
						    .user = p->plan->user };
	_cleanup_(wanted_sets_clear) struct wanted_sets sets = {};
	struct error err = {};
	int r = 0;

	prctl(PR_SET_NAME, "jobmeter-tracer");
	privileges_ignore_signals();
	offer_to_oom();
	privileges_raise_descriptors();
	if (*p->plan->sets) /* so that a wrong name is reported at the start */
		r = wanted_sets_add_list(&sets, p->plan->sets, true, &err);
	if (r >= 0 && *p->plan->sets && *p->plan->otlp)
		r = span_sender_start(p->plan->otlp, p->plan->user, &p->spans_fd, &p->spans_pid,
				      &err);
	if (r >= 0)
		r = privileges_drop(&options, NULL, &err);
	if (r >= 0)
		r = syscall_filter_apply(FILTER_TRACER, &err);
	if (r == -EOPNOTSUPP) /* the agent says so */
		r = 0;
	tracer_send_reply(p->fd, r, err.text);
	return r;
}

void tracer_serve(int fd, int words_fd, const struct tracer_plan *plan)
{
	struct tracer_process p = {
		.fd = fd, .words_fd = words_fd, .spans_fd = -EBADF, .plan = plan
	};

	if (begin(&p) >= 0)
		while (run_once(&p))
			;
	/* what is left of all jobs has come by the words' end, and goes out */
	closep(&p.spans_fd);
	while (p.spans_pid > 0 && waitpid(p.spans_pid, NULL, 0) < 0 && errno == EINTR)
		;
}
