/* SPDX-License-Identifier: MIT */
#include "codec/gzip_member.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "basic/cleanup.h"
#include "basic/macro.h"

#define WINDOW_BITS (15 + 16) /* 32 KiB, with gzip's head and tail */
#define MEMORY_LEVEL 8
#define FIRST_BYTES 16384

int gzip_member_pack(const void *text, size_t length, int level, void **ret, size_t *ret_length)
{
	z_stream s = {};
	size_t room;
	void *packed;
	int r;

	if (length > UINT_MAX / 2)
		return -EFBIG;
	if (deflateInit2(&s, level, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return -ENOMEM;
	room = deflateBound(&s, length);
	packed = malloc(room);
	s.next_in = (Bytef *)(uintptr_t)text;
	s.avail_in = (uInt)length;
	s.next_out = packed;
	s.avail_out = (uInt)room;
	r = packed ? deflate(&s, Z_FINISH) : Z_MEM_ERROR;
	deflateEnd(&s);
	if (r != Z_STREAM_END) {
		free(packed);
		return -ENOMEM;
	}
	*ret = packed;
	*ret_length = s.total_out;
	return 0;
}

struct unpacking {
	z_stream stream;
	char *text;
	size_t length, room, max;
};

/* One byte more than the text and its NUL may have: what fills it is too much. */
static int grow(struct unpacking *u)
{
	size_t room = u->room ? u->room * 2 : FIRST_BYTES;
	char *larger;

	if (u->length + 1 < u->room)
		return 0;
	if (u->length > u->max)
		return -EFBIG;
	room = MIN(room, u->max + 2);
	larger = realloc(u->text, room);
	if (!larger)
		return -ENOMEM;
	u->text = larger;
	u->room = room;
	return 0;
}

/* To the end of the member. */
static int unpack_member(struct unpacking *u)
{
	z_stream *s = &u->stream;
	int r = Z_OK, grown;

	while (r != Z_STREAM_END) {
		uInt space;

		grown = grow(u);
		if (grown < 0)
			return grown;
		space = (uInt)MIN(u->room - u->length - 1, (size_t)UINT_MAX);
		s->next_out = (Bytef *)u->text + u->length;
		s->avail_out = space;
		r = inflate(s, Z_NO_FLUSH);
		u->length += space - s->avail_out;
		if (r == Z_MEM_ERROR)
			return -ENOMEM;
		if (r != Z_OK && r != Z_STREAM_END)
			return -EBADMSG; /* also where the input ends early: Z_BUF_ERROR */
	}
	return 0;
}

static int unpack_all(struct unpacking *u)
{
	int r;

	do {
		r = unpack_member(u);
		if (r == 0 && u->stream.avail_in && inflateReset(&u->stream) != Z_OK)
			r = -EBADMSG;
	} while (r == 0 && u->stream.avail_in);
	if (r == 0 && u->length > u->max)
		r = -EFBIG;
	return r;
}

int gzip_members_unpack(const void *packed, size_t length, size_t max, char **ret,
			size_t *ret_length)
{
	struct unpacking u = { .max = max };
	int r;

	if (length > UINT_MAX)
		return -EFBIG;
	u.stream.next_in = (Bytef *)(uintptr_t)packed;
	u.stream.avail_in = (uInt)length;
	if (inflateInit2(&u.stream, WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	r = unpack_all(&u);
	inflateEnd(&u.stream);
	if (r < 0) {
		free(u.text);
		return r;
	}
	u.text[u.length] = '\0';
	*ret = u.text;
	*ret_length = u.length;
	return 0;
}
