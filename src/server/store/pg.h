/* SPDX-License-Identifier: MIT */
/*
 * pg - PostgreSQL behind the store, for servers with one; the other programs do without.
 *
 * Several servers may have one database: each takes and shows records, one at a time writes, and
 * one of them does the upkeep until its connection ends.  A connection that was cut is made anew
 * by what is asked next; what was under way fails with -EIO.  Nothing waits longer than 25 s, and
 * after a failure to connect all fails at once for 5 s.
 */
#pragma once

#include "server/store/store.h"

/* "postgresql://..." or "postgres://..." */
bool store_is_url(const char *where);
/* It has a password in it, which does not belong where many can read it. */
bool store_url_has_password(const char *url);

/* A file of SQLite, or what a URL names. */
int store_open_any(const char *where, enum store_mode mode, struct store **ret, struct error *err);
