// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * tasks - T0: what the kernel keeps of each task anyway, summed by cgroup when the task is freed,
 * and read by an iterator while it lives.  Nothing here runs per system call or per switch.
 *
 * The sum is taken at sched_process_free and not at exit: there CPU time is short by up to a tick,
 * and from Linux 6.18 by the freeing of the address space.
 */
#include "bpf/groups.bpf.h"
#include "bpf/cgroup.bpf.h"
#include "bpf/lost.bpf.h"
#include "bpf/oom.bpf.h"
#include "bpf/tasks.h"
#include "bpf/threads.bpf.h"

/* ---- the cgroup of a watched task, and its counters when it came there ---- */

/* Counters of a task when it came to its cgroup: earlier work is another cgroup's. */
struct task_baseline {
	__u64 cgroup;
	__u64 counted; /* the cgroup that it is counted as: see groups.bpf.h */
	struct task_counters base;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* in use only while an agent starts */
	__uint(max_entries, 512); /* user space puts no more in at once */
	__type(key, __u64); /* a pid; added and removed by user space */
	__type(value, struct earlier_task);
} earlier_tasks SEC(".maps");

/*
 * In the task itself; until Linux 5.12 that is not offered.
 * a10787e6d58c "bpf: Enable task local storage for tracing programs"
 */
#ifndef OLD_KERNEL
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE); /* one a live, watched task; goes with it */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_baseline);
} task_baselines SEC(".maps");

static __always_inline struct task_baseline *find_baseline(struct task_struct *task)
{
	return bpf_task_storage_get(&task_baselines, task, 0, 0);
}

/* An empty one; NULL: there is no room. */
static __always_inline struct task_baseline *make_baseline(struct task_struct *task)
{
	return bpf_task_storage_get(&task_baselines, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline void drop_baseline(struct task_struct *task)
{
}
#else
struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated: it is written while a task is freed */
	__uint(max_entries, 16384); /* live, watched tasks */
	__type(key, __u64); /* task_struct's address; removed when the task is freed */
	__type(value, struct task_baseline);
} task_baselines SEC(".maps");

static const struct task_baseline no_baseline;

static __always_inline struct task_baseline *find_baseline(struct task_struct *task)
{
	__u64 key = (__u64)task;

	return bpf_map_lookup_elem(&task_baselines, &key);
}

static __always_inline struct task_baseline *make_baseline(struct task_struct *task)
{
	__u64 key = (__u64)task;

	if (bpf_map_update_elem(&task_baselines, &key, &no_baseline, BPF_ANY) < 0)
		count_lost(LOST_BASELINE);
	return bpf_map_lookup_elem(&task_baselines, &key);
}

static __always_inline void drop_baseline(struct task_struct *task)
{
	__u64 key = (__u64)task;

	bpf_map_delete_elem(&task_baselines, &key);
}
#endif

/* ---- sums by cgroup ---- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096); /* set before load: see the meter's sizing */
	__type(key, struct cgroup_cpu); /* added here; removed by user space when the cgroup has
					   gone */
	__type(value, struct task_totals);
} task_totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096); /* tasks between their end and their freeing, some 20 ms */
	__type(key, __u64); /* task_struct's address; added at the end, removed when freed */
	__type(value, struct leaving_task);
} leaving_tasks SEC(".maps");

static const struct task_totals no_totals;

/* NULL: no room. */
static __always_inline struct task_totals *get_totals(__u64 cgroup)
{
	struct cgroup_cpu key = { .cgroup = cgroup,
				  .cpu = is_guest(cgroup) ? 0 : bpf_get_smp_processor_id() };

	return get_or_add(&task_totals, &key, &no_totals);
}

struct parts {
	__u64 system, all;
};

static __always_inline long halve(__u32 i, void *context)
{
	struct parts *parts = context;

	if (!(parts->all >> 31))
		return 1;
	parts->system >>= 1;
	parts->all >>= 1;
	return 0;
}

/*
 * Split @exec ns as the kernel splits them for getrusage (cputime_adjust(),
 * kernel/sched/cputime.c): by the ratio of the ticks, and all to user mode where no tick hit; and
 * never less system time than it said before.
 */
static __always_inline void split_time(__u64 user, __u64 system, __u64 exec,
				       const struct signal_struct *signal,
				       struct task_counters *ret)
{
	__u64 said_user = signal->prev_cputime.utime;
	__u64 said_system = signal->prev_cputime.stime;

	if (said_user + said_system >= exec) { /* what it said is all there is */
		ret->user_ns = said_user;
		ret->system_ns = said_system;
		return;
	}
	if (system && !user) {
		system = exec;
	} else if (system) {
		struct parts ticks = { system, user + system };

		repeat(32, halve, &ticks); /* the products must fit 64 bits */
		system = exec / ticks.all * ticks.system +
			 exec % ticks.all * ticks.system / ticks.all;
	}
	if (system < said_system)
		system = said_system;
	if (exec - system < said_user)
		system = exec - said_user;
	ret->system_ns = system;
	ret->user_ns = exec - system;
}

/* Signals of a program fault or a reached limit: those that dump core, but for SIGQUIT, which users
 * send. */
#define BIT_OF(signal) (1ULL << (signal))
#define FAULTS                                                                                    \
	(BIT_OF(4) | BIT_OF(5) | BIT_OF(6) | BIT_OF(7) | BIT_OF(8) | BIT_OF(11) | BIT_OF(24) |    \
	 BIT_OF(25) | BIT_OF(31)) /* SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGSEGV SIGXCPU SIGXFSZ \
				     SIGSYS */

/* Of a task that ends: did a fault end its process, and is it the main thread?  That may have ended
 * before the others, and then the process' own word comes with its freeing. */
static __always_inline __u32 is_crash(const struct task_struct *task,
				      const struct signal_struct *process)
{
	int status = process->flags & SIGNAL_GROUP_EXIT ? process->group_exit_code
							: task->exit_code;

	return task->pid == task->tgid && FAULTS >> (status & 63) & 1;
}

/* The thread's own counters; user and system stay 0. */
static __always_inline void read_counters(struct task_struct *task, struct task_counters *ret)
{
	ret->user_ns = ret->system_ns = 0;
	ret->run_delay_ns = task->sched_info.run_delay;
	ret->voluntary_switches = task->nvcsw;
	ret->involuntary_switches = task->nivcsw;
	ret->migrations = task->se.nr_migrations;
	ret->minor_faults = task->min_flt;
	ret->major_faults = task->maj_flt;
	ret->rchar = task->ioac.rchar;
	ret->wchar = task->ioac.wchar;
	ret->syscr = task->ioac.syscr;
	ret->syscw = task->ioac.syscw;
	ret->read_bytes = task->ioac.read_bytes;
	ret->write_bytes = task->ioac.write_bytes;
}

static __always_inline void add_difference(struct task_counters *sum,
					   const struct task_counters *now,
					   const struct task_counters *base)
{
	__u64 *to = (__u64 *)sum;
	const __u64 *plus = (const __u64 *)now, *minus = (const __u64 *)base;

#pragma unroll
	for (int i = 0; i < (int)TASK_COUNTERS; i++) {
		if (plus[i] > minus[i])
			__sync_fetch_and_add(&to[i], plus[i] - minus[i]);
	}
}

static const struct task_counters no_counters;

/* The cgroup that a task is counted as: for all its life in a group the same, whatever is learned
 * of the group. */
static __always_inline __u64 cgroup_of_task(struct task_struct *task, __u64 cgroup,
					    const struct task_baseline *baseline)
{
	if (has_groups() && baseline && baseline->cgroup == cgroup)
		return baseline->counted;
	return fold_cgroup(task, cgroup);
}

static __always_inline __u32 uid_of(const struct task_struct *task)
{
	const struct cred *cred = LOAD(read_only(task), cred);

	return LOAD(cred, uid.val);
}

/* A task is born inside what we watch. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(baseline_task, struct task_struct *parent, struct task_struct *child)
{
	struct cgroup *cgrp = cgroup_of(child);
	struct task_baseline *baseline;

	if (!is_watched(cgrp))
		return 0;
	baseline = make_baseline(child);
	if (!baseline)
		return 0;
	baseline->cgroup = cgroup_id(cgrp);
	baseline->counted = fold_cgroup(child, baseline->cgroup);
	drop_levels(child); /* of an earlier task at its address that was freed unseen */
	return 0;
}

/*
 * A task was moved: what it did so far stays with the cgroup it came from.  The event names a
 * process' main thread only; of other threads that moved along, what they did before moves too.
 */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(move_task, struct cgroup *to, const char *path, struct task_struct *task,
	     bool is_process)
{
	struct cgroup *cgrp = cgroup_of(task); /* @to may be of another hierarchy */
	__u64 cgroup = cgroup_id(cgrp), counted;
	struct signal_struct *signal = read_only(task)->signal;
	struct task_baseline *baseline = find_baseline(task);
	struct task_counters now;

	if (baseline && baseline->cgroup == cgroup)
		return 0;
	if (!baseline && !is_watched(cgrp))
		return 0;
	counted = fold_cgroup(task, cgroup);
	if (baseline && baseline->counted == counted) { /* to where it is counted the same */
		baseline->cgroup = cgroup;
		return 0;
	}
	read_counters(task, &now);
	split_time(signal->utime + task->utime, signal->stime + task->stime,
		   signal->sum_sched_runtime + task->se.sum_exec_runtime, signal, &now);
	if (is_process && signal->nr_threads > 1)
		count_lost_of(counted, LOST_MOVE);
	if (baseline) {
		struct task_totals *totals = get_totals(baseline->counted);

		if (totals)
			add_difference(&totals->ended, &now, &baseline->base);
		else
			count_lost_of(baseline->counted, LOST_TASK);
	} else {
		baseline = make_baseline(task);
	}
	if (baseline) {
		baseline->cgroup = cgroup;
		baseline->counted = counted;
		baseline->base = now;
	}
	return 0;
}

/*
 * The freeing of a task is not always seen (53 of 22,781 on a busy virtual machine with Linux 6.18,
 * while others attached to and detached from the tracepoint; no run was skipped).  Then what was
 * kept of it is all there will be: add it when another task is found at the same address.
 */
static __always_inline void settle_unseen(__u64 key)
{
	struct leaving_task *unseen = bpf_map_lookup_elem(&leaving_tasks, &key);
	struct task_totals *totals = unseen ? get_totals(unseen->cgroup) : NULL;

	if (!unseen || !totals)
		return;
	count_lost_of(unseen->cgroup, LOST_FREEING);
	add_difference(&totals->ended, &unseen->counters, &no_counters);
	__sync_fetch_and_add(&totals->crashed, unseen->crashed);
	__sync_fetch_and_add(&totals->frees, 1);
}

/*
 * A task ends.  Between its parent's wait and its freeing it is in no list, for long if a CPU is
 * held up (a virtual one may be, for seconds).  So its counters are kept aside: complete but for
 * the last of its CPU time.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(count_exit, struct task_struct *task)
{
	struct cgroup *cgrp = cgroup_of(task);
	struct signal_struct *signal = read_only(task)->signal;
	struct task_struct *leader = task->group_leader;
	struct leaving_task leaving = {};
	struct task_counters now;
	struct task_totals *totals;
	struct task_baseline *baseline;
	__u64 key = (__u64)task;

	if (!is_watched(cgrp))
		return 0;
	baseline = find_baseline(task);
	leaving.cgroup = cgroup_of_task(task, cgroup_id(cgrp), baseline);
	leaving.pid = task->pid;
	leaving.crashed = is_crash(task, signal);
	leaving.ended_ns = bpf_ktime_get_boot_ns();
	join_threads(task, leader, signal, leaving.cgroup);
	read_counters(task, &now);
	if (task->pid == task->tgid)
		split_time(signal->utime + task->utime, signal->stime + task->stime,
			   signal->sum_sched_runtime + task->se.sum_exec_runtime, signal, &now);
	add_difference(&leaving.counters, &now, baseline ? &baseline->base : &no_counters);
	settle_unseen(key);
	if (bpf_map_update_elem(&leaving_tasks, &key, &leaving, BPF_ANY) < 0) {
		count_lost_of(leaving.cgroup, LOST_LEAVING);
		if (has_groups())
			return 0; /* its end is counted when it is freed */
	}
	totals = get_totals(leaving.cgroup);
	if (totals)
		__sync_fetch_and_add(&totals->exits, 1);
	return 0;
}

/* The cgroup that a task's end was counted in.  With groups an end that was not (it was before us,
 * or there was no room to keep it aside) is still to be counted, so that what is counted of a
 * cgroup adds up for itself. */
static __always_inline __u64 ended_cgroup(struct task_struct *task, __u64 cgroup,
					  const struct task_baseline *baseline, bool *ret_was_seen)
{
	__u64 key = (__u64)task;
	struct leaving_task *leaving;

	*ret_was_seen = true;
	if (!has_groups())
		return cgroup;
	leaving = bpf_map_lookup_elem(&leaving_tasks, &key);
	*ret_was_seen = leaving != NULL;
	return leaving ? leaving->cgroup : cgroup_of_task(task, cgroup, baseline);
}

/*
 * The last that is seen of a task, after all its time is counted; its cgroup is still right.  By
 * then release_task() has added the main thread's time to its process' (and not before: the order
 * matters to split_time).  Runs in a softirq, which no other of these programs interrupts halfway,
 * but may itself interrupt count_exit: so both add atomically to what they share.
 */
static __always_inline int count_freed(struct task_struct *task)
{
	struct signal_struct *signal = read_only(task)->signal;
	struct cgroup *cgrp = cgroup_of(task);
	struct task_baseline *baseline;
	struct task_counters now;
	struct task_totals *totals;
	__u64 key = (__u64)task, cgroup;
	__u32 uid;
	bool was_seen;

	if (!is_watched(cgrp))
		return 0;
	baseline = find_baseline(task);
	cgroup = ended_cgroup(task, cgroup_id(cgrp), baseline, &was_seen);
	totals = get_totals(cgroup);
	bpf_map_delete_elem(&leaving_tasks, &key);
	if (!totals)
		return count_lost_of(cgroup, LOST_TASK);
	uid = uid_of(task);
	if (uid && !totals->uid) /* root's is no news, and other CPUs may add one meanwhile */
		totals->uid = uid;
	read_counters(task, &now);
	if (task->pid == task->tgid) {
		split_time(signal->utime, signal->stime, signal->sum_sched_runtime, signal, &now);
		raise(&totals->process_peak_pages, signal->maxrss); /* other CPUs may, too */
		keep_threads(totals, task, cgroup);
	}
	add_difference(&totals->ended, &now, baseline ? &baseline->base : &no_counters);
	if (!was_seen)
		__sync_fetch_and_add(&totals->exits, 1);
	if (is_crash(task, signal))
		__sync_fetch_and_add(&totals->crashed, 1);
	__sync_fetch_and_add(&totals->frees, 1);
	return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(count_freed_task, struct task_struct *task)
{
	count_freed(task);
	drop_baseline(task);
	drop_levels(task);
	return 0;
}

/* Any signal: nearly all of them return after the first line. */
SEC("tp_btf/signal_generate")
int BPF_PROG(note_kill, int signal, unsigned long info, struct task_struct *task)
{
	struct cgroup *cgrp;

	if (signal != SIGKILL || info != SEND_SIG_PRIV)
		return 0;
	cgrp = cgroup_of(task);
	if (!is_watched(cgrp))
		return 0;
	return note_oom_signal(task, cgroup_of_task(task, cgroup_id(cgrp), find_baseline(task)));
}

SEC("tp_btf/mark_victim")
int keep_oom_kill(void *ctx)
{
	return keep_oom_oom_kill();
}

/*
 * Another agent counted the task before and reported its counters, which must not count again.  Of
 * older tasks that it did not report all counters are subtracted, so that nothing counts twice.
 */
static __always_inline void take_off_counted(struct task_struct *task, struct cgroup *cgrp)
{
	__u64 pid = task->pid, started_ns = task->start_boottime;
	struct earlier_task *earlier = bpf_map_lookup_elem(&earlier_tasks, &pid);
	struct signal_struct *signal = read_only(task)->signal;
	struct task_baseline *baseline;

	if (earlier && earlier->started_ns != started_ns)
		earlier = NULL;
	if ((!earlier && started_ns >= watch.counted_until_ns) || find_baseline(task))
		return;
	baseline = make_baseline(task);
	if (!baseline) { /* no room at this moment */
		watch.has_missed = 1;
		return;
	}
	baseline->cgroup = cgroup_id(cgrp);
	baseline->counted = fold_cgroup(task, baseline->cgroup);
	if (earlier) {
		baseline->base = earlier->counters;
		return;
	}
	read_counters(task, &baseline->base);
	if (task->pid == task->tgid)
		split_time(signal->utime + task->utime, signal->stime + task->stime,
			   signal->sum_sched_runtime + task->se.sum_exec_runtime, signal,
			   &baseline->base);
}

/* One record a live task, of those that we watch; also of those that ended and are not yet freed.
 */
SEC("iter/task")
int read_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_record record = {};
	struct signal_struct *signal;
	struct thread_levels *ended;
	struct task_baseline *baseline;
	struct cgroup *cgrp;

	if (!task)
		return 0;
	cgrp = cgroup_of(task);
	signal = read_only(task)->signal;
	if (watch.counted_until_ns)
		take_off_counted(task, cgrp);
	if (!is_watched(cgrp))
		return 0;
	baseline = find_baseline(task);
	record.cgroup = cgroup_of_task(task, cgroup_id(cgrp), baseline);
	record.pid = task->pid;
	record.tgid = task->tgid;
	record.uid = uid_of(task);
	record.is_zombie = task_state(task) & TASK_DEAD && !is_on_cpu(task);
	read_counters(task, &record.counters);
	record.counters.user_ns = task->utime;
	record.counters.system_ns = task->stime;
	record.exec_ns = task->se.sum_exec_runtime;
	record.ended_user_ns = signal->utime;
	record.ended_system_ns = signal->stime;
	record.ended_exec_ns = signal->sum_sched_runtime;
	record.said_user_ns = signal->prev_cputime.utime;
	record.said_system_ns = signal->prev_cputime.stime;
	record.started_ns = task->start_boottime;
	if (baseline)
		record.base = baseline->base;
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	ended = task->pid == task->tgid ? find_levels(task) : NULL;
	if (ended) {
		record.pid = 0;
		record.ended = *ended;
		bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
