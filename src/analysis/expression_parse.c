/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "analysis/expression.h"
#include "analysis/expression_internal.h"
#include "basic/guess.h"
#include "basic/macro.h"
#include "analysis/variables.h"

#define DIGITS_MAX 32
#define POWER_MAX 3 /* of bytes or seconds: more is a slip */

/*
 *   either  = both { "or" both }
 *   both    = negated { "and" negated }
 *   negated = [ "not" ] compared
 *   compared = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
 *   sum     = product { ("+" | "-") product }
 *   product = signed { ("*" | "/") signed }
 *   signed  = [ "-" ] operand
 *   operand = NUMBER [UNIT] | NAME | ("min" | "max") "(" either "," either ")" | "(" either ")"
 */
struct reader {
	const char *text, *at;
	const struct names *names;
	struct expression *e;
	unsigned int depth;
	struct error *err;
};

static const struct unit {
	const char *name;
	double factor, divisor; /* 70 / 100 is the nearest to 0.7, and 70 * 0.01 is not */
	struct dimension dimension;
} units[] = {
	{ "%", 1, 100, { .is_share = true } }, { "B", 1, 1, { .bytes = 1 } },
	{ "K", 0x1p10, 1, { .bytes = 1 } },    { "KiB", 0x1p10, 1, { .bytes = 1 } },
	{ "M", 0x1p20, 1, { .bytes = 1 } },    { "MiB", 0x1p20, 1, { .bytes = 1 } },
	{ "G", 0x1p30, 1, { .bytes = 1 } },    { "GiB", 0x1p30, 1, { .bytes = 1 } },
	{ "T", 0x1p40, 1, { .bytes = 1 } },    { "TiB", 0x1p40, 1, { .bytes = 1 } },
	{ "ns", 1, 1e9, { .seconds = 1 } },    { "us", 1, 1e6, { .seconds = 1 } },
	{ "ms", 1, 1e3, { .seconds = 1 } },    { "s", 1, 1, { .seconds = 1 } },
	{ "min", 60, 1, { .seconds = 1 } },    { "h", 3600, 1, { .seconds = 1 } },
	{ "d", 86400, 1, { .seconds = 1 } },
};

static int refuse(const struct reader *reader, const char *at, const char *format, ...)
	PRINTF_LIKE(3, 4);

static int refuse(const struct reader *reader, const char *at, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return error_set(reader->err, -EINVAL, "column %zu: %s", (size_t)(at - reader->text) + 1,
			 text);
}

/* ---- words ---- */

static void skip_blanks(struct reader *reader)
{
	reader->at += strspn(reader->at, " \t\n");
}

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t word_length(const char *at)
{
	size_t length = 0;

	if (!isalpha((unsigned char)*at) && *at != '_')
		return 0;
	while (is_name_byte(at[length]))
		length++;
	return length;
}

static bool is_word(const struct reader *reader, const char *word)
{
	size_t length = word_length(reader->at);

	return length == strlen(word) && strncmp(reader->at, word, length) == 0;
}

static bool take_word(struct reader *reader, const char *word)
{
	skip_blanks(reader);
	if (!is_word(reader, word))
		return false;
	reader->at += strlen(word);
	return true;
}

static bool take_sign(struct reader *reader, const char *sign)
{
	skip_blanks(reader);
	if (strncmp(reader->at, sign, strlen(sign)) != 0)
		return false;
	reader->at += strlen(sign);
	return true;
}

/* The next word or sign, for a message. */
static struct human found(const struct reader *reader)
{
	size_t length = word_length(reader->at);
	struct human h = { "the end" };
	char c = *reader->at;

	if (!c)
		return h;
	if (length > 0)
		snprintf(h.text, sizeof(h.text), "'%.*s'", (int)MIN(length, (size_t)24),
			 reader->at);
	else if (isprint((unsigned char)c))
		snprintf(h.text, sizeof(h.text), "'%c'", c);
	else
		snprintf(h.text, sizeof(h.text), "byte 0x%02x", (unsigned char)c);
	return h;
}

/* ---- nodes ---- */

static int add_node(struct reader *reader, const struct node *node, size_t *ret)
{
	struct expression *e = reader->e;

	if (e->count >= EXPRESSION_NODES_MAX)
		return refuse(reader, reader->at, "this has too many parts");
	e->nodes[e->count] = *node;
	*ret = e->count++;
	return 0;
}

static struct node *node_at(const struct reader *reader, size_t i)
{
	return &reader->e->nodes[i];
}

static bool is_condition(const struct node *node)
{
	return node->type >= NODE_LESS;
}

static int want_number(const struct reader *reader, const char *at, size_t i)
{
	if (is_condition(node_at(reader, i)))
		return refuse(reader, at, "a number must stand here, and not a condition");
	if (node_at(reader, i)->is_multiple)
		return refuse(reader, at, "'x' stands alone on one side of a comparison");
	return 0;
}

static int want_condition(const struct reader *reader, const char *at, size_t i)
{
	if (is_condition(node_at(reader, i)))
		return 0;
	return refuse(reader, at,
		      "a condition must stand here, such as 'NAME > 5', and not a number");
}

/* A bare number takes the other side's unit. */
static int adapt_one(const struct reader *reader, const char *at, struct node *bare,
		     const struct node *other)
{
	double size = fabs(bare->number);

	if (!bare->is_bare || other->is_bare)
		return 0;
	if (other->dimension.is_share && size > 0 && size <= 1)
		return refuse(reader, at, "%g may mean %g %% or %g %%; write the one that is meant",
			      bare->number, bare->number, bare->number * 100);
	if (other->dimension.is_share)
		bare->number /= 100;
	bare->dimension = other->dimension;
	bare->is_bare = false;
	return 0;
}

/* Both sides must be of one kind. */
static int match(const struct reader *reader, const char *at, size_t left, size_t right)
{
	struct node *a = node_at(reader, left), *b = node_at(reader, right);
	int r = want_number(reader, at, left);

	if (r == 0)
		r = want_number(reader, at, right);
	if (r == 0)
		r = adapt_one(reader, at, a, b);
	if (r == 0)
		r = adapt_one(reader, at, b, a);
	if (r < 0 || dimension_is_equal(a->dimension, b->dimension))
		return r;
	return refuse(reader, at, "%s and %s stand together here",
		      dimension_name(a->dimension).text, dimension_name(b->dimension).text);
}

/* What is constant is computed now: its parts are the last two nodes. */
static int add_binary(struct reader *reader, const char *at, struct node *node, size_t *ret)
{
	const struct node *a = node_at(reader, node->left), *b = node_at(reader, node->right);

	if (a->type != NODE_NUMBER || b->type != NODE_NUMBER)
		return add_node(reader, node, ret);
	node->number = node_compute(node->type, a->number, b->number);
	node->type = NODE_NUMBER;
	node->is_bare = a->is_bare && b->is_bare;
	if (!isfinite(node->number))
		return refuse(reader, at, "this is no number");
	reader->e->count -= 2;
	return add_node(reader, node, ret);
}

static struct node make_binary(enum node_type type, size_t left, size_t right)
{
	return (struct node){ .type = type,
			      .left = (unsigned short)left,
			      .right = (unsigned short)right };
}

/* Sums, min and max: of one kind.  With a plain number a share is one no more: 1 - cpu_efficiency
 * stays one. */
static int add_alike(struct reader *reader, const char *at, enum node_type type, size_t left,
		     size_t right, size_t *ret)
{
	struct node node = make_binary(type, left, right);
	int r = match(reader, at, left, right);

	if (r < 0)
		return r;
	node.dimension = node_at(reader, left)->dimension;
	node.dimension.is_share |= node_at(reader, right)->dimension.is_share;
	return add_binary(reader, at, &node, ret);
}

/* A share of bytes is bytes; of a number without a name it stays a share. */
static bool is_share_kept(const struct node *a, const struct node *b, enum node_type type)
{
	if (a->dimension.is_share && b->dimension.is_share)
		return type == NODE_MULTIPLY;
	if (type == NODE_DIVIDE)
		return a->dimension.is_share && b->is_bare;
	return (a->dimension.is_share && b->is_bare) || (b->dimension.is_share && a->is_bare);
}

static int add_product(struct reader *reader, const char *at, enum node_type type, size_t left,
		       size_t right, size_t *ret)
{
	struct node *a = node_at(reader, left), *b = node_at(reader, right);
	struct node node = make_binary(type, left, right);
	int sign = type == NODE_DIVIDE ? -1 : 1, bytes, seconds;
	int r = want_number(reader, at, left);

	if (r == 0)
		r = want_number(reader, at, right);
	if (r < 0)
		return r;
	bytes = a->dimension.bytes + sign * b->dimension.bytes;
	seconds = a->dimension.seconds + sign * b->dimension.seconds;
	if (abs(bytes) > POWER_MAX || abs(seconds) > POWER_MAX)
		return refuse(reader, at, "this has no meaning: bytes^%d seconds^%d", bytes,
			      seconds);
	node.dimension = (struct dimension){ .bytes = (signed char)bytes,
					     .seconds = (signed char)seconds,
					     .is_share = is_share_kept(a, b, type) };
	return add_binary(reader, at, &node, ret);
}

/* ---- operands ---- */

static int read_either(struct reader *reader, size_t *ret);

static const struct unit *take_unit(struct reader *reader)
{
	const char *before = reader->at;
	size_t length;

	skip_blanks(reader);
	length = *reader->at == '%' ? 1 : word_length(reader->at);
	for (size_t i = 0; length > 0 && i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i].name) == length &&
		    strncmp(units[i].name, reader->at, length) == 0) {
			reader->at += length;
			return &units[i];
		}
	}
	reader->at = before;
	return NULL;
}

/* Digits with a point, without the exponents and words that strtod() takes. */
static int read_digits(struct reader *reader, double *ret)
{
	const char *at = reader->at;
	size_t length = strspn(at, "0123456789.");
	char digits[DIGITS_MAX + 1], *end;

	if (length > DIGITS_MAX)
		return refuse(reader, at, "this number is too long");
	memcpy(digits, at, length);
	digits[length] = '\0';
	*ret = strtod(digits, &end);
	if (*end || end == digits || digits[length - 1] == '.')
		return refuse(reader, at, "'%s' is no number", digits);
	reader->at += length;
	return 0;
}

static int read_number(struct reader *reader, size_t *ret)
{
	struct node node = { .type = NODE_NUMBER, .is_bare = true };
	const char *at = reader->at;
	const struct unit *unit;
	int r = read_digits(reader, &node.number);

	if (r < 0)
		return r;
	if (*reader->at == 'x' && !is_name_byte(reader->at[1])) {
		if (!reader->names->has_baseline)
			return refuse(reader, at,
				      "'x' compares with another record, and there is none here");
		reader->at++;
		node.is_multiple = true;
		return add_node(reader, &node, ret);
	}
	unit = take_unit(reader);
	if (unit) {
		node.number = node.number * unit->factor / unit->divisor;
		node.dimension = unit->dimension;
		node.is_bare = false;
		return add_node(reader, &node, ret);
	}
	skip_blanks(reader);
	if (word_length(reader->at) > 0 && !is_word(reader, "and") && !is_word(reader, "or"))
		return refuse(
			reader, reader->at,
			"there is no unit %s; there are %% B K M G T (KiB...) ns us ms s min h d",
			found(reader).text);
	return add_node(reader, &node, ret);
}

static const struct constant *find_constant(const struct names *names, const char *name,
					    size_t length)
{
	for (size_t i = 0; i < names->constant_count; i++) {
		const struct constant *c = &names->constants[i];

		if (strlen(c->name) == length && strncmp(c->name, name, length) == 0)
			return c;
	}
	return NULL;
}

static int refuse_name(const struct reader *reader, const char *name, size_t length)
{
	const struct variables *v = reader->names->variables;
	char text[64];
	const char *guess;

	snprintf(text, sizeof(text), "%.*s", (int)MIN(length, sizeof(text) - 1), name);
	guess = guess_nearest(text, &v->items[0].name, v->count, sizeof(v->items[0]));
	if (guess)
		return refuse(reader, name, "there is no name '%s'; did you mean '%s'?", text,
			      guess);
	return refuse(reader, name, "there is no name '%s'; 'jobmeter insights --names' lists them",
		      text);
}

static int read_variable(struct reader *reader, const char *name, size_t length, size_t *ret)
{
	const struct variable *variable = variables_find(reader->names->variables, name, length);
	struct expression *e = reader->e;
	size_t i = 0;

	if (!variable)
		return refuse_name(reader, name, length);
	if (variable->is_mount && !reader->names->has_mount)
		return refuse(reader, name, "'%s' is of one mount; it wants 'each: mount'",
			      variable->name);
	reader->at += length;
	while (i < e->variable_count && e->variables[i] != variable)
		i++;
	if (i == e->variable_count && i < ARRAY_SIZE(e->variables))
		e->variables[e->variable_count++] = variable;
	return add_node(reader,
			&(struct node){ .type = NODE_VARIABLE,
					.variable = variable,
					.dimension = variable->dimension },
			ret);
}

static int read_name(struct reader *reader, size_t *ret)
{
	const char *name = reader->at;
	size_t length = word_length(name);
	const struct constant *constant = find_constant(reader->names, name, length);

	if (!constant)
		return read_variable(reader, name, length, ret);
	reader->at += length;
	return add_node(reader,
			&(struct node){ .type = NODE_NUMBER,
					.number = constant->amount.number,
					.dimension = constant->dimension,
					.is_bare = constant->is_bare },
			ret);
}

static int want_sign(struct reader *reader, const char *sign)
{
	if (take_sign(reader, sign))
		return 0;
	return refuse(reader, reader->at, "'%s' must stand here, and not %s", sign,
		      found(reader).text);
}

static int read_extreme(struct reader *reader, enum node_type type, size_t *ret)
{
	size_t left = 0, right = 0;
	const char *at;
	int r = want_sign(reader, "(");

	if (r == 0)
		r = read_either(reader, &left);
	at = reader->at;
	if (r == 0)
		r = want_sign(reader, ",");
	if (r == 0)
		r = read_either(reader, &right);
	if (r == 0)
		r = want_sign(reader, ")");
	return r < 0 ? r : add_alike(reader, at, type, left, right, ret);
}

static int read_operand(struct reader *reader, size_t *ret)
{
	int r;

	if (take_sign(reader, "(")) {
		r = read_either(reader, ret);
		return r < 0 ? r : want_sign(reader, ")");
	}
	if (isdigit((unsigned char)*reader->at) || *reader->at == '.')
		return read_number(reader, ret);
	if (take_word(reader, "min"))
		return read_extreme(reader, NODE_MIN, ret);
	if (take_word(reader, "max"))
		return read_extreme(reader, NODE_MAX, ret);
	if (is_word(reader, "and") || is_word(reader, "or") || is_word(reader, "not") ||
	    word_length(reader->at) == 0)
		return refuse(reader, reader->at, "a number or a name must stand here, and not %s",
			      found(reader).text);
	return read_name(reader, ret);
}

/* ---- operators ---- */

static int read_signed(struct reader *reader, size_t *ret)
{
	const char *at;
	struct node *node;
	int r;

	if (!take_sign(reader, "-"))
		return read_operand(reader, ret);
	at = reader->at;
	r = read_operand(reader, ret);
	if (r == 0)
		r = want_number(reader, at, *ret);
	if (r < 0)
		return r;
	node = node_at(reader, *ret);
	if (node->type == NODE_NUMBER) {
		node->number = -node->number;
		return 0;
	}
	return add_node(reader,
			&(struct node){ .type = NODE_NEGATE,
					.dimension = node->dimension,
					.left = (unsigned short)*ret },
			ret);
}

/* Operands of @read, joined by any of two @signs. */
static int read_chain(struct reader *reader, const char *signs,
		      int (*read)(struct reader *reader, size_t *ret), size_t *ret)
{
	int r = read(reader, ret);

	while (r == 0) {
		size_t left = *ret, right = 0;
		const char *at;

		skip_blanks(reader);
		at = reader->at;
		if (!*at || !strchr(signs, *at))
			return 0;
		reader->at++;
		r = read(reader, &right);
		if (r < 0)
			return r;
		if (*at == '*' || *at == '/')
			r = add_product(reader, at, *at == '*' ? NODE_MULTIPLY : NODE_DIVIDE, left,
					right, ret);
		else
			r = add_alike(reader, at, *at == '+' ? NODE_ADD : NODE_SUBTRACT, left,
				      right, ret);
	}
	return r;
}

static int read_product(struct reader *reader, size_t *ret)
{
	return read_chain(reader, "*/", read_signed, ret);
}

static int read_sum(struct reader *reader, size_t *ret)
{
	return read_chain(reader, "+-", read_product, ret);
}

/* Longer signs come before their prefixes. */
static bool take_comparison(struct reader *reader, enum node_type *ret)
{
	static const struct {
		const char *sign;
		enum node_type type;
	} signs[] = {
		{ "<=", NODE_LESS_OR_EQUAL }, { ">=", NODE_GREATER_OR_EQUAL },
		{ "==", NODE_EQUAL },	      { "!=", NODE_UNEQUAL },
		{ "<", NODE_LESS },	      { ">", NODE_GREATER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		if (take_sign(reader, signs[i].sign)) {
			*ret = signs[i].type;
			return true;
		}
	}
	return false;
}

static int match_sides(struct reader *reader, const char *at, size_t left, size_t right)
{
	const struct node *a = node_at(reader, left), *b = node_at(reader, right);

	if (a->is_multiple && b->is_multiple)
		return refuse(reader, at, "'x' stands on both sides");
	if (a->is_multiple)
		return want_number(reader, at, right);
	if (b->is_multiple)
		return want_number(reader, at, left);
	return match(reader, at, left, right);
}

static int read_compared(struct reader *reader, size_t *ret)
{
	size_t left, right;
	enum node_type type;
	struct node node;
	const char *at;
	int r = read_sum(reader, ret);

	skip_blanks(reader);
	at = reader->at;
	if (r < 0 || !take_comparison(reader, &type))
		return r;
	left = *ret;
	r = read_sum(reader, &right);
	if (r == 0)
		r = match_sides(reader, at, left, right);
	if (r < 0)
		return r;
	node = make_binary(type, left, right);
	r = add_node(reader, &node, ret);
	if (r == 0 && take_comparison(reader, &type))
		return refuse(reader, reader->at, "comparisons are joined by 'and'");
	return r;
}

static int read_negated(struct reader *reader, size_t *ret)
{
	const char *at;
	int r;

	if (!take_word(reader, "not"))
		return read_compared(reader, ret);
	at = reader->at;
	r = read_compared(reader, ret);
	if (r == 0)
		r = want_condition(reader, at, *ret);
	if (r < 0)
		return r;
	return add_node(reader, &(struct node){ .type = NODE_NOT, .left = (unsigned short)*ret },
			ret);
}

static int read_joined(struct reader *reader, const char *word, enum node_type type,
		       int (*read)(struct reader *reader, size_t *ret), size_t *ret)
{
	const char *first = reader->at;
	int r = read(reader, ret);

	while (r == 0 && take_word(reader, word)) {
		size_t left = *ret, right = 0;
		const char *second = reader->at;
		struct node node;

		r = want_condition(reader, first, left);
		if (r == 0)
			r = read(reader, &right);
		if (r == 0)
			r = want_condition(reader, second, right);
		node = make_binary(type, left, right);
		if (r == 0)
			r = add_node(reader, &node, ret);
	}
	return r;
}

static int read_both(struct reader *reader, size_t *ret)
{
	return read_joined(reader, "and", NODE_AND, read_negated, ret);
}

static int read_either(struct reader *reader, size_t *ret)
{
	int r;

	if (++reader->depth > EXPRESSION_DEPTH_MAX)
		return refuse(reader, reader->at, "this is nested too deep");
	r = read_joined(reader, "or", NODE_OR, read_both, ret);
	reader->depth--;
	return r;
}

int expression_parse(const char *text, enum expression_kind kind, const struct names *names,
		     struct expression **ret, struct error *err)
{
	_cleanup_(expression_freep) struct expression *e = calloc(1, sizeof(*e));
	struct reader reader = { .text = text, .at = text, .names = names, .e = e, .err = err };
	size_t root;
	int r;

	if (!e)
		return error_set_errno(err, ENOMEM, "cannot read the expression");
	if (strlen(text) > EXPRESSION_BYTES_MAX)
		return error_set(err, -EINVAL, "column %d: this is too long",
				 EXPRESSION_BYTES_MAX + 1);
	r = read_either(&reader, &root);
	if (r < 0)
		return r;
	skip_blanks(&reader);
	if (*reader.at)
		return refuse(&reader, reader.at, "the end must stand here, and not %s",
			      found(&reader).text);
	assert(root == e->count - 1);
	r = kind == EXPRESSION_CONDITION ? want_condition(&reader, text, root)
					 : want_number(&reader, text, root);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(e);
	return 0;
}
