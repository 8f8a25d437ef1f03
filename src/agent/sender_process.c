/* SPDX-License-Identifier: MIT */
#include "agent/sender_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "service/syscall_filter.h"
#include "basic/cleanup.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/transfer.h"
#include "config/config.h"
#include "model/node_values.h"
#include "service/credential.h"
#include "service/log.h"
#include "service/privileges.h"
#include "spool/spool.h"

#define SECOND UINT64_C(1000000000)
#define RESTART_NS (5 * SECOND)
#define TOKEN_NS (10 * SECOND) /* a token that cannot be read is tried again */
#define WHOLE_S 120 /* of a batch */
#define URL_SIZE 1024
#define NODE_STATE_MAX_S 600 /* an older one says nothing of now */

static bool is_by_munge(const struct sender_process *p)
{
	return p->config->server_authentication == CONFIG_SERVER_BY_MUNGE;
}

/* ---- the process itself ---- */

struct way { /* how a batch goes */
	int dir_fd; /* of the spool */
	struct transfer *transfer;
	struct munge *munge; /* NULL: with the token */
};

/* As the agent told it last. */
static void note_node(const struct way *way)
{
	_cleanup_free_ char *text = NULL, *header = NULL;
	struct stat st;

	if (fstatat(way->dir_fd, SPOOL_NODE, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    time(NULL) - st.st_mtime > NODE_STATE_MAX_S ||
	    file_read(way->dir_fd, SPOOL_NODE, TRANSFER_NOTE_MAX, &text, NULL) < 0 ||
	    asprintf(&header, NODE_HEADER ": %s", text) < 0)
		header = NULL;
	transfer_note(way->transfer, header ? header : "");
}

/* Each batch has a credential of its own. */
static int post(void *context, const void *body, size_t length, struct transfer_answer *ret,
		struct error *err)
{
	const struct way *way = context;
	_cleanup_free_ char *authorization = NULL;
	int r = way->munge ? munge_sign(way->munge, body, length, &authorization, err) : 0;

	if (r < 0) {
		ret->status = 0;
		ret->length = 0;
		return r;
	}
	if (authorization)
		transfer_authorize(way->transfer, authorization);
	note_node(way);
	return transfer_post(way->transfer, body, length, ret, err);
}

/* Libraries are loaded before the filter, which knows what they do once they are there. */
static int open_way(const struct sender_process *p, struct way *ret, struct error *err)
{
	char bearer[TOKEN_SIZE + 8] = "", url[URL_SIZE];
	const struct transfer_options options = {
		.url = url,
		.type = "application/x-ndjson",
		.agent = "jobmeter-agent/" JOBMETER_VERSION,
		.ca = p->config->server_ca,
		.timeout_s = WHOLE_S,
	};
	int r;

	snprintf(url, sizeof(url), "%s/api/v1/records", p->config->server);
	r = transfer_open(&options, &ret->transfer, err);

	if (r >= 0 && is_by_munge(p))
		return munge_open(p->config->munge_socket, &ret->munge, err);
	if (*p->token)
		snprintf(bearer, sizeof(bearer), "Bearer %s", p->token);
	if (r >= 0)
		transfer_authorize(ret->transfer, bearer);
	explicit_bzero(bearer, sizeof(bearer));
	return r;
}

static int serve(struct sender_process *p, int fd, struct error *err)
{
	/* one that is started again is that user already, and may be no other */
	const struct privileges_options rights = {
		.user = geteuid() == p->user->uid ? NULL : p->user,
	};
	struct way way = {};
	struct sender_options options = { .post = *p->token_error.text ? NULL : post,
					  .context = &way,
					  .status = &p->status };
	struct sender *sender = NULL;
	int r = privileges_drop(&rights, NULL, err);

	if (r < 0)
		return r;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return error_set_errno(err, errno, "cannot end with the agent");
	options.dir_fd = open(p->spool, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (options.dir_fd < 0)
		return error_set_errno(err, errno, "cannot open the spool '%s'", p->spool);
	way.dir_fd = options.dir_fd;
	r = open_way(p, &way, err);
	if (r >= 0)
		r = syscall_filter_apply(FILTER_SENDER, err);
	if (r < 0 && r != -EOPNOTSUPP) /* the agent says so */
		return r;
	sender = sender_new(&options);
	if (!sender)
		return error_set_errno(err, ENOMEM, "cannot send");
	sender_serve(sender, fd);
	return 0;
}

static _Noreturn void be_sender(struct sender_process *p, int fd, pid_t agent)
{
	struct error err = {};

	privileges_close_others(fd, fd);
	prctl(PR_SET_NAME, "jobmeter-sender");
	privileges_ignore_signals();
	*p->status.text = '\0';
	if (getppid() != agent || serve(p, fd, &err) >= 0)
		_exit(0);
	snprintf(p->status.text, sizeof(p->status.text), "%.300s", err.text);
	(void)send(fd, &p->status, sizeof(p->status), MSG_NOSIGNAL | MSG_DONTWAIT);
	_exit(1);
}

/* ---- the agent's side ---- */

/* The sender may not read the file, and is not to have more rights for it.  True: what holds is
 * another one than before. */
static bool read_token(struct sender_process *p, uint64_t now_ns)
{
	char token[TOKEN_SIZE] = "";
	struct error err = {};
	bool is_other;

	p->token_ns = UINT64_MAX;
	if (!is_by_munge(p) && *p->config->server_token_file &&
	    token_read(p->config->server_token_file, token, &err) < 0) {
		p->token_ns = now_ns + TOKEN_NS;
		*token = '\0';
	}
	if (*err.text && strcmp(err.text, p->token_error.text) != 0)
		log_say(CONFIG_LOG_WARNING, "%s", err.text);
	is_other = strcmp(token, p->token) != 0 || !*err.text != !*p->token_error.text;
	p->token_error = err;
	memcpy(p->token, token, sizeof(token));
	return is_other;
}

static void start(struct sender_process *p, uint64_t now_ns)
{
	pid_t agent = getpid();
	int ends[2] = { -EBADF, -EBADF };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0)
		p->pid = fork();
	if (p->pid == 0 && ends[1] >= 0)
		be_sender(p, ends[1], agent);
	closep(&ends[1]);
	if (p->pid <= 0) {
		log_say(CONFIG_LOG_WARNING, "cannot start what sends records: %s", strerror(errno));
		p->pid = 0;
		closep(&ends[0]);
		p->start_ns = now_ns + RESTART_NS;
		return;
	}
	p->fd = ends[0];
	p->starts++;
}

int sender_process_end(struct sender_process *p)
{
	int status = -1;

	closep(&p->fd);
	p->fd = -EBADF;
	if (p->pid <= 0)
		return -1;
	kill(p->pid, SIGKILL); /* it has nothing more to say */
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
	return status;
}

/* Of one that ends again and again its own words say why, once. */
static void follow_end(struct sender_process *p, uint64_t now_ns)
{
	int status = sender_process_end(p);

	if (WIFSIGNALED(status))
		log_say(CONFIG_LOG_WARNING,
			"what sends records to the server was ended by signal %d",
			WTERMSIG(status));
	else if (!p->was_told)
		log_say(CONFIG_LOG_WARNING, "what sends records to the server has ended");
	p->start_ns = now_ns + RESTART_NS;
}

/* The words may hold a time or a count, which is no news each time. */
static void tell_news(struct sender_process *p)
{
	const struct sender_status *s = &p->status;
	uint64_t refused = s->answers[ANSWER_REFUSED];
	bool fails = *s->text;

	if (refused > p->told_refused && refused >= 2 * p->told_refused) { /* at 1, 2, 4, 8... */
		p->told_refused = refused;
		log_say(CONFIG_LOG_WARNING,
			"the server refused %" PRIu64 " records so far, which are set aside in "
			"'%s/refused'; the last since: %.200s",
			refused, p->spool, *s->reason ? s->reason : "it says nothing");
	}
	if (fails && (!p->was_told || s->http_status != p->told_http_status))
		log_say(CONFIG_LOG_WARNING, "%s", s->text);
	else if (!fails && p->was_told)
		log_say(CONFIG_LOG_INFO, "records reach the server '%s' again", p->config->server);
	p->was_told = fails;
	p->told_http_status = s->http_status;
}

static void hear(struct sender_process *p, uint64_t now_ns)
{
	struct sender_status told;
	ssize_t n;

	while ((n = recv(p->fd, &told, sizeof(told), MSG_DONTWAIT | MSG_TRUNC)) > 0) {
		if (n != (ssize_t)sizeof(told))
			continue;
		told.text[sizeof(told.text) - 1] = told.reason[sizeof(told.reason) - 1] = '\0';
		p->status = told;
		tell_news(p);
		if (told.http_status == 401 || told.http_status == 403)
			p->token_ns = now_ns; /* the site may have made a new one */
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		follow_end(p, now_ns);
}

void sender_process_work(struct sender_process *p, uint64_t now_ns)
{
	if (p->fd >= 0)
		hear(p, now_ns);
	if (now_ns >= p->token_ns && read_token(p, now_ns)) {
		sender_process_end(p);
		p->start_ns = now_ns;
	}
	if (p->fd < 0 && now_ns >= p->start_ns)
		start(p, now_ns);
}

uint64_t sender_process_due_ns(const struct sender_process *p)
{
	return p->fd < 0 ? MIN(p->start_ns, p->token_ns) : p->token_ns;
}

void sender_process_wake(struct sender_process *p)
{
	(void)send(p->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}
