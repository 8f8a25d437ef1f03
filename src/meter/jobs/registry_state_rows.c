/* SPDX-License-Identifier: MIT */
/* Of a state's text: what was done on files, by mounts that rows and histograms name by where they
 * stand in a list. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/json_place.h"
#include "basic/macro.h"
#include "jobs/registry_internal.h"
#include "jobs/registry_state.h"
#include "jobs/state_values.h"

/* All keys there may be; any other is odd. */
static const char *const mount_keys[] = { "kind", "name", "fstype", "source", "aliases", NULL };

void state_mounts_clear(struct state_mounts *m)
{
	for (size_t i = 0; i < m->count; i++)
		snapshot_mount_clear(&m->items[i]);
	free(m->items);
	*m = (struct state_mounts){};
}

static int take_aliases(const struct place *place, const json_t *map, struct snapshot_mount *m)
{
	const json_t *list;
	int r = place_get(place, map, "aliases", JSON_ARRAY, &list);

	if (r == 0 && list && json_array_size(list) > MOUNT_ALIASES_MAX)
		return place_refuse(place, "aliases", "has more than %d entries",
				    MOUNT_ALIASES_MAX);
	for (size_t i = 0; r == 0 && list && i < json_array_size(list); i++)
		r = place_copy_string(place, "aliases", json_array_get(list, i), &m->aliases[i]);
	return r;
}

static int take_mount(const struct place *place, const json_t *map, struct snapshot_mount *m)
{
	_cleanup_free_ char *kind = NULL;
	int r = state_check_keys(place, map, mount_keys, NULL);

	if (r == 0)
		r = state_take_string(place, map, "kind", &kind);
	if (r == 0)
		r = state_need_string(place, map, "name", &m->name);
	if (r == 0)
		r = state_take_string(place, map, "fstype", &m->fstype);
	if (r == 0)
		r = state_take_string(place, map, "source", &m->source);
	if (r == 0)
		r = take_aliases(place, map, m);
	if (r < 0 || !kind)
		return r;
	m->kind = row_kind_of(kind);
	return m->kind == ROW_MOUNT ? place_refuse(place, "kind", "is none") : 0;
}

static int take_mounts(const struct place *place, const json_t *root, struct state_mounts *mounts)
{
	const json_t *list;
	int r = state_need_list(place, root, "mounts", MOUNTS_JOB_MAX, &list);

	if (r < 0)
		return r;
	mounts->items = calloc(json_array_size(list) + 1, sizeof(*mounts->items));
	if (!mounts->items)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		struct place here = place_item(place, "mounts", i);

		mounts->count++;
		r = take_mount(&here, json_array_get(list, i), &mounts->items[i]);
	}
	return r;
}

static int take_row(const struct place *place, const json_t *list, size_t mount_count,
		    struct registry_row *ret)
{
	uint64_t numbers[4] = {}, mount = 0;
	enum file_op op = file_op_find(state_word_at(list, 1));
	enum file_interface interface = file_interface_find(state_word_at(list, 2));
	int r = state_check_length(place, list, 7);

	if (r == 0)
		r = state_number_at(place, list, 0, UINT32_MAX, &mount);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(numbers); i++)
		r = state_number_at(place, list, 3 + i, INT64_MAX, &numbers[i]);
	if (r < 0)
		return r;
	if (mount >= mount_count || op == OP_COUNT || interface == INTERFACE_COUNT ||
	    (op >= OP_DATA_COUNT && interface != INTERFACE_CALL))
		return place_refuse(place, "", "names what there is not");
	*ret = (struct registry_row){ .mount = (uint32_t)mount,
				      .op = (uint8_t)op,
				      .interface = (uint8_t)interface };
	ret->counts = (struct file_counts){
		.calls = numbers[0], .errors = numbers[1], .ns = numbers[2], .amount = numbers[3]
	};
	return 0;
}

static int take_rows(const struct place *place, const json_t *root,
		     const struct state_mounts *mounts, struct registry_job *j)
{
	const json_t *list;
	int r = state_need_list(place, root, "rows",
				(size_t)MOUNTS_JOB_MAX * OP_COUNT * INTERFACE_COUNT, &list);

	if (r < 0)
		return r;
	j->rows = calloc(json_array_size(list) + 1, sizeof(*j->rows));
	if (!j->rows)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		struct place here = place_item(place, "rows", i);

		r = take_row(&here, json_array_get(list, i), mounts->count,
			     &j->rows[j->row_count++]);
	}
	return r;
}

static int take_bucket(const struct place *place, const json_t *list, size_t mount_count,
		       struct registry_bucket *ret)
{
	uint64_t mount = 0, bucket = 0, count = 0;
	enum file_op op = file_op_find(state_word_at(list, 1));
	uint8_t kind = HISTOGRAM_SIZE;
	int r = state_check_length(place, list, 5);

	if (r == 0)
		r = state_number_at(place, list, 0, UINT32_MAX, &mount);
	if (r == 0)
		r = state_number_at(place, list, 3, HISTOGRAM_BUCKETS - 1, &bucket);
	if (r == 0)
		r = state_number_at(place, list, 4, INT64_MAX, &count);
	if (r < 0)
		return r;
	while (kind <= HISTOGRAM_LATENCY &&
	       strcmp(state_histogram_name(kind), state_word_at(list, 2)) != 0)
		kind++;
	if (mount >= mount_count || op >= OP_DATA_COUNT || kind > HISTOGRAM_LATENCY || !count)
		return place_refuse(place, "", "names what there is not");
	*ret = (struct registry_bucket){ (uint32_t)mount, (uint8_t)op, kind,
					 (uint8_t)bucket, 0,	       count };
	return 0;
}

static int take_buckets(const struct place *place, const json_t *root,
			const struct state_mounts *mounts, struct registry_job *j)
{
	const json_t *list;
	int r = state_need_list(place, root, "histograms",
				(size_t)MOUNTS_JOB_MAX * OP_DATA_COUNT * 2 * HISTOGRAM_BUCKETS,
				&list);

	if (r < 0)
		return r;
	j->buckets = calloc(json_array_size(list) + 1, sizeof(*j->buckets));
	if (!j->buckets)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		struct place here = place_item(place, "histograms", i);

		r = take_bucket(&here, json_array_get(list, i), mounts->count,
				&j->buckets[j->bucket_count++]);
	}
	return r;
}

int state_take_rows(const struct place *place, const json_t *root, struct registry_job *j,
		    struct state_mounts *ret)
{
	int r = take_mounts(place, root, ret);

	if (r == 0)
		r = take_rows(place, root, ret, j);
	return r < 0 ? r : take_buckets(place, root, ret, j);
}

int state_mounts_place(const struct state_mounts *mounts, struct registry_job *j)
{
	_cleanup_free_ uint32_t *slots = calloc(mounts->count + 1, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < mounts->count; i++) {
		slots[i] = registry_mount_slot(j->registry, &mounts->items[i]);
		if (slots[i] != MOUNTS_MAX)
			slots[i] = registry_job_mount(j, slots[i]);
		if (slots[i] == MOUNTS_MAX)
			return -ENOMEM;
	}
	for (size_t i = 0; i < j->row_count; i++)
		j->rows[i].mount = slots[j->rows[i].mount];
	for (size_t i = 0; i < j->bucket_count; i++)
		j->buckets[i].mount = slots[j->buckets[i].mount];
	j->row_count = registry_rows_sum(j->rows, j->row_count);
	j->bucket_count = registry_buckets_sum(j->buckets, j->bucket_count);
	return 0;
}
