/* SPDX-License-Identifier: MIT */
#include "sources/sources.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "model/record.h"
#include "sources/slow_source.h"

/* ---- the sources ---- */

extern const struct source source_hardware, source_thermal, source_ports, source_node_files,
	source_node_mounts, source_rapl, source_pm_counters, source_hwmon, source_dcmi,
	source_redfish, source_energy_estimate, source_gpu;

static const struct source *const sources[] = {
	&source_hardware,    &source_thermal, &source_ports,	       &source_node_files,
	&source_node_mounts, &source_rapl,    &source_pm_counters,     &source_hwmon,
	&source_dcmi,	     &source_redfish, &source_energy_estimate, &source_gpu,
};

static_assert(ARRAY_SIZE(sources) <= SOURCES_MAX, "settings have a switch for each");

struct source_list sources_all(void)
{
	return (struct source_list){ sources, ARRAY_SIZE(sources) };
}

size_t sources_index(const char *name)
{
	size_t i = 0;

	while (strcmp(sources[i]->name, name) != 0)
		i++;
	return i;
}

void sources_want_others(bool ret[SOURCES_MAX], const char *const names[])
{
	memset(ret, true, SOURCES_MAX * sizeof(*ret));
	for (; *names; names++)
		ret[sources_index(*names)] = false;
}

int source_open(const struct source *source, const struct source_options *options,
		struct source_state **ret, struct error *err)
{
	struct source_state *s = calloc(1, source->size);
	int r = s ? source->open(options, s, err) : -ENOMEM;

	if (r < 0)
		source_close(source, s);
	else
		*ret = s;
	return r;
}

struct source_state *source_close(const struct source *source, struct source_state *s)
{
	if (s && source->close)
		source->close(s);
	free(s);
	return NULL;
}

/* ---- opening ---- */

struct slot {
	const struct source *source;
	bool is_wanted;
	bool is_late, is_ready; /* a slow one: its last sample was late; its state may be asked,
				   until the next begins */
	struct source_state *state; /* NULL: it is not open, or slow */
	struct slow_source *slow;
	struct error why; /* it is not open, or has no thread; "": that is nothing to speak of */
	struct samples samples; /* the last */
	struct strings missing; /* as a slow one described it last */
};

struct sources {
	struct slot slots[SOURCES_MAX];
	size_t count;
};

static int open_slot(struct slot *slot, const struct source_options *options)
{
	const struct source *source = slot->source;
	int r;

	assert(!source->deadline_ms || (source->sample && !source->attach));
	assert(!source->is_for_jobs || source->sample);
	if (!slot->is_wanted)
		return 0;
	if (source->deadline_ms)
		r = slow_source_open(source, options, &slot->slow, &slot->why);
	else
		r = source_open(source, options, &slot->state, &slot->why);
	if (r < 0 && r != -ENODEV && !*slot->why.text)
		error_set_errno(&slot->why, r, "cannot be opened");
	return r == -ENOMEM ? r : 0;
}

int sources_open(struct source_list list, const bool *is_wanted,
		 const struct source_options *options, struct sources **ret)
{
	_cleanup_(sources_freep) struct sources *s = calloc(1, sizeof(*s));
	int r = 0;

	assert(list.count <= SOURCES_MAX);
	if (!s)
		return -ENOMEM;
	for (; r == 0 && s->count < list.count; s->count++) {
		s->slots[s->count] = (struct slot){ .source = list.items[s->count],
						    .is_wanted = !is_wanted ||
								 is_wanted[s->count] };
		r = open_slot(&s->slots[s->count], options);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

struct sources *sources_free(struct sources *s)
{
	for (size_t i = 0; s && i < s->count; i++) {
		struct slot *slot = &s->slots[i];

		slow_source_free(slot->slow);
		source_close(slot->source, slot->state);
		samples_clear(&slot->samples);
		strings_clear(&slot->missing);
	}
	free(s);
	return NULL;
}

void sources_freep(struct sources **s)
{
	sources_free(*s);
}

/* ---- numbers of the node ---- */

/* What can be asked now: NULL while a slow one is sampled, or where its last sample was late. */
static struct source_state *sources_state(const struct slot *slot)
{
	if (!slot->slow)
		return slot->state;
	return slot->is_ready ? slow_source_state(slot->slow) : NULL;
}

static int sources_take_slow(struct slot *slot)
{
	int r = slow_source_take(slot->slow, &slot->samples);

	slot->is_ready = r == 0;
	if (r == -EBUSY)
		return 0;
	slot->is_late = r == -ETIME;
	if (r < 0 || !slot->source->describe)
		return slot->is_late ? 0 : r;
	strings_clear(&slot->missing);
	return slot->source->describe(sources_state(slot), &slot->missing);
}

int sources_sample(struct sources *s, uint64_t boot_ns)
{
	int r = 0;

	for (size_t i = 0; s && r >= 0 && i < s->count; i++) {
		struct slot *slot = &s->slots[i];

		if (slot->slow)
			r = sources_take_slow(slot);
		if (!slot->state || !slot->source->is_for_jobs)
			continue;
		samples_clear(&slot->samples);
		r = slot->source->sample(slot->state, boot_ns, &slot->samples);
	}
	return r;
}

bool sources_are_sampled(const struct sources *s)
{
	for (size_t i = 0; s && i < s->count; i++) {
		if (s->slots[i].slow || (s->slots[i].state && s->slots[i].source->is_for_jobs))
			return true;
	}
	return false;
}

void sources_ask(struct sources *s)
{
	for (size_t i = 0; s && i < s->count; i++) {
		struct slot *slot = &s->slots[i];
		int r;

		if (!slot->slow)
			continue;
		slot->is_ready = false;
		slot->why = (struct error){};
		r = slow_source_ask(slot->slow);
		if (r < 0)
			error_set_errno(&slot->why, r, "cannot start its thread");
	}
}

const struct samples *sources_find(const struct sources *s, const char *name)
{
	for (size_t i = 0; s && i < s->count; i++) {
		const struct slot *slot = &s->slots[i];

		if (strcmp(slot->source->name, name) == 0)
			return slot->state || slot->slow ? &slot->samples : NULL;
	}
	return NULL;
}

int sources_put_energy(const struct sources *s, struct energy_readings *to)
{
	int r = 0;

	for (size_t i = 0; s && r == 0 && i < s->count; i++)
		r = energy_readings_add_all(to, &s->slots[i].samples.energy);
	return r;
}

bool sources_can_peek(const struct sources *s)
{
	for (size_t i = 0; s && i < s->count; i++) {
		if (s->slots[i].state && s->slots[i].source->peek)
			return true;
	}
	return false;
}

int sources_peek(const struct sources *s, struct energy_readings *to)
{
	int r = 0;

	for (size_t i = 0; s && r == 0 && i < s->count; i++) {
		if (s->slots[i].state && s->slots[i].source->peek)
			r = s->slots[i].source->peek(s->slots[i].state, to);
	}
	return r;
}

int sources_put_node(struct sources *s, uint64_t boot_ns, struct samples *to)
{
	int r = 0;

	for (size_t i = 0; s && r == 0 && i < s->count; i++) {
		struct slot *slot = &s->slots[i];

		if (slot->slow || slot->source->is_for_jobs)
			r = samples_add_all(to, &slot->samples);
		else if (slot->state && slot->source->sample)
			r = slot->source->sample(slot->state, boot_ns, to);
	}
	return r;
}

int sources_put_one(struct sources *s, const char *name, uint64_t boot_ns, struct samples *to)
{
	for (size_t i = 0; s && i < s->count; i++) {
		struct slot *slot = &s->slots[i];

		if (slot->state && slot->source->sample && strcmp(slot->source->name, name) == 0)
			return slot->source->sample(slot->state, boot_ns, to);
	}
	return 0;
}

int sources_put_late(const struct sources *s, struct samples *to)
{
	int r = 0;

	for (size_t i = 0; s && r == 0 && i < s->count; i++) {
		const char *labels[SAMPLE_LABELS_MAX] = { s->slots[i].source->name };

		if (s->slots[i].slow)
			r = samples_add(to, METRIC_AGENT_LATE_SAMPLES, labels,
					slow_source_late(s->slots[i].slow));
	}
	return r;
}

bool sources_format(const struct sources *s, const char *name, int64_t only_uid, struct document *d)
{
	for (size_t i = 0; s && i < s->count; i++) {
		const struct slot *slot = &s->slots[i];

		if (strcmp(slot->source->name, name) != 0 || !slot->state || !slot->source->format)
			continue;
		slot->source->format(slot->state, only_uid, d);
		return true;
	}
	return false;
}

/* ---- what is missing ---- */

static int sources_describe_slow(const struct slot *slot, struct strings *missing)
{
	int r = 0;

	if (*slot->why.text)
		return strings_add(missing, "%s%s", slot->source->label, slot->why.text);
	if (slot->is_late)
		return strings_add(missing,
				   "%sthe last sample took more than %u ms, and is left out",
				   slot->source->label, slot->source->deadline_ms);
	for (size_t i = 0; r >= 0 && i < slot->missing.count; i++)
		r = strings_add(missing, "%s", slot->missing.items[i]);
	return r;
}

static int sources_describe_slot(const struct slot *slot, struct strings *missing)
{
	const struct source *source = slot->source;

	if (!slot->is_wanted && source->is_off && !source->attach)
		return 0; /* of the node, for sites that have it */
	if (!slot->is_wanted)
		return strings_add(missing, "%sswitched off (the agent's setting %s)",
				   source->label, source->name);
	if (slot->slow)
		return sources_describe_slow(slot, missing);
	if (slot->state)
		return source->describe ? source->describe(slot->state, missing) : 0;
	return *slot->why.text ? strings_add(missing, "%s%s", source->label, slot->why.text) : 0;
}

int sources_describe(const struct sources *s, struct record *record)
{
	int r = 0;

	for (size_t i = 0; s && r >= 0 && i < s->count; i++)
		r = sources_describe_slot(&s->slots[i], &record->coverage.missing);
	return r;
}

int sources_describe_job(const struct sources *s, struct record *record)
{
	int r = 0;

	for (size_t i = 0; s && r >= 0 && i < s->count; i++) {
		const struct slot *slot = &s->slots[i];

		if (!slot->source->describe_job || !slot->is_wanted)
			continue;
		if (slot->state || (slot->slow && !slot->is_late && !*slot->why.text))
			r = slot->source->describe_job(slot->state, record);
		else
			r = sources_describe_slot(slot, &record->coverage.missing);
	}
	return r;
}

/* ---- a job ---- */

/* 0: it is not attached (yet); 1: it is. */
static int sources_attach(struct sources *s, size_t i, struct source_attachments *a,
			  const struct source_job *job)
{
	const struct slot *slot = &s->slots[i];
	int r;

	if (a->own && a->own[i])
		return 1;
	if (!job || a->refused & UINT32_C(1) << i)
		return 0;
	if (!a->own)
		a->own = calloc(s->count, sizeof(*a->own));
	if (!a->own)
		return -ENOMEM;
	a->sources = s;
	r = slot->source->attach(slot->state, job, &a->own[i]);
	if (r < 0 && r != -EAGAIN)
		a->refused |= UINT32_C(1) << i;
	return r == 0;
}

int sources_sample_job(struct sources *s, struct source_attachments *a,
		       const struct source_job *job, struct source_job_sample *to)
{
	for (size_t i = 0; s && i < s->count; i++) {
		const struct source *source = s->slots[i].source;
		struct source_state *state = source->sample_job ? sources_state(&s->slots[i])
								: NULL;
		int r;

		if (!state)
			continue;
		r = source->attach ? sources_attach(s, i, a, job) : job != NULL;
		if (r < 0)
			return r;
		if (r)
			source->sample_job(state, a->own ? a->own[i] : NULL, job, to);
	}
	if (!job)
		source_attachments_clear(a);
	return 0;
}

void source_attachments_clear(struct source_attachments *a)
{
	for (size_t i = 0; a->own && i < a->sources->count; i++) {
		const struct slot *slot = &a->sources->slots[i];

		if (a->own[i])
			slot->source->detach(slot->state, a->own[i]);
	}
	free(a->own);
	*a = (struct source_attachments){};
}
