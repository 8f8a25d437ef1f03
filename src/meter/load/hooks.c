/* SPDX-License-Identifier: MIT */
#include "load/hooks.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "load/kernel_types.h"

#define PATHS "file system of path operations"
#define LIBAIO "bytes by libaio"
#define THREADS "what kernel threads did"
#define CONNECTIONS "TCP connections and their retransmits"
#define URING "operations by io_uring"
#define UNPOSTED "bytes of io_uring requests without a completion event"
#define BEGINS "files closed by io_uring, and requests without a completion event"
#define TIMES "wait times"
#define LIVES "births and deaths of cgroups"
#define OOM_LIST "names of processes killed when memory ran out"
#define SYSCALLS "system calls by name"
#define BLOCK "block devices"
#define SPINNING "time that tasks spin in libraries of MPI and OpenMP"
#define UNSEEN "how many operations by io_uring were not counted"

/* @arguments: the program is used if the kernel's tracepoint has that many; 0: always. */
/* clang-format off */
static const struct {
	enum object_id object;
	const char *tier, *program, *attach, *gives;
	int arguments;
	const char *module; /* that the function belongs to; without it there is no such hook */
} table[] = {
	{ OBJECT_LIFE, "T0", "begin_group", "tp_btf/cgroup_mkdir", LIVES, 0, NULL },
	{ OBJECT_LIFE, "T0", "end_group", "tp_btf/cgroup_rmdir", LIVES, 0, NULL },

	{ OBJECT_TASKS, "T0", "count_freed_task", "tp_btf/sched_process_free", "totals of ended tasks", 0, NULL },
	{ OBJECT_TASKS, "T0", "count_exit", "tp_btf/sched_process_exit", "tasks that ended and are not yet freed", 0, NULL },
	{ OBJECT_TASKS, "T0", "baseline_task", "tp_btf/sched_process_fork", "totals of tasks that move between cgroups", 0, NULL },
	{ OBJECT_TASKS, "T0", "move_task", "tp_btf/cgroup_attach_task", "totals of tasks that move between cgroups", 0, NULL },
	{ OBJECT_TASKS, "T0", "read_tasks", "iter/task", "totals of live tasks", 0, NULL },
	{ OBJECT_TASKS, "T0", "note_kill", "tp_btf/signal_generate", OOM_LIST, 0, NULL },
	{ OBJECT_TASKS, "T0", "keep_oom_kill", "tp_btf/mark_victim", OOM_LIST, 0, NULL },

	{ OBJECT_TIME, "T1", "charge_switch", "tp_btf/sched_switch", TIMES, 4, NULL },
	{ OBJECT_TIME, "T1", "charge_switch_unstated", "tp_btf/sched_switch", TIMES, 3, NULL },
	{ OBJECT_TIME, "T1", "begin_task", "tp_btf/sched_process_fork", "wait times of tasks from their birth on", 0, NULL },
	{ OBJECT_TIME, "T1", "split_task", "tp_btf/cgroup_attach_task", "wait times of tasks that move between cgroups", 0, NULL },
	{ OBJECT_TIME, "T1", "charge_tasks", "iter/task", "wait times of waits in progress", 0, NULL },

	{ OBJECT_FILES, "T2", "enter_call", "tp_btf/sys_enter", "operations on files", 0, NULL },
	{ OBJECT_FILES, "T2", "leave_call", "tp_btf/sys_exit", "operations on files", 0, NULL },
	{ OBJECT_FILES, "T2", "park_call", "tp_btf/sched_switch", "time and descriptor of calls that sleep", 0, NULL },
	{ OBJECT_FILES, "T2", "forget_call", "tp_btf/sched_process_exit", "room taken by tasks killed in a call", 0, NULL },
	{ OBJECT_FILES, "T2", "settle_interrupted_call", "tp_btf/signal_deliver", "calls that end with EINTR", 0, NULL },

	{ OBJECT_FILES, "T2+", "count_request_result", "tp_btf/io_uring_complete", URING, 7, NULL },
	{ OBJECT_FILES, "T2+", "count_request_entry", "tp_btf/io_uring_complete", URING, 3, NULL },
	{ OBJECT_FILES, "T2+", "begin_request_sqe", "tp_btf/io_uring_submit_sqe", BEGINS, 2, NULL },
	{ OBJECT_FILES, "T2+", "begin_request_req", "tp_btf/io_uring_submit_req", BEGINS, 1, NULL },
	{ OBJECT_FILES, "T2+", "count_unseen_request", "tp_btf/io_uring_submit_sqe", UNSEEN, 7, NULL },

	{ OBJECT_FILES, "T2+", "open_connection", "tp_btf/inet_sock_set_state", CONNECTIONS, 0, NULL },
	{ OBJECT_FILES, "T2+", "end_connection", "tp_btf/tcp_destroy_sock", CONNECTIONS, 0, NULL },

	{ OBJECT_FILES, "T2+", "count_page_in", "tp_btf/mm_filemap_add_to_page_cache", "pages read by mappings", 0, NULL },
	{ OBJECT_FILES, "T2+", "count_dirtied", "tp_btf/writeback_dirty_folio", "pages dirtied by mappings", 2, NULL },
	{ OBJECT_FILES, "T2+", "count_dirtied_page", "tp_btf/writeback_dirty_page", "pages dirtied by mappings", 2, NULL },

	{ OBJECT_FILES, "T2+", "sample_task", "perf_event/bpf_find_vma", SPINNING, 0, NULL },

	{ OBJECT_FENTRY, "T2+", "note_permission", "fentry/security_inode_permission", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_getattr", "fentry/security_inode_getattr", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_setattr", "fentry/security_inode_setattr", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_readlink", "fentry/security_inode_readlink", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_getxattr", "fentry/security_inode_getxattr", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_setxattr", "fentry/security_inode_setxattr", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_listxattr", "fentry/security_inode_listxattr", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_removexattr", "fentry/security_inode_removexattr", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_statfs", "fentry/security_sb_statfs", PATHS, 0, NULL },

	{ OBJECT_FENTRY, "T2+", "start_libaio_read", "fentry/aio_read", LIBAIO, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "start_libaio_write", "fentry/aio_write", LIBAIO, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "end_libaio_request", "fentry/aio_complete_rw", LIBAIO, 0, NULL },

	{ OBJECT_FENTRY, "T2+", "count_unposted_at_once", "fentry/kiocb_done", UNPOSTED, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "count_unposted_later", "fentry/io_complete_rw", UNPOSTED, 0, NULL },

	{ OBJECT_FENTRY, "T2+", "count_kernel_read", "fexit/vfs_iter_read", THREADS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "count_kernel_write", "fexit/vfs_iter_write", THREADS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "count_loop_request", "fentry/lo_rw_aio_do_completion", THREADS, 0, "loop" },
	{ OBJECT_FENTRY, "T2+", "count_kernel_splice", "fexit/splice_direct_to_actor", THREADS, 0, NULL },

	{ OBJECT_SYSCALLS, "T3", "enter_syscall", "tp_btf/sys_enter", SYSCALLS, 0, NULL },
	{ OBJECT_SYSCALLS, "T3", "leave_syscall", "tp_btf/sys_exit", SYSCALLS, 0, NULL },
	{ OBJECT_SYSCALLS, "T3", "park_syscall", "tp_btf/sched_switch", "time of system calls that sleep", 0, NULL },
	{ OBJECT_SYSCALLS, "T3", "end_syscall", "tp_btf/sched_process_exit", "system calls in which a thread ends", 0, NULL },
	{ OBJECT_SYSCALLS, "T3", "settle_syscall", "tp_btf/signal_deliver", "system calls that end with EINTR", 0, NULL },
	{ OBJECT_BLOCK, "T2+", "note_bio", "tp_btf/block_bio_queue", BLOCK, 1, NULL },
	{ OBJECT_BLOCK, "T2+", "note_bio_of_queue", "tp_btf/block_bio_queue", BLOCK, 2, NULL },
	{ OBJECT_BLOCK, "T2+", "count_bios", "tp_btf/block_rq_complete", BLOCK, 3, NULL },
	{ OBJECT_BLOCK, "T2+", "count_bio", "tp_btf/block_bio_complete", BLOCK, 2, NULL },
};
/* clang-format on */
static_assert(ARRAY_SIZE(table) <= HOOKS_MAX, "each hook has its place");

const char *object_name(enum object_id id)
{
	static const char *const names[OBJECT_COUNT] = {
		[OBJECT_LIFE] = "life",	    [OBJECT_TASKS] = "tasks",
		[OBJECT_TIME] = "time",	    [OBJECT_FILES] = "files",
		[OBJECT_FENTRY] = "fentry", [OBJECT_SYSCALLS] = "syscalls",
		[OBJECT_BLOCK] = "block",
	};

	return names[id];
}

struct hook *hooks_find(struct hooks *hooks, const char *program)
{
	for (size_t i = 0; i < hooks->count; i++) {
		if (strcmp(hooks->items[i].program, program) == 0)
			return &hooks->items[i];
	}
	return NULL;
}

bool hooks_is_on(const struct hooks *hooks, const char *program)
{
	const struct hook *hook = hooks_find((struct hooks *)hooks, program);

	return hook && hook->is_on;
}

bool hook_is_part(const struct hook *hook, const char *part)
{
	return !part || strcmp(hook->tier, part) == 0 || strcmp(hook->gives, part) == 0;
}

void hooks_refuse(struct hooks *hooks, enum object_id id, const char *part, const char *why)
{
	for (size_t i = 0; i < hooks->count; i++) {
		struct hook *hook = &hooks->items[i];

		if (hook->object == id && hook_is_part(hook, part) && !*hook->why)
			snprintf(hook->why, sizeof(hook->why), "%s", why);
	}
}

bool hooks_is_first(const struct hooks *hooks, size_t i)
{
	const struct hook *hook = &hooks->items[i];

	for (size_t other = 0; other < i; other++) {
		if (!*hooks->items[other].why && hooks->items[other].object == hook->object &&
		    strcmp(hooks->items[other].gives, hook->gives) == 0)
			return false;
	}
	return !*hook->why;
}

static const char *target_of(const char *attach)
{
	return strchr(attach, '/') + 1;
}

const char *hook_target(const struct hook *hook)
{
	return target_of(hook->attach);
}

bool hook_is_trampoline(const struct hook *hook)
{
	return strncmp(hook->attach, "fentry/", 7) == 0 || strncmp(hook->attach, "fexit/", 6) == 0;
}

bool hook_is_iterator(const struct hook *hook)
{
	return strncmp(hook->attach, "iter/", 5) == 0;
}

bool hook_is_sampler(const struct hook *hook)
{
	return strncmp(hook->attach, "perf_event/", 11) == 0;
}

/* 05b24ff9b2cf "bpf: Prevent bpf program recursion for raw tracepoint probes", Linux 6.1: the end
 * of a request may come in an interrupt. */
bool hook_may_be_skipped(const struct hook *hook)
{
	return hook_is_trampoline(hook) || hook->object == OBJECT_BLOCK;
}

bool hook_has_target(const struct hook *hook, const struct kernel_types *types)
{
	if (hook_is_sampler(hook)) /* 7c7e3d31e785 "bpf: Introduce helper bpf_find_vma", 5.17 */
		return prototype_enum_value(types, "bpf_func_id", "BPF_FUNC_find_vma") >= 0;
	return !hook_is_trampoline(hook) || hook->is_of_module ||
	       prototype_has_function(types, hook_target(hook));
}

static bool fits(size_t i, const struct kernel_types *types)
{
	const char *target = target_of(table[i].attach);

	if (table[i].module && !prototype_is_in_module(types, table[i].module, target))
		return false;
	return !table[i].arguments ||
	       prototype_count_arguments(types, target) == table[i].arguments;
}

/* Is it the first of its object for a tracepoint that is there, and that no program of it fits? */
static bool stands_for_none(size_t i, const struct kernel_types *types)
{
	if (!table[i].arguments || prototype_count_arguments(types, target_of(table[i].attach)) < 0)
		return false;
	for (size_t other = 0; other < ARRAY_SIZE(table); other++) {
		if (table[other].object == table[i].object &&
		    strcmp(table[other].attach, table[i].attach) == 0 &&
		    (other < i || fits(other, types)))
			return false;
	}
	return true;
}

void hooks_list(const struct kernel_types *types, unsigned int left_out, struct hooks *ret)
{
	ret->count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct hook hook = { .tier = table[i].tier,
				     .program = table[i].program,
				     .attach = table[i].attach,
				     .gives = table[i].gives,
				     .object = table[i].object,
				     .is_of_module = table[i].module };

		if (left_out & 1U << table[i].object)
			continue;
		if (stands_for_none(i, types))
			snprintf(hook.why, sizeof(hook.why),
				 "this kernel's '%s' has other arguments", target_of(hook.attach));
		else if (!fits(i, types))
			continue;
		ret->items[ret->count++] = hook;
	}
}

/* ---- code for older kernels ---- */

void older_note(struct older *o, enum object_id id, const char *why)
{
	snprintf(o->why[id], sizeof(o->why[id]), "%s", *why ? why : "no reason given");
}

bool older_is(const struct older *o, enum object_id id)
{
	return *o->why[id] != '\0';
}

size_t older_count(const struct older *o)
{
	size_t count = 0;

	for (size_t id = 0; id < OBJECT_COUNT; id++)
		count += older_is(o, (enum object_id)id);
	return count;
}
