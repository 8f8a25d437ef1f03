/* SPDX-License-Identifier: MIT */
#include "selftest/checkup.h"

#include <assert.h>
#include <errno.h>
#include <linux/magic.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "selftest/canary.h"
#include "basic/cleanup.h"
#include "basic/file.h"
#include "load/hooks.h"
#include "basic/parse.h"
#include "sources/hardware.h"

/* No cgroup has this id, so only the canary is counted: the watched group may change only while
 * nothing runs in it. */
#define NOBODY UINT64_MAX

/* A captured tree has plain files where the kernel's own file system would be. */
static bool is_live(int root_fd)
{
	_cleanup_close_ int fd = openat(root_fd, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	return fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* v2 hands down only what the caller's group has itself. */
static bool has_memory_controller(int root_fd, const struct hierarchy *h)
{
	char path[4096], text[512];

	if (!h->is_v2)
		return h->mount[CONTROLLER_MEMORY] != NULL;
	snprintf(path, sizeof(path), ".%s%s/cgroup.controllers", h->v2_mount, h->v2_own);
	if (file_read_small(root_fd, path, text, sizeof(text)) < 0)
		return false;
	return parse_has_word(text, "memory");
}

/* Without what is on demand. */
static uint64_t sum_default_maps(const struct meter *m)
{
	struct object_map maps[MAPS_MAX];
	size_t count = meter_list_maps(m, maps);
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += maps[i].object == OBJECT_SYSCALLS ? 0 : maps[i].bytes;
	return bytes;
}

static void keep_hooks(struct checkup *c, const struct meter *m)
{
	const struct hook *hooks = meter_hooks(m, &c->hook_count);

	assert(c->hook_count <= CHECKUP_HOOKS_MAX);
	memcpy(c->hooks, hooks, c->hook_count * sizeof(*hooks));
	c->older = *meter_older(m);
	c->map_bytes = sum_default_maps(m);
}

static void list_tiers(struct checkup *c)
{
	assert(meter_tier_count + 2 == CHECKUP_TIERS_COUNT);
	for (size_t i = 0; i < meter_tier_count; i++)
		c->tiers[i] = (struct checkup_tier){ meter_tiers[i].is_needed, meter_tiers[i].name,
						     meter_tiers[i].gives };
	c->tiers[meter_tier_count] = (struct checkup_tier){ false, "T2+", "paths, mapped, disks" };
	c->tiers[meter_tier_count + 1] = (struct checkup_tier){ false, "T3", "each call by name" };
}

static void judge_tiers(struct checkup *c)
{
	list_tiers(c);
	for (size_t t = 0; t < CHECKUP_TIERS_COUNT; t++) {
		struct checkup_tier *tier = &c->tiers[t];

		for (size_t i = 0; i < c->hook_count; i++) {
			if (strcmp(c->hooks[i].tier, tier->name) != 0)
				continue;
			tier->hook_count++;
			tier->on_count += c->hooks[i].is_on;
			tier->checked_count += c->hooks[i].is_checked;
		}
		tier->is_on = c->has_run && tier->hook_count && tier->on_count == tier->hook_count;
	}
}

static int try_hooks(int root_fd, struct checkup *c)
{
	const struct meter_options options = {
		.root_fd = root_fd,
		.tiers = METER_ALL,
		.has_clock = true,
		.has_histograms = true,
		.names_syscalls = true,
		.has_block = true,
		.watched_id = NOBODY,
		.hierarchy = c->has_hierarchy ? &c->hierarchy : NULL,
	};
	_cleanup_(meter_closep) struct meter *meter = NULL;
	int r = meter_open(&options, &meter);

	if (r < 0)
		return r;
	if (c->has_hierarchy) {
		c->selftest_error = canary_run(meter, root_fd, &c->hierarchy, NOBODY, true,
					       &c->why_no_selftest);
		c->has_run = c->selftest_error >= 0;
	} else {
		c->selftest_error = -ENOENT;
		c->why_no_selftest = c->why_no_hierarchy;
	}
	keep_hooks(c, meter);
	return 0;
}

/* By the hooks that are on trampolines: one that is on is enough. */
static void judge_fentry(const struct checkup *c, struct checkup_feature *ret)
{
	*ret = (struct checkup_feature){ "fentry", "", "where calls by path took place, libaio" };
	for (size_t i = 0; i < c->hook_count && !ret->is_well; i++) {
		if (!hook_is_trampoline(&c->hooks[i]))
			continue;
		ret->where = hook_target(&c->hooks[i]);
		ret->is_well = c->hooks[i].is_on;
	}
	if (!ret->is_well)
		snprintf(ret->why, sizeof(ret->why), "no hook of that kind is on");
}

/* By counting this process. */
static void judge_cycles(int root_fd, struct checkup_feature *ret)
{
	_cleanup_(hardware_closep) struct hardware *hardware = NULL;
	struct value values[METRIC_JOB_COUNT] = {};
	struct hardware_events events;
	struct error err = {};

	*ret = (struct checkup_feature){ "cycles", "perf event", "hardware counters" };
	hardware_events_read(root_fd, &events);
	ret->error = hardware_open_process(&events, getpid(), false, &hardware, &err);
	if (ret->error >= 0) {
		hardware_read(hardware, values);
		ret->is_well = values[METRIC_CPU_CYCLES].number > 0;
		error_set(&err, 0, "%s", ret->is_well ? "" : "opened, but counts nothing");
	}
	snprintf(ret->why, sizeof(ret->why), "%.159s", err.text);
}

static int try_all(int root_fd, bool with_costs, struct checkup *c)
{
	int r = try_hooks(root_fd, c);

	if (r < 0)
		return r;
	judge_fentry(c, &c->features[CHECKUP_FENTRY]);
	judge_cycles(root_fd, &c->features[CHECKUP_CYCLES]);
	if (!with_costs)
		error_set(&c->why_no_costs, 0, "switched off");
	else if (c->has_hierarchy)
		c->has_costs = costs_measure(root_fd, &c->hierarchy, &c->costs, &c->why_no_costs) >=
			       0;
	else
		c->why_no_costs = c->why_no_hierarchy;
	return 0;
}

int checkup_make(int root_fd, bool with_costs, struct checkup *ret)
{
	int r = 0;

	*ret = (struct checkup){ .is_live = is_live(root_fd) };
	machine_read(root_fd, &ret->machine);
	rights_read(root_fd, &ret->rights);
	ret->has_hierarchy = hierarchy_read(root_fd, &ret->hierarchy, &ret->why_no_hierarchy) >= 0;
	if (ret->has_hierarchy)
		ret->has_memory_controller = has_memory_controller(root_fd, &ret->hierarchy);
	if (ret->is_live)
		r = try_all(root_fd, with_costs, ret);
	judge_tiers(ret);
	managers_read(root_fd, &ret->managers);
	gpus_read(root_fd, &ret->gpus);
	return r < 0 ? r : sensors_read(root_fd, &ret->sensors);
}

void checkup_clear(struct checkup *c)
{
	hierarchy_clear(&c->hierarchy);
	sensors_clear(&c->sensors);
}

bool checkup_is_well(const struct checkup *c)
{
	for (size_t i = 0; i < CHECKUP_TIERS_COUNT; i++) {
		if (c->tiers[i].is_default && !c->tiers[i].is_on)
			return false;
	}
	return true;
}

int checkup_list_missing(const struct checkup *c, struct strings *ret)
{
	for (size_t i = 0; i < CHECKUP_TIERS_COUNT; i++) {
		if (strcmp(c->tiers[i].name, "T2") == 0 && !c->tiers[i].on_count)
			return 0;
	}
	return missing_list(c->hooks, c->hook_count, "T2+", ret);
}

const char *checkup_why_off(const struct checkup *c, const struct checkup_tier *tier)
{
	if (!c->is_live)
		return "not tried: this root is not the running machine's";
	for (size_t i = 0; i < c->hook_count; i++) {
		if (strcmp(c->hooks[i].tier, tier->name) == 0 && !c->hooks[i].is_on)
			return c->hooks[i].why;
	}
	return c->why_no_selftest.text;
}
