// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * files - T2: operations on files by cgroup and superblock, counted at the system call.
 *
 * The descriptor is resolved at entry (another thread may put a different file behind it while the
 * call sleeps); the call then waits in its CPU's slot, and only if the task leaves the CPU
 * meanwhile is it parked in a hash.  So a call that does not sleep costs no hash but its row's.
 *
 * These programs run with preemption off, on tracepoints, so a slot and a row have one writer.
 * (From Linux 6.13 system call tracepoints may fault; BPF's programs there stay non-preemptible.)
 */
#include "bpf/connections.bpf.h"
#include "bpf/hot_files.bpf.h"
#include "bpf/polls.bpf.h"
#include "bpf/lost.bpf.h"
#include "bpf/mappings.bpf.h"
#include "bpf/own.bpf.h"
#include "bpf/resolve.bpf.h"
#include "bpf/restart.bpf.h"
#include "bpf/rows.bpf.h"
#include "bpf/slots.bpf.h"
#include "bpf/traffic.bpf.h"
#include "bpf/uring.bpf.h"

#define AT_EMPTY_PATH 0x1000

const volatile struct call_kind call_kinds[FILES_CALLS];
const volatile struct call_position call_positions[FILES_CALLS]; /* of those that move data, and of
								    close */

static __always_inline __u8 how_of(long nr)
{
	return (__u64)nr < FILES_CALLS ? call_kinds[nr].how : CALL_IGNORED;
}

/* Is it a call on the descriptor itself?  Its path is NULL, or empty where that is allowed. */
static __always_inline bool has_no_path(const struct pt_regs *regs, const struct call_kind *kind)
{
	__u64 path = call_argument(regs, kind->path);
	char first = 0;

	if (kind->file == ARGUMENT_NONE)
		return false;
	if (!path && kind->traits & CALL_NULL_IS_FILE)
		return true;
	if (kind->flags == ARGUMENT_NONE || !(call_argument(regs, kind->flags) & AT_EMPTY_PATH))
		return false;
	return !path || (bpf_probe_read_user(&first, 1, (void *)path) == 0 && !first);
}

static __always_inline bool removes_dir(const struct pt_regs *regs, const struct call_kind *kind)
{
	return kind->how == CALL_BY_PATH && kind->other_op != kind->op &&
	       call_argument(regs, kind->flags) & AT_REMOVEDIR;
}

/*
 * Note in the slot what the call is about to do and, as far as its arguments say, where.  Kept in
 * the slot and not on the stack: the verifier forgets values in maps, else it would follow each
 * kind of call separately to the end.
 */
static __always_inline void begin_call(struct call_slot *slot, struct task_struct *task,
				       const struct pt_regs *regs, __u64 nr, __u64 cgroup)
{
	struct files_struct *files = LOAD(read_only(task), files);
	struct call *call = &slot->call;
	struct call_kind *kind = &call->kind;

	*kind = call_kinds[nr];
	call->task = (__u64)task;
	call->cgroup = cgroup;
	call->place = PLACE_UNRESOLVED;
	call->op = removes_dir(regs, kind) ? kind->other_op : kind->op;
	call->is_interrupted = 0;
	call->socket = call->to_socket = 0;
	call->moves_nothing = kind->how == CALL_SOCKET && kind->flags != ARGUMENT_NONE &&
			      call_argument(regs, kind->flags) & MOVES_NOTHING;
	call->is_by_path = kind->how == CALL_BY_RESULT ||
			   (kind->how == CALL_BY_PATH && !has_no_path(regs, kind));
	if (kind->how == CALL_COPY) {
		look_up(call_argument(regs, kind->to_file));
		call->to_place = slot->found_place;
		call->to_socket = slot->found_socket;
		if (slot->found_socket == TRAFFIC_TCP + 1)
			use_connection(cgroup, slot->found_address);
		if (settings.follows_files)
			follow_descriptor(REF_TO, call_argument(regs, kind->to_file),
					  call_positions[nr].to_how,
					  call_argument(regs, call_positions[nr].to_argument),
					  cgroup);
	}
	if (kind->file != ARGUMENT_NONE && !call->is_by_path) {
		look_up_here(slot, files, call_argument(regs, kind->file));
		call->place = slot->found_place;
		call->socket = slot->found_socket;
		if (slot->found_socket == TRAFFIC_TCP + 1)
			use_connection(cgroup, slot->found_address);
		if (settings.follows_files && kind->how != CALL_SOCKET)
			follow_descriptor(REF_FROM, call_argument(regs, kind->file),
					  call_positions[nr].how,
					  call_argument(regs, call_positions[nr].argument), cgroup);
	}
	call->chars = LOAD(task, ioac.rchar);
	call->chars_calls = LOAD(task, ioac.syscr);
}

static __always_inline int enter(const struct pt_regs *regs, long nr)
{
	struct task_struct *task;
	struct call_slot *slot;
	__u64 cgroup;

	if (how_of(nr) == CALL_IGNORED || (__u64)nr >= FILES_CALLS)
		return 0;
	if (how_of(nr) == CALL_POLL)
		return begin_poll(regs, (const struct call_kind *)&call_kinds[nr]);
	task = current_task();
	slot = get_slot();
	if (!slot || !judge(slot, task, &cgroup))
		return 0;
	if (is_compat_call(task))
		return count_lost_of(cgroup, LOST_COMPAT);
	begin_call(slot, task, regs, nr, cgroup);
	slot->call.start_ns = settings.has_clock && !watch.unclocked_ns ? bpf_ktime_get_ns() : 0;
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(enter_call, struct pt_regs *regs, long nr)
{
	struct own_cost *own = own_begin(OWN_ENTER);

	enter(regs, nr);
	return own_end(own);
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
	if (settings.follows_files)
		park_refs(task);
	slot->call.task = 0;
	return 0;
}

/* A task that ends inside a call never comes back from it. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(forget_call, struct task_struct *task)
{
	__u64 key = (__u64)task;

	bpf_map_delete_elem(&parked_calls, &key);
	if (watch.sees_places)
		bpf_map_delete_elem(&path_ends, &key);
	if (settings.follows_files)
		bpf_map_delete_elem(&parked_refs, &key);
	return 0;
}

/* Bring the call of @task that is in progress back into the slot. */
static __always_inline bool unpark_call(struct call_slot *slot, struct task_struct *task)
{
	__u64 key = (__u64)task;
	struct call *parked;

	if (slot->call.task == key)
		return true;
	parked = bpf_map_lookup_elem(&parked_calls, &key);
	if (!parked || parked->is_interrupted)
		return false;
	slot->call = *parked;
	bpf_map_delete_elem(&parked_calls, &key);
	if (settings.follows_files)
		unpark_refs(key);
	return true;
}

/* Where a call by path ended, as others noted. */
static __always_inline void take_path_end(struct call_slot *slot, struct task_struct *task)
{
	__u64 key = (__u64)task;
	struct path_end *end = bpf_map_lookup_elem(&path_ends, &key);

	if (!end || end->place == PLACE_UNRESOLVED)
		return;
	slot->call.place = end->place;
	if (end->place != slot->known_place)
		learn_superblock(end->place, (void *)end->superblock, NULL);
	end->place = PLACE_UNRESOLVED;
	end->is_final = 0;
}

/* A signal came: see restart.bpf.h. */
static __always_inline void interrupt_call(struct call *call, __u64 ns)
{
	struct file_key key = key_for(call->cgroup, call->place, call->op, call->kind.interface);

	if (call->kind.how != CALL_SOCKET)
		count_time(&key, ns);
	call->spent_ns = ns;
	call->is_interrupted = 1;
	if (settings.follows_files) {
		if (!call->is_by_path && call->kind.how != CALL_SOCKET)
			count_on_file(REF_FROM, call->op, 0, ns, 0);
		park_refs(call->task);
	}
	if (bpf_map_update_elem(&parked_calls, &call->task, call, BPF_ANY) < 0)
		count_lost_of(call->cgroup, LOST_INTERRUPTED);
}

/* What it moved through sockets. */
static __always_inline void count_sockets(const struct call *call, long result)
{
	if (call->kind.how == CALL_SOCKET && !call->socket)
		count_traffic(call->cgroup, TRAFFIC_OTHER + 1, call->op, result); /* no socket at
										     all */
	else if (call->socket && call->kind.traits & CALL_MOVES_DATA)
		count_traffic(call->cgroup, call->socket, call->op, result);
	if (call->to_socket)
		count_traffic(call->cgroup, call->to_socket, call->kind.other_op, result);
}

/* One whole call.  @timed_ns of its @ns are in the row already. */
static __always_inline void count_call(const struct call *call, long result, __u64 ns,
				       __u64 timed_ns)
{
	struct file_key key = key_for(call->cgroup, call->place, call->op, call->kind.interface);

	count_sockets(call, result);
	if (call->kind.how == CALL_SOCKET)
		return;
	if (call->kind.traits & CALL_MOVES_DATA)
		count_data(&key, result, ns, ns - timed_ns, ns > 0);
	else
		count_meta(&key, result, ns - timed_ns);
	if (settings.follows_files && !call->is_by_path)
		count_on_file(REF_FROM, call->op, result, ns - timed_ns, 1);
	if (call->kind.how != CALL_COPY)
		return;
	key.place = call->to_place;
	key.op = call->kind.other_op;
	count_data(&key, result, 0, 0, false); /* its time counts with the read */
	if (settings.follows_files)
		count_on_file(REF_TO, call->kind.other_op, result, 0, 1);
}

/* The kernel's own reads of a program. */
static __always_inline void count_exec(const struct call *call, struct task_struct *task, __u64 ns)
{
	struct file_key key = key_for(call->cgroup, PLACE_EXEC, call->op, call->kind.interface);
	struct file_counts *row = get_row(&key);

	if (!row)
		return;
	row->calls += LOAD(task, ioac.syscr) - call->chars_calls;
	row->bytes += LOAD(task, ioac.rchar) - call->chars;
	row->ns += ns;
}

/* Where it ended, and whether it made the file, by the returned descriptor. */
static __always_inline void settle_open(struct call_slot *slot, long result)
{
	if (slot->call.kind.how != CALL_BY_RESULT || result < 0)
		return;
	look_up(result);
	slot->call.place = slot->found_place;
	if (slot->found_mode & FMODE_CREATED)
		slot->call.op = slot->call.kind.other_op;
	if (settings.follows_files) {
		follow_descriptor(REF_FROM, result, POSITION_START, 0, slot->call.cgroup);
		slot->call.is_by_path = 0; /* from here on it is known */
	}
}

/* The beginning of a call that ends was not seen: its time is unknown.  0: it is not counted. */
static __always_inline int begin_at_end(const struct pt_regs *regs, __u64 nr)
{
	struct task_struct *task = current_task();
	struct call_slot *slot = get_slot();
	__u64 cgroup;

	if (!slot || !judge(slot, task, &cgroup) || is_compat_call(task))
		return 0;
	if (how_of(nr) == CALL_EXEC) {
		count_lost_of(cgroup, LOST_EXEC);
		return 0;
	}
	if (how_of(nr) != CALL_SOCKET && how_of(nr) != CALL_ACCEPT)
		count_lost_of(cgroup, LOST_CLOCK);
	begin_call(slot, task, regs, nr, cgroup);
	return 1;
}

/* The same as a global function, which the verifier checks once; those take no typed pointers, but
 * can find them: see compat.bpf.h. */
#ifndef OLD_KERNEL
__noinline int begin_now(__u64 nr)
{
	nr &= FILES_CALLS - 1; /* it is; 6.1's verifier forgets that of a number kept on the stack
				  before it is compared */
	return begin_at_end((struct pt_regs *)bpf_task_pt_regs(current_task()), nr);
}

static __always_inline int begin_late(const struct pt_regs *regs, __u64 nr)
{
	return begin_now(nr);
}
#else
static __always_inline int begin_late(const struct pt_regs *regs, __u64 nr)
{
	return begin_at_end(regs, nr);
}
#endif

static __always_inline int leave(struct pt_regs *regs, long nr, long result)
{
	struct task_struct *task;
	struct call_slot *slot;
	__u64 ns = 0;

	if (how_of(nr) == CALL_POLL)
		return end_poll((const struct call_kind *)&call_kinds[nr], result);
	task = current_task();
	slot = get_slot();
	if (!slot)
		return 0;
	if (!unpark_call(slot, task)) {
		if (!begin_late(regs, nr))
			return 0;
	} else if (slot->call.start_ns) {
		ns = bpf_ktime_get_ns() - slot->call.start_ns;
	}

	switch (slot->call.kind.how) {
	case CALL_EXEC:
		count_exec(&slot->call, task, ns);
		break;
	case CALL_SUBMIT:
		if (!watch.sees_libaio && result > 0)
			count_losses_of(slot->call.cgroup, LOST_LIBAIO, result);
		break;
	case CALL_ACCEPT:
		if (result >= 0)
			accept_connection(slot, slot->call.cgroup, result);
		break;
	default:
		if (slot->call.is_by_path && watch.sees_places)
			take_path_end(slot, task);
		if (is_restart(result)) {
			interrupt_call(&slot->call, ns);
			break;
		}
		settle_open(slot, result);
		if (slot->call.kind.how == CALL_SOCKET)
			result = moved_bytes(&slot->call, regs, result);
		count_call(&slot->call, result, ns, 0);
	}
	slot->call.task = 0;
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(leave_call, struct pt_regs *regs, long result)
{
	long nr = call_number(regs);
	struct own_cost *own;

	if (how_of(nr) == CALL_IGNORED || (__u64)nr >= FILES_CALLS)
		return 0;
	own = own_begin(OWN_LEAVE);
	leave(regs, nr, result);
	return own_end(own);
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(settle_interrupted_call, int sig, void *info, struct k_sigaction *action)
{
	struct task_struct *task = current_task();
	__u64 key = (__u64)task;
	struct call *call;

	if (how_of(current_call_number(task)) == CALL_IGNORED ||
	    !is_restart(current_call_result(task)))
		return 0;
	if (!has_handler(action))
		return 0;
	call = bpf_map_lookup_elem(&parked_calls, &key);
	if (!call || !call->is_interrupted)
		return 0;
	if (settings.follows_files)
		unpark_refs(key);
	if (is_given_up(current_call_result(task), action))
		count_call(call, -1, call->spent_ns, call->spent_ns);
	bpf_map_delete_elem(&parked_calls, &key);
	return 0;
}

/* A clock of each CPU: see polls.bpf.h. */
SEC("perf_event")
int sample_task(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call_slot *slot = get_slot();
	__u64 address = instruction_of(regs);

	if (!(address >> 63)) /* of user space, on all machines that we know */
		return count_sample(address, false);
	if (!slot || slot->looked != (__u64)task || how_of(current_call_number(task)) != CALL_POLL)
		return 0; /* from the way into the call to the way out, where no hook runs */
	return count_sample(address, true);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
