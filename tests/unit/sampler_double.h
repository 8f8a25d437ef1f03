/* SPDX-License-Identifier: MIT */
/*
 * sampler_double - stands in for the agent's sampler in tests: it gives snapshots that a test made,
 * and measures nothing.  It also stands in for http's requests, whose query is a list of keys and
 * values.
 */
#pragma once

#include "http/http.h"
#include "node/sampler.h"

/* The sampler that gives @snapshot (a reference is taken); NULL: every reading fails. */
struct sampler *sampler_double_new(struct snapshot *snapshot);
struct sampler *sampler_double_free(struct sampler *s);
/* From now on it gives that one. */
void sampler_double_set(struct sampler *s, struct snapshot *snapshot);
/* How young the last snapshot had to be. */
uint64_t sampler_double_asked_age(const struct sampler *s);
/* Did anybody ask for what jobs run? */
bool sampler_double_wants_commands(const struct sampler *s);

/* A snapshot with room for @count jobs, none of which is filled; one reference. */
struct snapshot *snapshot_double_new(size_t count);
/* Fill one of them: it lives, and used (7 + @index) ns in user mode. */
struct snapshot_job *snapshot_double_fill(struct snapshot *s, size_t index, const char *manager,
					  const char *id, int64_t uid);

/* What connection of a struct http_request is here. */
struct query_double {
	const char *key, *value;
};
