// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * time - T1: where the time of threads goes: on a CPU, waiting for one, or blocked, and on what.
 *
 * Only the task that leaves a CPU is touched.  What it did since it left one the last time is told by counters
 * that the kernel keeps anyway: its time on a CPU and its time waiting for one; what is left of the time
 * between it was blocked, for the cause noted as it left.  So a wait is counted as it ends; a reading counts
 * those that go on, as far as they have gone, so that nothing is counted twice and no sum ever falls.
 *
 * Costs a look-up in the task and one in a hash a switch, and the clock.  Task storage is offered from Linux 5.11
 * on; without it there is no T1.
 */
#include "causes.bpf.h"
#include "lost_leaves.bpf.h"
#include "moments.bpf.h"
#include "own.bpf.h"
#include "tasks.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated: it is written under the run queue's lock */
	__uint(max_entries, 2048);       /* set before load: see the meter's sizing */
	__type(key, struct leaf_cpu);    /* added here; removed by user space when the leaf has gone */
	__type(value, struct task_times);
} task_times SEC(".maps");

static const struct task_times no_times;

/* NULL: no room. */
static __always_inline struct task_times *get_times(const struct moment *m)
{
	struct leaf_cpu key = { .leaf = m->counted,
				.cpu = m->is_shared ? TIME_ALL_CPUS : bpf_get_smp_processor_id() };
	struct task_times *times = bpf_map_lookup_elem(&task_times, &key);

	if (times)
		return times;
	bpf_map_update_elem(&task_times, &key, &no_times, BPF_NOEXIST);
	return bpf_map_lookup_elem(&task_times, &key);
}

/* A reading may add at the same time, and so may other CPUs where they share an entry. */
static __always_inline void add(__u64 *to, __u64 ns)
{
	if (ns)
		__sync_fetch_and_add(to, ns);
}

static __always_inline void add_blocked(struct task_times *times, __u64 cause, __u64 ns)
{
	__u64 *blocked = (__u64 *)&times->blocked;

	if (cause >= TIME_CAUSES) {
		add(&times->queued, ns); /* interrupts, or the hypervisor, had its CPU */
		return;
	}
	barrier_var(cause); /* or the compiler reckons with it before it is known to be small */
	add(&blocked[cause], ns);
}

/* What is left of @elapsed. */
static __always_inline __u64 rest_of(__u64 elapsed, __u64 on_ns, __u64 queued_ns)
{
	return elapsed > on_ns + queued_ns ? elapsed - on_ns - queued_ns : 0;
}

/* To the leaf that was its own meanwhile; to none where another group was watched. */
static __always_inline int charge(const struct moment *m, __u32 cause, __u64 elapsed, __u64 on_ns, __u64 queued_ns)
{
	struct task_times *times;

	if (!m->counted || m->judged_for != watch.id)
		return 0;
	times = get_times(m);
	if (!times)
		return count_lost_of(m->counted, LOST_TIME);
	add(&times->on, on_ns);
	add(&times->queued, queued_ns);
	add_blocked(times, cause, rest_of(elapsed, on_ns, queued_ns));
	return 0;
}

/*
 * The moment is taken before what stands beside it is written: a reading that comes between finds new and old
 * together, which is no time at all, and one that began before finds that the moment is not the one it saw.
 */
static __always_inline int leave(struct task_struct *task, __u32 state)
{
	struct moment *m = find_moment(task);
	__u64 now, elapsed, on_ns, queued_ns, exec_ns, run_delay_ns;
	struct cgroup *cgroup;

	if (!m)
		return 0;
	cgroup = cgroup_of(task);
	now = bpf_ktime_get_ns();
	elapsed = now - __sync_lock_test_and_set(&m->left_ns, now);
	exec_ns = task->se.sum_exec_runtime;
	run_delay_ns = task->sched_info.run_delay;
	on_ns = exec_ns - m->exec_ns;
	queued_ns = run_delay_ns - m->run_delay_ns;
	charge(m, m->cause, elapsed, on_ns, queued_ns);
	m->exec_ns = exec_ns;
	m->run_delay_ns = run_delay_ns;
	m->cause = CAUSE_NONE;
	if (state && !(state & TASK_DEAD))
		m->cause = m->last_cause = cause_of(task, state, m->last_cause);
	if (!is_judged(m, cgroup_id(cgroup))) /* a thread that moved along with its process */
		judge_moment(m, task, cgroup);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(charge_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct own_cost *own = own_begin(OWN_SWITCH);

	leave(prev, preempt ? 0 : prev_state);
	return own_end(own);
}

/* fa2c3254d7cf "sched/tracing: Don't re-read p->state when emitting sched_switch event", Linux 5.18; before, the
 * task may be woken already, and seems not to have been blocked. */
SEC("tp_btf/sched_switch")
int BPF_PROG(charge_switch_unstated, bool preempt, struct task_struct *prev)
{
	struct own_cost *own = own_begin(OWN_SWITCH);

	leave(prev, preempt ? 0 : task_state(prev));
	return own_end(own);
}

/*
 * Count a wait before its end, as far as it has gone.  Of a task that runs, or is about to, it has ended; but that
 * time is known only up to the last tick, so a tick too much may be counted.
 */
static __always_inline void charge_open(struct task_struct *task, struct moment *m)
{
	volatile struct moment *seen = m;
	__u64 left_ns = seen->left_ns;
	__u64 exec_ns = seen->exec_ns, run_delay_ns = seen->run_delay_ns;
	__u32 cause = seen->cause;
	__u64 now = bpf_ktime_get_ns(), rest;

	if (cause == CAUSE_NONE)
		return;
	rest = rest_of(now - left_ns, task->se.sum_exec_runtime - exec_ns,
		       task->sched_info.run_delay - run_delay_ns);
	if (!rest || __sync_val_compare_and_swap(&m->left_ns, left_ns, left_ns + rest) != left_ns)
		return;
	charge(m, cause, rest, 0, 0);
}

/* It has another group, or another group is watched. */
static __always_inline void move(struct task_struct *task, struct moment *m, struct cgroup *cgroup)
{
	charge_open(task, m);
	judge_moment(m, task, cgroup);
}

/* Kernel threads are nobody's. */
static __always_inline void begin(struct task_struct *task, struct cgroup *cgroup)
{
	struct moment first = {
		.exec_ns = task->se.sum_exec_runtime,
		.run_delay_ns = task->sched_info.run_delay,
		.cause = CAUSE_NONE,
		.last_cause = TIME_OTHER,
	};

	if (task->flags & PF_KTHREAD)
		return;
	judge_moment(&first, task, cgroup);
	if (is_blocked(task))
		first.cause = first.last_cause = cause_of(task, task_state(task), TIME_OTHER);
	first.left_ns = bpf_ktime_get_ns();
	if (!make_moment(task, &first))
		count_lost_of(first.counted, LOST_MOMENT);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(begin_task, struct task_struct *parent, struct task_struct *child)
{
	struct cgroup *cgroup = cgroup_of(child);

	if (is_watched(cgroup))
		begin(child, cgroup);
	return 0;
}

/* What a task waited for until it was moved stays with the leaf that it came from; what it did on a CPU since it
 * left one the last time moves along. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(split_task, struct cgroup *to, const char *path, struct task_struct *task)
{
	struct cgroup *cgroup = cgroup_of(task); /* @to may be of another hierarchy */
	struct moment *m = find_moment(task);

	if (!m && is_watched(cgroup))
		begin(task, cgroup);
	if (m && !is_judged(m, cgroup_id(cgroup)))
		move(task, m, cgroup);
	return 0;
}

/* For each reading: count what all are blocked in, and begin with those that were there before us. */
SEC("iter/task")
int charge_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct cgroup *cgroup;
	struct moment *m;

	if (!task)
		return 0;
	cgroup = cgroup_of(task);
	m = find_moment(task);
	if (!m && is_watched(cgroup))
		begin(task, cgroup);
	if (!m)
		return 0;
	if (!is_judged(m, cgroup_id(cgroup)))
		move(task, m, cgroup);
	else if (is_blocked(task))
		charge_open(task, m);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
