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
#include "server/store/store_internal.h"

/* clang-format off */
static const struct number {
	const char *key;
	unsigned int places;
} numbers[STORE_NODE_VALUES] = {
	[STORE_NODE_CPUS] = { "cpus", 0 },
	[STORE_NODE_LOAD] = { "load", 2 },
	[STORE_NODE_MEMORY] = { "memory_bytes", 0 },
	[STORE_NODE_AVAILABLE] = { "memory_available_bytes", 0 },
	[STORE_NODE_MISSING] = { "missing", 0 },
	[STORE_NODE_LOST] = { "lost_events", 0 },
};
/* clang-format on */

static int take_text(const struct place *place, const json_t *map, const char *key,
		     const char **ret)
{
	const json_t *json = NULL;
	int r = place_get(place, map, key, JSON_STRING, &json);

	*ret = json ? json_string_value(json) : "";
	return r == 0 && strlen(*ret) > STORE_KEY_MAX_BYTES
		       ? place_refuse(place, key, "is too long")
		       : r;
}

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
	const char *cluster = "", *node = "";
	uint64_t number[STORE_NODE_VALUES] = {};
	bool is_known[STORE_NODE_VALUES] = {};
	_cleanup_free_ char *lacks = NULL;
	int r = take_text(&place, root, "cluster", &cluster);

	if (r == 0)
		r = take_text(&place, root, "node", &node);
	for (size_t i = 0; r == 0 && i < STORE_NODE_VALUES; i++)
		r = place_take_number(&place, root, numbers[i].key, numbers[i].places, &number[i],
				      &is_known[i]);
	if (r == 0)
		r = take_lacks(&place, root, &lacks);
	*ret_is_taken = r == 0 && *node;
	if (!*ret_is_taken)
		return r == -ENOMEM ? r : 0;
#define VALUE(i) NUMBER_IF(is_known[i] && number[i] <= VALUE_MAX, number[i])
	store_do(
		s,
		"INSERT INTO nodes (cluster, node, told_ns, cpus, load, memory, available, missing, "
		"lost, lacks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (cluster, node) DO "
		"UPDATE SET told_ns = ?3, cpus = ?4, load = ?5, memory = ?6, available = ?7, "
		"missing = ?8, lost = ?9, lacks = ?10",
		TEXT(cluster), TEXT(node), NUMBER(now_ns), VALUE(STORE_NODE_CPUS),
		VALUE(STORE_NODE_LOAD), VALUE(STORE_NODE_MEMORY), VALUE(STORE_NODE_AVAILABLE),
		VALUE(STORE_NODE_MISSING), VALUE(STORE_NODE_LOST), TEXT(lacks));
#undef VALUE
	return store_told(s, err);
}
