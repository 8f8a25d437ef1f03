/* SPDX-License-Identifier: MIT */
/*
 * credential - authenticates the sender of a body by munge, on machines that share a key. Its
 * payload is the body's SHA-256, so it is valid for this body only; munged refuses replayed and old
 * credentials.
 *
 * libmunge is loaded by dlopen(), and only where a setting asks for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct error;
struct munge; /* opaque */

/* @socket: munged's; "": the library's own.  -ENOENT: there is no libmunge on this machine. */
int munge_open(const char *socket, struct munge **ret, struct error *err);
struct munge *munge_close(struct munge *m); /* NULL is fine; returns NULL */

/* "MUNGE AwQ...:" as a header's value; the caller frees.  -EIO: munged does not give one. */
int munge_sign(struct munge *m, const void *body, size_t length, char **ret, struct error *err);

#define CREDENTIAL_DIGEST_SIZE 65
#define CREDENTIAL_NAMES_SIZE 512

struct credential { /* the contents of a header, verified by munged */
	uid_t uid;
	char digest[CREDENTIAL_DIGEST_SIZE]; /* of the body, in hex */
	/* Of the machine that it was made on, as its address is known here: each ends in a blank;
	 * "": it has none. */
	char host[CREDENTIAL_NAMES_SIZE];
};

/* -EPERM: it is invalid or not for us; -EIO: munged, or the name service for its address, fails. */
int munge_check(struct munge *m, const char *header, struct credential *ret, struct error *err);

/* SHA-256 in hex.  -EIO. */
int credential_digest(const void *body, size_t length, char ret[CREDENTIAL_DIGEST_SIZE]);
bool credential_is_of_body(const struct credential *c, const void *body, size_t length);
/* By one of its names, or by the first part where one of the two has no more. */
bool credential_is_of_host(const struct credential *c, const char *node);
