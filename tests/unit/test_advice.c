/* SPDX-License-Identifier: MIT */
#include "selftest/advice.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "test.h"

/* A machine on which all is well. */
static struct checkup *make_well(void)
{
	struct checkup *c = calloc(1, sizeof(*c));

	c->is_live = c->has_hierarchy = c->has_memory_controller = c->has_run = true;
	c->hierarchy.is_v2 = true;
	strcpy(c->machine.kernel, "6.1");
	c->machine.has_btf = true;
	c->rights = (struct rights){ .is_known = true, .capabilities = UINT64_MAX };
	for (size_t i = 0; i < CHECKUP_TIERS_COUNT; i++)
		c->tiers[i] = (struct checkup_tier){
			.is_default = true, .is_on = true, .on_count = 1, .hook_count = 1
		};
	return c;
}

static void refuse_tiers(struct checkup *c)
{
	c->has_run = false;
	for (size_t i = 0; i < CHECKUP_TIERS_COUNT; i++)
		c->tiers[i] = (struct checkup_tier){ .is_default = true, .hook_count = 1 };
}

/* All that is said, in one text. */
static const char *say(const struct checkup *c)
{
	static char text[8192];
	struct advice advice[ADVICE_MAX];
	size_t count = advice_of(c, advice), used = 0;

	*text = '\0';
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s: %s\n",
					 advice[i].what, advice[i].gives);
	return text;
}

TEST(where_all_is_well_nothing_is_said)
{
	_cleanup_free_ struct checkup *c = make_well();

	ASSERT_STREQ(say(c), "");
}

TEST(a_user_without_rights_is_told_which)
{
	_cleanup_free_ struct checkup *c = make_well();

	refuse_tiers(c);
	c->selftest_error = -EACCES;
	c->rights.capabilities = 0;
	ASSERT_CONTAINS(say(c), "CAP_BPF and CAP_PERFMON");
	ASSERT_CONTAINS(say(c), "Delegate=yes");
	ASSERT_LACKS(say(c), "bpf(2)");
}

TEST(root_of_a_container_is_told_what_holds_it)
{
	_cleanup_free_ struct checkup *c = make_well();

	refuse_tiers(c);
	c->selftest_error = -EROFS;
	ASSERT_CONTAINS(say(c), "bpf(2)");
	ASSERT_CONTAINS(say(c), "newer kernel");
	ASSERT_CONTAINS(say(c), "writable");
	c->rights.is_in_user_namespace = true;
	ASSERT_CONTAINS(say(c), "user namespace");
	ASSERT_LACKS(say(c), "bpf(2)");
}

TEST(a_kernel_that_forbids_or_lacks_is_named)
{
	_cleanup_free_ struct checkup *c = make_well();

	refuse_tiers(c);
	c->has_run = true;
	strcpy(c->rights.lockdown, "confidentiality");
	ASSERT_CONTAINS(say(c), "lockdown");
	c->machine.has_btf = false;
	ASSERT_CONTAINS(say(c), "CONFIG_DEBUG_INFO_BTF");
}

TEST(no_memory_controller_is_a_matter_of_the_cgroup_version)
{
	_cleanup_free_ struct checkup *c = make_well();

	c->has_memory_controller = false;
	ASSERT_CONTAINS(say(c), "systemd-run");
	c->hierarchy.v2_own = (char[]){ "/" };
	ASSERT_LACKS(say(c), "systemd-run");
	ASSERT_CONTAINS(say(c), "cgroup_enable=memory");
	c->hierarchy.is_v2 = false;
	ASSERT_LACKS(say(c), "systemd-run");
	ASSERT_CONTAINS(say(c), "v1's memory hierarchy");
}

TEST(sensors_gpus_and_managers_get_what_they_lack)
{
	_cleanup_free_ struct checkup *c = make_well();
	struct sensor sensor = { .is_readable = false };

	c->sensors = (struct sensors){ .items = &sensor, .count = 1 };
	c->gpus.count = 1;
	c->managers.count = 1;
	c->managers.items[0] = (struct manager){ .name = "Slurm", .tracking = TRACKING_OFF };
	ASSERT_CONTAINS(say(c), "CAP_DAC_READ_SEARCH");
	ASSERT_CONTAINS(say(c), "driver");
	ASSERT_CONTAINS(say(c), "proctrack/cgroup");
	c->managers.items[0].tracking = TRACKING_UNKNOWN;
	ASSERT_LACKS(say(c), "proctrack/cgroup");
}

TEST(a_guest_without_counters_is_told_of_its_hypervisor)
{
	_cleanup_free_ struct checkup *c = make_well();

	c->features[CHECKUP_CYCLES].error = -ENODEV;
	ASSERT_STREQ(say(c), ""); /* a machine of its own has none to be had */
	c->machine.is_virtual = true;
	ASSERT_CONTAINS(say(c), "hypervisor");
	c->features[CHECKUP_CYCLES].error = -EACCES;
	c->rights.perf_event_paranoid = 3;
	ASSERT_CONTAINS(say(c), "perf_event_paranoid");
}

TEST(a_captured_tree_gets_no_advice_on_what_could_not_be_tried)
{
	_cleanup_free_ struct checkup *c = make_well();

	refuse_tiers(c);
	c->is_live = false;
	ASSERT_STREQ(say(c), "");
}
