/* SPDX-License-Identifier: MIT */
/* The routes as OpenAPI 3.1, for programs that make clients and tests of it. */
#include <string.h>

#include "basic/macro.h"
#include "model/document.h"
#include "server/api/api.h"

static void put_words(const struct api_parameter *p, struct document *d)
{
	document_begin_flat_list_of(d, "enum");
	for (size_t i = 0; p->word(i); i++)
		document_string(d, p->word(i));
	document_end_list(d);
}

static void put_schema(const struct api_parameter *p, struct document *d)
{
	document_begin_map_of(d, "schema");
	if (p->type == API_MOMENT) {
		document_begin_flat_list_of(d, "type");
		document_string(d, "string");
		document_string(d, "integer");
		document_end_list(d);
		document_put_string(d, "format", "date-time");
	} else {
		document_put_string(d, "type",
				    p->type == API_NUMBER  ? "integer"
				    : p->type == API_WORDS ? "array"
							   : "string");
	}
	if (p->type == API_NUMBER) {
		document_put_unsigned(d, "minimum", p->least);
		document_put_unsigned(d, "maximum", p->most);
	} else if (p->type == API_STRING) {
		document_put_unsigned(d, "maxLength", p->most ? p->most : API_TEXT_MAX);
	} else if (p->type == API_WORD) {
		put_words(p, d);
	} else if (p->type == API_WORDS) {
		document_begin_map_of(d, "items");
		put_words(p, d);
		document_end_map(d);
	}
	document_end_map(d);
}

static void put_parameter(const struct api_parameter *p, bool is_of_path, struct document *d)
{
	document_begin_map(d);
	document_put_string(d, "name", p->name);
	document_put_string(d, "in", is_of_path ? "path" : "query");
	document_put_boolean(d, "required", is_of_path);
	document_put_string(d, "description", p->help);
	if (p->type == API_WORDS)
		document_put_boolean(d, "explode", false);
	put_schema(p, d);
	document_end_map(d);
}

/* The format, which the path's suffix may say as well. */
static void put_format(const struct api_route *route, struct document *d)
{
	const char *name, *type;

	document_begin_map(d);
	document_put_string(d, "name", "format");
	document_put_string(d, "in", "query");
	document_put_boolean(d, "required", false);
	document_put_string(d, "description", "The format, as the path's suffix.");
	document_begin_map_of(d, "schema");
	document_put_string(d, "type", "string");
	document_begin_flat_list_of(d, "enum");
	for (size_t i = 0; (name = api_format_name((enum api_format)i, &type)); i++) {
		if (route->formats >> i & 1)
			document_string(d, name);
	}
	document_end_list(d);
	document_end_map(d);
	document_end_map(d);
}

static void put_parameters(const struct api_route *route, struct document *d)
{
	static const struct api_parameter id = { "id", API_STRING, "The job's id." };
	const struct api_parameter *p;

	document_begin_list_of(d, "parameters");
	if (strchr(route->path, '{'))
		put_parameter(&id, true, d);
	for (size_t i = 0; (p = api_parameter(route, i)); i++)
		put_parameter(p, false, d);
	put_format(route, d);
	document_end_list(d);
}

static void put_column(const struct store_column *column, struct document *d)
{
	static const char *const types[] = { [STORE_TEXT] = "string",
					     [STORE_NUMBER] = "number",
					     [STORE_TIME] = "string",
					     [STORE_BOOLEAN] = "boolean" };

	document_begin_map_of(d, column->name);
	document_begin_flat_list_of(d, "type");
	document_string(d, types[column->type]);
	document_string(d, "null");
	document_end_list(d);
	if (column->type == STORE_TIME)
		document_put_string(d, "format", "date-time");
	document_put_string(d, "description", column->help);
	document_end_map(d);
}

/* A list, whether there is more of it, and where that begins. */
static void put_list_schema(const struct api_route *route, struct document *d)
{
	struct store_column columns[STORE_COLUMNS_MAX];
	size_t count = route->columns(columns);

	document_begin_flat_list_of(d, "required");
	document_string(d, route->list);
	document_end_list(d);
	document_begin_map_of(d, "properties");
	document_begin_map_of(d, "more");
	document_put_string(d, "type", "boolean");
	document_end_map(d);
	document_begin_map_of(d, "by");
	document_put_string(d, "type", "string");
	document_end_map(d);
	document_begin_map_of(d, "next");
	document_begin_flat_list_of(d, "type");
	document_string(d, "string");
	document_string(d, "null");
	document_end_list(d);
	document_end_map(d);
	document_begin_map_of(d, route->list);
	document_put_string(d, "type", "array");
	document_begin_map_of(d, "items");
	document_put_string(d, "type", "object");
	document_put_boolean(d, "additionalProperties", false);
	document_begin_map_of(d, "properties");
	for (size_t i = 0; i < count; i++)
		put_column(&columns[i], d);
	document_end_map(d);
	document_end_map(d);
	document_end_map(d);
	document_end_map(d);
	document_put_boolean(d, "additionalProperties", false);
}

static void put_content(const struct api_route *route, struct document *d)
{
	const char *type;

	document_begin_map_of(d, "content");
	for (size_t format = 0; api_format_name((enum api_format)format, &type); format++) {
		if (!(route->formats >> format & 1))
			continue;
		document_begin_map_of(d, type);
		if (format == API_JSON) {
			document_begin_map_of(d, "schema");
			document_put_string(d, "type", "object");
			if (route->list)
				put_list_schema(route, d);
			document_end_map(d);
		}
		document_end_map(d);
	}
	document_end_map(d);
}

static void put_responses(const struct api_route *route, struct document *d)
{
	static const char *const codes[] = { "400", "401", "403", "404", "503" };

	document_begin_map_of(d, "responses");
	document_begin_map_of(d, "200");
	document_put_string(d, "description", route->summary);
	put_content(route, d);
	document_end_map(d);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		document_begin_map_of(d, codes[i]);
		document_put_string(d, "$ref", "#/components/responses/error");
		document_end_map(d);
	}
	document_end_map(d);
}

static void put_route(const struct api_route *route, struct document *d)
{
	char path[64];

	snprintf(path, sizeof(path), "%s%s", API_PATH, route->path);
	document_begin_map_of(d, path);
	document_begin_map_of(d, "get");
	document_put_string(d, "summary", route->summary);
	if (route->is_open) {
		document_begin_list_of(d, "security");
		document_end_list(d);
	}
	put_parameters(route, d);
	put_responses(route, d);
	document_end_map(d);
	document_end_map(d);
}

static void put_components(struct document *d)
{
	document_begin_map_of(d, "components");
	document_begin_map_of(d, "securitySchemes");
	document_begin_map_of(d, "token");
	document_put_string(d, "type", "http");
	document_put_string(d, "scheme", "bearer");
	document_end_map(d);
	document_end_map(d);
	document_begin_map_of(d, "responses");
	document_begin_map_of(d, "error");
	document_put_string(d, "description", "What is wrong, in words.");
	document_begin_map_of(d, "content");
	document_begin_map_of(d, "application/json");
	document_begin_map_of(d, "schema");
	document_put_string(d, "type", "object");
	document_begin_flat_list_of(d, "required");
	document_string(d, "error");
	document_end_list(d);
	document_begin_map_of(d, "properties");
	document_begin_map_of(d, "error");
	document_put_string(d, "type", "string");
	for (int i = 0; i < 7; i++)
		document_end_map(d);
	document_end_map(d);
}

int api_put_openapi(struct api_call *c, struct error *err UNUSED)
{
	struct document *d = c->document;

	document_begin_map(d);
	document_put_string(d, "openapi", "3.1.0");
	document_begin_map_of(d, "info");
	document_put_string(d, "title", "jobmeter-server");
	document_put_string(d, "version", JOBMETER_VERSION);
	document_end_map(d);
	document_begin_list_of(d, "security");
	document_begin_map(d);
	document_begin_list_of(d, "token");
	document_end_list(d);
	document_end_map(d);
	document_end_list(d);
	document_begin_map_of(d, "paths");
	for (const struct api_route *route = api_routes; route->path; route++)
		put_route(route, d);
	document_end_map(d);
	put_components(d);
	document_end_map(d);
	return 0;
}
