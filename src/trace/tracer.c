/* SPDX-License-Identifier: MIT */
#include "trace/tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/fnv.h"
#include "basic/idmap.h"
#include "basic/macro.h"
#include "bpf/settings.h"
#include "bpf/trace.skel.h"
#include "load/complaint.h"
#include "load/entries.h"
#include "trace/deadline.h"
#include "trace/mapped.h"

#define LEARNED_LEAST 64
#define GROUPS_MAX 65536

#define VARIANTS 6 /* of programs on functions */

/* What is attached of a file, or of a row of the kernel (then .file is NULL). */
struct tracer_part {
	struct site_file *file;
	uint32_t generation;
	struct probe_links links[VARIANTS];
};

struct tracer {
	struct tracer_options options;
	struct sites *sites;
	struct trace_bpf *bpf;
	struct ring_buffer *ring;
	struct trace_row *rows; /* the kernel's own */
	struct attach_costs costs;
	struct tracer_part *parts;
	size_t part_count, part_room;
	struct idmap known; /* struct known_file, by a hash of what maps name them by */
	tracer_reader read; /* while tracer_read() runs */
	int taken; /* events since it began */
	bool is_detached;
	struct deadline *deadline;
	void *context;
};

static int tracer_take_event(void *context, void *data, size_t size UNUSED)
{
	struct tracer *t = context;
	int r = t->read(t->context, data);

	if (r < 0)
		return r;
	/* A batch at a time; and no reader is waited for while probes are to be removed. */
	return ++t->taken < TRACER_BATCH && (t->is_detached ||
					     __atomic_load_n(&t->bpf->data_control->control.is_on,
							     __ATOMIC_RELAXED))
		       ? 0
		       : -EAGAIN;
}

static void tracer_set_up(struct tracer *t)
{
	struct trace_bpf *bpf = t->bpf;
	struct bpf_program *const of_functions[] = {
		bpf->progs.enter_function,  bpf->progs.leave_function, bpf->progs.enter_sleepable,
		bpf->progs.leave_sleepable, bpf->progs.do_nothing,
	};
	struct bpf_program *const spans[] = { bpf->progs.span_function, bpf->progs.span_sleepable };
	const int type = attach_find_type(false), span_type = attach_find_type(true);

	t->sites->has_no_returns = !span_type;
	for (size_t i = 0; i < ARRAY_SIZE(of_functions); i++)
		bpf_program__set_expected_attach_type(of_functions[i], type);
	for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
		bpf_program__set_expected_attach_type(spans[i], span_type);
		bpf_program__set_autoload(spans[i], span_type);
	}
	bpf->rodata_settings->settings.key_subsys = t->options.key_subsys;
	bpf->data_watch->watch.id = t->options.cgroup;
	bpf->rodata_settings->is_by_process = t->options.process > 0;
	bpf->rodata_settings->is_by_owner = t->options.is_by_owner;
	bpf->rodata_settings->owner = t->options.owner;
	bpf->rodata_settings->owner_group = t->options.owner_group;
	bpf->rodata_settings->is_by_group = t->options.is_by_group;
	bpf_map__set_max_entries(bpf->maps.rows, TRACE_ROWS_MAX);
	bpf_map__set_max_entries(bpf->maps.counts, TRACE_ROWS_MAX);
	bpf_map__set_max_entries(bpf->maps.events, (uint32_t)t->options.ring_bytes);
	bpf_map__set_max_entries(bpf->maps.sums, t->options.sums_max);
	bpf_map__set_max_entries(bpf->maps.groups, t->options.is_by_group ? GROUPS_MAX : 1);
	bpf_map__set_max_entries(bpf->maps.learned, MAX(t->sites->map_entries, LEARNED_LEAST));
}

static int tracer_load(struct tracer *t, struct error *err)
{
	struct complaint complaint = {};
	int r;

	complaint_listen(&complaint);
	t->bpf = trace_bpf__open();
	r = t->bpf ? 0 : -errno;
	if (r == 0) {
		tracer_set_up(t);
		r = trace_bpf__load(t->bpf);
	}
	complaint_stop();
	if (r == -EPERM)
		return error_set(err, r, "tracing needs root");
	if (r < 0)
		return error_set(err, r, "this kernel does not take the programs of trace: %s",
				 *complaint.text ? complaint.text : strerror(-r));
	return 0;
}

static int tracer_fill_tables(const struct tracer *t)
{
	const int fd = bpf_map__fd(t->bpf->maps.tables);

	for (size_t i = 0; i < t->sites->set_count; i++) {
		const struct probe_set *set = t->sites->sets[i];

		for (size_t n = 0; n < set->table_count; n++) {
			for (size_t k = 0; k < set->tables[n].row_count; k++) {
				const uint32_t at = t->sites->bases[i].tables[n] + (uint32_t)k;

				if (bpf_map_update_elem(fd, &at, &set->tables[n].rows[k], BPF_ANY) <
				    0)
					return -errno;
			}
		}
	}
	return 0;
}

static int tracer_map(struct tracer *t)
{
	void *rows = mmap(NULL, TRACE_ROWS_MAX * sizeof(struct trace_row), PROT_READ | PROT_WRITE,
			  MAP_SHARED, bpf_map__fd(t->bpf->maps.rows), 0);

	if (rows == MAP_FAILED)
		return -errno;
	t->rows = rows;
	t->ring = ring_buffer__new(bpf_map__fd(t->bpf->maps.events), tracer_take_event, t, NULL);
	return t->ring ? tracer_fill_tables(t) : -errno;
}

int tracer_trace_process(struct tracer *t, pid_t pid, struct error *err)
{
	const int fd = bpf_map__fd(t->bpf->maps.traced_processes);
	const uint32_t process = (uint32_t)pid;
	const uint8_t yes = 1;

	if (bpf_map_update_elem(fd, &process, &yes, BPF_ANY) < 0)
		return error_set_errno(err, errno, "cannot trace process %d", pid);
	return 0;
}

/* Follow forks before listing the processes. */
static int tracer_begin_process(struct tracer *t, struct error *err)
{
	const pid_t process = t->options.process;

	if (!t->options.is_by_group) {
		t->bpf->links.notice_exec = bpf_program__attach(t->bpf->progs.notice_exec);
		if (!t->bpf->links.notice_exec)
			return error_set_errno(err, errno, "cannot see what processes execute");
		t->bpf->links.show_calls_left = bpf_program__attach(t->bpf->progs.show_calls_left);
	}
	if (!process)
		return 0;
	t->bpf->links.follow_fork = bpf_program__attach(t->bpf->progs.follow_fork);
	t->bpf->links.forget_process = bpf_program__attach(t->bpf->progs.forget_process);
	if (!t->bpf->links.follow_fork || !t->bpf->links.forget_process)
		return error_set_errno(err, errno, "cannot follow what process %d forks", process);
	return tracer_trace_process(t, process, err);
}

static struct tracer_part *tracer_add_part(struct tracer *t)
{
	if (array_reserve(&t->parts, &t->part_room, t->part_count, sizeof(*t->parts)) < 0)
		return NULL;
	t->parts[t->part_count] = (struct tracer_part){ .generation = 1 };
	return &t->parts[t->part_count++];
}

/* The programs read it from now on. */
static void tracer_publish(struct tracer *t, size_t row, uint32_t generation)
{
	struct trace_row new = t->sites->rows[row]->row;

	if (!t->rows[row].generation && !t->rows[row].value_count) {
		new.generation = 0;
		t->rows[row] = new;
	}
	__atomic_store_n(&t->rows[row].generation, generation, __ATOMIC_RELEASE);
}

static int tracer_attach_kernel(struct tracer *t, size_t row, struct error *err)
{
	const struct probe *probe = t->sites->rows[row]->probe;
	const char *name = probe->symbols[0];
	struct tracer_part *part = tracer_add_part(t);
	const uint64_t cookie = TRACE_COOKIE(row, 1);
	int r = 0;

	if (!part)
		return error_set_errno(err, ENOMEM, "cannot attach");
	if (probe->site == PROBE_TRACEPOINT)
		r = attach_tracepoint(t->bpf->progs.pass_tracepoint, name, cookie, &part->links[1],
				      err);
	else if (probe->exit != PROBE_EXIT_NONE)
		r = attach_kernel(t->bpf->progs.leave_kernel, name, cookie, true, &part->links[0],
				  err);
	if (r == 0 && probe->site == PROBE_KERNEL)
		r = attach_kernel(t->bpf->progs.enter_kernel, name, cookie, false, &part->links[1],
				  err);
	if (r < 0)
		return r;
	t->sites->rows[row]->site_count = 1;
	tracer_publish(t, row, 1);
	return 0;
}

int tracer_open(const struct tracer_options *options, struct sites *sites, struct tracer **ret,
		struct error *err)
{
	_cleanup_(tracer_closep) struct tracer *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return error_set_errno(err, ENOMEM, "cannot trace");
	t->options = *options;
	t->sites = sites;
	r = tracer_load(t, err);
	if (r < 0)
		return r;
	r = tracer_map(t);
	if (r < 0)
		return error_set_errno(err, r, "cannot trace");
	attach_measure(t->bpf->progs.do_nothing, &t->costs);
	r = tracer_begin_process(t, err);
	for (size_t i = 0; i < sites->row_count && r == 0; i++)
		r = tracer_attach_kernel(t, i, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(t);
	return 0;
}

void tracer_switch(struct tracer *t, bool is_on)
{
	__atomic_store_n(&t->bpf->data_control->control.is_on, is_on, __ATOMIC_RELAXED);
}

static void tracer_switch_off(void *context)
{
	tracer_switch(context, false);
}

int tracer_end_with(struct tracer *t, int fd, uint64_t after_ns)
{
	return deadline_new(fd, after_ns, tracer_switch_off, t, &t->deadline);
}

void tracer_detach(struct tracer *t)
{
	tracer_switch(t, false);
	t->deadline = deadline_free(t->deadline);
	t->is_detached = true;
	for (size_t i = 0; i < t->part_count; i++) {
		for (size_t v = 0; v < VARIANTS; v++)
			probe_links_end(&t->parts[i].links[v]);
	}
	trace_bpf__detach(t->bpf);
}

struct tracer *tracer_close(struct tracer *t)
{
	if (!t)
		return NULL;
	if (t->bpf)
		tracer_detach(t);
	ring_buffer__free(t->ring);
	if (t->rows)
		munmap(t->rows, TRACE_ROWS_MAX * sizeof(struct trace_row));
	trace_bpf__destroy(t->bpf);
	free(t->parts);
	idmap_clear(&t->known);
	free(t);
	return NULL;
}

void tracer_closep(struct tracer **t)
{
	*t = tracer_close(*t);
}

/* ---- files ---- */

/* Which programs go where.  Returns are attached to first: so none is missed of an entry that was
 * seen. */
static const struct variant {
	bool is_leave, is_sleepable;
	bool is_on_ret; /* by a plain probe on each `ret` */
} variants[VARIANTS] = {
	{ true, false, false }, { true, true, false },	 { true, false, true },
	{ true, true, true },	{ false, false, false }, { false, true, false },
};

static const struct bpf_program *tracer_program(const struct tracer *t, const struct variant *v)
{
	if (v->is_leave && !v->is_on_ret)
		return v->is_sleepable ? t->bpf->progs.span_sleepable : t->bpf->progs.span_function;
	if (v->is_leave)
		return v->is_sleepable ? t->bpf->progs.leave_sleepable
				       : t->bpf->progs.leave_function;
	return v->is_sleepable ? t->bpf->progs.enter_sleepable : t->bpf->progs.enter_function;
}

static bool tracer_takes(const struct variant *v, const struct site *site,
			 const struct site_row *row)
{
	if (row->probe->is_sleepable != v->is_sleepable || site->is_return != v->is_on_ret)
		return false;
	return !v->is_leave ||
	       row->exit == (v->is_on_ret ? PROBE_EXIT_RET_INSN : PROBE_EXIT_RETURN);
}

static int tracer_attach_variant(const struct tracer *t, const struct tracer_part *part,
				 const struct variant *v, struct probe_links *ret,
				 struct error *err)
{
	const struct site_file *file = part->file;
	_cleanup_free_ struct attach_site *chosen = calloc(file->site_count, sizeof(*chosen));
	size_t count = 0;

	if (!chosen)
		return error_set_errno(err, ENOMEM, "cannot attach");
	for (size_t i = file->first_site; i < file->first_site + file->site_count; i++) {
		const struct site *site = &t->sites->items[i];
		const struct site_row *row = t->sites->rows[site->row];

		if (row->is_dropped || !tracer_takes(v, site, row))
			continue;
		chosen[count++] = (struct attach_site){
			.offset = site->offset,
			.semaphore = v->is_leave && !v->is_on_ret ? 0 : site->semaphore,
			.cookie = TRACE_COOKIE(site->row, part->generation) |
				  (v->is_on_ret ? TRACE_COOKIE_AT_RET : 0),
		};
	}
	return count ? attach_functions(tracer_program(t, v), file->fd, chosen, count, false, ret,
					err)
		     : 0;
}

/* All rows of the part's file are counted by what is attached here, and by nothing else. */
static int tracer_attach_part(struct tracer *t, struct tracer_part *part, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < VARIANTS && r == 0; i++)
		r = tracer_attach_variant(t, part, &variants[i], &part->links[i], err);
	if (r < 0)
		return error_prefix(err, r, "%s", part->file->path);
	for (size_t i = 0; i < part->file->row_count; i++) {
		const size_t row = part->file->first_row + i;

		if (!t->sites->rows[row]->is_dropped)
			tracer_publish(t, row, part->generation);
	}
	return 0;
}

/* After a change of its rows: what is to be attached now, and then no more what was. */
static int tracer_replace_part(struct tracer *t, struct tracer_part *part, struct error *err)
{
	struct tracer_part before = *part;
	int r;

	*part = (struct tracer_part){ .file = before.file, .generation = before.generation + 1 };
	r = tracer_attach_part(t, part, err);
	for (size_t v = 0; v < VARIANTS; v++)
		probe_links_end(&before.links[v]);
	return r;
}

int tracer_add_file(struct tracer *t, int fd, const char *path, bool is_program, struct error *err)
{
	struct tracer_part *part;
	struct site_file *file;
	int r;

	if (!sites_want(t->sites, path, is_program))
		return 0;
	r = sites_add(t->sites, fd, path, is_program, &file, err);
	if (r < 0 || !file)
		return r;
	part = tracer_add_part(t);
	if (!part)
		return error_set_errno(err, ENOMEM, "cannot attach");
	part->file = file;
	return tracer_attach_part(t, part, err);
}

struct process_visit {
	struct tracer *t;
	uint64_t hash; /* of the file that it is at */
	bool may_execute;
	uint64_t until_ns;
	struct error *err;
};

/* With its path: the number of a file that is gone may be another's. */
static bool tracer_knows(void *context, unsigned long long device, unsigned long long inode,
			 const char *path)
{
	struct process_visit *v = context;
	struct known_file *known;

	v->hash = fnv_bytes(FNV_BEGIN, &device, sizeof(device));
	v->hash = fnv_bytes(fnv_bytes(v->hash, &inode, sizeof(inode)), path, strlen(path));
	known = idmap_get(&v->t->known, v->hash);
	sites_see(v->t->sites, known);
	return known;
}

static int tracer_take_mapped(void *context, const struct mapped_file *file)
{
	const struct process_visit *v = context;
	struct known_file *known;
	int r = tracer_add_file(v->t, file->fd, file->path, file->is_program || v->may_execute,
				v->err);

	known = sites_know(v->t->sites, file->fd, file->path);
	if (known)
		(void)idmap_put(&v->t->known, v->hash, known);
	sites_see(v->t->sites, known);
	return r == 0 && clock_now_ns(CLOCK_MONOTONIC) > v->until_ns ? -EAGAIN : r;
}

/* Calls that are under way keep their changed return addresses: these cannot be taken back. */
static int tracer_renew(struct tracer *t, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < t->part_count && r == 0; i++) {
		struct site_file *file = t->parts[i].file;

		if (!file || !file->is_changed)
			continue;
		file->is_changed = false;
		for (size_t n = file->first_row; n < file->first_row + file->row_count; n++)
			__atomic_store_n(&t->rows[n].flags, t->sites->rows[n]->row.flags,
					 __ATOMIC_RELAXED);
		r = tracer_replace_part(t, &t->parts[i], err);
	}
	return r;
}

int tracer_add_process(struct tracer *t, pid_t pid, bool may_execute, uint64_t until_ns,
		       struct error *err)
{
	struct process_visit v = {
		.t = t, .may_execute = may_execute, .until_ns = until_ns, .err = err
	};
	int r;

	sites_begin_process(t->sites);
	r = mapped_visit(pid, tracer_knows, tracer_take_mapped, &v);
	if (r == 0 && sites_end_process(t->sites, t->bpf->data_control->control.is_on))
		r = tracer_renew(t, err);
	return r;
}

int tracer_await_program(struct tracer *t, const char *path, struct error *err)
{
	return sites_await_program(t->sites, path) ? tracer_renew(t, err) : 0;
}

size_t tracer_list_processes(const struct tracer *t, pid_t *pids, size_t max)
{
	const int fd = bpf_map__fd(t->bpf->maps.traced_processes);
	uint32_t key, *before = NULL;
	size_t count = 0;

	while (count < max && bpf_map_get_next_key(fd, before, &key) == 0) {
		pids[count++] = (pid_t)key;
		before = &key;
	}
	return count;
}

int tracer_drop(struct tracer *t, size_t row, struct error *err)
{
	const struct site_file *file = t->sites->rows[row]->file;

	t->sites->rows[row]->is_dropped = true;
	tracer_publish(t, row, 0);
	for (size_t i = 0; file && i < t->part_count; i++) {
		if (t->parts[i].file == file)
			return tracer_replace_part(t, &t->parts[i], err);
	}
	return 0;
}

/* ---- what was counted ---- */

int tracer_read(struct tracer *t, tracer_reader read, void *context)
{
	int r;

	t->read = read;
	t->context = context;
	t->taken = 0;
	r = ring_buffer__consume(t->ring);
	return r < 0 && r != -EAGAIN ? r : t->taken;
}

int tracer_show_open(struct tracer *t)
{
	struct bpf_link *link = bpf_program__attach_iter(t->bpf->progs.show_open_calls, NULL);
	_cleanup_close_ int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -errno;
	char none[16];
	int r = fd < 0 ? fd : 0;

	while (r == 0 && read(fd, none, sizeof(none)) < 0) {
		if (errno != EINTR && errno != EAGAIN)
			r = -errno;
	}
	bpf_link__destroy(link);
	return r;
}

size_t tracer_cpu_count(void)
{
	return (size_t)MAX(libbpf_num_possible_cpus(), 1);
}

/* Of each CPU; NULL: no memory, or there are none. */
static struct trace_counts *tracer_read_counts(const struct tracer *t, size_t row)
{
	struct trace_counts *values = calloc(tracer_cpu_count(), sizeof(*values));
	const uint32_t key = (uint32_t)row;

	if (values && bpf_map_lookup_elem(bpf_map__fd(t->bpf->maps.counts), &key, values) == 0)
		return values;
	free(values);
	return NULL;
}

int tracer_get_counts(const struct tracer *t, size_t row, struct trace_counts *ret)
{
	_cleanup_free_ const struct trace_counts *values = tracer_read_counts(t, row);
	uint64_t *sum = (uint64_t *)ret;

	*ret = (struct trace_counts){};
	if (!values)
		return -ENOMEM;
	for (size_t cpu = 0; cpu < tracer_cpu_count(); cpu++) {
		const uint64_t *number = (const uint64_t *)&values[cpu];

		for (size_t i = 0; i < sizeof(*ret) / sizeof(*sum); i++)
			sum[i] += number[i];
	}
	return 0;
}

int tracer_visit_sums(const struct tracer *t, tracer_sums_visitor visit, void *context)
{
	_cleanup_(entries_end) struct entries e = entries_begin(bpf_map__fd(t->bpf->maps.sums),
								sizeof(struct trace_sums_key),
								sizeof(struct trace_sums));
	int r = 0;

	while (r >= 0 && (r = entries_next(&e)) > 0)
		r = visit(context, e.key, e.value);
	return r;
}

int tracer_take_sums(struct tracer *t, const struct trace_sums_key *key, struct trace_sums *ret)
{
	return bpf_map_lookup_and_delete_elem(bpf_map__fd(t->bpf->maps.sums), key, ret) < 0 ? -errno
											    : 0;
}

uint64_t tracer_exec_count(const struct tracer *t)
{
	return __atomic_load_n(&t->bpf->data_control->control.execs, __ATOMIC_RELAXED);
}

uint64_t tracer_group_count(const struct tracer *t)
{
	return __atomic_load_n(&t->bpf->data_control->control.groups, __ATOMIC_RELAXED);
}

/* The kernel side writes from the root on down. */
int tracer_get_group(const struct tracer *t, uint64_t cgroup, struct trace_group *ret)
{
	if (bpf_map_lookup_elem(bpf_map__fd(t->bpf->maps.groups), &cgroup, ret) < 0)
		return -errno;
	for (size_t i = 0; i < TRACE_GROUP_LEVELS; i++) {
		if (ret->above[i] == cgroup || i == TRACE_GROUP_LEVELS - 1)
			return ret->above[i] ? 0 : -EAGAIN;
	}
	return -EAGAIN;
}

/* In this order: a call between the two finds that it is known. */
void tracer_forget_group(struct tracer *t, uint64_t cgroup)
{
	(void)bpf_map_delete_elem(bpf_map__fd(t->bpf->maps.groups), &cgroup);
	(void)bpf_map_delete_elem(bpf_map__fd(t->bpf->maps.judged_cgroups), &cgroup);
}

const struct attach_costs *tracer_costs(const struct tracer *t)
{
	return &t->costs;
}

uint64_t tracer_own_ns(const struct tracer *t, const struct site_row *of)
{
	uint64_t each = of->cost == IMAGE_STEPPED ? t->costs.stepped_ns : t->costs.emulated_ns;

	if (of->exit == PROBE_EXIT_RETURN)
		each += t->costs.return_ns;
	if (of->exit == PROBE_EXIT_RET_INSN)
		each += t->costs.stepped_ns;
	return each;
}

uint64_t tracer_add_costs(const struct tracer *t, size_t row, uint64_t *before, uint64_t *added)
{
	const struct site_row *of = t->sites->rows[row];
	_cleanup_free_ const struct trace_counts *counts = of->file ? tracer_read_counts(t, row)
								    : NULL;
	const uint64_t trap = tracer_own_ns(t, of), programs = of->exit == PROBE_EXIT_NONE ? 1 : 2;
	/* With captures and sums a call takes 2.6 to 3.0 us, where the trap of an entry takes 0.9
	 * and that of a return 0.6. */
	const uint64_t traced = trap + programs * t->costs.emulated_ns * 3 / 4;
	uint64_t outside = 0;

	for (size_t cpu = 0; cpu < tracer_cpu_count() && counts; cpu++) {
		const uint64_t others = MIN(counts[cpu].outside, counts[cpu].hits);
		const uint64_t now = others * trap + (counts[cpu].hits - others) * traced;

		added[cpu] = now - MIN(now, before[cpu]); /* less once returns are dropped */
		before[cpu] = now;
		outside += others * trap;
	}
	return outside;
}
