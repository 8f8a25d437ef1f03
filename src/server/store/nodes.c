/* SPDX-License-Identifier: MIT */
/* How nodes are, as they say it with what they send: of each the last word. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/json_place.h"
#include "model/node_values.h"
#include "model/shape.h"
#include "server/store/store_internal.h"

/* What a node says: texts are the JSON's. */
struct told {
	const char *cluster, *node;
	struct value numbers[STORE_NODE_VALUES];
};

/* clang-format off */
#define TOLD(value) SHAPE_VALUE, 0, offsetof(struct told, numbers[value])
static const struct field told_fields[] = {
	{ "cluster", SHAPE_LENT, 0, offsetof(struct told, cluster), STORE_KEY_MAX_BYTES },
	{ "node", SHAPE_LENT, 0, offsetof(struct told, node), STORE_KEY_MAX_BYTES },
	{ "cpus", TOLD(STORE_NODE_CPUS) },
	{ "load", TOLD(STORE_NODE_LOAD), .unit = UNIT_LOAD },
	{ "memory_bytes", TOLD(STORE_NODE_MEMORY) },
	{ "memory_available_bytes", TOLD(STORE_NODE_AVAILABLE) },
	{ "missing", TOLD(STORE_NODE_MISSING) },
	{ "lost_events", TOLD(STORE_NODE_LOST) },
};
#undef TOLD
/* clang-format on */
static const struct shape told_shape = { SHAPE_OF(struct told, told_fields) };

/* In lines, as many as there is room for; the caller frees.  NULL: it says nothing of it. */
static int take_lacks(const struct place *place, const json_t *map, char **ret)
{
	const json_t *list = NULL;
	size_t size, index;
	json_t *one;
	FILE *out;
	int r = place_get(place, map, "not_measured", JSON_ARRAY, &list);

	if (r < 0 || !list)
		return r;
	out = open_memstream(ret, &size);
	if (!out)
		return -ENOMEM;
	json_array_foreach(list, index, one)
	{
		const char *text = json_string_value(one);

		if (!text || ftell(out) + (long)strlen(text) >= NODE_LINE_MAX)
			continue;
		for (; *text; text++)
			fputc(*text == '\n' ? ' ' : *text, out);
		fputc('\n', out);
	}
	return fclose(out) == 0 ? 0 : -ENOMEM;
}

int store_put_node(struct store *s, const json_t *root, uint64_t now_ns, bool *ret_is_taken,
		   struct error *err)
{
	struct error reason = {};
	const struct place place = { .err = &reason };
	struct told told = {};
	_cleanup_free_ char *lacks = NULL;
	int r = shape_parse(&told_shape, &place, root, &told);

	if (r == 0)
		r = take_lacks(&place, root, &lacks);
	*ret_is_taken = r == 0 && *told.node;
	if (!*ret_is_taken)
		return r == -ENOMEM ? r : 0;
#define VALUE(i) NUMBER_IF(told.numbers[i].is_known, told.numbers[i].number)
	store_do(
		s,
		"INSERT INTO nodes (cluster, node, told_ns, cpus, load, memory, available, missing, "
		"lost, lacks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (cluster, node) DO "
		"UPDATE SET told_ns = ?3, cpus = ?4, load = ?5, memory = ?6, available = ?7, "
		"missing = ?8, lost = ?9, lacks = ?10",
		TEXT(told.cluster), TEXT(told.node), NUMBER(now_ns), VALUE(STORE_NODE_CPUS),
		VALUE(STORE_NODE_LOAD), VALUE(STORE_NODE_MEMORY), VALUE(STORE_NODE_AVAILABLE),
		VALUE(STORE_NODE_MISSING), VALUE(STORE_NODE_LOST), TEXT(lacks));
#undef VALUE
	return store_told(s, err);
}
