/* SPDX-License-Identifier: MIT */
/* What an agent knows of energy, as text, for the next one: jobmeter.energy-state/1. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "model/document.h"
#include "model/json_place.h"
#include "node/node_energy_internal.h"

#define SCHEMA "jobmeter.energy-state/1"
#define JOBS_MAX (1u << 20)
#define OWNER_NUMBERS (4 * POOL_COUNT)

/* ---- numbers in a row ---- */

static void put_numbers(struct document *d, const char *key, const uint64_t *numbers, size_t count)
{
	document_begin_flat_list_of(d, key);
	for (size_t i = 0; i < count; i++)
		document_unsigned(d, numbers[i]);
	document_end_list(d);
}

static int take_numbers(const struct place *place, const json_t *map, const char *key,
			uint64_t *ret, size_t count)
{
	const json_t *list;
	int r = place_get(place, map, key, JSON_ARRAY, &list);

	if (r == 0 && (!list || json_array_size(list) != count))
		return place_refuse(place, key, "is no list of %zu numbers", count);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = place_read_number(place, key, json_array_get(list, i), 0, &ret[i]);
	return r;
}

/* ---- owners ---- */

/* What it did is cumulative and may wrap: what matters is what is in no interval yet. */
static void put_owner(struct document *d, const struct energy_owner *o, const uint64_t *sent_uj)
{
	uint64_t open[OWNER_NUMBERS];

	for (size_t pool = 0; pool < POOL_COUNT; pool++) {
		const struct energy_use *now = pool == POOL_MEMORY ? &o->memory : &o->cpu;

		open[2 * pool] = now->work - o->marks[pool].work;
		open[2 * pool + 1] = now->allocated - o->marks[pool].allocated;
	}
	put_numbers(d, "open", open, 2 * (size_t)POOL_COUNT);
	put_numbers(d, "microjoules", o->uj, ENERGY_CHANNELS_MAX);
	put_numbers(d, "sent_microjoules", sent_uj, ENERGY_CHANNELS_MAX);
	document_put_unsigned(d, "idle_microjoules", o->idle_uj);
	document_put_unsigned(d, "parts_microjoules", o->parts_uj);
}

static int take_owner(const struct place *place, const json_t *map, struct energy_owner *o,
		      uint64_t *sent_uj)
{
	uint64_t open[OWNER_NUMBERS];
	int r = take_numbers(place, map, "open", open, 2 * (size_t)POOL_COUNT);

	if (r == 0)
		r = take_numbers(place, map, "microjoules", o->uj, ENERGY_CHANNELS_MAX);
	if (r == 0)
		r = take_numbers(place, map, "sent_microjoules", sent_uj, ENERGY_CHANNELS_MAX);
	if (r == 0)
		r = place_need_number(place, map, "idle_microjoules", &o->idle_uj);
	if (r == 0)
		r = place_need_number(place, map, "parts_microjoules", &o->parts_uj);
	for (size_t pool = 0; r == 0 && pool < POOL_COUNT; pool++) {
		const struct energy_use *now = pool == POOL_MEMORY ? &o->memory : &o->cpu;

		o->marks[pool] = (struct energy_use){ now->work - open[2 * pool],
						      now->allocated - open[2 * pool + 1] };
	}
	return r;
}

static void put_job(struct document *d, const struct node_job *j)
{
	document_begin_map(d);
	document_put_string(d, "manager", j->manager);
	document_put_string(d, "id", j->id);
	document_put_unsigned(d, "start_boot_ns", j->start_ns);
	document_put_unsigned(d, "start_ns", j->start_real_ns);
	document_put_signed(d, "uid", j->uid);
	document_put_unsigned(d, "cpu_ns", j->cpu_ns);
	document_put_boolean(d, "is_inside", j->owner.is_inside);
	put_owner(d, &j->owner, j->sent_uj);
	document_end_map(d);
}

static int take_job(const struct place *place, const json_t *map, void *ret)
{
	_cleanup_free_ char *manager = NULL, *id = NULL;
	struct node_energy *e = ret;
	struct node_job *j;
	uint64_t start_ns = 0;
	int r = place_take_string(place, map, "manager", &manager);

	if (r == 0)
		r = place_take_string(place, map, "id", &id);
	if (r == 0)
		r = place_need_number(place, map, "start_boot_ns", &start_ns);
	if (r == 0 && (!manager || !id))
		r = place_refuse(place, "id", "is missing");
	if (r < 0)
		return r;
	j = node_energy_add_job(e, manager, id, start_ns);
	if (!j)
		return -ENOMEM;
	r = place_need_number(place, map, "start_ns", &j->start_real_ns);
	if (r == 0)
		r = place_take_signed(place, map, "uid", -1, UINT32_MAX, &j->uid);
	if (r == 0)
		r = place_need_number(place, map, "cpu_ns", &j->cpu_ns);
	if (r == 0)
		r = place_take_boolean(place, map, "is_inside", &j->owner.is_inside);
	return r < 0 ? r : take_owner(place, map, &j->owner, j->sent_uj);
}

/* ---- sensors, pools and channels ---- */

static void put_taken(struct document *d, const struct taken *t)
{
	document_begin_flat_map(d);
	document_put_string(d, "source", t->source);
	document_put_string(d, "name", t->name);
	document_put_unsigned(d, "boot_ns", t->boot_ns);
	document_put_boolean(d, "is_used", t->is_used);
	document_put_boolean(d, "has_raw", t->has_raw);
	document_put_unsigned(d, "raw_microjoules", t->raw_uj);
	document_put_unsigned(d, "told_microjoules", t->told_uj);
	document_put_unsigned(d, "told_gap_ns", t->told_gap_ns);
	document_end_map(d);
}

static int take_taken(const struct place *place, const json_t *map, void *ret)
{
	_cleanup_free_ char *source = NULL, *name = NULL;
	struct taken *t;
	int r = place_take_string(place, map, "source", &source);

	if (r == 0)
		r = place_take_string(place, map, "name", &name);
	if (r == 0 && (!source || !name))
		r = place_refuse(place, "name", "is missing");
	if (r < 0)
		return r;
	t = node_energy_taken(ret, source, name);
	if (!t)
		return -ENOMEM;
	t->is_restored = true;
	r = place_need_number(place, map, "boot_ns", &t->boot_ns);
	if (r == 0)
		r = place_take_boolean(place, map, "is_used", &t->is_used);
	if (r == 0)
		r = place_take_boolean(place, map, "has_raw", &t->has_raw);
	if (r == 0)
		r = place_need_number(place, map, "raw_microjoules", &t->raw_uj);
	if (r == 0)
		r = place_need_number(place, map, "told_microjoules", &t->told_uj);
	return r < 0 ? r : place_need_number(place, map, "told_gap_ns", &t->told_gap_ns);
}

static void put_pool(struct document *d, const struct pool *p)
{
	document_begin_map(d);
	document_put_boolean(d, "is_open", p->is_open);
	document_put_unsigned(d, "last_ns", p->last_ns);
	document_put_unsigned(d, "busy_ns", p->busy_ns);
	document_put_unsigned(d, "idle_count", p->idle.count);
	document_put_unsigned(d, "least_microwatts", p->idle.least_uw);
	document_put_unsigned(d, "greatest_microwatts", p->idle.greatest_uw);
	put_numbers(d, "idle_microwatts", p->idle.uw, IDLE_POWERS_MAX);
	document_end_map(d);
}

/* Of another boot only what was learned holds. */
static int take_pool(const struct place *place, const json_t *map, bool is_same_boot,
		     struct pool *ret)
{
	struct pool p = {};
	int r = place_take_boolean(place, map, "is_open", &p.is_open);

	if (r == 0)
		r = place_need_number(place, map, "last_ns", &p.last_ns);
	if (r == 0)
		r = place_need_number(place, map, "busy_ns", &p.busy_ns);
	if (r == 0)
		r = place_need_number(place, map, "idle_count", &p.idle.count);
	if (r == 0)
		r = place_need_number(place, map, "least_microwatts", &p.idle.least_uw);
	if (r == 0)
		r = place_need_number(place, map, "greatest_microwatts", &p.idle.greatest_uw);
	if (r == 0)
		r = take_numbers(place, map, "idle_microwatts", p.idle.uw, IDLE_POWERS_MAX);
	if (r == 0 && is_same_boot)
		*ret = p;
	else if (r == 0)
		ret->idle = p.idle;
	return r;
}

static void put_channel(struct document *d, const struct energy_channel *c)
{
	document_begin_flat_map(d);
	document_put_unsigned(d, "pool", c->pool);
	document_put_string(d, "level", energy_level_name(c->level));
	document_put_string(d, "quality", energy_quality_name(c->quality));
	document_put_string(d, "source", c->source);
	document_put_unsigned(d, "uncertainty_permille", c->uncertainty_permille);
	document_end_map(d);
}

static int take_channel(const struct place *place, const json_t *map, void *ret)
{
	_cleanup_free_ char *level = NULL, *quality = NULL, *source = NULL;
	struct energy_channel c = {};
	struct attribution *a = ret;
	uint64_t pool = POOL_COUNT, uncertainty = 0;
	int r = place_need_number(place, map, "pool", &pool);

	if (r == 0)
		r = place_take_string(place, map, "level", &level);
	if (r == 0)
		r = place_take_string(place, map, "quality", &quality);
	if (r == 0)
		r = place_take_string(place, map, "source", &source);
	if (r == 0)
		r = place_need_number(place, map, "uncertainty_permille", &uncertainty);
	if (r < 0)
		return r;
	if (!level || !quality || !source || pool >= POOL_COUNT ||
	    strlen(source) >= sizeof(c.source) || uncertainty > UINT16_MAX ||
	    !energy_level_find(level, &c.level) || !energy_quality_find(quality, &c.quality))
		return place_refuse(place, "", "is no channel");
	c.pool = (enum energy_pool)pool;
	memcpy(c.source, source, strlen(source) + 1);
	c.uncertainty_permille = (unsigned int)uncertainty;
	a->channels[a->channel_count++] = c;
	return 0;
}

/* ---- all of it ---- */

/* In this order in the list "numbers". */
static void collect(struct node_energy *e, uint64_t *ret[], size_t *ret_count)
{
	struct attribution *a = &e->attribution;
	uint64_t *const numbers[] = {
		&e->gone_uj,	     &e->last_ns,	  &e->busy_ns,	       &e->busy_from_ns,
		&e->jobs_cpu_ns,     &a->came_uj,	  &a->debt_uj,	       &a->inconsistent,
		&a->system.cpu.work, &e->ledger_start_ns, &e->ledger_sequence,
	};

	memcpy(ret, numbers, sizeof(numbers));
	*ret_count = ARRAY_SIZE(numbers);
	for (size_t pool = 0; pool < POOL_COUNT; pool++)
		ret[(*ret_count)++] = &a->carry_uj[pool];
}
#define NUMBERS_MAX 32

static void put_others(struct document *d, struct node_energy *e)
{
	document_begin_list_of(d, "others");
	for (size_t i = 0; i < OTHERS_COUNT; i++) {
		document_begin_map(d);
		put_owner(d, node_energy_other(e, i), e->sent_uj[i]);
		document_end_map(d);
	}
	document_end_list(d);
}

struct written {
	struct node_energy *e;
	const char *boot_id;
};

static void format(const void *what, struct document *d)
{
	const struct written *w = what;
	struct node_energy *e = w->e;
	uint64_t *refs[NUMBERS_MAX], numbers[NUMBERS_MAX];
	size_t count;

	collect(e, refs, &count);
	for (size_t i = 0; i < count; i++)
		numbers[i] = *refs[i];
	document_begin_map(d);
	document_put_string(d, "schema", SCHEMA);
	document_put_string(d, "boot_id", w->boot_id);
	put_numbers(d, "numbers", numbers, count);
	document_begin_list_of(d, "channels");
	for (size_t i = 0; i < e->attribution.channel_count; i++)
		put_channel(d, &e->attribution.channels[i]);
	document_end_list(d);
	document_begin_list_of(d, "pools");
	for (size_t i = 0; i < POOL_COUNT; i++)
		put_pool(d, &e->pools[i]);
	document_end_list(d);
	document_begin_list_of(d, "sensors");
	for (size_t i = 0; i < e->taken_count; i++)
		put_taken(d, &e->taken[i]);
	document_end_list(d);
	put_others(d, e);
	document_begin_list_of(d, "jobs");
	for (size_t i = 0; i < e->job_count; i++)
		put_job(d, e->jobs[i]);
	document_end_list(d);
	document_end_map(d);
}

int node_energy_format_state(struct node_energy *e, const char *boot_id, char **ret)
{
	const struct written what = { e, boot_id };
	size_t length;

	return document_format_line(format, &what, ret, &length);
}

static int take_pools(const struct place *place, const json_t *root, bool is_same_boot,
		      struct node_energy *e)
{
	const json_t *list;
	int r = place_get(place, root, "pools", JSON_ARRAY, &list);

	if (r == 0 && (!list || json_array_size(list) != POOL_COUNT))
		return place_refuse(place, "pools", "are not all there");
	for (size_t i = 0; r == 0 && i < POOL_COUNT; i++) {
		const struct place item = place_item(place, "pools", i);

		r = take_pool(&item, json_array_get(list, i), is_same_boot, &e->pools[i]);
	}
	return r;
}

static int take_list(const struct place *place, const json_t *root, const char *key, size_t max,
		     int (*take)(const struct place *item, const json_t *map, void *ret), void *ret)
{
	const struct place here = place_below(place, key);
	const json_t *list;
	int r = place_get(place, root, key, JSON_ARRAY, &list);

	return r < 0 || !list ? r : place_each(&here, list, max, take, ret);
}

struct others {
	struct node_energy *e;
	size_t count;
};

static int take_other(const struct place *place, const json_t *map, void *ret)
{
	struct others *o = ret;
	const size_t i = o->count++;

	return take_owner(place, map, node_energy_other(o->e, i), o->e->sent_uj[i]);
}

static int take_all(const struct place *place, const json_t *root, struct node_energy *e)
{
	uint64_t *refs[NUMBERS_MAX], numbers[NUMBERS_MAX] = {};
	struct others others = { .e = e };
	size_t count;
	int r;

	collect(e, refs, &count);
	r = take_numbers(place, root, "numbers", numbers, count);
	for (size_t i = 0; r == 0 && i < count; i++)
		*refs[i] = numbers[i];
	e->attribution.system.memory.work = e->attribution.system.cpu.work;
	if (r == 0)
		r = take_list(place, root, "channels", ENERGY_CHANNELS_MAX, take_channel,
			      &e->attribution);
	if (r == 0)
		r = take_list(place, root, "sensors", ENERGY_SENSORS_MAX, take_taken, e);
	if (r == 0)
		r = take_list(place, root, "others", OTHERS_COUNT, take_other, &others);
	return r < 0 ? r : take_list(place, root, "jobs", JOBS_MAX, take_job, e);
}

int node_energy_parse_state(struct node_energy *e, const char *boot_id, const char *text,
			    size_t length, struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	const struct place place = { .err = err };
	const char *schema, *boot;
	bool is_same_boot;
	int r = place_parse_map(text, length, &root, err);

	if (r < 0)
		return r;
	schema = json_string_value(json_object_get(root, "schema"));
	boot = json_string_value(json_object_get(root, "boot_id"));
	if (!schema || strcmp(schema, SCHEMA) != 0 || !boot)
		return place_refuse(&place, "schema", "is not '%s'", SCHEMA);
	is_same_boot = strcmp(boot, boot_id) == 0;
	r = take_pools(&place, root, is_same_boot, e);
	return r < 0 || !is_same_boot ? r : take_all(&place, root, e);
}
