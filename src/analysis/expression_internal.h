/* SPDX-License-Identifier: MIT */
/* expression_internal - parsed expressions, shared by parser and evaluation. */
#pragma once

#include "analysis/expression.h"

enum node_type {
	NODE_NUMBER,
	NODE_VARIABLE,
	NODE_NEGATE,
	NODE_ADD,
	NODE_SUBTRACT,
	NODE_MULTIPLY,
	NODE_DIVIDE,
	NODE_MIN,
	NODE_MAX,
	/* From here on conditions. */
	NODE_LESS,
	NODE_LESS_OR_EQUAL,
	NODE_GREATER,
	NODE_GREATER_OR_EQUAL,
	NODE_EQUAL,
	NODE_UNEQUAL,
	NODE_NOT,
	NODE_AND,
	NODE_OR,
};

struct node {
	enum node_type type;
	struct dimension dimension; /* of a number */
	bool is_bare; /* a number that was written without a unit */
	bool is_multiple; /* "1.1x" */
	double number; /* of NODE_NUMBER */
	const struct variable *variable;
	unsigned short left, right; /* indexes; both come before the node */
};

struct expression {
	struct node nodes[EXPRESSION_NODES_MAX];
	size_t count; /* the last is the whole */
	/* Each variable once. */
	const struct variable *variables[EXPRESSION_NODES_MAX];
	size_t variable_count;
};

/* The result of NODE_ADD to NODE_MAX for two numbers. */
double node_compute(enum node_type type, double a, double b);
