/* SPDX-License-Identifier: MIT */
/*
 * registry - the jobs of a node: which groups belong to which job and step, and what they did
 * together.
 *
 * Pure bookkeeping: it is fed with lives of groups and with what cgroups did, and asks the kernel
 * nothing.  What cgroups that end did is folded into their job, so that nothing ever falls: a value
 * that was shown once is the least that is shown from then on.  A job inside another (a `run` in a
 * Slurm job) is counted in both.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counters/cgroups.h"
#include "model/snapshot.h"

struct error;
struct identity_rules;
struct cgroup_loss;
struct losses;
struct ports;
struct registry;
struct section;
struct registry_job; /* valid until the next registry_learn() or registry_fold() */
struct timeline;
struct traced_calls;
struct oom_kill;
struct oom_list;

struct registry_options {
	const struct identity_rules *rules; /* the caller's; NULL: the built-in ones only */
	bool has_units; /* systemd's units and sessions are jobs too */
	uint64_t grace_ns; /* from a group's death to its folding; 0: 200 ms */
	uint64_t retention_ns; /* how long ended jobs are shown; 0: 5 minutes */
	size_t jobs_max, steps_max; /* of all jobs; of one job (beyond, steps are one step
				       "(other)"); 0: 16384, 1024 */
	/* Jobs, live or shown, whose groups one user made, such as containers: each has labels of
	 * its own, so this bounds how fast names can come, too.  At most a sixteenth of jobs_max.
	 * 0: 64; SIZE_MAX: such groups are no jobs. */
	size_t user_jobs_max;
	uint64_t started_real_ns, started_boot_ns; /* when measuring began: groups born before are
						      older */
	char boot_id[40]; /* the kernel's, for what is written down */
};

struct registry *registry_new(const struct registry_options *options); /* NULL: no memory */
struct registry *registry_free(struct registry *r); /* NULL is fine; returns NULL */
void registry_freep(struct registry **r);

/*
 * Take over what is new among @groups: births and deaths.  Groups of no job are ignored, and so is
 * one that a user made, or that is in a directory of a user's, where only root makes a manager's
 * groups.
 */
int registry_learn(struct registry *r, const struct group_life *groups, size_t count,
		   uint64_t boot_ns, uint64_t real_ns);

/* Of a registry that learns nothing else: all that is fed is of one group, which is the job of that
 * name ("": it has none), whatever its path says. */
int registry_learn_one(struct registry *r, const struct group_life *life, const char *manager,
		       const char *id, uint64_t boot_ns, uint64_t real_ns);

/* Some groups could not be learned, since there were too many jobs, and there is room again: all
 * are wanted once more. */
bool registry_wants_groups(const struct registry *r);

/* A place, named once and for as long as rows tell of it. */
typedef const struct snapshot_mount *(*registry_name_place)(void *context, uint64_t place);

/*
 * Of cgroups that changed, sorted, whose rows are to be read: all cgroups of their jobs, and of
 * those that were in no feed since they were learned or that ended.  The caller frees *@ret, which
 * is sorted.  -ENOMEM.
 */
int registry_touch(struct registry *r, const uint64_t *changed, size_t count, uint64_t **ret,
		   size_t *ret_count);

/*
 * What all cgroups did until now; replaces what was fed before.  @is_partial: there are rows only
 * of the cgroups that registry_touch() told; what the others did is what was shown last.
 */
struct cgroup_part {
	uint64_t cgroup;
	const struct section *section; /* of sections[] */
	const void *part;
};
struct registry_feed {
	const struct cgroup_tasks *tasks;
	size_t task_count;
	const struct cgroup_core *cores;
	size_t core_count;
	const struct cgroup_block *blocks;
	size_t block_count;
	const struct cgroup_part *parts; /* of sections that neither tasks nor blocks tell */
	size_t part_count;
	const struct cgroup_row *rows;
	size_t row_count;
	unsigned int counted; /* COUNTED_...; what else there is is not known, which is not zero */
	const struct cgroup_loss *losses; /* sorted */
	size_t loss_count;
	const struct losses *nowhere; /* NULL: what was lost is not known */
	uint64_t unseen_ends; /* as in meter_unseen_ends(); read before the tasks */
	bool is_partial;
	registry_name_place name_place;
	void *context;
};
int registry_feed(struct registry *r, const struct registry_feed *feed);

/* A process of @cgroup that the kernel killed; one that was told before, and of a cgroup that
 * nobody knows, is ignored. -ENOMEM. */
int registry_add_oom_kill(struct registry *r, uint64_t cgroup, const struct oom_kill *oom_kill);

/*
 * Make what was just fed part of the jobs for good, also of cgroups that live: the kernel side
 * ends, and the next feed begins at zero.  Only counters of tasks that ended are taken.
 */
int registry_inherit(struct registry *r);

/*
 * The same before our own kernel side ends, at @boot_ns; but @bases tell of all tasks that live,
 * and what was fed has what they did, too.  The next agent asks registry_bases() for them, adding
 * to *@ret, and until when they stand, which nobody counts a second time; 0: nobody counted.
 */
int registry_put_aside(struct registry *r, const struct task_bases *bases, uint64_t boot_ns);
int registry_bases(const struct registry *r, struct task_bases *ret, uint64_t *ret_until_ns);
/* From @boot_ns on it is counted again.  Jobs that nobody put aside were counted all the time if
 * the kernel side was taken over; else what their groups did is lost as far as it was not folded:
 * since they began, or were put aside last. */
int registry_resume(struct registry *r, bool is_taken_over, uint64_t boot_ns);
/* Into one job, or NULL: into all to which their cgroups belong. */
int registry_inherit_histograms(struct registry *r, const struct registry_job *only,
				const struct cgroup_histograms *histograms, size_t count,
				registry_name_place name_place, void *context);

/* ---- the jobs, for who adds to them ---- */

/* All jobs, live ones first; NULL ends the walk. */
struct registry_job *registry_next(struct registry *r, struct registry_job *previous);
/* The one that a snapshot shows under this name; NULL: none. */
struct registry_job *registry_find(struct registry *r, const char *manager, const char *id);
/* The id that its cgroups have, which stays. */
const char *registry_job_name(const struct registry_job *j);
const struct job *registry_job_known(const struct registry_job *j); /* what is known of it, to look
								       at */
/* The same to be filled by who knows more: a copy of its own where a snapshot holds it.  NULL: no
 * memory. */
struct job *registry_job_facts(struct registry_job *j);
/* The path of the group that is the job (its top one), where it lives; else NULL. */
const char *registry_job_path(const struct registry_job *j);
/* False: since the last feed but one no task of it has run, as far as tasks are told. */
bool registry_job_has_run(const struct registry_job *j);
/* Set what files of the live group say now. Counters and peaks never fall; kept when the job ends.
 */
void registry_job_set(struct registry_job *j, enum metric_id id, uint64_t number);
/* Count more of what is no cgroup's: it is the job's from now on, and written down with it, though
 * not at once. */
void registry_job_add(struct registry_job *j, enum metric_id id, uint64_t number);
/* The same of sections that sources add to.  -ENOMEM: some may be added. */
int registry_job_add_parts(struct registry_job *j, const struct parts *more);
/* What trace @id of it counted so far, from its begin on; ids grow as traces begin.  It is written
 * down with the job before it is shown.  Until a snapshot of @until_ns the job is not to report:
 * more may come.  -ESTALE: too many traces told of it since this one did; -ENOMEM. */
int registry_job_add_trace(struct registry_job *j, uint64_t id, uint64_t until_ns,
			   const struct traced_calls *now);
/* How its CPUs are at the reading that is being taken, whose snapshot tells it. */
void registry_job_sample(struct registry_job *j, const struct thermal_moment *m);
/* What was shown of it before this registry was there is the least that is shown, too.  -ENOMEM. */
int registry_job_set_least(struct registry_job *j, const struct value least[METRIC_JOB_COUNT]);
/* Its group was made for that user, which who made it says: that is written down, and no other of
 * its name is shown. */
int registry_job_announce(struct registry_job *j, uint32_t uid); /* -ENOMEM */
bool registry_job_is_announced(const struct registry_job *j);
uint64_t registry_job_lost_groups(const struct registry_job *j); /* not in it: they ended before
								    there was room for it */
int64_t registry_job_maker(const struct registry_job *j); /* the user who made its group; -1: none
							     did */
/* For who keeps something with the job; freed with @free_function when the job ends or is dropped.
 */
void registry_job_attach(struct registry_job *j, void *what, void (*free_function)(void *));
void *registry_job_attached(const struct registry_job *j);

/*
 * What the node's fabric ports have counted by now, at each reading, once what ended is folded.
 * They are a job's where a manager gave it all @cpus of the node and no other job (but a `run` in
 * it) was there from its start to its end, as their groups have it; then what went through is
 * between the last reading before its start and the first one after its end, if the node had no job
 * in between either, else between the first and the last one within its life.  A `run` is told the
 * whole node's, as shared.  Of a job that was there before the first feed they are never known.
 * @now's times are set.  -ENOMEM.
 *
 * Of a job that was read from a state they go on from there, if lives of groups were watched all
 * the time.
 */
int registry_feed_ports(struct registry *r, struct ports *now, uint64_t boot_ns, uint64_t real_ns,
			uint64_t cpus);
/* NULL: *ret has them, so far; else why they are not known. */
const char *registry_job_ports(const struct registry_job *j, struct ports *ret);
/* They stand for the time until we, or those before us, were ended in good order. */
bool registry_job_ports_are_cut(const struct registry_job *j);
/* This was the last feed: jobs have what they have by now, to be written down. */
void registry_cut_ports(struct registry *r);
/* Jobs are read from their states, and what lived since these were written is not known. */
void registry_lose_ports(struct registry *r);

/* What could not be counted as it should while it lived, and as far as it is known where, in its
 * groups. */
const struct losses *registry_job_losses(const struct registry_job *j);

/* Whom the kernel killed for want of memory. */
const struct oom_list *registry_job_oom_kills(const struct registry_job *j);
/* The CPUs that cores.count of the last snapshot is of, as a CPU list; NULL: not known. */
const char *registry_job_cpus_used(const struct registry_job *j);
/* What it did over time, as the last snapshot has it; the job's own. */
const struct timeline *registry_job_timeline(const struct registry_job *j);
/* Jobs whose timelines have changed are to be written down, which is put off otherwise: after a
 * crash the time in between is one step, and no count is lost. */
void registry_save_timelines(struct registry *r);

/* ---- folding: cgroups that ended ---- */

/*
 * Fold every cgroup that died more than the grace before @boot_ns, a moment before the last feed,
 * and whose tasks are all in.  After an unseen end the grace is longer.  Their ids, sorted, are in
 * *@ret_cgroups (the caller frees); they are remembered as folded, and what is fed of them is
 * ignored, until registry_forget().  The order is: fold, fold histograms, write down what
 * registry_format_job() gives of each job that changed, erase them on the kernel side, forget.  So
 * whatever is cut off in between is neither lost nor counted twice.  Where writing failed,
 * registry_folded() has them the next time.
 */
int registry_fold(struct registry *r, uint64_t boot_ns, uint64_t **ret_cgroups, size_t *ret_count);
int registry_forget(struct registry *r, const uint64_t *cgroups, size_t count);

/* Keep the histograms of cgroups that were folded, before they are erased; of others, and a second
 * time, nothing is taken.  All of one cgroup come in one call. */
int registry_fold_histograms(struct registry *r, const struct cgroup_histograms *histograms,
			     size_t count, registry_name_place name_place, void *context);
/* Add the histograms of the job's cgroups that were folded to an expanded reading of it. */
int registry_add_histograms(const struct registry_job *j, struct reading *to);

/* The same of a section that is on demand, all of one cgroup's in one call, once.  -ENOMEM, or what
 * the section's add() says. */
int registry_fold_part(struct registry *r, const struct cgroup_part *part);
/* Of a cgroup that is not folded: the kernel side is to end. */
int registry_inherit_part(struct registry *r, const struct cgroup_part *part);
/* What is kept of the job's cgroups that were folded; NULL: nothing.  Not known: not all of its
 * life, as far as it was measured, it was counted. */
const void *registry_job_part(const struct registry_job *j, const struct section *s);

/* Which jobs have changed since they were written down last; cleared by registry_job_saved(). */
bool registry_job_is_changed(const struct registry_job *j);
void registry_job_saved(struct registry_job *j);

/* A job's folded part as JSON text ("jobmeter.job-state/1"); the caller frees. */
int registry_format_job(const struct registry_job *j, char **ret);
/* The way back, into a registry that has learned nothing yet.  -EINVAL: it is not such a text;
 * nothing is taken. A job of another boot is over.  Leaves that all of their jobs name as folded
 * are in what registry_folded() gives: they must be erased first. */
int registry_parse_job(struct registry *r, const char *text, size_t length, struct error *err);
int registry_folded(const struct registry *r, uint64_t **ret_cgroups, size_t *ret_count);

/* Drop jobs that ended more than the retention ago and have no cgroup left to be forgotten.
 * @dropped (may be NULL) is called with each. */
void registry_expire(struct registry *r, uint64_t boot_ns,
		     void (*dropped)(void *context, struct registry_job *j), void *context);

/*
 * Somebody wants a final record of each job that ends (@waits), and says of each when he has it.
 * Until then it is not dropped, unless REGISTRY_UNREPORTED_MAX are kept for that alone.  Of an
 * earlier boot nobody is to report a job: what its state holds may be less than what was reported
 * while it lived.
 */
#define REGISTRY_UNREPORTED_MAX 1024
void registry_wait_for_reports(struct registry *r, bool waits);
/* It has ended, all of it is in what is shown, and nobody reported it. */
bool registry_job_is_to_report(const struct registry_job *j);
void registry_job_set_reported(struct registry_job *j);
uint64_t registry_unreported(const struct registry *r); /* how many were dropped without */
/* It was written down once, so that the next agent knows its start as we do. */
bool registry_job_has_state(const struct registry_job *j);

/* All jobs as they are now, after learning, feeding and folding: what was fed is given up for it,
 * so that what is folded next, and another snapshot, wait for the next feed.  Of two with one name
 * that of root's groups is shown, not a user's, else the live one, else the newer. */
int registry_snapshot(struct registry *r, uint64_t boot_ns, uint64_t real_ns,
		      struct snapshot **ret);
/* Who puts into each snapshot what no cgroup tells: called when its jobs are made, before their
 * timelines take them in.  It fails with what @fill says. */
void registry_set_filler(struct registry *r, int (*fill)(void *context, struct snapshot *s),
			 void *context);

/* The leaves of a job that are not folded, sorted; the caller frees: for histograms. */
int registry_job_cgroups(const struct registry_job *j, uint64_t **ret, size_t *ret_count);
