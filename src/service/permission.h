/* SPDX-License-Identifier: MIT */
/*
 * permission - which jobs a caller may see: their own; root and members of the admin groups see
 * all.
 *
 * A job belongs to its uid; the kernel identifies the caller at the other end of the socket.
 */
#pragma once

#include <stdbool.h>

struct error;
struct http_peer;
struct job;
struct permission;

#define PERMISSION_GROUPS_MAX 32 /* that may be named */

/* Members of these groups see all; @groups ends with NULL, and may be NULL.  -ENOENT: there is no
 * such group; -E2BIG: too many. */
int permission_new(const char *const *groups, struct permission **ret, struct error *err);
struct permission *permission_free(struct permission *p); /* NULL is fine; returns NULL */
void permission_freep(struct permission **p);

/* Every caller sees all jobs, except those whom the kernel does not identify. */
void permission_open_to_all(struct permission *p, bool is_open);

/* Replace the contents of @p by @other, which is freed; pointers to @p stay valid. */
void permission_become(struct permission *p, struct permission *other);

/* Root, or one of the admins.  A peer that is not known sees nothing. */
bool permission_sees_all(struct permission *p, const struct http_peer *peer);

/* A job of an unknown user is visible only to callers who see all jobs. */
bool permission_sees(struct permission *p, const struct http_peer *peer, const struct job *job);
