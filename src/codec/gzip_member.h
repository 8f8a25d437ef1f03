/* SPDX-License-Identifier: MIT */
/* gzip_member - texts as gzip (RFC 1952) keeps them: members that can stand behind each other, and
 * are then one text. */
#pragma once

#include <stddef.h>

#define GZIP_FAST 1 /* for what does not stay long */
#define GZIP_SMALL 6

/* One member; @level is 1 to 9.  The caller frees *ret.  -ENOMEM. */
int gzip_member_pack(const void *text, size_t length, int level, void **ret, size_t *ret_length);

/* The text of all members, NUL-ended; the caller frees it.  -EBADMSG: it is no gzip, or is not
 * whole; -EFBIG: more than @max bytes; -ENOMEM. */
int gzip_members_unpack(const void *packed, size_t length, size_t max, char **ret,
			size_t *ret_length);
