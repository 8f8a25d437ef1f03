/* SPDX-License-Identifier: MIT */
#include "spool/sender.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "model/record.h"
#include "spool/spool.h"
#include "test.h"

/* A server that says what the test wants, and counts. */
struct server {
	unsigned int status;
	unsigned int retry_after_s;
	size_t lines_max; /* answers 413 to more; 0: takes all */
	size_t answered_max; /* lines that it answers; the rest is cut */
	const char *text; /* instead of an answer a line */
	const char *refused; /* a record that holds this is refused */
	const char *unstorable; /* with one that holds this it answers 503 */
	bool is_html, breaks;
	size_t requests, lines, taken;
};

struct bench {
	char path[256];
	int dir_fd;
	struct spool *spool;
	struct sender *sender;
	struct sender_status status;
	struct server server;
};

static char *unpack(const void *body, size_t length)
{
	char *text = calloc(1, 4 << 20);
	z_stream s = { .next_in = (Bytef *)body, .avail_in = (uInt)length };

	ASSERT(text && inflateInit2(&s, MAX_WBITS + 16) == Z_OK);
	s.next_out = (Bytef *)text;
	s.avail_out = (4 << 20) - 1;
	while (s.avail_in) { /* members behind each other */
		ASSERT_EQ(inflate(&s, Z_NO_FLUSH), Z_STREAM_END);
		ASSERT_EQ(inflateReset(&s), Z_OK);
	}
	inflateEnd(&s);
	return text;
}

static void answer_lines(struct server *server, char *body, struct transfer_answer *ret)
{
	FILE *out = fmemopen(ret->text, sizeof(ret->text), "w");
	char *end;

	ASSERT(out);
	for (size_t i = 0; (end = strchr(body, '\n')); body = end + 1, i++) {
		*end = '\0';
		if (i >= server->answered_max)
			break;
		if (server->refused && strstr(body, server->refused)) {
			fputs("{\"answer\":\"refused\",\"reason\":\"it is odd\"}\n", out);
			continue;
		}
		server->taken++;
		fputs("{\"answer\":\"taken\"}\n", out);
	}
	ret->length = (size_t)ftell(out);
	fclose(out);
}

static int post(void *context, const void *body, size_t length, struct transfer_answer *ret,
		struct error *err)
{
	struct server *server = context;
	_cleanup_free_ char *text = unpack(body, length);
	size_t lines = 0;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	server->requests++;
	server->lines = lines;
	ret->status = 0;
	ret->length = 0;
	if (!server->status)
		return error_set(err, -EIO, "connection refused");
	ret->status = server->lines_max && lines > server->lines_max ? 413 : server->status;
	if (server->unstorable && strstr(text, server->unstorable))
		ret->status = 503;
	ret->retry_after_s = server->retry_after_s;
	ret->is_ndjson = !server->is_html;
	if (ret->status != 200)
		return 0;
	if (server->text) {
		ret->length = strlen(server->text);
		memcpy(ret->text, server->text, ret->length);
	} else {
		answer_lines(server, text, ret);
	}
	return server->breaks ? error_set(err, -EIO, "connection reset") : 0;
}

static void bench_close(struct bench *b)
{
	free(b->sender);
	spool_close(b->spool);
	closep(&b->dir_fd);
}
#define _cleanup_bench_ _cleanup_(bench_close)

static void open_sender(struct bench *b)
{
	const struct sender_options options = {
		.dir_fd = b->dir_fd, .post = post, .context = &b->server, .status = &b->status
	};

	b->sender = sender_new(&options);
	ASSERT(b->sender);
}

static void bench_open(struct bench *b)
{
	static unsigned int number;

	*b = (struct bench){ .server = { .status = 200, .answered_max = SIZE_MAX } };
	snprintf(b->path, sizeof(b->path), "%s/sender-%u", test_dir(), number++);
	ASSERT_OK(spool_make_dirs(b->path, geteuid(), getegid(), NULL));
	ASSERT_OK(spool_open(b->path, UINT64_C(1) << 30, &b->spool, NULL));
	b->dir_fd = open(b->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT(b->dir_fd >= 0);
	open_sender(b);
}

static void put(struct bench *b, const char *id, bool is_final)
{
	_cleanup_(record_freep) struct record *r = record_new();

	ASSERT(r);
	r->job.manager = strdup("made");
	r->job.id = strdup(id);
	r->is_final = is_final;
	ASSERT_OK(spool_write(b->spool, r, NULL));
}

static void put_many(struct bench *b, unsigned int count)
{
	char id[16];

	for (unsigned int i = 0; i < count; i++) {
		snprintf(id, sizeof(id), "job-%u", i);
		put(b, id, i % 2);
	}
}

static size_t left(const struct bench *b, const char *below)
{
	_cleanup_close_ int fd = openat(b->dir_fd, below, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(spool_list_clear) struct spool_list list = {};

	ASSERT(fd >= 0);
	ASSERT_OK(spool_list_read(fd, true, &list));
	return list.count;
}

static enum sender_outcome send_all(struct bench *b)
{
	enum sender_outcome outcome;
	unsigned int rounds = 0;

	while ((outcome = sender_round(b->sender)) == SENDER_MORE)
		ASSERT(++rounds < 1000);
	return outcome;
}

/* A test of a bench @b. */
#define BENCH(what) TEST_WITH(what, struct bench, b, bench_open, bench_close)

BENCH(what_the_server_takes_leaves_the_spool)
{
	const struct sender_status *status = &b->status;

	ASSERT_EQ((int)sender_round(b->sender), (int)SENDER_IDLE);
	ASSERT_EQ(b->server.requests, (size_t)0);
	put_many(b, 600);
	ASSERT_EQ((int)send_all(b), (int)SENDER_IDLE);
	ASSERT_EQ(left(b, "."), (size_t)0);
	ASSERT_EQ(b->server.taken, (size_t)600);
	ASSERT_EQ(b->server.requests, (size_t)3);
	ASSERT_EQ(status->answers[ANSWER_TAKEN], (uint64_t)600);
	ASSERT_EQ(status->records[false] + status->records[true], (uint64_t)0);
	ASSERT(status->oldest_ns == 0 && status->answered_ns && !*status->text);
}

/* Whatever the request ends with, nothing is dropped by it. */
TEST(a_status_of_the_request_drops_nothing_and_is_told)
{
	static const unsigned int statuses[] = { 0,   301, 401, 403, 404, 408, 415,
						 429, 500, 502, 503, 504, 204, 299 };

	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		_cleanup_bench_ struct bench b;
		const struct sender_status *status = &b.status;

		bench_open(&b);
		put_many(&b, 3);
		b.server.status = statuses[i];
		ASSERT_EQ((int)send_all(&b), (int)SENDER_LATER);
		ASSERT_EQ(left(&b, "."), (size_t)3);
		ASSERT_EQ(status->http_status, (uint32_t)statuses[i]);
		ASSERT_EQ(status->failed_requests, (uint64_t)1);
		ASSERT_EQ(status->records[true], (uint64_t)1);
		ASSERT_EQ(status->records[false], (uint64_t)2);
		ASSERT(*status->text && status->oldest_ns);
		b.server.status = 200;
		ASSERT_EQ((int)send_all(&b), (int)SENDER_IDLE);
		ASSERT_EQ(b.server.taken, (size_t)3);
		ASSERT(!*b.status.text);
	}
}

BENCH(what_is_too_large_is_halved_until_it_fits_and_grows_again)
{
	put_many(b, 500);
	b->server.lines_max = 20;
	ASSERT_EQ((int)send_all(b), (int)SENDER_IDLE);
	ASSERT_EQ(b->server.taken, (size_t)500);
	b->server.lines_max = 0;
	put_many(b, 500);
	b->server.requests = 0;
	ASSERT_EQ((int)send_all(b), (int)SENDER_IDLE);
	ASSERT_EQ(b->server.taken, (size_t)1000);
	ASSERT(b->server.requests < 12);
}

/* One that the server does not take alone keeps nobody from being sent. */
BENCH(a_record_too_large_alone_waits_and_others_go)
{
	put_many(b, 5);
	b->server.status = 413;
	ASSERT_EQ((int)send_all(b), (int)SENDER_IDLE);
	ASSERT_EQ(left(b, "."), (size_t)5);
	ASSERT_CONTAINS(b->status.text, "413");
	b->server.status = 200;
	put(b, "new", true);
	ASSERT_EQ((int)send_all(b), (int)SENDER_IDLE);
	ASSERT_EQ(left(b, "."), (size_t)5);
	ASSERT_EQ(b->server.taken, (size_t)1);
	free(b->sender);
	open_sender(b);
	ASSERT_EQ((int)send_all(b), (int)SENDER_IDLE);
	ASSERT_EQ(b->server.taken, (size_t)6);
}

BENCH(what_is_refused_is_set_aside_with_its_reason_and_the_rest_goes)
{
	_cleanup_(spool_list_clear) struct spool_list list = {};
	_cleanup_close_ int refused = -EBADF, reason = -EBADF;
	char file[SPOOL_NAME_SIZE + 8], text[64] = "";

	put_many(b, 9);
	b->server.refused = "job-4";
	ASSERT_EQ((int)send_all(b), (int)SENDER_IDLE);
	ASSERT_EQ(b->server.taken, (size_t)8);
	ASSERT_EQ(left(b, "."), (size_t)0);
	ASSERT_EQ(b->status.answers[ANSWER_REFUSED], (uint64_t)1);
	ASSERT_STREQ(b->status.reason, "it is odd");
	refused = openat(b->dir_fd, SPOOL_REFUSED, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_OK(spool_list_read(refused, false, &list));
	ASSERT_EQ(list.count, (size_t)1);
	snprintf(file, sizeof(file), "%s.reason", list.files[0].name);
	reason = openat(refused, file, O_RDONLY | O_CLOEXEC);
	ASSERT(read(reason, text, sizeof(text) - 1) > 0);
	ASSERT_STREQ(text, "it is odd\n");
}

BENCH(what_is_set_aside_is_bounded)
{
	put_many(b, SENDER_REFUSED_MAX + 100);
	b->server.refused = "job-";
	ASSERT_EQ((int)send_all(b), (int)SENDER_IDLE);
	ASSERT_EQ(left(b, SPOOL_REFUSED), (size_t)SENDER_REFUSED_MAX);
	ASSERT_EQ(b->status.answers[ANSWER_REFUSED], (uint64_t)SENDER_REFUSED_MAX + 100);
}

BENCH(of_a_cut_answer_the_whole_lines_hold)
{
	put_many(b, 9);
	b->server.answered_max = 4;
	b->server.breaks = true;
	ASSERT_EQ((int)send_all(b), (int)SENDER_LATER);
	ASSERT_EQ(left(b, "."), (size_t)5);
	ASSERT_CONTAINS(b->status.text, "4 of 9");
	b->server.answered_max = SIZE_MAX;
	b->server.breaks = false;
	ASSERT_EQ((int)send_all(b), (int)SENDER_IDLE);
	ASSERT_EQ(b->server.taken, (size_t)9);
}

TEST(an_answer_that_lies_is_not_believed)
{
	static const char *const texts[] = {
		/* for more than was sent */
		"{\"answer\":\"taken\"}\n{\"answer\":\"taken\"}\n{\"answer\":\"taken\"}\n",
		"<html>welcome</html>\n",
		"\n\n",
		"",
		"{\"answer\":\"taken\"}", /* cut within its first line */
		"[]\n{\"answer\":\"taken\"}\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_bench_ struct bench b;

		bench_open(&b);
		put_many(&b, 2);
		b.server.text = texts[i];
		ASSERT_EQ((int)send_all(&b), (int)SENDER_LATER);
		ASSERT_EQ(left(&b, "."), (size_t)2);
		ASSERT(*b.status.text);
	}
	_cleanup_bench_ struct bench b;

	bench_open(&b);
	put_many(&b, 2);
	b.server.is_html = true; /* some proxy's page, whatever its lines are */
	ASSERT_EQ((int)send_all(&b), (int)SENDER_LATER);
	ASSERT_EQ(left(&b, "."), (size_t)2);
}

/* Rounds of which each may be put off. */
static void send_until_taken(struct bench *b, size_t taken)
{
	unsigned int rounds = 0;

	while (b->server.taken < taken) {
		ASSERT((int)sender_round(b->sender) != (int)SENDER_IDLE);
		ASSERT(++rounds < 1000);
	}
}

BENCH(what_the_server_cannot_store_stays_and_keeps_no_other_from_being_sent)
{
	put_many(b, 40);
	b->server.unstorable = "job-7\""; /* among the first */
	send_until_taken(b, 39);
	for (unsigned int i = 0; i < 10; i++)
		ASSERT((int)send_all(b) != (int)SENDER_MORE);
	ASSERT_EQ(left(b, "."), (size_t)1);
	put(b, "new", true);
	send_until_taken(b, 40);
	b->server.unstorable = NULL;
	send_until_taken(b, 41);
	ASSERT_EQ(left(b, "."), (size_t)0);
}

BENCH(while_a_server_fails_all_stays_and_all_goes_when_it_is_back)
{
	put_many(b, 40);
	b->server.status = 503;
	for (unsigned int i = 0; i < 80; i++)
		ASSERT_EQ((int)sender_round(b->sender), (int)SENDER_LATER);
	ASSERT_EQ(left(b, "."), (size_t)40);
	b->server.status = 200;
	ASSERT_EQ((int)send_all(b), (int)SENDER_IDLE);
	ASSERT_EQ(b->server.taken, (size_t)40);
	ASSERT_EQ(left(b, "."), (size_t)0);
}

BENCH(the_delay_doubles_is_bounded_and_no_shorter_than_the_server_asks_for)
{
	uint64_t least = UINT64_MAX, most = 0;

	put_many(b, 1);
	b->server.status = 503;
	for (unsigned int i = 0; i < 20; i++) {
		uint64_t delay;

		ASSERT_EQ((int)send_all(b), (int)SENDER_LATER);
		delay = sender_delay_ms(b->sender);
		if (i == 0)
			ASSERT(delay >= 1000 && delay <= 3000);
		if (i > 10) {
			least = MIN(least, delay);
			most = MAX(most, delay);
		}
	}
	ASSERT(least >= 150000 && most <= 450000 && least != most);
	b->server.retry_after_s = 1000;
	ASSERT_EQ((int)send_all(b), (int)SENDER_LATER);
	ASSERT(sender_delay_ms(b->sender) >= 1000000 && sender_delay_ms(b->sender) <= 1100000);
	b->server.status = 200;
	b->server.retry_after_s = 0;
	ASSERT_EQ((int)send_all(b), (int)SENDER_IDLE);
	put_many(b, 1);
	b->server.status = 500;
	ASSERT_EQ((int)send_all(b), (int)SENDER_LATER);
	ASSERT(sender_delay_ms(b->sender) <= 3000);
}

/* As a loss of power leaves it: a name, and not all that belongs there. */
BENCH(a_torn_file_is_removed_and_counted_and_others_go)
{
	_cleanup_(spool_list_clear) struct spool_list list = {};

	put_many(b, 4);
	ASSERT_OK(spool_list_read(b->dir_fd, true, &list));
	for (size_t i = 0; i < list.count; i++) {
		_cleanup_close_ int fd = openat(b->dir_fd, list.files[i].name, O_RDWR | O_CLOEXEC);

		ASSERT(fd >= 0);
		if (i < 2)
			ASSERT_OK(ftruncate(fd, i ? 20 : 0));
	}
	ASSERT_EQ((int)send_all(b), (int)SENDER_IDLE);
	ASSERT_EQ(b->server.taken, (size_t)2);
	ASSERT_EQ(b->status.torn, (uint64_t)2);
	ASSERT_EQ(b->status.records[false] + b->status.records[true], (uint64_t)0);
	ASSERT_EQ(left(b, "."), (size_t)0);
}

BENCH(of_two_records_of_a_job_the_better_one_is_sent)
{
	put(b, "7", true);
	put(b, "7", false); /* it goes on: requeued */
	put(b, "8", false);
	ASSERT_EQ((int)send_all(b), (int)SENDER_IDLE);
	ASSERT_EQ(b->server.taken, (size_t)2);
	ASSERT_EQ(left(b, "."), (size_t)0);
}
