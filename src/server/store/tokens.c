/* SPDX-License-Identifier: MIT */
#include "server/store/tokens.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "server/store/store_internal.h"

#define COLUMNS "id, user_name, uid, sees_all, digest, created_ns, expires_ns"

static struct store_token read_token(const struct statement *row)
{
	struct store_token token = {
		.id = COLUMN_NUMBER(row, 0),
		.uid = (uint32_t)COLUMN_NUMBER(row, 2),
		.sees_all = COLUMN_NUMBER(row, 3) == 1,
		.created_ns = COLUMN_NUMBER(row, 5),
		.expires_ns = COLUMN_NUMBER(row, 6),
	};

	snprintf(token.user, sizeof(token.user), "%s", COLUMN_TEXT(row, 1));
	snprintf(token.digest, sizeof(token.digest), "%s", COLUMN_TEXT(row, 4));
	return token;
}

int store_add_token(struct store *s, const struct store_token *token, uint64_t *ret_id,
		    struct error *err)
{
	uint64_t id = store_number(
		s,
		"INSERT INTO tokens (user_name, uid, sees_all, digest, created_ns, expires_ns) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING id",
		TEXT(token->user), NUMBER(token->uid), NUMBER(token->sees_all), TEXT(token->digest),
		NUMBER(token->created_ns), NUMBER(token->expires_ns));

	*ret_id = id;
	return store_told(s, err);
}

int store_find_token(struct store *s, uint64_t id, struct store_token *ret, struct error *err)
{
	struct statement *row = store_ask(s, "SELECT " COLUMNS " FROM tokens WHERE id = ?1",
					  NUMBER(id));
	bool is_there = store_next(s, row);
	int r;

	if (is_there)
		*ret = read_token(row);
	store_reset(row);
	r = store_told(s, err);
	return r < 0 || is_there ? r : error_set(err, -ENOENT, "there is no token %" PRIu64, id);
}

int store_revoke_token(struct store *s, uint64_t id, struct error *err)
{
	uint64_t revoked = store_number(s, "DELETE FROM tokens WHERE id = ?1 RETURNING id",
					NUMBER(id));
	int r = store_told(s, err);

	return r < 0 || revoked ? r : error_set(err, -ENOENT, "there is no token %" PRIu64, id);
}

int store_list_tokens(struct store *s, uint64_t after,
		      void (*take)(void *context, const struct store_token *token), void *context,
		      struct error *err)
{
	struct statement *row = store_ask(
		s, "SELECT " COLUMNS " FROM tokens WHERE id > ?1 ORDER BY id", NUMBER(after));

	while (store_next(s, row)) {
		const struct store_token token = read_token(row);

		take(context, &token);
	}
	return store_told(s, err);
}
