/* SPDX-License-Identifier: MIT */
/* A probe set, and the same bytes as one --probe argument: it is refused in one line that names
 * file and line, or each of its probes is within bounds and may be attached. */
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "fuzz.h"
#include "trace/probe.h"

static void check_value(const struct probe_set *set, const struct probe *probe,
			const struct probe_value *v)
{
	unsigned int most = v->source == PROBE_STACK	  ? PROBE_STACK_SLOTS
			    : probe->site == PROBE_USDT	  ? PROBE_USDT_ARGUMENTS
			    : v->source == PROBE_ARGUMENT ? PROBE_ARGUMENTS
							  : 0;

	CHECK(v->index <= most && (v->index > 0) == (v->source <= PROBE_STACK));
	CHECK(v->width == 1 || v->width == 2 || v->width == 4 || v->width == 8);
	CHECK(v->deref_count <= PROBE_DEREFS_MAX);
	CHECK(v->low_bit + v->bit_count <= v->width * 8);
	CHECK(v->if_low_bit + v->if_count <= v->width * 8);
	CHECK(v->map >= -1 && v->map < (int)set->map_count);
	CHECK(!v->is_at_return || probe->exit != PROBE_EXIT_NONE);
	CHECK((v->source == PROBE_RECORD || v->source == PROBE_CONSTANT) >=
	      (probe->site == PROBE_TRACEPOINT));
	CHECK(v->source != PROBE_RECORD || probe->site == PROBE_TRACEPOINT);
	CHECK(v->source != PROBE_CONSTANT || !v->deref_count);
}

static void check_product(const struct probe_set *set, const struct probe *probe,
			  const struct probe_product *product)
{
	CHECK(product->factor_count && product->factor_count <= PROBE_FACTORS_MAX);
	for (size_t i = 0; i < product->factor_count; i++) {
		const struct probe_factor *f = &product->factors[i];

		CHECK(f->kind == PROBE_FACTOR_CONSTANT || f->capture < probe->capture_count);
		CHECK(f->kind != PROBE_FACTOR_TABLE || f->table < set->table_count);
	}
}

static void check_probe(const struct probe_set *set, const struct probe *probe)
{
	const struct probe_rights root = { .is_root = true };
	struct error err = {};
	size_t next = 0;

	CHECK(probe_lint(set, probe, &root, &err) == 0 && !*err.text);
	CHECK(*probe->name && probe->symbol_count && probe->symbol_count <= PROBE_PATTERNS_MAX);
	CHECK(probe->exit != PROBE_EXIT_RETURN || !probe->is_throwing);
	CHECK(probe->value_count <= PROBE_VALUES_MAX && probe->capture_count <= PROBE_CAPTURES_MAX);
	for (size_t i = 0; i < probe->capture_count; i++) {
		CHECK(probe->captures[i].first_value == next && probe->captures[i].value_count);
		CHECK(probe_find_capture(probe, probe->captures[i].name) == (int)i);
		next += probe->captures[i].value_count;
	}
	CHECK(next == probe->value_count);
	for (size_t i = 0; i < probe->value_count; i++)
		check_value(set, probe, &probe->values[i]);
	CHECK(!probe->text.max_bytes || *probe->text.name);
	for (size_t i = 0; i < probe->key_count; i++)
		CHECK(probe->keys[i] < probe->capture_count);
	CHECK(!probe->is_naming || (probe->text.max_bytes && probe->named < probe->capture_count));
	CHECK(probe_set_find_word(set, "no such value", 0) == NULL);
	if (probe->change.action)
		CHECK(probe->change.map < set->map_count &&
		      probe->change.key < probe->capture_count);
	for (size_t i = 0; i < probe->bytes_count; i++)
		check_product(set, probe, &probe->bytes[i]);
}

static void check_set(int r, const struct probe_set *set, const struct error *err, const char *name)
{
	if (r < 0) {
		CHECK(!set && strncmp(err->text, name, strlen(name)) == 0);
		CHECK(!strchr(err->text, '\n'));
		return;
	}
	CHECK(*set->name && *set->group && set->about && set->probe_count &&
	      set->probe_count <= PROBES_MAX);
	for (size_t i = 0; i < set->probe_count; i++)
		check_probe(set, set->probes[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(probe_set_freep) struct probe_set *set = NULL, *given = NULL;
	_cleanup_free_ char *text = strndup((const char *)data, size);
	struct error err = {}, argument_err = {};
	int r = probe_set_parse((const char *)data, size, "made.probe", &set, &err);

	check_set(r, set, &err, "made.probe:");
	r = probe_set_parse_argument(text, &given, &argument_err);
	check_set(r, given, &argument_err, "--probe:");
	return 0;
}
