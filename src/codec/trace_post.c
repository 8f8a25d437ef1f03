/* SPDX-License-Identifier: MIT */
#include "codec/trace_post.h"

#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "model/document.h"
#include "model/json_place.h"
#include "model/shape.h"

#define SCHEMA "jobmeter.trace/1"

void trace_post_clear(struct trace_post *p)
{
	traced_calls_clear(&p->calls);
}

/* clang-format off */
static const struct field fields[] = {
	{ "group", SHAPE_ID, SHAPE_NEEDED, offsetof(struct trace_post, group_id) },
	{ "id", SHAPE_ID, SHAPE_NEEDED, offsetof(struct trace_post, trace_id) },
	{ "last", SHAPE_BOOL, 0, offsetof(struct trace_post, is_last) },
	{ "trace", SHAPE_MAP, SHAPE_NEEDED | SHAPE_ALWAYS, offsetof(struct trace_post, calls), .rows = &traced_shape },
};
/* clang-format on */
static const struct shape shape = { SHAPE_OF(struct trace_post, fields) };

static void format(const void *what, struct document *d)
{
	const struct trace_post *p = what;

	document_begin_map(d);
	document_put_string(d, "schema", SCHEMA);
	shape_format(&shape, p, d);
	document_end_map(d);
}

int trace_post_format(const struct trace_post *p, char **ret)
{
	size_t length;

	return document_format_line(format, p, ret, &length);
}

static int check_schema(const struct place *place, const json_t *map)
{
	_cleanup_free_ char *schema = NULL;
	int r = place_take_string(place, map, "schema", &schema);

	if (r == 0 && (!schema || strcmp(schema, SCHEMA) != 0))
		r = place_refuse(place, "schema", "is not '%s'", SCHEMA);
	return r;
}

int trace_post_parse(const char *text, size_t length, struct trace_post *ret, struct error *err)
{
	const struct place place = { .err = err };
	_cleanup_(json_freep) json_t *map = NULL;
	int r = place_parse_map(text, length, &map, err);

	*ret = (struct trace_post){};
	if (r == 0)
		r = check_schema(&place, map);
	if (r == 0)
		r = shape_parse(&shape, &place, map, ret);
	if (r < 0)
		trace_post_clear(ret);
	return r;
}
