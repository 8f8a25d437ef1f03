/* SPDX-License-Identifier: MIT */
/*
 * slow_source - samples a slow source on a thread of its own; no caller waits for it.
 *
 * The thread starts with the first request: so it never has rights that the process gave up before.
 * It works between slow_source_ask() and the end of one sample(); only while it is idle others may
 * use the state.
 */
#pragma once

#include <stdint.h>

#include "model/sample.h"

struct error;
struct slow_source;
struct source;
struct source_options;

/* Open it with a root_fd of its own.  As source->open(). */
int slow_source_open(const struct source *source, const struct source_options *options,
		     struct slow_source **ret, struct error *err);

/* NULL is fine; returns NULL.  A sample that is under way is left alone: its thread gives all back
 * when that ends. */
struct slow_source *slow_source_free(struct slow_source *s);

/* Request a sample, unless one is being taken. -EAGAIN, -ENOMEM: no thread. */
int slow_source_ask(struct slow_source *s);

/*
 * Replaces @ret by a finished sample; without a new one @ret stays. -EBUSY: none was requested yet,
 * or one is being taken. -ETIME: it came late, or is late by now: @ret is empty. Else as
 * source->sample().
 */
int slow_source_take(struct slow_source *s, struct samples *ret);

/* The caller's between taking a sample and the next request. */
struct source_state *slow_source_state(const struct slow_source *s);

/* How many samples were late by now. */
uint64_t slow_source_late(const struct slow_source *s);
