// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * time - T1: how threads spend time: on a CPU, waiting for one, or blocked, and on what.
 *
 * Only the task that leaves a CPU is touched.  Counters that the kernel keeps anyway say what it
 * did since it last left one: time on a CPU, time that interrupts and a hypervisor took there, time
 * waiting for one; in the rest it was blocked, for the cause noted as it left.  So a wait is
 * counted when it ends; a reading counts the waits in progress, and what was stolen from running
 * tasks, as far as they have gone, so that nothing counts twice and no sum falls.
 *
 * Costs a look-up in the task, one in a hash and one by CPU per switch, and a clock read.  Needs
 * task storage, from Linux 5.11 on.
 */
#include "bpf/causes.bpf.h"
#include "bpf/cgroup.bpf.h"
#include "bpf/groups.bpf.h"
#include "bpf/lost.bpf.h"
#include "bpf/own.bpf.h"
#include "bpf/tasks.h"

/*
 * ---- the time up to which a task's time is counted ----
 *
 * Kept in the task, and made where memory may be allocated: at its birth, as it moves, and by a
 * reading.  The switch of tasks only looks it up: it holds the run queue's lock, under which an
 * allocation may wake another task, which takes that lock.
 */
#define CAUSE_NONE 0xffU /* it was not blocked: its time is on a CPU, or waiting for one */
#define STOLEN_UNIT_NS 4096
#define STOLEN_MAX 0xffffffffULL /* five hours without a switch */

struct moment {
	__u64 left_ns; /* until then all is counted: it left a CPU, or a reading found it blocked;
			  CLOCK_MONOTONIC */
	__u64 exec_ns, run_delay_ns; /* as it left the CPU */
	__u64 cgroup;
	__u64 counted; /* the cgroup that it is counted as; 0: none that is watched */
	__u64 judged_for; /* watch.id of that judgement */
	__u8 cause; /* what it waits for since it left the CPU */
	__u8 last_cause; /* what it waited for when it was blocked the last time */
	__u16 is_shared; /* all CPUs count in one entry */
	__u32 stolen; /* from it since it came to its CPU, and counted already; in STOLEN_UNIT_NS */
};
_Static_assert(sizeof(struct moment) == 56, "a word more would take each task another 64 bytes");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE); /* one a live, watched task; goes with it */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct moment);
} task_states SEC(".maps");

static __always_inline struct moment *find_task_state(struct task_struct *task)
{
	return bpf_task_storage_get(&task_states, task, 0, 0);
}

/* @first is what it holds where there is none yet: all at once, since its task may run.  NULL:
 * there is no room. */
static __always_inline struct moment *make_task_state(struct task_struct *task,
						      struct moment *first)
{
	return bpf_task_storage_get(&task_states, task, first, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/*
 * What users make may be many groups, and what was there before us are a node's services as a rule,
 * which come to run on every CPU some day: of those all CPUs count in one entry.
 */
static __always_inline bool is_shared(__u64 cgroup)
{
	struct group_entry *group;

	if (!has_groups())
		return false;
	group = bpf_map_lookup_elem(&groups, &cgroup);
	return !group || group->is_guest || !group->born_ns;
}

/* Of which group it is counted from now on. */
static __always_inline void judge_task_state(struct moment *m, struct task_struct *task,
					     struct cgroup *cgrp)
{
	__u64 cgroup = cgroup_id(cgrp), counted = is_watched(cgrp) ? fold_cgroup(task, cgroup) : 0;

	m->cgroup = cgroup;
	m->judged_for = watch.id;
	m->counted = counted;
	m->is_shared = is_shared(counted);
}

static __always_inline bool is_judged(const struct moment *m, __u64 cgroup)
{
	return m->cgroup == cgroup && m->judged_for == watch.id;
}

/* ---- the sums ---- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated: written under the run queue's lock */
	__uint(max_entries, 2048); /* set before load: see the meter's sizing */
	__type(key, struct cgroup_cpu); /* added here; removed by user space when the cgroup has
					   gone */
	__type(value, struct task_times);
} task_times SEC(".maps");

/* Who came to the CPU last, and when by what was stolen of it until then. */
struct arrival {
	__u64 lag;
	__s32 pid, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct arrival);
} arrivals SEC(".maps");

static const struct task_times no_times;

/* NULL: no room. */
static __always_inline struct task_times *get_times(const struct moment *m)
{
	struct cgroup_cpu key = { .cgroup = m->counted,
				  .cpu = m->is_shared ? TIME_ALL_CPUS
						      : bpf_get_smp_processor_id() };

	return get_or_add(&task_times, &key, &no_times);
}

/* A reading may add at the same time, and so may other CPUs where they share an entry. */
static __always_inline void add(__u64 *to, __u64 ns)
{
	if (ns)
		__sync_fetch_and_add(to, ns);
}

/* Of a task that was not blocked it is what the two clocks, the kernel's for CPUs and ours, differ
 * by. */
static __always_inline void add_blocked(struct task_times *times, __u64 cause, __u64 ns)
{
	__u64 *blocked = (__u64 *)&times->blocked;

	barrier_var(cause); /* or it is compared in one register, and used from another: 6.1's
			       verifier knows no better */
	if (cause >= TIME_CAUSES)
		return;
	barrier_var(cause); /* or the compiler reckons with it before it is known to be small */
	add(&blocked[cause], ns);
}

/* What is left of @elapsed. */
static __always_inline __u64 rest_of(__u64 elapsed, __u64 on_ns, __u64 queued_ns)
{
	return elapsed > on_ns + queued_ns ? elapsed - on_ns - queued_ns : 0;
}

/*
 * How far a CPU's task clock lags behind its clock: all that interrupts and a hypervisor took so
 * far, if the kernel accounts for them (CONFIG_IRQ_TIME_ACCOUNTING,
 * CONFIG_PARAVIRT_TIME_ACCOUNTING); else 0.  Both are of the same moment, as is sum_exec_runtime as
 * a task leaves.
 */
static __always_inline __u64 lag_of(const struct rq *rq)
{
	return rq->clock - rq->clock_task;
}

/* What was stolen from @task, which is on the CPU, since it came there. */
static __always_inline __u64 stolen_from(const struct task_struct *task,
					 const struct arrival *arrival, __u64 lag)
{
	return arrival->pid == task->pid && lag > arrival->lag ? lag - arrival->lag : 0;
}

/* The same for a task that leaves, and @next comes. */
static __always_inline __u64 take_arrival(struct task_struct *task, const struct task_struct *next)
{
	struct rq *rq = run_queue_of(task);
	const __u32 key = 0;
	struct arrival *arrival = bpf_map_lookup_elem(&arrivals, &key);
	__u64 lag, stolen_ns;

	if (!rq || !arrival)
		return 0;
	lag = lag_of(rq);
	stolen_ns = stolen_from(task, arrival, lag);
	arrival->lag = lag;
	arrival->pid = next->pid;
	return stolen_ns;
}

/* The same as far as it is not counted yet, of a rest of @rest_ns: the task may have come before we
 * knew it. */
static __always_inline __u64 stolen_since(__u64 stolen_ns, __u64 counted, __u64 rest_ns)
{
	__u64 counted_ns = counted * STOLEN_UNIT_NS,
	      ns = stolen_ns > counted_ns ? stolen_ns - counted_ns : 0;

	return ns < rest_ns ? ns : rest_ns;
}

/* Of the cgroup that was its own meanwhile; NULL where another group was watched, or there is no
 * room. */
static __always_inline struct task_times *times_of(const struct moment *m)
{
	struct task_times *times;

	if (!m->counted || m->judged_for != watch.id)
		return NULL;
	times = get_times(m);
	if (!times)
		count_lost_of(m->counted, LOST_TIME);
	return times;
}

/*
 * left_ns is exchanged before the fields beside it are written: a reading in between sees new and
 * old together, which makes no time at all, and one that began before finds that left_ns has
 * changed.
 */
static __always_inline int leave(struct task_struct *task, __u32 state,
				 const struct task_struct *next)
{
	struct moment *m = find_task_state(task);
	__u64 now, elapsed, on_ns, queued_ns, exec_ns, run_delay_ns, rest;
	__u64 stolen_ns = take_arrival(task, next);
	struct task_times *times;
	struct cgroup *cgrp;

	if (!m)
		return 0;
	cgrp = cgroup_of(task);
	now = bpf_ktime_get_ns();
	elapsed = now - __sync_lock_test_and_set(&m->left_ns, now);
	exec_ns = task->se.sum_exec_runtime;
	run_delay_ns = task->sched_info.run_delay;
	on_ns = exec_ns - m->exec_ns;
	queued_ns = run_delay_ns - m->run_delay_ns;
	rest = rest_of(elapsed, on_ns, queued_ns);
	stolen_ns = stolen_since(stolen_ns, m->stolen, rest);
	times = times_of(m);
	if (times) {
		add(&times->on, on_ns);
		add(&times->stolen, stolen_ns);
		add(&times->queued, queued_ns);
		add_blocked(times, m->cause, rest - stolen_ns);
	}
	m->stolen = 0;
	m->exec_ns = exec_ns;
	m->run_delay_ns = run_delay_ns;
	m->cause = CAUSE_NONE;
	if (state && !(state & TASK_DEAD))
		m->cause = m->last_cause = cause_of(task, state, m->last_cause);
	if (!is_judged(m, cgroup_id(cgrp))) /* a thread that moved along with its process */
		judge_task_state(m, task, cgrp);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(charge_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct own_cost *own = own_begin(OWN_SWITCH);

	leave(prev, preempt ? 0 : prev_state, next);
	return own_end(own);
}

/* fa2c3254d7cf "sched/tracing: Don't re-read p->state when emitting sched_switch event",
 * Linux 5.18; before, the task may be woken already, and seems not to have been blocked. */
SEC("tp_btf/sched_switch")
int BPF_PROG(charge_switch_unstated, bool preempt, struct task_struct *prev,
	     struct task_struct *next)
{
	struct own_cost *own = own_begin(OWN_SWITCH);

	leave(prev, preempt ? 0 : task_state(prev), next);
	return own_end(own);
}

/*
 * Count a wait before its end, as far as it has gone.  Of a task that runs, or is about to, it has
 * ended; but that time is known only up to the last tick, so a tick too much may be counted.
 */
static __always_inline void charge_open(struct task_struct *task, struct moment *m)
{
	volatile struct moment *seen = m;
	__u64 left_ns = seen->left_ns;
	__u64 exec_ns = seen->exec_ns, run_delay_ns = seen->run_delay_ns;
	__u32 cause = seen->cause;
	__u64 now = bpf_ktime_get_ns(), rest;
	struct task_times *times;

	if (cause == CAUSE_NONE)
		return;
	rest = rest_of(now - left_ns, task->se.sum_exec_runtime - exec_ns,
		       task->sched_info.run_delay - run_delay_ns);
	if (!rest || __sync_val_compare_and_swap(&m->left_ns, left_ns, left_ns + rest) != left_ns)
		return;
	times = times_of(m);
	if (times)
		add_blocked(times, cause, rest);
}

/* Count what was stolen from a task that runs, up to now.  Its CPU goes on meanwhile: where two
 * looks differ it has just moved its clocks, and the next reading counts it. */
static __always_inline void charge_running(struct task_struct *task, struct moment *m)
{
	volatile struct moment *seen = m;
	__u64 left_ns = seen->left_ns, counted = seen->stolen, more, rest, lag, stolen_ns;
	struct rq *rq = run_queue_of(task);
	const __u32 key = 0;
	struct arrival *arrival = rq ? value_on(&arrivals, &key, rq) : NULL;
	struct task_times *times;

	if (!arrival)
		return;
	lag = lag_of(rq);
	barrier();
	if (lag != lag_of(rq))
		return;
	rest = rest_of(bpf_ktime_get_ns() - left_ns, task->se.sum_exec_runtime - seen->exec_ns,
		       task->sched_info.run_delay - seen->run_delay_ns);
	more = stolen_since(stolen_from(task, arrival, lag), counted, rest) / STOLEN_UNIT_NS;
	stolen_ns = more * STOLEN_UNIT_NS;
	if (!more || counted + more > STOLEN_MAX ||
	    __sync_val_compare_and_swap(&m->left_ns, left_ns, left_ns + stolen_ns) != left_ns)
		return;
	m->stolen = counted + more;
	times = times_of(m);
	if (times)
		add(&times->stolen, stolen_ns);
}

/* It has another group, or another group is watched. */
static __always_inline void move(struct task_struct *task, struct moment *m, struct cgroup *cgrp)
{
	if (is_on_cpu(task))
		charge_running(task, m);
	charge_open(task, m);
	judge_task_state(m, task, cgrp);
}

/* Kernel threads belong to no group. */
static __always_inline void begin(struct task_struct *task, struct cgroup *cgrp)
{
	struct moment first = {
		.exec_ns = task->se.sum_exec_runtime,
		.run_delay_ns = task->sched_info.run_delay,
		.cause = CAUSE_NONE,
		.last_cause = TIME_OTHER,
	};

	if (task->flags & PF_KTHREAD)
		return;
	judge_task_state(&first, task, cgrp);
	if (is_blocked(task))
		first.cause = first.last_cause = cause_of(task, task_state(task), TIME_OTHER);
	first.left_ns = bpf_ktime_get_ns();
	if (!make_task_state(task, &first))
		count_lost_of(first.counted, LOST_TASK_STATE);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(begin_task, struct task_struct *parent, struct task_struct *child)
{
	struct cgroup *cgrp = cgroup_of(child);

	if (is_watched(cgrp))
		begin(child, cgrp);
	return 0;
}

/* What a task waited for until it was moved stays with the cgroup that it came from; what it did on
 * a CPU since it left one the last time moves along. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(split_task, struct cgroup *to, const char *path, struct task_struct *task)
{
	struct cgroup *cgrp = cgroup_of(task); /* @to may be of another hierarchy */
	struct moment *m = find_task_state(task);

	if (!m && is_watched(cgrp))
		begin(task, cgrp);
	if (m && !is_judged(m, cgroup_id(cgrp)))
		move(task, m, cgrp);
	return 0;
}

/* For each reading: count what all are blocked in, and what was stolen from them; and begin with
 * those that were there before us. */
SEC("iter/task")
int charge_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct cgroup *cgrp;
	struct moment *m;

	if (!task)
		return 0;
	cgrp = cgroup_of(task);
	m = find_task_state(task);
	if (!m && is_watched(cgrp))
		begin(task, cgrp);
	if (!m)
		return 0;
	if (!is_judged(m, cgroup_id(cgrp)))
		move(task, m, cgrp);
	else if (is_on_cpu(task))
		charge_running(task, m);
	else if (is_blocked(task))
		charge_open(task, m);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
