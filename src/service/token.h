/* SPDX-License-Identifier: MIT */
/* token - the word that a scraper must bring: made at the first start, and read from its file from
 * then on. */
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
