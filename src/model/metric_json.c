/* SPDX-License-Identifier: MIT */
#include "metric_json.h"

#include "document.h"
#include "json_place.h"

void metric_format(const struct metric *metric, bool is_known, uint64_t number, struct document *d)
{
	document_key(d, metric->key);
	if (is_known)
		document_decimal(d, number, metric_unit_places(metric->unit));
	else
		document_null(d);
}

int metric_take(const struct place *place, const json_t *map, const struct metric *metric,
		struct value *ret)
{
	return place_take_number(place, map, metric->key, metric_unit_places(metric->unit),
				 &ret->number, &ret->is_known);
}
