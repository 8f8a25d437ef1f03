/* SPDX-License-Identifier: MIT */
#include "http/http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/answer.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "http/listener.h"
#include "basic/macro.h"

#define POOL_BYTES                                                                               \
	65536 /* of a connection: its head, and half of it the piece of an answer that is on its \
		 way */
#define SILENCE_S 10
#define ANSWER_SILENCES 12
#define TURNS_MAX 16 /* of the library, in a row */
#define PEM_MAX_BYTES (1 << 20)
#define TLS_PRIORITIES "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1"

struct pem {
	char *certificate, *key;
};

/* A key is not left in memory that is used again. */
static void pem_clear(struct pem *pem)
{
	if (pem->key)
		explicit_bzero(pem->key, strlen(pem->key));
	free(pem->certificate);
	free(pem->key);
}

static int read_pem(const struct http_options *options, struct pem *ret, struct error *err)
{
	int r;

	if (!options->certificate)
		return 0;
	if (!options->key)
		return error_set(err, -EINVAL, "TLS needs a key beside the certificate '%s'",
				 options->certificate);
	r = file_read(AT_FDCWD, options->certificate, PEM_MAX_BYTES, &ret->certificate, NULL);
	if (r < 0)
		return error_set_errno(err, r, "cannot read the certificate '%s'",
				       options->certificate);
	r = file_read(AT_FDCWD, options->key, PEM_MAX_BYTES, &ret->key, NULL);
	if (r < 0)
		return error_set_errno(err, r, "cannot read the key '%s'", options->key);
	return 0;
}

/* ---- what libmicrohttpd calls ---- */

static void PRINTF_LIKE(2, 0) note_complaint(void *context, const char *format, va_list arguments)
{
	struct http *h = context;

	vsnprintf(h->complaint, sizeof(h->complaint), format, arguments);
	h->complaint[strcspn(h->complaint, "\n")] = '\0';
}

static void note_connection(void *context, struct MHD_Connection *mhd, void **state,
			    enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct http *h = context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED && info) {
		*state = connections_add(&h->connections, info->connect_fd, answer_now_ms());
	} else {
		connections_remove(*state);
		h->closed++;
		*state = NULL;
	}
}

static void note_end(void *context, struct MHD_Connection *mhd, void **state,
		     enum MHD_RequestTerminationCode why)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	(void)context, (void)why;
	*state = exchange_free(*state);
	if (info)
		connections_set(info->socket_context, CONNECTION_IDLE, answer_now_ms());
}

/* ---- opening ---- */

static struct MHD_Daemon *start(struct http *h, int fd, const struct pem *pem)
{
	unsigned int flags = MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME |
			     (pem->key ? MHD_USE_TLS : 0);
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, pem->certificate },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, pem->key },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)TLS_PRIORITIES },
		{ MHD_OPTION_END, 0, NULL },
	};

	/* the logger comes first, so that it reports errors of the others */
	return MHD_start_daemon(flags, 0, NULL, NULL, answer_request, h, MHD_OPTION_EXTERNAL_LOGGER,
				note_complaint, h, MHD_OPTION_LISTEN_SOCKET, fd,
				MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS_MAX,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES,
				MHD_OPTION_CONNECTION_TIMEOUT, h->options.silence_s,
				MHD_OPTION_NOTIFY_CONNECTION, note_connection, h,
				MHD_OPTION_NOTIFY_COMPLETED, note_end, h, MHD_OPTION_ARRAY,
				pem->key ? tls : tls + ARRAY_SIZE(tls) - 1, MHD_OPTION_END);
}

static int copy_options(struct http *h, const struct http_options *options)
{
	h->options = *options;
	h->budgets.burst_ns = options->burst_ns;
	h->options.silence_s = options->silence_s ? options->silence_s : SILENCE_S;
	h->connections.idle_ms = (uint64_t)h->options.silence_s * 1000;
	h->connections.answer_ms = h->connections.idle_ms * ANSWER_SILENCES;
	h->token = options->token ? strdup(options->token) : NULL;
	h->socket_path = options->socket_path ? strdup(options->socket_path) : NULL;
	/* the caller's strings may be gone by then */
	h->options.address = h->options.token = h->options.certificate = h->options.key = NULL;
	h->options.socket_path = NULL;
	return (options->token && !h->token) || (options->socket_path && !h->socket_path) ? -ENOMEM
											  : 0;
}

static int refuse_start(const struct http *h, const struct http_options *options, struct error *err)
{
	const char *why = h->complaint[0] ? h->complaint : "the HTTP library does not say why";

	if (options->key)
		return error_set(err, -EINVAL,
				 "cannot serve %s with certificate '%s' and key '%s': %s",
				 options->address, options->certificate, options->key, why);
	return error_set(err, -EINVAL, "cannot serve %s: %s",
			 options->socket_path ? options->socket_path : options->address, why);
}

static int start_on(struct http *h, int fd, const struct http_options *options, struct error *err)
{
	_cleanup_(pem_clear) struct pem pem = {};
	const union MHD_DaemonInfo *info;
	int r = read_pem(options, &pem, err);

	if (r < 0)
		return r;
	h->daemon = start(h, fd, &pem);
	if (!h->daemon)
		return refuse_start(h, options, err);
	info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return error_set(err, -ENOTSUP, "the HTTP library has no epoll");
	h->library_fd = info->epoll_fd;
	h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (h->epoll_fd < 0 || epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->library_fd,
					 &(struct epoll_event){ .events = EPOLLIN }) < 0)
		return error_set_errno(err, errno, "cannot serve HTTP");
	return 0;
}

int http_listen(const struct http_options *options, struct http **ret, struct error *err)
{
	_cleanup_(http_closep) struct http *h = calloc(1, sizeof(*h));
	struct stat st;
	int fd = -EBADF, r;

	if (!h || copy_options(h, options) < 0)
		return error_set(err, -ENOMEM, "no memory to serve HTTP");
	h->epoll_fd = -EBADF;
	if (options->token && !*options->token)
		return error_set(err, -EINVAL, "the bearer token is empty");
	r = options->socket_path
		    ? listener_open_unix(options->socket_path, options->socket_mode, &fd, err)
		    : listener_open_tcp(options->address, &fd, err);
	if (r < 0)
		return r;
	if (h->socket_path && stat(h->socket_path, &st) == 0)
		h->socket_inode = st.st_ino;
	h->port = listener_port(fd);
	r = start_on(h, fd, options, err);
	if (!h->daemon && fcntl(fd, F_GETFD) >= 0)
		close(fd); /* else it is the library's */
	if (r < 0)
		return r;
	*ret = TAKE_PTR(h);
	return 0;
}

struct http *http_close(struct http *h)
{
	struct stat st;

	if (!h)
		return NULL;
	if (h->daemon) {
		h->is_ending = true;
		answer_call_waiting(h, true); /* the library wants none that sleeps */
		MHD_stop_daemon(h->daemon);
	}
	closep(&h->epoll_fd);
	/* another may have taken its place */
	if (h->socket_inode && stat(h->socket_path, &st) == 0 && st.st_ino == h->socket_inode)
		unlink(h->socket_path);
	if (h->token)
		explicit_bzero(h->token, strlen(h->token));
	free(h->token);
	free(h->socket_path);
	free(h);
	return NULL;
}

void http_closep(struct http **h)
{
	http_close(*h);
}

/* ---- running ---- */

uint16_t http_port(const struct http *h)
{
	return h->port;
}

int http_fd(const struct http *h)
{
	return h->epoll_fd;
}

static int least(int a, int b)
{
	return a < 0 ? b : b < 0 ? a : MIN(a, b);
}

int http_timeout_ms(struct http *h)
{
	int timeout = least(connections_timeout_ms(&h->connections, answer_now_ms()),
			    answer_timeout_ms(h));
	MHD_UNSIGNED_LONG_LONG library;

	if (MHD_get_timeout(h->daemon, &library) == MHD_YES &&
	    (timeout < 0 || library < (unsigned int)timeout))
		timeout = (int)MIN(library, (MHD_UNSIGNED_LONG_LONG)INT32_MAX);
	return timeout;
}

void http_run(struct http *h)
{
	unsigned int turns = 0;
	uint64_t closed;

	connections_sweep(&h->connections, answer_now_ms());
	answer_call_waiting(h, false);
	/* At its limit the library takes its listening socket out of epoll, and puts it back as its
	 * next turn begins: nothing wakes us for that, so where it closed connections it has that
	 * turn now. */
	do {
		closed = h->closed;
		MHD_run(h->daemon);
	} while (h->closed > closed && ++turns < TURNS_MAX);
}
