/* SPDX-License-Identifier: MIT */
#include "codec/trace_post.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/parse.h"
#include "model/document.h"
#include "model/json_place.h"
#include "model/section.h"
#include "model/sections.h"

#define SCHEMA "jobmeter.trace/1"

void trace_post_clear(struct trace_post *p)
{
	traced_calls_clear(&p->calls);
}

/* Ids use all 64 bits, which readers of JSON do not. */
static void put_id(struct document *d, const char *key, uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, id);
	document_put_string(d, key, text);
}

static void format(const void *what, struct document *d)
{
	const struct trace_post *p = what;

	document_begin_map(d);
	document_put_string(d, "schema", SCHEMA);
	put_id(d, "group", p->group_id);
	put_id(d, "id", p->trace_id);
	document_put_boolean(d, "last", p->is_last);
	document_key(d, section_key(&trace_section));
	section_format(&trace_section, &p->calls, d);
	document_end_map(d);
}

int trace_post_format(const struct trace_post *p, char **ret)
{
	size_t length;

	return document_format_line(format, p, ret, &length);
}

static int take_id(const struct place *place, const json_t *map, const char *key, uint64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	int r = place_take_string(place, map, key, &text);

	if (r == 0 && (!text || parse_u64(text, ret) < 0 || *ret == 0))
		r = place_refuse(place, key, "is no id: a number as a string");
	return r;
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
		r = take_id(&place, map, "group", &ret->group_id);
	if (r == 0)
		r = take_id(&place, map, "id", &ret->trace_id);
	if (r == 0)
		r = place_take_boolean(&place, map, "last", &ret->is_last);
	if (r == 0)
		r = section_take(&trace_section, &place, map, &ret->calls);
	if (r == 0 && !ret->calls.is_known)
		r = place_refuse(&place, section_key(&trace_section), "is missing");
	if (r < 0)
		trace_post_clear(ret);
	return r;
}
