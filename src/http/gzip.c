/* SPDX-License-Identifier: MIT */
#include "http/answer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "basic/cleanup.h"
#include "http/http.h"
#include "basic/macro.h"

#define INPUT_SIZE 16384
#define LEVEL \
	1 /* text like this becomes an eighth; higher levels win little and take twice the time */
#define WINDOW_BITS 13 /* 8 KiB; 16 more ask for gzip's head and tail */
#define MEMORY_LEVEL 7

struct gzip {
	z_stream stream;
	struct http_answer plain; /* as the route gave it */
	size_t given; /* of plain.text */
	bool is_last; /* no more input comes */
	bool is_ended;
	unsigned char input[INPUT_SIZE];
};

static ssize_t take_text(struct gzip *g)
{
	size_t left = g->plain.length - g->given, length = MIN(left, sizeof(g->input));

	memcpy(g->input, g->plain.text + g->given, length);
	g->given += length;
	return (ssize_t)length;
}

static ssize_t take_input(struct gzip *g)
{
	ssize_t n = g->plain.next
			    ? g->plain.next(g->plain.context, (char *)g->input, sizeof(g->input))
			    : take_text(g);

	if (n < 0)
		return n;
	g->is_last = n == 0;
	g->stream.next_in = g->input;
	g->stream.avail_in = (uInt)n;
	return n;
}

static ssize_t gzip_next(void *context, char *buffer, size_t size)
{
	struct gzip *g = context;
	z_stream *s = &g->stream;
	uInt room = (uInt)MIN(size, (size_t)1 << 20);

	s->next_out = (Bytef *)buffer;
	s->avail_out = room;
	while (s->avail_out && !g->is_ended) {
		ssize_t n = s->avail_in || g->is_last ? 0 : take_input(g);
		int r;

		if (n == -EAGAIN && s->avail_out < room)
			break; /* what there is until the rest comes */
		if (n < 0)
			return n;
		r = deflate(s, g->is_last ? Z_FINISH : Z_NO_FLUSH);
		if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
			return -EIO;
		g->is_ended = r == Z_STREAM_END;
	}
	return (ssize_t)(room - s->avail_out);
}

static void gzip_done(void *context)
{
	struct gzip *g = context;

	deflateEnd(&g->stream);
	if (g->plain.done)
		g->plain.done(g->plain.context);
	free(g->plain.text);
	free(g);
}

int gzip_answer(struct http_answer *answer)
{
	struct gzip *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	if (deflateInit2(&g->stream, LEVEL, Z_DEFLATED, WINDOW_BITS + 16, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(g);
		return -ENOMEM;
	}
	g->plain = *answer;
	answer->text = NULL;
	answer->length = 0;
	answer->next = gzip_next;
	answer->done = gzip_done;
	answer->context = g;
	return 0;
}
