// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * files - T2: operations on files by leaf and superblock, counted at the system call.
 *
 * The descriptor is resolved at entry (another thread may put a different file behind it while the
 * call sleeps); the call then waits in its CPU's slot, and only if the task leaves the CPU meanwhile
 * is it parked in a hash.  So a call that does not sleep costs no hash but its row's.
 *
 * These programs run with preemption off, on tracepoints, so a slot and a row have one writer.
 * (From Linux 6.13 system call tracepoints may fault; BPF's programs there stay non-preemptible.)
 */
#include "leaf.bpf.h"
#include "lost.bpf.h"
#include "resolve.bpf.h"
#include "rows.bpf.h"

#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516
#define SA_RESTART 0x10000000UL
#define FMODE_CREATED 0x100000U

const volatile struct call_kind call_kinds[FILES_CALLS];

struct call_slot {
	struct call call;
	__u64 judged_leaf, judged_for; /* what is_judged_watched is about: a leaf, and watched_id */
	__u32 is_judged_watched;
	__u32 known_device; /* a device that is in superblocks already */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated: it is written under the run queue's lock */
	__uint(max_entries, 8192);       /* tasks asleep in a counted call */
	__type(key, __u64);              /* task_struct's address; removed at the call's end or the task's */
	__type(value, struct call);
} parked_calls SEC(".maps");

static __always_inline struct call_slot *get_slot(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&slots, &zero);
}

static __always_inline __u64 clock_ns(void)
{
	return has_clock ? bpf_ktime_get_ns() : 0;
}

static __always_inline struct call_kind kind_of(long nr)
{
	struct call_kind kind = {};

	if ((__u64)nr < FILES_CALLS) {
		kind.how = call_kinds[nr].how;
		kind.op = call_kinds[nr].op;
		kind.op_if_created = call_kinds[nr].op_if_created;
		kind.moves_data = call_kinds[nr].moves_data;
	}
	return kind;
}

/* Is the task of a leaf that we watch?  Keeps the last answer. */
static __always_inline bool judge(struct call_slot *slot, struct task_struct *task, __u64 *ret_leaf)
{
	struct cgroup *cgroup = cgroup_of(task);
	__u64 leaf = cgroup_id(cgroup);

	if (leaf != slot->judged_leaf || watched_id != slot->judged_for) {
		slot->judged_for = watched_id;
		slot->is_judged_watched = is_watched(cgroup);
		slot->judged_leaf = leaf;
	}
	*ret_leaf = leaf;
	return slot->is_judged_watched;
}

/* A descriptor's file, its superblock learned if it is new. */
static __always_inline void look_up(struct call_slot *slot, struct task_struct *task,
				    __u64 descriptor, bool has_mode, struct resolved *ret)
{
	resolve(task, descriptor, has_mode, ret);
	if (ret->sb && ret->device != slot->known_device) {
		learn_superblock(ret->sb, ret->device);
		slot->known_device = ret->device;
	}
}

SEC("tp_btf/sys_enter")
int BPF_PROG(enter_call, struct pt_regs *regs, long nr)
{
	struct call_kind kind = kind_of(nr);
	struct task_struct *task;
	struct call_slot *slot;
	__u64 leaf;

	if (kind.how == CALL_IGNORED)
		return 0;
	task = bpf_get_current_task_btf();
	slot = get_slot();
	if (!slot || !judge(slot, task, &leaf))
		return 0;
	if (is_compat_call(task))
		return count_lost(LOST_COMPAT);

	slot->call.leaf = leaf;
	slot->call.nr = nr;
	slot->call.device = DEVICE_UNRESOLVED;
	if (kind.how == CALL_BY_DESCRIPTOR) {
		struct resolved file;

		look_up(slot, task, call_first_argument(regs), false, &file);
		slot->call.device = file.device;
	} else if (kind.how == CALL_EXEC) {
		slot->call.chars = task->ioac.rchar;
		slot->call.chars_calls = task->ioac.syscr;
	}
	slot->call.task = (__u64)task;
	slot->call.start_ns = clock_ns();
	return 0;
}

/* The task leaves the CPU inside a call: keep it where the next CPU finds it. */
SEC("tp_btf/sched_switch")
int BPF_PROG(park_call, bool preempt, struct task_struct *prev)
{
	struct call_slot *slot = get_slot();
	__u64 task = (__u64)prev;

	if (!slot || slot->call.task != task)
		return 0;
	bpf_map_update_elem(&parked_calls, &task, &slot->call, BPF_ANY);
	slot->call.task = 0;
	return 0;
}

/* A task that ends inside a call never comes back from it. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(forget_call, struct task_struct *task)
{
	__u64 key = (__u64)task;

	bpf_map_delete_elem(&parked_calls, &key);
	return 0;
}

/* The call of @task that is in progress, into @ret. */
static __always_inline bool take_call(struct call_slot *slot, struct task_struct *task,
				      struct call *ret)
{
	__u64 key = (__u64)task;
	struct call *parked;

	if (slot->call.task == key) {
		*ret = slot->call;
		slot->call.task = 0;
		return true;
	}
	parked = bpf_map_lookup_elem(&parked_calls, &key);
	if (!parked || parked->is_interrupted)
		return false;
	*ret = *parked;
	bpf_map_delete_elem(&parked_calls, &key);
	return true;
}

static __always_inline bool is_restart(long result)
{
	return result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK;
}

/*
 * A signal came.  Whether the program will see EINTR or the kernel begins the call anew is decided
 * when the signal is delivered; one that is begun anew is one call.
 */
static __always_inline void interrupt_call(struct call *call, struct call_kind kind, __u64 ns)
{
	struct file_key key = key_for(call->leaf, call->device, kind.op);
	struct file_counts *row = get_row(&key);

	if (row)
		row->ns += ns;
	call->start_ns = ns;
	call->is_interrupted = 1;
	if (bpf_map_update_elem(&parked_calls, &call->task, call, BPF_ANY) < 0)
		count_lost(LOST_INTERRUPTED);
}

/* A call whose beginning was not seen: resolved now, and its time is not known. */
static __always_inline bool adopt_call(struct call_slot *slot, struct task_struct *task,
				       const struct pt_regs *regs, struct call_kind kind,
				       struct call *ret)
{
	struct resolved file;

	if (kind.how == CALL_EXEC || !judge(slot, task, &ret->leaf) || is_compat_call(task))
		return false;
	count_lost(LOST_CLOCK);
	ret->task = (__u64)task;
	ret->device = DEVICE_UNRESOLVED;
	if (kind.how == CALL_BY_DESCRIPTOR) {
		look_up(slot, task, call_first_argument(regs), false, &file);
		ret->device = file.device;
	}
	return true;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(leave_call, struct pt_regs *regs, long result)
{
	struct call_kind kind = kind_of(call_number(regs));
	struct task_struct *task;
	struct call_slot *slot;
	struct call call = {};
	__u64 ns = 0;

	if (kind.how == CALL_IGNORED)
		return 0;
	task = bpf_get_current_task_btf();
	slot = get_slot();
	if (!slot)
		return 0;
	if (take_call(slot, task, &call)) {
		if (has_clock)
			ns = bpf_ktime_get_ns() - call.start_ns;
	} else if (!adopt_call(slot, task, regs, kind, &call)) {
		return 0;
	}

	if (kind.how == CALL_EXEC) {
		count_exec(&call, kind, task, ns);
		return 0;
	}
	if (is_restart(result)) {
		interrupt_call(&call, kind, ns);
		return 0;
	}
	if (kind.how == CALL_BY_RESULT && result >= 0) {
		struct resolved file;

		look_up(slot, task, result, true, &file);
		call.device = file.device;
		if (file.mode & FMODE_CREATED)
			kind.op = kind.op_if_created;
	}
	count_call(&call, kind, result, ns, 0);
	return 0;
}

/* Does the program see EINTR? */
static __always_inline bool is_given_up(long result, const struct k_sigaction *action)
{
	if (result == -ERESTARTNOHAND || result == -ERESTART_RESTARTBLOCK)
		return true;
	return result == -ERESTARTSYS && !(action->sa.sa_flags & SA_RESTART);
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(settle_interrupted_call, int sig, void *info, struct k_sigaction *action)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct call_kind kind = kind_of(call_number(regs));
	__u64 key = (__u64)task;
	struct call *call;

	if (kind.how == CALL_IGNORED || !is_restart(call_result(regs)))
		return 0;
	if ((__u64)action->sa.sa_handler <= 1) /* SIG_DFL, SIG_IGN: nothing runs, the call begins anew */
		return 0;
	call = bpf_map_lookup_elem(&parked_calls, &key);
	if (!call || !call->is_interrupted)
		return 0;
	if (is_given_up(call_result(regs), action))
		count_call(call, kind, -1, call->start_ns, call->start_ns);
	bpf_map_delete_elem(&parked_calls, &key);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
