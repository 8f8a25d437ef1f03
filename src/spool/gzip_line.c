/* SPDX-License-Identifier: MIT */
#include "spool/gzip_line.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "basic/cleanup.h"

#define LEVEL \
	1 /* text like this becomes an eighth; higher levels win little and take twice the time */
#define GZIP 16 /* added to the bits of the window: gzip's head and tail */
#define PIECE 16384

int gzip_line_pack(const char *line, size_t length, void **ret, size_t *ret_length)
{
	_cleanup_free_ void *packed = NULL;
	z_stream s = {};
	uLong room;
	int r;

	if (deflateInit2(&s, LEVEL, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	room = deflateBound(&s, length);
	packed = malloc(room);
	s.next_in = (Bytef *)line;
	s.avail_in = (uInt)length;
	s.next_out = packed;
	s.avail_out = (uInt)room;
	r = packed ? deflate(&s, Z_FINISH) : Z_MEM_ERROR;
	deflateEnd(&s);
	if (r != Z_STREAM_END)
		return -ENOMEM;
	*ret_length = s.total_out;
	*ret = TAKE_PTR(packed);
	return 0;
}

static int unpack(int fd, z_stream *s)
{
	unsigned char in[PIECE], out[PIECE];
	int r = Z_OK;

	for (off_t at = 0; r == Z_OK;) {
		ssize_t n = pread(fd, in, sizeof(in), at);

		if (n < 0)
			return -errno;
		if (n == 0)
			return -EBADMSG;
		at += n;
		s->next_in = in;
		s->avail_in = (uInt)n;
		while (r == Z_OK && s->avail_in) {
			s->next_out = out;
			s->avail_out = sizeof(out);
			r = inflate(s, Z_NO_FLUSH);
		}
		if (r == Z_STREAM_END)
			return s->avail_in || pread(fd, in, 1, at) != 0 ? -EBADMSG : 0;
	}
	return r == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

int gzip_line_check(int fd)
{
	z_stream s = {};
	int r;

	if (inflateInit2(&s, MAX_WBITS + GZIP) != Z_OK)
		return -ENOMEM;
	r = unpack(fd, &s);
	inflateEnd(&s);
	return r;
}
