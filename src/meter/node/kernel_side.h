/* SPDX-License-Identifier: MIT */
/*
 * kernel_side - the kernel part of the agent: programs and maps, and what goes from them into the
 * registry. Without BPF, jobs come from the cgroup directories, and their numbers from cgroup
 * files.
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

/* Load, or take over what is pinned and remove what cannot be taken over; as root. Without a
 * pin_dir it ends with us. @h, @registry and @names outlive it. Until it is resumed it counts
 * nothing, or the one cgroup. */
int kernel_side_open(const struct sampler_options *options, const struct hierarchy *h,
		     struct registry *registry, struct place_names *names, struct kernel_side **ret,
		     struct error *err);

/* Before the first reading: start counting all cgroups if they are not counted yet, erase what
 * the state on disk already holds, and set for how long jobs were not counted. The registry has
 * the states of live tasks. */
int kernel_side_resume(struct kernel_side *k, struct error *err);

struct kernel_side *kernel_side_close(struct kernel_side *k, bool keeps); /* NULL is fine; returns
									     NULL */

struct meter *kernel_side_meter(struct kernel_side *k); /* NULL: no BPF */
bool kernel_side_has_tasks(const struct kernel_side *k);

/* ---- a reading, in this order; @boot_ns: now ---- */

int kernel_side_learn(struct kernel_side *k, uint64_t boot_ns, uint64_t real_ns, struct error *err);
int kernel_side_feed(struct kernel_side *k, uint64_t boot_ns, struct error *err);
/* What no feed has, histograms and system calls by name, of @count cgroups that were just folded.
 */
int kernel_side_fold_details(struct kernel_side *k, const uint64_t *cgroups, size_t count,
			     struct error *err);
/* All that is folded is written down: erase it here. */
int kernel_side_forget_folded(struct kernel_side *k);

/* Make all that is counted part of the jobs for good, also of cgroups that live: the kernel side is
 * to end. */
int kernel_side_put_aside(struct kernel_side *k, struct error *err);

/* A reading failed: the next one takes everything. */
void kernel_side_distrust(struct kernel_side *k);

/* Unique in this boot; 0: it ends with this process. */
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
			       struct reading *to, struct error *err);
/* Counted on demand: by system call and, for one cgroup, by file. */
int kernel_side_add_details(struct kernel_side *k, const struct registry_job *job,
			    struct record *record, struct error *err);
/* What was counted, what was not, and what was lost: of a job or, with @losses NULL, of the node
 * since the start. */
int kernel_side_describe(const struct kernel_side *k, const struct losses *losses,
			 struct record *record);
bool kernel_side_has_news(struct kernel_side *k, struct error *err);
void kernel_side_count(const struct kernel_side *k, uint64_t boot_ns, struct sampler_state *to);
