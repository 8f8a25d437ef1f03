/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "basic/cleanup.h"
#include "config/config.h"
#include "basic/error.h"
#include "cgroup/hierarchy.h"
#include "config/metering.h"
#include "cgroup/mounts.h"
#include "sources/sources.h"
#include "test.h"
#include "load/tiers.h"

static char *nothing[] = { NULL };

static struct config *parsed(const char *text)
{
	struct config *config = NULL;
	struct error err = {};

	ASSERT_OK(config_parse(text, strlen(text), "agent.yaml", nothing, &config, NULL, &err));
	return config;
}

static bool wants(const struct metering *m, const char *source)
{
	return m->options.has_source[sources_index(source)];
}

TEST(what_is_not_set_is_as_the_reference_has_it)
{
	_cleanup_(config_freep) struct config *config = parsed("");
	_cleanup_(metering_clear) struct metering m = {};
	const struct sampler_options full = sampler_options_full(-1);

	ASSERT_OK(metering_of(config, &m));
	ASSERT_EQ(m.options.tiers, (unsigned int)METER_ALL);
	ASSERT_EQ(m.options.tiers, full.tiers);
	ASSERT_EQ(m.options.key, full.key);
	ASSERT(m.options.has_clock && m.options.has_histograms && m.options.has_block);
	ASSERT(full.has_clock && full.has_histograms && full.has_block);
	ASSERT(!m.options.names_syscalls && !m.options.follows_files);
	ASSERT_EQ(m.options.budget, full.budget);
	ASSERT(wants(&m, "thermal") && wants(&m, "ports") && !wants(&m, "hardware"));
	ASSERT_EQ(m.options.budget, (uint64_t)20000);
	ASSERT_STREQ(m.options.state_dir, "/var/lib/jobmeter");
	ASSERT_EQ(m.options.mount_count + m.options.rule_count, (size_t)0);
	ASSERT(!m.options.one);
}

TEST(each_source_has_a_switch)
{
	_cleanup_(config_freep) struct config *config = parsed(
		"tiers: {wait_times: off}\nblock: off\nclock: off\nhistograms: off\nsyscalls: on\nfiles: on\nhardware: on\nthermal: off\nports: off\n"
		"key_hierarchy: freezer\n");
	_cleanup_(metering_clear) struct metering m = {};

	ASSERT_OK(metering_of(config, &m));
	ASSERT_EQ(m.options.tiers, (unsigned int)(METER_T0 | METER_T2));
	ASSERT_EQ(m.options.key, (int)CONTROLLER_FREEZER);
	ASSERT(!m.options.has_clock && !m.options.has_histograms && !m.options.has_block);
	ASSERT(m.options.names_syscalls && m.options.follows_files);
	ASSERT(!wants(&m, "thermal") && !wants(&m, "ports") && wants(&m, "hardware"));
}

TEST(without_bpf_there_are_no_tiers)
{
	_cleanup_(config_freep) struct config *config =
		parsed("bpf: off\nsyscalls: on\nfiles: on\n");
	_cleanup_(metering_clear) struct metering m = {};

	ASSERT_OK(metering_of(config, &m));
	ASSERT_EQ(m.options.tiers, 0u);
	ASSERT(!m.options.names_syscalls && !m.options.follows_files);
}

TEST(mounts_and_rules_are_the_sites)
{
	_cleanup_(config_freep) struct config *config = parsed(
		"mounts: [{path: /lustre/scratch, name: SCRATCH}]\n"
		"rules: [{name: ours, manager: batch, pattern: 'batch/<job:#>'}]\n");
	_cleanup_(metering_clear) struct metering m = {};

	ASSERT_OK(metering_of(config, &m));
	ASSERT_EQ(m.options.mount_count, (size_t)1);
	ASSERT_STREQ(m.options.mounts[0].path, "/lustre/scratch");
	ASSERT_STREQ(m.options.mounts[0].name, "SCRATCH");
	ASSERT_EQ(m.options.rule_count, (size_t)1);
	ASSERT_STREQ(m.options.rules[0].manager, "batch");
	ASSERT_STREQ(m.options.rules[0].pattern, "batch/<job:#>");
}
