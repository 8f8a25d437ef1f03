/* SPDX-License-Identifier: MIT */
/* How nodes are, as they say it with what they send: of each the last word. */
#include <errno.h>
#include <string.h>

#include "basic/error.h"
#include "model/json_place.h"
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

int store_put_node(struct store *s, const json_t *root, uint64_t now_ns, bool *ret_is_taken,
		   struct error *err)
{
	struct error reason = {};
	const struct place place = { .err = &reason };
	const char *cluster = "", *node = "";
	uint64_t number[STORE_NODE_VALUES] = {};
	bool is_known[STORE_NODE_VALUES] = {};
	int r = take_text(&place, root, "cluster", &cluster);

	if (r == 0)
		r = take_text(&place, root, "node", &node);
	for (size_t i = 0; r == 0 && i < STORE_NODE_VALUES; i++)
		r = place_take_number(&place, root, numbers[i].key, numbers[i].places, &number[i],
				      &is_known[i]);
	*ret_is_taken = r == 0 && *node;
	if (!*ret_is_taken)
		return r == -ENOMEM ? r : 0;
#define VALUE(i) NUMBER_IF(is_known[i] && number[i] <= VALUE_MAX, number[i])
	store_do(
		s,
		"INSERT INTO nodes (cluster, node, told_ns, cpus, load, memory, available, missing, "
		"lost) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (cluster, node) DO "
		"UPDATE SET told_ns = ?3, cpus = ?4, load = ?5, memory = ?6, available = ?7, "
		"missing = ?8, lost = ?9",
		TEXT(cluster), TEXT(node), NUMBER(now_ns), VALUE(STORE_NODE_CPUS),
		VALUE(STORE_NODE_LOAD), VALUE(STORE_NODE_MEMORY), VALUE(STORE_NODE_AVAILABLE),
		VALUE(STORE_NODE_MISSING), VALUE(STORE_NODE_LOST));
#undef VALUE
	return store_told(s, err);
}
