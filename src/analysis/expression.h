/* SPDX-License-Identifier: MIT */
/*
 * expression - the small language of rules: numbers with units, names, + - * /, comparisons,
 * and/or/not, parentheses, min() and max().  There is nothing else, and nothing that repeats.
 *
 * What is compared or added must be of one kind: bytes with bytes.  A number without a unit takes
 * that of the other side: "memory_usage > 80" means 80 %.
 *
 * What follows from something unknown is unknown, unless it does not depend on it: "no and unknown"
 * is no.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analysis/amount.h"

struct error;
struct subject;
struct variable;
struct variables;

#define EXPRESSION_BYTES_MAX 1024
#define EXPRESSION_NODES_MAX 256
#define EXPRESSION_DEPTH_MAX 32

enum truth { TRUTH_NO, TRUTH_YES, TRUTH_UNKNOWN };

/* A name for a number that is always the same, such as a rule's threshold. */
struct constant {
	char *name;
	struct amount amount;
	struct dimension dimension;
	bool is_bare; /* written without a unit */
};

/* The names that an expression may use; none is copied, and all must outlive it. */
struct names {
	const struct variables *variables;
	const struct constant *constants;
	size_t constant_count;
	bool has_mount; /* those of one mount, too */
	bool has_baseline; /* "1.1x": a multiple of the other side in another record */
};

enum expression_kind { EXPRESSION_NUMBER, EXPRESSION_CONDITION };

struct expression; /* opaque */

/* -EINVAL: *err is "column N: REASON". @text is not kept. */
int expression_parse(const char *text, enum expression_kind kind, const struct names *names,
		     struct expression **ret, struct error *err);
struct expression *expression_free(struct expression *e); /* NULL is fine; returns NULL */
void expression_freep(struct expression **e);

struct dimension expression_dimension(const struct expression *e);

/* The number of one without any name, in which @ret's name stays.  False: it has names. */
bool expression_is_constant(const struct expression *e, struct constant *ret);

struct amount expression_number(const struct expression *e, const struct subject *subject);
enum truth expression_truth(const struct expression *e, const struct subject *subject);

/* Its variables in the order of the text, each once. NULL: no more. */
const struct variable *expression_variable(const struct expression *e, size_t i);
