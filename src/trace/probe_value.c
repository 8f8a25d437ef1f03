/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "trace/probe_parts.h"

#define TERM_DEPTH_MAX 8 /* parentheses within each other */
#define EXPANDED_MAX 512

struct scan { /* moves over one field's text */
	const struct probe_scope *scope;
	const char *at;
};

/* ---- words and numbers ---- */

size_t probe_word_length(const char *text)
{
	size_t length = 0;

	if (!islower((unsigned char)*text))
		return 0;
	while (islower((unsigned char)text[length]) || isdigit((unsigned char)text[length]) ||
	       text[length] == '_')
		length++;
	return length < PROBE_NAME_MAX ? length : 0;
}

int probe_read_number(const char **text, uint64_t *ret)
{
	const char *p = *text + 2;
	uint64_t number = 0;

	if (strncmp(*text, "0x", 2) != 0)
		return parse_leading_u64(text, ret);
	for (; isxdigit((unsigned char)*p); p++) {
		unsigned int digit =
			isdigit((unsigned char)*p)
				? (unsigned int)(*p - '0')
				: (unsigned int)(tolower((unsigned char)*p) - 'a' + 10);

		if (number >> 60)
			return -ERANGE;
		number = number << 4 | digit;
	}
	if (p == *text + 2)
		return -EINVAL;
	*text = p;
	*ret = number;
	return 0;
}

static int value_refuse(const struct scan *s, const char *wanted)
{
	if (!*s->at)
		return error_set(s->scope->err, -EINVAL, "%s is missing at the end", wanted);
	return error_set(s->scope->err, -EINVAL, "%s must stand where '%.40s' does", wanted, s->at);
}

static void value_skip(struct scan *s)
{
	while (*s->at == ' ' || *s->at == '\t')
		s->at++;
}

static bool value_take(struct scan *s, const char *mark)
{
	size_t length = strlen(mark);

	value_skip(s);
	if (strncmp(s->at, mark, length) != 0)
		return false;
	if (isalpha((unsigned char)*mark) && (isalnum((unsigned char)s->at[length])))
		return false; /* the beginning of a longer word */
	s->at += length;
	return true;
}

static int value_need(struct scan *s, const char *mark)
{
	char text[16];

	if (value_take(s, mark))
		return 0;
	snprintf(text, sizeof(text), "'%s'", mark);
	return value_refuse(s, text);
}

static int value_number(struct scan *s, uint64_t min, uint64_t max, const char *what, uint64_t *ret)
{
	int r;

	value_skip(s);
	r = probe_read_number(&s->at, ret);
	if (r == 0 && *ret >= min && *ret <= max)
		return 0;
	if (r == -EINVAL)
		return value_refuse(s, what);
	return error_set(s->scope->err, -EINVAL, "%s is outside of %llu to %llu", what,
			 (unsigned long long)min, (unsigned long long)max);
}

static int value_word(struct scan *s, const char *what, char ret[PROBE_NAME_MAX])
{
	size_t length;

	value_skip(s);
	length = probe_word_length(s->at);
	if (!length)
		return value_refuse(s, what);
	memcpy(ret, s->at, length);
	ret[length] = '\0';
	s->at += length;
	return 0;
}

static int value_capture(struct scan *s, uint8_t *ret)
{
	char name[PROBE_NAME_MAX];
	int r = value_word(s, "a capture", name);

	if (r < 0)
		return r;
	r = probe_find_capture(s->scope->probe, name);
	if (r < 0)
		return error_set(s->scope->err, -EINVAL,
				 "no capture is called '%s'; it must stand above", name);
	*ret = (uint8_t)r;
	return 0;
}

static int value_end(struct scan *s)
{
	value_skip(s);
	return *s->at ? value_refuse(s, "the end") : 0;
}

/* ---- a value: where it is read ---- */

static int value_source(struct scan *s, struct probe_value *v)
{
	enum probe_site site = s->scope->probe->site;
	unsigned int most = site == PROBE_USDT ? PROBE_USDT_ARGUMENTS : PROBE_ARGUMENTS;
	uint64_t index;

	value_skip(s);
	if (isdigit((unsigned char)*s->at)) {
		v->source = PROBE_CONSTANT;
		index = 0;
		if (value_number(s, 0, INT32_MAX, "a number", &index) < 0)
			return -EINVAL;
		v->offsets[0] = (int32_t)index;
		return 0;
	}
	if (site == PROBE_TRACEPOINT) {
		v->source = PROBE_RECORD;
		return value_need(s, "rec");
	}
	if (value_take(s, "ret")) {
		v->source = PROBE_RESULT;
		v->is_at_return = true;
		return 0;
	}
	if ((*s->at != 'p' && *s->at != 's') || !isdigit((unsigned char)s->at[1]))
		return value_refuse(s, "p1 (an argument), s1 (a stack slot) or ret");
	if (*s->at++ == 's') {
		if (site != PROBE_FUNCTION)
			return error_set(s->scope->err, -EINVAL,
					 "only functions of libraries have stack slots");
		v->source = PROBE_STACK;
		most = PROBE_STACK_SLOTS;
	}
	if (parse_leading_u64(&s->at, &index) < 0 || index < 1 || index > most)
		return error_set(s->scope->err, -EINVAL, "there are %c1 to %c%u%s",
				 v->source == PROBE_STACK ? 's' : 'p',
				 v->source == PROBE_STACK ? 's' : 'p', most,
				 site == PROBE_FUNCTION && v->source != PROBE_STACK
					 ? "; the seventh argument is s1, on the stack"
					 : "");
	v->index = (uint8_t)index;
	return 0;
}

/* TERM: SOURCE, "*" TERM, or "*(" TERM ["+" NUMBER] ")". */
static int value_term(struct scan *s, struct probe_value *v, unsigned int depth)
{
	bool is_parenthesis, is_minus;
	uint64_t offset = 0;
	int r;

	if (!value_take(s, "*"))
		return value_source(s, v);
	if (depth == TERM_DEPTH_MAX)
		return error_set(s->scope->err, -EINVAL, "too many parentheses");
	is_parenthesis = value_take(s, "(");
	r = value_term(s, v, depth + 1);
	if (r == 0 && v->source == PROBE_CONSTANT)
		r = error_set(s->scope->err, -EINVAL, "a number is no address");
	if (r < 0)
		return r;
	is_minus = is_parenthesis && value_take(s, "-");
	if (is_minus || (is_parenthesis && value_take(s, "+")))
		r = value_number(s, 0, INT32_MAX, "an offset", &offset);
	if (r == 0 && is_parenthesis)
		r = value_need(s, ")");
	if (r < 0)
		return r;
	if (v->deref_count == PROBE_DEREFS_MAX)
		return error_set(s->scope->err, -EINVAL, "at most %d dereferences can be made",
				 PROBE_DEREFS_MAX);
	v->offsets[v->deref_count++] = is_minus ? -(int32_t)offset : (int32_t)offset;
	return 0;
}

static int value_width(struct scan *s, struct probe_value *v)
{
	static const struct {
		const char *name;
		uint8_t width;
		bool is_signed;
	} widths[] = {
		{ "u8", 1, false },  { "u16", 2, false }, { "u32", 4, false },
		{ "u64", 8, false }, { "ptr", 8, false }, { "s8", 1, true },
		{ "s16", 2, true },  { "s32", 4, true },  { "s64", 8, true },
	};

	v->width = 8;
	if (!value_take(s, ":"))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		if (value_take(s, widths[i].name)) {
			v->width = widths[i].width;
			v->is_signed = widths[i].is_signed;
			return 0;
		}
	}
	return value_refuse(s, "a width (u8 u16 u32 u64 s8 s16 s32 s64 ptr)");
}

/* "bits LOW..HIGH" of a value of that width */
static int value_bits(struct scan *s, const struct probe_value *v, uint8_t *ret_low,
		      uint8_t *ret_count)
{
	uint64_t low = 0, high = 0;
	int r;

	if (!value_take(s, "bits"))
		return value_refuse(s, "'bits'");
	r = value_number(s, 0, v->width * 8U - 1, "a bit", &low);
	if (r == 0)
		r = value_need(s, "..");
	if (r == 0)
		r = value_number(s, low, v->width * 8U - 1, "a bit", &high);
	if (r < 0)
		return r;
	*ret_low = (uint8_t)low;
	*ret_count = (uint8_t)(high - low + 1);
	return 0;
}

/* "bits 0..31", "if bits 24..31 = 0x4c", "at return", in any order */
static int value_suffixes(struct scan *s, struct probe_value *v)
{
	int r = 0;

	while (r == 0) {
		value_skip(s);
		if (value_take(s, "at")) {
			v->is_at_return = true;
			r = value_take(s, "return") ? 0 : value_refuse(s, "'return'");
		} else if (value_take(s, "if")) {
			r = value_bits(s, v, &v->if_low_bit, &v->if_count);
			if (r == 0)
				r = value_need(s, "=");
			if (r == 0)
				r = value_number(s, 0, UINT64_MAX >> (64 - v->if_count),
						 "the number that those bits are", &v->if_equal);
		} else if (strncmp(s->at, "bits", 4) == 0) {
			r = value_bits(s, v, &v->low_bit, &v->bit_count);
		} else {
			return 0;
		}
	}
	return r;
}

/* One way to get a value: "TERM:WIDTH" or "MAP[TERM:WIDTH]", and suffixes. */
static int value_one(struct scan *s, struct probe_value *ret)
{
	struct probe_value v = { .map = -1 };
	const char *bracket;
	int r = 0;

	value_skip(s);
	bracket = s->at + probe_word_length(s->at);
	if (*bracket == '[') {
		char name[PROBE_NAME_MAX];

		r = value_word(s, "a map", name);
		if (r < 0)
			return r;
		v.map = (int8_t)probe_set_find_map(s->scope->set, name);
		if (v.map < 0)
			return error_set(s->scope->err, -EINVAL,
					 "no map is called '%s'; its [map] must stand above", name);
		s->at = bracket + 1;
	}
	r = value_term(s, &v, 0);
	if (r == 0)
		r = value_width(s, &v);
	if (r == 0 && v.map >= 0)
		r = value_need(s, "]");
	if (r == 0)
		r = value_suffixes(s, &v);
	if (r == 0)
		*ret = v;
	return r;
}

/* ---- captures ---- */

static int value_add_alternatives(const struct probe_scope *scope, const char *text,
				  struct probe_capture *capture)
{
	struct scan s = { .scope = scope, .at = text };
	struct probe *probe = scope->probe;

	do {
		struct probe_value *v = &probe->values[probe->value_count];
		int r;

		if (probe->value_count == PROBE_VALUES_MAX)
			return error_set(scope->err, -EINVAL,
					 "a probe's captures can have at most %d ways together",
					 PROBE_VALUES_MAX);
		r = value_one(&s, v);
		if (r < 0)
			return r;
		v->capture = (uint8_t)probe->capture_count;
		capture->is_at_return |= v->is_at_return;
		capture->value_count++;
		probe->value_count++;
	} while (value_take(&s, "|"));
	return value_end(&s);
}

static const struct probe_named *value_find_named(const struct probe_scope *scope, const char *text,
						  size_t length)
{
	for (size_t i = 0; i < scope->named_count; i++) {
		const char *name = scope->named[i].name;

		if (strncmp(name, text, length) == 0 && !name[length])
			return &scope->named[i];
	}
	return NULL;
}

/* @named's text with @argument for each %. */
static int value_expand(const struct probe_scope *scope, const struct probe_named *named,
			const char *argument, size_t length, char ret[EXPANDED_MAX])
{
	size_t used = 0;

	for (const char *p = named->text; *p; p++) {
		size_t more = *p == '%' ? length : 1;

		if (used + more >= EXPANDED_MAX)
			return error_set(scope->err, -EINVAL, "'%s' becomes too long", named->name);
		memcpy(ret + used, *p == '%' ? argument : p, more);
		used += more;
	}
	ret[used] = '\0';
	return 0;
}

/* "str(TERM, BYTES)" */
static int value_read_text(const struct probe_scope *scope, const char *name, const char *arguments)
{
	struct scan s = { .scope = scope, .at = arguments };
	struct probe_text *text = &scope->probe->text;
	struct probe_value v = { .map = -1, .width = 8 };
	uint64_t bytes = 0;
	int r;

	if (text->max_bytes)
		return error_set(scope->err, -EINVAL, "a probe can take one string");
	r = value_term(&s, &v, 0);
	if (r == 0)
		r = value_need(&s, ",");
	if (r == 0)
		r = value_number(&s, 2, PROBE_TEXT_MAX, "the length of a string", &bytes);
	if (r == 0)
		r = value_need(&s, ")");
	if (r == 0)
		r = value_end(&s);
	if (r < 0)
		return r;
	text->pointer = v;
	text->max_bytes = (uint8_t)bytes;
	snprintf(text->name, sizeof(text->name), "%s", name);
	return 0;
}

int probe_scope_read_capture(struct probe_scope *scope, const char *name, const char *text)
{
	struct probe *probe = scope->probe;
	struct probe_capture capture = { .first_value = (uint8_t)probe->value_count };
	size_t word = probe_word_length(text);
	const struct probe_named *named;
	char expanded[EXPANDED_MAX];
	int r = 0;

	if (!*name || probe_word_length(name) != strlen(name))
		return error_set(scope->err, -EINVAL,
				 "a name is small letters, digits and '_': not '%.40s'", name);
	if (probe_find_capture(probe, name) >= 0 || strcmp(probe->text.name, name) == 0)
		return error_set(scope->err, -EINVAL, "it is given twice");
	if (strncmp(text, "str(", 4) == 0)
		return value_read_text(scope, name, text + 4);
	if (probe->capture_count == PROBE_CAPTURES_MAX)
		return error_set(scope->err, -EINVAL, "a probe can take at most %d values",
				 PROBE_CAPTURES_MAX);
	if (word && text[word] == '(') {
		size_t length = strlen(text);

		named = value_find_named(scope, text, word);
		if (!named)
			return error_set(scope->err, -EINVAL,
					 "the library has no value called '%.*s'", (int)word, text);
		if (text[length - 1] != ')')
			return error_set(scope->err, -EINVAL, "')' must stand at the end");
		r = value_expand(scope, named, text + word + 1, length - word - 2, expanded);
		text = expanded;
	}
	if (r == 0)
		r = value_add_alternatives(scope, text, &capture);
	if (r < 0)
		return r;
	snprintf(capture.name, sizeof(capture.name), "%s", name);
	probe->captures[probe->capture_count++] = capture;
	return 0;
}

/* ---- bytes ---- */

/* A number, a capture, or TABLE(capture). */
static int value_factor(struct scan *s, struct probe_factor *ret)
{
	struct probe_factor f = { .kind = PROBE_FACTOR_CAPTURE };
	size_t length;
	int r;

	value_skip(s);
	if (isdigit((unsigned char)*s->at)) {
		f.kind = PROBE_FACTOR_CONSTANT;
		r = value_number(s, 1, UINT32_MAX, "a factor", &f.constant);
	} else {
		length = probe_word_length(s->at);
		if (s->at[length] == '(') {
			char name[PROBE_NAME_MAX];

			r = value_word(s, "a table", name);
			if (r < 0)
				return r;
			r = probe_set_find_table(s->scope->set, name);
			if (r < 0)
				return error_set(
					s->scope->err, -EINVAL,
					"no table is called '%s'; its [table] must stand above",
					name);
			f.kind = PROBE_FACTOR_TABLE;
			f.table = (uint8_t)r;
			s->at++;
		}
		r = value_capture(s, &f.capture);
		if (r == 0 && f.kind == PROBE_FACTOR_TABLE)
			r = value_need(s, ")");
	}
	if (r == 0)
		*ret = f;
	return r;
}

int probe_scope_read_bytes(struct probe_scope *scope, const char *text)
{
	struct scan s = { .scope = scope, .at = text };
	struct probe *probe = scope->probe;

	probe->bytes_count = 0;
	do {
		struct probe_product product = {};

		if (probe->bytes_count == PROBE_PRODUCTS_MAX)
			return error_set(scope->err, -EINVAL, "at most %d ways can be given",
					 PROBE_PRODUCTS_MAX);
		do {
			int r;

			if (product.factor_count == PROBE_FACTORS_MAX)
				return error_set(scope->err, -EINVAL,
						 "a product can have at most %d factors",
						 PROBE_FACTORS_MAX);
			r = value_factor(&s, &product.factors[product.factor_count++]);
			if (r < 0)
				return r;
		} while (value_take(&s, "*"));
		probe->bytes[probe->bytes_count++] = product;
	} while (value_take(&s, "|"));
	return value_end(&s);
}

/* ---- conditions and maps ---- */

static int value_duration(struct scan *s, uint64_t *ret)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	int r = value_number(s, 1, UINT32_MAX, "a duration", ret);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (value_take(s, units[i].name)) {
			*ret *= units[i].ns;
			return 0;
		}
	}
	return value_refuse(s, "a unit (ns us ms s)");
}

int probe_scope_read_condition(struct probe_scope *scope, const char *text)
{
	struct scan s = { .scope = scope, .at = text };
	struct probe_condition c = {};
	int r = 0;

	do {
		if (value_take(&s, "always"))
			c.is_always = true;
		else if (value_take(&s, "failed"))
			c.is_failed = true;
		else if (value_take(&s, "dur"))
			r = value_take(&s, ">") ? value_duration(&s, &c.over_ns)
						: value_refuse(&s, "'>'");
		else
			r = value_refuse(&s, "'always', 'failed' or 'dur > TIME'");
		if (r < 0)
			return r;
	} while (value_take(&s, "or"));
	r = value_end(&s);
	if (r == 0)
		scope->probe->condition = c;
	return r;
}

static int value_change(const struct probe_scope *scope, const char *text, bool is_put)
{
	struct scan s = { .scope = scope, .at = text };
	struct probe_map_change c = { .action = is_put ? PROBE_MAP_PUT : PROBE_MAP_DELETE };
	char name[PROBE_NAME_MAX];
	int r = value_word(&s, "a map", name), map;

	if (r < 0)
		return r;
	map = probe_set_find_map(scope->set, name);
	if (map < 0)
		return error_set(scope->err, -EINVAL,
				 "no map is called '%s'; its [map] must stand above", name);
	c.map = (uint8_t)map;
	if (scope->probe->change.action)
		return error_set(scope->err, -EINVAL, "a probe can change one map");
	if (!value_take(&s, "["))
		return value_refuse(&s, "'['");
	r = value_capture(&s, &c.key);
	if (r == 0)
		r = value_need(&s, "]");
	if (r == 0 && is_put)
		r = value_need(&s, "=");
	if (r == 0 && is_put && value_take(&s, "bytes"))
		c.action = PROBE_MAP_PUT_BYTES;
	else if (r == 0 && is_put)
		r = value_capture(&s, &c.value);
	if (r == 0)
		r = value_end(&s);
	if (r == 0)
		scope->probe->change = c;
	return r;
}

int probe_scope_read_put(struct probe_scope *scope, const char *text)
{
	return value_change(scope, text, true);
}

int probe_scope_read_delete(struct probe_scope *scope, const char *text)
{
	return value_change(scope, text, false);
}
