/* SPDX-License-Identifier: MIT */
/* agent_metrics - the agent about itself, as samples of jobmeter_agent_*. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/push.h"
#include "load/losses.h"
#include "load/meter.h"
#include "model/sample.h"
#include "node/sampler.h"

/* How often each endpoint was answered how.  Begins as {}. */
#define SCRAPES_MAX 64
struct scrapes {
	struct scrape {
		const char *endpoint; /* of static duration */
		unsigned int status;
		uint64_t count;
	} items[SCRAPES_MAX];
	size_t count;
};

/* @endpoint: a route's path; NULL: none fitted. */
void scrapes_add(struct scrapes *s, const char *endpoint, unsigned int status);

struct agent_map {
	const char *name;
	uint64_t bytes, capacity;
};

struct agent_facts {
	const char *version;
	struct value cpu_user_ns, cpu_system_ns, resident_bytes, open_descriptors;
	struct sampler_state sampler;
	/* Of the meter; without BPF none. */
	bool has_meter;
	struct losses losses;
	const struct hook *hooks;
	size_t hook_count;
	const struct older *older;
	struct agent_map maps[MAPS_MAX];
	size_t map_count;
	struct push_status push;
	const struct scrapes *scrapes; /* NULL: they are not counted */
};

/* What the process and its @meter (NULL: no BPF) say now; @ret's other members stay as they are.
 * Names of maps are in @forms, which has room for MAPS_MAX. */
void agent_facts_read(int root_fd, const struct meter *meter, struct object_map *forms,
		      struct agent_facts *ret);

/* Maps of one name (each object has its own "lost") are one series, and summed. */
void agent_facts_add_map(struct agent_facts *facts, const char *name, uint64_t bytes,
			 uint64_t capacity);

/* -ENOMEM. */
int agent_facts_put(const struct agent_facts *facts, struct samples *to);

/* "no room for a row" is "row": enum lost_reason as the label says it. */
