/* SPDX-License-Identifier: MIT */
/*
 * gzip_line - one record as a gzip member: what lies in the spool.  Members behind each other are
 * one gzip stream of as many lines.
 */
#pragma once

#include <stddef.h>

/* The caller frees *ret.  -ENOMEM. */
int gzip_line_pack(const char *line, size_t length, void **ret, size_t *ret_length);

/* 0: it is one whole member, whose check sum is right.  -EBADMSG: it is torn; -Exxx: it cannot be
 * read.  @fd is read from its beginning. */
int gzip_line_check(int fd);
