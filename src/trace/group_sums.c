/* SPDX-License-Identifier: MIT */
#include "trace/group_sums.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/clock.h"
#include "basic/fnv.h"
#include "basic/idmap.h"
#include "bpf/trace_rows.h"
#include "model/sections/trace.h"
#include "trace/sites.h"
#include "trace/traced_sums.h"
#include "trace/tracer.h"

#define SILENT_NS UINT64_C(3600000000000)

struct group {
	uint64_t id, begin_ns, grown_ns;
	bool is_live;
	bool was_live, has_grown; /* since it was visited */
	bool knows_above; /* it is some process' own, and .above is known */
	struct trace_group above;
	struct traced_calls calls;
};

/* Of the kernel side's, as it was read last. */
struct seen_row {
	struct trace_sums_key key;
	struct trace_numbers numbers;
};

struct seen_process {
	pid_t pid;
	uint64_t cgroup;
	bool is_gone;
};

/* Of a probe, as of the round before. */
struct seen_probe {
	uint64_t lost;
	bool is_dropped;
};

struct group_sums {
	const struct sites *sites;
	struct idmap groups, rows, processes;
	struct seen_probe *probes;
	struct seen_row **gone; /* of one round */
	size_t gone_count, gone_room;
	uint64_t now_ns, before_ns;
	struct tracer *tracer; /* of the round */
};

struct group_sums *group_sums_new(const struct sites *sites)
{
	struct group_sums *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->sites = sites;
	s->before_ns = clock_now_ns(CLOCK_BOOTTIME);
	s->probes = calloc(TRACE_ROWS_MAX, sizeof(*s->probes));
	return s->probes ? s : group_sums_free(s);
}

static void group_free(struct group *g)
{
	traced_calls_clear(&g->calls);
	free(g);
}

struct group_sums *group_sums_free(struct group_sums *s)
{
	size_t group = 0, row = 0, process = 0;
	void *item;

	if (!s)
		return NULL;
	while ((item = idmap_next(&s->groups, &group)))
		group_free(item);
	while ((item = idmap_next(&s->rows, &row)))
		free(item);
	while ((item = idmap_next(&s->processes, &process)))
		free(item);
	idmap_clear(&s->groups);
	idmap_clear(&s->rows);
	idmap_clear(&s->processes);
	free(s->probes);
	free(s->gone);
	free(s);
	return NULL;
}

/* What @map has of @key, or a new one of @size; NULL: no memory. */
static void *get(struct idmap *map, uint64_t key, size_t size, bool *ret_is_new)
{
	void *item = idmap_get(map, key);

	*ret_is_new = !item;
	if (item)
		return item;
	item = calloc(1, size);
	if (item && idmap_put(map, key, item) < 0) {
		free(item);
		item = NULL;
	}
	return item;
}

static struct group *get_group(struct group_sums *s, uint64_t id)
{
	bool is_new;
	struct group *g = get(&s->groups, id, sizeof(*g), &is_new);

	if (g && is_new) {
		g->id = id;
		g->begin_ns = g->grown_ns = s->now_ns;
		g->calls.is_known = true;
	}
	return g;
}

typedef int (*group_step)(struct group *g, const void *what);

/* For the group @cgroup and all around it.  -EAGAIN: these are not known yet; -ENOMEM. */
static int climb(struct group_sums *s, uint64_t cgroup, group_step step, const void *what)
{
	struct group *own = get_group(s, cgroup);
	int r = own ? 0 : -ENOMEM;

	if (r == 0 && !own->knows_above)
		r = tracer_get_group(s->tracer, cgroup, &own->above) < 0 ? -EAGAIN : 0;
	if (r < 0)
		return r;
	own->knows_above = true;
	for (size_t i = 0; i < TRACE_GROUP_LEVELS && own->above.above[i] && r == 0; i++) {
		struct group *g = get_group(s, own->above.above[i]);

		r = g ? step(g, what) : -ENOMEM;
	}
	return r;
}

/* ---- the kernel side's rows ---- */

struct growth {
	const struct site_row *of;
	struct trace_numbers more;
};

static int grow(struct group *g, const void *what)
{
	const struct growth *growth = what;
	struct traced_function *f;

	if (traced_get(&g->calls, growth->of->set->name, growth->of->probe->name, &f) < 0)
		return -ENOMEM;
	traced_sums_add(f, &growth->more);
	g->has_grown = true;
	return 0;
}

static int take_growth(struct group_sums *s, struct seen_row *row, const struct trace_numbers *now)
{
	const struct trace_numbers *seen = &row->numbers;
	const struct growth growth = {
		.of = s->sites->rows[row->key.row],
		.more = { now->calls - seen->calls, now->failed - seen->failed,
			  now->bytes - seen->bytes, now->bytes_unknown - seen->bytes_unknown,
			  now->ns - seen->ns },
	};
	int r;

	if (!growth.more.calls && !growth.more.ns)
		return 0;
	r = climb(s, row->key.cgroup, grow, &growth);
	if (r < 0)
		return r == -EAGAIN ? 0 : r; /* with the next round */
	row->numbers = *now;
	return 0;
}

static int take_row(void *context, const struct trace_sums_key *key, const struct trace_sums *sums)
{
	struct group_sums *s = context;
	struct seen_process *process;
	struct seen_row *row;
	bool is_new;

	row = get(&s->rows, fnv_bytes(FNV_BEGIN, key, sizeof(*key)), sizeof(*row), &is_new);
	if (!row)
		return -ENOMEM;
	row->key = *key;
	process = get(&s->processes, key->tgid, sizeof(*process), &is_new);
	if (!process)
		return -ENOMEM;
	process->pid = (pid_t)key->tgid;
	process->cgroup = key->cgroup;
	return take_growth(s, row, &sums->numbers);
}

/* ---- processes ---- */

struct time {
	uint64_t ns;
	bool is_live;
};

static int pass(struct group *g, const void *what)
{
	const struct time *time = what;

	g->calls.process_ns += time->ns;
	g->is_live |= time->is_live;
	return 0;
}

static int look_at_processes(struct group_sums *s)
{
	struct seen_process *p;
	size_t at = 0;

	while ((p = idmap_next(&s->processes, &at))) {
		struct time time = { .ns = s->now_ns - s->before_ns };
		int r;

		p->is_gone = kill(p->pid, 0) < 0 && errno == ESRCH;
		time.is_live = !p->is_gone;
		r = climb(s, p->cgroup, pass, &time);
		if (r < 0 && r != -EAGAIN)
			return r;
	}
	return 0;
}

/* Nobody adds to its rows any more. */
static int fold_row(struct group_sums *s, struct seen_row *row)
{
	struct trace_sums last;
	int r = tracer_take_sums(s->tracer, &row->key, &last);

	if (r == 0)
		r = take_growth(s, row, &last.numbers);
	idmap_remove(&s->rows, fnv_bytes(FNV_BEGIN, &row->key, sizeof(row->key)));
	free(row);
	return r == -ENOENT ? 0 : r;
}

static int fold_gone(struct group_sums *s)
{
	struct seen_process *p;
	struct seen_row *row;
	size_t at = 0;
	int r = 0;

	s->gone_count = 0;
	while ((row = idmap_next(&s->rows, &at))) {
		p = idmap_get(&s->processes, row->key.tgid);
		if (p && !p->is_gone)
			continue;
		if (array_reserve(&s->gone, &s->gone_room, s->gone_count, sizeof(*s->gone)) < 0)
			return -ENOMEM;
		s->gone[s->gone_count++] = row;
	}
	for (size_t i = 0; i < s->gone_count && r == 0; i++) {
		p = idmap_remove(&s->processes, s->gone[i]->key.tgid);
		free(p);
		r = fold_row(s, s->gone[i]);
	}
	return r;
}

/* ---- what is missing ---- */

struct loss {
	const char *set, *function;
	uint64_t lost, dropped;
};

static void lose(struct group *g, const struct loss *loss)
{
	for (size_t i = 0; g->has_grown && i < g->calls.count; i++) {
		struct traced_function *f = &g->calls.items[i];

		if (strcmp(f->set, loss->set) != 0 || strcmp(f->function, loss->function) != 0)
			continue;
		*traced_number_ref(f, METRIC_TRACE_LOST) += loss->lost;
		*traced_number_ref(f, METRIC_TRACE_DROPPED) += loss->dropped;
	}
}

static void add_losses(struct group_sums *s)
{
	for (size_t i = 0; i < s->sites->row_count; i++) {
		const struct site_row *of = s->sites->rows[i];
		struct seen_probe *seen = &s->probes[i];
		struct trace_counts c;
		struct loss loss = { of->set->name, of->probe->name };
		struct group *g;
		size_t at = 0;

		if (tracer_get_counts(s->tracer, i, &c) < 0)
			continue;
		loss.lost = c.not_summed + c.too_deep + c.left - seen->lost;
		loss.dropped = of->is_dropped && !seen->is_dropped;
		while (loss.lost + loss.dropped && (g = idmap_next(&s->groups, &at)))
			lose(g, &loss);
		seen->lost += loss.lost;
		seen->is_dropped = of->is_dropped;
	}
}

/* ---- groups ---- */

static int visit_groups(struct group_sums *s, group_sums_visitor visit, void *context)
{
	struct group *g;
	size_t at = 0;
	int r = 0;

	while (r == 0 && (g = idmap_next(&s->groups, &at))) {
		const struct group_sum sum = { g->id, g->begin_ns, g->is_live, &g->calls };

		if (g->has_grown || g->is_live)
			g->grown_ns = s->now_ns;
		if (!g->has_grown && !g->is_live && !g->was_live)
			continue;
		r = visit(context, &sum);
		if (r == 0)
			g->has_grown = g->was_live = false;
	}
	return r;
}

static bool forget_group(struct group_sums *s)
{
	struct group *g;
	size_t at = 0;

	while ((g = idmap_next(&s->groups, &at))) {
		if (s->now_ns - g->grown_ns < SILENT_NS)
			continue;
		tracer_forget_group(s->tracer, g->id);
		idmap_remove(&s->groups, g->id);
		group_free(g);
		return true;
	}
	return false;
}

int group_sums_read(struct group_sums *s, struct tracer *t, group_sums_visitor visit, void *context)
{
	struct group *g;
	size_t at = 0;
	int r;

	s->tracer = t;
	s->now_ns = clock_now_ns(CLOCK_BOOTTIME);
	while ((g = idmap_next(&s->groups, &at))) {
		g->was_live |= g->is_live;
		g->is_live = false;
	}
	r = tracer_visit_sums(t, take_row, s);
	if (r >= 0)
		r = look_at_processes(s);
	if (r == 0)
		r = fold_gone(s);
	if (r < 0)
		return r;
	add_losses(s);
	s->before_ns = s->now_ns;
	r = visit_groups(s, visit, context);
	while (r == 0 && forget_group(s))
		;
	return r;
}
