/* SPDX-License-Identifier: MIT */
/* Whatever is told of a trace: it is taken whole, or refused in a line; what is taken comes back as
 * it was written. */
#include <stdlib.h>
#include <string.h>

#include "basic/error.h"
#include "codec/trace_post.h"
#include "fuzz.h"

static void check_name(const char *name, char refused)
{
	CHECK(*name && strlen(name) <= TRACED_NAME_MAX);
	for (; *name; name++)
		CHECK(*name > ' ' && *name <= '~' && *name != '"' && *name != '\\' &&
		      *name != refused);
}

static void check_calls(const struct traced_calls *c)
{
	CHECK(c->is_known && c->count <= TRACED_FUNCTIONS_MAX + 1);
	for (size_t i = 0; i < c->count; i++) {
		check_name(c->items[i].set, '/');
		check_name(c->items[i].function, '"');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_post post = {}, again = {};
	char *first = NULL, *second = NULL;
	struct error err = {};

	if (trace_post_parse((const char *)data, size, &post, &err) < 0) {
		CHECK(*err.text && !post.calls.count);
		return 0;
	}
	CHECK(post.group_id && post.trace_id);
	check_calls(&post.calls);
	CHECK(trace_post_format(&post, &first) == 0);
	CHECK(trace_post_parse(first, strlen(first), &again, &err) == 0);
	CHECK(trace_post_format(&again, &second) == 0 && strcmp(first, second) == 0);
	free(first);
	free(second);
	trace_post_clear(&post);
	trace_post_clear(&again);
	return 0;
}
