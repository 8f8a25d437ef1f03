/* SPDX-License-Identifier: MIT */
#include "trace/row.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "trace/probe.h"

static_assert(PROBE_CAPTURES_MAX <= TRACE_CAPTURES && PROBE_VALUES_MAX < TRACE_VALUES &&
		      PROBE_DEREFS_MAX == TRACE_DEREFS && PROBE_PRODUCTS_MAX == TRACE_PRODUCTS &&
		      PROBE_FACTORS_MAX == TRACE_FACTORS && PROBE_KEYS_MAX == TRACE_KEYS &&
		      PROBE_MAPS_MAX <= 4 && PROBE_TEXT_MAX <= TRACE_TEXT_BYTES &&
		      (int)PROBE_MAP_DELETE == TRACE_MAP_DELETE,
	      "a row has room for a probe");

/* An argument of a USDT probe, of the form that the assembler wrote: "-4@-12(%rbp)". */
struct usdt_argument {
	uint8_t source, index; /* a register; or the number in offset */
	bool is_memory; /* at offset(register) */
	int32_t offset;
	uint8_t width;
	bool is_signed;
};

/* 64, 32, 16 and 8 bits of each, by enum trace_register. */
static const char *const register_names[TRACE_REGISTERS][4] = {
	[TRACE_DI] = { "rdi", "edi", "di", "dil" },
	[TRACE_SI] = { "rsi", "esi", "si", "sil" },
	[TRACE_DX] = { "rdx", "edx", "dx", "dl" },
	[TRACE_CX] = { "rcx", "ecx", "cx", "cl" },
	[TRACE_R8] = { "r8", "r8d", "r8w", "r8b" },
	[TRACE_R9] = { "r9", "r9d", "r9w", "r9b" },
	[TRACE_AX] = { "rax", "eax", "ax", "al" },
	[TRACE_BX] = { "rbx", "ebx", "bx", "bl" },
	[TRACE_BP] = { "rbp", "ebp", "bp", "bpl" },
	[TRACE_SP] = { "rsp", "esp", "sp", "spl" },
	[TRACE_R10] = { "r10", "r10d", "r10w", "r10b" },
	[TRACE_R11] = { "r11", "r11d", "r11w", "r11b" },
	[TRACE_R12] = { "r12", "r12d", "r12w", "r12b" },
	[TRACE_R13] = { "r13", "r13d", "r13w", "r13b" },
	[TRACE_R14] = { "r14", "r14d", "r14w", "r14b" },
	[TRACE_R15] = { "r15", "r15d", "r15w", "r15b" },
};

/* The register after "%" at @text, up to @end. */
static bool find_register(const char *text, const char *end, uint8_t *ret)
{
	const size_t length = (size_t)(end - text);

	for (size_t i = 0; i < TRACE_REGISTERS; i++) {
		for (size_t n = 0; n < ARRAY_SIZE(register_names[i]); n++) {
			const char *name = register_names[i][n];

			if (strlen(name) == length && memcmp(name, text, length) == 0) {
				*ret = (uint8_t)i;
				return true;
			}
		}
	}
	return false;
}

static bool read_operand(const char *text, struct usdt_argument *ret)
{
	const size_t length = strcspn(text, " ");
	const char *end = text + length;
	char *rest = (char *)text;

	if (*text == '%') {
		ret->source = TRACE_REGISTER;
		return find_register(text + 1, end, &ret->index);
	}
	ret->source = *text == '$' ? TRACE_FIXED : TRACE_REGISTER;
	ret->is_memory = *text != '$';
	if (ret->is_memory ? *text != '(' : true)
		ret->offset = (int32_t)strtol(text + !ret->is_memory, &rest, 0);
	if (!ret->is_memory)
		return rest == end;
	return length > 3 && rest[0] == '(' && rest[1] == '%' && end[-1] == ')' &&
	       find_register(rest + 2, end - 1, &ret->index);
}

/* Argument @number, from 1. */
static bool find_argument(const char *text, unsigned int number, struct usdt_argument *ret)
{
	char *rest;
	long width;

	*ret = (struct usdt_argument){};
	for (; number > 1; number--) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	width = strtol(text, &rest, 10);
	ret->is_signed = width < 0;
	ret->width = (uint8_t)labs(width);
	return *rest == '@' &&
	       (ret->width == 1 || ret->width == 2 || ret->width == 4 || ret->width == 8) &&
	       read_operand(rest + 1, ret);
}

static int place_usdt(const struct probe_value *from, const char *arguments, struct trace_value *to)
{
	struct usdt_argument a;

	if (!arguments) /* it only reports that there is no such probe */
		return 0;
	if (!find_argument(arguments, from->index, &a) ||
	    (a.is_memory && (to->deref_count == TRACE_DEREFS || (to->deref_count && a.width != 8))))
		return -ENOTSUP;
	to->source = a.source;
	to->index = a.index;
	if (!to->deref_count) {
		to->width = MIN(to->width, a.width);
		if (a.is_signed && !from->bit_count && a.width == to->width)
			to->flags |= TRACE_SIGNED;
	}
	if (a.source == TRACE_FIXED)
		to->offsets[0] = a.offset;
	if (a.is_memory) {
		to->offsets[1] = to->offsets[0];
		to->offsets[0] = a.offset;
		to->deref_count++;
	}
	return a.source == TRACE_FIXED && to->deref_count ? -ENOTSUP : 0;
}

static int place_value(const struct probe *probe, const struct probe_value *from,
		       const struct row_base *base, const char *arguments, struct trace_value *ret)
{
	static const uint8_t sources[] = { [PROBE_ARGUMENT] = TRACE_REGISTER,
					   [PROBE_STACK] = TRACE_SLOT,
					   [PROBE_RESULT] = TRACE_RETURNED,
					   [PROBE_RECORD] = TRACE_RECORD,
					   [PROBE_CONSTANT] = TRACE_FIXED };
	/* Argument 1 is register 0; but slot 0 is the return address. */
	const bool is_from_one = from->source == PROBE_ARGUMENT;

	*ret = (struct trace_value){
		.capture = from->capture,
		.source = sources[from->source],
		.index = from->index - is_from_one,
		.flags = (from->is_signed ? TRACE_SIGNED : 0) |
			 (from->is_at_return || from->source == PROBE_RESULT ? TRACE_AT_RETURN : 0),
		.deref_count = from->deref_count,
		.width = from->width,
		.low_bit = from->low_bit,
		.bit_count = from->bit_count,
		.if_low_bit = from->if_low_bit,
		.if_count = from->if_count,
		.map = from->map < 0 ? TRACE_NONE : base->maps[from->map],
		.offsets = { from->offsets[0], from->offsets[1] },
		.if_equal = from->if_equal,
	};
	return probe->site == PROBE_USDT && is_from_one ? place_usdt(from, arguments, ret) : 0;
}

static void place_product(const struct probe_set *set, const struct probe_product *from,
			  const struct row_base *base, struct trace_product *ret)
{
	ret->factor_count = from->factor_count;
	for (size_t i = 0; i < from->factor_count; i++) {
		const struct probe_factor *factor = &from->factors[i];
		struct trace_factor *to = &ret->factors[i];

		to->constant = factor->constant;
		to->capture = factor->kind == PROBE_FACTOR_CONSTANT ? TRACE_NONE : factor->capture;
		if (factor->kind != PROBE_FACTOR_TABLE)
			continue;
		to->table_first = base->tables[factor->table];
		to->table_count = (uint16_t)set->tables[factor->table].row_count;
	}
}

static uint32_t flags_of(const struct probe *probe, const struct row_options *options)
{
	const struct probe_condition *c = &probe->condition;
	const bool has_condition = c->is_always || c->is_failed || c->over_ns;
	uint32_t flags = 0;

	if (probe->is_naming || (!probe->is_silent && (options->sends_events || has_condition)))
		flags |= TRACE_SENDS_EVENTS;
	if (!options->sends_events && c->is_failed && !c->is_always)
		flags |= TRACE_EVENT_IF_FAILED;
	if (options->sums && !options->sends_events && probe->shown == PROBE_SHOWN_TEXT)
		flags |= TRACE_SENDS_EVENTS | TRACE_EVENT_IF_FIRST;
	if (probe->fails == PROBE_FAILS_NEVER)
		flags |= TRACE_FAILS_NEVER;
	if (probe->fails == PROBE_FAILS_BELOW_0)
		flags |= TRACE_FAILS_BELOW_0;
	if (options->sums && !probe->is_silent)
		flags |= TRACE_SUMS;
	if (probe->exit != PROBE_EXIT_NONE)
		flags |= TRACE_RETURNS;
	if (probe->is_inner_skipped)
		flags |= TRACE_SKIPS_INNER;
	if (probe->site == PROBE_KERNEL || probe->site == PROBE_TRACEPOINT)
		flags |= TRACE_OF_KERNEL;
	if (probe->capture_count > TRACE_SHORT_CAPTURES || probe->text.max_bytes)
		flags |= TRACE_IS_LONG;
	return flags;
}

static bool product_takes(const struct probe_product *product, size_t capture)
{
	for (size_t i = 0; i < product->factor_count; i++) {
		if (product->factors[i].kind != PROBE_FACTOR_CONSTANT &&
		    product->factors[i].capture == capture)
			return true;
	}
	return false;
}

/* Is it needed where no event is sent? */
static bool sums_take(const struct probe *probe, size_t capture)
{
	const struct probe_map_change *change = &probe->change;
	bool is_taken = change->action != PROBE_MAP_NONE &&
			(change->key == capture ||
			 (change->action == PROBE_MAP_PUT && change->value == capture));

	for (size_t i = 0; i < probe->key_count; i++)
		is_taken |= probe->keys[i] == capture;
	for (size_t i = 0; i < probe->bytes_count; i++)
		is_taken |= product_takes(&probe->bytes[i], capture);
	return is_taken;
}

int row_make(const struct probe_set *set, const struct probe *probe, const struct row_base *base,
	     const struct row_options *options, const char *usdt_arguments, struct trace_row *ret,
	     struct error *err)
{
	struct trace_row row = {
		.flags = flags_of(probe, options),
		.group = base->group,
		.text = TRACE_NONE,
		.text_bytes = probe->text.max_bytes,
		.keys = { TRACE_NONE, TRACE_NONE },
		.map_action = probe->change.action,
		.map = base->maps[probe->change.map],
		.map_key = probe->change.key,
		.map_value = probe->change.value,
	};
	int r = 0;

	if (!options->sends_events && !probe->condition.is_always)
		row.event_over_ns = probe->condition.over_ns;
	for (size_t i = 0; i < probe->value_count && r == 0; i++) {
		if (row.flags & TRACE_SENDS_EVENTS || sums_take(probe, probe->values[i].capture))
			r = place_value(probe, &probe->values[i], base, usdt_arguments,
					&row.values[row.value_count++]);
	}
	if (probe->text.max_bytes && row.flags & TRACE_SENDS_EVENTS && r == 0) {
		row.text = row.value_count++;
		r = place_value(probe, &probe->text.pointer, base, usdt_arguments,
				&row.values[row.text]);
		row.values[row.text].capture = TRACE_NONE;
	}
	if (r < 0)
		return error_set(err, r, "the arguments of '%s' cannot be read at this place",
				 probe->name);
	for (size_t i = 0; i < probe->bytes_count; i++)
		place_product(set, &probe->bytes[i], base, &row.bytes[i]);
	for (size_t i = 0; i < probe->key_count; i++)
		row.keys[i] = probe->keys[i];
	*ret = row;
	return 0;
}
