/* SPDX-License-Identifier: MIT */
#include "tick_delta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "error.h"
#include "json_place.h"
#include "macro.h"
#include "section.h"
#include "sections.h"
#include "text.h"
#include "tick.h"
#include "tick_delta_lists.h"

struct reader {
	struct place place;
	const struct tick *before;
	struct delta_lists lists;
	size_t next; /* where in @before the next job most likely is */
};

static int take_whole(const struct place *place, const json_t *map, const char *key, uint64_t *ret)
{
	bool is_known;

	return place_take_number(place, map, key, 0, ret, &is_known);
}

/* ---- jobs ---- */

static int take_step(const struct reader *reader, const struct place *place, const json_t *map,
		     const struct record *before, struct steps *to)
{
	const char *id = json_string_value(place_member(map, "id"));
	const struct step *earlier = NULL;
	struct step *step;
	bool is_again = false;
	int r;

	if (!id || strlen(id) > PLACE_STRING_MAX)
		return place_refuse(place, "id", id ? "is too long" : "is missing");
	r = place_take_boolean(place, map, "again", &is_again);
	if (r < 0)
		return r;
	earlier = is_again && before ? steps_find(&before->steps, id) : NULL;
	if (is_again && !earlier)
		return error_set(place->err, -ESTALE, "%s.id is not known", place->path);
	step = steps_add(to, id);
	if (!step)
		return to->count >= STEPS_MAX ? place_refuse(place, "id", "is one too many") : -ENOMEM;
	if (earlier) {
		memcpy(step->values, earlier->values, sizeof(step->values));
		step->network = earlier->network;
	}
	r = take_whole(place, map, "start_ns", &step->start_ns);
	if (r == 0)
		r = take_whole(place, map, "end_ns", &step->end_ns);
	if (r == 0)
		r = delta_take_values(&reader->lists, place, map, step->values);
	return r < 0 ? r : delta_take_network(&reader->lists, place, map, &step->network);
}

static int take_steps(const struct reader *reader, const struct place *place, const json_t *map,
		      const struct record *before, struct steps *to)
{
	const json_t *list;
	int r = place_get(place, map, "steps", JSON_ARRAY, &list);

	for (size_t i = 0; r == 0 && list && i < json_array_size(list); i++) {
		struct place here = place_below(place, ".steps[%zu]", i);

		r = take_step(reader, &here, json_array_get(list, i), before, to);
	}
	return r;
}

#define AT(member) offsetof(struct record, member)
static const struct {
	const char *key;
	size_t offset;
} texts[] = {
	{ "name", AT(job.name) },	{ "user", AT(job.user) }, { "account", AT(job.account) },
	{ "partition", AT(job.partition) }, { "qos", AT(job.qos) },	{ "cpus_allowed", AT(job.cpus_allowed) },
};
#undef AT

static char **text_at(const struct record *r, size_t i)
{
	return (char **)(void *)((char *)r + texts[i].offset);
}

static int take_command(const struct place *place, const json_t *facts, struct record *to)
{
	_cleanup_free_ char *command = NULL;
	int r = place_take_string(place, facts, "command", &command);

	return r < 0 || !command ? r : record_set_command(to, (char *const[]){ command, NULL });
}

static int take_facts(const struct place *place, const json_t *facts, struct record *to)
{
	int r = place_take_signed(place, facts, "uid", 0, INT64_MAX, &to->job.uid);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
		r = place_take_string(place, facts, texts[i].key, text_at(to, i));
	if (r == 0)
		r = take_command(place, facts, to);
	if (r == 0)
		r = take_whole(place, facts, "start_ns", &to->time.start_ns);
	if (r == 0)
		r = take_whole(place, facts, "end_ns", &to->time.end_ns);
	return r < 0 ? r : take_whole(place, facts, "measured_from_ns", &to->time.measured_from_ns);
}

static int copy_facts(const struct record *from, struct record *to)
{
	to->job.uid = from->job.uid;
	to->time = from->time;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *text = *text_at(from, i);

		*text_at(to, i) = text ? strdup(text) : NULL;
		if (text && !*text_at(to, i))
			return -ENOMEM;
	}
	return from->job.command ? record_set_command(to, from->job.command) : 0;
}

/* Both ticks have their jobs in the agent's order, so that it is mostly the next one. */
static const struct record *find_before(struct reader *reader, const struct record *now)
{
	const struct records *list = reader->before ? &reader->before->jobs : NULL;

	for (size_t tried = 0; list && tried < list->count; tried++) {
		size_t i = (reader->next + tried) % list->count;

		if (text_is_equal(list->items[i]->job.id, now->job.id) &&
		    text_is_equal(list->items[i]->job.manager, now->job.manager)) {
			reader->next = i + 1;
			return list->items[i];
		}
	}
	return NULL;
}

/* What is not there is as before. */
static int take_block(const struct place *place, const json_t *map, const struct record *before, struct block *ret)
{
	const json_t *list = place_member(map, "block");
	struct place here = place_below(place, ".block");

	if (!list)
		return before ? section_copy(&block_section, ret, &before->reading.block) : 0;
	if (json_is_false(list))
		return 0;
	if (!json_is_array(list))
		return place_refuse(place, "block", "is no list of devices");
	return block_section.parse(&here, list, ret);
}

static int take_base(struct reader *reader, const struct place *place, const json_t *map, struct record *to,
		     const struct record **ret)
{
	const struct record *before;
	const json_t *facts = NULL;
	bool is_again = false;
	int r = place_take_boolean(place, map, "again", &is_again);

	if (r == 0)
		r = place_take_boolean(place, map, "ended", &to->is_final);
	if (r == 0)
		r = place_get(place, map, "facts", JSON_OBJECT, &facts);
	if (r < 0)
		return r;
	before = is_again ? find_before(reader, to) : NULL;
	if (is_again && !before)
		return error_set(place->err, -ESTALE, "%s.id is not known", place->path);
	if (before) {
		memcpy(to->reading.values, before->reading.values, sizeof(to->reading.values));
		to->reading.network = before->reading.network;
		to->cores = before->cores;
		to->ranks = before->ranks;
		to->threads = before->threads;
		to->thermal = before->thermal;
	}
	*ret = before;
	return before && !facts ? copy_facts(before, to) : take_facts(place, facts, to);
}

static int fill_job(struct reader *reader, const struct place *place, const json_t *map, const char *node,
		    struct record *to)
{
	const struct record *before = NULL;
	int r = place_take_string(place, map, "manager", &to->job.manager);

	if (r == 0)
		r = place_take_string(place, map, "id", &to->job.id);
	if (r == 0 && (!to->job.manager || !to->job.id))
		r = place_refuse(place, "", "lacks manager or id");
	if (r == 0 && node && !(to->node = strdup(node)))
		r = -ENOMEM;
	if (r == 0)
		r = take_base(reader, place, map, to, &before);
	to->time.elapsed_ns = 0;
	if (r == 0)
		r = take_whole(place, map, "elapsed_ns", &to->time.elapsed_ns);
	if (r == 0)
		r = delta_take_values(&reader->lists, place, map, to->reading.values);
	if (r == 0)
		r = delta_take_fields(&reader->lists, place, map, to);
	if (r == 0)
		r = delta_take_rows(&reader->lists, place, map, before ? &before->reading : NULL, &to->reading);
	if (r == 0)
		r = delta_take_network(&reader->lists, place, map, &to->reading.network);
	if (r == 0)
		r = take_block(place, map, before, &to->reading.block);
	return r < 0 ? r : take_steps(reader, place, map, before, &to->steps);
}

static int take_jobs(struct reader *reader, const json_t *root, const char *node, struct records *to)
{
	const json_t *jobs = NULL;
	int r = place_get(&reader->place, root, "jobs", JSON_ARRAY, &jobs);

	if (r == 0 && (!jobs || json_array_size(jobs) > TICK_JOBS_MAX))
		return place_refuse(&reader->place, "jobs", jobs ? "has more than %d entries" : "is missing",
				    TICK_JOBS_MAX);
	for (size_t i = 0; r == 0 && i < json_array_size(jobs); i++) {
		_cleanup_(record_freep) struct record *record = record_new();
		struct place here = place_below(&reader->place, "jobs[%zu]", i);

		if (!record)
			return -ENOMEM;
		r = fill_job(reader, &here, json_array_get(jobs, i), node, record);
		if (r == 0)
			r = records_add(to, record);
		if (r == 0)
			TAKE_PTR(record);
	}
	return r;
}

/* ---- the document ---- */

static int take_since(const struct reader *reader, const json_t *root)
{
	uint64_t since_ns = 0;
	int r = take_whole(&reader->place, root, "since_ns", &since_ns);

	if (r == 0 && since_ns && (!reader->before || reader->before->boot_ns != since_ns))
		return error_set(reader->place.err, -ESTALE, "since_ns is not the last tick's");
	return r;
}

static int take_head(struct reader *reader, const json_t *root, struct tick *to)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	int r;

	if (!schema || strcmp(schema, TICK_DELTA_SCHEMA) != 0)
		return place_refuse(&reader->place, "schema", "is not '%s'", TICK_DELTA_SCHEMA);
	r = place_take_time(&reader->place, root, "time", &to->real_ns);
	if (r == 0)
		r = place_need_number(&reader->place, root, "boot_ns", &to->boot_ns);
	if (r == 0)
		r = take_whole(&reader->place, root, "took_ns", &to->took_ns);
	if (r == 0)
		r = take_since(reader, root);
	if (r == 0)
		r = delta_lists_take(&reader->place, root, &reader->lists);
	if (r == 0 && !to->boot_ns)
		r = place_refuse(&reader->place, "boot_ns", "is 0");
	return r;
}

static void json_freep(json_t **json)
{
	json_decref(*json);
}

int tick_delta_parse(const char *text, size_t length, const struct tick *before, struct tick *ret, struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	struct reader reader = { .place = { .err = err }, .before = before };
	struct tick tick = {};
	int r = place_parse_map(text, length, &root, err);

	if (r < 0)
		return r;
	r = take_head(&reader, root, &tick);
	if (r == 0)
		r = take_jobs(&reader, root, json_string_value(json_object_get(root, "node")), &tick.jobs);
	if (r == -ENOMEM)
		error_set_errno(err, r, "cannot read it");
	if (r == 0)
		*ret = tick;
	else
		tick_clear(&tick);
	return r;
}
