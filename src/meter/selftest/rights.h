/* SPDX-License-Identifier: MIT */
/* rights - what the calling process may do, and the kernel's settings that say what others may. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rights {
	bool is_known; /* uid and capabilities */
	unsigned int uid;
	uint64_t capabilities; /* effective: a bit a capability's number */
	bool is_in_user_namespace; /* its root has no rights outside: BPF needs the host's */
	int unprivileged_bpf_disabled; /* -1: unknown; so is the next, which may be negative: -2 */
	int perf_event_paranoid;
	char lockdown[32]; /* "none", "integrity", "confidentiality"; "": none */
};

#define RIGHTS_UNKNOWN_PARANOIA (-2)

/* Capabilities that measuring needs. */
struct capability {
	unsigned int number;
	const char *name; /* "BPF" */
	const char *gives; /* in words */
};
const struct capability *rights_capabilities(size_t *ret_count);

/* Never fails: what cannot be read below @root_fd is unknown. */
void rights_read(int root_fd, struct rights *ret);

/* From proc/PID/status.  -ENOENT, -EINVAL: it does not say. */
int rights_parse_status(const char *text, struct rights *ret);

/* The word in brackets: "none [integrity] confidentiality". */
void rights_parse_lockdown(const char *text, struct rights *ret);

bool rights_has(const struct rights *r, unsigned int capability);
/* May load programs that read the kernel: BPF and PERFMON, or SYS_ADMIN for both. */
bool rights_has_bpf(const struct rights *r);
