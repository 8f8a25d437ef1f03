/* SPDX-License-Identifier: MIT */
#include "analysis/expression.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/expression_internal.h"
#include "analysis/variables.h"

struct expression *expression_free(struct expression *e)
{
	free(e);
	return NULL;
}

void expression_freep(struct expression **e)
{
	expression_free(*e);
}

static const struct node *whole(const struct expression *e)
{
	return &e->nodes[e->count - 1];
}

struct dimension expression_dimension(const struct expression *e)
{
	return whole(e)->dimension;
}

bool expression_is_constant(const struct expression *e, struct constant *ret)
{
	const struct node *node = whole(e);

	if (node->type != NODE_NUMBER || node->is_multiple)
		return false;
	ret->amount = amount_of(node->number);
	ret->dimension = node->dimension;
	ret->is_bare = node->is_bare;
	return true;
}

const struct variable *expression_variable(const struct expression *e, size_t i)
{
	return i < e->variable_count ? e->variables[i] : NULL;
}

/* ---- numbers ---- */

double node_compute(enum node_type type, double a, double b)
{
	switch (type) {
	case NODE_ADD:
		return a + b;
	case NODE_SUBTRACT:
		return a - b;
	case NODE_MULTIPLY:
		return a * b;
	case NODE_DIVIDE:
		return a / b;
	case NODE_MIN:
		return fmin(a, b);
	default:
		return fmax(a, b);
	}
}

/* The depth is bounded when it is read. */
static struct amount number_of(const struct expression *e, size_t i, const struct subject *subject)
{
	const struct node *node = &e->nodes[i];
	struct amount a, b;

	if (node->type == NODE_NUMBER)
		return amount_of(node->number);
	if (node->type == NODE_VARIABLE)
		return variable_get(node->variable, subject);
	a = number_of(e, node->left, subject);
	if (node->type == NODE_NEGATE)
		return a.is_known ? amount_of(-a.number) : a;
	b = number_of(e, node->right, subject);
	return a.is_known && b.is_known ? amount_of(node_compute(node->type, a.number, b.number))
					: (struct amount){};
}

struct amount expression_number(const struct expression *e, const struct subject *subject)
{
	assert(whole(e)->type < NODE_LESS);
	return number_of(e, e->count - 1, subject);
}

/* ---- conditions ---- */

static bool holds(enum node_type type, double a, double b)
{
	switch (type) {
	case NODE_LESS:
		return a < b;
	case NODE_LESS_OR_EQUAL:
		return a <= b;
	case NODE_GREATER:
		return a > b;
	case NODE_GREATER_OR_EQUAL:
		return a >= b;
	case NODE_EQUAL:
		return a == b;
	default:
		return a != b;
	}
}

/* One side of a comparison; "1.1x" is a multiple of the other side in the baseline. */
static struct amount side_of(const struct expression *e, size_t i, size_t other,
			     const struct subject *subject)
{
	if (!e->nodes[i].is_multiple)
		return number_of(e, i, subject);
	return subject->baseline ? amount_multiply(amount_of(e->nodes[i].number),
						   number_of(e, other, subject->baseline))
				 : (struct amount){};
}

/* The result that one side decides alone: "no" of an and, "yes" of an or. */
static enum truth join(enum truth a, enum truth b, enum truth settling)
{
	if (a == settling || b == settling)
		return settling;
	return a == TRUTH_UNKNOWN || b == TRUTH_UNKNOWN ? TRUTH_UNKNOWN : a;
}

static enum truth truth_of(const struct expression *e, size_t i, const struct subject *subject)
{
	const struct node *node = &e->nodes[i];
	enum truth a, b;

	if (node->type < NODE_NOT) {
		struct amount x = side_of(e, node->left, node->right, subject),
			      y = side_of(e, node->right, node->left, subject);

		if (!x.is_known || !y.is_known)
			return TRUTH_UNKNOWN;
		return holds(node->type, x.number, y.number) ? TRUTH_YES : TRUTH_NO;
	}
	a = truth_of(e, node->left, subject);
	if (node->type == NODE_NOT)
		return a == TRUTH_UNKNOWN ? a : a == TRUTH_YES ? TRUTH_NO : TRUTH_YES;
	b = truth_of(e, node->right, subject);
	return join(a, b, node->type == NODE_AND ? TRUTH_NO : TRUTH_YES);
}

enum truth expression_truth(const struct expression *e, const struct subject *subject)
{
	assert(whole(e)->type >= NODE_LESS);
	return truth_of(e, e->count - 1, subject);
}
