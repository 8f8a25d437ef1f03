/* SPDX-License-Identifier: MIT */
/*
 * attach - puts programs on functions: many of a file by one link where the kernel has that (Linux
 * 6.6 on), else by a perf event each.  All of it ends with the process, however that ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;
struct error;

struct attach_site {
	uint64_t offset; /* in the file */
	uint64_t semaphore; /* of a USDT probe; 0: none */
	uint64_t cookie; /* what the program gets */
};

struct probe_links { /* begins as {} */
	int fd; /* of the one link; 0: none */
	struct bpf_link **links;
	size_t count;
};
void probe_links_end(struct probe_links *a);

/* What programs of functions have to be loaded as: libbpf's expected attach type, or 0.  @is_span:
 * those of an entry together with its return; 0: this kernel has none. */
int attach_find_type(bool is_span);

/* @program on each of @sites of the file @fd, which may be closed afterwards; @is_return: when the
 * function returns.  All of them, or none. */
int attach_functions(const struct bpf_program *program, int fd, const struct attach_site *sites,
		     size_t count, bool is_return, struct probe_links *ret, struct error *err);

/* @program on a function of the kernel, or on a "group:name" tracepoint. */
int attach_kernel(const struct bpf_program *program, const char *function, uint64_t cookie,
		  bool is_return, struct probe_links *ret, struct error *err);
int attach_tracepoint(const struct bpf_program *program, const char *name, uint64_t cookie,
		      struct probe_links *ret, struct error *err);

/* What a probe takes that does nothing, in ns; 0: could not be measured. */
struct attach_costs {
	uint64_t emulated_ns, stepped_ns; /* by the instruction under it: see image.h */
	uint64_t return_ns; /* more where its return is probed, too */
};
/* By @empty, on functions of our own. */
void attach_measure(const struct bpf_program *empty, struct attach_costs *ret);
