/* SPDX-License-Identifier: MIT */
#include "load/meter.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "basic/cleanup.h"
#include "cgroup/hierarchy.h"
#include "basic/error.h"
#include "load/kernel_types.h"
#include "model/counted.h"
#include "load/own_costs.h"
#include "load/pinned.h"
#include "basic/macro.h"
#include "bpf/settings.h"
#include "bpf/syscall_counts.h"

struct meter {
	struct meter_options options;
	struct objects objects;
	struct error pin_error;
};

int meter_find_subsys(const struct hierarchy *h, const struct kernel_types *types)
{
	char name[32];
	int number;

	if (!h || h->is_v2)
		return -1;
	snprintf(name, sizeof(name), "%s_cgrp_id", controller_name(h->key));
	number = prototype_enum_value(types, "cgroup_subsys_id", name);
	return number < 0 ? -1 : number;
}

static void set_watched(struct objects *o, uint64_t id)
{
	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		if (o->watches[i])
			o->watches[i]->id = id;
	}
}

void meter_watch(struct meter *m, uint64_t id)
{
	m->options.watched_id = id;
	set_watched(&m->objects, UINT64_MAX);
	objects_forget_counts(&m->objects);
	set_watched(&m->objects, id);
	(void)objects_iterate(&m->objects, "charge_tasks"); /* which counts from here on */
}

void meter_follow_files(struct meter *m)
{
	if (m->objects.watches[OBJECT_FILES])
		m->objects.watches[OBJECT_FILES]->is_following = 1;
}

void meter_follow_syscalls(struct meter *m, bool is_from_program)
{
	if (m->objects.watches[OBJECT_SYSCALLS])
		m->objects.watches[OBJECT_SYSCALLS]->is_following = is_from_program
									    ? SYSCALL_FOLLOW_PROGRAM
									    : SYSCALL_FOLLOW_ALL;
}

void meter_believe(struct meter *m, const char *program)
{
	objects_believe(&m->objects, program);
}

void meter_disbelieve(struct meter *m, const char *program, const char *format, ...)
{
	char why[160];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	objects_disbelieve(&m->objects, program, why);
}

static unsigned int wanted_objects(const struct meter_options *options)
{
	unsigned int wanted = 0;

	if ((options->tiers || options->names_syscalls) && options->has_groups)
		wanted |= 1U << OBJECT_LIFE;
	if (options->names_syscalls)
		wanted |= 1U << OBJECT_SYSCALLS;
	for (size_t i = 0; i < meter_tier_count; i++) {
		if (options->tiers & meter_tiers[i].tier)
			wanted |= meter_tiers[i].objects;
	}
	if (!options->has_block)
		wanted &= ~(1U << OBJECT_BLOCK);
	return wanted;
}

int meter_open(const struct meter_options *options, struct meter **ret)
{
	struct sizing sizing = {
		.shape = options->shape,
		.limit_bytes = (uint64_t)options->maps_memory_mib << 20,
		.fixed = options->sizes,
	};
	struct settings settings = { .key_subsys = -1,
				     .has_clock = options->has_clock,
				     .has_histograms = options->has_histograms,
				     .follows_files = options->followed_max > 0,
				     .has_groups = options->has_groups };
	struct opening opening = { .wanted = wanted_objects(options),
				   .settings = &settings,
				   .sizing = &sizing,
				   .watched_id = options->watched_id,
				   .pin_dir = options->pin_dir };
	_cleanup_(meter_closep) struct meter *m = calloc(1, sizeof(*m));
	_cleanup_(kernel_types_freep) struct kernel_types *types = NULL;
	uint64_t bare_ns = 0;

	if (!m)
		return -ENOMEM;
	m->options = *options;
	sizing.shape.has_histograms = options->has_histograms;
	sizing.shape.followed = options->followed_max;
	sizing.shape.has_groups = options->has_groups;
	sizing.shape.names_syscalls = options->names_syscalls;
	if (options->has_groups)
		bare_ns = own_costs_time_call();
	if (opening.wanted)
		(void)kernel_types_open(&types); /* without, nothing is known of the kernel */
	opening.types = types;
	settings.key_subsys = meter_find_subsys(options->hierarchy, types);
	objects_open(&opening, &m->pin_error, &m->objects);
	types = kernel_types_free(types);
	if (options->has_groups && !m->objects.is_taken_over)
		own_costs_calibrate(&m->objects, bare_ns);
	if (options->pin_dir)
		malloc_trim(0); /* a process that pins lives long, and opening took some 15 MiB */
	*ret = TAKE_PTR(m);
	return 0;
}

bool meter_is_taken_over(const struct meter *m)
{
	return m->objects.is_taken_over;
}

const char *meter_why_unpinned(const struct meter *m)
{
	return *m->pin_error.text ? m->pin_error.text : NULL;
}

int meter_seal(struct meter *m, struct error *err)
{
	struct objects *o = &m->objects;
	int r = *o->pins.path && o->pinned_hooks_fd < 0 ? pinned_seal(o) : 0;

	return r < 0 ? error_set_errno(err, r, "cannot pin what is known of hooks in '%s'",
				       o->pins.path)
		     : 0;
}

bool meter_has_removed_pins(const struct meter *m)
{
	return m->objects.has_removed_pins;
}

uint32_t meter_pinned_id(const struct meter *m)
{
	return pinned_id(&m->objects);
}

bool meter_is_pinned(const char *pin_dir, uint32_t id)
{
	return pinned_is_there(pin_dir, id);
}

void meter_keep(struct meter *m)
{
	m->objects.is_kept = true;
}

struct meter *meter_close(struct meter *m)
{
	if (!m)
		return NULL;
	objects_close(&m->objects);
	free(m);
	return NULL;
}

void meter_closep(struct meter **m)
{
	meter_close(*m);
}

const struct meter_options *meter_opened_with(const struct meter *m)
{
	return &m->options;
}

const struct objects *meter_objects(const struct meter *m)
{
	return &m->objects;
}

const struct hook *meter_hooks(const struct meter *m, size_t *ret_count)
{
	*ret_count = m->objects.hooks.count;
	return m->objects.hooks.items;
}

const struct older *meter_older(const struct meter *m)
{
	return &m->objects.older;
}

bool meter_is_on(const struct meter *m, const char *program)
{
	return hooks_is_on(&m->objects.hooks, program);
}

uint64_t meter_only_cgroup(const struct meter *m)
{
	return m->options.has_groups ? 0 : m->options.watched_id;
}

bool meter_has_tier(const struct meter *m, enum meter_tier tier)
{
	const char *name = tier_get(tier)->name;

	for (size_t i = 0; i < m->objects.hooks.count; i++) {
		if (strcmp(m->objects.hooks.items[i].tier, name) == 0 &&
		    !m->objects.hooks.items[i].is_on)
			return false;
	}
	return true;
}

bool meter_has_any_tier(const struct meter *m)
{
	for (size_t i = 0; i < meter_tier_count; i++) {
		if (meter_has_tier(m, meter_tiers[i].tier))
			return true;
	}
	return false;
}

unsigned int meter_counted(const struct meter *m)
{
	static const struct {
		unsigned int counted;
		const char *programs[4]; /* that all have to be on */
	} needs[] = {
		{ COUNTED_TASKS, { "count_freed_task" } },
		{ COUNTED_LOOKS | COUNTED_NETWORK, { "leave_call" } },
		{ COUNTED_SPINNING, { "leave_call", "sample_task" } },
		{ COUNTED_CONNECTIONS | COUNTED_DETAILS, { "open_connection", "end_connection" } },
		{ COUNTED_SYSCALLS, { "enter_syscall", "leave_syscall" } },
		{ COUNTED_BLOCK, { "note_bio", "count_bios", "count_bio" } },
		{ COUNTED_BLOCK, { "note_bio_of_queue", "count_bios", "count_bio" } },
	};
	unsigned int counted = meter_has_tier(m, METER_T1) ? COUNTED_TIMES : 0;

	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		size_t on = 0;

		while (needs[i].programs[on] && meter_is_on(m, needs[i].programs[on]))
			on++;
		counted |= needs[i].programs[on] ? 0 : needs[i].counted;
	}
	if (m->options.followed_max && meter_is_on(m, "leave_call"))
		counted |= COUNTED_HOT_FILES;
	return counted;
}

static uint64_t sum_lost(int fd, uint32_t reason)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ uint64_t *per_cpu = cpus > 0 ? calloc((size_t)cpus, sizeof(uint64_t)) : NULL;
	uint64_t sum = 0;

	if (!per_cpu || bpf_map_lookup_elem(fd, &reason, per_cpu) < 0)
		return 0;
	for (int cpu = 0; cpu < cpus; cpu++)
		sum += per_cpu[cpu];
	return sum;
}

uint64_t meter_lost(const struct meter *m, unsigned int reason)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < m->objects.map_count; i++) {
		if (strcmp(m->objects.maps[i].form.name, "lost") == 0)
			sum += sum_lost(m->objects.maps[i].fd, reason);
	}
	return sum;
}

static uint64_t count_skipped(int program_fd)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	return program_fd >= 0 && bpf_obj_get_info_by_fd(program_fd, &info, &size) == 0
		       ? info.recursion_misses
		       : 0;
}

uint64_t meter_skipped_runs(const struct meter *m)
{
	const struct objects *o = &m->objects;
	uint64_t sum = 0;

	for (size_t i = 0; i < o->hooks.count; i++) {
		if (hook_may_be_skipped(&o->hooks.items[i]))
			sum += count_skipped(o->attachments[i].program_fd);
	}
	return sum;
}

uint64_t meter_unseen_ends(const struct meter *m)
{
	return count_skipped(objects_program_fd(&m->objects, "count_exit"));
}

size_t meter_list_maps(const struct meter *m, struct object_map *ret)
{
	memcpy(ret, m->objects.maps, m->objects.map_count * sizeof(*ret));
	return m->objects.map_count;
}
