/* SPDX-License-Identifier: MIT */
/* token - bearer tokens: that of scrapers, made at the first start, and our own for the site's
 * server. */
#pragma once

#include <sys/types.h>

struct error;

#define TOKEN_MIN 16 /* letters of one that the site made */
#define TOKEN_SIZE 257

/*
 * Read the token of @path; where there is no file, make it: 64 letters of hex, readable by its
 * owner and by @gid's members (0640).  The directory must be there. -EPERM: others can read or
 * write it; -EINVAL: it is no plain file, or holds no token.
 */
int token_get(const char *path, gid_t gid, char ret[TOKEN_SIZE], struct error *err);

/* A token made by another program, to be sent to it; any owner of the file is fine.  -ENOENT: there
 * is none; else as above. */
int token_read(const char *path, char ret[TOKEN_SIZE], struct error *err);

/* Copy the token of the file @from, which is checked as above, to the absolute path @path: 0640, of
 * @gid, in one step; what stood there is replaced.  1: it was written; 0: it is there already. */
int token_install(const char *from, const char *path, gid_t gid, struct error *err);
