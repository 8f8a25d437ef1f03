/* SPDX-License-Identifier: MIT */
/*
 * What went through the node's ports while it was one job's: a port does not tell whose its packets
 * are, so they are a job's only where nobody else's can be among them.  Of a `run` they are told as
 * what they are, the whole node's while it ran.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"
#include "model/document.h"
#include "model/json_place.h"
#include "jobs/registry_internal.h"
#include "model/shape.h"

/* It has the node with whoever is logged in. */
static bool is_run(const struct registry_job *j)
{
	return strcmp(j->facts->manager, "run") == 0;
}

static bool has_all_cpus(const struct registry_job *j, uint64_t cpus)
{
	const struct value *cores = &j->facts->allocated_cores; /* in thousandths */

	return cpus && cores->is_known && cores->number >= cpus * 1000;
}

/* By a manager that gives CPUs. */
static bool is_granted_all(const struct registry_job *j, uint64_t cpus)
{
	return strcmp(j->facts->manager, "systemd") != 0 && has_all_cpus(j, cpus);
}

/* Of one that has ended, what it was granted may be known no more. */
static bool has_less(const struct registry_job *j, uint64_t cpus)
{
	return j->facts->allocated_cores.is_known && !has_all_cpus(j, cpus);
}

/* UINT64_MAX: it goes on. */
static uint64_t end_of(const struct registry_job *j)
{
	if (j->is_ended)
		return j->facts->end_boot_ns;
	return j->live_groups || !j->last_death_ns ? UINT64_MAX : j->last_death_ns;
}

static bool is_below(const char *path, const char *above)
{
	size_t length = above ? strlen(above) : 0;

	return path && length && strncmp(path, above, length) == 0 && path[length] == '/';
}

/* A `run` in it is a part of the job. */
static bool is_other(const struct registry_job *j, const struct registry_job *than)
{
	return j != than && !is_below(j->top_path, than->top_path);
}

/* Is there no other job at any moment from @from to @to? */
static bool is_alone(const struct registry_job *j, uint64_t from, uint64_t to)
{
	const struct registry *r = j->registry;

	for (size_t i = 0; i < r->job_count; i++) {
		const struct registry_job *other = r->jobs[i];

		if (is_other(other, j) && other->facts->start_boot_ns < to && end_of(other) > from)
			return false;
	}
	return true;
}

static void refuse(struct registry_ports *p, enum ports_state why)
{
	registry_ports_clear(p);
	p->state = why;
}

static int begin(struct registry_job *j, const struct ports *now, uint64_t boot_ns, uint64_t cpus)
{
	const struct registry *r = j->registry;
	struct registry_ports *p = &j->ports;
	uint64_t start = j->facts->start_boot_ns;
	bool is_idle;

	if (!is_run(j) && !is_granted_all(j, cpus))
		return 0; /* as far as is known by now */
	if (!r->ports || j->is_restored || start < r->ports_boot_ns) {
		refuse(p, PORTS_LATE);
		return 0;
	}
	is_idle = is_run(j) || is_alone(j, r->ports_boot_ns, start);
	if (!is_idle && end_of(j) < boot_ns) {
		refuse(p, PORTS_SHORT);
		return 0;
	}
	p->span = malloc(sizeof(*p->span));
	if (!p->span)
		return -ENOMEM;
	p->span->first = p->span->last = is_idle ? *r->ports : *now;
	p->state = PORTS_FOLLOWED;
	j->is_changed = true;
	return 0;
}

/* One that was set back meanwhile, or stands at its end, says no more how much there was. */
static void advance(struct registry_ports *p, const struct ports *now)
{
	struct ports_span *span = p->span;

	for (size_t i = 0; i < span->first.count; i++) {
		struct port *first = &span->first.items[i];
		const struct port *last = ports_find(&span->last, first->device, first->number),
				  *port = ports_find((struct ports *)now, first->device,
						     first->number);

		for (size_t k = 0; k < PORT_COUNTERS; k++) {
			if (!last || !port || !port->counters[k].is_known ||
			    port->counters[k].number < last->counters[k].number)
				first->counters[k].is_known = 0;
		}
	}
	span->last = *now;
	p->is_restored = false;
}

static void follow(struct registry_job *j, const struct ports *now, uint64_t boot_ns, uint64_t cpus)
{
	struct registry_ports *p = &j->ports;
	uint64_t end = end_of(j);

	if (!is_run(j) && !is_alone(j, j->facts->start_boot_ns, end)) {
		refuse(p, PORTS_SHARED);
		return;
	}
	if (!is_run(j) && has_less(j, cpus)) {
		refuse(p, PORTS_NONE);
		return;
	}
	if (is_run(j) || end == UINT64_MAX || is_alone(j, end, boot_ns)) {
		advance(p, now);
	} else if (p->is_restored) {
		refuse(p, PORTS_LOST);
		return;
	}
	if (end != UINT64_MAX)
		p->state = PORTS_KNOWN;
}

int registry_feed_ports(struct registry *r, struct ports *now, uint64_t boot_ns, uint64_t real_ns,
			uint64_t cpus)
{
	int code = 0;

	for (size_t i = 0; i < now->count; i++)
		now->items[i].to_ns = real_ns;
	for (size_t i = 0; code == 0 && i < r->job_count; i++) {
		struct registry_job *j = r->jobs[i];

		if (j->ports.state == PORTS_NONE)
			code = begin(j, now, boot_ns, cpus);
		if (j->ports.state == PORTS_FOLLOWED) {
			follow(j, now, boot_ns, cpus);
			j->is_changed |= j->ports.state != PORTS_FOLLOWED;
		}
	}
	if (code == 0 && !r->ports)
		r->ports = malloc(sizeof(*r->ports));
	if (code < 0 || !r->ports)
		return -ENOMEM;
	*r->ports = *now;
	r->ports_boot_ns = boot_ns;
	return 0;
}

void registry_ports_clear(struct registry_ports *p)
{
	free(p->span);
	*p = (struct registry_ports){};
}

bool registry_job_ports_are_cut(const struct registry_job *j)
{
	return j->ports.state == PORTS_CUT;
}

static void cut(struct registry_ports *p)
{
	p->state = PORTS_CUT;
}

static void lose(struct registry_ports *p)
{
	refuse(p, PORTS_LOST);
}

static void leave_followed(struct registry *r, void (*leave)(struct registry_ports *p))
{
	for (size_t i = 0; i < r->job_count; i++) {
		struct registry_job *j = r->jobs[i];

		if (j->ports.state != PORTS_FOLLOWED)
			continue;
		leave(&j->ports);
		j->is_changed = true;
	}
}

void registry_cut_ports(struct registry *r)
{
	leave_followed(r, cut);
}

void registry_lose_ports(struct registry *r)
{
	leave_followed(r, lose);
}

const char *registry_job_ports(const struct registry_job *j, struct ports *ret)
{
	static const char *const why[] = {
		[PORTS_NONE] = "known of the node's ports, not by job",
		[PORTS_LATE] = "the job began before it was measured",
		[PORTS_SHORT] = "it began and ended between two readings, and others did",
		[PORTS_SHARED] = "the node had other jobs meanwhile",
		[PORTS_LOST] = "the agent was not there all the time",
	};

	if (!j->ports.span)
		return why[j->ports.state];
	*ret = j->ports.span->last;
	ports_subtract(ret, &j->ports.span->first);
	for (size_t i = 0; i < ret->count; i++)
		ret->items[i].is_shared = is_run(j);
	return NULL;
}

/* ---- as text ---- */

static const char *const state_names[PORTS_STATES] = {
	[PORTS_FOLLOWED] = "followed", [PORTS_KNOWN] = "known", [PORTS_CUT] = "cut",
	[PORTS_LATE] = "late",	       [PORTS_SHORT] = "short", [PORTS_SHARED] = "shared",
	[PORTS_LOST] = "lost",
};

/* clang-format off */
static const struct field state_fields[] = {
	{ "state", SHAPE_WORD, 0, offsetof(struct registry_ports, state), sizeof(enum ports_state),
	  .most = PORTS_STATES, .names = state_names },
};
static const struct shape state_shape = { SHAPE_OF(struct registry_ports, state_fields) };
static const struct field span_fields[] = {
	{ "first", SHAPE_ARRAY, SHAPE_NEEDED, offsetof(struct ports_span, first), .rows = &port_shape },
	{ "last", SHAPE_ARRAY, SHAPE_NEEDED, offsetof(struct ports_span, last), .rows = &port_shape },
};
static const struct shape span_shape = { SHAPE_OF(struct ports_span, span_fields) };
/* clang-format on */

void registry_ports_format(const struct registry_ports *p, struct document *d)
{
	if (p->state == PORTS_NONE)
		return;
	document_begin_map_of(d, "ports");
	shape_format(&state_shape, p, d);
	if (p->span)
		shape_format(&span_shape, p->span, d);
	document_end_map(d);
}

int registry_ports_parse(const struct place *place, const json_t *root, struct registry_job *j)
{
	struct registry_ports *ret = &j->ports;
	struct place here = place_below(place, "ports");
	const json_t *map;
	int r = place_get(place, root, "ports", JSON_OBJECT, &map);

	if (r < 0 || !map)
		return r;
	r = shape_parse(&state_shape, &here, map, ret);
	if (r < 0 || ret->state > PORTS_CUT)
		return r;
	ret->is_restored = true;
	ret->span = calloc(1, sizeof(*ret->span));
	return ret->span ? shape_parse(&span_shape, &here, map, ret->span) : -ENOMEM;
}
