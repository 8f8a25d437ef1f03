/* SPDX-License-Identifier: MIT */
/*
 * preemption - when the kernel takes the CPU from a task that is in the kernel.
 *
 * It matters for what may be believed: under "full", programs on BPF trampolines (fentry, fexit)
 * skip calls.
 */
#pragma once

struct preemption {
	char mode[16]; /* a word: "none", "voluntary", "lazy", "full", "rt"; "": unknown */
	const char *source; /* where that stands; if unknown, why it is not known */
};

/* Ask, in this order: the scheduler's debug file, the kernel's configuration (with the boot option
 * that changes it), the kernel's version line. */
void preemption_read(int root_fd, struct preemption *ret);

/* The mode in brackets: "none voluntary (full)"; -EINVAL: not such a text. */
int preemption_parse_debug(const char *text, struct preemption *ret);

/* Of a kernel configuration and a boot command line (may be ""); -ENOENT: it does not say. */
int preemption_parse_config(const char *config, const char *command_line, struct preemption *ret);

/* Of "#1 SMP PREEMPT_DYNAMIC ...": what is certain from it, else unknown. */
void preemption_parse_version(const char *version, struct preemption *ret);
