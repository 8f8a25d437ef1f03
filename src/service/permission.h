/* SPDX-License-Identifier: MIT */
/*
 * permission - who may see which job: its own user; root and the members of the admins' groups see
 * all.
 *
 * Whose a job is, is the uid of the job; who asks, what the kernel says of the other end of the
 * socket.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* Everybody sees all jobs, whoever asks (but whom the kernel does not name). */
void permission_open_to_all(struct permission *p, bool is_open);

/* @p is from now on what @other is, which is freed: those who hold @p need not be told. */
void permission_become(struct permission *p, struct permission *other);

/* Root, or one of the admins.  A peer that is not known sees nothing. */
bool permission_sees_all(struct permission *p, const struct http_peer *peer);

/* A job whose user is not known (yet) is nobody's: only who sees all sees it. */
bool permission_sees(struct permission *p, const struct http_peer *peer, const struct job *job);
