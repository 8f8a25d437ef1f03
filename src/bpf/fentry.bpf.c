// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * fentry - events that only trampolines on kernel functions see.  It adds to files, whose maps it
 * shares: some kernels have no trampolines, and all skip their programs now and then (a task that
 * is preempted inside one hides it from the others on its CPU).
 */
#define KEEPS_TRUST /* user space does not look at all of these programs: see compat.bpf.h */

#include "bpf/lost.bpf.h"
#include "bpf/request.bpf.h"
#include "bpf/resolve.bpf.h"
#include "bpf/rows.bpf.h"
#include "bpf/slots.bpf.h"
#include "bpf/traffic.bpf.h"

/*
 * ---- the kernel's own threads ----
 *
 * Loop devices on their backing files, nfsd on its exports.  Their user is unknown, so they are a
 * row of the node and of no job.
 */
static __always_inline int count_kernel(__u8 op, long result)
{
	struct task_struct *task = current_task();
	struct file_key key;

	if (!(LOAD(task, flags) & PF_KTHREAD))
		return 0;
	key = key_for(0, PLACE_KERNEL, op, 0);
	count_trampolined(&key, result);
	return 0;
}

SEC("fexit/vfs_iter_read")
int BPF_PROG(count_kernel_read, void *file, void *iter, void *position, int flags, long result)
{
	return count_kernel(FILES_READ, result);
}

SEC("fexit/vfs_iter_write")
int BPF_PROG(count_kernel_write, void *file, void *iter, void *position, int flags, long result)
{
	return count_kernel(FILES_WRITE, result);
}

#define REQUEST_DIRECTION 1 /* of request.cmd_flags: set where data go out */

/*
 * Loop devices, where they don't use the above: for direct requests, and on newer kernels for all.
 * Called twice for each request; the last time its result is known.
 */
SEC("fentry/lo_rw_aio_do_completion")
int BPF_PROG(count_loop_request, struct loop_cmd *cmd)
{
	struct request *request = (void *)cmd - bpf_core_type_size(struct request); /* it goes
										       before */
	struct file_key key = key_for(0, PLACE_KERNEL, FILES_READ, 0);

	if (BPF_CORE_READ(cmd, ref.counter) != 1)
		return 0;
	if (BPF_CORE_READ(request, cmd_flags) & REQUEST_DIRECTION)
		key.op = FILES_WRITE;
	count_trampolined(&key, BPF_CORE_READ(cmd, ret));
	return 0;
}

/* How nfsd reads. */
SEC("fexit/splice_direct_to_actor")
int BPF_PROG(count_kernel_splice, void *file, void *splice, void *actor, long result)
{
	return count_kernel(FILES_READ, result);
}

/*
 * ---- libaio ----
 *
 * Results that no system call shows.  A request is remembered where it starts, in the process that
 * asked, since it may end in an interrupt or a kernel thread.
 */
struct libaio_request {
	__u64 cgroup;
	__u64 place;
	__u8 op;
	__u8 pad[7];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated: it may be read in an interrupt */
	__uint(max_entries, 8192); /* requests on their way */
	__type(key, __u64); /* the kiocb's address; added at its start, removed at its end */
	__type(value, struct libaio_request);
} libaio_requests SEC(".maps");

/* The file's superblock is known from its open; that of one that was open before stays without a
 * name. */
static __always_inline int start_request(struct kiocb *kiocb, __u8 op)
{
	struct task_struct *task = current_task();
	struct cgroup *cgrp = cgroup_of(task);
	struct resolved file = { .place = PLACE_UNRESOLVED };
	struct libaio_request request = { .cgroup = fold_cgroup(task, cgroup_id(cgrp)), .op = op };
	__u64 key = (__u64)kiocb;

	if (!is_watched(cgrp))
		return 0;
	resolve_file(kiocb->ki_filp, &file);
	request.place = file.place;
	if (bpf_map_update_elem(&libaio_requests, &key, &request, BPF_ANY) < 0)
		count_lost_of(request.cgroup, LOST_LIBAIO);
	return 0;
}

SEC("fentry/aio_read")
int BPF_PROG(start_libaio_read, struct kiocb *kiocb)
{
	return start_request(kiocb, FILES_READ);
}

SEC("fentry/aio_write")
int BPF_PROG(start_libaio_write, struct kiocb *kiocb)
{
	return start_request(kiocb, FILES_WRITE);
}

SEC("fentry/aio_complete_rw")
int BPF_PROG(end_libaio_request, struct kiocb *kiocb, long result)
{
	__u64 address = (__u64)kiocb;
	struct libaio_request *request = bpf_map_lookup_elem(&libaio_requests, &address);
	struct file_key key;

	if (!request)
		return 0;
	key = key_for(request->cgroup, request->place, request->op, FILES_BY_LIBAIO);
	count_trampolined(&key, result);
	bpf_map_delete_elem(&libaio_requests, &address);
	return 0;
}

/*
 * ---- where calls by path end ----
 *
 * Adds places to calls that files counts, and counts nothing: without these programs only the place
 * of a call is less exact.
 *
 * The kernel asks its security hooks at each directory that it searches and at each object that it
 * touches; the last one asked gives the place.  A stacked file system (overlay) asks the ones below
 * it with other rights than the caller's, but for statfs(): there the first one gives the place.
 *
 * Costs some 30 ns per directory, for every task on the machine; three times that for a watched
 * one.
 */
/* Which argument is the dentry: from Linux 5.12 on, and of some only later, the user namespace
 * (then the idmap) goes before it.  User space looks it up in BTF. */
const volatile __u8 setattr_dentry, setxattr_dentry, removexattr_dentry;

/* Is the task inside a call by path that is counted?  Its own data are valid while it runs. */
static __always_inline bool is_by_path(__u64 task)
{
	struct call_slot *slot = get_slot();
	struct call *parked;

	if (slot && slot->call.task == task)
		return slot->call.is_by_path;
	parked = bpf_map_lookup_elem(&parked_calls, &task);
	return parked && !parked->is_interrupted && parked->is_by_path;
}

static __always_inline __u64 current_cgroup(void)
{
	struct task_struct *task = current_task();

	return fold_cgroup(task, cgroup_id(cgroup_of(task)));
}

static __always_inline struct path_end *get_path_end(__u64 task)
{
	const struct path_end nothing = { .place = PLACE_UNRESOLVED };
	struct path_end *end = bpf_map_lookup_elem(&path_ends, &task);

	if (end)
		return end;
	if (bpf_map_update_elem(&path_ends, &task, &nothing, BPF_NOEXIST) < 0)
		count_lost_of(current_cgroup(), LOST_PATH);
	return bpf_map_lookup_elem(&path_ends, &task);
}

/* Has a file system put other rights in the caller's place?  access() does too, and marks them so.
 */
static __always_inline bool has_other_rights(struct task_struct *task)
{
	const struct cred *cred = LOAD(task, cred);

	return cred != LOAD(task, real_cred) && !LOAD(cred, non_rcu);
}

static __always_inline int note_superblock(struct super_block *sb, bool is_statfs)
{
	struct task_struct *task = current_task();
	struct path_end *end;

	if (!is_by_path((__u64)task) || has_other_rights(task))
		return 0;
	end = get_path_end((__u64)task);
	if (!end || end->is_final)
		return 0;
	end->place = place_of(sb, &end->superblock);
	end->is_final = is_statfs;
	return 0;
}

SEC("fentry/security_inode_permission")
int BPF_PROG(note_permission, struct inode *inode)
{
	return note_superblock(inode->i_sb, false);
}

SEC("fentry/security_inode_getattr")
int BPF_PROG(note_getattr, struct path *path)
{
	return note_superblock(path->dentry->d_sb, false);
}

SEC("fentry/security_inode_readlink")
int BPF_PROG(note_readlink, struct dentry *dentry)
{
	return note_superblock(dentry->d_sb, false);
}

SEC("fentry/security_inode_getxattr")
int BPF_PROG(note_getxattr, struct dentry *dentry)
{
	return note_superblock(dentry->d_sb, false);
}

SEC("fentry/security_inode_listxattr")
int BPF_PROG(note_listxattr, struct dentry *dentry)
{
	return note_superblock(dentry->d_sb, false);
}

SEC("fentry/security_sb_statfs")
int BPF_PROG(note_statfs, struct dentry *dentry)
{
	return note_superblock(dentry->d_sb, true);
}

/* One of the first two arguments; both are loaded, since the verifier takes no chosen offset. */
static __always_inline int note_either(void *first, void *second, __u8 is_second)
{
	struct dentry *dentry = first;

	if (is_second)
		dentry = second;
	return note_superblock(dentry->d_sb, false);
}

SEC("fentry/security_inode_setattr")
int BPF_PROG(note_setattr, void *first, void *second)
{
	return note_either(first, second, setattr_dentry);
}

SEC("fentry/security_inode_setxattr")
int BPF_PROG(note_setxattr, void *first, void *second)
{
	return note_either(first, second, setxattr_dentry);
}

SEC("fentry/security_inode_removexattr")
int BPF_PROG(note_removexattr, void *first, void *second)
{
	return note_either(first, second, removexattr_dentry);
}

/*
 * ---- io_uring requests without a completion event ----
 *
 * Reads and writes with IOSQE_CQE_SKIP_SUCCESS.  Those that end at once are seen in kiocb_done, the
 * others in io_complete_rw, which may be in an interrupt.  A short read or write is a failure to
 * io_uring, and posts a completion.
 */
static __always_inline int count_unposted(struct io_kiocb *req, long result)
{
	struct request_kind kind = request_kind_of(BPF_CORE_READ(req, opcode));
	struct resolved found = { .place = PLACE_UNRESOLVED };
	struct file *file = BPF_CORE_READ(req, file);
	struct file_key key;
	__u64 cgroup;

	if (!file || !kind.moves_data || !(BPF_CORE_READ(req, flags) & CQE_SKIP_SUCCESS))
		return 0;
	if (result < 0 || result != asked_of_request(req))
		return 0;
	if (!owner_of_request(req, &cgroup))
		return 0;
	resolve_file(file, &found);
	key = key_for(cgroup, found.place, kind.op, FILES_BY_URING);
	count_trampolined(&key, result);
	if (found.socket)
		count_traffic(cgroup, kind_of_socket(found.socket), kind.op, result);
	return 0;
}

SEC("fentry/kiocb_done")
int BPF_PROG(count_unposted_at_once, struct io_kiocb *req, long result)
{
	return count_unposted(req, result);
}

SEC("fentry/io_complete_rw")
int BPF_PROG(count_unposted_later, struct kiocb *kiocb, long result)
{
	return count_unposted((struct io_kiocb *)kiocb, result); /* a request begins with what its
								    operation needs */
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
