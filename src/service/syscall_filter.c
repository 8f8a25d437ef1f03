/* SPDX-License-Identifier: MIT */
#include "service/syscall_filter.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/ipmi.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"

#define AGENT FILTER_AGENT
#define HELPER FILTER_HELPER
#define TRACER FILTER_TRACER
#define SERVING (FILTER_AGENT | FILTER_SERVER)
#define SENDING (FILTER_AGENT | FILTER_SENDER)
#define NETWORK (FILTER_AGENT | FILTER_SENDER | FILTER_SERVER)
#define ALL FILTER_ALL
#define NOBODY FILTER_NOBODY

#define IS(number, wanted) .argument = (number), .mask = UINT32_MAX, .value = (wanted)
#define WITHOUT(number, bits) .argument = (number), .mask = (bits), .value = 0
#define OF(number, bits, wanted) .argument = (number), .mask = (bits), .value = (wanted)

#define NAMESPACES                                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

/* clang-format off */
static const struct filter_row table[] = {
	{ "read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 lseek _llseek close close_range",
	  ALL, "what is open" },
	{ "open openat stat stat64 lstat lstat64 fstat fstat64 newfstatat fstatat64 statx access faccessat faccessat2 "
	  "readlink readlinkat getdents getdents64 statfs statfs64 fstatfs fstatfs64 getcwd umask",
	  ALL, "files of proc, sys, cgroups; settings and states" },
	{ "fcntl fcntl64 dup dup2 dup3", ALL, "descriptors" },
	{ "ioctl", ALL, "whether a stream is a terminal: the C library asks", IS(1, TCGETS) },
	{ "ioctl", AGENT, "the node's power, of its BMC", IS(1, IPMICTL_SEND_COMMAND) },
	{ "ioctl", AGENT, "its answer", IS(1, IPMICTL_RECEIVE_MSG_TRUNC) },
	{ "ioctl", AGENT, "NVIDIA's driver, by its library: all of its requests are of type F", OF(1, 0xff00, 'F' << 8) },
	{ "brk munmap mremap madvise", ALL, "memory" },
	{ "mmap mmap2", ALL, "memory that is not code", WITHOUT(2, PROT_EXEC) },
	{ "mmap mmap2", NETWORK, "modules of the name service, libcurl: code that cannot be written",
	  OF(2, PROT_EXEC | PROT_WRITE, PROT_EXEC) },
	{ "mprotect pkey_mprotect", ALL, "what was data becomes no code", WITHOUT(2, PROT_EXEC) },
	{ "clock_gettime clock_gettime64 clock_getres gettimeofday time clock_nanosleep clock_nanosleep_time64 nanosleep "
	  "restart_syscall", ALL, "time" },
	{ "poll ppoll ppoll_time64 select _newselect pselect6 pselect6_time64", ALL, "waiting" },
	{ "futex futex_time64 futex_waitv set_robust_list get_robust_list rseq set_tid_address sched_yield membarrier",
	  ALL, "locks of libraries" },
	{ "rt_sigaction rt_sigprocmask rt_sigreturn sigreturn sigaltstack", ALL, "signals" },
	{ "getpid getppid gettid getuid getuid32 geteuid geteuid32 getgid getgid32 getegid getegid32 getresuid getresuid32 "
	  "getresgid getresgid32 getgroups getgroups32 capget getpgrp getpgid getsid",
	  ALL, "who we are" },
	{ "uname sysinfo getrandom getrusage times getcpu sched_getaffinity getrlimit ugetrlimit", ALL,
	  "what libraries ask" },
	{ "prlimit64", ALL, "our own limits, not another's", IS(0, 0) },
	{ "socket", ALL, "the name service; whether a socket that was left is listened on", IS(0, AF_UNIX) },
	{ "connect sendto recvfrom", ALL, "the same, and those processes to each other" },
	{ "unlink unlinkat", ALL, "states, pins; records that were sent; sockets" },
	{ "mkdir mkdirat rmdir", SENDING | HELPER, "states, pins; cgroups of users' runs" },
	{ "exit exit_group", ALL, "the end" },

	{ "bpf", AGENT, "counters, by cgroup", IS(0, BPF_MAP_LOOKUP_ELEM) },
	{ "bpf", AGENT, "counters, many at once", IS(0, BPF_MAP_LOOKUP_BATCH) },
	{ "bpf", AGENT, "what is in a map", IS(0, BPF_MAP_GET_NEXT_KEY) },
	{ "bpf", AGENT, "whom to watch, what times to take", IS(0, BPF_MAP_UPDATE_ELEM) },
	{ "bpf", AGENT, "what is folded", IS(0, BPF_MAP_DELETE_ELEM) },
	{ "bpf", AGENT, "the size of a map", IS(0, BPF_OBJ_GET_INFO_BY_FD) },
	{ "bpf", AGENT, "a pass over the tasks", IS(0, BPF_ITER_CREATE) },
	{ "memfd_create", AGENT, "the device of files in memory, to name them" },
	{ "perf_event_open", AGENT, "hardware counters of new jobs" },
	{ "ftruncate ftruncate64 fallocate fchmod fchmodat fsync fdatasync", NETWORK, "states of jobs; records; the database" },
	{ "rename renameat renameat2", SENDING, "states of jobs; records, and those that were refused" },
	{ "flock", SENDING | HELPER, "states of jobs; cgroups of runs" },
	{ "inotify_add_watch inotify_rm_watch", AGENT, "where jobs' cgroups are made and removed" },
	{ "accept accept4", SERVING, "answers" },
	{ "sendmsg sendmmsg recvmsg recvmmsg getsockopt setsockopt getsockname getpeername shutdown", NETWORK,
	  "answers; the name service; the site's server" },
	{ "socket", NETWORK, "a name service in the network, the site's server", IS(0, AF_INET) },
	{ "socket", NETWORK, "a name service in the network, the site's server", IS(0, AF_INET6) },
	{ "socketpair", SENDING, "a sender that is started again; libcurl's threads", IS(0, AF_UNIX) },
	{ "epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 signalfd4 timerfd_create "
	  "timerfd_settime timerfd_settime64 timerfd_gettime timerfd_gettime64", SERVING, "events" },
	{ "eventfd2", FILTER_SERVER, "the end of a thread's work" },
	{ "eventfd2 pipe pipe2", SENDING, "events; the child that asks for names; libcurl's threads" },
	{ "fork wait4 waitid waitpid alarm setitimer capset prctl", AGENT,
	  "the child that asks for names; a sender that is started again" },
	{ "seccomp", AGENT, "that sender's own filter, beside this one", IS(0, SECCOMP_SET_MODE_FILTER) },
	/* no clone3(), because filters cannot see its flags: libraries fall back on this */
	{ "clone", AGENT, "those children, and threads of libraries, but no namespaces", WITHOUT(0, NAMESPACES) },
	{ "clone", FILTER_SENDER | FILTER_SERVER, "libcurl's threads, those of the server, but no child", OF(0, NAMESPACES | CLONE_THREAD, CLONE_THREAD) },
	{ "kill tgkill", AGENT, "those children's end; clients of runs that have ended" },
	{ "sched_setaffinity", AGENT, "cpu_affinity" },

	{ "pidfd_open", HELPER, "the process that a user has a cgroup made for" },
	{ "kill", HELPER, "whether a client lives; no signal is sent", IS(1, 0) },

	{ "bpf perf_event_open", TRACER, "programs on functions, and their maps" },
	{ "recvmsg", TRACER, "where a trace is to go" },
	{ "clone", TRACER, "a process for each trace, but no namespaces", WITHOUT(0, NAMESPACES) },
	{ "fork wait4 waitid pidfd_open prctl", TRACER, "the same, and the process that is traced" },
	{ "kill", TRACER, "whether that is still there; no signal is sent", IS(1, 0) },
	{ "epoll_create1 epoll_ctl epoll_wait", TRACER, "events of traces" },
	{ "eventfd2", TRACER, "that a trace ends on time" },

	{ "ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp process_madvise process_mrelease pidfd_send_signal",
	  NOBODY, "others' memory and descriptors" },
	{ "execve execveat uselib", NOBODY, "other programs" },
	{ "mount umount umount2 move_mount open_tree fsopen fsconfig fsmount fspick mount_setattr pivot_root chroot", NOBODY,
	  "mounts" },
	{ "unshare setns", NOBODY, "namespaces" },
	{ "init_module finit_module delete_module create_module kexec_load kexec_file_load reboot", NOBODY,
	  "another kernel" },
	{ "open_by_handle_at", NOBODY, "files that no path leads to" },
	{ "io_uring_setup io_uring_enter io_uring_register", NOBODY, "calls that no filter sees" },
	{ "setuid setuid32 setgid setgid32 setreuid setreuid32 setregid setregid32 setresuid setresuid32 setresgid "
	  "setresgid32 setfsuid setfsuid32 setfsgid setfsgid32 setgroups setgroups32", NOBODY, "other users" },
	{ "chown chown32 fchown fchown32 fchownat lchown lchown32 mknod mknodat", NOBODY, "others' files, devices" },
	{ "add_key request_key keyctl userfaultfd personality modify_ldt", NOBODY, "what has helped to attack kernels" },
	{ "swapon swapoff acct quotactl quotactl_fd syslog settimeofday clock_settime clock_settime64 clock_adjtime "
	  "clock_adjtime64 adjtimex stime sethostname setdomainname ioperm iopl vhangup", NOBODY,
	  "the machine's own affairs" },
};
/* clang-format on */

const struct filter_row *syscall_filter_table(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(table);
	return table;
}

const char *filter_row_next(const char *at, char name[FILTER_NAME_SIZE])
{
	size_t length;

	at += strspn(at, " ");
	length = strcspn(at, " ");
	if (!length || length >= FILTER_NAME_SIZE)
		return NULL;
	memcpy(name, at, length);
	name[length] = '\0';
	return at + length;
}

static int add_row(scmp_filter_ctx filter, const struct filter_row *row, uint32_t action)
{
	const struct scmp_arg_cmp only = { row->argument, SCMP_CMP_MASKED_EQ, row->mask,
					   row->value };
	char name[FILTER_NAME_SIZE];
	const char *at = row->calls;

	while ((at = filter_row_next(at, name))) {
		int call = seccomp_syscall_resolve_name(name), r;

		/* What an older libseccomp does not know is refused by the default.  Calls that
		 * this processor's Linux does not have are passed over. */
		if (call == __NR_SCMP_ERROR)
			continue;
		r = seccomp_rule_add_array(filter, action, call, row->mask ? 1 : 0, &only);
		if (r < 0)
			return r;
	}
	return 0;
}

static int fill(scmp_filter_ctx filter, enum filter_user user)
{
	int r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);

	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree: bpf() comes often */
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(table); i++) {
		if (table[i].users & (unsigned int)user)
			r = add_row(filter, &table[i], SCMP_ACT_ALLOW);
		else if (table[i].users == NOBODY)
			r = add_row(filter, &table[i], SCMP_ACT_ERRNO(EPERM));
	}
	return r;
}

int syscall_filter_apply(enum filter_user user, struct error *err)
{
	scmp_filter_ctx filter;
	int r;

	if (prctl(PR_GET_SECCOMP) < 0 && errno == EINVAL)
		return error_set(err, -EOPNOTSUPP,
				 "this kernel cannot filter system calls (CONFIG_SECCOMP_FILTER)");
	filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	if (!filter)
		return error_set_errno(err, ENOMEM, "cannot filter system calls");
	r = fill(filter, user);
	if (r >= 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r < 0 ? error_set_errno(err, r, "cannot filter system calls") : 0;
}
