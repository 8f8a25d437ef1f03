/* SPDX-License-Identifier: MIT */
#include "cli/doctor.h"

#include <string.h>

#include "selftest/advice.h"
#include "selftest/checkup.h"
#include "basic/cleanup.h"
#include "basic/macro.h"
#include "model/document.h"
#include "model/shape.h"
#include "cgroup/placement.h"

void doctor_put(struct document *d, const char *key, const char *text)
{
	document_put_string(d, key, text && *text ? text : NULL);
}

static void put_setting(struct document *d, const char *key, int value, int unknown)
{
	document_key(d, key);
	if (value == unknown)
		document_null(d);
	else
		document_signed(d, value);
}

static void put_machine(struct document *d, const struct machine *m)
{
	document_begin_map_of(d, "machine");
	doctor_put(d, "node", m->node);
	doctor_put(d, "kernel", m->kernel);
	doctor_put(d, "architecture", m->arch);
	document_put_boolean(d, "btf", m->has_btf);
	doctor_put(d, "preemption", m->preemption);
	doctor_put(d, "preemption_source", m->preemption_source);
	document_put_known(d, "cpus_online", m->cpus_online, m->cpus_online, 0);
	document_put_known(d, "cpus_possible", m->cpus_possible, m->cpus_possible, 0);
	document_put_known(d, "memory_bytes", m->memory_bytes, m->memory_bytes, 0);
	document_put_boolean(d, "virtual", m->is_virtual);
	doctor_put(d, "product", m->product);
	document_end_map(d);
}

static const char *key_name(const struct hierarchy *h)
{
	return h->is_v2 ? "v2" : controller_name(h->key);
}

static void put_cgroups(struct document *d, const struct checkup *c)
{
	document_begin_map_of(d, "cgroups");
	document_put_known(d, "version", c->has_hierarchy, c->hierarchy.is_v2 ? 2 : 1, 0);
	doctor_put(d, "key_hierarchy", c->has_hierarchy ? key_name(&c->hierarchy) : NULL);
	doctor_put(d, "own_group", c->has_hierarchy ? hierarchy_own_path(&c->hierarchy) : NULL);
	document_put_boolean(d, "memory_controller", c->has_memory_controller);
	doctor_put(d, "why", c->has_hierarchy ? NULL : c->why_no_hierarchy.text);
	document_end_map(d);
}

static void put_rights(struct document *d, const struct rights *r)
{
	size_t count;
	const struct capability *capabilities = rights_capabilities(&count);

	document_begin_map_of(d, "rights");
	document_put_known(d, "uid", r->is_known, r->uid, 0);
	document_begin_flat_map_of(d, "capabilities");
	for (size_t i = 0; i < count && r->is_known; i++)
		document_put_boolean(d, capabilities[i].name,
				     rights_has(r, capabilities[i].number));
	document_end_map(d);
	document_put_boolean(d, "user_namespace", r->is_in_user_namespace);
	put_setting(d, "unprivileged_bpf_disabled", r->unprivileged_bpf_disabled, -1);
	put_setting(d, "perf_event_paranoid", r->perf_event_paranoid, RIGHTS_UNKNOWN_PARANOIA);
	doctor_put(d, "lockdown", r->lockdown);
	document_end_map(d);
}

static void put_tiers(struct document *d, const struct checkup *c)
{
	document_begin_list_of(d, "tiers");
	for (size_t t = 0; t < CHECKUP_TIERS_COUNT; t++) {
		const struct checkup_tier *tier = &c->tiers[t];

		document_begin_map(d);
		doctor_put(d, "tier", tier->name);
		doctor_put(d, "gives", tier->gives);
		document_put_boolean(d, "default", tier->is_default);
		document_put_boolean(d, "on", tier->is_on);
		document_put_boolean(d, "checked", c->has_run);
		doctor_put(d, "why", tier->is_on ? NULL : checkup_why_off(c, tier));
		document_begin_list_of(d, "hooks");
		for (size_t i = 0; i < c->hook_count; i++) {
			if (strcmp(c->hooks[i].tier, tier->name) == 0) {
				const struct hook *hook = &c->hooks[i];

				document_begin_flat_map(d);
				doctor_put(d, "program", hook->program);
				doctor_put(d, "attach", hook->attach);
				doctor_put(d, "gives", hook->gives);
				document_put_boolean(d, "on", hook->is_on);
				document_put_boolean(d, "checked", hook->is_checked);
				doctor_put(d, "why", hook->is_on ? NULL : hook->why);
				document_end_map(d);
			}
		}
		document_end_list(d);
		document_end_map(d);
	}
	document_end_list(d);
	document_put_known(d, "map_bytes", c->map_bytes, c->map_bytes, 0);
}

static void put_features(struct document *d, const struct checkup *c)
{
	document_begin_list_of(d, "features");
	for (size_t i = 0; i < CHECKUP_FEATURES_COUNT && c->is_live; i++) {
		const struct checkup_feature *a = &c->features[i];

		document_begin_flat_map(d);
		doctor_put(d, "name", a->name);
		doctor_put(d, "where", a->where);
		doctor_put(d, "gives", a->gives);
		document_put_boolean(d, "works", a->is_well);
		doctor_put(d, "why", a->why);
		document_end_map(d);
	}
	document_end_list(d);
}

static void put_spread(struct document *d, const char *key, const struct cost *cost,
		       const struct cost_spread *s)
{
	document_key(d, key);
	if (!cost->is_known) {
		document_null(d);
		return;
	}
	document_begin_flat_map(d);
	document_put_signed(d, "median", s->median_ns);
	document_put_signed(d, "min", s->min_ns);
	document_put_signed(d, "max", s->max_ns);
	document_end_map(d);
}

static void put_costs(struct document *d, const struct checkup *c)
{
	document_key(d, "costs");
	if (!c->has_costs) {
		document_null(d);
		return;
	}
	document_begin_map(d);
	doctor_put(d, "quality", "measured");
	document_put_unsigned(d, "rounds", c->costs.rounds);
	document_put_unsigned(d, "calls_per_round", c->costs.calls);
	document_begin_list_of(d, "settings");
	for (size_t i = 0; i < COSTS_COUNT; i++) {
		const struct cost *cost = &c->costs.rows[i];

		document_begin_map(d);
		doctor_put(d, "name", cost->name);
		put_spread(d, i ? "added_read_nanoseconds" : "read_nanoseconds", cost, &cost->read);
		put_spread(d, i ? "added_call_nanoseconds" : "call_nanoseconds", cost, &cost->call);
		document_end_map(d);
	}
	document_end_list(d);
	document_end_map(d);
}

static void put_managers(struct document *d, const struct managers *managers)
{
	document_begin_list_of(d, "managers");
	for (size_t i = 0; i < managers->count; i++) {
		const struct manager *m = &managers->items[i];

		document_begin_flat_map(d);
		doctor_put(d, "name", m->name);
		doctor_put(d, "file", m->file);
		doctor_put(d, "daemon", m->daemon);
		document_key(d, "jobs_in_cgroups");
		if (m->tracking == TRACKING_UNKNOWN)
			document_null(d);
		else
			document_boolean(d, m->tracking == TRACKING_ON);
		document_end_map(d);
	}
	document_end_list(d);
}

/* clang-format off */
#define TEXT(key, type, member) { key, SHAPE_TEXT, SHAPE_OR_NULL, offsetof(type, member) }
#define WORD(key, type, member) { key, SHAPE_LENT, SHAPE_OR_NULL, offsetof(type, member) }
static const struct field sensor_fields[] = {
	WORD("source", struct sensor, source),
	TEXT("name", struct sensor, name),
	TEXT("path", struct sensor, path),
	{ "readable", SHAPE_BOOL, 0, offsetof(struct sensor, is_readable) },
};
static const struct shape sensor_shape = { SHAPE_OF(struct sensor, sensor_fields), .is_flat = true };
static const struct field gpu_fields[] = {
	WORD("vendor", struct gpu, vendor),
	TEXT("address", struct gpu, address),
	TEXT("device", struct gpu, device),
	TEXT("driver", struct gpu, driver),
};
static const struct shape gpu_shape = { SHAPE_OF(struct gpu, gpu_fields), .is_flat = true, .max = GPUS_MAX };
static const struct field hardware_fields[] = {
	{ "sensors", SHAPE_LIST, 0, offsetof(struct checkup, sensors), .rows = &sensor_shape },
	{ "gpus", SHAPE_ARRAY, 0, offsetof(struct checkup, gpus), .rows = &gpu_shape },
	TEXT("nvidia_driver", struct checkup, gpus.nvidia_driver),
};
static const struct shape hardware_shape = { SHAPE_OF(struct checkup, hardware_fields) };
static const struct field identity_fields[] = {
	WORD("rule", struct identity, rule),
	WORD("manager", struct identity, manager),
	TEXT("job", struct identity, job),
	TEXT("step", struct identity, step),
	TEXT("task", struct identity, task),
	TEXT("user", struct identity, user),
	TEXT("node", struct identity, node),
};
static const struct shape identity_shape = { SHAPE_OF(struct identity, identity_fields) };
#undef TEXT
#undef WORD
/* clang-format on */

static void put_advice(struct document *d, const struct checkup *c)
{
	struct advice advice[ADVICE_MAX];
	size_t count = advice_of(c, advice);

	document_begin_list_of(d, "advice");
	for (size_t i = 0; i < count; i++) {
		document_begin_flat_map(d);
		doctor_put(d, "do", advice[i].what);
		doctor_put(d, "gives", advice[i].gives);
		document_end_map(d);
	}
	document_end_list(d);
}

void doctor_document(const struct checkup *c, const struct doctor_agent *agent, struct document *d)
{
	_cleanup_(strings_clear) struct strings missing = {};

	document_begin_map(d);
	doctor_put(d, "schema", DOCTOR_SCHEMA);
	doctor_put(d, "version", JOBMETER_VERSION);
	document_put_boolean(d, "works", checkup_is_well(c));
	document_put_boolean(d, "tried", c->is_live);
	put_machine(d, &c->machine);
	put_cgroups(d, c);
	put_rights(d, &c->rights);
	doctor_agent_put(agent, d);
	put_tiers(d, c);
	document_begin_list_of(d, "older_code");
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		if (!older_is(&c->older, (enum object_id)id))
			continue;
		document_begin_flat_map(d);
		doctor_put(d, "object", object_name((enum object_id)id));
		doctor_put(d, "why", c->older.why[id]);
		document_end_map(d);
	}
	document_end_list(d);
	(void)checkup_list_missing(c, &missing);
	document_put_strings(d, "missing", &missing);
	put_features(d, c);
	put_costs(d, c);
	put_managers(d, &c->managers);
	shape_format(&hardware_shape, c, d);
	put_advice(d, c);
	document_end_map(d);
}

static void put_identity(struct document *d, const char *key, const struct identity *id)
{
	document_key(d, key);
	if (!id) {
		document_null(d);
		return;
	}
	document_begin_flat_map(d);
	shape_format(&identity_shape, id, d);
	document_end_map(d);
}

static void put_groups(struct document *d, const char *cgroups)
{
	document_begin_list_of(d, "cgroups");
	while (*cgroups) {
		size_t length = strcspn(cgroups, "\n");
		char line[4352]; /* a path, and the controllers before it */

		if (length < sizeof(line)) {
			memcpy(line, cgroups, length);
			line[length] = '\0';
			document_string(d, line);
		}
		cgroups += length + (cgroups[length] == '\n');
	}
	document_end_list(d);
}

void doctor_document_placement(const struct placement *p, const struct doctor_agent *agent,
			       const struct hierarchy *h, struct document *d)
{
	document_begin_map(d);
	doctor_put(d, "schema", DOCTOR_SCHEMA);
	doctor_put(d, "version", JOBMETER_VERSION);
	document_begin_map_of(d, "process");
	document_put_unsigned(d, "pid", (uint64_t)p->pid);
	doctor_put(d, "command", p->command);
	doctor_put(d, "key_hierarchy", key_name(h));
	doctor_put(d, "cgroup", p->path);
	document_put_known(d, "cgroup_id", p->cgroup_id, p->cgroup_id, 0);
	put_identity(d, "identity", p->has_identity ? &p->identity : NULL);
	put_identity(d, "around", p->has_outer ? &p->outer : NULL);
	put_groups(d, p->cgroups);
	document_end_map(d);
	doctor_agent_put_group(agent, d);
	document_end_map(d);
}
