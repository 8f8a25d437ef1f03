/* SPDX-License-Identifier: MIT */
/* The routes as OpenAPI 3.1, for programs that make clients and tests of it.  What cannot be packed
 * for want of memory is NULL, and so is all that it is part of. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "model/json_place.h"
#include "server/api/api.h"

static json_t *words_of(const struct api_parameter *p)
{
	json_t *list = json_array();

	for (size_t i = 0; p->word(i); i++)
		json_array_append_new(list, json_string(p->word(i)));
	return list;
}

static json_t *schema_of(const struct api_parameter *p)
{
	switch (p->type) {
	case API_NUMBER:
		return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum",
				 (json_int_t)p->least, "maximum", (json_int_t)p->most);
	case API_MOMENT:
		return json_pack("{s:[ss], s:s}", "type", "string", "integer", "format",
				 "date-time");
	case API_WORD:
		return json_pack("{s:s, s:o}", "type", "string", "enum", words_of(p));
	case API_WORDS:
		return json_pack("{s:s, s:{s:s, s:o}}", "type", "array", "items", "type", "string",
				 "enum", words_of(p));
	case API_STRING:
		break;
	}
	return json_pack("{s:s, s:I}", "type", "string", "maxLength",
			 (json_int_t)(p->most ? p->most : API_TEXT_MAX));
}

static json_t *make_parameter(const char *name, const char *in, const char *help, bool is_required,
			      json_t *schema)
{
	return json_pack("{s:s, s:s, s:b, s:s, s:b, s:o}", "name", name, "in", in, "required",
			 is_required, "description", help, "explode", false, "schema", schema);
}

static json_t *make_parameters(const struct api_route *route)
{
	static const struct api_parameter id = { "id", API_STRING, "The job's id." };
	json_t *list = json_array(), *formats = json_array();
	const struct api_parameter *p;
	const char *name, *type;

	if (strchr(route->path, '{'))
		json_array_append_new(list, make_parameter(id.name, "path", id.help, true,
							   schema_of(&id)));
	for (size_t i = 0; (p = api_parameter(route, i)); i++)
		json_array_append_new(list, make_parameter(p->name, "query", p->help,
							   p->is_required, schema_of(p)));
	for (size_t i = 0; (name = api_format_name((enum api_format)i, &type)); i++) {
		if (route->formats >> i & 1)
			json_array_append_new(formats, json_string(name));
	}
	json_array_append_new(
		list, make_parameter("format", "query", "The format, as the path's suffix.", false,
				     json_pack("{s:s, s:o}", "type", "string", "enum", formats)));
	return list;
}

static json_t *make_columns(const struct api_route *route)
{
	static const char *const types[] = { [STORE_TEXT] = "string",
					     [STORE_NUMBER] = "number",
					     [STORE_TIME] = "string",
					     [STORE_BOOLEAN] = "boolean" };
	struct store_column columns[STORE_COLUMNS_MAX];
	json_t *map = json_object();

	for (size_t i = 0, count = api_columns(route, columns); i < count; i++)
		json_object_set_new(map, columns[i].name,
				    json_pack("{s:[ss], s:s, s:s*}", "type", types[columns[i].type],
					      "null", "description", columns[i].help, "format",
					      columns[i].type == STORE_TIME ? "date-time" : NULL));
	return map;
}

/* Of a list its rows, whether there is more of it, and where that begins. */
static json_t *make_schema(const struct api_route *route)
{
	if (!route->list)
		return json_pack("{s:s}", "type", "object");
	return json_pack("{s:s, s:[s], s:b, s:{s:{s:s}, s:{s:s}, s:{s:[ss]}, "
			 "s:{s:s, s:{s:s, s:b, s:o}}}}",
			 "type", "object", "required", route->list, "additionalProperties", false,
			 "properties", "more", "type", "boolean", "by", "type", "string", "next",
			 "type", "string", "null", route->list, "type", "array", "items", "type",
			 "object", "additionalProperties", false, "properties",
			 make_columns(route));
}

static json_t *make_route(const struct api_route *route)
{
	static const char *const codes[] = { "400", "401", "403", "404", "503" };
	json_t *content = json_object(), *responses = json_object(), *security = json_array();
	const char *type;

	for (size_t i = 0; api_format_name((enum api_format)i, &type); i++) {
		if (route->formats >> i & 1)
			json_object_set_new(content, type,
					    i == API_JSON ? json_pack("{s:o}", "schema",
								      make_schema(route))
							  : json_object());
	}
	json_object_set_new(responses, "200",
			    json_pack("{s:s, s:o}", "description", route->summary, "content",
				      content));
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		json_object_set_new(responses, codes[i],
				    json_pack("{s:s}", "$ref", "#/components/responses/error"));
	if (!route->is_open)
		json_array_append_new(security, json_pack("{s:[]}", "token"));
	return json_pack("{s:{s:s, s:o, s:o, s:o, s:o*}}", route->is_post ? "post" : "get",
			 "summary", route->summary, "security", security, "parameters",
			 make_parameters(route), "responses", responses, "requestBody",
			 route->is_post ? json_pack("{s:{s:{s:{s:s}}}}", "content",
						    "application/json", "schema", "type", "object")
					: NULL);
}

int api_put_openapi(struct api_call *c, struct error *err UNUSED)
{
	_cleanup_(json_freep) json_t *all = NULL;
	json_t *paths = json_object();

	for (const struct api_route *route = server_api_routes; route->path; route++) {
		char path[64];

		snprintf(path, sizeof(path), "%s%s", API_PATH, route->path);
		if (json_object_get(paths, path)) /* by another method */
			json_object_update_missing_new(json_object_get(paths, path),
						       make_route(route));
		else
			json_object_set_new(paths, path, make_route(route));
	}
	all = json_pack("{s:s, s:{s:s, s:s}, s:o, s:{s:{s:{s:s, s:s}}, "
			"s:{s:{s:s, s:{s:{s:{s:s, s:[s], s:{s:{s:s}}}}}}}}}",
			"openapi", "3.1.0", "info", "title", "jobmeter-server", "version",
			JOBMETER_VERSION, "paths", paths, "components", "securitySchemes", "token",
			"type", "http", "scheme", "bearer", "responses", "error", "description",
			"What is wrong, in words.", "content", "application/json", "schema", "type",
			"object", "required", "error", "properties", "error", "type", "string");
	return all && json_dumpf(all, c->out, JSON_COMPACT) == 0 ? 0 : -ENOMEM;
}
