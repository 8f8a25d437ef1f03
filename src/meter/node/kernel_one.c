/* SPDX-License-Identifier: MIT */
#include "node/kernel_one.h"

#include <inttypes.h>
#include <stdio.h>

#include "selftest/canary.h"
#include "cgroup/group.h"
#include "basic/macro.h"
#include "load/meter.h"
#include "counters/details.h"
#include "counters/cgroups.h"
#include "counters/place_names.h"
#include "jobs/registry.h"
#include "node/sampler.h"

int kernel_one_open(struct kernel_one *o, const struct sampler_options *wanted,
		    const struct hierarchy *h, struct meter **ret, struct error *err)
{
	const struct meter_options options = {
		.root_fd = wanted->root_fd,
		.tiers = wanted->tiers,
		.has_clock = wanted->has_clock,
		.has_histograms = wanted->has_histograms,
		.has_block = wanted->has_block,
		.sizes = o->one->map_sizes,
		.followed_max = o->one->followed_max,
		.names_syscalls = wanted->names_syscalls,
		.watched_id = group_id(o->one->group),
		.hierarchy = h,
	};
	struct meter *m;
	int r = meter_open(&options, &m);

	if (r < 0)
		return error_set_errno(err, r, "cannot start the meter");
	if (meter_has_any_tier(m))
		(void)canary_run(m, wanted->root_fd, h, options.watched_id, false,
				 &o->why_no_canary);
	o->is_following = o->one->is_own;
	if (o->is_following)
		meter_follow_files(m);
	meter_follow_syscalls(m, o->one->is_own);
	*ret = m;
	return 0;
}

int kernel_one_learn(struct kernel_one *o, struct registry *registry, uint64_t boot_ns,
		     uint64_t real_ns)
{
	struct group_life life = { .id = group_id(o->one->group), .born_ns = o->began_ns };
	int r;

	if (o->is_learned)
		return 0;
	snprintf(life.path, sizeof(life.path), "%s", o->one->path);
	r = registry_learn_one(registry, &life, o->one->manager, o->one->id, boot_ns, real_ns);
	o->is_learned = r >= 0;
	return r;
}

/* On cgroup v1 the group's file does not count those of groups below it. */
static int count_killed(struct meter *m, struct reading *reading)
{
	struct value *kills = &reading->values[METRIC_MEMORY_OOM_KILLS];
	uint64_t count;
	int r = cgroups_count_kills(m, &count);

	if (r >= 0 && kills->is_known)
		kills->number = MAX(kills->number, count);
	return r;
}

int kernel_one_add_details(struct kernel_one *o, struct meter *m, struct place_names *names,
			   struct record *record, struct error *err)
{
	const struct details_of all = { .is_all = true };
	int r = 0;

	/* a list of the most used files cannot be divided by time: so the first record begins it */
	if (o->is_following)
		r = hot_files_read(m, names, &all, &record->files, err);
	else
		meter_follow_files(m);
	o->is_following = true;
	if (r >= 0)
		r = syscalls_read(m, &all, &record->syscalls, err);
	o->open_syscalls = record->syscalls.is_known ? syscalls_count_open(m, &all) : 0;
	return r < 0 ? r : count_killed(m, &record->reading);
}

int kernel_one_note_open(uint64_t open, struct record *record)
{
	return open ? strings_add(&record->coverage.notes,
				  "%" PRIu64
				  " system call%s that went on at the end %s not counted",
				  open, open == 1 ? "" : "s", open == 1 ? "is" : "are")
		    : 0;
}

int kernel_one_describe(const struct kernel_one *o, const struct meter *m, struct record *record)
{
	int r = meter_describe(m, NULL, record);

	if (r >= 0 && *o->why_no_canary.text)
		r = strings_add(&record->coverage.notes, "hooks were not checked: %s",
				o->why_no_canary.text);
	if (r >= 0 && o->one->followed_max && !meter_is_on(m, "leave_call"))
		r = strings_add(&record->coverage.missing, "hot files: they need files by mount");
	else if (r >= 0 && o->one->followed_max)
		r = strings_add(&record->coverage.tiers, "T3");
	if (r >= 0 && record->syscalls.is_known && !strings_contain(&record->coverage.tiers, "T3"))
		r = strings_add(&record->coverage.tiers, "T3");
	return r < 0 ? r : kernel_one_note_open(o->open_syscalls, record);
}
