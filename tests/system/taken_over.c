/* SPDX-License-Identifier: MIT */
/*
 * taken-over - what somebody can do who has taken over a process of the agent's.
 *
 *     taken-over agent|helper|sender|server|tracer|agent-unfiltered|helper-unfiltered VICTIM
 *
 * Becomes what that process is after its start (user nobody for all but the helper; the
 * helper where /proc hides processes, since it has more rights there), and tries each thing on
 * process VICTIM. A line each: "NAME done" or "NAME ERRNO-NAME".
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "service/privileges.h"
#include "service/syscall_filter.h"

static long trace(pid_t oom_kill)
{
	long r = ptrace(PTRACE_SEIZE, oom_kill, NULL, NULL);

	if (r == 0) {
		ptrace(PTRACE_INTERRUPT, oom_kill, NULL, NULL);
		waitpid(oom_kill, NULL, __WALL);
		ptrace(PTRACE_DETACH, oom_kill, NULL, NULL);
	}
	return r;
}

static long read_memory(pid_t oom_kill)
{
	struct iovec here = { .iov_base = &(char){ 0 }, .iov_len = 1 };
	struct iovec there = { .iov_base = stdout, .iov_len = 1 };
	long r = process_vm_readv(oom_kill, &here, 1, &there, 1, 0);

	return r < 0 && errno == EFAULT ? 0 : r; /* it may, and there is nothing at that place */
}

static long take_descriptor(pid_t oom_kill)
{
	_cleanup_close_ int pid_fd = (int)syscall(SYS_pidfd_open, oom_kill, 0);

	return syscall(SYS_pidfd_getfd, pid_fd, 0, 0) < 0 ? -1 : 0;
}

static long start_program(pid_t oom_kill)
{
	pid_t child = fork();
	int status;

	(void)oom_kill;
	if (child == 0) {
		execl("/bin/true", "true", NULL);
		_exit(errno);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -1;
	errno = WEXITSTATUS(status);
	return errno ? -1 : 0;
}

static long load_program(pid_t oom_kill)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attributes = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (uint64_t)(uintptr_t)nothing,
		.insn_cnt = ARRAY_SIZE(nothing),
		.license = (uint64_t)(uintptr_t) "GPL",
	};
	long r = syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes));

	(void)oom_kill;
	return r < 0 ? r : close((int)r);
}

static const struct {
	const char *name;
	long (*try)(pid_t oom_kill);
} attempts[] = {
	{ "trace", trace },
	{ "read-memory", read_memory },
	{ "take-descriptor", take_descriptor },
	{ "start-program", start_program },
	{ "load-program", load_program },
};

static const struct role {
	const char *name;
	unsigned int features;
	bool is_user;
	enum filter_user filter; /* FILTER_NOBODY: none */
} roles[] = {
	{ "agent", PRIVILEGE_PROCESSES | PRIVILEGE_BPF, true, FILTER_AGENT },
	{ "helper", PRIVILEGE_HELPER | PRIVILEGE_HIDDEN, false, FILTER_HELPER },
	{ "sender", 0, true, FILTER_SENDER },
	{ "server", 0, true, FILTER_SERVER },
	{ "tracer", PRIVILEGE_TRACING, true, FILTER_TRACER },
	{ "agent-unfiltered", PRIVILEGE_PROCESSES | PRIVILEGE_BPF, true, FILTER_NOBODY },
	{ "helper-unfiltered", PRIVILEGE_HELPER | PRIVILEGE_HIDDEN, false, FILTER_NOBODY },
};

static int become(const char *name, struct error *err)
{
	const struct role *role = roles;
	struct service_user user = {};
	struct privileges_options options = {};
	int r = 0;

	while (role < roles + ARRAY_SIZE(roles) && strcmp(role->name, name) != 0)
		role++;
	if (role == roles + ARRAY_SIZE(roles))
		return error_set(err, -EINVAL, "there is no process '%s'", name);
	options.features = role->features;
	if (role->is_user) {
		options.user = &user;
		r = service_user_find("nobody", &user, err);
	}
	if (r >= 0)
		r = privileges_drop(&options, NULL, err);
	if (r >= 0 && role->filter)
		r = syscall_filter_apply(role->filter, err);
	return r;
}

int main(int argc, char **argv)
{
	struct error err = {};

	if (argc != 3)
		return 2;
	if (become(argv[1], &err) < 0) {
		fprintf(stderr, "taken-over: %s\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
		errno = 0;
		printf("%s %s\n", attempts[i].name,
		       attempts[i].try(atoi(argv[2])) < 0 ? strerrorname_np(errno) : "done");
		fflush(stdout);
	}
	return 0;
}
