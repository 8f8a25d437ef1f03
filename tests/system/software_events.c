/* SPDX-License-Identifier: MIT */
/*
 * software_events - the road of the processor's own counters, with events of the kernel's software
 * in their place: for machines that offer none of their own.  Page faults stand for instructions,
 * context switches for misses of a cache, time on a CPU for cycles.
 *
 *     software_events RECORD.json -- COMMAND [ARGUMENT]...    measures it as `jobmeter run` does
 *     software_events --process          "COUNTED KNOWN": page faults of a process with children
 * and threads software_events --group DIR     the same of an empty control group, to which the
 * process is moved software_events --job MOUNT PATH   the same of a job of an agent that is killed
 * and started anew half-way: PATH is its group below MOUNT; 0 in the third place if what is shown
 * never fell software_events --watch PATH DIR...   the same of a group that is watched as by
 * `jobmeter watch`: PATH is the group in the key hierarchy, to whose DIRs, one a hierarchy, the
 * process is moved
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "basic/error.h"
#include "basic/file.h"
#include "cgroup/group_files.h"
#include "sources/hardware.h"
#include "load/held.h"
#include "cgroup/hierarchy.h"
#include "counters/cgroups.h"
#include "basic/macro.h"
#include "cli/measure.h"
#include "model/record.h"
#include "jobs/registry.h"
#include "saved.h"
#include "sources/sources.h"
#include "cli/watch.h"

#define CHILDREN 3
#define THREADS 2
#define PAGES 101 /* that each thread touches */

static const struct hardware_events software = {
	{
		{ METRIC_CPU_CYCLES, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1 },
		{ METRIC_CPU_INSTRUCTIONS, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 1 },
		{ METRIC_CPU_INSTRUCTIONS, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1 },
		{ METRIC_CPU_LLC_MISSES, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1 },
		{ METRIC_CPU_FLOPS, PERF_TYPE_SOFTWARE, 4711, 1 }, /* no kernel has it */
	},
	5
};

static int fail(const char *what)
{
	fprintf(stderr, "software_events: %s\n", what);
	return 1;
}

/* ---- page faults, known from the process itself ---- */

static void *touch(void *nothing)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *pages = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; pages != MAP_FAILED && i < PAGES; i++)
		pages[i * page] = 1;
	return nothing;
}

static _Noreturn void be_family(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		pthread_t threads[THREADS];

		if (fork() > 0)
			continue;
		for (int k = 0; k < THREADS; k++)
			pthread_create(&threads[k], NULL, touch, NULL);
		for (int k = 0; k < THREADS; k++)
			pthread_join(threads[k], NULL);
		_exit(0);
	}
	for (int i = 0; i < CHILDREN; i++)
		wait(NULL);
	_exit(0);
}

/* Has it said that it waits, and does it?  Between the two it may fault once more. */
static bool sleeps(pid_t pid)
{
	char path[64], text[1024];
	const char *rest;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return file_read_small(AT_FDCWD, path, text, sizeof(text)) < 0 ||
	       !(rest = strrchr(text, ')')) || strncmp(rest, ") S", 3) == 0;
}

/* It begins once it is released. */
static int hold_family(struct held *ret)
{
	int r = held_fork(ret);

	if (r == 0 && ret->pid == 0)
		be_family();
	while (r == 0 && !sleeps(ret->pid))
		usleep(1000);
	return r;
}

/* Of a process that stands still: fields 10 and 12 of its stat, the faults that needed no reading,
 * and those that did. */
static int read_faults(pid_t pid, uint64_t *ret)
{
	char path[64], text[1024];
	uint64_t minor = 0, major = 0;
	const char *rest;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) < 0 || !(rest = strrchr(text, ')')))
		return -EINVAL;
	if (sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %" SCNu64 " %*u %" SCNu64, &minor,
		   &major) != 2)
		return -EINVAL;
	*ret = minor + major;
	return 0;
}

static int open_for(const char *dir, pid_t pid, struct hardware **ret, struct error *err)
{
	_cleanup_close_ int fd = -EBADF;
	struct cpulist cpus = {};
	char text[16];

	if (!dir)
		return hardware_open_process(&software, pid, false, ret, err);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned int cpu = 0; cpu < (unsigned int)sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		cpulist_set(&cpus, cpu);
	snprintf(text, sizeof(text), "%d", pid);
	if (fd < 0 || file_write_existing(fd, "cgroup.procs", text) < 0)
		return error_set(err, -EIO, "cannot move a process to '%s'", dir);
	return hardware_open_group(&software, fd, &cpus, 1024, ret, err);
}

static int compare_faults(const char *dir)
{
	_cleanup_(hardware_closep) struct hardware *h = NULL;
	struct value values[METRIC_JOB_COUNT] = {};
	struct error err = {};
	struct rusage usage;
	struct held held;
	uint64_t before = 0;
	int r = hold_family(&held);

	if (r == 0)
		r = open_for(dir, held.pid, &h, &err);
	if (r == 0)
		r = read_faults(held.pid, &before);
	if (r < 0)
		return fail(err.text);
	held_release(&held);
	if (wait4(held.pid, NULL, 0, &usage) != held.pid)
		return fail("lost the process");
	hardware_read(h, values);
	if (values[METRIC_CPU_FLOPS].is_known)
		return fail("an event that no kernel has was counted");
	printf("%" PRIu64 " %" PRIu64 "\n", (uint64_t)values[METRIC_CPU_INSTRUCTIONS].number,
	       (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt - before);
	return 0;
}

/* ---- a job ---- */

#define JOB_ID 1 /* of its group */
#define SECOND UINT64_C(1000000000)
#define EPOCH (1700000000 * SECOND)

struct counting {
	struct hierarchy hierarchy;
	struct group_files_budget budget;
	struct sources *sources; /* the processor's counters */
	const char *path, *cpus;
	uint64_t known;
};

static struct registry *begin(void)
{
	const struct registry_options options = { .started_boot_ns = SECOND, .boot_id = "boot-a" };

	return registry_new(&options);
}

static int learn(struct registry *r, const char *path)
{
	struct group_life life = { .id = JOB_ID, .born_ns = 2 * SECOND };

	snprintf(life.path, sizeof(life.path), "%s", path);
	return registry_learn(r, &life, 1, 3 * SECOND, EPOCH + 3 * SECOND);
}

static struct snapshot *show(struct registry *r, uint64_t second)
{
	const struct registry_feed nothing = { .counted = COUNTED_TASKS };
	struct snapshot *s = NULL;

	if (registry_feed(r, &nothing) < 0 ||
	    registry_snapshot(r, second * SECOND, EPOCH + second * SECOND, &s) < 0)
		exit(fail("no memory"));
	return s;
}

static uint64_t shown(const struct snapshot *s)
{
	return s->job_count == 1 ? s->jobs[0].values[METRIC_CPU_INSTRUCTIONS].number : 0;
}

/* What was counted becomes the job's; @is_last: it has no group any more. */
static void sample(struct counting *c, struct source_attachments *own, struct registry_job *job,
		   bool is_last)
{
	const struct source_job at = { c->path, c->cpus };
	struct source_job_sample sample = {};

	if (sources_sample_job(c->sources, own, is_last ? NULL : &at, &sample) < 0)
		exit(fail("no memory"));
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		if (sample.added[id].is_known)
			registry_job_add(job, (enum metric_id)id, sample.added[id].number);
	}
}

/* A process of the job that stands still until it is released, and is waited for. */
static int run_process(struct counting *c, struct registry *r, struct source_attachments *own,
		       const char *dir, bool is_last)
{
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct registry_job *job = registry_next(r, NULL);
	struct rusage usage;
	struct held held;
	uint64_t before = 0;
	char text[16];
	int code = hold_family(&held);

	snprintf(text, sizeof(text), "%d", held.pid);
	if (code < 0 || !job || fd < 0 || file_write_existing(fd, "cgroup.procs", text) < 0 ||
	    read_faults(held.pid, &before) < 0)
		return -EIO;
	sample(c, own, job, false);
	held_release(&held);
	if (wait4(held.pid, NULL, 0, &usage) != held.pid)
		return -EIO;
	sample(c, own, job, is_last);
	c->known += (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt - before;
	return 0;
}

/* What an agent wrote down, and what it had shown since. */
static int restart(const char *state, const struct snapshot *last, struct registry *r,
		   const char *path)
{
	struct error err = {};
	int code = registry_parse_job(r, state, strlen(state), &err);

	if (code >= 0)
		code = learn(r, path);
	return code < 0 ? code
			: registry_job_set_least(registry_next(r, NULL), last->jobs[0].values);
}

/* With descriptors for one job at a time. */
static int open_sources(struct counting *c, const struct cpulist *cpus)
{
	const struct source *hardware = sources_all().items[sources_index("hardware")];
	const struct source_list list = { &hardware, 1 };
	const struct source_options options = { .root_fd = open("/",
								O_PATH | O_DIRECTORY | O_CLOEXEC),
						.hierarchy = &c->hierarchy,
						.descriptors = &c->budget,
						.hardware = &software };

	c->budget.max = 4 * (unsigned int)(cpulist_count(cpus) * software.count); /* a quarter is
										     for counters */
	return sources_open(list, NULL, &options, &c->sources);
}

static int compare_job(char *mount, const char *path)
{
	_cleanup_(registry_freep) struct registry *before = begin(), *after = begin();
	_cleanup_(snapshot_unrefp) struct snapshot *first = NULL, *second = NULL, *third = NULL;
	_cleanup_free_ char *dir = NULL, *cpus = NULL, *state = NULL;
	struct cpulist list = {};
	struct counting c = { .hierarchy = { .is_v2 = true, .v2_mount = mount }, .path = path };
	struct source_attachments one = {}, two = {}, three = {};

	for (unsigned int cpu = 0; cpu < (unsigned int)sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		cpulist_set(&list, cpu);
	c.cpus = cpus = cpulist_format(&list);
	if (open_sources(&c, &list) < 0 || asprintf(&dir, "%s%s", mount, path) < 0 || !before ||
	    !after || learn(before, path) < 0 ||
	    registry_format_job(registry_next(before, NULL), &state) < 0)
		return fail("no memory");
	/* written down before it did anything: the rest is known only from what was shown */
	if (run_process(&c, before, &one, dir, false) < 0)
		return fail("cannot run a process of the job");
	first = show(before, 5);
	source_attachments_clear(&one);
	if (restart(state, first, after, path) < 0)
		return fail("cannot start anew");
	second = show(after, 7);
	if (run_process(&c, after, &two, dir, true) < 0)
		return fail("cannot run another process of the job");
	third = show(after, 11);
	sample(&c, &three, registry_next(after, NULL), false);
	if (two.own || !three.own || !three.own[0])
		return fail("descriptors were not given back");
	source_attachments_clear(&three);
	sources_free(c.sources);
	printf("%" PRIu64 " %" PRIu64 " %d\n", shown(third), c.known,
	       shown(first) > shown(second) || shown(second) > shown(third));
	return 0;
}

/* ---- a group that is watched ---- */

static int move_to(pid_t pid, char **dirs)
{
	char text[16];
	int r = 0;

	snprintf(text, sizeof(text), "%d", pid);
	for (; *dirs && r >= 0; dirs++) {
		_cleanup_close_ int fd = open(*dirs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		r = fd < 0 ? -errno : file_write_existing(fd, "cgroup.procs", text);
	}
	return r;
}

static int look(struct watch_source *source, struct watched_list *list, struct record **ret,
		struct error *err)
{
	int r;

	assert(source);
	r = source->refresh(source, list, err);
	return r < 0 ? r : source->read(source, list->items[0], ret, err);
}

static int print_watched(const struct record *r, uint64_t known)
{
	const struct value *faults = &r->reading.values[METRIC_CPU_INSTRUCTIONS];

	for (size_t i = 0; i < r->coverage.missing.count; i++) {
		if (strncmp(r->coverage.missing.items[i], HARDWARE_LABEL, strlen(HARDWARE_LABEL)) ==
		    0)
			return fail(r->coverage.missing.items[i]);
	}
	if (!faults->is_known || r->reading.values[METRIC_CPU_FLOPS].is_known)
		return fail("what was to be counted was not");
	printf("%" PRIu64 " %" PRIu64 "\n", (uint64_t)faults->number, known);
	return 0;
}

static int compare_watched(const char *path, char **dirs)
{
	const struct watch_meter_options options = { .group = path, .hardware = &software };
	_cleanup_(record_freep) struct record *first = NULL, *last = NULL, *between = NULL;
	_cleanup_(watch_source_closep) struct watch_source *source = NULL;
	_cleanup_(watched_clear) struct watched_list list = {};
	struct error err = {};
	struct rusage usage;
	struct held held;
	uint64_t before = 0;
	int r = hold_family(&held);

	if (r == 0)
		r = move_to(held.pid, dirs);
	if (r == 0)
		r = watch_meter_open(&options, &source, &err);
	if (r == 0)
		r = look(source, &list, &first, &err);
	if (r == 0)
		r = read_faults(held.pid, &before);
	if (r < 0)
		return fail(*err.text ? err.text : "cannot move a process to the groups");
	held_release(&held);
	if (wait4(held.pid, NULL, 0, &usage) != held.pid)
		return fail("lost the process");
	r = look(source, &list, &last, &err);
	if (r == 0)
		r = record_subtract(last, first, &between, &err);
	if (r < 0)
		return fail(err.text);
	assert(between);
	return print_watched(between,
			     (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt - before);
}

/* ---- a command ---- */

static int measure(const char *file, char **command)
{
	const struct measure_options options = { .root = "/", .hardware = &software };
	struct error err = {};
	int code = saved_measure(&options, command, file, &err);

	return code < 0 ? fail(err.text) : code;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--process") == 0)
		return compare_faults(NULL);
	if (argc == 3 && strcmp(argv[1], "--group") == 0)
		return compare_faults(argv[2]);
	if (argc == 4 && strcmp(argv[1], "--job") == 0)
		return compare_job(argv[2], argv[3]);
	if (argc > 3 && strcmp(argv[1], "--watch") == 0)
		return compare_watched(argv[2], argv + 3);
	if (argc < 4 || strcmp(argv[2], "--") != 0)
		return fail("usage: software_events RECORD.json -- COMMAND [ARGUMENT]...");
	return measure(argv[1], argv + 3);
}
