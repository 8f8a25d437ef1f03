/* SPDX-License-Identifier: MIT */
/*
 * kernel_side - the kernel's part of the agent: programs and maps, and what of them goes into the
 * registry.  Without BPF the groups' directories tell which jobs there are, and their files what
 * these use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct hierarchy;
struct losses;
struct kernel_side;
struct meter;
struct place_names;
struct reading;
struct record;
struct registry;
struct registry_job;
struct sampler_options;
struct sampler_state;

/* Load, or take over what is pinned and remove what cannot be; as root.  Without a pin_dir it ends
 * with us.  @h outlives it, and so do the others that it is given later.  It counts nobody until it
 * is resumed, but one group. */
int kernel_side_open(const struct sampler_options *options, const struct hierarchy *h,
		     struct kernel_side **ret, struct error *err);

/* Before the first reading: count all groups from now on, if nobody did, erase what the state on
 * disk holds already, and tell jobs for how long they were not counted.  @registry: with what
 * states say of tasks that live. */
int kernel_side_resume(struct kernel_side *k, struct registry *registry, struct error *err);

struct kernel_side *kernel_side_close(struct kernel_side *k, bool keeps); /* NULL is fine; returns
									     NULL */

struct meter *kernel_side_meter(struct kernel_side *k); /* NULL: no BPF */
bool kernel_side_has_tasks(const struct kernel_side *k);

/* ---- a reading, in this order; @boot_ns: now ---- */

int kernel_side_learn(struct kernel_side *k, struct registry *registry, uint64_t boot_ns,
		      uint64_t real_ns, struct error *err);
int kernel_side_feed(struct kernel_side *k, struct registry *registry, struct place_names *names,
		     uint64_t boot_ns, struct error *err);
/* What no feed has, histograms and system calls by name, of @count cgroups that were just folded.
 */
int kernel_side_fold_details(struct kernel_side *k, struct registry *registry,
			     struct place_names *names, const uint64_t *cgroups, size_t count,
			     struct error *err);
/* All that is folded is written down: erase it here. */
int kernel_side_forget_folded(struct kernel_side *k, struct registry *registry);

/* Make all that is counted part of the jobs for good, also of cgroups that live: the kernel side is
 * to end. */
int kernel_side_put_aside(struct kernel_side *k, struct registry *registry,
			  struct place_names *names, struct error *err);

/* A reading failed: the next takes in all there is. */
void kernel_side_distrust(struct kernel_side *k);

/* What tells it from every other of this boot; 0: it ends with this process. */
uint32_t kernel_side_pinned_id(const struct kernel_side *k);

/* Hold the programs to @budget, in millionths of each core. */
int kernel_side_govern(struct kernel_side *k, uint64_t budget, uint64_t boot_ns);

/* Of one group: when its command began, before the first reading; 0: it was there before us. */
void kernel_side_begin(struct kernel_side *k, uint64_t boot_ns);

/* ---- records, and what is told of it ---- */

/* What the budget made of a job that lived between two moments of CLOCK_BOOTTIME. */
int kernel_side_tell_budget(const struct kernel_side *k, uint64_t from_ns, uint64_t to_ns,
			    struct record *record);

/* Those of the job's cgroups, live and ended. */
int kernel_side_add_histograms(struct kernel_side *k, const struct registry_job *job,
			       struct place_names *names, struct reading *to, struct error *err);
/* What is counted only where it is asked for: by system call, and, of one group, file by file. */
int kernel_side_add_details(struct kernel_side *k, const struct registry_job *job,
			    struct place_names *names, struct record *record, struct error *err);
/* What was on, what was not, and what was lost: a job's, or, where @losses is NULL, the node's
 * since it began. */
int kernel_side_describe(const struct kernel_side *k, const struct losses *losses,
			 struct record *record);
bool kernel_side_has_news(struct kernel_side *k, struct error *err);
void kernel_side_count(const struct kernel_side *k, uint64_t boot_ns, struct sampler_state *to);
