/* SPDX-License-Identifier: MIT */
/*
 * reading - cumulative counters of a job at one moment: one value a metric, and a row a mount.
 *
 * Absent is not zero: a value that nobody measured is not known.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/sections/block.h"
#include "model/file_op.h"
#include "model/histogram.h"
#include "model/metric.h"
#include "model/sections/network.h"

/* One word, since a node holds some hundred of each of its jobs. */
struct value {
	uint64_t number : 63; /* in the metric's stored unit; at most VALUE_MAX, which all sources
				 are held to */
	uint64_t is_known : 1;
};
#define VALUE_MAX ((UINT64_C(1) << 63) - 1)
_Static_assert(sizeof(struct value) == sizeof(uint64_t), "the compiler packs it");

struct shape;

struct op_counts {
	uint64_t calls, bytes, errors, ns;
	uint64_t not_found; /* of the errors: there was no such file (ENOENT); operations on
			       metadata only */
};

void op_counts_add(struct op_counts *to, const struct op_counts *from);
void op_counts_raise(struct op_counts *to, const struct op_counts *least); /* each to that, if it is
									      less */

/* What a row of files stands for. */
enum row_kind {
	ROW_MOUNT,
	ROW_PIPE,
	ROW_SOCKET,
	ROW_PSEUDO, /* made by the kernel on the fly: proc, sysfs, cgroup, memfd, eventfd... */
	ROW_EXEC, /* the kernel's own reads of programs at execve */
	ROW_KERNEL, /* done by kernel threads */
	ROW_UNRESOLVED, /* the file system could not be learned */
	ROW_OTHER, /* the kernel side had no room for a row of its own */
	ROW_KIND_COUNT,
};

#define MOUNT_ALIASES_MAX 8
#define MOUNT_ROWS_MAX 4096

struct mount_row {
	enum row_kind kind;
	char *mount; /* the mount point, or "(pipe)" and the like */
	char *fstype; /* NULL for rows that are no mount; so is source */
	char *source;
	char *aliases[MOUNT_ALIASES_MAX]; /* other mount points of the same superblock; NULL-padded
					   */
	bool has_seconds; /* the clock was on */
	bool has_histograms;
	bool lacks_not_found; /* it comes from a record that does not tell op_counts.not_found */
	/* From here on numbers alone, which are added and subtracted one by one. */
	struct op_counts ops[OP_COUNT]; /* data operations: all ways but mappings together */
	/* The parts: calls, bytes and errors.  Plain calls are what is left: INTERFACE_CALL's place
	 * is read by nobody. */
	struct op_counts interfaces[INTERFACE_COUNT][OP_DATA_COUNT];
	struct histogram sizes[OP_DATA_COUNT], latencies[OP_DATA_COUNT];
};
#define MOUNT_NUMBERS \
	((sizeof(struct mount_row) - offsetof(struct mount_row, ops)) / sizeof(uint64_t))

/* What a list of jobs tells of a mount: mount_sum_metrics[]. */
#define MOUNT_SUMS 3

struct mount_sum {
	char *mount, *fstype; /* as in struct mount_row */
	uint64_t numbers[MOUNT_SUMS];
};

/* METRIC_READ_BYTES, METRIC_WRITE_BYTES, METRIC_META_CALLS. */
extern const enum metric_id mount_sum_metrics[MOUNT_SUMS];

struct reading {
	struct value values[METRIC_JOB_COUNT];
	struct mount_row *mounts; /* owned; sorted by bytes moved, then name */
	size_t mount_count;
	bool has_mounts; /* false: nobody looked at files, and no row does not mean no I/O */
	/* In place of them, for who asks no more of files: of each mount on which the job did
	 * something itself; owned; sorted as they are.  They are not copied and not merged. */
	struct mount_sum *sums;
	size_t sum_count;
	bool has_sums;
	struct network network;
	struct block block; /* owned */
};

/* "(pipe)"...; NULL for ROW_MOUNT. */
extern const char *const row_kind_names[ROW_KIND_COUNT];
const char *row_kind_name(enum row_kind kind);
/* Is it the job's own: no kernel thread's? */
bool row_is_own(const struct mount_row *row);
/* The way back of row_kind_name(); ROW_MOUNT for every other name. */
enum row_kind row_kind_of(const char *mount);

void reading_set(struct reading *r, enum metric_id id, uint64_t number);
/* Add to a counter; from then on it is known. */
void reading_add(struct reading *r, enum metric_id id, uint64_t number);

/* The row of that name and type, or a new, zeroed one (NULL: no memory, or over MOUNT_ROWS_MAX).
 * The pointer holds until the next call.  @fstype may be NULL.  Strings are copied. */
struct mount_row *reading_get_mount(struct reading *r, enum row_kind kind, const char *mount,
				    const char *fstype);
/* The same, but NULL if there is none. */
struct mount_row *reading_find_mount(const struct reading *r, enum row_kind kind, const char *mount,
				     const char *fstype);

/* Add to the sum of that mount, or to a new one; from then on has_sums.  -ENOMEM, -ENOSPC. */
int reading_add_sum(struct reading *r, const struct mount_sum *sum);
/* Those of a mount, out of its sums or its row; 0 where it has neither. */
void reading_get_sums(const struct reading *r, const char *mount, const char *fstype,
		      uint64_t ret[MOUNT_SUMS]);

/* Remember another mount point of the row's superblock; too many are dropped. */
int mount_row_add_alias(struct mount_row *row, const char *alias);
/* What was done by an operation, this way. */
void mount_row_add(struct mount_row *row, enum file_op op, enum file_interface interface,
		   const struct op_counts *counts);

/* Merge METRIC_JOB_COUNT values into @to, each by its kind, as reading_merge() has it. */
void values_merge(struct value *to, const struct value *from);

/* Merge @from into @to: each metric by its kind (limits as within one node: the greater), mounts by
 * name and type, and histograms; what is over MOUNT_ROWS_MAX goes to "(other)"; sections are left
 * alone.  A counter that only one side knows becomes unknown (a sum of a part is not the sum), and
 * so do the mounts.  To sum many, begin with a copy of the first: an empty reading knows nothing,
 * and so would the sum. */
int reading_merge(struct reading *to, const struct reading *from);

/* Make @to, which may be empty, a copy of @from: of values and mounts. */
int reading_copy(struct reading *to, const struct reading *from);

void reading_sort_mounts(struct reading *r); /* and sums */
/* Nobody looked at files. */
void reading_clear_mounts(struct reading *r);

/* Whether it is known on which mounts operations by path took place: of those, next to none stands
 * in rows without a mount.  Where it is not, what failed stands there, and what went well at its
 * mount: then no mount's own count of failures says anything. */
bool reading_paths_are_placed(const struct reading *r);
/* Whether the row's count of failed operations on metadata is all of them. */
bool reading_failures_are_known(const struct reading *r, const struct mount_row *row);

/* The job's own rows as one, of that name; the caller frees it.  NULL: no memory. */
struct mount_row *reading_sum_rows(const struct reading *r, const char *name);
void mount_row_clear(struct mount_row *row);
struct mount_row *mount_row_free(struct mount_row *row); /* NULL is fine; returns NULL */

/* One number of a mount row by its metric, which is no histogram: of SCOPE_MOUNT, or of
 * SCOPE_MOUNT_OP and then the sum over the operations on metadata. */
uint64_t mount_row_number(const struct mount_row *row, enum metric_id id);
/* The sum of that over the job's own rows: all but kernel threads'; of who has sums, of these.
 * False: not known. */
bool reading_total(const struct reading *r, enum metric_id id, uint64_t *ret);
/* One of SCOPE_MOUNT, to set it. */
uint64_t *mount_row_number_ref(struct mount_row *row, enum metric_id id);
/* The same for SCOPE_MOUNT_OP and SCOPE_MOUNT_INTERFACE. */
uint64_t *mount_row_op_number_ref(struct mount_row *row, enum metric_id id, enum file_op op);
uint64_t *mount_row_interface_number_ref(struct mount_row *row, enum metric_id id,
					 enum file_interface interface);
/* Whether what was done by @op, this way, is part of the metric's number, which is no histogram;
 * and that part. */
bool metric_takes(enum metric_id id, enum file_op op, enum file_interface interface);
uint64_t op_counts_number(const struct op_counts *counts, enum metric_id id);
/* Did anything come or go, or fail, this way? */
bool mount_row_has_interface(const struct mount_row *row, enum file_interface interface);
/* Whether the ways together are no more than the number of which they are the parts; @id is of
 * SCOPE_MOUNT_INTERFACE. */
bool mount_row_interfaces_fit(const struct mount_row *row, enum metric_id id);
/* The bytes of OP_READ or OP_WRITE that the tasks' own rchar or wchar should hold. */
uint64_t mount_row_accounted_bytes(const struct mount_row *row, enum file_op op);
/* The histogram of a metric of KIND_HISTOGRAM. */
struct histogram *mount_row_histogram(struct mount_row *row, enum metric_id id);
/* Whether the row knows the metric at all: times only if the clock was on... */
bool mount_row_knows(const struct mount_row *row, enum metric_id id);

/* Frees what the reading owns, not the reading; leaves it empty. */
void reading_clear(struct reading *r);

/* Of struct reading: its rows as the list `io` of a record, and its sums as `io_sums`. */
extern const struct shape mounts_shape, mount_sums_shape;
