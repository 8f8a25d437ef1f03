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
#include "lost.bpf.h"
#include "resolve.bpf.h"
#include "rows.bpf.h"
#include "slots.bpf.h"

#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516
#define SA_RESTART 0x10000000UL
#define FMODE_CREATED 0x100000U
#define AT_REMOVEDIR 0x200
#define AT_EMPTY_PATH 0x1000

const volatile struct call_kind call_kinds[FILES_CALLS];

static __always_inline __u64 clock_ns(void)
{
	return settings.has_clock ? bpf_ktime_get_ns() : 0;
}

static __always_inline struct call_kind kind_of(long nr)
{
	struct call_kind kind = {};

	if ((__u64)nr < FILES_CALLS) {
		kind.how = call_kinds[nr].how;
		kind.op = call_kinds[nr].op;
		kind.other_op = call_kinds[nr].other_op;
		kind.way = call_kinds[nr].way;
		kind.file = call_kinds[nr].file;
		kind.path = call_kinds[nr].path;
		kind.flags = call_kinds[nr].flags;
		kind.traits = call_kinds[nr].traits;
	}
	return kind;
}

/* The place of a descriptor's file, its superblock learned if it is new. */
static __noinline __u64 look_up(struct call_slot *slot, struct task_struct *task,
				     __u64 descriptor, __u32 *ret_mode)
{
	struct resolved file;

	resolve(task, descriptor, ret_mode, &slot->scratch, &file);
	if (file.sb && file.place != slot->known_place &&
	    learn_superblock(file.place, file.sb, file.mnt))
		slot->known_place = file.place;
	if (ret_mode)
		*ret_mode = file.mode;
	return file.place;
}

/* Is it a call on the descriptor itself?  Its path is NULL, or empty where that is allowed. */
static __always_inline bool has_no_path(const struct pt_regs *regs, struct call_kind kind)
{
	__u64 path = call_argument(regs, kind.path);
	char first = 0;

	if (kind.file == ARGUMENT_NONE)
		return false;
	if (!path && kind.traits & CALL_NULL_IS_FILE)
		return true;
	if (kind.flags == ARGUMENT_NONE || !(call_argument(regs, kind.flags) & AT_EMPTY_PATH))
		return false;
	return !path || (bpf_probe_read_user(&first, 1, (void *)path) == 0 && !first);
}

/* Where the call is about to work, and what it does, as far as its arguments tell. */
static __always_inline void begin_call(struct call_slot *slot, struct task_struct *task,
				       const struct pt_regs *regs, struct call_kind kind,
				       struct call *call)
{
	call->op = kind.op;
	call->place = PLACE_UNRESOLVED;
	call->is_interrupted = 0;
	call->is_by_path = 0;
	switch (kind.how) {
	case CALL_COPY:
		call->to_place = look_up(slot, task, call_argument(regs, kind.path), NULL);
		call->place = look_up(slot, task, call_argument(regs, kind.file), NULL);
		break;
	case CALL_BY_DESCRIPTOR:
		call->place = look_up(slot, task, call_argument(regs, kind.file), NULL);
		break;
	case CALL_BY_PATH:
		if (kind.other_op != kind.op && call_argument(regs, kind.flags) & AT_REMOVEDIR)
			call->op = kind.other_op;
		if (has_no_path(regs, kind)) {
			call->place = look_up(slot, task, call_argument(regs, kind.file), NULL);
			break;
		}
		call->is_by_path = 1;
		call->cred = 0;
		break;
	case CALL_BY_RESULT:
		call->is_by_path = 1;
		call->cred = 0;
		break;
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
	begin_call(slot, task, regs, kind, &slot->call);
	if (kind.how == CALL_EXEC) {
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
	struct file_key key = key_for(call->leaf, call->place, call->op, kind.way);

	count_time(&key, ns);
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
	if (kind.how == CALL_EXEC || !judge(slot, task, &ret->leaf) || is_compat_call(task))
		return false;
	count_lost(LOST_CLOCK);
	ret->task = (__u64)task;
	begin_call(slot, task, regs, kind, ret);
	return true;
}

/* One whole call.  @timed_ns of its @ns are in the row already. */
static __always_inline void count_call(const struct call *call, struct call_kind kind, long result,
				       __u64 ns, __u64 timed_ns)
{
	struct file_key key = key_for(call->leaf, call->place, call->op, kind.way);

	if (kind.traits & CALL_MOVES_DATA)
		count_data(&key, result, ns, true);
	else
		count_meta(&key, result);
	count_time(&key, ns - timed_ns);
	if (kind.how != CALL_COPY)
		return;
	key.place = call->to_place;
	key.op = kind.other_op;
	count_data(&key, result, 0, false); /* its time stands where it read */
}

/* The kernel's own reads of a program. */
static __always_inline void count_exec(const struct call *call, struct call_kind kind,
				       struct task_struct *task, __u64 ns)
{
	struct file_key key = key_for(call->leaf, PLACE_EXEC, kind.op, kind.way);
	struct file_counts *row = get_row(&key);

	if (!row)
		return;
	row->calls += task->ioac.syscr - call->chars_calls;
	row->amount += task->ioac.rchar - call->chars;
	row->ns += ns;
}

static __always_inline void count_submitted(long result)
{
	__u32 reason = LOST_LIBAIO;
	__u64 *count;

	if (watch.sees_libaio || result <= 0)
		return;
	count = bpf_map_lookup_elem(&lost, &reason);
	if (count)
		__sync_fetch_and_add(count, result);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(leave_call, struct pt_regs *regs, long result)
{
	struct call_kind kind = kind_of(call_number(regs));
	struct task_struct *task;
	struct call_slot *slot;
	struct call call = {};
	__u64 ns = 0;
	__u32 mode;

	if (kind.how == CALL_IGNORED)
		return 0;
	task = bpf_get_current_task_btf();
	slot = get_slot();
	if (!slot)
		return 0;
	if (take_call(slot, task, &call)) {
		if (settings.has_clock)
			ns = bpf_ktime_get_ns() - call.start_ns;
	} else if (!adopt_call(slot, task, regs, kind, &call)) {
		return 0;
	}

	if (kind.how == CALL_EXEC) {
		count_exec(&call, kind, task, ns);
		return 0;
	}
	if (kind.how == CALL_SUBMIT) {
		count_submitted(result);
		return 0;
	}
	if (is_restart(result)) {
		interrupt_call(&call, kind, ns);
		return 0;
	}
	if (kind.how == CALL_BY_RESULT && result >= 0) {
		call.place = look_up(slot, task, result, &mode);
		if (mode & FMODE_CREATED)
			call.op = kind.other_op;
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
