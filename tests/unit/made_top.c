/* SPDX-License-Identifier: MIT */
#include "made_top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/record.h"
#include "made.h"
#include "test.h"
#include "tui/top_draw.h"

#define S UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define BEGIN_NS (UINT64_C(1770091500) * S) /* 2026-02-03T04:05:00Z */

static struct record *add_job(struct tick *tick, const char *manager, const char *id,
			      const char *user, const char *name, uint64_t elapsed_ns)
{
	struct record *r = record_new();

	r->node = strdup("node17");
	r->job.manager = strdup(manager);
	r->job.id = strdup(id);
	r->job.user = user ? strdup(user) : NULL;
	r->job.uid = user ? 1000 + (user[0] - 'a') : -1;
	r->job.name = name ? strdup(name) : NULL;
	r->time.start_ns = tick->real_ns - elapsed_ns;
	r->time.elapsed_ns = elapsed_ns;
	ASSERT_OK(records_add(&tick->jobs, r));
	return r;
}

static void set_work(struct record *r, uint64_t cores, uint64_t user_ns, uint64_t waited_ns)
{
	for (size_t i = METRIC_BLOCKED_FILE_READ; i <= METRIC_BLOCKED_OTHER; i++)
		reading_set(&r->reading, (enum metric_id)i, 0);
	reading_set(&r->reading, METRIC_CPU_ALLOCATED, cores * 1000);
	reading_set(&r->reading, METRIC_CPU_USER, user_ns);
	reading_set(&r->reading, METRIC_CPU_SYSTEM, 0);
	reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, waited_ns);
}

static void set_files(struct record *r, const char *mount, uint64_t read, uint64_t written,
		      uint64_t opens)
{
	struct mount_row *row = reading_get_mount(&r->reading, ROW_MOUNT, mount, "xfs");

	r->reading.has_mounts = true;
	row->ops[OP_READ] = (struct op_counts){ .calls = read / 4096, .bytes = read };
	row->ops[OP_WRITE] = (struct op_counts){ .calls = written / 4096, .bytes = written };
	row->ops[OP_OPEN] = (struct op_counts){ .calls = opens };
}

static void add_steps(struct record *r, uint64_t user_ns)
{
	struct step *step = steps_add(&r->steps, "batch");

	step->values[METRIC_CPU_USER] = (struct value){ 17 * S / 1000, true };
	step->values[METRIC_CPU_SYSTEM] = (struct value){ 0, true };
	step = steps_add(&r->steps, "0");
	step->values[METRIC_CPU_USER] = (struct value){ user_ns, true };
	step->values[METRIC_CPU_SYSTEM] = (struct value){ 0, true };
}

static void add_worker(struct tick *t, bool later, uint64_t passed)
{
	struct record *r = add_job(t, "slurm", "123", "alice", "train.sh", 134 * S + passed);

	set_work(r, 4, 300 * S + (later ? 7300 : 0) * S / 1000,
		 10 * S + (later ? 500 : 0) * S / 1000);
	reading_set(&r->reading, METRIC_MEMORY_USAGE, 3 * GIB + 100 * MIB);
	reading_set(&r->reading, METRIC_MEMORY_LIMIT, 16 * GIB);
	reading_set(&r->reading, METRIC_MEMORY_PEAK, 5 * GIB);
	set_files(r, "/scratch", 1009, 700 * MIB + (later ? 46 * MIB : 0), 1000 + (later ? 62 : 0));
	set_files(r, "/", 4096, 0, 100 + (later ? 14 : 0));
	r->job.cpus_allowed = strdup("0-3");
	add_steps(r, 299 * S + (later ? 7200 : 0) * S / 1000);
}

static void add_blocked(struct tick *t, bool later, uint64_t passed)
{
	struct record *r = add_job(t, "slurm", "124", "bob", "a name that is too long for it",
				   7200 * S + passed);

	set_work(r, 8, 20 * S + (later ? 100 : 0) * S / 1000, 0);
	reading_set(&r->reading, METRIC_BLOCKED_FILE_READ, 100 * S + (later ? 12 * S : 0));
	reading_set(&r->reading, METRIC_BLOCKED_LOCK, 3 * S + (later ? S : 0));
	set_files(r, "/home", 9 * GIB + (later ? 3 * MIB : 0), 0, 20);
	reading_set(&r->reading, METRIC_MEMORY_USAGE, 200 * MIB);
}

/* Of 16 CPUs 6 are busy: 5 in user mode; 1 waits for I/O. */
static struct node_values node_of(bool later, uint64_t boot_ns)
{
	const uint64_t passed = later ? MADE_SECONDS * S : 0;
	const uint64_t numbers[NODE_VALUE_COUNT] = {
		[NODE_CPUS] = 16,
		[NODE_CPU_USER] = 7000 * S + 5 * passed,
		[NODE_CPU_NICE] = 7 * S,
		[NODE_CPU_SYSTEM] = 300 * S + passed,
		[NODE_CPU_IDLE] = 90000 * S + 9 * passed,
		[NODE_CPU_IOWAIT] = 11 * S + passed,
		[NODE_LOAD_1] = 1021,
		[NODE_LOAD_5] = 987,
		[NODE_LOAD_15] = 800,
		[NODE_MEMORY_TOTAL] = 64 * GIB,
		[NODE_MEMORY_AVAILABLE] = 35 * GIB,
		[NODE_SWAP_TOTAL] = 8 * GIB,
		[NODE_SWAP_FREE] = 7 * GIB,
		[NODE_PRESSURE_CPU] = 5 * S + passed / 4,
		[NODE_PRESSURE_IO] = 3 * S + passed / 16,
		[NODE_PRESSURE_MEMORY] = S,
	};
	struct node_values v = { .boot_ns = boot_ns };

	for (size_t i = 0; i < NODE_VALUE_COUNT; i++)
		v.values[i] = (struct value){ numbers[i], true };
	return v;
}

void made_wire_snapshot(bool later, struct tick *ret)
{
	uint64_t passed = later ? MADE_SECONDS * S : 0;
	struct record *r;

	*ret = (struct tick){ .real_ns = BEGIN_NS + passed,
			      .boot_ns = 100000 * S + passed,
			      .took_ns = 4100000 };
	ret->node = node_of(later, ret->boot_ns);
	r = add_job(ret, "run", "77", "carol", "sort", 10 * S + passed / 2);
	set_work(r, 1, 5 * S + passed / 4, 0);
	set_files(r, "/", later ? 10 * MIB : 0, 0, 0);
	r->time.start_ns = BEGIN_NS - 10 * S;
	if (later) {
		r->is_final = true;
		r->time.end_ns = BEGIN_NS + S;
	}
	add_job(ret, "slurm", "99", NULL, NULL, 0);
	add_worker(ret, later, passed);
	add_blocked(ret, later, passed);
	r = add_job(ret, "slurm", "125", "bob", "grow", 60 * S + passed);
	set_work(r, 2, S, 0);
	reading_set(&r->reading, METRIC_MEMORY_USAGE, 1900 * MIB);
	reading_set(&r->reading, METRIC_MEMORY_LIMIT, 2 * GIB);
	if (!later)
		return;
	r = add_job(ret, "slurm", "1000", "alice", "short", S / 2);
	set_work(r, 4, S, 0);
	set_files(r, "/scratch", 0, 8 * MIB, 0);
}

struct top *made_top(void)
{
	struct top *t = top_new(NULL);
	struct tick tick;

	setenv("TZ", "UTC", 1);
	t->interval_ns = MADE_SECONDS * S;
	t->source = "agent";
	for (int later = 0; later < 2; later++) {
		made_wire_snapshot(later, &tick);
		ASSERT_OK(top_feed(t, &tick));
	}
	t->own_cores = 0.004;
	t->own_bytes = 11 * MIB;
	return t;
}

void made_processes(struct top *t)
{
	static char slurm[] = "slurm", worker[] = "123", blocked[] = "124", step[] = "0",
		    first[] = "0", second[] = "1", none[] = "", batch[] = "batch";
	static const struct process_place places[] = {
		{ slurm, worker, step, first },
		{ slurm, worker, step, second },
		{ slurm, worker, batch, none },
		{ slurm, blocked, none, none },
	};
	static struct process before[] = {
		{ 4001, 99866 * S, "python3", 'R', 4, 100 * S, GIB, {}, {}, &places[0] },
		{ 4002, 99866 * S, "python3", 'R', 4, 90 * S, GIB, {}, {}, &places[1] },
		{ 4005, 99866 * S, "bash", 'S', 1, 17000000, 4 * MIB, {}, {}, &places[2] },
		{ 4100, 99866 * S, "cp", 'D', 1, 20 * S, MIB, { 7, true }, { 7, true }, &places[3] },
	};
	static struct process now[4];
	static struct processes list_before, list_now;

	memcpy(now, before, sizeof(now));
	now[0].cpu_ns += 3 * S;
	now[1].cpu_ns += 4 * S;
	now[3].read.number += 3 * MIB;
	list_before = (struct processes){ 100000 * S, before, 4 };
	list_now = (struct processes){ 100002 * S, now, 4 };
	t->processes = &list_now;
	t->processes_before = &list_before;
}

void made_top_freep(struct top **t)
{
	top_free(*t);
}

char *made_screen(struct top *t, unsigned int columns, unsigned int rows, bool is_ascii)
{
	struct grid *g = grid_new(columns, rows, is_ascii);
	struct made_text written = {};

	ASSERT_OK(top_arrange(t));
	top_draw(t, g);
	grid_print_text(g, made_text_stream(&written));
	grid_free(g);
	return made_text_end(&written);
}
