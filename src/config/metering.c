/* SPDX-License-Identifier: MIT */
#include "config/metering.h"

#include <errno.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "config/config.h"
#include "cgroup/hierarchy.h"
#include "cgroup/identity.h"
#include "cgroup/mounts.h"
#include "load/tiers.h"

#define ENERGY_AGE_NS UINT64_C(1000000000)

static unsigned int tiers_of(const struct config *config)
{
	if (!config->has_bpf)
		return 0;
	return (config->has_t0 ? METER_T0 : 0) | (config->has_t1 ? METER_T1 : 0) |
	       (config->has_t2 ? METER_T2 : 0);
}

static int key_of(const struct config *config)
{
	static const int controllers[] = {
		[CONFIG_KEY_AUTO] = -1,
		[CONFIG_KEY_MEMORY] = CONTROLLER_MEMORY,
		[CONFIG_KEY_CPUACCT] = CONTROLLER_CPUACCT,
		[CONFIG_KEY_FREEZER] = CONTROLLER_FREEZER,
		[CONFIG_KEY_CPUSET] = CONTROLLER_CPUSET,
	};

	return controllers[config->key_hierarchy];
}

static int copy_lists(const struct config *config, struct metering *m)
{
	m->mounts = calloc(config->mounts.count + 1, sizeof(*m->mounts));
	m->rules = calloc(config->rules.count + 1, sizeof(*m->rules));
	if (!m->mounts || !m->rules)
		return -ENOMEM;
	for (size_t i = 0; i < config->mounts.count; i++)
		m->mounts[i] = (struct site_mount){
			.path = setting_list_get(&config->mounts, i, CONFIG_MOUNT_PATH),
			.name = setting_list_get(&config->mounts, i, CONFIG_MOUNT_NAME),
		};
	for (size_t i = 0; i < config->rules.count; i++)
		m->rules[i] = (struct sampler_rule){
			.name = setting_list_get(&config->rules, i, CONFIG_RULE_NAME),
			.manager = setting_list_get(&config->rules, i, CONFIG_RULE_MANAGER),
			.pattern = setting_list_get(&config->rules, i, CONFIG_RULE_PATTERN),
		};
	return 0;
}

int metering_of(const struct config *config, struct metering *ret)
{
	struct metering m = {};

	if (copy_lists(config, &m) < 0) {
		metering_clear(&m);
		return -ENOMEM;
	}
	m.options = (struct sampler_options){
		.tiers = tiers_of(config),
		.has_clock = config->has_clock,
		.has_histograms = config->has_histograms,
		.has_block = config->has_block,
		.names_syscalls = config->has_bpf && config->names_syscalls,
		.follows_files = config->has_bpf && config->has_t2 && config->follows_files,
		.has_source = config->has_source,
		.source_settings = &config->sources,
		.has_units = config->has_units,
		.key = key_of(config),
		.budget = config->budget,
		.maps_memory_mib = (unsigned int)config->maps_memory_mib,
		.jobs_max = config->jobs_max,
		.user_jobs_max = config->user_jobs_max ? config->user_jobs_max : SIZE_MAX,
		.retention_ns = config->retention_ns,
		.cpu_model = config->cpu_model,
		.cpu_tdp_watts = config->cpu_tdp_watts,
		.idle_policy = config->idle_policy,
		.energy_age_ns = ENERGY_AGE_NS,
		.cluster = config->cluster,
		.node = config->node,
		.mounts = m.mounts,
		.mount_count = config->mounts.count,
		.rules = m.rules,
		.rule_count = config->rules.count,
		.state_dir = config->state_dir,
		.pin_dir = config->pin_dir,
		.run_dir = config->run_dir,
	};
	*ret = m;
	return 0;
}

void metering_clear(struct metering *m)
{
	free(m->mounts);
	free(m->rules);
	*m = (struct metering){};
}

int metering_read_rules(const struct config *config, struct identity_rules **ret, struct error *err)
{
	_cleanup_(identity_rules_freep) struct identity_rules *rules = identity_rules_new();

	if (!rules)
		return error_set_errno(err, ENOMEM, "rules");
	for (size_t i = 0; i < config->rules.count; i++) {
		const struct setting_list *list = &config->rules;
		int r = identity_rules_add(rules, setting_list_get(list, i, CONFIG_RULE_NAME),
					   setting_list_get(list, i, CONFIG_RULE_MANAGER),
					   setting_list_get(list, i, CONFIG_RULE_PATTERN), false,
					   err);

		if (r < 0)
			return error_prefix(err, r, "rules[%zu]", i);
	}
	*ret = TAKE_PTR(rules);
	return 0;
}
