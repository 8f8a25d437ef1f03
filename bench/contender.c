/* SPDX-License-Identifier: MIT */
#include "contender.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "basic/cleanup.h"
#include "counters/cgroups.h"
#include "basic/error.h"
#include "kinds.h"
#include "basic/macro.h"
#include "load/meter.h"
#include "basic/parse.h"
#include "reference.h"
#include "reference.skel.h"
#include "tool.h"

#define BLOCK_BYTES 4096
#define MESSAGE_BYTES 64
#define ATTACH_MS 300 /* bpftrace attaches after it says so; its sum tells whether in time */

static void tell_program(int fd, program_teller tell, void *data)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0)
		tell(info.name, info.run_cnt, info.run_time_ns, data);
}

/* What only adds to a tier ("T2+") may be off: not every kernel offers it. */
static int check_tier(const struct meter *m, bool is_wanted, const char *tier, struct error *err)
{
	size_t count;
	const struct hook *hooks = meter_hooks(m, &count);

	for (size_t i = 0; i < count; i++) {
		if (is_wanted && strcmp(hooks[i].tier, tier) == 0 && !hooks[i].is_on)
			return error_set(err, -ENODEV, "%s: %s", hooks[i].program, hooks[i].why);
	}
	return 0;
}

static int meter_start(struct contest *c, struct error *err)
{
	const struct contender *who = c->contender;
	const struct meter_options options = {
		.root_fd = c->ring->root_fd,
		.tiers = who->tiers,
		.has_clock = who->has_clock,
		.has_histograms = who->has_histograms,
		.followed_max = who->followed_max,
		.names_syscalls = who->names_syscalls,
		.has_block = who->has_block,
		.watched_id = c->ring->group_id,
		.hierarchy = c->ring->hierarchy,
	};
	struct meter *m;
	int r = meter_open(&options, &m);

	if (r < 0)
		return error_set_errno(err, r, "cannot start the meter");
	meter_follow_files(m);
	meter_follow_syscalls(m, false);
	r = check_tier(m, who->tiers & METER_T0, "T0", err);
	if (r >= 0)
		r = check_tier(m, who->tiers & METER_T1, "T1", err);
	if (r >= 0)
		r = check_tier(m, who->tiers & METER_T2, "T2", err);
	if (r >= 0)
		r = check_tier(m, who->names_syscalls, "T3", err);
	if (r >= 0)
		r = look_take(m, &c->look, err);
	if (r < 0) {
		meter_close(m);
		return r;
	}
	if (!who->has_mappings) { /* which detaches them */
		meter_disbelieve(m, "count_page_in", "not wanted");
		meter_disbelieve(m, "count_dirtied", "not wanted");
	}
	c->state = m;
	return 0;
}

static int meter_end(struct contest *c, struct counted *ret, struct error *err)
{
	struct reading reading = {};
	struct meter *m = c->state;
	int r = counted_all_read(m, &reading, err);

	if (c->contender->tiers & METER_T2) {
		ret->reads = ret->writes = 0;
		ret->sends = (int64_t)network_number(&reading.network, SOCKET_TCP,
						     METRIC_NETWORK_SENT_CALLS);
	}
	if (c->contender->has_block) /* the last may not be in: the kernel tells of its end in an
					interrupt */
		ret->requests = (int64_t)(block_total(&reading.block, METRIC_BLOCK_READ_REQUESTS) +
					  objects_count_entries(meter_objects(m), OBJECT_BLOCK,
								"block_requests"));
	for (size_t i = 0; i < reading.mount_count; i++) {
		const struct mount_row *row = &reading.mounts[i];

		if (row->kind == ROW_MOUNT && strcmp(row->mount, c->ring->dir) == 0) {
			ret->reads += (int64_t)row->ops[OP_READ].calls;
			ret->writes += (int64_t)row->ops[OP_WRITE].calls;
		}
	}
	reading_clear(&reading);
	if (r >= 0 && c->contender->tiers & METER_T1)
		r = lived_check(m, &c->look, &c->before, c->ring->worker, err);
	meter_close(m);
	return r;
}

static void meter_tell(struct contest *c, program_teller tell, void *data)
{
	const struct hook *hooks;
	size_t count;

	hooks = meter_hooks(c->state, &count);
	for (size_t i = 0; i < count; i++) {
		if (hooks[i].is_on)
			tell_program(objects_program_fd(meter_objects(c->state), hooks[i].program),
				     tell, data);
	}
}

static const struct contender_kind kind_meter = { meter_start, meter_end, true, meter_tell };
static const struct contender_kind kind_syscalls = { meter_start, syscalls_end, false, meter_tell };

/* The calls that jobmeter counts as moving data. */
static const long data_calls[] = {
	SYS_read,  SYS_pread64,	 SYS_readv,  SYS_preadv,  SYS_preadv2,
	SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev, SYS_pwritev2,
};

static int reference_start(struct contest *c, struct error *err)
{
	struct reference_bpf *bpf = reference_bpf__open();
	int r;

	if (!bpf)
		return error_set_errno(err, errno, "cannot open the reference program");
	bpf->rodata->hierarchy = c->ring->hierarchy->is_v2			? HIERARCHY_V2
				 : c->ring->hierarchy->key == CONTROLLER_MEMORY ? HIERARCHY_MEMORY
				 : c->ring->hierarchy->key == CONTROLLER_CPUACCT
					 ? HIERARCHY_CPUACCT
					 : HIERARCHY_FREEZER;
	for (size_t i = 0; i < ARRAY_SIZE(data_calls); i++)
		((__u8 *)bpf->rodata->is_counted)[data_calls[i]] = 1;
	r = reference_bpf__load(bpf);
	if (r >= 0)
		r = reference_bpf__attach(bpf);
	if (r < 0) {
		reference_bpf__destroy(bpf);
		return error_set_errno(err, r, "cannot load the reference program");
	}
	c->state = bpf;
	return 0;
}

static int reference_end(struct contest *c, struct counted *ret, struct error *err)
{
	struct reference_bpf *bpf = c->state;
	const char *name = strrchr(c->ring->dir, '/'); /* the mount point's last part */
	int fd = bpf_map__fd(bpf->maps.totals);
	struct reference_key key, next;
	struct reference_value value;
	uint64_t calls = 0;
	bool is_first = true;

	(void)err;
	while (bpf_map_get_next_key(fd, is_first ? NULL : &key, &next) == 0) {
		key = next;
		is_first = false;
		if (key.cgroup == c->ring->group_id && strcmp(key.path, name) == 0 &&
		    bpf_map_lookup_elem(fd, &key, &value) == 0)
			calls += value.calls;
	}
	/* It keeps one number for both: told as reads, and no writes. */
	ret->reads = (int64_t)calls;
	reference_bpf__destroy(bpf);
	return 0;
}

static void reference_tell(struct contest *c, program_teller tell, void *data)
{
	struct reference_bpf *bpf = c->state;

	tell_program(bpf_program__fd(bpf->progs.start_call), tell, data);
	tell_program(bpf_program__fd(bpf->progs.end_call), tell, data);
}

static const struct contender_kind kind_reference = { reference_start, reference_end, true,
						      reference_tell };

static int bpftrace_start(struct contest *c, struct error *err)
{
	char *const argv[] = { "bpftrace", "-e", (char *)c->contender->program, NULL };
	const struct timespec pause = { .tv_nsec = ATTACH_MS * 1000000L };
	struct tool *tool;
	int r = tool_start(argv, "Attaching", &tool, err);

	if (r < 0)
		return r;
	nanosleep(&pause, NULL);
	c->state = tool;
	return 0;
}

/* "@[CGROUP]: BYTES" a line; its sum, in blocks or messages. */
static int bpftrace_end(struct contest *c, struct counted *ret, struct error *err)
{
	const char *says = tool_end(c->state);
	uint64_t bytes = 0;

	(void)err;
	for (const char *at = says; (at = strstr(at, "]: "));) {
		uint64_t number;

		at += 3;
		if (parse_leading_u64(&at, &number) == 0)
			bytes += number;
	}
	if (c->contender->works & 1 << WORK_SEND)
		ret->sends = (int64_t)(bytes / MESSAGE_BYTES);
	else if (c->contender->works & 1 << WORK_WRITE_1)
		ret->writes = (int64_t)(bytes / BLOCK_BYTES);
	else
		ret->reads = (int64_t)(bytes / BLOCK_BYTES);
	tool_free(c->state);
	return 0;
}

static const struct contender_kind kind_bpftrace = { bpftrace_start, bpftrace_end, false, NULL };

static int strace_start(struct contest *c, struct error *err)
{
	char pid[16];
	char *const argv[] = { "strace", "-c", "-f", "-p", pid, NULL };
	struct tool *tool;
	int r;

	snprintf(pid, sizeof(pid), "%d", worker_pid(c->ring->worker));
	r = tool_start(argv, "attached", &tool, err);
	if (r >= 0)
		c->state = tool;
	return r;
}

/* "% time  seconds  usecs/call  calls  [errors]  syscall" a line. */
static int64_t strace_calls(const char *says, const char *call)
{
	char name[32];
	const char *end, *line;
	uint64_t number = 0;

	snprintf(name, sizeof(name), " %s\n", call);
	end = strstr(says, name);
	if (!end)
		return 0;
	for (line = end; line > says && line[-1] != '\n'; line--)
		;
	for (int column = 0; column < 4; column++) {
		while (*line == ' ')
			line++;
		if (column == 3 && parse_leading_u64(&line, &number) < 0)
			return 0;
		while (column < 3 && *line != ' ' && line < end)
			line++;
	}
	return (int64_t)number;
}

static int strace_end(struct contest *c, struct counted *ret, struct error *err)
{
	const char *says = tool_end(c->state);

	(void)err;
	ret->reads = strace_calls(says, "pread64");
	ret->writes = strace_calls(says, "write");
	tool_free(c->state);
	return 0;
}

static const struct contender_kind kind_strace = { strace_start, strace_end, false, NULL };

#define ALL_WORKS ((1u << WORK_COUNT) - 1)
#define METADATA (1u << WORK_STAT | 1u << WORK_OPEN | 1u << WORK_ABSENT | 1u << WORK_UNLINK)
#define PAGES (1u << WORK_NEW | 1u << WORK_COLD)
#define DEVICES (1u << WORK_SEND | 1u << WORK_DIRECT)
#define DATA (ALL_WORKS & ~METADATA & ~PAGES & ~DEVICES) /* what others count, too */
#define SWITCHES (1u << WORK_SWITCH | 1u << WORK_PIPE | 1u << WORK_FORK | 1u << WORK_PREAD_1)
#define WRITES (1u << WORK_WRITE_1 | 1u << WORK_WRITE_2)

/* clang-format off */
const struct contender contenders[] = {
	{ ENTRY_T0,        NULL, ALL_WORKS, 1, &kind_meter, METER_T0, false, false, false, 0, NULL },
	{ ENTRY_T1,        NULL, ALL_WORKS, 1, &kind_meter, METER_T1, false, false, false, 0, NULL },
	{ ENTRY_T2_CALLS,  NULL, PAGES,     1, &kind_meter, METER_T2, false, false, false, 0, NULL },
	{ ENTRY_T2_BARE,   NULL, ALL_WORKS, 1, &kind_meter, METER_T2, false, false, true,  0, NULL },
	{ ENTRY_T2_CLOCK,  NULL, ALL_WORKS, 1, &kind_meter, METER_T2, true,  false, true,  0, NULL },
	{ ENTRY_T2,        NULL, ALL_WORKS, 1, &kind_meter, METER_T2, true,  true,  true,  0, NULL },
	{ ENTRY_ALL,       NULL, ALL_WORKS, 1, &kind_meter, METER_ALL, true, true, true, 0, NULL },
	{ ENTRY_FILES,     NULL, DATA,      1, &kind_meter, METER_ALL, true, true, true, 16384, NULL },
	{ ENTRY_REFERENCE, NULL, DATA,      1, &kind_reference, 0, false, false, false, 0, NULL },
	{ ENTRY_BPFTRACE,  "bpftrace", DATA & ~WRITES, 1, &kind_bpftrace, 0, false, false, false, 0,
	  "tracepoint:syscalls:sys_exit_pread64 /args->ret > 0/ { @[cgroup] = sum(args->ret); }" },
	{ ENTRY_BPFTRACE,  "bpftrace", WRITES, 1, &kind_bpftrace, 0, false, false, false, 0,
	  "tracepoint:syscalls:sys_exit_write /args->ret > 0/ { @[cgroup] = sum(args->ret); }" },
	{ ENTRY_BPFTRACE,  "bpftrace", 1u << WORK_SEND, 1, &kind_bpftrace, 0, false, false, false, 0,
	  "tracepoint:syscalls:sys_exit_sendto /args->ret > 0/ { @[cgroup] = sum(args->ret); }" },
	{ ENTRY_BLOCK,     NULL, 1u << WORK_DIRECT, 1, &kind_meter, METER_ALL, true, true, true, 0, NULL, .has_block = true },
	{ ENTRY_BIOLATENCY, "biolatency", 1u << WORK_DIRECT, 1, &kind_biolatency, 0, false, false, false, 0, NULL },
	{ ENTRY_SYSCALLS,     NULL, DATA, 1, &kind_syscalls, 0,      false, false, false, 0, NULL, .names_syscalls = true },
	{ ENTRY_SYSCALLS_ALL, NULL, DATA, 1, &kind_meter, METER_ALL, true,  true,  true,  0, NULL, .names_syscalls = true },
	{ ENTRY_SYSCOUNT, "syscount", DATA, 1, &kind_syscount,  0,   false, false, false, 0, NULL },
	{ ENTRY_STRACE,    "strace", DATA | METADATA, 20, &kind_strace, 0, false, false, false, 0, NULL },
	{ ENTRY_SWITCH_TOOLS,     "runqlat", SWITCHES, 1, &kind_switch_tools,     0, false, false, false, 0, NULL },
	{ ENTRY_SWITCH_REFERENCE, NULL,      SWITCHES, 1, &kind_switch_reference, 0, false, false, false, 0, NULL },
};
/* clang-format on */
const int contender_count = ARRAY_SIZE(contenders);

const char *entry_name(enum entry e)
{
	static const char *const names[ENTRY_COUNT] = {
		[ENTRY_T0] = "T0",
		[ENTRY_T1] = "T1",
		[ENTRY_T2_CALLS] = "T2 without clock, histograms, mappings",
		[ENTRY_T2_BARE] = "T2 without clock, histograms",
		[ENTRY_T2_CLOCK] = "T2 without histograms",
		[ENTRY_T2] = "T2",
		[ENTRY_ALL] = "T0 + T1 + T2: all",
		[ENTRY_FILES] = "T0 + T1 + T2 + T3 (--files)",
		[ENTRY_REFERENCE] = "the reference",
		[ENTRY_BPFTRACE] = "a bpftrace one-liner",
		[ENTRY_STRACE] = "strace -c",
		[ENTRY_SWITCH_TOOLS] = "runqlat and offcputime",
		[ENTRY_SWITCH_REFERENCE] = "their design in one reference program",
		[ENTRY_SYSCALLS] = "T3 (--syscalls) alone",
		[ENTRY_SYSCALLS_ALL] = "T0 + T1 + T2 + T3 (--syscalls)",
		[ENTRY_SYSCOUNT] = "syscount -L",
		[ENTRY_BLOCK] = "T2's part for block devices",
		[ENTRY_BIOLATENCY] = "biolatency -d",
	};

	return names[e];
}

int contest_start(const struct contender *c, const struct ring *ring, struct contest *ret,
		  struct error *err)
{
	struct contest contest = { c, ring, worker_deeds(ring->worker), {}, NULL };
	int r = c->kind->start(&contest, err);

	if (r >= 0)
		*ret = contest;
	return r;
}

/* Fewer is wrong; more too, of one that sees nothing but the worker. */
static bool is_right(int64_t counted, int64_t done, bool is_exact)
{
	return counted < 0 || counted == done || (counted > done && !is_exact);
}

/* What it cannot tell is right. */
static bool is_right_of_all(const struct contender *who, const struct counted *counted,
			    const struct counted *done)
{
	return is_right(counted->reads, done->reads, who->kind->is_exact) &&
	       is_right(counted->writes, done->writes, who->kind->is_exact) &&
	       is_right(counted->sends, done->sends, who->kind->is_exact) &&
	       is_right(counted->requests, done->requests, who->kind->is_exact) &&
	       is_right(counted->switches, done->switches, false);
}

int contest_end(struct contest *c, struct error *err)
{
	const struct contender *who = c->contender;
	struct deeds now = worker_deeds(c->ring->worker);
	struct counted done = { (int64_t)(now.preads - c->before.preads),
				(int64_t)(now.writes - c->before.writes),
				(int64_t)(now.sends - c->before.sends),
				(int64_t)(now.requests - c->before.requests),
				(int64_t)(now.switches - c->before.switches) };
	struct counted counted = { -1, -1, -1, -1, -1 };
	int r = who->kind->end(c, &counted, err);

	if (r < 0)
		return r;
	if (who->entry == ENTRY_REFERENCE)
		done.reads += done.writes;
	if (!is_right_of_all(who, &counted, &done))
		return error_set(err, -ERANGE,
				 "%s counted %" PRId64 " reads, %" PRId64 " writes, %" PRId64
				 " sends, %" PRId64 " requests, %" PRId64 " switches, not %" PRId64
				 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64,
				 entry_name(who->entry), counted.reads, counted.writes,
				 counted.sends, counted.requests, counted.switches, done.reads,
				 done.writes, done.sends, done.requests, done.switches);
	return 0;
}

void contest_tell_programs(struct contest *c,
			   void (*tell)(const char *program, uint64_t runs, uint64_t ns,
					void *data),
			   void *data)
{
	if (c->contender->kind->tell)
		c->contender->kind->tell(c, tell, data);
}
