/* SPDX-License-Identifier: MIT */
#include "trace/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "load/complaint.h"

/* 89ae89f53d20 "bpf: Add multi uprobe link", Linux 6.6; headers of older systems lack it. */
#define LINK_UPROBE_MULTI 48
#define LINK_UPROBE_SESSION 57 /* the same of entry and return together, Linux 6.13 */
#define UPROBE_MULTI_RETURN 1U

struct link_create_multi { /* a part of union bpf_attr */
	uint32_t program_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t count, multi_flags, pid, pad;
};

#define CALLS 4096 /* in all rounds */
#define ROUNDS 32 /* short, so that one of them meets no interrupt: the least counts */

#if defined(__x86_64__)
/* Functions to measure on, one of each cost. */
void attach_emulated(void);
void attach_stepped(void);
__asm__(".text\n"
	".type attach_emulated, @function\n"
	"attach_emulated: push %rax; pop %rax; ret\n"
	".type attach_stepped, @function\n"
	"attach_stepped: xor %eax, %eax; ret\n");
#else
static __attribute__((noinline)) void attach_emulated(void)
{
	__asm__ volatile("");
}

static __attribute__((noinline)) void attach_stepped(void)
{
	__asm__ volatile("");
}
#endif

static int create_multi(int program_fd, int type, const char *path, const struct attach_site *sites,
			size_t count, bool is_return)
{
	_cleanup_free_ uint64_t *numbers = calloc(count * 3, sizeof(*numbers));
	struct link_create_multi attr = {
		.program_fd = (uint32_t)program_fd,
		.attach_type = (uint32_t)type,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)numbers,
		.cookies = (uintptr_t)(numbers + count),
		.count = (uint32_t)count,
		.multi_flags = is_return ? UPROBE_MULTI_RETURN : 0,
	};
	int fd;

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		numbers[i] = sites[i].offset;
		numbers[count + i] = sites[i].cookie;
		numbers[2 * count + i] = sites[i].semaphore;
		if (sites[i].semaphore)
			attr.semaphores = (uintptr_t)(numbers + 2 * count);
	}
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

/* Try it on a function of our own that is never called. */
int attach_find_type(bool is_span)
{
	const int type = is_span ? LINK_UPROBE_SESSION : LINK_UPROBE_MULTI;
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)type);
	const struct attach_site site = { .offset = 0 };
	int program, r;

	program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "trace_try", "GPL", nothing,
				ARRAY_SIZE(nothing), &options);
	if (program < 0)
		return 0;
	/* There is no such file: a kernel that knows such links says so, another refuses the type
	 * before. */
	r = create_multi(program, type, "/proc/self/fd/-1", &site, 1, false);
	if (r >= 0)
		close(r);
	close(program);
	return r == -ENOENT || r == -EBADF ? type : 0;
}

void probe_links_end(struct probe_links *a)
{
	if (a->fd > 0)
		close(a->fd);
	for (size_t i = 0; i < a->count; i++)
		bpf_link__destroy(a->links[i]);
	free(a->links);
	*a = (struct probe_links){};
}

static int keep_link(struct probe_links *a, struct bpf_link *link)
{
	struct bpf_link **links;

	if (!link)
		return -errno;
	links = reallocarray(a->links, a->count + 1, sizeof(*links));
	if (!links) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	a->links = links;
	a->links[a->count++] = link;
	return 0;
}

int attach_functions(const struct bpf_program *program, int fd, const struct attach_site *sites,
		     size_t count, bool is_return, struct probe_links *ret, struct error *err)
{
	const int type = (int)bpf_program__expected_attach_type(program);
	struct complaint unheard = {}; /* the error says it */
	struct probe_links a = {};
	char path[64];
	int r = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* wherever it is mounted */
	if (type == LINK_UPROBE_MULTI || type == LINK_UPROBE_SESSION) {
		r = create_multi(bpf_program__fd(program), type, path, sites, count, is_return);
		a.fd = MAX(r, 0);
	}
	complaint_listen(&unheard);
	for (size_t i = 0; i < count && r >= 0 && !a.fd; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = is_return,
			    .ref_ctr_offset = sites[i].semaphore, .bpf_cookie = sites[i].cookie);

		r = keep_link(&a, bpf_program__attach_uprobe_opts(program, -1, path,
								  sites[i].offset, &options));
	}
	complaint_stop();
	if (r < 0) {
		probe_links_end(&a);
		return error_set_errno(err, r, "cannot attach");
	}
	*ret = a;
	return 0;
}

int attach_kernel(const struct bpf_program *program, const char *function, uint64_t cookie,
		  bool is_return, struct probe_links *ret, struct error *err)
{
	LIBBPF_OPTS(bpf_kprobe_opts, options, .retprobe = is_return, .bpf_cookie = cookie);
	struct complaint unheard = {};
	int r;

	complaint_listen(&unheard);
	r = keep_link(ret, bpf_program__attach_kprobe_opts(program, function, &options));
	complaint_stop();
	return r < 0 ? error_set_errno(err, r, "cannot attach to the kernel's '%s'", function) : 0;
}

int attach_tracepoint(const struct bpf_program *program, const char *name, uint64_t cookie,
		      struct probe_links *ret, struct error *err)
{
	LIBBPF_OPTS(bpf_tracepoint_opts, options, .bpf_cookie = cookie);
	_cleanup_free_ char *group = strndup(name, strcspn(name, ":"));
	struct complaint unheard = {};
	int r;

	if (!group)
		return error_set_errno(err, ENOMEM, "cannot attach");
	complaint_listen(&unheard);
	r = keep_link(ret, bpf_program__attach_tracepoint_opts(program, group,
							       name + strlen(group) + 1, &options));
	complaint_stop();
	if (r == -ENOENT && access("/sys/kernel/tracing/events", F_OK) < 0)
		return error_set(
			err, r,
			"tracepoints need tracefs: mount -t tracefs none /sys/kernel/tracing");
	return r < 0 ? error_set_errno(err, r, "cannot attach to the tracepoint '%s'", name) : 0;
}

/* ---- what a probe costs ---- */

struct place {
	uintptr_t address;
	uint64_t offset;
	bool is_found;
};

static int look_in_object(struct dl_phdr_info *info, size_t size UNUSED, void *context)
{
	struct place *place = context;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *s = &info->dlpi_phdr[i];
		const uintptr_t start = info->dlpi_addr + s->p_vaddr;

		if (s->p_type != PT_LOAD || place->address < start ||
		    place->address - start >= s->p_filesz)
			continue;
		place->offset = place->address - start + s->p_offset;
		place->is_found = true;
	}
	return 1; /* the first is the program */
}

/* By the thread's own time: on a busy machine it waits for a CPU, too. */
static uint64_t time_calls(void (*function)(void))
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		const uint64_t start = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);

		for (int n = 0; n < CALLS / ROUNDS; n++)
			function();
		least = MIN(least, clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - start);
	}
	return least / (CALLS / ROUNDS);
}

static uint64_t time_probed(const struct bpf_program *empty, void (*function)(void), bool is_return)
{
	const uint64_t bare = time_calls(function);
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct place place = { .address = (uintptr_t)function };
	_cleanup_(probe_links_end) struct probe_links entry = {}, exit = {};
	struct attach_site site;
	uint64_t probed;

	dl_iterate_phdr(look_in_object, &place);
	site = (struct attach_site){ .offset = place.offset };
	if (fd < 0 || !place.is_found ||
	    attach_functions(empty, fd, &site, 1, false, &entry, NULL) < 0 ||
	    (is_return && attach_functions(empty, fd, &site, 1, true, &exit, NULL) < 0))
		return 0;
	probed = time_calls(function);
	return probed > bare ? probed - bare : 0;
}

void attach_measure(const struct bpf_program *empty, struct attach_costs *ret)
{
	uint64_t both;

	ret->emulated_ns = time_probed(empty, attach_emulated, false);
	ret->stepped_ns = time_probed(empty, attach_stepped, false);
	both = time_probed(empty, attach_emulated, true);
	ret->return_ns = both > ret->emulated_ns ? both - ret->emulated_ns : 0;
}
