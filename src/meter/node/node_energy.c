/* SPDX-License-Identifier: MIT */
#include "node/node_energy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/macro.h"
#include "energy/idle_power.h"
#include "energy/sensor_choice.h"
#include "model/sample.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/snapshot.h"
#include "sources/machine.h"

#define NS_OF_A_US 1000
#define BYTES_OF_A_KIB 1024

/* What was taken in of a sensor. */
struct taken {
	char source[ENERGY_SOURCE_SIZE], name[ENERGY_NAME_SIZE];
	uint64_t total_uj, gap_uj, boot_ns;
	bool is_used; /* it is counted, since the reading before at least */
};

struct node_job {
	struct energy_owner owner;
	char *manager, *id;
	uint64_t start_ns; /* by CLOCK_BOOTTIME; one of several of that id */
	uint64_t cpu_ns; /* that it has used so far */
	bool is_seen; /* in the snapshot that is being taken */
};

struct pool {
	bool is_open;
	uint64_t last_ns; /* when it was closed, by CLOCK_BOOTTIME */
	uint64_t busy_ns; /* of the node, by then */
	struct idle_power idle;
};

struct node_energy {
	int root_fd;
	uint64_t cpus, memory_kib;
	struct attribution attribution;
	struct pool pools[POOL_COUNT];
	struct energy_readings readings; /* the last */
	bool counted[ENERGY_SENSORS_MAX]; /* of these */
	struct taken *taken;
	size_t taken_count, taken_room;
	struct node_job **jobs;
	struct energy_owner **owners; /* theirs, in the same order */
	size_t job_count, job_room, owner_room;
	uint64_t gone_uj; /* of jobs that are no longer there */
	uint64_t last_ns; /* of the snapshot before; 0: this is the first */
	uint64_t busy_ns, busy_from_ns, jobs_cpu_ns;
};

int node_energy_new(int root_fd, enum energy_policy policy, struct node_energy **ret)
{
	struct node_energy *e = calloc(1, sizeof(*e));
	struct machine machine;

	if (!e)
		return -ENOMEM;
	machine_read(root_fd, &machine);
	e->root_fd = root_fd;
	e->cpus = machine.cpus_online;
	e->memory_kib = machine.memory_bytes / BYTES_OF_A_KIB;
	e->attribution.policy = policy;
	*ret = e;
	return 0;
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

static struct node_job *find_job(struct node_energy *e, const struct job *known)
{
	for (size_t i = 0; i < e->job_count; i++) {
		struct node_job *j = e->jobs[i];

		if (j->start_ns == known->start_boot_ns && strcmp(j->id, known->id) == 0 &&
		    strcmp(j->manager, known->manager) == 0)
			return j;
	}
	return NULL;
}

static struct node_job *add_job(struct node_energy *e, const struct job *known)
{
	struct node_job *j = NULL;

	if (array_reserve(&e->jobs, &e->job_room, e->job_count, sizeof(*e->jobs)) == 0 &&
	    array_reserve(&e->owners, &e->owner_room, e->job_count, sizeof(*e->owners)) == 0)
		j = calloc(1, sizeof(*j));
	if (!j)
		return NULL;
	j->manager = strdup(known->manager);
	j->id = strdup(known->id);
	j->start_ns = known->start_boot_ns;
	if (!j->manager || !j->id) {
		free_job(j);
		return NULL;
	}
	/* a unit of systemd's is a view of the system */
	j->owner.is_inside = known->is_inside || strcmp(known->manager, "systemd") == 0;
	e->jobs[e->job_count] = j;
	e->owners[e->job_count++] = &j->owner;
	return j;
}

static bool has_cpu_time(const struct snapshot_job *job)
{
	return job->values[METRIC_CPU_USER].is_known && job->values[METRIC_CPU_SYSTEM].is_known;
}

static uint64_t cpu_time(const struct snapshot_job *job)
{
	return (uint64_t)job->values[METRIC_CPU_USER].number +
	       (uint64_t)job->values[METRIC_CPU_SYSTEM].number;
}

/* How long it was there since the snapshot before. */
static uint64_t time_there(const struct node_energy *e, const struct snapshot *s,
			   const struct snapshot_job *job)
{
	const uint64_t from = MAX(e->last_ns ? e->last_ns : s->boot_ns, job->job->start_boot_ns),
		       end = job->is_live ? s->boot_ns : MIN(job->job->end_boot_ns, s->boot_ns);

	return end > from ? end - from : 0;
}

static void use_more(struct node_energy *e, const struct snapshot *s,
		     const struct snapshot_job *job, struct node_job *j)
{
	const struct value *cores = &job->values[METRIC_CPU_ALLOCATED],
			   *limit = &job->values[METRIC_MEMORY_LIMIT],
			   *usage = &job->values[METRIC_MEMORY_USAGE];
	const uint64_t us = time_there(e, s, job) / NS_OF_A_US;
	const uint64_t cpu_ns = MAX(cpu_time(job), j->cpu_ns);
	const uint64_t bytes = limit->is_known	 ? limit->number
			       : usage->is_known ? usage->number
						 : 0;

	j->owner.cpu.work += cpu_ns - j->cpu_ns;
	j->owner.memory.work = j->owner.cpu.work;
	if (!j->owner.is_inside)
		e->jobs_cpu_ns += cpu_ns - j->cpu_ns;
	j->cpu_ns = cpu_ns;
	/* who may use all of the node is no manager's job: it is told none */
	j->owner.cpu.allocated += us * (cores->is_known ? cores->number : e->cpus * 1000);
	j->owner.memory.allocated += us * (bytes / BYTES_OF_A_KIB);
}

static int take_job(struct node_energy *e, const struct snapshot *s, const struct snapshot_job *job)
{
	struct node_job *j = find_job(e, job->job);

	if (!has_cpu_time(job))
		return 0;
	if (!j) {
		j = add_job(e, job->job);
		if (!j)
			return -ENOMEM;
		/* what it did before we looked is in no interval */
		if (!e->last_ns || job->job->start_boot_ns < e->last_ns)
			j->cpu_ns = cpu_time(job);
	}
	j->is_seen = true;
	use_more(e, s, job, j);
	return 0;
}

static int take_jobs(struct node_energy *e, const struct snapshot *s)
{
	uint64_t busy_ns = e->busy_ns, system_ns;
	int r = 0;

	for (size_t i = 0; i < e->job_count; i++)
		e->jobs[i]->is_seen = false;
	for (size_t i = 0; r == 0 && i < s->job_count; i++)
		r = take_job(e, s, &s->jobs[i]);
	(void)machine_read_busy(e->root_fd, &busy_ns);
	e->busy_ns = MAX(busy_ns, e->busy_ns);
	if (!e->last_ns)
		e->busy_from_ns = e->busy_ns - MIN(e->busy_ns, e->jobs_cpu_ns);
	/* the node's time comes in ticks, and jobs' do not: what is less than theirs now is more
	 * later */
	system_ns = e->busy_ns - e->busy_from_ns;
	system_ns -= MIN(system_ns, e->jobs_cpu_ns);
	e->attribution.system.cpu.work = MAX(e->attribution.system.cpu.work, system_ns);
	e->attribution.system.memory.work = e->attribution.system.cpu.work;
	return r;
}

/* Of jobs that nobody shows any more the sum stays. */
static void drop_jobs(struct node_energy *e)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->job_count; i++) {
		struct node_job *j = e->jobs[i];

		if (j->is_seen || j->owner.parts_uj) {
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

static struct taken *find_taken(struct node_energy *e, const struct energy_sensor *sensor)
{
	struct taken *t;

	for (size_t i = 0; i < e->taken_count; i++) {
		t = &e->taken[i];
		if (strcmp(t->source, sensor->source) == 0 && strcmp(t->name, sensor->name) == 0)
			return t;
	}
	if (array_reserve(&e->taken, &e->taken_room, e->taken_count, sizeof(*e->taken)) < 0)
		return NULL;
	t = &e->taken[e->taken_count++];
	*t = (struct taken){};
	snprintf(t->source, sizeof(t->source), "%s", sensor->source);
	snprintf(t->name, sizeof(t->name), "%s", sensor->name);
	return t;
}

struct arrival { /* what came into a pool */
	uint64_t uj, gap_uj, idle_uw, until_ns;
	bool has_new, knows_idle;
	unsigned int uncertainty_permille;
	const struct energy_sensor *sensor; /* one of them; NULL: there is none */
};

static int take_sensor(struct node_energy *e, const struct energy_reading *reading,
		       struct arrival *to)
{
	struct taken *t = find_taken(e, &reading->sensor);
	const bool is_new = t && t->is_used && reading->boot_ns > t->boot_ns && !reading->is_stale;

	if (!t)
		return -ENOMEM;
	to->sensor = &reading->sensor;
	to->knows_idle = reading->sensor.idle_uw > 0;
	to->idle_uw += reading->sensor.idle_uw;
	to->uncertainty_permille = MAX(to->uncertainty_permille,
				       reading->sensor.uncertainty_permille);
	to->has_new |= is_new || !t->is_used;
	if (is_new) {
		to->uj += reading->total.total_uj - t->total_uj;
		to->gap_uj += reading->total.gap_uj - t->gap_uj;
	}
	if (is_new || !t->is_used) {
		*t = (struct taken){ .total_uj = reading->total.total_uj,
				     .gap_uj = reading->total.gap_uj,
				     .boot_ns = reading->boot_ns,
				     .is_used = true };
		snprintf(t->source, sizeof(t->source), "%s", reading->sensor.source);
		snprintf(t->name, sizeof(t->name), "%s", reading->sensor.name);
		to->until_ns = MAX(to->until_ns, reading->boot_ns);
	}
	return 0;
}

static void begin_pool(struct node_energy *e, enum energy_pool pool)
{
	for (size_t i = 0; i < e->job_count; i++)
		energy_owner_begin_pool(&e->jobs[i]->owner, pool);
	energy_owner_begin_pool(&e->attribution.system, pool);
	if (pool == POOL_NODE)
		attribution_begin_rest(&e->attribution, e->owners, e->job_count);
}

static uint64_t energy_at(uint64_t uw, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)uw * ns / 1000000000);
}

/* Other pools are there, whose energy the node's sensor has in its own. */
static bool has_parts(const struct node_energy *e)
{
	return e->pools[POOL_PACKAGE].is_open || e->pools[POOL_MEMORY].is_open ||
	       e->pools[POOL_GPU].is_open;
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
	int index;

	snprintf(channel.source, sizeof(channel.source), "%s", a->sensor->source);
	index = attribution_channel(&e->attribution, &channel);
	if (index < 0)
		return 0;
	if (!a->knows_idle)
		idle_power_learn(&pool->idle, a->uj, ns, e->busy_ns - pool->busy_ns, e->cpus);
	interval.idle_uj = energy_at(a->knows_idle ? a->idle_uw : idle_power_get(&pool->idle), ns);
	interval.capacity = (which == POOL_MEMORY ? e->memory_kib : e->cpus * 1000) * ns /
			    NS_OF_A_US;
	if (which == POOL_NODE && has_parts(e))
		attribution_close_rest(&e->attribution, (size_t)index, &interval, e->owners,
				       e->job_count);
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
	if (pool->is_open)
		r = close_pool(e, which, &a);
	else
		begin_pool(e, which);
	pool->is_open = true;
	pool->last_ns = a.until_ns;
	pool->busy_ns = e->busy_ns;
	return r;
}

/* What was counted and is no longer: another sensor took its place. */
static void forget_uncounted(struct node_energy *e)
{
	bool is_open[POOL_COUNT] = {};

	for (size_t i = 0; i < e->readings.count; i++) {
		const struct energy_sensor *sensor = &e->readings.items[i].sensor;
		struct taken *t = e->counted[i] ? NULL : find_taken(e, sensor);

		if (t)
			t->is_used = false;
		if (e->counted[i])
			is_open[energy_pool_of(sensor)] = true;
	}
	for (size_t pool = 0; pool < POOL_COUNT; pool++)
		e->pools[pool].is_open &= is_open[pool];
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

static void put_values(const struct node_energy *e, const struct energy_owner *o,
		       struct snapshot_job *job)
{
	job->values[METRIC_ENERGY] = (struct value){ energy_owner_total(o), true };
	job->values[METRIC_ENERGY_IDLE] = (struct value){ o->idle_uj, true };
	job->values[METRIC_ENERGY_ESTIMATED] = (struct value){ estimated_of(e, o), true };
}

static int put_entries(const struct node_energy *e, const struct energy_owner *o,
		       struct snapshot_job *job)
{
	const struct attribution *a = &e->attribution;
	struct energy energy = { .is_known = true };

	for (size_t i = 0; i < a->channel_count; i++) {
		const struct energy_channel *c = &a->channels[i];
		struct energy_entry entry = {
			.level = c->level,
			.part = pool_parts[c->pool],
			.quality = c->quality,
			.uncertainty_permille = c->uncertainty_permille,
			.uj = o->uj[i],
		};

		memcpy(entry.source, c->source, sizeof(entry.source));
		snprintf(entry.idle_policy, sizeof(entry.idle_policy), "%s",
			 energy_policy_name(a->policy));
		if (entry.uj)
			energy_add(&energy, &entry);
	}
	return parts_put(&job->parts, &energy_section, &energy);
}

static int put_jobs(struct node_energy *e, struct snapshot *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->job_count; i++) {
		struct snapshot_job *job = &s->jobs[i];
		const struct node_job *j = find_job(e, job->job);

		if (!j || !e->attribution.channel_count)
			continue;
		put_values(e, &j->owner, job);
		r = put_entries(e, &j->owner, job);
	}
	return r;
}

int node_energy_take(struct node_energy *e, const struct energy_readings *readings,
		     struct snapshot *s)
{
	static const enum energy_pool order[] = { POOL_PACKAGE, POOL_MEMORY, POOL_GPU, POOL_NODE };
	int r;

	energy_readings_clear(&e->readings);
	r = energy_readings_add_all(&e->readings, readings);
	if (r < 0)
		return r;
	energy_choose(&e->readings, e->counted);
	forget_uncounted(e);
	r = take_jobs(e, s);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(order); i++)
		r = take_pool(e, order[i]);
	if (r == 0)
		r = put_jobs(e, s);
	if (r == 0)
		drop_jobs(e);
	e->last_ns = s->boot_ns;
	return r;
}

/* ---- what is scraped ---- */

static int put_sensor(const struct energy_reading *reading, struct samples *to)
{
	const struct energy_sensor *s = &reading->sensor;
	const char *labels[SAMPLE_LABELS_MAX] = { energy_level_name(s->level), s->name, s->source,
						  energy_quality_name(s->quality) };
	int r = samples_add(to, METRIC_NODE_ENERGY, labels, reading->total.total_uj);

	if (r == 0 && reading->total.has_power && !reading->is_stale)
		r = samples_add(to, METRIC_NODE_POWER, labels, reading->total.power_uw);
	return r < 0 ? r : samples_add(to, METRIC_NODE_ENERGY_GAP, labels, reading->total.gap_ns);
}

static int put_owner(const char *name, uint64_t uj, struct samples *to)
{
	const char *labels[SAMPLE_LABELS_MAX] = { name };

	return samples_add(to, METRIC_NODE_ENERGY_OWNER, labels, uj);
}

int node_energy_put_samples(const struct node_energy *e, struct samples *to)
{
	const struct attribution *a = &e->attribution;
	uint64_t jobs_uj = e->gone_uj;
	int r = 0;

	for (size_t i = 0; r == 0 && i < e->readings.count; i++) {
		/* an estimate that is not needed is no news */
		if (e->counted[i] || e->readings.items[i].sensor.quality == ENERGY_MEASURED)
			r = put_sensor(&e->readings.items[i], to);
	}
	if (!a->channel_count)
		return r;
	for (size_t i = 0; i < e->job_count; i++)
		jobs_uj += e->owners[i]->is_inside ? 0 : energy_owner_total(e->owners[i]);
	if (r == 0)
		r = put_owner("jobs", jobs_uj, to);
	if (r == 0)
		r = put_owner("system", energy_owner_total(&a->system), to);
	if (r == 0)
		r = put_owner("idle", energy_owner_total(&a->idle), to);
	if (r == 0)
		r = put_owner("unattributed", energy_owner_total(&a->unattributed), to);
	return r < 0 ? r
		     : samples_add_plain(to, METRIC_NODE_ENERGY_UNBALANCED,
					 (uint64_t)llabs(attribution_unbalanced(
						 a, e->owners, e->job_count, e->gone_uj)));
}
