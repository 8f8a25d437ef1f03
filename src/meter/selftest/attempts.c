/* SPDX-License-Identifier: MIT */
#include "selftest/attempts.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "bpf/attempts.skel.h"
#include "basic/cleanup.h"
#include "basic/macro.h"

struct kind {
	const char *name, *where, *gives;
	const char *program; /* in attempts.bpf.c; NULL: no BPF */
};

/* clang-format off */
static const struct kind kinds[] = {
	{ "fentry", "vfs_read",   "where calls by path took place, libaio", "see_fentry" },
	{ "kprobe", "vfs_read",   "tracing of kernel functions",            "see_kprobe" },
	{ "cycles", "perf event", "hardware counters",                      NULL },
};
/* clang-format on */

static_assert(ARRAY_SIZE(kinds) == ATTEMPTS_COUNT, "one attempt a kind");

static int refuse(struct attempt *a, const char *when, int error)
{
	const char *name = strerrorname_np(-error);

	a->error = error;
	snprintf(a->why, sizeof(a->why), "%s at %s", name ? name : "an unknown error", when);
	return error;
}

/* What the programs have to see. */
static bool read_something(void)
{
	_cleanup_close_ int fd = -EBADF;
	char byte = 'x';
	int ends[2];
	bool is_well;

	if (pipe(ends) < 0)
		return false;
	fd = ends[0];
	is_well = write(ends[1], &byte, 1) == 1 && read(fd, &byte, 1) == 1;
	close(ends[1]);
	return is_well;
}

static int attach_and_see(struct attempt *a, struct attempts_bpf *object,
			  const struct bpf_program *program)
{
	struct bpf_link *link = bpf_program__attach(program);

	if (!link)
		return refuse(a, "attach", -errno);
	a->is_well = read_something() && object->bss->seen > 0;
	if (!a->is_well)
		snprintf(a->why, sizeof(a->why), "attached, but did not see our own read");
	bpf_link__destroy(link);
	return 0;
}

static void try_program(struct attempt *a, const char *name)
{
	struct attempts_bpf *object = attempts_bpf__open();
	struct bpf_program *program, *wanted;
	int r;

	if (!object) {
		refuse(a, "open", -errno);
		return;
	}
	wanted = bpf_object__find_program_by_name(object->obj, name);
	bpf_object__for_each_program(program, object->obj)
		bpf_program__set_autoload(program, program == wanted);
	object->bss->tried_tgid = (uint32_t)getpid();
	r = attempts_bpf__load(object);
	if (r < 0)
		refuse(a, "load", r);
	else
		attach_and_see(a, object, wanted);
	attempts_bpf__destroy(object);
}

static void try_cycles(struct attempt *a)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	_cleanup_close_ int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1,
					      PERF_FLAG_FD_CLOEXEC);
	uint64_t cycles = 0;

	if (fd < 0) {
		if (errno == ENOENT || errno == EOPNOTSUPP || errno == ENODEV) {
			a->error = -errno;
			snprintf(a->why, sizeof(a->why), "not offered here");
		} else {
			refuse(a, "open", -errno);
		}
		return;
	}
	a->is_well = read(fd, &cycles, sizeof(cycles)) == sizeof(cycles) && cycles > 0;
	if (!a->is_well)
		snprintf(a->why, sizeof(a->why), "opened, but counts nothing");
}

void attempts_make(struct attempt ret[ATTEMPTS_COUNT])
{
	libbpf_print_fn_t before = libbpf_set_print(NULL); /* the reasons are told by errno */

	for (size_t i = 0; i < ATTEMPTS_COUNT; i++) {
		const struct kind *kind = &kinds[i];

		ret[i] = (struct attempt){ kind->name, kind->where, kind->gives };
		if (kind->program)
			try_program(&ret[i], kind->program);
		else
			try_cycles(&ret[i]);
	}
	libbpf_set_print(before);
}
