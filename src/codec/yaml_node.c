/* SPDX-License-Identifier: MIT */
#include "codec/yaml_node.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/utf8.h"

struct parse {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one */
	bool has_event;
	const char *text, *name;
	size_t length;
	unsigned int nodes;
	struct error *err;
};

const char *yaml_node_kind_name(enum yaml_node_kind kind)
{
	return kind == YAML_NODE_SCALAR ? "a scalar" : kind == YAML_NODE_LIST ? "a list" : "a map";
}

struct yaml_node *yaml_node_free(struct yaml_node *o)
{
	while (o) { /* the depth is bounded, the length is not */
		struct yaml_node *next = o->next;

		yaml_node_free(o->first);
		free(o->key);
		free(o->text);
		free(o);
		o = next;
	}
	return NULL;
}

void yaml_node_freep(struct yaml_node **o)
{
	yaml_node_free(*o);
}

static int refuse(const struct parse *p, size_t line, const char *what)
{
	(void)error_set(p->err, -EINVAL, "%s:%zu: %s", p->name, line, what);
	return -EINVAL;
}

/* ---- the text as a whole ---- */

static int check_text(const struct parse *p)
{
	static const char replacement[] = "\xef\xbf\xbd";
	const char *at = p->text, *end = p->text + p->length;
	size_t line = 1;

	if (p->length > YAML_NODE_BYTES_MAX)
		return error_set(p->err, -EFBIG, "%s: larger than %u KiB", p->name,
				 YAML_NODE_BYTES_MAX >> 10);
	while (at < end) {
		const char *before = at;
		uint32_t c = utf8_next(&at);

		line += c == '\n';
		if (c == 0)
			return refuse(p, line, "a NUL byte stands here");
		if (c == UTF8_REPLACEMENT && (size_t)(at - before) != strlen(replacement))
			return refuse(p, line, "this is not UTF-8");
	}
	return 0;
}

/* Does the indentation of that line (from 0) hold a tab? */
static bool has_tab(const struct parse *p, size_t line)
{
	const char *at = p->text;

	for (; line; line--) {
		at = strchr(at, '\n');
		if (!at)
			return false;
		at++;
	}
	at += strspn(at, " ");
	return *at == '\t';
}

/* ---- events ---- */

static int explain(const struct parse *p)
{
	const yaml_parser_t *parser = &p->parser;
	size_t line = parser->problem_mark.line;

	if (parser->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (parser->error == YAML_SCANNER_ERROR && has_tab(p, line))
		return refuse(p, line + 1, "a tab stands here; YAML is indented by blanks");
	if (parser->context && parser->context_mark.line != line)
		return error_set(p->err, -EINVAL, "%s:%zu: %s (%s in line %zu)", p->name, line + 1,
				 parser->problem, parser->context, parser->context_mark.line + 1);
	return refuse(p, line + 1, parser->problem ? parser->problem : "this is not YAML");
}

static int next_event(struct parse *p)
{
	if (p->has_event)
		yaml_event_delete(&p->event);
	p->has_event = yaml_parser_parse(&p->parser, &p->event);
	return p->has_event ? 0 : explain(p);
}

static size_t line_of(const struct parse *p)
{
	return p->event.start_mark.line + 1;
}

/* What is no part of an YAML node. */
static int check_event(const struct parse *p)
{
	const yaml_event_t *e = &p->event;
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (e->type == YAML_ALIAS_EVENT)
		return refuse(p, line_of(p), "aliases ('*NAME') are not taken here");
	if (e->type == YAML_SCALAR_EVENT) {
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
	} else if (e->type == YAML_SEQUENCE_START_EVENT) {
		anchor = e->data.sequence_start.anchor;
		tag = e->data.sequence_start.tag;
	} else if (e->type == YAML_MAPPING_START_EVENT) {
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
	}
	if (anchor)
		return refuse(p, line_of(p), "anchors ('&NAME') are not taken here");
	if (tag)
		return refuse(p, line_of(p), "tags ('!NAME') are not taken here");
	return 0;
}

/* ---- nodes ---- */

static int parse_node(struct parse *p, unsigned int depth, struct yaml_node **ret);

static char *copy_scalar(const yaml_event_t *event)
{
	return strndup((const char *)event->data.scalar.value, event->data.scalar.length);
}

static bool has_nul(const yaml_event_t *event)
{
	return memchr(event->data.scalar.value, '\0', event->data.scalar.length);
}

static int parse_scalar(struct parse *p, struct yaml_node *node)
{
	bool is_plain = p->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (has_nul(&p->event))
		return refuse(p, line_of(p), "a NUL byte stands here");
	node->text = copy_scalar(&p->event);
	if (!node->text)
		return -ENOMEM;
	node->is_null = is_plain && (!*node->text || strcmp(node->text, "~") == 0 ||
				     strcasecmp(node->text, "null") == 0);
	return 0;
}

static int parse_list(struct parse *p, unsigned int depth, struct yaml_node *node)
{
	struct yaml_node **last = &node->first;

	for (;;) {
		int r = next_event(p);

		if (r < 0 || p->event.type == YAML_SEQUENCE_END_EVENT)
			return r;
		r = parse_node(p, depth + 1, last);
		if (r < 0)
			return r;
		last = &(*last)->next;
	}
}

static int take_key(struct parse *p, const struct yaml_node *map, char **ret)
{
	unsigned int count = 0;

	if (p->event.type != YAML_SCALAR_EVENT)
		return refuse(p, line_of(p), "a name must stand here, and not a list or a map");
	if (has_nul(&p->event))
		return refuse(p, line_of(p), "a NUL byte stands here");
	*ret = copy_scalar(&p->event);
	if (!*ret)
		return -ENOMEM;
	for (const struct yaml_node *o = map->first; o; o = o->next) {
		if (strcmp(o->key, *ret) == 0)
			return error_set(p->err, -EINVAL,
					 "%s:%zu: '%.64s' is given twice, first in line %u",
					 p->name, line_of(p), *ret, o->line);
		if (++count >= YAML_NODE_KEYS_MAX)
			return refuse(p, line_of(p), "this map has too many names");
	}
	return 0;
}

static int parse_map(struct parse *p, unsigned int depth, struct yaml_node *node)
{
	struct yaml_node **last = &node->first;

	for (;;) {
		_cleanup_free_ char *key = NULL;
		struct yaml_node *child = NULL;
		unsigned int line;
		int r = next_event(p);

		if (r >= 0 && p->event.type == YAML_MAPPING_END_EVENT)
			return 0;
		if (r >= 0)
			r = check_event(p);
		if (r >= 0)
			r = take_key(p, node, &key);
		if (r < 0)
			return r;
		line = (unsigned int)line_of(p);
		r = next_event(p);
		if (r >= 0)
			r = parse_node(p, depth + 1, &child);
		if (r < 0)
			return r;
		child->key = TAKE_PTR(key);
		child->line = line; /* a value may begin further down */
		*last = child;
		last = &child->next;
	}
}

/* The event that begins it is the current one. */
static int parse_node(struct parse *p, unsigned int depth, struct yaml_node **ret)
{
	_cleanup_(yaml_node_freep) struct yaml_node *node = NULL;
	int r = check_event(p);

	if (r < 0)
		return r;
	if (depth >= YAML_NODE_DEPTH_MAX)
		return refuse(p, line_of(p), "this is nested too deep");
	if (++p->nodes > YAML_NODE_NODES_MAX)
		return refuse(p, line_of(p), "there is too much in this file");
	node = calloc(1, sizeof(*node));
	if (!node)
		return -ENOMEM;
	node->line = (unsigned int)line_of(p);
	if (p->event.type == YAML_SCALAR_EVENT) {
		r = parse_scalar(p, node);
	} else if (p->event.type == YAML_SEQUENCE_START_EVENT) {
		node->kind = YAML_NODE_LIST;
		r = parse_list(p, depth, node);
	} else {
		node->kind = YAML_NODE_MAP;
		r = parse_map(p, depth, node);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(node);
	return 0;
}

static int parse_stream(struct parse *p, struct yaml_node **ret)
{
	int r = next_event(p);

	if (r >= 0)
		r = next_event(p);
	if (r < 0)
		return r;
	if (p->event.type == YAML_STREAM_END_EVENT) { /* empty, or comments only */
		*ret = calloc(1, sizeof(**ret));
		if (!*ret)
			return -ENOMEM;
		(*ret)->kind = YAML_NODE_MAP;
		(*ret)->line = 1;
		return 0;
	}
	r = next_event(p);
	if (r >= 0)
		r = parse_node(p, 0, ret);
	for (int i = 0; i < 2 && r >= 0; i++) /* the document's end, and what is behind it */
		r = next_event(p);
	if (r >= 0 && p->event.type != YAML_STREAM_END_EVENT)
		r = refuse(p, line_of(p), "a second document begins here");
	return r;
}

int yaml_node_parse(const char *text, size_t length, const char *name, struct yaml_node **ret,
		    struct error *err)
{
	struct parse p = { .text = text, .length = length, .name = name, .err = err };
	_cleanup_(yaml_node_freep) struct yaml_node *root = NULL;
	int r = check_text(&p);

	if (r < 0)
		return r;
	if (!yaml_parser_initialize(&p.parser))
		return -ENOMEM;
	yaml_parser_set_encoding(&p.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&p.parser, (const unsigned char *)text, length);
	r = parse_stream(&p, &root);
	if (p.has_event)
		yaml_event_delete(&p.event);
	yaml_parser_delete(&p.parser);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(root);
	return 0;
}
