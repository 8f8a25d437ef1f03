/* SPDX-License-Identifier: MIT */
#include "network_json.h"

#include <string.h>

#include "document.h"
#include "histogram_json.h"
#include "json_place.h"
#include "metric_json.h"

static void format_round_trip_times(const struct network *n, struct document *d)
{
	bool is_known = network_knows(n, METRIC_NETWORK_ROUND_TRIP_TIMES);

	histogram_format(metric_get(METRIC_NETWORK_ROUND_TRIP_TIMES), is_known ? &n->round_trip_times : NULL, d);
}

static void format_direction(const struct network *n, enum socket_kind kind, const char *section, struct document *d)
{
	document_begin_flat_map(d);
	for (size_t i = METRIC_NETWORK_FIRST; i < METRIC_NETWORK_END; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (strcmp(metric->section, section) == 0)
			metric_format(metric, network_knows(n, (enum metric_id)i),
				      network_number(n, kind, (enum metric_id)i), d);
	}
	if (strcmp(section, metric_get(METRIC_NETWORK_ROUND_TRIP_TIMES)->section) == 0)
		format_round_trip_times(n, d);
	document_end_map(d);
}

/* Of each kind of socket that was used, a map for each direction, as the sections of the metrics have them. */
static void format_sockets(const struct network *n, enum socket_kind kind, struct document *d)
{
	const char *before = "";

	document_key(d, socket_kind_name(kind));
	document_begin_map(d);
	for (size_t i = METRIC_NETWORK_FIRST; i < METRIC_NETWORK_END; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (strcmp(metric->section, before) == 0 || !network_takes(kind, (enum metric_id)i))
			continue;
		before = metric->section;
		document_key(d, metric_part(metric));
		format_direction(n, kind, metric->section, d);
	}
	document_end_map(d);
}

void network_format(const struct network *n, struct document *d)
{
	document_begin_map(d);
	for (size_t kind = 0; kind < SOCKET_KIND_COUNT; kind++) {
		if (network_has_kind(n, (enum socket_kind)kind))
			format_sockets(n, (enum socket_kind)kind, d);
	}
	document_end_map(d);
}

/* ---- and back ---- */

static int take_socket_number(const struct place *place, const json_t *map, const struct metric *metric,
			      struct network *n, uint64_t *ret)
{
	bool is_known;
	int r;

	const char *part = metric_part(metric);
	struct place here = place_below(place, ".%s", part);
	const json_t *section;
	r = place_get(place, map, part, JSON_OBJECT, &section);
	if (r < 0)
		return r;
	if (metric_id_of(metric) < METRIC_NETWORK_OPENED)
		return section ? place_need_number(&here, section, metric->key, ret) : 0;
	r = place_take_number(&here, section, metric->key, metric_unit_places(metric->unit), ret, &is_known);
	if (metric_id_of(metric) < METRIC_NETWORK_SEGMENTS)
		n->has_connections &= is_known;
	else if (metric_id_of(metric) != METRIC_NETWORK_LEAST_ROUND_TRIP) /* of which there may be none */
		n->has_details &= is_known;
	return r;
}

/* A list, which older records lack. */
static int take_round_trip_times(const struct place *place, const json_t *tcp, struct network *ret)
{
	const struct metric *metric = metric_get(METRIC_NETWORK_ROUND_TRIP_TIMES);
	struct place here = place_below(place, ".%s", metric_part(metric));
	const json_t *section;
	bool is_known;
	int r = place_get(place, tcp, metric_part(metric), JSON_OBJECT, &section);

	if (r == 0)
		r = histogram_take(&here, section, metric, &ret->round_trip_times, &is_known);
	if (r == 0)
		ret->has_details &= is_known;
	return r;
}

static int take_sockets(const struct place *place, const json_t *map, enum socket_kind kind, struct network *ret)
{
	int r = 0;

	for (size_t id = METRIC_NETWORK_FIRST; r == 0 && id < METRIC_NETWORK_END; id++)
		r = network_takes(kind, (enum metric_id)id)
			    ? take_socket_number(place, map, metric_get((enum metric_id)id), ret,
						 network_number_ref(ret, kind, (enum metric_id)id))
			    : 0;
	if (r == 0 && kind == SOCKET_TCP)
		r = take_round_trip_times(place, map, ret);
	return r;
}

int network_take(const struct place *place, const json_t *above, struct network *ret)
{
	struct place here = place_below(place, "%snetwork", *place->path ? "." : "");
	const json_t *network, *sockets;
	int r = place_get(place, above, "network", JSON_OBJECT, &network);

	if (r < 0 || !network)
		return r;
	ret->is_known = true;
	ret->has_connections = ret->has_details = true; /* until something is missing */
	for (size_t kind = 0; r == 0 && kind < SOCKET_KIND_COUNT; kind++) {
		const char *name = socket_kind_name((enum socket_kind)kind);
		struct place below = place_below(&here, ".%s", name);

		r = place_get(&here, network, name, JSON_OBJECT, &sockets);
		if (r == 0 && sockets)
			r = take_sockets(&below, sockets, (enum socket_kind)kind, ret);
	}
	return r;
}
