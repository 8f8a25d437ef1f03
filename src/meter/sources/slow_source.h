/* SPDX-License-Identifier: MIT */
/*
 * slow_source - samples a source that may take its time on a thread of its own, which nobody waits
 * for.
 *
 * The thread starts with the first sample that is asked for: so it never has rights that the
 * process gave up before.  It works between slow_source_ask() and the end of one sample() and is
 * idle else; only then is the state anybody else's.
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

/* Begin a sample, unless one is under way.  -EAGAIN, -ENOMEM: there is no thread to be had. */
int slow_source_ask(struct slow_source *s);

/*
 * The sample that has ended since, in place of @ret; where there is none, @ret stays as it is.
 * -EBUSY: the first has not been asked for, or one is under way.  -ETIME: it came late, or is late
 * by now: @ret is empty.  As source->sample(), else.
 */
int slow_source_take(struct slow_source *s, struct samples *ret);

/* The caller's from when a sample was taken until the next is asked for. */
struct source_state *slow_source_state(const struct slow_source *s);

/* How many samples were late by now. */
uint64_t slow_source_late(const struct slow_source *s);
