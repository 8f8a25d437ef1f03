/* SPDX-License-Identifier: MIT */
#include "tui/top_node.h"

#include <math.h>
#include <stdio.h>

#include "basic/humanize.h"
#include "basic/macro.h"
#include "basic/utf8.h"
#include "model/node_values.h"
#include "tui/grid.h"
#include "tui/top.h"

#define LABEL 10 /* columns of the label */
#define BAR 20
#define COLUMNS_WIDE 60 /* below, one line has to do... */
#define ROWS_WIDE 20
#define ROWS_SMALL 8 /* ...and below this many rows none */
#define MUCH 0.9 /* of memory or swap */

/* ---- numbers ---- */

static double gauge_of(const struct node_values *v, enum node_value i)
{
	return v->values[i].is_known ? (double)v->values[i].number : NAN;
}

static double increase_of(const struct node_values *now, const struct node_values *before,
			  enum node_value i)
{
	const struct value *a = &now->values[i], *b = &before->values[i];

	return a->is_known && b->is_known && a->number >= b->number
		       ? (double)(a->number - b->number)
		       : NAN;
}

/* Iowait may fall (proc(5)): then it is none. */
static void take_cpu(const struct node_values *now, const struct node_values *before,
		     struct node_now *to)
{
	double parts[NODE_VALUE_COUNT], sum = 0;

	for (size_t i = NODE_CPU_USER; i <= NODE_CPU_STEAL; i++) {
		parts[i] = increase_of(now, before, (enum node_value)i);
		if (i == NODE_CPU_IOWAIT && isnan(parts[i]))
			parts[i] = 0;
		sum += parts[i];
	}
	if (!(sum > 0)) /* NAN, too */
		return;
	to->user = (parts[NODE_CPU_USER] + parts[NODE_CPU_NICE]) / sum;
	to->kernel = (parts[NODE_CPU_SYSTEM] + parts[NODE_CPU_IRQ] + parts[NODE_CPU_SOFTIRQ]) / sum;
	to->io_wait = parts[NODE_CPU_IOWAIT] / sum;
	to->stolen = parts[NODE_CPU_STEAL] / sum;
	to->busy = to->user + to->kernel;
}

static double share_of(double part, double whole)
{
	return whole > 0 && !isnan(part) ? fmin(fmax(part / whole, 0), 1) : NAN;
}

struct node_now node_now_of(const struct node_values *now, const struct node_values *before)
{
	const bool has_rates = before->boot_ns && now->boot_ns > before->boot_ns;
	const double ns = has_rates ? (double)(now->boot_ns - before->boot_ns) : NAN;
	struct node_now n = {
		.busy = NAN,
		.user = NAN,
		.kernel = NAN,
		.io_wait = NAN,
		.stolen = NAN,
		.cpus = gauge_of(now, NODE_CPUS),
		.memory_total = gauge_of(now, NODE_MEMORY_TOTAL),
		.swap_total = gauge_of(now, NODE_SWAP_TOTAL),
		.gpus = gauge_of(now, NODE_GPUS),
		.gpus_busy = gauge_of(now, NODE_GPU_BUSY) / 100,
		.gpu_memory_total = gauge_of(now, NODE_GPU_MEMORY_TOTAL),
		.gpu_watts = gauge_of(now, NODE_GPU_POWER) / 1e6,
		.pressure_cpu = share_of(increase_of(now, before, NODE_PRESSURE_CPU), ns),
		.pressure_io = share_of(increase_of(now, before, NODE_PRESSURE_IO), ns),
		.pressure_memory = share_of(increase_of(now, before, NODE_PRESSURE_MEMORY), ns),
	};

	n.memory = share_of(n.memory_total - gauge_of(now, NODE_MEMORY_AVAILABLE), n.memory_total);
	n.gpu_memory = share_of(gauge_of(now, NODE_GPU_MEMORY_USED), n.gpu_memory_total);
	n.swap = share_of(n.swap_total - gauge_of(now, NODE_SWAP_FREE), n.swap_total);
	for (size_t i = 0; i < ARRAY_SIZE(n.load); i++)
		n.load[i] = gauge_of(now, (enum node_value)(NODE_LOAD_1 + i)) / 100;
	if (has_rates)
		take_cpu(now, before, &n);
	return n;
}

/* ---- lines ---- */

struct line {
	struct grid *grid;
	unsigned int row, at;
};

/* Append a part as a whole or not at all; after one without room nothing follows. */
static void put(struct line *l, enum style style, const char *text)
{
	if (l->at + utf8_columns(text) <= l->grid->columns)
		l->at = grid_put(l->grid, l->row, l->at, l->grid->columns, style, text);
	else
		l->at = l->grid->columns;
}

/* "NAME 12 %", after @between where it is not the first; nothing of what is not known. */
static void put_share(struct line *l, const char *between, const char *name, double share)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%s %s", between, name,
		 isnan(share) ? "-" : humanize_percent(share).text);
	if (!isnan(share))
		put(l, STYLE_PLAIN, text);
}

static struct line begin_line(struct grid *g, unsigned int row, const char *label)
{
	grid_put(g, row, 1, LABEL - 2, STYLE_DIM, label);
	return (struct line){ g, row, LABEL };
}

/* A bar and its number: "████████░░░░ 71 %" */
static void put_bar(struct line *l, double share, enum style style)
{
	unsigned int filled = isnan(share) ? 0 : (unsigned int)(share * BAR + 0.5);
	char text[40];

	for (unsigned int i = 0; i < BAR; i++)
		l->at = grid_put(l->grid, l->row, l->at, 1, i < filled ? style : STYLE_IDLE,
				 i < filled ? "█" : "·");
	snprintf(text, sizeof(text), " %5s", isnan(share) ? "-" : humanize_percent(share).text);
	put(l, STYLE_PLAIN, text);
}

static struct human bytes_of(double bytes)
{
	return humanize_bytes((uint64_t)(bytes + 0.5));
}

static void draw_cpu(const struct node_now *n, struct grid *g, unsigned int row)
{
	struct line l = begin_line(g, row, "CPU");
	char text[64];

	put_bar(&l, n->busy, STYLE_ON_CPU);
	if (!isnan(n->cpus)) {
		snprintf(text, sizeof(text), " of %.0f CPU%s", n->cpus, n->cpus == 1 ? "" : "s");
		put(&l, STYLE_PLAIN, text);
	}
	put_share(&l, "  ", "user", n->user);
	put_share(&l, "  ", "kernel", n->kernel);
	if (n->stolen >= 0.01)
		put_share(&l, "  ", "stolen", n->stolen);
	if (n->io_wait >= 0.01)
		put_share(&l, "  ", "I/O wait", n->io_wait);
}

static void draw_memory(const struct node_now *n, struct grid *g, unsigned int row)
{
	struct line l = begin_line(g, row, "memory");
	char text[96];

	put_bar(&l, n->memory, n->memory >= MUCH ? STYLE_ALERT : STYLE_ON_CPU);
	if (!isnan(n->memory_total)) {
		snprintf(text, sizeof(text), " of %s", bytes_of(n->memory_total).text);
		put(&l, STYLE_PLAIN, text);
	}
	if (n->swap_total == 0)
		put(&l, STYLE_DIM, "  no swap");
	if (!(n->swap >= 0))
		return;
	snprintf(text, sizeof(text), "  swap %s of %s", bytes_of(n->swap * n->swap_total).text,
		 bytes_of(n->swap_total).text);
	put(&l, n->swap >= MUCH ? STYLE_ALERT : STYLE_PLAIN, text);
}

static void put_load(struct line *l, const struct node_now *n)
{
	char text[64];

	if (isnan(n->load[0] + n->load[1] + n->load[2]))
		return;
	snprintf(text, sizeof(text), "%.2f %.2f %.2f", n->load[0], n->load[1], n->load[2]);
	put(l, STYLE_PLAIN, text);
}

static void draw_load(const struct node_now *n, struct grid *g, unsigned int row)
{
	struct line l = begin_line(g, row, "load");
	const struct {
		const char *name;
		double share;
	} pressures[] = { { "CPU", n->pressure_cpu },
			  { "I/O", n->pressure_io },
			  { "memory", n->pressure_memory } };
	size_t said = 0;

	put_load(&l, n);
	for (size_t i = 0; i < ARRAY_SIZE(pressures); i++) {
		if (isnan(pressures[i].share))
			continue;
		put_share(&l, said++ ? "  " : "  pressure: ", pressures[i].name,
			  pressures[i].share);
	}
}

static void draw_gpus(const struct node_now *n, struct grid *g, unsigned int row)
{
	struct line l = begin_line(g, row, "GPU");
	char text[96];

	put_bar(&l, share_of(n->gpus_busy, n->gpus), STYLE_ON_CPU);
	snprintf(text, sizeof(text), " of %.0f GPU%s", n->gpus, n->gpus == 1 ? "" : "s");
	put(&l, STYLE_PLAIN, text);
	if (!isnan(n->gpu_memory)) {
		snprintf(text, sizeof(text), "  memory %s of %s",
			 bytes_of(n->gpu_memory * n->gpu_memory_total).text,
			 bytes_of(n->gpu_memory_total).text);
		put(&l, STYLE_PLAIN, text);
	}
	if (!isnan(n->gpu_watts)) {
		snprintf(text, sizeof(text), "  %.0f W", n->gpu_watts);
		put(&l, STYLE_PLAIN, text);
	}
}

/* All of it in one line, as far as that is long. */
static void draw_short(const struct node_now *n, struct grid *g, unsigned int row)
{
	struct line l = { g, row, 1 };
	char text[32];

	put_share(&l, "", "CPU", n->busy);
	put_share(&l, l.at > 1 ? "  " : "", "memory", n->memory);
	if (!isnan(n->load[0])) {
		snprintf(text, sizeof(text), "%sload %.2f", l.at > 1 ? "  " : "", n->load[0]);
		put(&l, STYLE_PLAIN, text);
	}
	if (n->swap > 0)
		put_share(&l, "  ", "swap", n->swap);
	put_share(&l, "  ", "GPU", share_of(n->gpus_busy, n->gpus));
}

unsigned int top_node_rows(const struct top *t, unsigned int columns, unsigned int rows)
{
	if (!t->last.node.boot_ns || t->starting || (rows && rows < ROWS_SMALL))
		return 0;
	if (columns < COLUMNS_WIDE || (rows && rows < ROWS_WIDE))
		return 1;
	return TOP_NODE_ROWS_MAX - !(gauge_of(&t->last.node, NODE_GPUS) > 0);
}

void top_node_draw(const struct top *t, struct grid *g, unsigned int row, unsigned int rows)
{
	static void (*const lines[TOP_NODE_ROWS_MAX])(const struct node_now *, struct grid *,
						      unsigned int) = { draw_cpu, draw_memory,
									draw_load, draw_gpus };
	const struct node_now n = node_now_of(&t->last.node, &t->before.node);

	if (rows == 1)
		draw_short(&n, g, row);
	for (unsigned int i = 0; rows > 1 && i < rows; i++)
		lines[i](&n, g, row + i);
}
