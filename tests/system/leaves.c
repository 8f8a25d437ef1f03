/* SPDX-License-Identifier: MIT */
/*
 * leaves - opens a meter that tells groups apart, makes groups, works in them, and compares what
 * the meter says of each with what was done there.
 *
 *     leaves SCENE    see the table of scenes; exit code 77: not here
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "selftest/canary.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "cgroup/hierarchy.h"
#include "basic/file.h"
#include "bpf/groups.h"
#include "counters/cgroups.h"
#include "bpf/lost.h"
#include "basic/macro.h"
#include "load/meter.h"
#include "load/objects.h"

#define NOT_HERE 77
#define ALICE 1000
#define WORK_DIR "/tmp/leaves-work" /* of all users, whatever the mode of /tmp */

static struct hierarchy hierarchy;
static struct meter *meter;
static char top[256]; /* our directory: nothing of ours is beside it */
static char top_path[64]; /* its path in the hierarchy */
static unsigned int failures;

static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	failures++;
}

static void give_up(const char *what, const struct error *err)
{
	fprintf(stderr, "leaves: %s: %s\n", what, err && *err->text ? err->text : strerror(errno));
	exit(1);
}

static void expect(uint64_t is, uint64_t should, const char *format, ...)
{
	char what[256];
	va_list args;

	if (is == should)
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	fail("%s: %" PRIu64 ", and not %" PRIu64, what, is, should);
}

/* ---- groups ---- */

static const char *dir_of(const char *name)
{
	static char dir[2048];

	snprintf(dir, sizeof(dir), "%s%s%s", top, *name ? "/" : "", name);
	return dir;
}

static uint64_t make_group(const char *name)
{
	struct stat st;

	if (mkdir(dir_of(name), 0755) < 0 || stat(dir_of(name), &st) < 0)
		give_up(dir_of(name), NULL);
	return st.st_ino;
}

/* On v2: those below have memory of their own to tell of. */
static void hand_down(const char *dir)
{
	_cleanup_close_ int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)file_write_existing(fd, "cgroup.subtree_control", "+memory");
}

static void remove_group(const char *name)
{
	for (int i = 0; rmdir(dir_of(name)) < 0; i++) { /* a task that was waited for leaves a
							   little later */
		if (errno != EBUSY || i > 1000)
			give_up(dir_of(name), NULL);
		usleep(1000);
	}
}

static uint64_t read_number(const char *group, const char *file)
{
	_cleanup_close_ int fd = open(dir_of(group), O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t number = 0;

	(void)file_read_u64(fd, file, &number);
	return number;
}

/* As files have it; 0: they don't. */
static uint64_t read_peak(const char *group)
{
	return read_number(group, hierarchy.is_v2 ? "memory.peak" : "memory.max_usage_in_bytes");
}

/* ---- work ---- */

/* Go into @group and write @calls times, @bytes in all; touch @memory bytes. */
static void work(const char *group, unsigned int calls, size_t bytes, size_t memory)
{
	static char text[8192];
	char procs[2400], file[64];
	int fd, join;

	snprintf(file, sizeof(file), WORK_DIR "/%d", getuid());
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir_of(group));
	join = open(procs, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || join < 0 || write(join, "0", 1) != 1)
		_exit(9);
	if (memory) {
		char *block = mmap(NULL, memory, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (block == MAP_FAILED)
			_exit(8);
		memset(block, 1, memory);
	}
	for (unsigned int i = 0; i < calls; i++) {
		size_t part = i ? bytes / calls : bytes - bytes / calls * (calls - 1);

		if (write(fd, text, part) != (ssize_t)part)
			_exit(7);
	}
	_exit(0);
}

static void run_in(const char *group, unsigned int calls, size_t bytes, size_t memory)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		work(group, calls, bytes, memory);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		give_up("the work", NULL);
}

/* ---- what the meter says ---- */

struct said {
	struct cgroup_row *rows;
	struct cgroup_tasks *tasks;
	struct group_life *groups;
	size_t row_count, task_count, group_count;
};

static void said_clear(struct said *s)
{
	free(s->rows);
	free(s->tasks);
	free(s->groups);
	*s = (struct said){};
}

static void ask(struct said *ret)
{
	struct error err = {};

	*ret = (struct said){};
	if (cgroups_list_groups(meter, &ret->groups, &ret->group_count, &err) < 0 ||
	    cgroups_read_tasks(meter, &ret->tasks, &ret->task_count, NULL, &err) < 0 ||
	    cgroups_read_rows(meter, &ret->rows, &ret->row_count, &err) < 0)
		give_up("cannot ask", &err);
}

static const struct group_life *find_group(const struct said *s, uint64_t id)
{
	for (size_t i = 0; i < s->group_count; i++) {
		if (s->groups[i].id == id)
			return &s->groups[i];
	}
	return NULL;
}

static const struct cgroup_tasks *find_tasks(const struct said *s, uint64_t id)
{
	static const struct cgroup_tasks none = { .uid = UINT32_MAX };

	for (size_t i = 0; i < s->task_count; i++) {
		if (s->tasks[i].cgroup == id)
			return &s->tasks[i];
	}
	return &none;
}

struct written {
	uint64_t calls, bytes, other_bytes; /* other: of the bytes, those beyond the cgroup's share
					     */
};

static struct written sum_written(const struct said *s, uint64_t cgroup)
{
	struct written sum = {};

	for (size_t i = 0; i < s->row_count; i++) {
		const struct cgroup_row *row = &s->rows[i];

		if (row->key.cgroup != cgroup || row->key.op != FILES_WRITE || row->key.interface)
			continue;
		sum.calls += row->counts.calls;
		sum.bytes += row->counts.amount;
		if (row->key.place == PLACE_OTHER)
			sum.other_bytes += row->counts.amount;
	}
	return sum;
}

/* Until all tasks of the cgroup that ended are in: at most 30 s, since that of one whose freeing
 * was not seen takes 10. */
static void settle(uint64_t cgroup)
{
	uint64_t unsettled = 0, live = 0;

	for (int i = 0; i < 3000; i++) {
		_cleanup_(said_clear) struct said said = {};
		const struct cgroup_tasks *tasks;

		ask(&said);
		tasks = find_tasks(&said, cgroup);
		unsettled = tasks->unsettled;
		live = tasks->live;
		if (!unsettled && !live)
			return;
		usleep(10000);
	}
	fail("cgroup %" PRIu64 " was not settled in 30 s: %" PRIu64 " unsettled, %" PRIu64 " live",
	     cgroup, unsettled, live);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void forget(uint64_t *ids, size_t count)
{
	qsort(ids, count, sizeof(*ids), compare_ids);
	if (cgroups_forget(meter, ids, count) < 0)
		give_up("cannot forget", NULL);
}

static bool is_of(const uint64_t *ids, size_t count, uint64_t id)
{
	return bsearch(&id, ids, count, sizeof(id), compare_ids);
}

static void expect_forgotten(const uint64_t *ids, size_t count)
{
	_cleanup_(said_clear) struct said said = {};
	struct cgroup_histograms *histograms;
	size_t left = 0, histogram_count;

	ask(&said);
	for (size_t i = 0; i < said.group_count; i++)
		left += is_of(ids, count, said.groups[i].id);
	expect(left, 0, "groups left");
	for (size_t i = 0; i < said.task_count; i++)
		left += is_of(ids, count, said.tasks[i].cgroup);
	expect(left, 0, "totals left");
	for (size_t i = 0; i < said.row_count; i++)
		left += is_of(ids, count, said.rows[i].key.cgroup);
	expect(left, 0, "rows left");
	if (cgroups_read_histograms(meter, ids, count, &histograms, &histogram_count, NULL) < 0)
		give_up("cannot read histograms", NULL);
	expect(histogram_count, 0, "histograms left");
	free(histograms);
}

/* ---- the meter ---- */

static bool is_hook_on(const char *program)
{
	size_t count;
	const struct hook *hooks = meter_hooks(meter, &count);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(hooks[i].program, program) != 0)
			continue;
		if (!hooks[i].is_on)
			fprintf(stderr, "leaves: %s: %s\n", program, hooks[i].why);
		return hooks[i].is_on;
	}
	return false;
}

static void open_meter(const struct map_size *sizes)
{
	const struct meter_options options = { .root_fd = open("/",
							       O_PATH | O_DIRECTORY | O_CLOEXEC),
					       .tiers = METER_ALL,
					       .has_clock = true,
					       .has_histograms = true,
					       .has_groups = true,
					       .shape = { .jobs = 512 }, /* room for what others
									    make here */
					       .sizes = sizes,
					       .watched_id = UINT64_MAX,
					       .hierarchy = &hierarchy };
	struct error err = {};

	if (meter_open(&options, &meter) < 0)
		give_up("cannot open a meter", NULL);
	if (!is_hook_on("begin_group") || !is_hook_on("end_group") ||
	    !is_hook_on("count_freed_task") || !is_hook_on("leave_call"))
		exit(NOT_HERE);
	if (cgroups_walk(meter, &err) < 0)
		give_up("the walk", &err);
	if (canary_run(meter, options.root_fd, &hierarchy, 0, false, &err) < 0)
		give_up("the canary", &err);
	if (!is_hook_on("count_freed_task") || !is_hook_on("leave_call"))
		failures++;
}

static void walk(void)
{
	struct error err = {};

	if (cgroups_walk(meter, &err) < 0)
		give_up("the walk", &err);
}

static void make_top(void)
{
	struct error err = {};
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *dir;

	if (geteuid() != 0) {
		fprintf(stderr, "leaves: needs root\n");
		exit(NOT_HERE);
	}
	if (hierarchy_read(root_fd, &hierarchy, &err) < 0)
		give_up("the hierarchy", &err);
	snprintf(top_path, sizeof(top_path), "/leaves-%d", getpid());
	dir = hierarchy_find_dir(&hierarchy, top_path);
	snprintf(top, sizeof(top), "%s", dir);
	free(dir);
	if (mkdir(top, 0755) < 0)
		give_up(top, NULL);
	hand_down(top);
}

/* ---- scenes ---- */

#define CGROUPS 13
#define SHORT 101

struct cgroup {
	char name[32];
	uint64_t id, calls, bytes, peak, born_ns;
};

static void live_and_die(struct cgroup *cgroup, size_t number)
{
	snprintf(cgroup->name, sizeof(cgroup->name), "branch/cgroup%zu", number);
	cgroup->born_ns = now_ns();
	cgroup->id = make_group(cgroup->name);
	cgroup->calls = 17 + number;
	cgroup->bytes = 10007 + 101 * number;
	run_in(cgroup->name, (unsigned int)cgroup->calls, cgroup->bytes, 3 << 20);
	cgroup->peak = read_peak(cgroup->name);
	if (number % 2)
		remove_group(cgroup->name);
}

static void check_cgroup(const struct said *said, const struct cgroup *cgroup, uint64_t parent,
			 bool is_dead)
{
	const struct group_life *life = find_group(said, cgroup->id);
	const struct cgroup_tasks *tasks = find_tasks(said, cgroup->id);
	struct written written = sum_written(said, cgroup->id);
	char path[2048];

	if (!life) {
		fail("%s is not known", cgroup->name);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", top_path, cgroup->name);
	if (strcmp(life->path, path) != 0)
		fail("%s is called %s", path, life->path);
	expect(life->parent, parent, "%s: parent", cgroup->name);
	expect(life->maker_uid, 0, "%s: maker", cgroup->name);
	expect(life->born_ns >= cgroup->born_ns &&
		       life->born_ns < cgroup->born_ns + UINT64_C(60000000000),
	       true, "%s: born", cgroup->name);
	expect(life->died_ns != 0, is_dead, "%s: dead", cgroup->name);
	if (is_dead && cgroup->peak) {
		expect(life->peak_bytes, cgroup->peak, "%s: peak", cgroup->name);
		expect(life->has_oom_kills && !life->oom_kills, true, "%s: oom kills",
		       cgroup->name);
	}
	expect(written.calls, cgroup->calls, "%s: writes", cgroup->name);
	expect(written.bytes, cgroup->bytes, "%s: bytes written", cgroup->name);
	expect(written.other_bytes, 0, "%s: bytes written elsewhere", cgroup->name);
	/* Of the call by which the task came, the kernel counts the byte here. */
	expect(tasks->counters.wchar, cgroup->bytes + 1, "%s: wchar", cgroup->name);
	expect(tasks->counters.syscw, cgroup->calls + 1, "%s: syscw", cgroup->name);
	expect(tasks->ended, 1, "%s: tasks ended", cgroup->name);
	expect(tasks->live, 0, "%s: live tasks", cgroup->name);
	/* Of a task whose freeing was not seen, the time is that of its last tick: there may have
	 * been none. */
	if (!tasks->counters.minor_faults ||
	    (!(tasks->counters.user_ns + tasks->counters.system_ns) &&
	     !meter_lost(meter, LOST_FREEING)))
		fail("%s: %" PRIu64 " minor faults, %" PRIu64 " ns in user and %" PRIu64
		     " in system mode",
		     cgroup->name, tasks->counters.minor_faults, tasks->counters.user_ns,
		     tasks->counters.system_ns);
}

/* Groups that live some ms: each of its path, its work and its end. */
static void be_short(void)
{
	static uint64_t ids[SHORT];
	_cleanup_(said_clear) struct said said = {};
	char name[32];

	for (size_t i = 0; i < SHORT; i++) {
		snprintf(name, sizeof(name), "short%zu", i);
		ids[i] = make_group(name);
		run_in(name, 1, i + 1, 0);
		remove_group(name);
	}
	for (size_t i = 0; i < SHORT; i++)
		settle(ids[i]);
	ask(&said);
	for (size_t i = 0; i < SHORT; i++) {
		const struct group_life *life = find_group(&said, ids[i]);

		expect(sum_written(&said, ids[i]).bytes, i + 1, "short%zu: bytes", i);
		expect(find_tasks(&said, ids[i])->counters.wchar, i + 1 + 1, "short%zu: wchar", i);
		expect(life && life->died_ns >= life->born_ns && life->born_ns, true,
		       "short%zu: life", i);
	}
	forget(ids, SHORT);
	expect_forgotten(ids, SHORT);
}

static void scene_life(void)
{
	struct cgroup cgroups[CGROUPS];
	uint64_t ids[CGROUPS], branch, generation;
	_cleanup_(said_clear) struct said said = {};

	open_meter(NULL);
	generation = cgroups_generation(meter);
	branch = make_group("branch");
	expect(cgroups_generation(meter) > generation, true, "the generation after a birth");
	hand_down(dir_of("branch"));
	for (size_t i = 0; i < CGROUPS; i++)
		live_and_die(&cgroups[i], i);
	for (size_t i = 0; i < CGROUPS; i++)
		settle(ids[i] = cgroups[i].id);
	ask(&said);
	for (size_t i = 0; i < CGROUPS; i++)
		check_cgroup(&said, &cgroups[i], branch, i % 2);
	generation = cgroups_generation(meter);
	for (size_t i = 0; i < CGROUPS; i += 2)
		remove_group(cgroups[i].name);
	expect(cgroups_generation(meter) >= generation + CGROUPS / 2 + 1, true,
	       "the generation after deaths");
	forget(ids, CGROUPS);
	expect_forgotten(ids, CGROUPS);
	be_short();
	remove_group("branch");
	expect(meter_lost(meter, LOST_GROUP) + meter_lost(meter, LOST_ROW), 0, "lost");
}

/* What was there before: told by the walk; and what is no more is marked as dead by it. */
static void scene_walk(void)
{
	const struct group_entry made_up = { .path = "/no such group", .answers = 1 };
	uint64_t old = make_group("old"), inner = make_group("old/inner"), made = UINT64_C(1) << 50;
	_cleanup_(said_clear) struct said said = {};
	const struct group_life *life;
	char path[2048];
	int fd;

	open_meter(NULL);
	run_in("old/inner", 3, 1009, 0);
	settle(inner);
	fd = objects_map_fd(meter_objects(meter), OBJECT_LIFE, "groups");
	if (bpf_map_update_elem(fd, &made, &made_up, BPF_ANY) < 0)
		give_up("a made up group", NULL);
	walk();
	ask(&said);
	life = find_group(&said, inner);
	snprintf(path, sizeof(path), "%s/old/inner", top_path);
	if (!life || strcmp(life->path, path) != 0 || life->parent != old || life->born_ns ||
	    life->died_ns || life->maker_uid || life->is_delegated)
		fail("%s is not as it was found", path);
	expect(sum_written(&said, inner).bytes, 1009, "%s: bytes", path);
	life = find_group(&said, made);
	expect(life && life->died_ns, true, "who is nowhere is dead");
	remove_group("old/inner");
	remove_group("old");
	expect(cgroups_forget_places(meter) >= 0, true, "places can be forgotten");
}

#define ALICES 1000

/* As alice, in a directory that is hers: many groups, and in each some work. */
static void be_hostile(const char *dir, unsigned int count)
{
	char name[64];
	int status;

	for (unsigned int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s/alice%u", dir, i);
		if (mkdir(dir_of(name), 0755) < 0)
			_exit(5);
		if (fork() == 0)
			work(name, 1, 1, 0);
		if (wait(&status) < 0 || status)
			_exit(6);
	}
	_exit(0);
}

static void run_as_alice(const char *dir, unsigned int count)
{
	char inside[64], procs[2400];
	int status;
	pid_t pid;

	snprintf(inside, sizeof(inside), "%s/shell", dir);
	make_group(inside);
	for (const char *const *file = (const char *const[]){ "", "/cgroup.procs", NULL }; *file;
	     file++) {
		snprintf(procs, sizeof(procs), "%s%s", dir_of(dir), *file);
		if (chown(procs, ALICE, ALICE) < 0)
			give_up(procs, NULL);
	}
	pid = fork();
	if (pid == 0) {
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir_of(inside));
		int fd = open(procs, O_WRONLY | O_CLOEXEC);

		if (fd < 0 || write(fd, "0", 1) != 1 || setgid(ALICE) < 0 || setuid(ALICE) < 0)
			_exit(4);
		close(fd);
		be_hostile(dir, count);
	}
	if (waitpid(pid, &status, 0) < 0 || status) {
		fprintf(stderr, "alice ended with %#x\n", (unsigned int)status);
		give_up("alice", NULL);
	}
}

static void remove_alices(const char *dir, unsigned int count)
{
	char name[64];

	for (unsigned int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s/alice%u", dir, i);
		remove_group(name);
	}
	snprintf(name, sizeof(name), "%s/shell", dir);
	remove_group(name);
}

/* A user makes a thousand groups: no more than his share is known, what he did is all there, and so
 * is what another did, before and after. */
static void scene_hostile(void)
{
	static const struct map_size sizes[] = { { "file_rows", 1024 }, {} };
	uint64_t hers, others, bytes, *ids;
	size_t known = 0;
	struct said said = {};

	open_meter(sizes);
	hers = make_group("hers");
	hand_down(dir_of("hers"));
	others = make_group("others");
	run_in("others", 7, 10007, 0);
	run_as_alice("hers", ALICES);
	run_in("others", 11, 20011, 0);
	settle(others);
	settle(hers);
	ask(&said);
	ids = calloc(ALICES + 8, sizeof(*ids));
	bytes = sum_written(&said, hers).bytes;
	for (size_t i = 0; i < said.group_count; i++) {
		if (said.groups[i].parent != hers)
			continue;
		settle(said.groups[i].id);
		bytes += sum_written(&said, said.groups[i].id).bytes;
		ids[known] = said.groups[i].id;
		known++;
		expect(said.groups[i].maker_uid == 0 || said.groups[i].maker_uid == ALICE, true,
		       "who made it");
		expect(said.groups[i].is_delegated, said.groups[i].maker_uid == ALICE,
		       "that its name is a user's");
	}
	expect(known, GROUPS_OF_ONE + 1, "groups of hers that are known, and her shell's");
	expect(meter_lost(meter, LOST_GUEST) >= ALICES - GROUPS_OF_ONE, true,
	       "groups beyond her share are told");
	/* Each of alice's also writes "0" to go where it works; from her shell's group. */
	expect(bytes, ALICES + ALICES, "bytes that she wrote, in all her groups");
	expect(sum_written(&said, others).bytes, 30018, "bytes of the other");
	expect(sum_written(&said, others).other_bytes, 0, "bytes of the other beyond a share");
	expect(find_tasks(&said, others)->counters.wchar, 30018 + 2, "wchar of the other");
	remove_alices("hers", ALICES);
	said_clear(&said);
	forget(ids, known);
	expect_forgotten(ids, known);
	/* Her share is free again, but for what is still there. */
	run_as_alice("hers", 200);
	settle(hers);
	ask(&said);
	known = 0;
	for (size_t i = 0; i < said.group_count; i++)
		known += said.groups[i].parent == hers && said.groups[i].maker_uid == ALICE;
	expect(known, 200, "groups of hers after the first were forgotten");
	remove_alices("hers", 200);
	remove_group("hers");
	remove_group("others");
	said_clear(&said);
	free(ids);
}

/* A full table: what is done in groups that are not known is the nearest known one's; and a walk
 * tells of them once there is room. */
static void scene_full(void)
{
	struct map_size sizes[] = { { "groups", 0 }, {} };
	_cleanup_(said_clear) struct said said = {}, later = {};
	uint64_t bytes = 0, calls = 0, top_id, ids[CGROUPS];
	size_t known = 0;
	char name[32];
	struct stat st;

	open_meter(NULL); /* to see how many there are; the meter's own are gone again */
	ask(&said);
	sizes[0].entries = 5;
	for (size_t i = 0; i < said.group_count; i++)
		sizes[0].entries += !said.groups[i].died_ns;
	meter = meter_close(meter);
	said_clear(&said);
	open_meter(sizes);
	for (size_t i = 0; i < CGROUPS; i++) {
		snprintf(name, sizeof(name), "cgroup%zu", i);
		ids[i] = make_group(name);
		run_in(name, 2, 5003, 0);
		settle(ids[i]);
	}
	if (stat(top, &st) < 0)
		give_up(top, NULL);
	top_id = st.st_ino;
	settle(top_id);
	ask(&said);
	for (size_t i = 0; i < CGROUPS; i++) {
		known += find_group(&said, ids[i]) != NULL;
		bytes += sum_written(&said, ids[i]).bytes;
		calls += find_tasks(&said, ids[i])->counters.syscw;
	}
	expect(known > 0 && known <= 5, true, "some are known");
	expect(bytes, known * 5003, "bytes of those that are known");
	expect(sum_written(&said, top_id).bytes, (CGROUPS - known) * 5003, "bytes of the others");
	expect(calls + find_tasks(&said, top_id)->counters.syscw, CGROUPS * (2 + 1),
	       "syscw of all");
	expect(meter_lost(meter, LOST_GROUP), CGROUPS - known, "groups that were not known");
	for (size_t i = 0; i < known; i++) { /* make room */
		snprintf(name, sizeof(name), "cgroup%zu", i);
		remove_group(name);
	}
	forget(ids, known);
	walk();
	ask(&later);
	bytes = 0;
	for (size_t i = known; i < CGROUPS; i++)
		bytes += find_group(&later, ids[i]) != NULL;
	expect(bytes, known, "groups that the walk found room for");
	for (size_t i = known; i < CGROUPS; i++) {
		snprintf(name, sizeof(name), "cgroup%zu", i);
		remove_group(name);
	}
}

#define MOUNTS 307

/* In many file systems, so many rows; each gets 11 bytes. */
static void be_greedy(const char *group)
{
	const char *dir = "/tmp/leaves-mount";
	char procs[2400];
	struct stat st;
	int join;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir_of(group));
	join = open(procs, O_WRONLY | O_CLOEXEC);
	(void)mkdir(dir, 0700);
	if (join < 0 || write(join, "0", 1) != 1 || unshare(CLONE_NEWNS) < 0 ||
	    mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		_exit(1);
	for (int i = 0; i < MOUNTS; i++) {
		int fd;

		if (mount("greedy", dir, "tmpfs", 0, "size=64k") < 0)
			_exit(2);
		fd = open("/tmp/leaves-mount/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || fstat(fd, &st) < 0 || ftruncate(fd, 3) < 0 ||
		    write(fd, "hello world", 11) != 11)
			_exit(3);
		close(fd);
	}
	_exit(0);
}

static void run_greedy(const char *group)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		be_greedy(group);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		give_up("the greedy one", NULL);
}

/* One cgroup works on more file systems than it may have rows and names: the rest is in its
 * (other), nothing is missing, and another has all of its own. */
static void scene_rows(void)
{
	static const struct map_size sizes[] = { { "file_rows", 1024 },
						 { "superblocks", 512 },
						 {} };
	uint64_t greedy, modest, before;
	_cleanup_(said_clear) struct said said = {};
	struct written written;

	open_meter(sizes);
	greedy = make_group("greedy");
	modest = make_group("modest");
	before = meter_lost(meter, LOST_PLACE);
	run_greedy("greedy");
	run_in("modest", 5, 2003, 0);
	settle(greedy);
	settle(modest);
	ask(&said);
	written = sum_written(&said, modest);
	expect(written.bytes, 2003, "bytes of the modest one");
	expect(written.other_bytes, 0, "bytes of the modest one beyond its share");
	written = sum_written(&said, greedy);
	expect(written.calls, MOUNTS, "calls of the greedy one");
	expect(written.bytes, MOUNTS * 11, "bytes of the greedy one");
	expect(written.other_bytes > 0, true, "bytes of the greedy one beyond its share");
	expect(written.other_bytes < written.bytes, true, "and within");
	expect(meter_lost(meter, LOST_ROW) > 0, true, "calls beyond a share are told");
	expect(meter_lost(meter, LOST_PLACE) > before, true, "places beyond a share are told");
	remove_group("greedy");
	remove_group("modest");
	forget(&greedy, 1);
	expect_forgotten(&greedy, 1);
	rmdir("/tmp/leaves-mount");
}

#define CROWD 8 /* each takes its share */

/* The table is full, and a cgroup that has a share left has no room in it: what it does stands in
 * its own (other), which it has. */
static void scene_crowded(void)
{
	static const struct map_size sizes[] = { { "file_rows", 1024 },
						 { "superblocks", 512 },
						 {} };
	_cleanup_(said_clear) struct said before = {}, later = {};
	uint64_t first, other;
	char name[32];
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one); /* rows are by CPU */
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		give_up("to stay on one CPU", NULL);
	open_meter(sizes);
	first = make_group("first");
	run_greedy("first");
	settle(first);
	for (size_t i = 0; i < CROWD; i++) {
		snprintf(name, sizeof(name), "other%zu", i);
		other = make_group(name);
		run_greedy(name);
		settle(other);
		remove_group(name);
	}
	if (cgroups_give_back(meter, first, SHARE_ROWS, 64) < 0) /* as of groups that it answered
								    for, and that are erased */
		give_up("cannot give back", NULL);
	ask(&before);
	expect(before.row_count >= 1024, true, "the table is full");
	run_in("first", 5, 2003, 0);
	settle(first);
	ask(&later);
	expect(sum_written(&later, first).bytes - sum_written(&before, first).bytes, 2003,
	       "bytes that are its own");
	expect(sum_written(&later, first).other_bytes - sum_written(&before, first).other_bytes,
	       2003, "in its (other)");
	remove_group("first");
	rmdir("/tmp/leaves-mount");
}

/* clang-format off */
static const struct {
	const char *name;
	void (*play)(void);
} scenes[] = {
	{ "life", scene_life }, { "walk", scene_walk }, { "hostile", scene_hostile }, { "full", scene_full },
	{ "rows", scene_rows }, { "crowded", scene_crowded },
};
/* clang-format on */

int main(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(scenes) && argc > 1; i++) {
		if (strcmp(scenes[i].name, argv[1]) != 0)
			continue;
		make_top();
		if ((mkdir(WORK_DIR, 0777) < 0 && errno != EEXIST) || chmod(WORK_DIR, 01777) < 0)
			give_up(WORK_DIR, NULL);
		scenes[i].play();
		meter_close(meter);
		rmdir(top);
		unlink(WORK_DIR "/0");
		unlink(WORK_DIR "/1000");
		rmdir(WORK_DIR);
		hierarchy_clear(&hierarchy);
		if (!failures)
			puts("all as it should be");
		return failures ? 1 : 0;
	}
	fprintf(stderr, "usage: leaves life|walk|hostile|full|rows|crowded\n");
	return 2;
}
