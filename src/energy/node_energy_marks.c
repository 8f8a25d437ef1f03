/* SPDX-License-Identifier: MIT */
/* Edges of jobs within an interval. */
#include "basic/macro.h"
#include "energy/sensor_choice.h"
#include "energy/node_energy_internal.h"

#define NS_OF_A_SECOND 1000000000
#define NS_OF_A_US 1000

/* ---- a mark ---- */

void node_energy_mark(struct node_energy *e, const struct energy_readings *readings)
{
	struct mark mark = {};

	for (size_t i = 0; i < readings->count; i++) {
		const struct energy_reading *r = &readings->items[i];
		const struct taken *t = node_energy_find_taken(e, r->sensor.source, r->sensor.name);

		if (!t || !t->is_used || t->is_restored || r->total.total_uj < t->total_uj)
			continue;
		mark.uj[energy_pool_of(&r->sensor)] += r->total.total_uj - t->total_uj;
		mark.has[energy_pool_of(&r->sensor)] = true;
		mark.ns = MAX(mark.ns, r->boot_ns);
	}
	if (!mark.ns || e->mark_count == MARKS_MAX)
		return;
	e->marks[e->mark_count++] = mark;
	e->edges++;
}

/* ---- an interval that is cut ---- */

static uint64_t part_of(uint64_t whole, uint64_t ns, uint64_t of_ns)
{
	return (uint64_t)((unsigned __int128)whole * ns / of_ns);
}

uint64_t node_energy_grown(uint64_t mark, uint64_t whole, uint64_t from_ns, uint64_t until_ns,
			   uint64_t ns)
{
	if (ns >= until_ns)
		return whole;
	return ns <= from_ns ? mark
			     : mark + part_of(whole - mark, ns - from_ns, until_ns - from_ns);
}

/* The part from @from_ns to @ns; @ns UINT64_MAX: all that is left. */
static void use_until(struct node_energy *e, enum energy_pool pool, const struct energy_use *system,
		      uint64_t from_ns, uint64_t ns, uint64_t until_ns)
{
	struct energy_owner *o = &e->attribution.system;

	energy_owner_use(o, pool)->work = node_energy_grown(o->marks[pool].work, system->work,
							    from_ns, until_ns, ns);
	for (size_t i = 0; i < e->job_count; i++) {
		struct node_job *j = e->jobs[i];
		const struct energy_use *mark = &j->owner.marks[pool];
		const uint64_t since_ns = MAX(from_ns, j->there_from_ns);

		*energy_owner_use(&j->owner, pool) = (struct energy_use){
			node_energy_grown(mark->work, j->whole.work, since_ns, j->active_until_ns,
					  ns),
			node_energy_grown(mark->allocated, j->whole.allocated, since_ns,
					  j->there_until_ns, ns),
		};
	}
}

void node_energy_close_cut(struct node_energy *e, size_t channel,
			   const struct energy_interval *whole, uint64_t idle_uw, uint64_t until_ns)
{
	const enum energy_pool pool = e->attribution.channels[channel].pool;
	const struct energy_use system = *energy_owner_use(&e->attribution.system, pool);
	uint64_t from_ns = e->pools[pool].last_ns, given_uj = 0;
	const uint64_t whole_ns = until_ns - from_ns;

	for (size_t i = 0; i < e->job_count; i++)
		e->jobs[i]->whole = *energy_owner_use(&e->jobs[i]->owner, pool);
	for (size_t i = 0; i <= e->mark_count; i++) {
		const bool is_last = i == e->mark_count;
		const uint64_t ns = is_last ? until_ns : e->marks[i].ns,
			       uj = is_last ? whole->uj : MIN(e->marks[i].uj[pool], whole->uj);
		struct energy_interval part = { .uj = uj - given_uj };

		if (!is_last &&
		    (!e->marks[i].has[pool] || ns <= from_ns || ns >= until_ns || uj < given_uj))
			continue;
		part.gap_uj = is_last ? whole->gap_uj : 0;
		part.idle_uj = part_of(idle_uw, ns - from_ns, NS_OF_A_SECOND);
		part.capacity = part_of(whole->capacity, ns - from_ns, whole_ns);
		use_until(e, pool, &system, from_ns, is_last ? UINT64_MAX : ns, until_ns);
		attribution_close(&e->attribution, channel, &part, e->owners, e->job_count);
		given_uj = uj;
		from_ns = ns;
	}
}

/* ---- an interval that ended before the reading ---- */

static const struct energy_use *before_of(const struct uses *uses, enum energy_pool pool)
{
	return pool == POOL_MEMORY ? &uses->memory : &uses->cpu;
}

/* Nobody did less than is divided already. */
static uint64_t no_less(uint64_t number, uint64_t mark)
{
	return (int64_t)(number - mark) < 0 ? mark : number;
}

void node_energy_close_late(struct node_energy *e, size_t channel,
			    const struct energy_interval *interval, uint64_t until_ns)
{
	const enum energy_pool pool = e->attribution.channels[channel].pool;
	struct energy_owner *s = &e->attribution.system;
	const struct energy_use system = *energy_owner_use(s, pool);
	const uint64_t done = node_energy_grown(before_of(&e->system_before, pool)->work,
						system.work, e->last_ns, e->now_ns, until_ns);

	energy_owner_use(s, pool)->work = no_less(done, s->marks[pool].work);
	for (size_t i = 0; i < e->job_count; i++) {
		struct node_job *j = e->jobs[i];
		const struct energy_use *before = before_of(&j->before, pool),
					*mark = &j->owner.marks[pool];
		struct energy_use *use = energy_owner_use(&j->owner, pool);

		j->whole = *use;
		use->work = no_less(node_energy_grown(before->work, j->whole.work, j->there_from_ns,
						      j->active_until_ns, until_ns),
				    mark->work);
		use->allocated = no_less(node_energy_grown(before->allocated, j->whole.allocated,
							   j->there_from_ns, j->there_until_ns,
							   until_ns),
					 mark->allocated);
	}
	attribution_close(&e->attribution, channel, interval, e->owners, e->job_count);
	*energy_owner_use(s, pool) = system;
	for (size_t i = 0; i < e->job_count; i++)
		*energy_owner_use(&e->jobs[i]->owner, pool) = e->jobs[i]->whole;
}
