/* SPDX-License-Identifier: MIT */
/* Any text as an expression: an error is one line that says a column; what is taken can be computed
 * of a record that knows nothing, and of one that knows much. */
#include <math.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "analysis/expression.h"
#include "fuzz.h"
#include "made.h"
#include "analysis/variables.h"

static void compute(const struct expression *e, enum expression_kind kind,
		    const struct subject *subject)
{
	struct amount a;

	if (kind == EXPRESSION_CONDITION) {
		CHECK(expression_truth(e, subject) <= TRUTH_UNKNOWN);
		return;
	}
	a = expression_number(e, subject);
	CHECK(!a.is_known || isfinite(a.number));
	CHECK(*amount_format(a, expression_dimension(e)).text);
	CHECK(*amount_format_memory(a).text);
}

static void read_as(const char *text, enum expression_kind kind, const struct names *names,
		    const struct subject *subject)
{
	_cleanup_(expression_freep) struct expression *e = NULL;
	struct error err = {};

	if (expression_parse(text, kind, names, &e, &err) < 0) {
		CHECK(!e && strncmp(err.text, "column ", strlen("column ")) == 0 &&
		      !strchr(err.text, '\n'));
		return;
	}
	compute(e, kind, subject->baseline);
	compute(e, kind, subject);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(variables_freep) struct variables *variables = variables_new();
	_cleanup_(record_freep) struct record *nothing = record_new(), *much = made_record(0);
	_cleanup_free_ char *text = malloc(size + 1);
	struct subject of_nothing = { .record = nothing };
	struct subject of_much = { .record = much,
				   .row = &much->reading.mounts[0],
				   .baseline = &of_nothing };
	struct names names = { .variables = variables, .has_mount = true, .has_baseline = true };

	memcpy(text, data, size);
	text[size] = '\0';
	read_as(text, EXPRESSION_CONDITION, &names, &of_much);
	read_as(text, EXPRESSION_NUMBER, &names, &of_much);
	return 0;
}
