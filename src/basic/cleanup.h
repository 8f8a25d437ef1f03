/* SPDX-License-Identifier: MIT */
/*
 * cleanup - what a variable owns is given back when it leaves its scope.
 *
 * A file descriptor that owns nothing is -EBADF.  TAKE_PTR and TAKE_FD hand ownership on.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

#define TAKE_PTR(pointer)                               \
	({                                              \
		__typeof__(pointer) taken_ = (pointer); \
		(pointer) = NULL;                       \
		taken_;                                 \
	})

#define TAKE_FD(fd)                \
	({                         \
		int taken_ = (fd); \
		(fd) = -EBADF;     \
		taken_;            \
	})

static inline void freep(void *pointer)
{
	free(*(void **)pointer);
}

static inline void closep(const int *fd)
{
	if (*fd >= 0) {
		int saved_errno = errno;

		close(*fd);
		errno = saved_errno;
	}
}

static inline void fclosep(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)
