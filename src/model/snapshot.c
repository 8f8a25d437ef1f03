/* SPDX-License-Identifier: MIT */
#include "model/snapshot.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/cause.h"
#include "basic/cleanup.h"

void snapshot_mount_clear(struct snapshot_mount *m)
{
	for (size_t i = 0; i < SNAPSHOT_MOUNT_TEXTS; i++)
		free(*snapshot_mount_text(m, i));
	*m = (struct snapshot_mount){};
}

static int copy_string(char **to, const char *from)
{
	if (!from)
		return 0;
	*to = strdup(from);
	return *to ? 0 : -ENOMEM;
}

int snapshot_mount_copy(struct snapshot_mount *to, const struct snapshot_mount *from)
{
	int r = 0;

	*to = (struct snapshot_mount){ .kind = from->kind };
	for (size_t i = 0; r == 0 && i < SNAPSHOT_MOUNT_TEXTS; i++)
		r = copy_string(snapshot_mount_text(to, i),
				*snapshot_mount_text((struct snapshot_mount *)from, i));
	if (r < 0)
		snapshot_mount_clear(to);
	return r;
}

struct snapshot *snapshot_new(void)
{
	struct snapshot *s = calloc(1, sizeof(*s));

	if (s)
		s->refs = 1;
	return s;
}

struct snapshot *snapshot_ref(struct snapshot *s)
{
	s->refs++;
	return s;
}

/* ---- rows ---- */

struct shared_rows {
	size_t refs;
	struct snapshot_row rows[];
};

static struct shared_rows *shared_rows_of(struct snapshot_row *rows)
{
	return (struct shared_rows *)((char *)rows - offsetof(struct shared_rows, rows));
}

struct snapshot_row *snapshot_rows_new(size_t count)
{
	struct shared_rows *shared;

	if (count > (SIZE_MAX - sizeof(*shared)) / sizeof(*shared->rows))
		return NULL;
	shared = calloc(1, sizeof(*shared) + count * sizeof(*shared->rows));
	if (!shared)
		return NULL;
	shared->refs = 1;
	return shared->rows;
}

struct snapshot_row *snapshot_rows_ref(struct snapshot_row *rows)
{
	shared_rows_of(rows)->refs++;
	return rows;
}

/* ---- snapshots ---- */

static void clear_job(struct snapshot_job *job)
{
	for (size_t i = 0; i < job->step_count; i++) {
		free(job->steps[i].id);
		parts_clear(&job->steps[i].parts);
	}
	free(job->steps);
	if (job->rows && --shared_rows_of(job->rows)->refs == 0)
		free(shared_rows_of(job->rows));
	parts_clear(&job->parts);
	job_unref(job->job);
}

struct snapshot *snapshot_unref(struct snapshot *s)
{
	if (!s)
		return NULL;
	assert(s->refs > 0);
	if (--s->refs > 0)
		return NULL;
	for (size_t i = 0; i < s->job_count; i++)
		clear_job(&s->jobs[i]);
	for (size_t i = 0; i < s->mount_count; i++)
		snapshot_mount_clear(&s->mounts[i]);
	free(s->jobs);
	free(s->mounts);
	free(s);
	return NULL;
}

void snapshot_unrefp(struct snapshot **s)
{
	snapshot_unref(*s);
}

uint64_t snapshot_job_elapsed(const struct snapshot *s, const struct snapshot_job *job)
{
	uint64_t start_ns = job->job->start_boot_ns,
		 end_ns = job->is_live ? s->boot_ns : job->job->end_boot_ns;

	return start_ns && end_ns > start_ns ? end_ns - start_ns : 0;
}

static int compare_to(const struct snapshot_job *job, const char *manager, const char *id)
{
	int r = strcmp(job->job->manager, manager);

	return r ? r : strverscmp(job->job->id, id);
}

const struct snapshot_job *snapshot_find(const struct snapshot *s, const char *manager,
					 const char *id)
{
	size_t low = 0, high = s->job_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_to(&s->jobs[middle], manager, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->job_count || compare_to(&s->jobs[low], manager, id) != 0)
		return NULL;
	return &s->jobs[low];
}

/* Goes on while a job does nothing: the time that tasks sleep, and energy, which is put in later.
 */
static bool grows_alone(size_t id)
{
	if (id >= METRIC_ENERGY && id <= METRIC_ENERGY_ESTIMATED)
		return true;
	return id >= METRIC_BLOCKED_FILE_READ && id < METRIC_BLOCKED_FILE_READ + CAUSE_COUNT &&
	       !cause_is_lost((enum cause)(id - METRIC_BLOCKED_FILE_READ));
}

static bool has_same_values(const struct value *a, const struct value *b)
{
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		if (grows_alone(i))
			continue;
		if (a[i].is_known != b[i].is_known || (a[i].is_known && a[i].number != b[i].number))
			return false;
	}
	return true;
}

static bool has_same_steps(const struct snapshot_job *a, const struct snapshot_job *b)
{
	if (a->step_count != b->step_count)
		return false;
	for (size_t i = 0; i < a->step_count; i++) {
		const struct snapshot_step *x = &a->steps[i], *y = &b->steps[i];

		if (strcmp(x->id, y->id) != 0 || x->is_live != y->is_live ||
		    x->start_ns != y->start_ns || x->end_ns != y->end_ns ||
		    !has_same_values(x->values, y->values) || !parts_are_same(&x->parts, &y->parts))
			return false;
	}
	return true;
}

static bool has_same_rows(const struct snapshot_job *a, const struct snapshot_job *b)
{
	return a->row_count == b->row_count &&
	       (a->rows == b->rows || !a->row_count ||
		memcmp(a->rows, b->rows, a->row_count * sizeof(*a->rows)) == 0);
}

bool snapshot_job_is_same(const struct snapshot_job *a, const struct snapshot_job *b)
{
	/* facts are made anew when they change, as long as a snapshot holds them */
	return a->job == b->job && a->is_live == b->is_live && a->is_settling == b->is_settling &&
	       has_same_values(a->values, b->values) && has_same_rows(a, b) &&
	       has_same_steps(a, b) && parts_are_same(&a->parts, &b->parts) &&
	       memcmp(&a->cores, &b->cores, sizeof(a->cores)) == 0 &&
	       memcmp(&a->ranks, &b->ranks, sizeof(a->ranks)) == 0 &&
	       memcmp(&a->threads, &b->threads, sizeof(a->threads)) == 0;
}

struct mount_row *snapshot_mount_row(const struct snapshot_mount *m, struct reading *to)
{
	struct mount_row *row = reading_get_mount(to, m->kind, m->name, m->fstype);

	if (row && !row->source && copy_string(&row->source, m->source) < 0)
		return NULL;
	for (size_t i = 0; row && i < MOUNT_ALIASES_MAX && m->aliases[i]; i++) {
		if (mount_row_add_alias(row, m->aliases[i]) < 0)
			return NULL;
	}
	return row;
}

static int expand_rows(const struct snapshot *s, const struct snapshot_job *job,
		       struct reading *ret)
{
	for (size_t i = 0; i < job->row_count; i++) {
		const struct snapshot_row *row = &job->rows[i];
		struct mount_row *to;

		assert(row->mount < s->mount_count && row->op < OP_COUNT &&
		       row->interface < INTERFACE_COUNT);
		to = snapshot_mount_row(&s->mounts[row->mount], ret);
		if (!to)
			return -ENOMEM;
		to->has_seconds = s->has_seconds;
		mount_row_add(to, (enum file_op)row->op, (enum file_interface)row->interface,
			      &row->counts);
	}
	return 0;
}

static void add_to_sum(const struct snapshot_row *row, struct mount_sum *to)
{
	for (size_t i = 0; i < MOUNT_SUMS; i++) {
		if (metric_takes(mount_sum_metrics[i], row->op, row->interface))
			to->numbers[i] += op_counts_number(&row->counts, mount_sum_metrics[i]);
	}
}

static int sum_rows(const struct snapshot *s, const struct snapshot_job *job, struct reading *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < job->row_count;) {
		const uint32_t index = job->rows[i].mount;
		const struct snapshot_mount *mount = &s->mounts[index];
		struct mount_sum sum = { .mount = mount->name, .fstype = mount->fstype };

		for (; i < job->row_count && job->rows[i].mount == index; i++)
			add_to_sum(&job->rows[i], &sum);
		if (mount->kind != ROW_KERNEL &&
		    (sum.numbers[0] || sum.numbers[1] || sum.numbers[2]))
			r = reading_add_sum(ret, &sum);
	}
	return r;
}

static int make_reading(const struct snapshot *s, const struct snapshot_job *job,
			int (*take_rows)(const struct snapshot *s, const struct snapshot_job *job,
					 struct reading *ret),
			struct reading *made, struct reading *ret)
{
	int r = take_rows(s, job, made);

	if (r < 0) {
		reading_clear(made);
		return r;
	}
	memcpy(made->values, job->values, sizeof(made->values));
	reading_sort_mounts(made);
	*ret = *made;
	return 0;
}

int snapshot_expand(const struct snapshot *s, const struct snapshot_job *job, struct reading *ret)
{
	struct reading reading = { .has_mounts = s->has_mounts };

	return make_reading(s, job, expand_rows, &reading, ret);
}

int snapshot_sum(const struct snapshot *s, const struct snapshot_job *job, struct reading *ret)
{
	struct reading reading = { .has_sums = s->has_mounts };

	return make_reading(s, job, sum_rows, &reading, ret);
}
