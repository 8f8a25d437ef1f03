/* SPDX-License-Identifier: MIT */
/*
 * tokens - who may read the site's jobs by a bearer token.
 *
 * Of a token only the SHA-256 of its secret is kept: the database alone does not permit its use.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct store;

#define TOKEN_USER_SIZE 257
#define TOKEN_DIGEST_SIZE 65 /* in hex */

struct store_token {
	uint64_t id;
	char user[TOKEN_USER_SIZE];
	uint32_t uid; /* as it was when the token was made */
	bool sees_all; /* of an operator */
	char digest[TOKEN_DIGEST_SIZE];
	uint64_t created_ns, expires_ns; /* since the epoch */
};

/* *ret_id is its number, and what it has as such means nothing. */
int store_add_token(struct store *s, const struct store_token *token, uint64_t *ret_id,
		    struct error *err);
/* -ENOENT: there is none, or it was revoked. */
int store_find_token(struct store *s, uint64_t id, struct store_token *ret, struct error *err);
int store_revoke_token(struct store *s, uint64_t id, struct error *err);
/* Those of greater numbers than @after, the oldest first, also those that have expired. */
int store_list_tokens(struct store *s, uint64_t after,
		      void (*take)(void *context, const struct store_token *token), void *context,
		      struct error *err);
