/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * trace - counts and times calls of functions that user space chose, by rows that say what is taken
 * of each.
 *
 * It costs what the kernel takes for the trap (0.6 us where the first instruction is one that it
 * emulates, 1.1 us with the return; more by far where it has to step over it), and some 0.2 us
 * here. Programs of user space's functions may be preempted, so each number is added to atomically,
 * though no two CPUs share one.  A thread's calls nest: an entry pushes a frame, and a return pops
 * the one of its row whose stack pointer is its own; frames above that were left without a return.
 *
 * Linux 6.1 on: cookies, loops and programs that may sleep are needed.
 */
#define KEEPS_TRUST /* user space does not look at all of these programs: see compat.bpf.h */

#include "bpf/cgroup.bpf.h"
#include "bpf/compat.bpf.h"
#include "bpf/trace_rows.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define CGROUPS_MAX 16384
#define PROCESSES_MAX 16384
#define TRACE_NO_ROW (~0U)

/* In one page of memory with what else each hit asks for. */
#define CONSTANT const volatile SEC(".rodata.settings")

/* Only processes of `traced_processes` and what they fork; else those of the watched cgroup. */
CONSTANT bool is_by_process;

/* Only calls of processes that belong to this user alone. */
CONSTANT bool is_by_owner;
CONSTANT __u32 owner, owner_group;

/* All processes; it is kept which groups theirs are in. */
CONSTANT bool is_by_group;

/* Set by user space, at any time: the switch. */
volatile struct trace_control control SEC(".data.control");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before load, as of all that follow that have 1 */
	__type(key, __u32);
	__type(value, struct trace_row); /* written by user space */
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32); /* a row */
	__type(value, struct trace_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TRACE_TABLE_ENTRIES);
	__type(key, __u32);
	__type(value, __u64); /* factors of bytes; written by user space before the first hit */
} tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH); /* evicted entries make bytes unknown */
	__uint(max_entries, 1);
	__type(key, struct trace_learned_key);
	__type(value, __s64);
} learned SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* few of the many operators of PyTorch are called */
	__uint(max_entries, 1);
	__type(key, struct trace_sums_key); /* added at the first call, never removed */
	__type(value, struct trace_sums);
} sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CGROUPS_MAX);
	__type(key, __u64); /* a cgroup's id */
	__type(value, __u8); /* is it below the watched one? */
} judged_cgroups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u64); /* a cgroup's id; added at its first call, removed by user space */
	__type(value, struct trace_group);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__type(key, __u32); /* added by user space and by forks, removed when the process is gone */
	__type(value, __u8);
} traced_processes SEC(".maps");

struct frame {
	__u64 stack; /* pointer at the entry */
	__u64 start_ns;
	__u16 row;
	__u16 is_skipped;
	__u32 has; /* a bit a value: it is there */
	__u64 words[TRACE_VALUES]; /* values; of those at the return, what their source was */
};

struct thread {
	__u32 is_busy; /* one of these programs is at work here */
	__u32 depth;
	__u64 cgroup; /* that it was in when it was last found to be in scope */
	__u64 record;
	__u64 registers[TRACE_REGISTERS];
	__s64 captures[TRACE_CAPTURES];
	struct frame frames[TRACE_DEPTH + 1]; /* the last is for calls that are not timed */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE); /* added at a thread's first hit; ends with it */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* A hit in progress.  On the stack, and so known to the verifier in callbacks. */
struct hit {
	struct trace_row *row;
	struct trace_counts *counts;
	struct thread *thread;
	struct frame *frame;
	__u64 cgroup, id; /* of the thread: bpf_get_current_pid_tgid() */
	__u32 number; /* of the row */
	__u32 is_return;
	__u32 has; /* a bit a capture */
	__u32 has_bytes;
	__u32 is_first; /* in its sums */
	__u64 bytes;
	__u64 ns; /* how long the call took */
};

static const struct trace_sums no_sums;
static const struct trace_group no_group;

static __always_inline void add(__u64 *to, __u64 number)
{
	__sync_fetch_and_add(to, number);
}

/* ---- the owner of a hit ---- */

/* As of this call: an exec of a set-user-ID program or a change of a thread's ids takes the right
 * to trace it away.  The kernel marks such processes as not dumpable. */
static __always_inline bool is_owners(struct task_struct *task)
{
	const struct cred *cred = LOAD(task, real_cred), *acting = LOAD(task, cred);
	struct mm_struct *mm = LOAD(task, mm);
	unsigned long flags = 0;
	__u64 capabilities = ~0ULL;

	if (cred != acting || LOAD(cred, uid.val) != owner || LOAD(cred, euid.val) != owner ||
	    LOAD(cred, suid.val) != owner || LOAD(cred, fsuid.val) != owner ||
	    LOAD(cred, gid.val) != owner_group || LOAD(cred, egid.val) != owner_group ||
	    LOAD(cred, sgid.val) != owner_group || LOAD(cred, fsgid.val) != owner_group)
		return false;
	bpf_core_read(&capabilities, sizeof(capabilities), &cred->cap_permitted);
	if (capabilities)
		return false;
	if (bpf_core_field_exists(struct mm_struct___bitmap, flags.__mm_flags))
		bpf_core_read(&flags, sizeof(flags),
			      &((struct mm_struct___bitmap *)mm)->flags.__mm_flags);
	else
		bpf_core_read(&flags, sizeof(flags), &mm->flags);
	return (flags & MMF_DUMPABLE_MASK) == SUID_DUMP_USER;
}

struct group_visit {
	const struct cgroup *cgrp;
	struct trace_group *to;
	__u32 level; /* of the group */
};

static long take_group_above(__u32 level, void *context)
{
	struct group_visit *visit = context;
	__u32 at = level & (TRACE_GROUP_LEVELS - 1); /* for the verifier */

	if (level > visit->level)
		return 1;
	visit->to->above[at] = ancestor_id(visit->cgrp, (int)at);
	return 0;
}

/* Before its first sums exist, so that every reader of them knows it. */
static __always_inline void keep_group(const struct cgroup *cgrp, __u64 id)
{
	struct group_visit visit = { .cgrp = cgrp };

	visit.to = bpf_map_lookup_elem(&groups, &id);
	if (visit.to)
		return;
	if (bpf_map_update_elem(&groups, &id, &no_group, BPF_NOEXIST) == 0)
		__sync_fetch_and_add(&control.groups, 1);
	visit.to = bpf_map_lookup_elem(&groups, &id);
	if (!visit.to)
		return;
	visit.level = BPF_CORE_READ(cgrp, level);
	repeat(TRACE_GROUP_LEVELS, take_group_above, &visit);
}

static __always_inline bool is_in_scope(const struct hit *hit, const struct cgroup *cgrp)
{
	__u32 tgid = hit->id >> 32;
	__u64 id = hit->cgroup;
	__u8 *judged, is_in;

	if (is_by_process)
		return bpf_map_lookup_elem(&traced_processes, &tgid);
	judged = bpf_map_lookup_elem(&judged_cgroups, &id);
	if (judged)
		return *judged;
	if (is_by_group)
		keep_group(cgrp, id);
	is_in = is_watched(cgrp);
	bpf_map_update_elem(&judged_cgroups, &id, &is_in, BPF_ANY);
	return is_in;
}

/* Is it traced?  Then its thread is there, if there is memory for it. */
static __always_inline bool find_thread(struct hit *hit)
{
	struct task_struct *task = current_task();
	struct cgroup *cgrp = cgroup_of(task);

	hit->cgroup = cgroup_id(cgrp);
	hit->id = (__u64)LOAD(task, tgid) << 32 | (__u32)LOAD(task, pid);
	if (is_by_owner && !is_owners(task))
		return false;
	hit->thread = bpf_task_storage_get(&threads, task, NULL, 0);
	if (hit->thread && hit->thread->cgroup == hit->cgroup)
		return true;
	if (!is_in_scope(hit, cgrp))
		return false;
	if (!hit->thread)
		hit->thread = bpf_task_storage_get(&threads, task, NULL,
						   BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (hit->thread)
		hit->thread->cgroup = hit->cgroup;
	return true;
}

/* False: it does not count. */
static __always_inline bool begin_hit(struct hit *hit, __u64 cookie)
{
	if (!control.is_on)
		return false;
	hit->number = cookie & TRACE_COOKIE_ROW;
	hit->row = bpf_map_lookup_elem(&rows, &hit->number);
	hit->counts = bpf_map_lookup_elem(&counts, &hit->number);
	if (!hit->row || !hit->counts || hit->row->generation != cookie >> 32)
		return false;
	if (!hit->is_return)
		add(&hit->counts->hits, 1);
	if (!find_thread(hit)) {
		if (!hit->is_return)
			add(&hit->counts->outside, 1);
		return false;
	}
	if (!hit->thread || hit->thread->is_busy) {
		if (!hit->is_return)
			add(&hit->counts->too_deep, 1);
		return false;
	}
	hit->thread->is_busy = 1;
	return true;
}

/* ---- values ---- */

#if defined(__TARGET_ARCH_x86)
static __always_inline void take_registers(const struct pt_regs *regs, __u64 *to)
{
	to[TRACE_DI] = regs->di;
	to[TRACE_SI] = regs->si;
	to[TRACE_DX] = regs->dx;
	to[TRACE_CX] = regs->cx;
	to[TRACE_R8] = regs->r8;
	to[TRACE_R9] = regs->r9;
	to[TRACE_AX] = regs->ax;
	to[TRACE_BX] = regs->bx;
	to[TRACE_BP] = regs->bp;
	to[TRACE_SP] = regs->sp;
	to[TRACE_R10] = regs->r10;
	to[TRACE_R11] = regs->r11;
	to[TRACE_R12] = regs->r12;
	to[TRACE_R13] = regs->r13;
	to[TRACE_R14] = regs->r14;
	to[TRACE_R15] = regs->r15;
}

#define RETURN_POPS 8 /* bytes: the return address */
#elif defined(__TARGET_ARCH_arm64)
static __always_inline void take_registers(const struct pt_regs *regs, __u64 *to)
{
	for (int i = 0; i < TRACE_AX; i++)
		to[i] = regs->regs[i];
	to[TRACE_SP] = regs->sp;
}

#define RETURN_POPS 0
#endif

static __always_inline bool load_word(const struct hit *hit, __u64 address, __u32 width, __u64 *ret)
{
	*ret = 0;
	if (width > sizeof(*ret))
		return false;
	if (hit->row->flags & TRACE_OF_KERNEL)
		return bpf_probe_read_kernel(ret, width, (void *)address) == 0;
	return bpf_probe_read_user(ret, width, (void *)address) == 0;
}

static __always_inline __u64 bits_of(__u64 value, __u32 low, __u32 count)
{
	return value >> (low & 63) & (count < 64 ? (1ULL << (count & 63)) - 1 : ~0ULL);
}

static __always_inline bool source_of(const struct hit *hit, const struct trace_value *value,
				      __u64 *ret)
{
	switch (value->source) {
	case TRACE_REGISTER:
		*ret = hit->thread->registers[value->index & (TRACE_REGISTERS - 1)];
		return true;
	case TRACE_SLOT:
		return load_word(hit, hit->thread->registers[TRACE_SP] + value->index * 8ULL,
				 sizeof(*ret), ret);
	case TRACE_RETURNED:
		*ret = hit->thread->registers[TRACE_AX];
		return true;
	case TRACE_RECORD:
		*ret = hit->thread->record;
		return true;
	case TRACE_FIXED:
		*ret = value->offsets[0];
		return true;
	}
	return false;
}

/* From the source's word to the value.  False: it is absent. */
static __always_inline bool complete(const struct hit *hit, const struct trace_value *value,
				     __u64 *word)
{
	__u32 width = value->width & 15, unused = 64 - width * 8;
	struct trace_learned_key key = { .tgid = hit->id >> 32, .map = value->map };
	__s64 *found;

	if (value->deref_count > 1 && !load_word(hit, *word + value->offsets[0], 8, word))
		return false;
	if (value->deref_count > 0 &&
	    !load_word(hit, *word + value->offsets[value->deref_count > 1], width, word))
		return false;
	*word = bits_of(*word, 0, width * 8);
	if (value->if_count &&
	    bits_of(*word, value->if_low_bit, value->if_count) != value->if_equal)
		return false;
	if (value->bit_count) {
		*word = bits_of(*word, value->low_bit, value->bit_count);
		unused = 64 - value->bit_count;
	}
	if (value->flags & TRACE_SIGNED)
		*word = (__s64)(*word << (unused & 63)) >> (unused & 63);
	if (value->map == TRACE_NONE)
		return true;
	key.key = *word;
	found = bpf_map_lookup_elem(&learned, &key);
	if (found)
		*word = *found;
	return found;
}

/* Of a call that is timed, what is there at its entry, and then what is there at its return and
 * what it is a capture of; of others all that. */
static long take_value(__u32 i, void *context)
{
	struct hit *hit = context;
	bool is_timed = hit->row->flags & TRACE_RETURNS, is_late;
	bool is_there = hit->is_return && hit->frame->has >> (i & 31) & 1;
	struct trace_value *value = &hit->row->values[i & (TRACE_VALUES - 1)];
	__u64 *word = &hit->frame->words[i & (TRACE_VALUES - 1)], new = *word;
	__u32 capture = value->capture;

	is_late = is_timed && (value->flags & TRACE_AT_RETURN);
	if (!hit->is_return || value->source == TRACE_RETURNED)
		is_there = source_of(hit, value, &new);
	/* Returns that are traced no more: what is there at the entry is something else. */
	if (!is_timed && (value->flags & TRACE_AT_RETURN))
		is_there = false;
	if (is_there && is_late == hit->is_return)
		is_there = complete(hit, value, &new);
	if (!hit->is_return || is_late) {
		*word = new;
		if (is_there)
			hit->frame->has |= 1U << (i & 31);
		else
			hit->frame->has &= ~(1U << (i & 31));
	}
	if (hit->is_return != is_timed || capture >= TRACE_CAPTURES || hit->has >> capture & 1 ||
	    !(hit->frame->has >> (i & 31) & 1))
		return 0;
	hit->thread->captures[capture] = *word;
	hit->has |= 1U << capture;
	return 0;
}

static __always_inline bool multiply(const struct hit *hit, const struct trace_product *product,
				     __u64 *ret)
{
	__u64 all = 1, most = ~0ULL >> 1; /* it is read as a signed number, too */

	barrier_var(most); /* else the compiler wants 128 bits */
	for (__u32 i = 0; i < TRACE_FACTORS && i < product->factor_count; i++) {
		const struct trace_factor *factor = &product->factors[i];
		__u64 number = factor->constant, *entry;
		__u32 capture = factor->capture, at;

		if (capture < TRACE_CAPTURES) {
			number = hit->thread->captures[capture];
			if (!(hit->has >> capture & 1) || (__s64)number < 0)
				return false;
		}
		if (factor->table_count) {
			if (number >= factor->table_count)
				return false;
			at = factor->table_first + number;
			entry = bpf_map_lookup_elem(&tables, &at);
			if (!entry || !*entry)
				return false;
			number = *entry;
		}
		/* A division takes longer than all the rest. */
		if ((number | all) >> 31 && number && all > most / number)
			return false;
		all *= number;
	}
	*ret = all;
	return product->factor_count;
}

/* ---- what becomes of it ---- */

static __always_inline __u32 bucket_of(__u64 value)
{
	__u32 bucket;

	value |= value >> 1;
	value |= value >> 2;
	value |= value >> 4;
	value |= value >> 8;
	value |= value >> 16;
	value |= value >> 32;
	value = value - (value >> 1 & 0x5555555555555555); /* now count the bits */
	value = (value & 0x3333333333333333) + (value >> 2 & 0x3333333333333333);
	value = (value + (value >> 4)) & 0x0f0f0f0f0f0f0f0f;
	bucket = value * 0x0101010101010101 >> 56;
	return bucket < TRACE_BUCKETS ? bucket : TRACE_BUCKETS - 1;
}

/* Of one that has returned. */
static __always_inline bool has_failed(const struct hit *hit)
{
	__s32 result = hit->thread->registers[TRACE_AX];

	if (hit->row->flags & TRACE_FAILS_NEVER)
		return false;
	return hit->row->flags & TRACE_FAILS_BELOW_0 ? result < 0 : result != 0;
}

static __always_inline void change_map(struct hit *hit)
{
	const struct trace_row *row = hit->row;
	struct trace_learned_key key = { .tgid = hit->id >> 32, .map = row->map };
	__u32 from = row->map_key, value = row->map_value;
	__s64 new = hit->bytes;

	if (!row->map_action || from >= TRACE_CAPTURES || !(hit->has >> from & 1))
		return;
	if (hit->is_return && has_failed(hit))
		return;
	key.key = hit->thread->captures[from];
	if (row->map_action == TRACE_MAP_PUT) {
		if (value >= TRACE_CAPTURES || !(hit->has >> value & 1))
			return;
		new = hit->thread->captures[value];
	}
	if (row->map_action == TRACE_MAP_DELETE ||
	    (row->map_action == TRACE_MAP_PUT_BYTES && !hit->has_bytes))
		bpf_map_delete_elem(&learned, &key);
	else
		bpf_map_update_elem(&learned, &key, &new, BPF_ANY);
}

static __always_inline void add_to_sums(struct hit *hit)
{
	struct trace_sums_key key = {
		.cgroup = hit->cgroup,
		.tgid = hit->id >> 32,
		.row = hit->number,
		.cpu = bpf_get_smp_processor_id(),
	};
	struct trace_sums *to;

#pragma unroll
	for (int i = 0; i < TRACE_KEYS; i++) {
		__u32 capture = hit->row->keys[i];

		if (capture < TRACE_CAPTURES && hit->has >> capture & 1)
			key.keys[i] = hit->thread->captures[capture];
	}
	to = bpf_map_lookup_elem(&sums, &key);
	if (!to) {
		hit->is_first = bpf_map_update_elem(&sums, &key, &no_sums, BPF_NOEXIST) == 0;
		to = bpf_map_lookup_elem(&sums, &key);
	}
	if (!to) {
		add(&hit->counts->not_summed, 1);
		return;
	}
	add(&to->numbers.calls, 1);
	if (hit->has_bytes) {
		add(&to->numbers.bytes, hit->bytes);
		__sync_fetch_and_add(&to->sizes[bucket_of(hit->bytes)], 1);
	} else if (hit->row->bytes[0].factor_count) {
		add(&to->numbers.bytes_unknown, 1);
	}
	if (!hit->is_return)
		return;
	add(&to->numbers.ns, hit->ns);
	__sync_fetch_and_add(&to->durations[bucket_of(hit->ns)], 1);
	if (has_failed(hit))
		add(&to->numbers.failed, 1);
}

static __always_inline bool is_event_wanted(const struct hit *hit)
{
	const struct trace_row *row = hit->row;
	bool is_long = row->event_over_ns && hit->is_return && hit->ns > row->event_over_ns;

	if (!(row->flags & TRACE_SENDS_EVENTS))
		return false;
	if (row->flags & TRACE_EVENT_IF_FIRST)
		return hit->is_first;
	if (row->flags & TRACE_EVENT_IF_FAILED)
		return is_long || (hit->is_return && has_failed(hit));
	return is_long || !row->event_over_ns;
}

static __always_inline void fill(const struct hit *hit, struct trace_event *event)
{
	event->row = hit->number;
	event->flags = (hit->is_return ? TRACE_HAS_RETURNED : 0) |
		       (hit->has_bytes ? TRACE_HAS_BYTES : 0);
	event->has = hit->has;
	event->start_ns = hit->frame->start_ns;
	event->duration_ns = hit->ns;
	event->tgid = hit->id >> 32;
	event->tid = hit->id;
	event->cgroup = hit->cgroup;
	event->result = hit->is_return ? hit->thread->registers[TRACE_AX] : 0;
	event->cpu = bpf_get_smp_processor_id();
	event->depth = hit->thread->depth;
	event->bytes = hit->bytes;
	for (int i = 0; i < TRACE_SHORT_CAPTURES; i++)
		event->captures[i] = hit->thread->captures[i];
}

/* A program that may not sleep reads no string on a page that was never touched. */
static __always_inline void take_text(const struct hit *hit, struct trace_event_long *event,
				      bool may_sleep)
{
	__u32 size = hit->row->text_bytes, value = hit->row->text;
	__u64 address;
	char byte;
	long n;

	event->text[0] = 0;
	if (value >= TRACE_VALUES || !(hit->frame->has >> value & 1) || size > TRACE_TEXT_BYTES)
		return;
	address = hit->frame->words[value];
	if (hit->row->flags & TRACE_OF_KERNEL) {
		n = bpf_probe_read_kernel_str(event->text, size, (void *)address);
	} else {
		n = bpf_probe_read_user_str(event->text, size, (void *)address);
		if (may_sleep && n < 0) {
			bpf_copy_from_user(&byte, sizeof(byte), (void *)address);
			bpf_copy_from_user(&byte, sizeof(byte), (void *)(address + size));
			n = bpf_probe_read_user_str(event->text, size, (void *)address);
		}
	}
	if (n > 0)
		event->event.flags |= TRACE_HAS_TEXT;
	else
		event->text[0] = 0;
}

static __always_inline void send_event(const struct hit *hit, bool may_sleep)
{
	struct trace_event_long *long_event;
	struct trace_event *event;

	if (hit->row->flags & TRACE_IS_LONG) {
		long_event = bpf_ringbuf_reserve(&events, sizeof(*long_event), 0);
		if (!long_event) {
			add(&hit->counts->dropped, 1);
			return;
		}
		fill(hit, &long_event->event);
		long_event->event.size = sizeof(*long_event);
		for (int i = TRACE_SHORT_CAPTURES; i < TRACE_CAPTURES; i++)
			long_event->captures[i - TRACE_SHORT_CAPTURES] = hit->thread->captures[i];
		take_text(hit, long_event, may_sleep);
		bpf_ringbuf_submit(long_event, BPF_RB_NO_WAKEUP);
		return;
	}
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		add(&hit->counts->dropped, 1);
		return;
	}
	fill(hit, event);
	event->size = sizeof(*event);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* All captures are taken. */
static __always_inline void conclude(struct hit *hit, bool may_sleep)
{
	const struct trace_row *row = hit->row;

	hit->has_bytes = multiply(hit, &row->bytes[0], &hit->bytes) ||
			 multiply(hit, &row->bytes[1], &hit->bytes);
	change_map(hit);
	if (!(row->flags & (TRACE_SUMS | TRACE_SENDS_EVENTS)))
		return;
	add(&hit->counts->made, 1);
	if (row->flags & TRACE_SUMS)
		add_to_sums(hit);
	if (is_event_wanted(hit))
		send_event(hit, may_sleep);
}

/* ---- calls ---- */

struct frame_search {
	const struct thread *thread;
	__u64 stack;
	__u32 row;
	__u32 at; /* TRACE_DEPTH: there is none */
	__u8 group;
};

/* From the top down. */
static long look_for_frame(__u32 above, void *context)
{
	struct frame_search *search = context;
	__u32 at = search->thread->depth - 1 - above;
	const struct frame *frame;

	if (at >= TRACE_DEPTH)
		return 1;
	frame = &search->thread->frames[at];
	if (frame->row != search->row || frame->stack != search->stack)
		return 0;
	search->at = at;
	return 1;
}

/* Is the caller, or its caller..., a function of the group? */
static long look_for_group(__u32 above, void *context)
{
	struct frame_search *search = context;
	__u32 at = search->thread->depth - 1 - above, number;
	const struct trace_row *row;

	if (at >= TRACE_DEPTH)
		return 1;
	number = search->thread->frames[at].row;
	row = bpf_map_lookup_elem(&rows, &number);
	/* Of one that is traced no more, or without its return, the frame is left behind. */
	if (!row || !row->generation || !(row->flags & TRACE_RETURNS) ||
	    row->group != search->group || search->thread->frames[at].stack < search->stack)
		return 0;
	search->at = at;
	return 1;
}

static __always_inline bool is_inner(const struct hit *hit, __u64 stack)
{
	struct frame_search search = {
		.thread = hit->thread,
		.stack = stack,
		.group = hit->row->group,
		.at = TRACE_DEPTH,
	};

	repeat(TRACE_DEPTH, look_for_group, &search);
	return search.at < TRACE_DEPTH;
}

/* Forget frames that the stack has been unwound over.  One with @stack itself is dead if it is of
 * @row, or else of a caller that went on by a jump. */
static __always_inline void drop_left(struct thread *thread, __u64 stack, __u32 row)
{
	for (int i = 0; i < TRACE_DEPTH; i++) {
		__u32 at = thread->depth - 1, number;
		struct trace_counts *of;

		if (at >= TRACE_DEPTH)
			break;
		number = thread->frames[at].row;
		if (thread->frames[at].stack > stack ||
		    (thread->frames[at].stack == stack && number != row))
			break;
		of = bpf_map_lookup_elem(&counts, &number);
		if (of && !thread->frames[at].is_skipped)
			add(&of->left, 1);
		thread->depth = at;
	}
}

static __always_inline bool push(struct hit *hit, __u64 stack)
{
	__u32 at;

	drop_left(hit->thread, stack, hit->number);
	at = hit->thread->depth;
	if (at >= TRACE_DEPTH) {
		add(&hit->counts->too_deep, 1);
		return false;
	}
	hit->frame = &hit->thread->frames[at];
	hit->thread->depth = at + 1;
	return true;
}

static __always_inline void enter(struct hit *hit, __u64 stack, bool may_sleep)
{
	const bool is_timed = hit->row->flags & TRACE_RETURNS;
	bool is_skipped = false;

	if (hit->row->flags & TRACE_SKIPS_INNER)
		is_skipped = is_inner(hit, stack);
	if (is_skipped)
		add(&hit->counts->skipped, 1);
	if (is_timed) {
		if (!push(hit, stack))
			return;
	} else {
		hit->frame = &hit->thread->frames[TRACE_DEPTH];
	}
	hit->frame->stack = stack;
	hit->frame->row = hit->number;
	hit->frame->is_skipped = is_skipped;
	hit->frame->has = 0;
	if (is_skipped)
		return;
	repeat(hit->row->value_count & (TRACE_VALUES - 1), take_value, hit);
	if (hit->row->flags & (TRACE_RETURNS | TRACE_SENDS_EVENTS))
		hit->frame->start_ns = bpf_ktime_get_ns();
	if (!is_timed)
		conclude(hit, may_sleep);
}

static __always_inline void leave(struct hit *hit, __u64 stack, bool may_sleep)
{
	struct frame_search search = {
		.thread = hit->thread,
		.stack = stack,
		.row = hit->number,
		.at = TRACE_DEPTH,
	};
	__u64 now = bpf_ktime_get_ns();
	__u32 at;

	repeat(TRACE_DEPTH, look_for_frame, &search);
	at = search.at;
	if (at >= TRACE_DEPTH)
		return; /* it was too deep, or began before us */
	drop_left(hit->thread, stack, TRACE_NO_ROW);
	hit->thread->depth = at;
	hit->frame = &hit->thread->frames[at];
	if (hit->frame->is_skipped)
		return;
	hit->ns = now - hit->frame->start_ns;
	repeat(hit->row->value_count & (TRACE_VALUES - 1), take_value, hit);
	conclude(hit, may_sleep);
}

static __always_inline int on_enter(struct pt_regs *regs, bool may_sleep)
{
	struct hit hit = {};

	if (!begin_hit(&hit, bpf_get_attach_cookie(regs)))
		return 0;
	take_registers(regs, hit.thread->registers);
	enter(&hit, regs->sp, may_sleep);
	hit.thread->is_busy = 0;
	return 0;
}

static __always_inline int on_leave(struct pt_regs *regs, bool may_sleep)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct hit hit = { .is_return = 1 };

	if (!begin_hit(&hit, cookie))
		return 0;
	hit.thread->registers[TRACE_AX] = call_result(regs);
	leave(&hit, regs->sp - (cookie & TRACE_COOKIE_AT_RET ? 0 : RETURN_POPS), may_sleep);
	hit.thread->is_busy = 0;
	return 0;
}

SEC("uprobe")
int enter_function(struct pt_regs *regs)
{
	return on_enter(regs, false);
}

SEC("uprobe")
int leave_function(struct pt_regs *regs)
{
	return on_leave(regs, false);
}

SEC("uprobe.s")
int enter_sleepable(struct pt_regs *regs)
{
	return on_enter(regs, true);
}

SEC("uprobe.s")
int leave_sleepable(struct pt_regs *regs)
{
	return on_leave(regs, true);
}

/* Linux 6.13, d920179b3d48 "bpf: Add support for uprobe multi session attach". */
extern bool bpf_session_is_return(void) __ksym __weak;

/* At the entry and at the return.  A return probe changes the return address in each process that
 * has the file mapped, unless the entry returns 1: so programs of other users, which were not
 * checked, keep theirs. */
static __always_inline int on_session(struct pt_regs *regs, bool may_sleep)
{
	struct hit hit = {};

	if (bpf_session_is_return())
		return on_leave(regs, may_sleep);
	return !control.is_on || !find_thread(&hit);
}

SEC("uprobe")
int span_function(struct pt_regs *regs)
{
	return on_session(regs, false);
}

SEC("uprobe.s")
int span_sleepable(struct pt_regs *regs)
{
	return on_session(regs, true);
}

SEC("kprobe")
int enter_kernel(struct pt_regs *regs)
{
	return on_enter(regs, false);
}

SEC("kprobe")
int leave_kernel(struct pt_regs *regs)
{
	return on_leave(regs, false);
}

SEC("tracepoint")
int pass_tracepoint(void *record)
{
	struct hit hit = {};

	if (!begin_hit(&hit, bpf_get_attach_cookie(record)))
		return 0;
	hit.thread->record = (__u64)record;
	enter(&hit, 0, false);
	hit.thread->is_busy = 0;
	return 0;
}

/* What the trap alone costs is measured with it. */
SEC("uprobe")
int do_nothing(struct pt_regs *regs)
{
	return 0;
}

/* ---- processes of traced processes ---- */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = parent->tgid, to = child->tgid;
	__u8 *is_traced;

	if (!is_by_process || from == to)
		return 0;
	is_traced = bpf_map_lookup_elem(&traced_processes, &from);
	if (is_traced)
		bpf_map_update_elem(&traced_processes, &to, is_traced, BPF_ANY);
	return 0;
}

/* User space has to look whether returns are safe in the new program. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(notice_exec, struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (is_by_process ? bpf_map_lookup_elem(&traced_processes, &tgid) != NULL
			  : is_watched(cgroup_of(task)))
		__sync_fetch_and_add(&control.execs, 1);
	return 0;
}

/* ---- calls in progress ---- */

struct open_visit {
	struct thread *thread;
	__u64 stack, instruction; /* what is below the stack pointer has been left */
	__u64 now_ns;
	__u64 sent;
	__u32 tgid, tid;
	__u32 flags;
};

static __always_inline void send_open(struct open_visit *visit, __u32 row, __u64 start_ns)
{
	struct trace_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event)
		return;
	__builtin_memset(event, 0, sizeof(*event));
	event->size = sizeof(*event);
	event->row = row;
	event->flags = visit->flags;
	event->start_ns = start_ns;
	event->duration_ns = visit->now_ns - start_ns;
	event->tgid = visit->tgid;
	event->tid = visit->tid;
	event->captures[0] = visit->stack;
	event->captures[1] = visit->instruction;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	visit->sent++;
}

static long send_open_frame(__u32 at, void *context)
{
	struct open_visit *visit = context;
	struct frame *frame = &visit->thread->frames[at & (TRACE_DEPTH - 1)];
	__u32 number = frame->row;
	struct trace_counts *of;
	struct trace_row *row;

	if (at >= visit->thread->depth)
		return 1;
	row = bpf_map_lookup_elem(&rows, &number);
	if (frame->is_skipped || frame->stack < visit->stack || !row || !row->generation ||
	    !(row->flags & TRACE_RETURNS))
		return 0;
	of = bpf_map_lookup_elem(&counts, &number);
	if (of && visit->flags & TRACE_HAS_ENDED)
		add(&of->left, 1);
	send_open(visit, number, frame->start_ns);
	return 0;
}

static __always_inline __u64 send_open_calls(struct task_struct *task, __u32 flags,
					     struct open_visit *visit)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	visit->flags = TRACE_IS_OPEN | flags;
	visit->now_ns = bpf_ktime_get_ns();
	visit->tgid = task->tgid;
	visit->tid = task->pid;
	visit->stack = regs->sp;
	visit->instruction = instruction_of(regs);
	visit->thread = bpf_task_storage_get(&threads, task, NULL, 0);
	if (visit->thread)
		repeat(TRACE_DEPTH, send_open_frame, visit);
	return visit->sent;
}

static __always_inline bool is_traced(struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (is_by_owner && !is_owners(task))
		return false;
	return is_by_process ? bpf_map_lookup_elem(&traced_processes, &tgid) != NULL
			     : is_watched(cgroup_of(task));
}

/* Run once, at the end: all threads that are traced. */
SEC("iter/task")
int show_open_calls(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct open_visit visit = {};

	if (task && task->mm && is_traced(task) && !send_open_calls(task, 0, &visit))
		send_open(&visit, TRACE_NO_CALL, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(show_calls_left, struct task_struct *task)
{
	struct open_visit visit = {};

	if (control.is_on && task->mm && is_traced(task))
		send_open_calls(task, TRACE_HAS_ENDED, &visit);
	return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(forget_process, struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (is_by_process && task->pid == task->tgid)
		bpf_map_delete_elem(&traced_processes, &tgid);
	return 0;
}
