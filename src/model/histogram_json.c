/* SPDX-License-Identifier: MIT */
#include "model/histogram_json.h"

#include "model/document.h"
#include "model/histogram.h"
#include "model/json_place.h"
#include "model/metric.h"

void histogram_format(const struct metric *metric, const struct histogram *h, struct document *d)
{
	size_t count = HISTOGRAM_BUCKETS;

	document_key(d, metric->key);
	if (!h) {
		document_null(d);
		return;
	}
	while (count > 0 && h->counts[count - 1] == 0)
		count--;
	document_begin_flat_list(d);
	for (size_t i = 0; i < count; i++)
		document_unsigned(d, h->counts[i]);
	document_end_list(d);
}

int histogram_take(const struct place *place, const json_t *map, const struct metric *metric,
		   struct histogram *ret, bool *ret_is_known)
{
	const json_t *list;
	int r = place_get(place, map, metric->key, JSON_ARRAY, &list);

	*ret_is_known = r == 0 && list;
	if (r < 0 || !list)
		return r;
	if (json_array_size(list) > HISTOGRAM_BUCKETS)
		return place_refuse(place, metric->key, "has more than %d entries",
				    HISTOGRAM_BUCKETS);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *json = json_array_get(list, i);

		if (!json_is_integer(json) || json_integer_value(json) < 0)
			return place_refuse(place, metric->key, "holds something else than counts");
		ret->counts[i] = (uint64_t)json_integer_value(json);
	}
	return 0;
}
