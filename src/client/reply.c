/* SPDX-License-Identifier: MIT */
#include "client/reply.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "basic/macro.h"
#include "basic/parse.h"

#define CHUNK_DIGITS_MAX 8

void reply_clear(struct reply *r)
{
	free(r->text);
	*r = (struct reply){ .max = r->max };
}

static int reply_refuse(struct reply *r, const char *why)
{
	r->why = why;
	return -EPROTO;
}

/* "HTTP/1.1 200 OK" */
static int reply_take_status(struct reply *r)
{
	const char *p = r->line;

	if (strncmp(p, "HTTP/1.", 7) != 0 || !isdigit((unsigned char)p[7]) || p[8] != ' ')
		return reply_refuse(r, "that is no HTTP");
	for (p += 9; isdigit((unsigned char)*p) && p < r->line + 12; p++)
		r->status = r->status * 10 + (unsigned int)(*p - '0');
	if (p != r->line + 12 || (*p && *p != ' ') || r->status < 100)
		return reply_refuse(r, "its status is no number");
	r->part = REPLY_FIELDS;
	return 0;
}

static int reply_take_length(struct reply *r, const char *value)
{
	uint64_t length;

	if (parse_u64(value, &length) < 0 || (r->has_length && length != r->left))
		return reply_refuse(r, "its length is no number");
	r->has_length = true;
	r->left = length;
	return 0;
}

static int reply_take_field(struct reply *r)
{
	char *colon = strchr(r->line, ':'), *value, *end;

	if (!colon)
		return reply_refuse(r, "a line of its head has no name");
	*colon = '\0';
	value = colon + 1 + strspn(colon + 1, " \t");
	end = value + strlen(value);
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	if (strcasecmp(r->line, "Content-Length") == 0)
		return reply_take_length(r, value);
	if (strcasecmp(r->line, "Transfer-Encoding") == 0) {
		r->is_chunked = strcasecmp(value, "chunked") == 0;
		return r->is_chunked ? 0
				     : reply_refuse(r, "it is in a coding that was not asked for");
	}
	if (strcasecmp(r->line, "Content-Encoding") == 0 && strcasecmp(value, "identity") != 0)
		return reply_refuse(r, "it is in a coding that was not asked for");
	return 0;
}

/* The empty line behind the head. */
static int reply_begin_body(struct reply *r)
{
	if (r->status < 200) { /* only that more will come */
		r->status = 0;
		r->is_chunked = r->has_length = false;
		r->part = REPLY_STATUS;
		return 0;
	}
	if (r->is_chunked && r->has_length)
		return reply_refuse(r, "it has two lengths");
	r->part = r->is_chunked		      ? REPLY_CHUNK_LENGTH
		  : r->has_length && !r->left ? REPLY_WHOLE
					      : REPLY_BODY;
	if (!r->is_chunked && r->has_length && r->left > r->max)
		return -EMSGSIZE;
	return 0;
}

/* "1a2b" or "1a2b;more" */
static int reply_take_chunk_length(struct reply *r)
{
	size_t digits = strspn(r->line, "0123456789abcdefABCDEF");

	if (!digits || digits > CHUNK_DIGITS_MAX || !strchr("; \t", r->line[digits]))
		return reply_refuse(r, "a chunk's length is no number");
	r->line[digits] = '\0';
	r->left = strtoul(r->line, NULL, 16);
	r->part = r->left ? REPLY_CHUNK : REPLY_TRAILER;
	return 0;
}

static int reply_take_line(struct reply *r)
{
	switch (r->part) {
	case REPLY_STATUS:
		return reply_take_status(r);
	case REPLY_FIELDS:
		return *r->line ? reply_take_field(r) : reply_begin_body(r);
	case REPLY_CHUNK_LENGTH:
		return reply_take_chunk_length(r);
	case REPLY_CHUNK_END:
		r->part = REPLY_CHUNK_LENGTH;
		return *r->line ? reply_refuse(r, "a chunk is longer than it says") : 0;
	default:
		r->part = *r->line ? REPLY_TRAILER : REPLY_WHOLE;
		return 0;
	}
}

/* Up to the end of a line.  Returns how many bytes were used. */
static ssize_t reply_feed_line(struct reply *r, const char *data, size_t length)
{
	const char *newline = memchr(data, '\n', length);
	size_t used = newline ? (size_t)(newline - data) + 1 : length,
	       text = newline ? used - 1 : used;
	int code;

	if (r->part != REPLY_CHUNK_LENGTH && r->part != REPLY_CHUNK_END)
		r->head_length += used;
	if (r->line_length + text >= sizeof(r->line) || r->head_length > REPLY_HEAD_MAX)
		return reply_refuse(r, "its head is too long");
	memcpy(r->line + r->line_length, data, text);
	r->line_length += text;
	if (!newline)
		return (ssize_t)used;
	if (r->line_length && r->line[r->line_length - 1] == '\r')
		r->line_length--;
	r->line[r->line_length] = '\0';
	r->line_length = 0;
	code = reply_take_line(r);
	return code < 0 ? code : (ssize_t)used;
}

int reply_add(struct reply *r, const char *data, size_t length)
{
	if (length > r->max - r->length)
		return -EMSGSIZE;
	if (r->length + length >= r->room) {
		size_t room = MAX(r->room * 2, r->length + length + 4096);
		char *larger = realloc(r->text, room);

		if (!larger)
			return -ENOMEM;
		r->text = larger;
		r->room = room;
	}
	memcpy(r->text + r->length, data, length);
	r->length += length;
	r->text[r->length] = '\0';
	return 0;
}

/* Of the body, or of a chunk of it. */
static ssize_t reply_feed_body(struct reply *r, const char *data, size_t length)
{
	bool is_counted = r->is_chunked || r->has_length;
	size_t used = is_counted ? (size_t)MIN(r->left, (uint64_t)length) : length;
	int code = reply_add(r, data, used);

	if (code < 0)
		return code;
	r->left -= is_counted ? used : 0;
	if (is_counted && !r->left)
		r->part = r->is_chunked ? REPLY_CHUNK_END : REPLY_WHOLE;
	return (ssize_t)used;
}

int reply_feed(struct reply *r, const char *data, size_t length)
{
	while (length && r->part != REPLY_WHOLE) {
		bool is_body = r->part == REPLY_BODY || r->part == REPLY_CHUNK;
		ssize_t used = is_body ? reply_feed_body(r, data, length)
				       : reply_feed_line(r, data, length);

		if (used < 0)
			return (int)used;
		data += used;
		length -= (size_t)used;
	}
	return r->part == REPLY_WHOLE;
}

int reply_end(struct reply *r)
{
	if (r->part == REPLY_BODY && !r->has_length)
		r->part = REPLY_WHOLE;
	return r->part == REPLY_WHOLE ? 0 : -ECONNRESET;
}
