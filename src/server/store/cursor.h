/* SPDX-License-Identifier: MIT */
/*
 * cursor - where a page of jobs ended: the key of its last job, as a text for URLs.
 *
 * It holds what the caller saw of that job, and nothing of others: no number by which the database
 * counts the jobs of all.
 */
#pragma once

#include <stdint.h>

struct error;

#define CURSOR_TEXTS 4
#define CURSOR_PARTS (3 + CURSOR_TEXTS)
#define CURSOR_MAX 8192 /* bytes */
/* The columns of all but the first, in their order. */
#define CURSOR_COLUMNS "start_ns, COALESCE(uid, -1), job_id, manager, cluster, node"

struct store_cursor {
	int64_t order; /* what the list is ordered by, then: */
	int64_t start_ns, uid;
	const char *texts[CURSOR_TEXTS];
};

/* "1770091506000000000~...": letters, digits and "-._~*" alone.  The caller frees; NULL: no memory.
 */
char *store_cursor_format(const struct store_cursor *cursor);
/* The texts are in *ret_kept, which the caller frees.  -EINVAL: it is none. */
int store_cursor_parse(const char *text, struct store_cursor *ret, char **ret_kept,
		       struct error *err);
