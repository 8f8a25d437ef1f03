/* SPDX-License-Identifier: MIT */
/*
 * Contenders that measure switches: runqlat and offcputime of libbpf-tools, both at once, and a
 * program of the same design.  Both look at the worker's process alone.
 *
 * They tell no number of switches, but each has a sum that grows by one or more with each of them:
 * of waits for a CPU, and of microseconds off it, of which each switch here takes more than one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "basic/cleanup.h"
#include "contender.h"
#include "basic/error.h"
#include "kinds.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "reference_switch.h"
#include "reference_switch.skel.h"
#include "tool.h"

#define HOOK "sched_switch" /* of which each of the tools has one program */
#define ATTACH_TRIES 1000
#define WORKER_NAME "jobmeter-bench"

/* ---- the tools ---- */

struct tools {
	struct tool *runqlat, *offcputime;
};

static void tools_freep(struct tools **t)
{
	if (!*t)
		return;
	tool_free((*t)->runqlat);
	tool_free((*t)->offcputime);
	free(*t);
}

static bool is_on_hook(__u32 link_id)
{
	_cleanup_close_ int fd = bpf_link_get_fd_by_id(link_id);
	char name[64] = "";
	struct bpf_link_info info = {};
	__u32 size = sizeof(info);

	info.raw_tracepoint.tp_name = (uintptr_t)name;
	info.raw_tracepoint.tp_name_len = sizeof(name);
	return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
	       info.type == BPF_LINK_TYPE_RAW_TRACEPOINT && strcmp(name, HOOK) == 0;
}

/* Of all processes. */
static int count_hooked(void)
{
	int count = 0;

	for (__u32 id = 0; bpf_link_get_next_id(id, &id) == 0;)
		count += is_on_hook(id);
	return count;
}

static int wait_until_hooked(struct tools *t, int wanted, struct error *err)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	for (int i = 0; i < ATTACH_TRIES; i++) {
		if (count_hooked() >= wanted && tool_catches_sigint(t->runqlat) &&
		    tool_catches_sigint(t->offcputime))
			return 0;
		if (!tool_is_running(t->runqlat))
			return error_set(err, -EOPNOTSUPP, "runqlat: %.200s", tool_end(t->runqlat));
		if (!tool_is_running(t->offcputime))
			return error_set(err, -EOPNOTSUPP, "offcputime: %.200s",
					 tool_end(t->offcputime));
		nanosleep(&pause, NULL);
	}
	return error_set(err, -EOPNOTSUPP, "runqlat and offcputime do not get ready");
}

static int tools_start(struct contest *c, struct error *err)
{
	_cleanup_(tools_freep) struct tools *t = calloc(1, sizeof(*t));
	char pid[16];
	/* A line at once, so that what both streams say stays whole. */
	char *const runqlat[] = { "stdbuf", "-oL", "runqlat", "-p", pid, NULL };
	char *const offcputime[] = { "stdbuf", "-oL", "offcputime",
				     "-p",     pid,   "--stack-storage-size",
				     "65536",  NULL };
	int hooked = count_hooked(), r;

	if (!t)
		return -ENOMEM;
	snprintf(pid, sizeof(pid), "%d", worker_pid(c->ring->worker));
	r = tool_start(runqlat, NULL, &t->runqlat, err);
	if (r >= 0)
		r = tool_start(offcputime, NULL, &t->offcputime, err);
	if (r >= 0)
		r = wait_until_hooked(t, hooked + 2, err);
	if (r < 0)
		return r;
	c->state = TAKE_PTR(t);
	return 0;
}

/* "LOW -> HIGH : COUNT |***  |" a line; the sum of counts. */
static uint64_t sum_waits(const char *says)
{
	uint64_t sum = 0;

	for (const char *at = says; (at = strstr(at, " -> "));) {
		uint64_t number;

		at += strcspn(at, ":\n");
		at += strspn(at, ": ");
		if (parse_leading_u64(&at, &number) == 0)
			sum += number;
	}
	return sum;
}

/* Below its stack "-  NAME (THREAD)" and "US", a line each; the sum of the worker's threads but the
 * first, which waits for the others. */
static uint64_t sum_absences(const char *says, uint64_t first_thread)
{
	uint64_t sum = 0;

	for (const char *at = says; (at = strstr(at, WORKER_NAME " ("));) {
		uint64_t thread, us;

		at += strlen(WORKER_NAME " (");
		if (parse_leading_u64(&at, &thread) < 0)
			continue;
		at += strspn(at, ") \n");
		if (parse_leading_u64(&at, &us) == 0 && thread != first_thread)
			sum += us;
	}
	return sum;
}

static int tools_end(struct contest *c, struct counted *ret, struct error *err)
{
	_cleanup_(tools_freep) struct tools *t = c->state;
	uint64_t waits = sum_waits(tool_end(t->runqlat));
	uint64_t absences = sum_absences(tool_end(t->offcputime),
					 (uint64_t)worker_pid(c->ring->worker));

	(void)err;
	ret->switches = (int64_t)MIN(waits, absences);
	return 0;
}

const struct contender_kind kind_switch_tools = { tools_start, tools_end, false, NULL };

/* ---- the program of their design ---- */

static int reference_start(struct contest *c, struct error *err)
{
	struct reference_switch_bpf *bpf = reference_switch_bpf__open();
	int r;

	if (!bpf)
		return error_set_errno(err, errno, "cannot open the reference program of switches");
	bpf->rodata->wanted_tgid = worker_pid(c->ring->worker);
	r = reference_switch_bpf__load(bpf);
	if (r >= 0)
		r = reference_switch_bpf__attach(bpf);
	if (r < 0) {
		reference_switch_bpf__destroy(bpf);
		return error_set_errno(err, r, "cannot load the reference program of switches");
	}
	c->state = bpf;
	return 0;
}

static uint64_t count_waits(int fd)
{
	uint64_t sum = 0, count;

	for (__u32 bucket = 0; bucket < SWITCH_BUCKETS; bucket++) {
		if (bpf_map_lookup_elem(fd, &bucket, &count) == 0)
			sum += count;
	}
	return sum;
}

static uint64_t count_absences(int fd, __u32 first_thread)
{
	struct absence_key key, next;
	uint64_t sum = 0, us;
	bool is_first = true;

	while (bpf_map_get_next_key(fd, is_first ? NULL : &key, &next) == 0) {
		key = next;
		is_first = false;
		if (key.tid != first_thread && bpf_map_lookup_elem(fd, &key, &us) == 0)
			sum += us;
	}
	return sum;
}

static int reference_end(struct contest *c, struct counted *ret, struct error *err)
{
	struct reference_switch_bpf *bpf = c->state;
	uint64_t waits = count_waits(bpf_map__fd(bpf->maps.waits));
	uint64_t absences = count_absences(bpf_map__fd(bpf->maps.totals),
					   (__u32)worker_pid(c->ring->worker));

	(void)err;
	ret->switches = (int64_t)MIN(waits, absences);
	reference_switch_bpf__destroy(bpf);
	return 0;
}

const struct contender_kind kind_switch_reference = { reference_start, reference_end, false, NULL };
