/* SPDX-License-Identifier: MIT */
#include "http/http.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "http_client.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "test.h"

#define LONG_BYTES 20000003 /* of the long answer */

struct world { /* what the routes see and say */
	size_t given; /* of the long answer */
	unsigned int done;
	struct http_peer peer;
	int coming[2]; /* a socket pair: what is written into the second is the answer */
	unsigned int answered[600];
	unsigned int unrouted;
};

static int answer_hello(void *context, const struct http_request *request, struct http_answer *ret)
{
	struct world *w = context;
	const char *name = http_query(request, "name"),
		   *header = http_header(request, "X-Greeting");

	w->peer = request->peer;
	ret->length = (size_t)asprintf(&ret->text, "%s %s", header ? header : "hello",
				       name ? name : "nobody");
	return 0;
}

static int answer_echo(void *context, const struct http_request *request, struct http_answer *ret)
{
	(void)context;
	ret->length = (size_t)asprintf(&ret->text, "%zu:%s", request->body_length, request->body);
	return 0;
}

static int answer_below(void *context, const struct http_request *request, struct http_answer *ret)
{
	(void)context;
	return http_fail(ret, 404, "no \"job\" at %s\n", request->path);
}

static int answer_broken(void *context, const struct http_request *request, struct http_answer *ret)
{
	(void)context, (void)request, (void)ret;
	return -EIO;
}

static int answer_busy(void *context, const struct http_request *request, struct http_answer *ret)
{
	int r = http_fail(ret, 503, "later");

	(void)context, (void)request;
	ret->retry_after_s = 17;
	return r;
}

static ssize_t next_long(void *context, char *buffer, size_t size)
{
	struct world *w = context;
	size_t length = MIN(size, LONG_BYTES - w->given);

	for (size_t i = 0; i < length; i++)
		buffer[i] = (char)('a' + (w->given + i) % 23);
	w->given += length;
	return (ssize_t)length;
}

static ssize_t next_torn(void *context, char *buffer, size_t size)
{
	struct world *w = context;

	if (w->given)
		return -EIO;
	w->given = size;
	memset(buffer, 'x', size);
	return (ssize_t)size;
}

static void note_done(void *context)
{
	((struct world *)context)->done++;
}

static int answer_long(void *context, const struct http_request *request, struct http_answer *ret)
{
	(void)request;
	ret->next = next_long;
	ret->done = note_done;
	ret->context = context;
	return 0;
}

static int answer_torn(void *context, const struct http_request *request, struct http_answer *ret)
{
	answer_long(context, request, ret);
	ret->next = next_torn;
	return 0;
}

/* The first byte is the status' first digit. */
static int begin_coming(void *context, struct http_answer *ret)
{
	const struct world *w = context;
	char digit;
	ssize_t n = recv(w->coming[0], &digit, 1, MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	return digit == '2' ? 0 : http_fail(ret, 503, "it does not come");
}

static ssize_t next_coming(void *context, char *buffer, size_t size)
{
	const struct world *w = context;
	ssize_t n = recv(w->coming[0], buffer, size, MSG_DONTWAIT);

	return n < 0 ? -errno : n;
}

static int answer_coming(void *context, const struct http_request *request, struct http_answer *ret)
{
	answer_long(context, request, ret);
	ret->fd = ((struct world *)context)->coming[0];
	ret->begin = begin_coming;
	ret->next = next_coming;
	return 0;
}

static void note_answer(void *context, const struct http_route *route, unsigned int status)
{
	struct world *w = context;

	w->answered[status]++;
	w->unrouted += !route;
}

static const struct http_route routes[] = {
	{ "GET", "/hello", answer_hello, true, true },
	{ "GET", "/secret", answer_hello, false, true },
	{ "POST", "/echo", answer_echo, false, true },
	{ "POST", "/large", answer_echo, false, true, .body_max = 200003 },
	{ "GET", "/busy", answer_busy },
	{ "GET", "/jobs/", answer_below, false, false },
	{ "GET", "/broken", answer_broken, false, false },
	{ "GET", "/long", answer_long, false, true },
	{ "GET", "/torn", answer_torn, false, true },
	{ "GET", "/coming", answer_coming, false, true },
	{},
};

static struct http_options options_of(struct world *w)
{
	*w = (struct world){};
	return (struct http_options){ .routes = routes,
				      .context = w,
				      .answered = note_answer,
				      .address = "127.0.0.1:0",
				      .silence_s = 1 };
}

static struct http *listen_with(const struct http_options *options)
{
	struct http *h = NULL;
	struct error err = {};

	if (http_listen(options, &h, &err) < 0)
		printf("  %s\n", err.text);
	ASSERT(h);
	return h;
}

static struct http *listen_as_ever(struct world *w)
{
	const struct http_options options = options_of(w);

	return listen_with(&options);
}

static char *get(struct http *h, const char *path, const char *headers)
{
	_cleanup_free_ char *request = NULL;

	ASSERT(asprintf(&request, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", path,
			headers) > 0);
	return client_ask(h, request);
}

/* A test of a server @h with the routes of @w. */
#define SERVED(what)                                                        \
	static void serve_##what(struct world *w, struct http *h);          \
	TEST(what)                                                          \
	{                                                                   \
		struct world w;                                             \
		_cleanup_(http_closep) struct http *h = listen_as_ever(&w); \
                                                                            \
		serve_##what(&w, h);                                        \
	}                                                                   \
	static void serve_##what(__attribute__((unused)) struct world *w, struct http *h)

SERVED(a_route_answers_with_query_and_header)
{
	_cleanup_free_ char *plain = get(h, "/hello", ""),
			    *named = get(h, "/hello?name=a%20b&x", "x-greeting: hi\r\n");

	ASSERT_CONTAINS(plain, "HTTP/1.1 200 ");
	ASSERT_CONTAINS(plain, "Content-Type: text/plain; charset=utf-8\r\n");
	ASSERT_STREQ(client_body(plain), "hello nobody");
	ASSERT_STREQ(client_body(named), "hi a b");
	ASSERT(!w->peer.is_known);
	ASSERT_EQ(w->peer.uid, (uid_t)-1); /* no user, and not root */
	ASSERT_EQ(w->answered[200], 2u);
}

SERVED(a_connection_takes_several_requests)
{
	ASSERT_TOLD(client_ask(h, "GET /hello?name=one HTTP/1.1\r\nHost: x\r\n\r\n"
				  "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"
				  "GET /hello?name=two HTTP/1.1\r\nHost: x\r\n"
				  "Connection: close\r\n\r\n"),
		    "hello one", " 404 ", "hello two");
}

SERVED(head_is_an_answer_without_a_body)
{
	_cleanup_free_ char *small =
		client_ask(h, "HEAD /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	_cleanup_free_ char *large =
		client_ask(h, "HEAD /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");

	ASSERT_CONTAINS(small, "HTTP/1.1 200 ");
	ASSERT_CONTAINS(small, "Content-Length: 12\r\n");
	ASSERT_STREQ(client_body(small), "");
	ASSERT_CONTAINS(large, "HTTP/1.1 200 ");
	ASSERT_STREQ(client_body(large), "");
	ASSERT_EQ(w->given, 0u);
	ASSERT_EQ(w->done, 1u);
}

SERVED(failures_are_json_or_text_as_the_route_is)
{
	_cleanup_free_ char *none = get(h, "/nowhere", ""), *below = get(h, "/jobs/7", ""),
			    *broken = get(h, "/broken", "");
	_cleanup_free_ char *method = client_ask(
		h,
		"PUT /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");

	ASSERT_CONTAINS(none, "HTTP/1.1 404 ");
	ASSERT_CONTAINS(none, "Content-Type: application/json\r\n");
	ASSERT_STREQ(client_body(none), "{\"error\": \"there is nothing at this path\"}\n");
	ASSERT_STREQ(client_body(below), "{\"error\": \"no \\\"job\\\" at /jobs/7\\u000a\"}\n");
	ASSERT_CONTAINS(broken, "HTTP/1.1 500 ");
	ASSERT_CONTAINS(method, "HTTP/1.1 405 ");
	ASSERT_CONTAINS(method, "Allow: GET, HEAD\r\n");
	ASSERT_CONTAINS(method, "Content-Type: text/plain");
	ASSERT_STREQ(client_body(method), "this path takes GET only\n");
	ASSERT_EQ(w->answered[404], 2u);
	ASSERT_EQ(w->unrouted, 1u);
}

SERVED(what_is_no_http_is_refused)
{
	ASSERT_UNTOLD(client_ask(h, "\x16\x03\x01 what\r\n\r\n"), " 200 ");
	ASSERT_UNTOLD(client_ask(h, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n"),
		      " 200 ");
	ASSERT_TOLD(get(h, "/hello", ""), " 200 ");
}

SERVED(a_body_has_a_bound)
{
	_cleanup_free_ char *request = malloc(70000);
	_cleanup_free_ char *small = client_ask(
		h,
		"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nabcde");
	size_t head = (size_t)sprintf(request,
				      "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
				      "Content-Length: 65536\r\n\r\n");

	ASSERT_STREQ(client_body(small), "5:abcde");
	memset(request + head, 'y', 65536);
	request[head + 65536] = '\0';
	ASSERT_TOLD(client_ask(h, request), "\r\n65536:yyyy");
	ASSERT_TOLD(client_ask(h,
			       "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n"),
		    "HTTP/1.1 413 ");
	head = (size_t)sprintf(request, "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
					"Transfer-Encoding: chunked\r\n\r\n10001\r\n");
	memset(request + head, 'z', 65537);
	strcpy(request + head + 65537, "\r\n0\r\n\r\n");
	ASSERT_TOLD(client_ask(h, request), "HTTP/1.1 413 ");
}

SERVED(a_route_may_take_more)
{
	_cleanup_free_ char *request = malloc(201000);
	size_t head = (size_t)sprintf(request,
				      "POST /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
				      "Content-Length: 200003\r\n\r\n");

	memset(request + head, 'y', 200003);
	request[head + 200003] = '\0';
	ASSERT_TOLD(client_ask(h, request), "\r\n200003:yyyy");
	ASSERT_TOLD(client_ask(h,
			       "POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 800013\r\n\r\n"),
		    "HTTP/1.1 413 ", "the body is larger than 200003 bytes");
	/* It is read whole before it is refused: who sends it can read the answer. */
	head = (size_t)sprintf(request, "POST /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
					"Content-Length: 200004\r\n\r\n");
	memset(request + head, 'z', 200004);
	request[head + 200004] = '\0';
	ASSERT_TOLD(client_ask(h, request), "HTTP/1.1 413 ",
		    "the body is larger than 200003 bytes");
}

SERVED(a_failure_may_say_when_to_come_again)
{
	ASSERT_TOLD(get(h, "/busy", ""), "HTTP/1.1 503 ", "Retry-After: 17\r\n");
}

SERVED(a_head_has_a_bound)
{
	_cleanup_free_ char *header = malloc(100000);

	memset(header, 'h', 100000);
	memcpy(header, "X-A: ", 5);
	strcpy(header + 7000, "\r\n");
	ASSERT_TOLD(get(h, "/hello", header), " 200 ");
	memset(header + 7000, 'h', 3);
	strcpy(header + 9000, "\r\n");
	ASSERT_TOLD(get(h, "/hello", header), " 431 ");
	memset(header + 9000, 'h', 3);
	strcpy(header + 99000, "\r\n");
	ASSERT_UNTOLD(get(h, "/hello", header), " 200 ");
}

TEST(a_token_is_asked_for_but_where_a_route_is_open)
{
	struct world w;
	struct http_options options = options_of(&w);
	static const char *const wrong[] = { "",
					     "Authorization: Bearer tok\r\n",
					     "Authorization: Bearer tokent\r\n",
					     "Authorization: Bearer \r\n",
					     "Authorization: Basic token\r\n",
					     "Authorization: token\r\n",
					     "Authorization: Bearer tokentoken\r\n" };

	options.token = "token";
	_cleanup_(http_closep) struct http *h = listen_with(&options);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		_cleanup_free_ char *answer = get(h, "/secret", wrong[i]);

		ASSERT_CONTAINS(answer, "HTTP/1.1 401 ");
		ASSERT_CONTAINS(answer, "WWW-Authenticate: Bearer");
	}

	ASSERT_TOLD(get(h, "/secret", "authorization: bearer token\r\n"), " 200 ");
	ASSERT_TOLD(get(h, "/hello", ""), " 200 ");
	ASSERT_TOLD(get(h, "/nowhere", ""), " 401 ");
}

static void expect_long(const char *text, size_t length)
{
	ASSERT_EQ(length, (size_t)LONG_BYTES);
	for (size_t i = 0; i < length; i++) {
		if (text[i] != (char)('a' + i % 23))
			ASSERT_EQ(i, length);
	}
}

SERVED(a_body_is_streamed)
{
	int fd = client_connect(h);
	_cleanup_free_ char *answer = NULL, *body = NULL;
	size_t length = 0;

	client_send(h, fd, "GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	ASSERT(w->given < LONG_BYTES / 2); /* no more than what fits on the way is made */
	answer = client_receive(h, fd, &length);
	ASSERT_CONTAINS(answer, "Transfer-Encoding: chunked\r\n");
	body = client_unchunk(answer, length, &length);
	ASSERT(body);
	expect_long(body, length);
	ASSERT_EQ(w->done, 1u);
}

SERVED(an_old_client_gets_it_until_the_end_of_the_connection)
{
	int fd = client_connect(h);
	_cleanup_free_ char *answer = NULL;
	size_t length = 0;

	client_send(h, fd, "GET /long HTTP/1.0\r\n\r\n");
	answer = client_receive(h, fd, &length);
	expect_long(client_body(answer), length - (size_t)(client_body(answer) - answer));
}

SERVED(gzip_is_used_where_it_is_taken)
{
	static const char request[] =
		"GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept-Encoding: deflate, gzip;q=0.5\r\n\r\n";
	int fd = client_connect(h);
	_cleanup_free_ char *answer = NULL, *body = NULL, *text = NULL, *small = NULL;
	size_t length = 0;

	client_send(h, fd, request);
	answer = client_receive(h, fd, &length);
	ASSERT_CONTAINS(answer, "Content-Encoding: gzip\r\n");
	ASSERT_CONTAINS(answer, "Vary: Accept, Accept-Encoding\r\n");
	ASSERT(length < LONG_BYTES / 10);
	body = client_unchunk(answer, length, &length);
	text = client_gunzip(body, length);
	ASSERT(text);
	expect_long(text, strlen(text));
	ASSERT_EQ(w->done, 1u);
	small = get(h, "/hello", "Accept-Encoding: gzip\r\n");
	ASSERT_STREQ(client_body(small), "hello nobody");
	w->given = LONG_BYTES - 10;
	ASSERT_UNTOLD(get(h, "/long", "Accept-Encoding: gzip;q=0, *\r\n"), "Content-Encoding");
}

SERVED(a_body_that_breaks_off_does_not_look_whole)
{
	static const char *const requests[] = {
		"GET /torn HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"GET /torn HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		int fd = client_connect(h);
		_cleanup_free_ char *answer = NULL, *body = NULL;
		size_t length = 0;

		w->given = w->done = 0;
		client_send(h, fd, requests[i]);
		answer = client_receive(h, fd, &length);
		body = client_unchunk(answer, length, &length);
		ASSERT(!body);
		ASSERT_EQ(w->done, 1u);
	}
}

SERVED(a_slow_reader_keeps_nobody_waiting_and_is_cut)
{
	static const char request[] = "GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	int slow = client_connect(h), watch = client_connect(h);
	_cleanup_free_ char *silent = NULL, *begun = NULL;
	size_t length;

	client_send(h, slow, request);
	client_settle(h);
	ASSERT_EQ(w->done, 0u);
	ASSERT_TOLD(get(h, "/hello", ""), " 200 ");
	silent = client_receive(h, watch, &length); /* says nothing, and is cut */
	ASSERT_EQ(length, 0u);
	while (!w->done) /* reads nothing, and is cut */
		client_turn(h);
	begun = client_receive(h, slow, &length);
	ASSERT(length < LONG_BYTES);
}

SERVED(a_request_that_comes_in_drops_is_cut_all_the_same)
{
	int fd = client_connect(h);

	client_send(h, fd, "GET /hello HTTP/1.1\r\nX-A: ");
	/* a byte now and then, as long as they are taken: never silent for the second that is
	 * allowed */
	for (struct pollfd end = { .fd = fd, .events = POLLIN }; poll(&end, 1, 20) == 0;)
		client_send(h, fd, "a");
	close(fd);
	ASSERT_EQ(w->answered[200], 0u);
}

TEST(those_who_only_connect_keep_nobody_out)
{
	struct world w;
	struct http_options options = options_of(&w);
	_cleanup_(http_closep) struct http *h = listen_with(&options);
	int idle[200];

	options.silence_s = 0; /* they would be cut in 10 s only */
	http_close(h);
	h = listen_with(&options);
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++) {
		idle[i] = client_connect(h);
		client_settle(h);
	}

	ASSERT_TOLD(get(h, "/hello", ""), " 200 ");
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
		close(idle[i]);
}

#define STRANGERS UINT32_MAX /* all who bring no token */

static int ask_open(struct http *h)
{
	int fd = client_connect(h);

	client_send(h, fd, "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	client_settle(h);
	return fd;
}

TEST(who_is_over_the_budget_waits_and_who_brings_the_token_does_not)
{
	struct world w;
	struct http_options options = options_of(&w);
	_cleanup_(http_closep) struct http *h = NULL;

	options.token = "sesame";
	h = listen_with(&options);
	for (int i = 0; i < 3; i++)
		http_charge(h, STRANGERS, 260000000);
	int fds[] = { ask_open(h), ask_open(h) };

	ASSERT_TOLD(get(h, "/secret", "Authorization: Bearer sesame\r\n"), " 200 ");
	ASSERT_EQ(w.answered[200], 1u);
	ASSERT(http_timeout_ms(h) > 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		_cleanup_free_ char *late = client_receive(h, fds[i], NULL);

		ASSERT_CONTAINS(late, " 200 ");
	}
	ASSERT_EQ(w.answered[200], 3u);
}

TEST(those_of_one_user_who_wait_come_one_a_turn)
{
	struct world w;
	struct http_options options = options_of(&w);
	_cleanup_(http_closep) struct http *h = NULL;
	int fds[5];

	options.token = "sesame";
	h = listen_with(&options);
	http_charge(h, STRANGERS, 500000000);
	http_charge(h, STRANGERS, 7000000); /* 70 ms until they are called */
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = ask_open(h);
	while (w.answered[200] < ARRAY_SIZE(fds)) {
		struct pollfd fd = { http_fd(h), POLLIN, 0 };
		unsigned int before = w.answered[200];

		(void)poll(&fd, 1, http_timeout_ms(h));
		http_run(h);
		ASSERT(w.answered[200] <= before + 1);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

TEST(a_server_closes_while_some_wait)
{
	struct world w;
	struct http_options options = options_of(&w);
	struct http *h = NULL;
	int fds[40]; /* some more than may wait */

	options.token = "sesame";
	h = listen_with(&options);
	http_charge(h, STRANGERS, 500000000);
	http_charge(h, STRANGERS, 500000000);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = ask_open(h);
	http_close(h);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	ASSERT_EQ(w.answered[200], 0u);
}

/* The server as it waits for what comes; @ret_fd: who does, too. */
static struct http *listen_for_coming(struct world *w, const char *path, int *ret_fd)
{
	struct http_options options = options_of(w);
	struct http *h;

	if (path) {
		options.address = NULL;
		options.socket_path = path;
		options.socket_mode = 0600;
	}
	ASSERT_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, w->coming));
	h = listen_with(&options);
	*ret_fd = path ? client_connect_unix(path) : client_connect(h);
	client_send(h, *ret_fd, "GET /coming HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	client_settle(h);
	return h;
}

static void tell(const struct world *w, const char *text)
{
	ASSERT_EQ(write(w->coming[1], text, strlen(text)), (ssize_t)strlen(text));
}

TEST(what_comes_by_and_by_keeps_nobody_waiting)
{
	_cleanup_free_ char *answer = NULL, *body = NULL;
	struct world w;
	size_t length;
	int fd;
	_cleanup_(http_closep) struct http *h = listen_for_coming(&w, NULL, &fd);

	ASSERT_TOLD(get(h, "/hello", ""), "hello nobody");
	ASSERT_EQ(w.answered[200], 1u); /* it is not known yet what the other one is */
	tell(&w, "2");
	client_settle(h);
	ASSERT_EQ(w.answered[200], 2u);
	tell(&w, "one ");
	client_settle(h);
	ASSERT_TOLD(get(h, "/hello", ""), "hello nobody");
	tell(&w, "two");
	close(w.coming[1]);
	answer = client_receive(h, fd, &length);
	body = client_unchunk(answer, length, &length);
	ASSERT_STREQ(body ? body : client_body(answer), "one two");
	ASSERT_EQ(w.done, 1u);
	close(w.coming[0]);
}

TEST(what_does_not_come_is_said)
{
	_cleanup_free_ char *answer = NULL;
	struct world w;
	int fd;
	_cleanup_(http_closep) struct http *h = listen_for_coming(&w, NULL, &fd);

	tell(&w, "5");
	answer = client_receive(h, fd, NULL);
	ASSERT_CONTAINS(answer, " 503 ");
	ASSERT_STREQ(client_body(answer), "it does not come\n");
	ASSERT_EQ(w.done, 1u);
	close(w.coming[0]);
	close(w.coming[1]);
}

TEST(who_goes_gives_back_what_would_have_come)
{
	const char *path = test_path("coming.sock");

	for (int is_begun = 0; is_begun < 2; is_begun++) {
		struct world w;
		int fd;
		_cleanup_(http_closep) struct http *h = listen_for_coming(&w, path, &fd);

		if (is_begun)
			tell(&w, "2one");
		client_settle(h);
		ASSERT_EQ(w.done, 0u);
		close(fd);
		client_settle(h);
		ASSERT_EQ(w.done, 1u);
		close(w.coming[0]);
		close(w.coming[1]);
	}
}

TEST(a_server_that_closes_gives_back_what_would_have_come)
{
	for (int is_begun = 0; is_begun < 2; is_begun++) {
		struct world w;
		int fd;
		struct http *h = listen_for_coming(&w, NULL, &fd);

		if (is_begun)
			tell(&w, "2one");
		client_settle(h);
		http_close(h);
		ASSERT_EQ(w.done, 1u);
		close(fd);
		close(w.coming[0]);
		close(w.coming[1]);
	}
}

TEST(a_server_that_closes_gives_back_what_was_on_its_way)
{
	struct world w;
	struct http_options options = options_of(&w);
	struct http *h = listen_with(&options);
	int fd = client_connect(h);

	client_send(h, fd, "GET /long HTTP/1.1\r\nHost: x\r\n\r\n");
	client_settle(h);
	http_close(h);
	ASSERT_EQ(w.done, 1u);
	close(fd);
}

TEST(a_port_in_use_and_a_wrong_address_are_said)
{
	struct world w;
	struct http_options options = options_of(&w), second = options;
	_cleanup_(http_closep) struct http *h = listen_with(&options);
	static const char *const wrong[] = { "",
					     ":",
					     "127.0.0.1",
					     ":9840",
					     "localhost:9840",
					     "127.0.0.1:99999",
					     "::1:9840",
					     "[::1:9840",
					     "[]:1",
					     "[127.0.0.1]:1",
					     "127.0.0.1:-1",
					     "127.0.0.1:80x" };
	struct http *other = NULL;
	struct error err = {};
	char address[64];

	snprintf(address, sizeof(address), "127.0.0.1:%u", http_port(h));
	second.address = address;
	ASSERT_ERR(http_listen(&second, &other, &err), -EADDRINUSE);
	ASSERT_CONTAINS(err.text, address);
	ASSERT_CONTAINS(err.text, "in use");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		second.address = wrong[i];
		ASSERT_ERR(http_listen(&second, &other, &err), -EINVAL);
		ASSERT_CONTAINS(err.text, "is not like 127.0.0.1:9840");
	}
	second.address = "203.0.113.9:9840"; /* nobody's */
	ASSERT_ERR(http_listen(&second, &other, &err), -EADDRNOTAVAIL);
	second = options;
	second.token = "";
	ASSERT_ERR(http_listen(&second, &other, &err), -EINVAL);
	ASSERT(!other);
}

TEST(ipv6_is_listened_on)
{
	struct world w;
	struct http_options options = options_of(&w);
	_cleanup_(http_closep) struct http *h = NULL;
	struct error err = {};

	options.address = "[::1]:0";
	int r = http_listen(&options, &h, &err);

	ASSERT(r == 0 || r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT); /* not every machine has it */
	ASSERT(r < 0 || http_port(h) > 0);
}

TEST(certificates_that_cannot_be_are_said)
{
	struct world w;
	struct http_options options = options_of(&w);
	const char *path = test_path("rubbish.pem");
	struct http *h = NULL;
	struct error err = {};

	options.certificate = "/nonexistent/cert.pem";
	ASSERT_ERR(http_listen(&options, &h, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "needs a key");
	options.key = "/nonexistent/key.pem";
	ASSERT_ERR(http_listen(&options, &h, &err), -ENOENT);
	ASSERT_CONTAINS(err.text, "/nonexistent/cert.pem");
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ASSERT_EQ(write(fd, "rubbish\n", 8), 8);
	options.certificate = options.key = path;
	ASSERT(http_listen(&options, &h, &err) < 0);
	ASSERT_CONTAINS(err.text, "with certificate '");
	ASSERT(!h);
}

static struct http_options unix_options(struct world *w, char *path, size_t size, const char *name)
{
	struct http_options options = options_of(w);

	snprintf(path, size, "%s/%s", test_dir(), name);
	options.address = NULL;
	options.socket_path = path;
	options.socket_mode = 0666;
	return options;
}

TEST(over_a_unix_socket_the_peer_is_known)
{
	static const char request[] = "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	char path[128];
	struct world w;
	struct http_options options = unix_options(&w, path, sizeof(path), "peer.sock");
	struct http *h = listen_with(&options);
	struct stat st;
	int fd = client_connect_unix(path);

	ASSERT_OK(stat(path, &st));
	ASSERT_EQ(st.st_mode & 07777, 0666u);
	client_send(h, fd, request);
	ASSERT_TOLD(client_receive(h, fd, NULL), " 200 ");
	ASSERT(w.peer.is_known);
	ASSERT_EQ(w.peer.uid, getuid());
	ASSERT_EQ(w.peer.pid, getpid());
	http_close(h);
	ASSERT_ERR(stat(path, &st), -1);
}

TEST(a_stale_socket_is_replaced_and_a_live_one_is_not)
{
	char path[128];
	struct world w;
	struct http_options options = unix_options(&w, path, sizeof(path), "stale.sock");
	struct http *h = listen_with(&options), *other = NULL;
	_cleanup_free_ char *kept = NULL;
	struct error err = {};

	ASSERT_ERR(http_listen(&options, &other, &err), -EADDRINUSE);
	ASSERT_CONTAINS(err.text, "another process listens");
	ASSERT(asprintf(&kept, "%s.kept", path) > 0);
	ASSERT_OK(rename(path, kept)); /* so that closing leaves it behind, as a crash does */
	http_close(h);
	ASSERT_OK(rename(kept, path));
	h = listen_with(&options);
	http_close(h);
}

TEST(what_is_no_socket_is_not_replaced)
{
	char path[128];
	struct world w;
	struct http_options options = unix_options(&w, path, sizeof(path), "file.sock");
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct http *h = NULL;
	struct error err = {};
	char far[200];

	ASSERT(fd >= 0);
	ASSERT_ERR(http_listen(&options, &h, &err), -EEXIST);
	ASSERT_CONTAINS(err.text, "is no socket");
	memset(far, 'a', sizeof(far));
	far[0] = '/';
	far[sizeof(far) - 1] = '\0';
	options.socket_path = far;
	ASSERT_ERR(http_listen(&options, &h, &err), -ENAMETOOLONG);
}
