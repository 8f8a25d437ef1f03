/* SPDX-License-Identifier: MIT */
/*
 * place - where a test keeps a store, and what stands there without the store's own eyes.
 *
 * A file of SQLite; or a schema of the PostgreSQL that JOBMETER_TEST_DATABASE names, a URL with a
 * '?' in it, whose role may make schemas.
 */
#pragma once

#include <stdbool.h>

struct store;

bool place_is_file(void);

/* For store_open_any(); holds until the next call. */
const char *place_of(const char *name);

/* A store there that is written to.  Never NULL. */
struct store *place_open(const char *name);

/* All that a question gives, a row a line, "-" for NULL; the caller frees. */
char *place_ask(const char *name, const char *question);
void place_execute(const char *name, const char *text);
