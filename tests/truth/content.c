/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdint.h>

#include "content.h"
#include "basic/macro.h"
#include "path.h"

static char byte_at(off_t at)
{
	return (char)((uint64_t)at * UINT64_C(2654435761) >> 13);
}

void content_fill(char *buffer, size_t bytes, off_t at)
{
	for (size_t i = 0; i < bytes; i++)
		buffer[i] = byte_at(at + (off_t)i);
}

bool content_is(const char *buffer, size_t bytes, off_t at)
{
	for (size_t i = 0; i < bytes; i++)
		if (buffer[i] != byte_at(at + (off_t)i))
			return false;
	return true;
}

struct file content_create(struct worker *w, int place, const struct path *path, size_t bytes)
{
	struct file file =
		counted_open(w->ledger, place,
			     &(struct opening){ .call = CALL_OPENAT,
						.dir_fd = AT_FDCWD,
						.path = path->text,
						.flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC,
						.creates = true });
	size_t part;

	if (file.fd < 0)
		return file;
	for (size_t at = 0; at < bytes; at += part) {
		part = MIN(bytes - at, WORK_BUFFER_BYTES);
		content_fill(w->buffer, part, (off_t)at);
		if (counted_write(w->ledger, file, w->buffer, part) != (long)part) {
			w->wrong = __func__; /* no space: nothing that follows means anything */
			break;
		}
	}
	return file;
}

void content_check(struct worker *w, struct file file, off_t at, size_t bytes, off_t origin)
{
	struct transfer t = { .call = CALL_PREAD, .buffer = w->buffer, .bytes = bytes, .at = at };

	if (counted_transfer(w->ledger, file, &t) != (long)bytes ||
	    !content_is(w->buffer, bytes, origin))
		w->wrong = __func__;
}
