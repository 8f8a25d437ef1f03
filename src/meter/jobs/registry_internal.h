/* SPDX-License-Identifier: MIT */
/* registry_parts - what the files of the registry share, and nobody else. */
#pragma once

#include <jansson.h>

#include "basic/idmap.h"
#include "basic/ids.h"
#include "cgroup/identity.h"
#include "load/losses.h"
#include "model/parts.h"
#include "model/sections/trace.h"
#include "model/sections/ports.h"
#include "jobs/registry.h"
#include "model/sections/thermal_samples.h"
#include "model/timeline.h"
#include "model/sections/oom_list.h"

struct document;
struct place;
struct registry_job;
struct shape;

#define MEMBERS_MAX 3 /* a `run` in a pod in a container */
#define MOUNTS_MAX 16384 /* names of mounts, of all jobs */
#define MOUNTS_JOB_MAX 256 /* of one; beyond, they are "(other)" */
#define LACKING_MAX \
	65536 /* jobs that were not known and lack something; of more it is not remembered */
#define PATIENCE_NS UINT64_C(60000000000) /* for tasks that never come in */
#define FREEING_NS                                                                         \
	UINT64_C(1500000000) /* from a task's end to its freeing, which RCU puts off; less \
				than a `run` waits for the end of its record */

/* ---- values, by metric ---- */

void values_add(struct value *to, const struct value *from); /* cgroups into a job: sums, of peaks
								the greatest */
void values_raise(struct value *to, const struct value *least); /* counters and peaks never fall */
void value_add(struct value *to, enum metric_id id, uint64_t number);

/* ---- rows ---- */

/* Counts as the kernel side has them: of data the amount is bytes, of metadata what was not found.
 */
struct registry_row {
	uint32_t mount; /* a slot */
	uint8_t op, interface;
	uint16_t pad;
	struct file_counts counts;
};
_Static_assert(sizeof(struct registry_row) == 40, "there may be a hundred thousand");

void registry_counts_add(struct file_counts *to, const struct file_counts *from);
int registry_row_compare(const void *a, const void *b);
/* Sort, and make one of those with one key.  Returns how many are left. */
size_t registry_rows_sum(struct registry_row *rows, size_t count);

/* A bucket of a histogram of a job's folded cgroups that is not empty. */
struct registry_bucket {
	uint32_t mount; /* a slot */
	uint8_t op;
	uint8_t kind; /* enum histogram_kind */
	uint8_t bucket;
	uint8_t pad;
	uint64_t count;
};

size_t registry_buckets_sum(struct registry_bucket *buckets, size_t count); /* the same of them */

/* ---- cores ---- */

struct registry_core {
	uint32_t key; /* the CPU, TIME_ALL_CPUS: of a part it is not told apart; of ranks the task's
			 number */
	uint32_t pad;
	uint64_t on_ns;
};

struct registry_cores { /* begins as {}; sorted by key */
	struct registry_core *items;
	size_t count;
};

void registry_cores_clear(struct registry_cores *c);
int registry_cores_add(struct registry_cores *c, uint32_t cpu, uint64_t on_ns); /* -ENOMEM */
int registry_cores_copy(struct registry_cores *to, const struct registry_cores *from);
/* How many of them, and how evenly, in so long a time; not known where it is 0. */
int registry_cores_load_balance(const struct registry_cores *c, uint64_t elapsed_ns,
				struct balance *ret);
/* Which these are, as a CPU list, which the caller frees; NULL: not known.  -ENOMEM. */
int registry_cores_list_used(const struct registry_cores *c, uint64_t elapsed_ns, char **ret);

/* ---- ranks ---- */

#define RANK_NONE UINT32_MAX /* no task's */
#define RANKS_MAX 4096 /* of one step on one node; beyond, how even they are is not known */

struct registry_step;
struct registry_member;
struct registry_group;

/* The number that a manager gave a task: "3"; RANK_NONE: it is none ("special"). */
uint32_t registry_rank_of(const char *task);
/* What the group's tasks did, made part of what is folded of the step's ranks, once there is room
 * for it. */
int registry_step_reserve_rank(struct registry_step *s, uint32_t rank);
void registry_step_add_rank(struct registry_step *s, uint32_t rank, const struct registry *r,
			    const struct registry_group *g);
/* What the tasks of one that lives did. */
uint64_t registry_group_work(const struct registry *r, const struct registry_group *g);
int registry_ranks_load_balance(const struct registry_cores *ranks, struct balance *ret);

/* ---- threads ---- */

/* The group's busiest process, if it did more. */
void registry_busiest_threads_add_group(struct busiest_threads *to, const struct registry *r,
					const struct registry_group *g);

/* ---- sections that cgroups add up to ---- */

struct registry_part { /* what one group did, as it was fed */
	uint64_t cgroup;
	size_t section; /* in sections[] */
	void *part; /* owned */
};

/* Replace what was fed of them.  -ENOMEM. */
int registry_take_parts(struct registry *r, const struct registry_feed *feed);
void registry_forget_parts(struct registry *r);
bool registry_group_has_parts(const struct registry *r, const struct registry_group *g);
/* What is folded of the job (@job) and the step that the group is @m of with what it did: to be
 * moved there.  Only what changes is put.  -ENOMEM. */
int registry_parts_fold(const struct registry_member *m, const struct registry_group *g,
			struct parts *ret_job, struct parts *ret_step);
struct registry_part_groups {
	const struct registry_group *(*at)(const void *context, size_t i);
	const void *context;
	size_t count;
};
/* What is shown: what is folded and what the groups did, as far as all of it is counted; no less
 * than @last (may be NULL). -ENOMEM. */
int registry_parts_show(const struct registry *r, const struct parts *folded, bool is_of_step,
			const struct registry_part_groups *groups, const struct parts *last,
			struct parts *ret);

/* ---- ports ---- */

enum ports_state { /* of a job */
		   PORTS_NONE, /* it has not, or not yet, all of the node's CPUs */
		   PORTS_FOLLOWED,
		   PORTS_KNOWN, /* it has ended */
		   PORTS_CUT, /* known until nobody watched any more */
		   PORTS_LATE,
		   PORTS_SHORT,
		   PORTS_SHARED,
		   PORTS_LOST, /* they are not known, and will not be */
		   PORTS_STATES,
};

struct registry_ports { /* begins as {} */
	enum ports_state state;
	bool is_restored; /* from a state, and not fed since: what was shown may be more than @last
			   */
	struct ports_span { /* as the job began, and as they were counted last.  A counter of @first
			     * that is not known any more was set back meanwhile. */
		struct ports first, last;
	} * span; /* NULL but where they are followed, known or cut */
};

void registry_ports_clear(struct registry_ports *p);
/* Write them, if there is anything to say, as the map "ports"; and read that back into what is
 * empty (-EINVAL, -ENOMEM). */
void registry_ports_format(const struct registry_ports *p, struct document *d);
int registry_ports_parse(const struct place *place, const json_t *root, struct registry_job *j);

/* ---- gaps ---- */

#define BASES_MAX 8192 /* of tasks of one job */
extern const struct shape registry_gaps_shape; /* of struct registry_job, in its state */

/* ---- losses ---- */

/* What is new of them in the feed is that of jobs that were where, or while, something was lost.
 * -ENOMEM. */
int registry_take_losses(struct registry *r, const struct registry_feed *feed);
#define REGISTRY_TRACES_MAX 8 /* of one job, whose last sums are kept */

struct registry_traces {
	uint64_t forgotten; /* the latest of those that are not kept any more */
	struct registry_trace {
		uint64_t id, until_ns; /* it tells more; 0: it does not, as far as is known */
		struct traced_calls last;
	} items[REGISTRY_TRACES_MAX]; /* who told something last is the last */
	size_t count;
};
bool registry_is_traced(const struct registry_job *j); /* at the last snapshot */
void registry_traces_clear(struct registry_job *j);
extern const struct shape registry_traces_shape; /* of struct registry_traces, in its state */
int registry_traces_parse(const struct place *place, const json_t *root, struct registry_job *j);

void registry_losses_format(const struct registry_job *j, struct document *d);
int registry_losses_parse(const struct place *place, const json_t *root,
			  struct registry_job *j); /* -EINVAL, -ENOMEM */

/* ---- jobs ---- */

struct registry_step {
	char *id;
	uint32_t live_groups;
	uint64_t start_ns, end_ns; /* since the epoch */
	struct value folded[METRIC_JOB_COUNT];
	struct registry_cores ranks; /* folded; work of each task, by its number */
	bool lacks_ranks; /* of some of what is folded it is not known which task did it */
	struct parts parts; /* folded */
};

struct registry_cgroup_name { /* a folded cgroup, to be forgotten */
	uint64_t id;
	uint32_t members; /* how many jobs it belongs to */
	uint32_t pad;
};

struct registry_job {
	struct registry *registry;
	struct job *facts;
	char *name; /* the id that its cgroups have; facts->id may be another, Slurm's number of a
		       SLUID */
	struct registry_job *next_same; /* of those whose names have the same hash */
	size_t index; /* in the registry's list */
	char *top_path; /* of its top group, live or not; NULL: not known */
	uint64_t top_id; /* 0: not known */
	bool has_top; /* it lives */
	bool is_remade; /* as in struct identity */
	bool is_ended, is_changed;
	bool is_touched; /* its rows are in the feed */
	bool has_new_rows; /* they may be others than those that were shown last */
	bool is_restored; /* from a state */
	bool is_delegated; /* a user chose its name: root vouches for none of it */
	bool is_announced; /* a `run` whose owner is known by its group's id */
	bool is_reported; /* its final record is where it was to go */
	bool has_state; /* it was written down, and so were the times of its start */
	bool is_roots; /* a `run` of root's, until a task in it proves to be another's */
	uint32_t maker_uid; /* of a job that counts against its user; UINT32_MAX: it does not */
	uint64_t lost_groups; /* that are not in it: there was no room for it yet */
	uint32_t groups, live_groups;
	uint64_t last_death_ns;
	uint64_t work, last_work; /* what changes whenever a task of it runs, at the last feed and
				     at that before */
	struct value folded[METRIC_JOB_COUNT];
	struct value set[METRIC_JOB_COUNT]; /* what files of the top group said last */
	struct value *base; /* and those of its top groups before; NULL: there were none */
	struct value *least; /* that may be shown; NULL: it was not shown before us */
	struct registry_ports ports;
	struct parts parts; /* folded */
	struct registry_traces *traces; /* NULL: nobody traced it */
	struct registry_cores cores; /* folded */
	char *cpus_used; /* of what was shown, as a CPU list; NULL: not known */
	struct busiest_threads busiest; /* of that process which did most, in what is folded */
	struct oom_list *oom_list; /* NULL: there are none */
	struct thermal_sums thermal;
	struct thermal_now now; /* of the reading that is being taken: the snapshot takes it */
	struct registry_row *rows; /* folded; sorted */
	size_t row_count;
	struct registry_bucket *buckets; /* sorted */
	size_t bucket_count;
	struct registry_step **steps;
	size_t step_count;
	uint32_t *mounts; /* the slots of all mounts that it was seen on; sorted */
	size_t mount_count;
	struct registry_cgroup_name *pending; /* folded cgroups that are not forgotten */
	size_t pending_count;
	size_t shown; /* where it stands in the last snapshot, from 1; 0: nowhere */
	struct timeline timeline; /* of what was shown */
	uint64_t saved_changes, saved_boot_ns; /* those of the timeline that was written down last,
						  and when that ended */
	struct losses *losses; /* while and where it lived; NULL: none, as of most */
	uint64_t losses_mark; /* it has those of that group: see registry_losses.c */
	bool has_all_losses; /* it had ended as they were fed last */
	struct task_bases bases; /* what is folded has them of tasks that lived at... */
	uint64_t counted_until_ns; /* ...by CLOCK_BOOTTIME; 0: it has nothing of live ones */
	bool is_put_aside; /* and since then nobody counts */
	void *attached;
	void (*free_attached)(void *);
};

struct registry_member {
	struct registry_job *job;
	struct registry_step *step; /* NULL: of none */
	uint32_t rank; /* within the step; RANK_NONE: no task's */
	bool is_live; /* counted in live_groups of its job and step */
	bool is_folded;
	bool is_step_top;
};

/* While rows are taken in: the group's number among those that have any, from 1, how many, and
 * where they end. */
struct registry_fed {
	uint32_t number, rows, end;
};

struct registry_group {
	uint64_t id, parent, died_ns;
	uint64_t answers; /* the group that losses of it are told of; 0: not known */
	struct registry_member members[MEMBERS_MAX]; /* innermost first */
	uint8_t member_count;
	uint8_t wanted_members; /* of one that is known from a state only; else 0 */
	bool is_learned; /* else it is known from a state only */
	bool has_oom_kills, has_folded_histograms;
	bool is_fed; /* its rows were in a feed */
	uint32_t children; /* that are not folded, and were learned after this one */
	bool is_counted; /* among the children of its parent: not one that was learned before it */
	uint64_t oom_kills, oom_below; /* its own, and those that folded children hand up */
	uint64_t peak_bytes;
	uint64_t died_feed; /* how many feeds there were as its death was learned */
	size_t task; /* in the registry's tasks, from 1; 0: none */
	size_t first_row, row_count; /* in the registry's rows */
	struct registry_fed fed;
};

struct registry_mount {
	struct snapshot_mount mount;
	uint64_t hash;
	bool is_used, is_marked;
};

struct registry {
	struct registry_options options;
	uint64_t real_minus_boot_ns, learned_real_ns;
	struct idmap groups; /* by id */
	struct idmap ignored; /* ids of groups of no job, which need not be looked at again */
	struct idmap put_off; /* ids of groups for whose job there was no room */
	bool has_room_again; /* a job went since these were put off */
	struct idmap lacking; /* by the hash of a job's name: how many groups ended before there was
				 room for it */
	struct idmap jobs_by_name; /* the first of those with one hash */
	struct idmap user_jobs; /* by uid; the value is how many */
	bool waits_for_reports; /* see registry_wait_for_reports() */
	uint64_t unreported; /* jobs that went before their final record was written */
	struct registry_job **jobs; /* oldest first */
	size_t job_count, job_room;
	struct registry_job **order; /* those that are shown, as they are */
	size_t order_count;
	bool is_ordered; /* and no job came, ended or went since */
	uint64_t seed;
	bool has_restored; /* groups from states, and nothing was learned since */

	unsigned int counted; /* as the feed has it */
	uint64_t feeds;
	uint64_t unseen_ends; /* as the last feed had them */
	uint64_t folded_unseen, unseen_ns; /* as of the last folding, and when that found new ones;
					      0: never */
	/* What was fed, from then to the snapshot. */
	struct cgroup_tasks *tasks;
	size_t task_count;
	struct cgroup_core *cores; /* by cgroup */
	size_t core_count;
	struct registry_part *parts; /* by cgroup and section */
	size_t part_count, part_room;
	struct registry_row *rows; /* of groups that are not folded; each group's together, sorted
				    */
	size_t row_count;
	bool has_rows;

	struct registry_mount *mounts; /* slots */
	size_t mount_room;
	struct idmap mounts_by_name; /* by hash; the value is the slot, from 1 */

	struct cgroup_loss *losses; /* as they were fed last */
	size_t loss_count;
	struct losses nowhere;
	uint64_t losses_mark;
	bool is_taken_over, has_losses; /* they were fed */
	struct ports *ports; /* as they were fed last; NULL: they never were */
	uint64_t ports_boot_ns;
	unsigned int saves_left; /* timelines that may be written down after this reading */
	int (*fill)(void *context, struct snapshot *s); /* see registry_set_filler(); NULL */
	void *fill_context;
	struct snapshot *shown; /* the last one */
};

/* Was that counted, by the last feed? */
static inline bool registry_has(const struct registry *r, enum counted what)
{
	return r->counted & what;
}

/* All that is counted, as the last feed had it; before the first nobody can tell. */
static inline unsigned int registry_counted(const struct registry *r)
{
	return r->feeds ? r->counted : COUNTED_ALL;
}

/* What was fed of a cgroup's tasks, as far as it is known of any: all but how many live.  What a
 * manager's own processes wait for, which is the end of what they started, is no time that the job
 * lost: it is left out. */
void registry_add_tasks(const struct registry *r, struct value *to,
			const struct cgroup_tasks *tasks, bool is_managers);
/* Are the cgroup's tasks the manager's?  Slurm's steps have a process of root's beside the tasks.
 */
bool registry_is_managers(const struct registry_job *j, const struct registry_step *step,
			  uint32_t rank, const struct cgroup_tasks *tasks);
void registry_forget_feed(struct registry *r);
/* The latest of those whose names have the same hash; the rest are at its next_same. */
struct registry_job *registry_first_named(const struct registry *r, const char *manager,
					  const char *id);
bool registry_job_is_named(const struct registry_job *j, const char *manager, const char *id);
struct registry_job *registry_job_new(struct registry *r, const char *manager,
				      const char *id); /* in no list */
struct registry_job *registry_job_free(struct registry_job *j); /* in no list; NULL is fine; returns
								   NULL */
/* A group of the job of that name, which is not known, is lost to it; how many were, which are told
 * now. */
int registry_lacking_add(struct registry *r, const char *manager, const char *id);
uint64_t registry_lacking_take(struct registry *r, const char *manager, const char *id);
int registry_job_enlist(struct registry_job *j); /* it is the registry's from then on; -ENOSPC: too
						    many */
void registry_job_drop(struct registry_job *j);
/* Which of two jobs of one name is shown: below 0: @a.  Whose names root vouches for before what a
 * user made, a run that was announced before others, live ones before ended ones.  Of these the
 * first, but of announced or ended ones the latest. */
int registry_job_compare_shown(const struct registry_job *a, const struct registry_job *b);
/* The step of that name, which is made if need be; NULL: no memory. */
struct registry_step *registry_job_step(struct registry_job *j, const char *id);
/* As which the group belongs to the job; NULL: it does not, or there is no group. */
struct registry_member *registry_group_member(struct registry_group *g,
					      const struct registry_job *j);
bool registry_group_is_folded(const struct registry_group *g); /* all of it */
bool registry_group_is_touched(const struct registry_group *g); /* one of its jobs is */
void registry_drop_halves(struct registry *r);
void registry_job_set_end(struct registry_job *j, uint64_t end_boot_ns);
void registry_end_jobs(struct registry *r, uint64_t boot_ns);
uint64_t registry_real(const struct registry *r, uint64_t boot_ns);

/* The slot of a mount of that kind, name and type, which becomes known; MOUNTS_MAX: no memory. */
uint32_t registry_mount_slot(struct registry *r, const struct snapshot_mount *mount);
/* The slot in which a job shows the mount of @slot: another one where it has too many; MOUNTS_MAX:
 * no memory. */
uint32_t registry_job_mount(struct registry_job *j, uint32_t slot);
/* Where the slot is among those of the job, or would be. */
size_t registry_job_find_mount(const struct registry_job *j, uint32_t slot);
/* Give back the slots that no job was seen on. */
void registry_mounts_sweep(struct registry *r);

/* Replace what was fed of cores. */
int registry_take_cores(struct registry *r, const struct cgroup_core *cores, size_t count);
void registry_forget_cores(struct registry *r);
/* Make the group's cores part of the others, once there is room for them. */
int registry_cores_reserve(struct registry_cores *to, const struct registry *r,
			   const struct registry_group *g);
void registry_cores_add_group(struct registry_cores *to, const struct registry *r,
			      const struct registry_group *g);

/* Make all that the group did part of what is folded of the job and the step that it is @m of, or,
 * on failure, nothing of it.
 * @peak_bytes: of its memory; 0: not known.  -ENOMEM. */
int registry_member_add(struct registry_member *m, const struct registry_group *g,
			uint64_t peak_bytes);

/* Put what is shown of the job into its timeline, which is written down when that is due.  -ENOMEM.
 */
int registry_feed_timeline(struct registry_job *j, const struct snapshot *s,
			   const struct snapshot_job *job);
/* Before all jobs are fed once. */
void registry_allow_saves(struct registry *r);

/* Append the group's rows, as @j shows them, to the @count at *@rows, which grow.  -ENOMEM. */
int registry_rows_append(struct registry_row **rows, size_t *count, const struct registry_group *g,
			 struct registry_job *j);
