/* SPDX-License-Identifier: MIT */
/*
 * hooks - the programs of the kernel side and where each is attached, as one table, and the state
 * of each on this kernel.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct kernel_types;
struct strings;

/* Those before share their maps with those behind. */
enum object_id {
	OBJECT_LIFE, /* births and deaths of groups */
	OBJECT_TASKS,
	OBJECT_TIME,
	OBJECT_FILES,
	OBJECT_FENTRY,
	OBJECT_SYSCALLS, /* on demand */
	OBJECT_BLOCK,
	OBJECT_COUNT,
};

/* "tasks" */
const char *object_name(enum object_id id);

/* What became of one hook. */
struct hook {
	const char *tier; /* "T2"; "T2+": optional additions to T2 */
	const char *program; /* the BPF program's name */
	const char *attach; /* where it is attached: "tp_btf/sys_enter" */
	const char *gives; /* what it measures, in words */
	bool is_on;
	bool is_checked; /* it was seen to count right; without, a hook that is on is believed */
	char why[160]; /* why not */
	enum object_id object;
	bool is_of_module; /* its function is a module's, which was seen to have it */
};

#define HOOKS_MAX 64

struct hooks {
	struct hook items[HOOKS_MAX];
	size_t count;
};

/* The hooks for this kernel: of programs for one tracepoint only the one that fits, or the first,
 * which is off, if none does.  @types may be NULL: unknown.  Objects in @left_out, bit by
 * object_id, are not listed. */
void hooks_list(const struct kernel_types *types, unsigned int left_out, struct hooks *ret);

/* NULL: no such hook on this kernel. */
struct hook *hooks_find(struct hooks *hooks, const char *program);
bool hooks_is_on(const struct hooks *hooks, const char *program);

/* All of the object that are @part (see hook_is_part()) are off, unless there is a reason already.
 */
void hooks_refuse(struct hooks *hooks, enum object_id id, const char *part, const char *why);

/* Is it the first of its object, of those that may still be, that gives what it gives? */
bool hooks_is_first(const struct hooks *hooks, size_t i);

/* Is the hook of that tier, or does it give that?  NULL: any is. */
bool hook_is_part(const struct hook *hook, const char *part);

/* By fentry or fexit. */
bool hook_is_trampoline(const struct hook *hook);

bool hook_is_iterator(const struct hook *hook);

/* Runs by CPU clocks and has no link; its target is a kernel function that its program needs. */
bool hook_is_sampler(const struct hook *hook);

/* May the kernel skip runs of its program, since it may interrupt another on the same CPU? */
bool hook_may_be_skipped(const struct hook *hook);

/* "sys_enter" of "tp_btf/sys_enter". */
const char *hook_target(const struct hook *hook);

/* The kernel has the function that it is to be attached to. */
bool hook_has_target(const struct hook *hook, const struct kernel_types *types);

/* Add a line per reason to @ret for hooks of @tier that are off: "this, that: the reason", with the
 * hooks in brackets if others that give the same are on. */
int missing_list(const struct hook *hooks, size_t count, const char *tier, struct strings *ret);

/*
 * Objects that run their code for older kernels, since the kernel refused the code for newer ones:
 * they count the same, at a higher cost.
 *
 * On an older kernel that is expected; on a recent one it means that a program is refused that
 * should load, which only its cost would show.
 */
struct older { /* begins as {} */
	char why[OBJECT_COUNT][160]; /* what the kernel said to the newer code; "": it took it, or
					has neither */
};

/* @why: "" is noted as "no reason given". */
void older_note(struct older *o, enum object_id id, const char *why);

bool older_is(const struct older *o, enum object_id id);

size_t older_count(const struct older *o);
