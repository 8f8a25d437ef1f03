/* SPDX-License-Identifier: MIT */
#include "energy/node_energy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/macro.h"
#include "energy/sensor_choice.h"
#include "energy/sensor_total.h"
#include "model/document.h"
#include "model/record.h"
#include "model/sample.h"
#include "model/section.h"
#include "model/sections/job_gpus.h"
#include "model/sections.h"
#include "model/snapshot.h"
#include "energy/node_energy_internal.h"

#define NS_OF_A_US 1000
#define BYTES_OF_A_KIB 1024
#define SILENCE_MAX_NS UINT64_C(60000000000) /* as of a power that is integrated */
#define TICKS_SLACK 2 /* times the maximum power, since CPU time comes in ticks */

int node_energy_new(struct energy_machine machine, enum energy_policy policy,
		    struct node_energy **ret)
{
	struct node_energy *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->machine = machine;
	e->attribution.policy = policy;
	*ret = e;
	return 0;
}

struct energy_owner *node_energy_other(struct node_energy *e, size_t i)
{
	struct energy_owner *const others[OTHERS_COUNT] = {
		&e->attribution.system,
		&e->attribution.idle,
		&e->attribution.unattributed,
	};

	return others[i];
}

static void free_job(struct node_job *j)
{
	free(j->manager);
	free(j->id);
	free(j);
}

struct node_energy *node_energy_free(struct node_energy *e)
{
	for (size_t i = 0; e && i < e->job_count; i++)
		free_job(e->jobs[i]);
	if (e) {
		energy_readings_clear(&e->readings);
		free(e->taken);
		free(e->jobs);
		free(e->owners);
	}
	free(e);
	return NULL;
}

/* ---- jobs ---- */

/* Most often it is the one behind that found last: a snapshot has them in the same order. */
static struct node_job *find_job(struct node_energy *e, const struct job *known)
{
	for (size_t i = 0; i < e->job_count; i++) {
		const size_t at = (e->next_found + i) % e->job_count;
		struct node_job *j = e->jobs[at];

		if (j->start_ns != known->start_boot_ns || strcmp(j->manager, known->manager) != 0)
			continue;
		if (known->sluid && strcmp(j->id, known->sluid) == 0 &&
		    strcmp(known->sluid, known->id) != 0) { /* its number is known by now */
			char *number = strdup(known->id);

			if (!number)
				return NULL;
			free(j->id);
			j->id = number;
		}
		if (strcmp(j->id, known->id) == 0) {
			e->next_found = at + 1;
			return j;
		}
	}
	return NULL;
}

struct node_job *node_energy_add_job(struct node_energy *e, const char *manager, const char *id,
				     uint64_t start_ns)
{
	struct node_job *j = NULL;

	if (array_reserve(&e->jobs, &e->job_room, e->job_count, sizeof(*e->jobs)) == 0 &&
	    array_reserve(&e->owners, &e->owner_room, e->job_count, sizeof(*e->owners)) == 0)
		j = calloc(1, sizeof(*j));
	if (!j)
		return NULL;
	j->manager = strdup(manager);
	j->id = strdup(id);
	j->start_ns = start_ns;
	j->uid = -1;
	if (!j->manager || !j->id) {
		free_job(j);
		return NULL;
	}
	e->jobs[e->job_count] = j;
	e->owners[e->job_count++] = &j->owner;
	return j;
}

static uint64_t cpu_time(const struct snapshot_job *job)
{
	return (uint64_t)job->values[METRIC_CPU_USER].number +
	       (uint64_t)job->values[METRIC_CPU_SYSTEM].number;
}

/* When it was there since the snapshot before. */
static void set_there(const struct node_energy *e, const struct snapshot *s,
		      const struct snapshot_job *job, struct node_job *j)
{
	const uint64_t end = job->is_live ? s->boot_ns : MIN(job->job->end_boot_ns, s->boot_ns);

	j->there_from_ns = MAX(e->last_ns ? e->last_ns : s->boot_ns, job->job->start_boot_ns);
	j->there_until_ns = MAX(j->there_from_ns, end);
	j->active_until_ns = job->groupless_ns ? MIN(job->groupless_ns, j->there_until_ns)
					       : j->there_until_ns;
}

/* Its counters count from the reading at which they were opened, so the first interval has none. */
static void count_more(const struct snapshot_job *job, struct node_job *j)
{
	const struct value *cycles = &job->values[METRIC_CPU_CYCLES],
			   *instructions = &job->values[METRIC_CPU_INSTRUCTIONS],
			   *misses = &job->values[METRIC_CPU_LLC_MISSES];
	const struct energy_counts before = j->counts,
				   now = { cycles->number, instructions->number, misses->number };
	const bool is_known = cycles->is_known && instructions->is_known && misses->is_known;

	j->is_counted = is_known && j->was_counted && now.cycles > before.cycles;
	j->counted = (struct energy_counts){ now.cycles - before.cycles,
					     now.instructions - before.instructions,
					     now.llc_misses - before.llc_misses };
	j->was_counted = is_known;
	j->counts = now;
}

/* Jobs with counters divide their joint CPU time by the weight of their counters; others keep
 * their own CPU time. */
static void add_work(struct node_energy *e)
{
	unsigned __int128 packages = 0, memories = 0;
	uint64_t used_ns = 0;

	for (size_t i = 0; i < e->job_count; i++) {
		const struct node_job *j = e->jobs[i];

		if (!j->is_seen || !j->is_counted || j->owner.is_inside)
			continue;
		packages += energy_counter_weight(&j->counted, POOL_PACKAGE);
		memories += energy_counter_weight(&j->counted, POOL_MEMORY);
		used_ns += j->used_ns;
	}
	for (size_t i = 0; i < e->job_count; i++) {
		struct node_job *j = e->jobs[i];
		uint64_t package = j->used_ns, memory = j->used_ns;

		if (!j->is_seen)
			continue;
		if (j->is_counted && packages && memories) {
			package = (uint64_t)(energy_counter_weight(&j->counted, POOL_PACKAGE) *
					     used_ns / packages);
			memory = (uint64_t)(energy_counter_weight(&j->counted, POOL_MEMORY) *
					    used_ns / memories);
		}
		j->owner.cpu.work += package;
		j->owner.memory.work += memory;
	}
}

static uint64_t gpu_energy(const struct snapshot_job *job)
{
	return job_gpus_total(job_gpus_of_parts(&job->parts), METRIC_GPU_ENERGY).number;
}

static void use_more(struct node_energy *e, const struct snapshot *s,
		     const struct snapshot_job *job, struct node_job *j)
{
	const struct value *cores = &job->values[METRIC_CPU_ALLOCATED],
			   *limit = &job->values[METRIC_MEMORY_LIMIT],
			   *usage = &job->values[METRIC_MEMORY_USAGE];
	const uint64_t cpu_ns = MAX(cpu_time(job), j->cpu_ns);
	const uint64_t bytes = limit->is_known	 ? limit->number
			       : usage->is_known ? usage->number
						 : 0;
	uint64_t us;

	set_there(e, s, job, j);
	us = (j->there_until_ns - j->there_from_ns) / NS_OF_A_US;
	j->used_ns = cpu_ns - j->cpu_ns;
	count_more(job, j);
	if (!j->owner.is_inside)
		e->jobs_cpu_ns += cpu_ns - j->cpu_ns;
	j->cpu_ns = cpu_ns;
	j->wants_us = cores->is_known || j->owner.is_inside ? 0 : us;
	if (!j->wants_us)
		j->owner.cpu.allocated += us * (cores->is_known ? cores->number
								: e->machine.cpus * 1000);
	j->owner.memory.allocated += us * (bytes / BYTES_OF_A_KIB);
	j->owner.gpu.work += gpu_energy(job) - MIN(j->gpu_uj, gpu_energy(job));
	j->gpu_uj = gpu_energy(job);
}

static int take_job(struct node_energy *e, const struct snapshot *s, const struct snapshot_job *job)
{
	struct node_job *j = find_job(e, job->job);

	if (!job->values[METRIC_CPU_USER].is_known || !job->values[METRIC_CPU_SYSTEM].is_known)
		return 0;
	if (!j) {
		j = node_energy_add_job(e, job->job->manager, job->job->id,
					job->job->start_boot_ns);
		if (!j)
			return -ENOMEM;
		/* a unit of systemd's is a view of the system */
		j->owner.is_inside = job->job->is_inside ||
				     strcmp(job->job->manager, "systemd") == 0;
		/* earlier work is in no interval */
		if (!e->last_ns || job->job->start_boot_ns < e->last_ns) {
			j->cpu_ns = cpu_time(job);
			j->gpu_uj = gpu_energy(job);
		}
	}
	j->is_seen = true;
	j->start_real_ns = job->job->start_ns;
	j->uid = job->job->uid;
	use_more(e, s, job, j);
	return 0;
}

/* Jobs that may use the whole node, such as a `run`, have no allocation: together they share
 * what is allocated to no other job. */
static void share_free_cores(struct node_energy *e, uint64_t length_us)
{
	unsigned __int128 free = (unsigned __int128)length_us * e->machine.cpus * 1000, wanted = 0;

	for (size_t i = 0; i < e->job_count; i++) {
		const struct node_job *j = e->jobs[i];
		uint64_t had = j->owner.cpu.allocated - j->before.cpu.allocated;

		if (j->is_seen && !j->owner.is_inside) {
			free -= MIN(free, had);
			wanted += j->wants_us;
		}
	}
	for (size_t i = 0; wanted && i < e->job_count; i++) {
		struct node_job *j = e->jobs[i];
		uint64_t most = j->wants_us * e->machine.cpus * 1000;

		if (j->is_seen)
			j->owner.cpu.allocated += MIN(most,
						      (uint64_t)(free * j->wants_us / wanted));
	}
}

static struct uses uses_of(const struct energy_owner *o)
{
	return (struct uses){ o->cpu, o->memory };
}

static int take_jobs(struct node_energy *e, const struct snapshot *s)
{
	uint64_t busy_ns = e->busy_ns, system_ns;
	int r = 0;

	e->busy_before_ns = e->busy_ns;
	e->system_before = uses_of(&e->attribution.system);
	for (size_t i = 0; i < e->job_count; i++) {
		e->jobs[i]->is_seen = false;
		e->jobs[i]->before = uses_of(&e->jobs[i]->owner);
		e->jobs[i]->there_from_ns = e->jobs[i]->there_until_ns = 0;
		e->jobs[i]->active_until_ns = 0;
	}
	for (size_t i = 0; r == 0 && i < s->job_count; i++)
		r = take_job(e, s, &s->jobs[i]);
	share_free_cores(e, e->last_ns ? (s->boot_ns - e->last_ns) / NS_OF_A_US : 0);
	add_work(e);
	(void)e->machine.read_busy(e->machine.root_fd, &busy_ns);
	e->busy_ns = MAX(busy_ns, e->busy_ns);
	if (!e->last_ns)
		e->busy_from_ns = e->busy_ns - MIN(e->busy_ns, e->jobs_cpu_ns);
	/* the node's time comes in ticks, that of jobs does not: a deficit now is a surplus
	 * later */
	system_ns = e->busy_ns - e->busy_from_ns;
	system_ns -= MIN(system_ns, e->jobs_cpu_ns);
	e->attribution.system.cpu.work = MAX(e->attribution.system.cpu.work, system_ns);
	e->attribution.system.memory.work = e->attribution.system.cpu.work;
	return r;
}

/* Not all of its energy is in the ledger. */
static bool has_unsent(const struct node_energy *e, const struct node_job *j)
{
	return e->has_ledger && !j->owner.is_inside &&
	       memcmp(j->sent_uj, j->owner.uj, sizeof(j->sent_uj)) != 0;
}

/* The node's sensor includes the energy of other pools. With GPUs alone, the rest is better
 * divided by CPU time. */
static bool has_parts(const struct node_energy *e)
{
	return e->pools[POOL_PACKAGE].is_open || e->pools[POOL_MEMORY].is_open;
}

/* The node's sensor has not yet reported all of the job's energy. */
static bool has_open(const struct node_energy *e, const struct node_job *j)
{
	const struct energy_owner *o = &j->owner;

	if (!e->pools[POOL_NODE].is_open)
		return false;
	return has_parts(e) ? o->parts_uj > 0
			    : o->cpu.work != o->marks[POOL_NODE].work ||
				      o->cpu.allocated != o->marks[POOL_NODE].allocated;
}

/* The energy of jobs that are gone stays in a sum. */
static void drop_jobs(struct node_energy *e)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->job_count; i++) {
		struct node_job *j = e->jobs[i];

		if (j->is_seen || has_open(e, j) || has_unsent(e, j)) {
			e->jobs[kept] = j;
			e->owners[kept++] = &j->owner;
			continue;
		}
		e->gone_uj += j->owner.is_inside ? 0 : energy_owner_total(&j->owner);
		free_job(j);
	}
	e->job_count = kept;
}

/* ---- sensors ---- */

struct taken *node_energy_find_taken(const struct node_energy *e, const char *source,
				     const char *name)
{
	for (size_t i = 0; i < e->taken_count; i++) {
		struct taken *t = &e->taken[i];

		if (strcmp(t->source, source) == 0 && strcmp(t->name, name) == 0)
			return t;
	}
	return NULL;
}

struct taken *node_energy_taken(struct node_energy *e, const char *source, const char *name)
{
	struct taken *t = node_energy_find_taken(e, source, name);

	if (t)
		return t;
	if (array_reserve(&e->taken, &e->taken_room, e->taken_count, sizeof(*e->taken)) < 0)
		return NULL;
	t = &e->taken[e->taken_count++];
	*t = (struct taken){};
	snprintf(t->source, sizeof(t->source), "%s", source);
	snprintf(t->name, sizeof(t->name), "%s", name);
	return t;
}

static uint64_t energy_at(uint64_t uw, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)uw * ns / 1000000000);
}

struct arrival { /* what a pool received */
	uint64_t uj, gap_uj, idle_uw, until_ns;
	bool has_new, has_interval, knows_idle;
	unsigned int uncertainty_permille;
	const struct energy_sensor *sensor; /* one of them, or NULL */
};

/* An estimate since boot was made of other powers then (cpu_tdp, CPUs): there is no interval. */
static bool is_beyond(const struct energy_sensor *sensor, const struct energy_total *came,
		      uint64_t ns)
{
	return sensor->max_uw && came->total_uj > TICKS_SLACK * energy_at(sensor->max_uw, ns);
}

/* The energy since the previous agent's reading, if the sensor has a counter; else there is no
 * interval. */
static void go_on(struct taken *t, const struct energy_reading *reading)
{
	const struct energy_total *now = &reading->total;
	struct energy_counter c = { .range_uj = now->range_uj };

	t->is_restored = false;
	t->before_uj = t->told_uj;
	t->before_gap_ns = t->told_gap_ns;
	t->is_used &= t->has_raw && now->has_raw;
	if (!t->has_raw || !now->has_raw)
		return;
	energy_counter_take(&c, t->raw_uj, t->boot_ns);
	energy_counter_take(&c, now->raw_uj, reading->boot_ns);
	if (is_beyond(&reading->sensor, &c.total, reading->boot_ns - t->boot_ns)) {
		t->is_used = false;
		return;
	}
	t->before_uj += c.total.total_uj - MIN(now->total_uj, c.total.total_uj);
	t->before_gap_ns += c.total.gap_ns - MIN(now->gap_ns, c.total.gap_ns);
	/* as if it had been opened then: the difference is new */
	t->total_uj = now->total_uj - c.total.total_uj;
	t->gap_uj = now->gap_uj - c.total.gap_uj;
}

/* What is scraped of each, and where its counter is: for an agent after us too. */
static int tell_sensors(struct node_energy *e)
{
	for (size_t i = 0; i < e->readings.count; i++) {
		const struct energy_reading *r = &e->readings.items[i];
		struct taken *t = node_energy_taken(e, r->sensor.source, r->sensor.name);

		if (!t)
			return -ENOMEM;
		if (t->is_restored)
			go_on(t, r);
		t->told_uj = t->before_uj + r->total.total_uj;
		t->told_gap_ns = t->before_gap_ns + r->total.gap_ns;
	}
	return 0;
}

static int take_sensor(struct node_energy *e, const struct energy_reading *reading,
		       struct arrival *to)
{
	struct taken *t = node_energy_taken(e, reading->sensor.source, reading->sensor.name);
	bool is_new;

	if (!t)
		return -ENOMEM;
	is_new = t->is_used && reading->boot_ns > t->boot_ns && !reading->is_stale;
	to->sensor = &reading->sensor;
	to->knows_idle = reading->sensor.idle_uw > 0;
	to->idle_uw += reading->sensor.idle_uw;
	to->uncertainty_permille = MAX(to->uncertainty_permille,
				       reading->sensor.uncertainty_permille);
	to->has_new |= is_new || !t->is_used;
	to->has_interval |= is_new;
	t->pool = energy_pool_of(&reading->sensor);
	t->is_measured = reading->sensor.quality == ENERGY_MEASURED;
	if (is_new) {
		to->uj += reading->total.total_uj - t->total_uj;
		to->gap_uj += reading->total.gap_uj - t->gap_uj;
	}
	if (is_new || !t->is_used) {
		t->total_uj = reading->total.total_uj;
		t->gap_uj = reading->total.gap_uj;
		t->boot_ns = reading->boot_ns;
		t->has_raw = reading->total.has_raw;
		t->raw_uj = reading->total.raw_uj;
		t->is_used = true;
		to->until_ns = MAX(to->until_ns, reading->boot_ns);
	}
	return 0;
}

/* Of components that were read with the reading before, too. */
static bool is_cut(const struct node_energy *e, enum energy_pool which, uint64_t until_ns)
{
	return e->mark_count && (which == POOL_PACKAGE || which == POOL_MEMORY) &&
	       e->pools[which].last_ns >= e->last_ns && until_ns > e->pools[which].last_ns;
}

/* What the node did by a moment since the reading before. */
static uint64_t busy_at(const struct node_energy *e, uint64_t ns)
{
	return e->last_ns
		       ? node_energy_grown(e->busy_before_ns, e->busy_ns, e->last_ns, e->now_ns, ns)
		       : e->busy_ns;
}

static int close_pool(struct node_energy *e, enum energy_pool which, const struct arrival *a)
{
	struct pool *pool = &e->pools[which];
	const uint64_t ns = a->until_ns - MIN(pool->last_ns, a->until_ns);
	struct energy_channel channel = {
		.pool = which,
		.level = a->sensor->level,
		.quality = a->sensor->quality == ENERGY_MEASURED ? ENERGY_ATTRIBUTED
								 : a->sensor->quality,
		.uncertainty_permille = a->uncertainty_permille,
	};
	struct energy_interval interval = { .uj = a->uj, .gap_uj = a->gap_uj };
	const uint64_t busy_ns = busy_at(e, a->until_ns);
	const unsigned __int128 there = which == POOL_MEMORY ? e->machine.memory_kib
							     : e->machine.cpus * 1000;
	uint64_t idle_uw;
	int index;

	snprintf(channel.source, sizeof(channel.source), "%s", a->sensor->source);
	index = attribution_channel(&e->attribution, &channel);
	if (index < 0)
		return 0;
	if (!a->knows_idle)
		idle_power_learn(&pool->idle, a->uj, ns, busy_ns - MIN(pool->busy_ns, busy_ns),
				 e->machine.cpus);
	idle_uw = a->knows_idle ? a->idle_uw : idle_power_get(&pool->idle);
	interval.idle_uj = energy_at(idle_uw, ns);
	interval.capacity = (uint64_t)(there * ns / NS_OF_A_US);
	if (which == POOL_NODE && has_parts(e))
		attribution_close_rest(&e->attribution, (size_t)index, &interval, e->owners,
				       e->job_count);
	else if (is_cut(e, which, a->until_ns))
		node_energy_close_cut(e, (size_t)index, &interval, idle_uw, a->until_ns);
	else if (which != POOL_GPU && e->last_ns && a->until_ns < e->now_ns)
		node_energy_close_late(e, (size_t)index, &interval, a->until_ns);
	else
		attribution_close(&e->attribution, (size_t)index, &interval, e->owners,
				  e->job_count);
	return 0;
}

static int take_pool(struct node_energy *e, enum energy_pool which)
{
	struct pool *pool = &e->pools[which];
	struct arrival a = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < e->readings.count; i++) {
		if (e->counted[i] && energy_pool_of(&e->readings.items[i].sensor) == which)
			r = take_sensor(e, &e->readings.items[i], &a);
	}
	if (r < 0 || !a.sensor || !a.has_new)
		return r;
	if (pool->is_open && a.has_interval)
		r = close_pool(e, which, &a);
	else {
		for (size_t i = 0; i < e->job_count; i++)
			energy_owner_begin_pool(&e->jobs[i]->owner, which);
		energy_owner_begin_pool(&e->attribution.system, which);
		if (which == POOL_NODE)
			attribution_begin_rest(&e->attribution, e->owners, e->job_count);
	}
	pool->is_open = true;
	pool->last_ns = a.until_ns;
	pool->busy_ns = busy_at(e, a.until_ns);
	return r;
}

/* Where it is among the readings; their count: it said nothing. */
static size_t index_of(const struct node_energy *e, const struct taken *t)
{
	size_t i = 0;

	while (i < e->readings.count &&
	       (strcmp(e->readings.items[i].sensor.source, t->source) != 0 ||
		strcmp(e->readings.items[i].sensor.name, t->name) != 0))
		i++;
	return i;
}

/* Another sensor has the same energy. */
static bool is_replaced(const struct node_energy *e, const struct taken *t)
{
	for (size_t i = 0; i < e->readings.count; i++) {
		const struct energy_sensor *s = &e->readings.items[i].sensor;

		if (e->counted[i] && s->quality == ENERGY_MEASURED &&
		    energy_pool_of(s) == t->pool &&
		    (strcmp(s->source, t->source) != 0 ||
		     (t->pool == POOL_NODE && strcmp(s->name, t->name) != 0)))
			return true;
	}
	return false;
}

/*
 * A sensor that is silent for a moment keeps its place and its pool: its next value covers that
 * time. After a longer silence it is dropped, so that it does not repeat what an estimate covered
 * meanwhile.
 */
static void hold_silent(struct node_energy *e, bool ret_held[POOL_COUNT])
{
	for (size_t i = 0; i < e->taken_count; i++) {
		struct taken *t = &e->taken[i];
		const size_t at = index_of(e, t);
		const bool is_there = at < e->readings.count;

		if (!t->is_used || t->is_restored || (is_there && !e->readings.items[at].is_stale))
			continue;
		t->is_used = e->now_ns - t->boot_ns <= SILENCE_MAX_NS && !is_replaced(e, t);
		if (is_there)
			e->counted[at] &= t->is_used;
		else
			ret_held[t->pool] |= t->is_used && t->is_measured;
	}
	for (size_t i = 0; i < e->readings.count; i++) {
		const struct energy_sensor *s = &e->readings.items[i].sensor;

		e->counted[i] &= s->quality != ENERGY_ESTIMATED || !ret_held[energy_pool_of(s)];
	}
}

/* What was counted and is no longer: another sensor took its place. */
static void forget_uncounted(struct node_energy *e, const bool is_held[POOL_COUNT])
{
	bool is_open[POOL_COUNT] = {};

	for (size_t i = 0; i < e->readings.count; i++) {
		const struct energy_sensor *sensor = &e->readings.items[i].sensor;
		struct taken *t = e->counted[i]
					  ? NULL
					  : node_energy_taken(e, sensor->source, sensor->name);

		if (t)
			t->is_used = false;
		if (e->counted[i])
			is_open[energy_pool_of(sensor)] = true;
	}
	for (size_t pool = 0; pool < POOL_COUNT; pool++)
		e->pools[pool].is_open &= is_open[pool] || is_held[pool];
}

/* ---- a reading ---- */

static const enum energy_part pool_parts[POOL_COUNT] = {
	[POOL_PACKAGE] = ENERGY_PACKAGE,
	[POOL_MEMORY] = ENERGY_MEMORY,
	[POOL_GPU] = ENERGY_GPU,
	[POOL_NODE] = ENERGY_ALL,
};

static uint64_t estimated_of(const struct node_energy *e, const struct energy_owner *o)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < e->attribution.channel_count; i++)
		sum += e->attribution.channels[i].quality == ENERGY_ESTIMATED ? o->uj[i] : 0;
	return sum;
}

static int put_entries(const struct node_energy *e, const struct energy_owner *o,
		       struct snapshot_job *job)
{
	const struct attribution *a = &e->attribution;
	struct energy energy = { .is_known = true };
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->channel_count; i++) {
		const struct energy_channel *c = &a->channels[i];
		struct energy_entry entry = {
			.level = c->level,
			.part = pool_parts[c->pool],
			.quality = c->quality,
			.uncertainty_permille = c->uncertainty_permille,
			.uj = o->uj[i],
		};

		if (!entry.uj)
			continue;
		memcpy(entry.source, c->source, sizeof(entry.source));
		strncpy(entry.idle_policy, energy_policy_name(a->policy),
			sizeof(entry.idle_policy) - 1);
		r = energy_add(&energy, &entry);
	}
	if (r == 0)
		r = parts_put(&job->parts, &energy_section, &energy);
	section_clear(&energy_section, &energy);
	return r;
}

int node_energy_show(struct node_energy *e, struct snapshot *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->job_count; i++) {
		struct snapshot_job *job = &s->jobs[i];
		const struct node_job *j = find_job(e, job->job);

		if (!j || !e->attribution.channel_count)
			continue;
		job->values[METRIC_ENERGY] = (struct value){ energy_owner_total(&j->owner), true };
		job->values[METRIC_ENERGY_IDLE] = (struct value){ j->owner.idle_uj, true };
		job->values[METRIC_ENERGY_ESTIMATED] = (struct value){ estimated_of(e, &j->owner),
								       true };
		r = put_entries(e, &j->owner, job);
	}
	return r;
}

int node_energy_take(struct node_energy *e, const struct energy_readings *readings,
		     struct snapshot *s)
{
	static const enum energy_pool order[] = { POOL_PACKAGE, POOL_MEMORY, POOL_GPU, POOL_NODE };
	bool is_held[POOL_COUNT] = {};
	int r;

	e->now_ns = s->boot_ns;
	energy_readings_clear(&e->readings);
	r = energy_readings_add_all(&e->readings, readings);
	if (r < 0)
		return r;
	energy_choose(&e->readings, e->counted);
	e->attribution.idle.gpu.work = MAX(e->attribution.idle.gpu.work, readings->unheld_uj);
	r = tell_sensors(e);
	hold_silent(e, is_held);
	forget_uncounted(e, is_held);
	if (r == 0)
		r = take_jobs(e, s);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(order); i++)
		r = take_pool(e, order[i]);
	e->mark_count = 0;
	if (r == 0)
		r = node_energy_show(e, s);
	if (r == 0)
		drop_jobs(e);
	e->last_ns = s->boot_ns;
	return r;
}

/* Only sensors that were in the first reading: the energy of others since then is not known. */
static int keep_begun(const struct node_energy *e, const struct energy_readings *readings,
		      struct energy_readings *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < readings->count; i++) {
		const struct energy_sensor *s = &readings->items[i].sensor;

		if (node_energy_find_taken(e, s->source, s->name))
			r = energy_readings_add(ret, &readings->items[i]);
	}
	return r;
}

int node_energy_take_run(struct node_energy *e, const struct energy_readings *readings,
			 uint64_t start_boot_ns, uint64_t end_boot_ns, struct record *record)
{
	struct job facts = { .manager = (char *)"run", .id = (char *)"", .uid = -1 };
	struct snapshot_job job = { .job = &facts };
	struct snapshot s = { .boot_ns = start_boot_ns, .jobs = &job, .job_count = record != NULL };
	_cleanup_(energy_readings_clear) struct energy_readings begun = {};
	struct job_gpus gpus = {};
	int r = record ? keep_begun(e, readings, &begun) : 0;

	if (r == 0 && record)
		r = section_copy(&gpu_section, &gpus, job_gpus_of(record));
	if (r == 0 && gpus.count)
		r = parts_put(&job.parts, &gpu_section, &gpus);
	job_gpus_clear(&gpus);
	if (record) {
		facts.start_boot_ns = start_boot_ns;
		facts.end_boot_ns = s.boot_ns = end_boot_ns;
		memcpy(job.values, record->reading.values, sizeof(job.values));
	}
	if (r == 0)
		r = node_energy_take(e, record ? &begun : readings, &s);
	for (size_t id = METRIC_ENERGY; r == 0 && record && id <= METRIC_ENERGY_ESTIMATED; id++)
		record->reading.values[id] = job.values[id];
	if (r == 0 && record)
		r = parts_copy_to(&job.parts, record);
	parts_clear(&job.parts);
	return r;
}

/* ---- what is told ---- */

static void put_decimal(struct document *d, const char *key, bool is_known, uint64_t number,
			enum metric_unit unit)
{
	document_put_known(d, key, is_known, number, metric_unit_places(unit));
}

/* Sums as scraped: they continue those of the previous agent. */
static void format_sensor(const struct node_energy *e, size_t i, struct document *d)
{
	const struct energy_reading *r = &e->readings.items[i];
	const struct energy_sensor *s = &r->sensor;
	const struct taken *t = node_energy_find_taken(e, s->source, s->name);

	document_begin_flat_map(d);
	document_put_string(d, "source", s->source);
	document_put_string(d, "name", s->name);
	document_put_string(d, "level", energy_level_name(s->level));
	document_put_string(d, "component", energy_part_name(s->part));
	document_put_string(d, "quality", energy_quality_name(s->quality));
	document_put_boolean(d, "counted", e->counted[i]);
	document_put_boolean(d, "stale", r->is_stale);
	put_decimal(d, "watts", r->total.has_power, r->total.power_uw, UNIT_WATTS);
	put_decimal(d, "joules", t != NULL, t ? t->told_uj : 0, UNIT_JOULES);
	put_decimal(d, "gap_seconds", t != NULL, t ? t->told_gap_ns : 0, UNIT_SECONDS);
	put_decimal(d, "idle_watts", s->idle_uw, s->idle_uw, UNIT_WATTS);
	document_put_known(d, "uncertainty", s->uncertainty_permille, s->uncertainty_permille, 3);
	document_end_map(d);
}

static uint64_t jobs_total(const struct node_energy *e)
{
	uint64_t uj = e->gone_uj;

	for (size_t i = 0; i < e->job_count; i++)
		uj += e->owners[i]->is_inside ? 0 : energy_owner_total(e->owners[i]);
	return uj;
}

void node_energy_format(struct node_energy *e, struct document *d)
{
	static const char *const names[OTHERS_COUNT] = { "system", "idle", "unattributed" };
	const struct attribution *a = &e->attribution;

	document_begin_map(d);
	document_put_string(d, "schema", "jobmeter.energy/1");
	document_put_string(d, "idle_policy", energy_policy_name(a->policy));
	document_begin_list_of(d, "sensors");
	for (size_t i = 0; i < e->readings.count; i++)
		format_sensor(e, i, d);
	document_end_list(d);
	document_begin_list_of(d, "learned");
	for (size_t i = 0; i < POOL_COUNT; i++) {
		if (e->pools[i].is_open && e->pools[i].idle.greatest_uw) {
			const struct pool *pool = &e->pools[i];

			document_begin_flat_map(d);
			document_put_string(d, "component", energy_part_name(pool_parts[i]));
			put_decimal(d, "idle_watts", pool->idle.greatest_uw,
				    idle_power_get(&pool->idle), UNIT_WATTS);
			document_put_unsigned(d, "idle_intervals", pool->idle.count);
			document_end_map(d);
		}
	}
	document_end_list(d);
	document_begin_map_of(d, "balance");
	put_decimal(d, "jobs_joules", true, jobs_total(e), UNIT_JOULES);
	for (size_t i = 0; i < OTHERS_COUNT; i++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_joules", names[i]);
		put_decimal(d, key, true, energy_owner_total(node_energy_other(e, i)), UNIT_JOULES);
	}
	put_decimal(d, "came_joules", true, a->came_uj, UNIT_JOULES);
	document_put_signed(d, "unbalanced_microjoules",
			    attribution_unbalanced(a, e->owners, e->job_count, e->gone_uj));
	document_put_unsigned(d, "inconsistent_intervals", a->inconsistent);
	document_put_unsigned(d, "edges", e->edges);
	document_end_map(d);
	document_end_map(d);
}

/* ---- what is scraped ---- */

static int put_sensor(const struct energy_reading *reading, const struct taken *t,
		      struct samples *to)
{
	const struct energy_sensor *s = &reading->sensor;
	const char *labels[SAMPLE_LABELS_MAX] = { energy_level_name(s->level), s->name, s->source,
						  energy_quality_name(s->quality) };
	int r = samples_add(to, METRIC_NODE_ENERGY, labels, t->told_uj);

	if (r == 0 && reading->total.has_power && !reading->is_stale)
		r = samples_add(to, METRIC_NODE_POWER, labels, reading->total.power_uw);
	return r < 0 ? r : samples_add(to, METRIC_NODE_ENERGY_GAP, labels, t->told_gap_ns);
}

int node_energy_put_samples(const struct node_energy *e, struct samples *to)
{
	const struct attribution *a = &e->attribution;
	const struct {
		const char *name;
		uint64_t uj;
	} owners[] = {
		{ "jobs", jobs_total(e) },
		{ "system", energy_owner_total(&a->system) },
		{ "idle", energy_owner_total(&a->idle) },
		{ "unattributed", energy_owner_total(&a->unattributed) },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < e->readings.count; i++) {
		const struct energy_reading *reading = &e->readings.items[i];
		const struct taken *t = node_energy_find_taken(e, reading->sensor.source,
							       reading->sensor.name);

		/* an estimate that is not needed is no news */
		if (t && (e->counted[i] || reading->sensor.quality == ENERGY_MEASURED))
			r = put_sensor(reading, t, to);
	}
	if (!a->channel_count)
		return r;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(owners); i++) {
		const char *labels[SAMPLE_LABELS_MAX] = { owners[i].name };

		r = samples_add(to, METRIC_NODE_ENERGY_OWNER, labels, owners[i].uj);
	}
	return r < 0 ? r
		     : samples_add_plain(to, METRIC_NODE_ENERGY_UNBALANCED,
					 (uint64_t)llabs(attribution_unbalanced(
						 a, e->owners, e->job_count, e->gone_uj)));
}
