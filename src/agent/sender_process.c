/* SPDX-License-Identifier: MIT */
#include "agent/sender_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "service/privileges.h"
#include "agent/syscall_filter.h"
#include "service/token.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"

#define SECOND UINT64_C(1000000000)
#define RESTART_NS SECOND
#define RESTART_MAX_NS (60 * SECOND)
#define TOKEN_NS (10 * SECOND) /* a token that cannot be read is tried again */

_Static_assert(TOKEN_SIZE == SENDER_TOKEN_SIZE, "a token fits");

struct sender_process {
	char *spool, *url, *ca, *token_file;
	const struct service_user *user;
	int fd; /* -EBADF: there is none, */
	pid_t pid; /* 0 */
	uint64_t starts, started_ns;
	uint64_t restart_ns, restart_delay_ns;
	uint64_t token_ns; /* when the token is to be read again */
	struct sender_status status, before; /* what it told last; sums of those that ended */
	uint64_t told_refused;
	bool was_told; /* that it fails, with... */
	uint32_t told_http_status;
	struct error token_error, token_told, news;
};

/* ---- the process itself ---- */

static void close_all_but(int fd)
{
	if (fd > 3)
		close_range(3, (unsigned int)fd - 1, 0);
	close_range((unsigned int)fd + 1, ~0U, 0);
}

/* Its end is the agent's, and nothing else. */
static void ignore_signals(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGQUIT };
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int give_up_rights(const struct sender_process *p, struct error *err)
{
	/* one that is started again is that user already, and may be no other */
	const struct privileges_options options = { .user = geteuid() == p->user->uid ? NULL
										      : p->user };
	int r = privileges_drop(&options, NULL, err);

	if (r >= 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		r = error_set_errno(err, errno, "cannot end with the agent");
	return r;
}

static int post(void *context, const char *token, const void *body, size_t length,
		struct transfer_answer *ret, struct error *err)
{
	return transfer_post(context, token, body, length, ret, err);
}

/* The library is loaded before the filter, which knows what it does once it is there. */
static int send_all(const struct sender_process *p, int fd, struct error *err)
{
	const struct transfer_options to = { .url = p->url, .ca = p->ca };
	struct sender_options options = { .post = post };
	struct transfer *transfer = NULL;
	struct sender *sender = NULL;
	int r = give_up_rights(p, err);

	if (r < 0)
		return r;
	options.dir_fd = open(p->spool, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (options.dir_fd < 0)
		return error_set_errno(err, errno, "cannot open the spool '%s'", p->spool);
	r = transfer_open(&to, &transfer, err);
	if (r >= 0)
		r = syscall_filter_apply(FILTER_SENDER, err);
	if (r == -EOPNOTSUPP) /* the agent says so */
		r = 0;
	options.context = transfer;
	if (r >= 0)
		r = sender_open(&options, &sender, err);
	if (r >= 0)
		sender_serve(sender, fd);
	return r;
}

static void be_sender(const struct sender_process *p, int fd, pid_t agent)
	__attribute__((noreturn));
static void be_sender(const struct sender_process *p, int fd, pid_t agent)
{
	struct sender_status status = { .magic = SENDER_MAGIC };
	struct error err = {};

	close_all_but(fd);
	prctl(PR_SET_NAME, "jobmeter-sender");
	ignore_signals();
	if (getppid() != agent || send_all(p, fd, &err) >= 0)
		_exit(0);
	snprintf(status.text, sizeof(status.text), "%.300s", err.text);
	(void)send(fd, &status, sizeof(status), MSG_NOSIGNAL | MSG_DONTWAIT);
	_exit(1);
}

/* ---- the agent's side ---- */

static void tell_token(struct sender_process *p, const char *token)
{
	struct sender_order order = { .magic = SENDER_MAGIC, .kind = SENDER_TOKEN };

	snprintf(order.token, sizeof(order.token), "%s", token);
	(void)send(p->fd, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The sender may not read the file, and is not to have more rights for it. */
static void give_token(struct sender_process *p, uint64_t now_ns)
{
	char token[TOKEN_SIZE] = "";

	p->token_ns = UINT64_MAX;
	*p->token_error.text = '\0';
	if (p->fd < 0)
		return;
	if (*p->token_file && token_read(p->token_file, token, &p->token_error) < 0)
		p->token_ns = now_ns + TOKEN_NS;
	else
		tell_token(p, token);
}

static int start(struct sender_process *p, uint64_t now_ns, struct error *err)
{
	pid_t agent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set_errno(err, errno, "cannot start what sends records");
	p->pid = fork();
	if (p->pid == 0)
		be_sender(p, ends[1], agent);
	close(ends[1]);
	if (p->pid < 0) {
		p->pid = 0;
		close(ends[0]);
		return error_set_errno(err, errno, "cannot start what sends records");
	}
	p->fd = ends[0];
	p->starts++;
	p->started_ns = now_ns;
	p->restart_ns = UINT64_MAX;
	give_token(p, now_ns);
	return 0;
}

static void add_counts(struct sender_status *to, const struct sender_status *from)
{
	to->requests += from->requests;
	to->failed_requests += from->failed_requests;
	to->torn += from->torn;
	to->answered_ns = MAX(to->answered_ns, from->answered_ns);
	for (size_t i = 0; i < ANSWER_KINDS; i++)
		to->answers[i] += from->answers[i];
}

/* How it ended, in words. */
static void reap(struct sender_process *p, struct error *ret)
{
	int status = 0;

	if (p->pid <= 0)
		return;
	kill(p->pid, SIGKILL); /* it has nothing more to say */
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
	if (WIFSIGNALED(status))
		error_set(ret, 0, "what sends records to the server was ended by signal %d",
			  WTERMSIG(status));
	else if (!p->restart_delay_ns) /* else it ends again and again: its own words say why */
		error_set(ret, 0, "what sends records to the server has ended");
}

static void end(struct sender_process *p)
{
	close(TAKE_FD(p->fd));
	add_counts(&p->before, &p->status);
	p->status.requests = p->status.failed_requests = p->status.torn = 0;
	memset(p->status.answers, 0, sizeof(p->status.answers));
}

/* One that ends again and again is started ever later. */
static void plan_restart(struct sender_process *p, uint64_t now_ns)
{
	if (now_ns - p->started_ns > RESTART_MAX_NS)
		p->restart_delay_ns = 0;
	p->restart_delay_ns = p->restart_delay_ns ? MIN(2 * p->restart_delay_ns, RESTART_MAX_NS)
						  : RESTART_NS;
	p->restart_ns = now_ns + p->restart_delay_ns;
}

static void hear(struct sender_process *p, uint64_t now_ns)
{
	struct sender_status told;
	ssize_t n;

	while ((n = recv(p->fd, &told, sizeof(told), MSG_DONTWAIT | MSG_TRUNC)) > 0) {
		if (n != (ssize_t)sizeof(told) || told.magic != SENDER_MAGIC)
			continue;
		told.text[sizeof(told.text) - 1] = told.reason[sizeof(told.reason) - 1] = '\0';
		p->status = told;
		if (told.http_status == 401 || told.http_status == 403)
			give_token(p, now_ns); /* the site may have made a new one */
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	end(p);
	reap(p, &p->news);
	plan_restart(p, now_ns);
}

void sender_process_work(struct sender_process *p, uint64_t now_ns)
{
	struct error err = {};

	if (p->fd >= 0)
		hear(p, now_ns);
	if (p->fd < 0 && now_ns >= p->restart_ns && start(p, now_ns, &err) < 0) {
		p->news = err;
		plan_restart(p, now_ns);
	}
	if (now_ns >= p->token_ns)
		give_token(p, now_ns);
}

uint64_t sender_process_due_ns(const struct sender_process *p)
{
	return MIN(p->fd < 0 ? p->restart_ns : UINT64_MAX, p->token_ns);
}

int sender_process_fd(const struct sender_process *p)
{
	return p->fd;
}

void sender_process_wake(struct sender_process *p)
{
	struct sender_order order = { .magic = SENDER_MAGIC, .kind = SENDER_WAKE };

	if (p->fd >= 0)
		(void)send(p->fd, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT);
}

struct sender_process *sender_process_stop(struct sender_process *p)
{
	struct error ignored;

	if (!p)
		return NULL;
	closep(&p->fd);
	reap(p, &ignored);
	free(p->spool);
	free(p->url);
	free(p->ca);
	free(p->token_file);
	free(p);
	return NULL;
}

static void sender_process_stopp(struct sender_process **p)
{
	sender_process_stop(*p);
}

int sender_process_start(const struct sender_process_options *options, struct sender_process **ret,
			 struct error *err)
{
	_cleanup_(sender_process_stopp) struct sender_process *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return error_set_errno(err, ENOMEM, "cannot start what sends records");
	p->fd = -EBADF;
	p->token_ns = UINT64_MAX;
	p->user = options->user;
	p->spool = strdup(options->spool);
	p->url = strdup(options->url);
	p->ca = strdup(options->ca);
	p->token_file = strdup(options->token_file);
	if (!p->spool || !p->url || !p->ca || !p->token_file)
		return error_set_errno(err, ENOMEM, "cannot start what sends records");
	r = start(p, clock_now_ns(CLOCK_BOOTTIME), err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

/* ---- what it says ---- */

void sender_process_get_status(const struct sender_process *p, struct sender_status *ret)
{
	*ret = p->status;
	add_counts(ret, &p->before);
	if (*p->token_error.text)
		snprintf(ret->text, sizeof(ret->text), "%.300s", p->token_error.text);
}

uint64_t sender_process_starts(const struct sender_process *p)
{
	return p->starts;
}

static bool has_refused(struct sender_process *p, struct error *err)
{
	uint64_t refused = p->status.answers[ANSWER_REFUSED] + p->before.answers[ANSWER_REFUSED];

	if (refused == p->told_refused || refused < 2 * p->told_refused)
		return false;
	p->told_refused = refused; /* at 1, 2, 4, 8... */
	error_set(err, 0,
		  "the server refused %" PRIu64 " records so far, which are set aside in "
		  "'%s/refused'; the last since: %.200s",
		  refused, p->spool, *p->status.reason ? p->status.reason : "it says nothing");
	return true;
}

bool sender_process_has_news(struct sender_process *p, bool *ret_is_well, struct error *err)
{
	*ret_is_well = false;
	if (*p->news.text) {
		*err = p->news;
		*p->news.text = '\0';
		return true;
	}
	if (strcmp(p->token_error.text, p->token_told.text) != 0) {
		p->token_told = p->token_error;
		*err = p->token_error;
		if (*err->text)
			return true;
	}
	if (has_refused(p, err))
		return true;
	/* the words may hold a time or a count, which is no news each time */
	*ret_is_well = !*p->status.text;
	if (*ret_is_well != p->was_told &&
	    (*ret_is_well || p->status.http_status == p->told_http_status))
		return false;
	if (*ret_is_well)
		error_set(err, 0, "records reach the server '%s' again", p->url);
	else
		error_set(err, 0, "%s", p->status.text);
	p->was_told = !*ret_is_well;
	p->told_http_status = p->status.http_status;
	return true;
}
