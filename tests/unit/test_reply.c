/* SPDX-License-Identifier: MIT */
#include "client/reply.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "test.h"

#define OK_LINE "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK_LINE "Transfer-Encoding: chunked\r\n\r\n"

/* Fed in pieces of @piece bytes, and ended. */
static int take(const char *text, size_t length, size_t piece, struct reply *ret)
{
	int r = 0;

	for (size_t at = 0; r == 0 && at < length; at += piece)
		r = reply_feed(ret, text + at, MIN(piece, length - at));
	return r == 0 ? reply_end(ret) : MIN(r, 0);
}

TEST(a_reply_is_the_same_however_it_comes)
{
	static const char *const texts[] = {
		OK_LINE "Content-Length: 11\r\nServer: x\r\n\r\nhello world",
		OK_LINE
		"content-length:11 \r\nContent-Encoding: identity\r\n\r\nhello worldrubbish",
		"HTTP/1.0 200\r\n\r\nhello world",
		CHUNKED "5\r\nhello\r\n6;more=x\r\n world\r\n0\r\nDigest: y\r\n\r\n",
		CHUNKED "000000B\r\nhello world\r\n0\r\n\r\nrubbish",
		"HTTP/1.1 100 Continue\r\n\r\n" OK_LINE "Content-Length: 11\n\nhello world",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		for (size_t piece = 1; piece < 120; piece += 7) {
			struct reply reply = { .max = 11 };

			ASSERT_OK(take(texts[i], strlen(texts[i]), piece, &reply));
			ASSERT_EQ(reply.status, 200u);
			ASSERT_EQ((uint64_t)reply.length, (uint64_t)11);
			ASSERT_STREQ(reply.text, "hello world");
			reply_clear(&reply);
			ASSERT(!reply.text && reply.max == 11);
		}
	}
}

TEST(a_reply_without_a_body_is_whole)
{
	static const char text[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
	struct reply reply = { .max = 11 };

	ASSERT_EQ(reply_feed(&reply, text, strlen(text)), 1);
	ASSERT_EQ(reply.status, 404u);
	ASSERT(!reply.text);
}

TEST(what_is_no_reply_is_told)
{
	static const struct row {
		const char *text, *why;
	} rows[] = {
		{ "SSH-2.0-OpenSSH\r\n", "that is no HTTP" },
		{ "HTTP/2 200\r\n", "that is no HTTP" },
		{ "HTTP/1.1 2x0 OK\r\n", "its status is no number" },
		{ "HTTP/1.1 2000 OK\r\n", "its status is no number" },
		{ "HTTP/1.1 099 OK\r\n", "its status is no number" },
		{ OK_LINE "nonsense\r\n", "a line of its head has no name" },
		{ OK_LINE "Content-Length: -1\r\n", "its length is no number" },
		{ OK_LINE "Content-Length: 1\r\nContent-Length: 2\r\n", "its length is no number" },
		{ OK_LINE "Transfer-Encoding: gzip\r\n",
		  "it is in a coding that was not asked for" },
		{ OK_LINE "Content-Encoding: gzip\r\n",
		  "it is in a coding that was not asked for" },
		{ OK_LINE "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		  "it has two lengths" },
		{ CHUNKED "x\r\n", "a chunk's length is no number" },
		{ CHUNKED "123456789\r\n", "a chunk's length is no number" },
		{ CHUNKED "1\r\nab\r\n", "a chunk is longer than it says" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct reply reply = { .max = 4711 };

		ASSERT_ERR(take(rows[i].text, strlen(rows[i].text), 1000, &reply), -EPROTO);
		ASSERT_STREQ(reply.why, rows[i].why);
		reply_clear(&reply);
	}
}

TEST(a_reply_that_ends_early_is_not_taken_for_whole)
{
	static const char *const texts[] = { "",
					     "HTTP/1.1 20",
					     OK_LINE "Content-Length: 5\r\n\r\nhell",
					     CHUNKED "5\r\nhello",
					     CHUNKED "5\r\nhello\r\n",
					     CHUNKED "0\r\n" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct reply reply = { .max = 4711 };

		ASSERT_ERR(take(texts[i], strlen(texts[i]), 3, &reply), -ECONNRESET);
		reply_clear(&reply);
	}
}

TEST(neither_head_nor_body_is_taken_without_a_bound)
{
	static const char *const bodies[] = { OK_LINE "Content-Length: 12\r\n\r\n",
					      OK_LINE "\r\nhello world!",
					      CHUNKED "ffffffff\r\nhello world!" };
	static const char line[] = "X-Field: something that says nothing\r\n";
	struct reply reply = { .max = 11 };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		ASSERT_ERR(take(bodies[i], strlen(bodies[i]), 1000, &reply), -EMSGSIZE);
		reply_clear(&reply);
	}
	ASSERT_OK(reply_feed(&reply, OK_LINE, strlen(OK_LINE)));
	for (int i = 0; r == 0 && i < 10000; i++)
		r = reply_feed(&reply, line, strlen(line));
	ASSERT_ERR(r, -EPROTO);
	ASSERT_STREQ(reply.why, "its head is too long");
	reply_clear(&reply);
	for (r = 0; r == 0;)
		r = reply_feed(&reply, "x", 1);
	ASSERT_ERR(r, -EPROTO);
}
