/* SPDX-License-Identifier: MIT */
/*
 * kernel - the kernel's structs and fields that we read, and no others.
 *
 * Offsets are relocated against the running kernel's BTF at load (CO-RE), so a build needs no
 * kernel. A field that some kernel lacks is guarded where it is read, in compat.bpf.h.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kuid { /* the kernel's kuid_t, and kgid_t */
	__u32 val;
};

struct kernfs_iattrs {
	struct kuid ia_uid, ia_gid;
};

struct kernfs_node {
	__u64 id;
	unsigned short mode;
	struct kernfs_iattrs *iattr; /* NULL: its directory was root's from its beginning */
};

struct cgroup_root {
	int hierarchy_id; /* 0: that of cgroup v2 */
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
	struct cgroup_subsys_state *subsys[1];
	int level;
	struct cgroup *ancestors[];
};

/* The kernel's configuration makes the values. */
enum cgroup_subsys_id {
	memory_cgrp_id = 1,
	cpuacct_cgrp_id,
	freezer_cgrp_id,
};

struct page_counter {
	unsigned long watermark; /* in pages */
};

struct long_counter { /* the kernel's atomic_long_t */
	__s64 counter;
};

enum memcg_memory_event {
	MEMCG_OOM_KILL,
};

/* Begins with its cgroup_subsys_state. */
struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
	struct long_counter memory_events[1];
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

struct file_system_type {
	const char *name;
};

struct uuid {
	__u8 b[16];
};

struct super_block {
	__u32 s_dev;
	unsigned long s_flags, s_magic;
	struct file_system_type *s_type;
	struct dentry *s_root;
	struct uuid s_uuid; /* the kernel's uuid_t */
};

#define S_IFMT 0170000 /* of inode.i_mode */
#define S_IFDIR 0040000
#define S_IFBLK 0060000
#define S_IFREG 0100000
#define S_IFSOCK 0140000

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	__s64 i_size;
	__u32 i_generation;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct super_block *d_sb;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct ns_common {
	unsigned int inum;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	struct mnt_namespace *mnt_ns; /* none, or an error, where it is mounted nowhere */
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct fs_struct {
	struct path root;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

#define SB_NOUSER (1UL << 31) /* of super_block.s_flags: mounted nowhere that a user sees */
#define FMODE_CREATED 0x100000U /* of file.f_mode */
#define O_APPEND 02000 /* of file.f_flags */
#define AT_REMOVEDIR 0x200 /* unlinkat(2) */

/* How many hold a file.  90ee6ed776c0 "fs: port files to file_ref", Linux 6.13. */
struct file___counted {
	struct {
		__s64 counter;
	} f_count;
};

struct file___ref {
	struct {
		struct {
			__s64 counter;
		} refcnt; /* less one */
	} f_ref;
};

struct file {
	unsigned int f_mode, f_flags;
	__s64 f_pos;
	struct inode *f_inode;
	struct path f_path;
	void *private_data; /* of a socket: its struct socket */
};

#define AF_UNIX 1 /* of sock_common.skc_family */
#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1 /* of sock.sk_type */
#define SOCK_DGRAM 2
#define IPPROTO_TCP 6 /* of sock.sk_protocol */
#define IPPROTO_UDP 17
#define MSG_PEEK 2
#define MSG_ERRQUEUE 0x2000

struct sock_common {
	unsigned short skc_family;
};

struct sock {
	struct sock_common __sk_common;
	unsigned short sk_type, sk_protocol;
};

#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_CLOSE 7
#define TCP_CLOSE_WAIT 8 /* the other side has ended it */

struct minmax_sample {
	__u32 t, v;
};

/* The least or the greatest of some time, and what it will be when that is over. */
struct minmax {
	struct minmax_sample s[3];
};

/* Begins with its sock. */
struct tcp_sock {
	struct minmax rtt_min; /* us; all bits set: there is none */
	__u32 srtt_us; /* the smoothed round-trip time, in eighths of us; 0: there is none */
	__u32 total_retrans; /* segments sent again */
	__u32 data_segs_out; /* segments of data sent, those included */
	bool is_mptcp;
};

struct socket {
	struct sock *sk;
};

struct address_space {
	struct inode *host;
};

/* A page, or several in one. */
struct folio {
	struct address_space *mapping;
};

struct capabilities { /* the kernel's kernel_cap_t */
	__u64 val;
};

struct cred {
	struct kuid uid, suid, euid, fsuid;
	struct kuid gid, sgid, egid, fsgid; /* kgid_t is the same */
	struct capabilities cap_permitted;
	int non_rcu;
};

struct kiocb {
	struct file *ki_filp;
};

struct counter { /* the kernel's atomic_t */
	int counter;
};

/* A request of a loop device; of the module loop. */
struct loop_cmd {
	struct counter ref;
	long ret;
};

struct request { /* of a block device */
	unsigned int cmd_flags;
	struct bio *bio; /* the first of those that became one */
};

struct gendisk {
	int major, first_minor;
	char disk_name[32];
};

struct block_device {
	struct gendisk *bd_disk;
};

struct bvec_iter {
	unsigned int bi_size;
};

struct blkcg { /* begins with it */
	struct cgroup_subsys_state css;
};

struct blkcg_gq {
	struct blkcg *blkcg;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev; /* from Linux 5.12 on; see compat.bpf.h */
	unsigned int bi_opf;
	__u8 bi_status;
	struct bvec_iter bi_iter;
	struct blkcg_gq *bi_blkg; /* where the kernel has cgroups of block devices */
};

struct io_uring_task {
	struct task_struct *task;
};

struct io_uring_cqe {
	__s32 res;
};

struct io_cqe {
	__s32 res;
};

/* A request of an io_uring. */
struct io_kiocb {
	struct file *file;
	__u8 opcode;
	unsigned int flags; /* 64 bits wide on newer kernels */
	struct io_cqe cqe;
	struct task_struct *task; /* until Linux 6.12 */
	struct io_uring_task *tctx; /* from 6.13: b6f58a3f4aa8 "io_uring: move struct io_kiocb from
				       task_struct to io_uring_task" */
};

#define IORING_RECV_MULTISHOT 2 /* of io_sr_msg.flags */

struct io_sr_msg {
	int msg_flags;
	unsigned short flags; /* from Linux 6.0 */
};

struct io_splice {
	int splice_fd_in;
	unsigned int flags;
};

struct io_open {
	__u32 file_slot;
};

struct io_close {
	int fd;
	__u32 file_slot;
};

struct io_sync {
	int flags;
};

struct io_unlink {
	int flags;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

#define OWN_FILES 64 /* the kernel's NR_OPEN_DEFAULT, bits of a long */

struct files_struct {
	struct fdtable *fdt; /* what counts */
	struct fdtable fdtab; /* where fdt points to while fd_array suffices */
	struct file *fd_array[OWN_FILES];
};

struct rq { /* of one CPU */
	__u64 clock, clock_task; /* the second stops while no task has the CPU */
	int cpu; /* of kernels for several */
};

struct cfs_rq {
	struct rq *rq; /* of kernels that share out CPUs by group, as all for many users do */
};

struct sched_entity {
	__u64 sum_exec_runtime, nr_migrations;
	struct cfs_rq *cfs_rq; /* of its CPU, whatever its policy; of the same kernels */
};

struct sched_info {
	unsigned long long run_delay;
};

struct task_io_accounting {
	__u64 rchar, wchar, syscr, syscw;
	__u64 read_bytes, write_bytes;
};

struct prev_cputime {
	__u64 utime, stime;
};

struct mm_struct {
	unsigned long hiwater_rss;
	unsigned long flags;
};

/* cf3b5de6d9c4 "mm: add bitmap mm->flags field", Linux 6.18 */
struct mm_struct___bitmap {
	struct {
		unsigned long __mm_flags[1];
	} flags;
};

#define MMF_DUMPABLE_MASK 3 /* of the flags, on all kernels */
#define SUID_DUMP_USER 1

struct signal_struct {
	__u64 utime, stime;
	unsigned long long sum_sched_runtime;
	struct prev_cputime prev_cputime;
	unsigned long maxrss; /* in pages; of processes that have freed their memory */
	int nr_threads;
	unsigned int flags;
	int group_exit_code; /* of processes that end, as from wait(); others use it while they
				are stopped */
};

#define SIGNAL_GROUP_EXIT 0x00000004 /* of signal_struct.flags */

struct thread_info {
	__u32 status;
};

#define PF_KTHREAD 0x00200000 /* of task_struct.flags */
#define PF_IO_WORKER 0x00000010

#define TASK_STOPPED 0x0004U /* of task_struct.__state */
#define TASK_TRACED 0x0008U
#define TASK_DEAD 0x0080U
#define TASK_WAKING 0x0200U
#define TASK_NEW 0x0800U
#define TASK_FROZEN 0x8000U

#define JOBCTL_TRAP_FREEZE (1UL << 23) /* of task_struct.jobctl */

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	int on_cpu; /* of kernels for several CPUs */
	unsigned int flags;
	const struct cred *real_cred, *cred;
	int pid, tgid;
	int exit_code; /* as wait() returns it */
	struct task_struct *group_leader;
	struct css_set *cgroups;
	struct files_struct *files;
	struct fs_struct *fs;
	struct nsproxy *nsproxy;
	struct mm_struct *mm;
	struct signal_struct *signal;
	struct sched_entity se;
	struct sched_info sched_info;
	__u64 utime, stime;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt;
	__u64 start_boottime;
	unsigned long jobctl;
	struct task_io_accounting ioac;
	char comm[16];
	void *stack;
};

struct sigaction {
	void *sa_handler;
	unsigned long sa_flags;
};

struct k_sigaction {
	struct sigaction sa;
};

struct pt_regs {
#if defined(__TARGET_ARCH_x86)
	unsigned long di, si, dx, r10, r8, cx, ax, orig_ax, ip, ss;
	unsigned long sp, bp, bx, r9, r11, r12, r13, r14, r15;
#elif defined(__TARGET_ARCH_arm64)
	__u64 regs[31];
	__u64 sp, pc;
	__u64 orig_x0;
	int syscallno;
#endif
};

struct vm_area_struct {
	struct file *vm_file;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop
