/* SPDX-License-Identifier: MIT */
#include "load/sizing.h"

#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "bpf/files.h" /* the kernel side's */
#include "basic/macro.h"
#include "bpf/syscall_counts.h"

#define MIB (UINT64_C(1) << 20)

/* ---- what the kernel takes ---- */

/* Of x86_64 and Linux 6.18. */
#define HASH_HEAD 832 /* struct bpf_htab */
#define ARRAY_HEAD 312 /* struct bpf_array */
#define STORAGE_HEAD 448 /* struct bpf_local_storage_map */
#define HASH_ELEMENT 48 /* struct htab_elem */
#define HASH_BUCKET 16 /* struct bucket */
#define HASH_LOCKS 32 /* counters of a CPU, one a lock class */
#define RING_HEAD 264 /* struct bpf_ringbuf_map */
#define RING_META_PAGES 3 /* its head, and the positions of its consumer and producer */
#define STORAGE_BUCKET 16 /* struct bpf_local_storage_map_bucket */
#define STORAGE_OF_TASK 192 /* struct bpf_local_storage, of a task that has any */
#define STORAGE_ELEMENT 72 /* struct bpf_local_storage_elem up to its value */

unsigned int sizing_cpus(void)
{
	int cpus = libbpf_num_possible_cpus();

	return cpus > 0 ? (unsigned int)cpus : 1;
}

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

static uint64_t power_of_two(uint64_t at_least)
{
	uint64_t power = 1;

	while (power < at_least)
		power *= 2;
	return power;
}

/* Preallocated: each CPU has one element more, for updates. */
static uint64_t hash_bytes(const struct map_form *f, unsigned int cpus)
{
	uint64_t element = HASH_ELEMENT + round_up(f->key_bytes, 8) + round_up(f->value_bytes, 8);
	uint64_t empty = HASH_HEAD + HASH_BUCKET * power_of_two(f->entries) + HASH_LOCKS * cpus;

	if (f->flags & BPF_F_NO_PREALLOC) /* one that nothing is put into */
		return empty;
	return empty + element * ((uint64_t)f->entries + cpus) + sizeof(void *) * cpus;
}

static uint64_t array_bytes(const struct map_form *f)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE),
		 values = round_up(f->value_bytes, 8) * f->entries;

	/* One that user space maps has its values on pages of their own. */
	return f->flags & BPF_F_MMAPABLE ? page + round_up(values, page) : ARRAY_HEAD + values;
}

/* From the kernel's general caches, which hold sizes of 64 bytes and its multiples. */
static uint64_t storage_bytes(const struct map_form *f, unsigned int cpus)
{
	uint64_t of_task = STORAGE_OF_TASK + round_up(STORAGE_ELEMENT + f->value_bytes, 64);

	return STORAGE_HEAD + STORAGE_BUCKET * power_of_two(cpus) + of_task * f->entries;
}

/* Its data pages are mapped twice, so that what wraps can be read in one. */
static uint64_t ring_bytes(const struct map_form *f)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), pages = f->entries / page;

	return RING_HEAD + (RING_META_PAGES + pages) * page +
	       (RING_META_PAGES + 2 * pages) * sizeof(void *);
}

uint64_t map_form_bytes(const struct map_form *f, unsigned int cpus)
{
	switch (f->type) {
	case BPF_MAP_TYPE_HASH:
		return hash_bytes(f, cpus);
	case BPF_MAP_TYPE_ARRAY:
		return array_bytes(f);
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		return ARRAY_HEAD +
		       (sizeof(void *) + round_up(f->value_bytes, 8) * cpus) * f->entries;
	case BPF_MAP_TYPE_TASK_STORAGE:
		return storage_bytes(f, cpus);
	case BPF_MAP_TYPE_RINGBUF:
		return ring_bytes(f);
	}
	return 0;
}

/* ---- what a shape needs ---- */

/* CPUs and cgroups, as sizing.h says. */
static unsigned int pairs(const struct sizing_shape *s)
{
	return s->cpus + s->jobs;
}

static unsigned int places(const struct sizing_shape *s)
{
	return pairs(s) * (s->mounts + SIZING_PLACES_BESIDE_MOUNTS);
}

static unsigned int histograms(const struct sizing_shape *s)
{
	return s->has_histograms ? places(s) * SIZING_HISTOGRAMS_OF_FIVE_PLACES / 5 : 0;
}

/* A CPU that finds no room counts among the unfollowed. */
static unsigned int followed_counts(const struct sizing_shape *s)
{
	return s->followed * MIN(s->cpus, 4U);
}

/* To count them, for one group. */
static unsigned int unfollowed(const struct sizing_shape *s)
{
	return s->followed ? MAX(s->followed, 1024U) * 4 : 0;
}

static unsigned int threaded(const struct sizing_shape *s)
{
	return MAX(s->jobs, s->cpus);
}

/* Bytes, at least a page. */
static unsigned int touched_rows(const struct sizing_shape *s)
{
	return s->has_groups ? TOUCHED_BYTES : (unsigned int)sysconf(_SC_PAGESIZE);
}

/* One a group that answers and a reason; nearly all groups have none. */
static unsigned int lost_by_cgroup(const struct sizing_shape *s)
{
	return s->jobs / 4;
}

enum used { /* bits: unless all of these are so, a map is not used */
	    BY_GROUP = 1, /* groups are told apart */
	    OF_ONE = 2, /* they are not */
	    FOLLOWING = 4,
	    BY_NAME = 8,
};

/*
 * What a map needs is a sum, or what its function says.  @usual: one job may be of any kind: of
 * thousands of tasks, say, or of all operations by all ways.  So there are so many entries at
 * least, unless the limit says otherwise.
 */
/* clang-format off */
static const struct need {
	const char *map;
	unsigned int usual;
	unsigned int of_job, of_pair, of_cpu, of_place, of_followed, fixed;
	unsigned int (*needed)(const struct sizing_shape *shape);
	unsigned int used;
	bool is_on_demand; /* of one group its memory was asked for, beyond the limit */
} table[] = {
	{ "file_rows",       8192, .of_place = SIZING_ROWS_OF_A_PLACE },
	{ "file_histograms", 2048, .needed = histograms },
	{ "superblocks",     1024, .of_job = SIZING_SUPERBLOCKS_OF_A_JOB, .fixed = SIZING_SUPERBLOCKS_OF_ALL },
	{ "parked_calls",    8192, .of_job = SIZING_TASKS_OF_A_JOB }, /* tasks asleep in a counted call */
	{ "path_ends",       8192, .of_job = SIZING_TASKS_OF_A_JOB }, /* of live tasks */
	{ "libaio_requests", 8192, .of_job = SIZING_TASKS_OF_A_JOB }, /* on their way */
	{ "task_totals",     4096, .of_pair = SIZING_CGROUPS_OF_A_JOB },
	{ "leaving_tasks",   4096, .of_job = SIZING_TASKS_OF_A_JOB }, /* ended and not yet freed, for some 20 ms */
	{ "polls",           1024, .of_pair = 1 },
	{ "traffic_rows",    1024, .of_pair = SIZING_SOCKETS_OF_A_JOB }, /* most jobs use one kind of socket or two */
	{ "block_rows",       512, .of_pair = 1 }, /* most jobs work on file systems over the network */
	{ "block_requests",  2048, .of_cpu = SIZING_REQUESTS_OF_A_CPU }, /* a device's queue holds some hundred to a thousand */
	{ "connections",     8192, .of_job = SIZING_CONNECTIONS_OF_A_JOB }, /* TCP sockets that are there at once */
	{ "task_baselines",     1, .of_job = SIZING_TASKS_OF_A_JOB },
	{ "ended_threads",    512, .needed = threaded }, /* processes of which threads ended */
	{ "task_times",      2048, .of_pair = SIZING_CGROUPS_OF_A_JOB, .of_cpu = SIZING_SERVICES },
	{ "task_states",        1, .of_job = SIZING_TASKS_OF_A_JOB },
	{ "groups",             1, .of_job = SIZING_GROUPS_OF_A_JOB, .fixed = SIZING_GROUPS_OF_ALL, .used = BY_GROUP },
	{ "given_back",         1, .of_job = 1, .fixed = SIZING_GROUPS_OF_ALL, .used = BY_GROUP }, /* a group that outlives others which took from its shares */
	{ "lost_by_cgroup",   256, .needed = lost_by_cgroup, .used = BY_GROUP },
	{ "touched_rows",       1, .needed = touched_rows },
	{ "followed_files",     1, .of_followed = 1, .is_on_demand = true },
	{ "followed_names",     1, .of_followed = 1, .is_on_demand = true },
	{ "followed_counts",    1, .needed = followed_counts, .is_on_demand = true },
	{ "unfollowed_files",   1, .needed = unfollowed, .used = OF_ONE, .is_on_demand = true },
	{ "unfollowed_by_cgroup", 1, .of_pair = SIZING_CGROUPS_OF_A_JOB, .used = BY_GROUP | FOLLOWING, .is_on_demand = true },
	{ "open_files",      8192, .of_followed = 1, .is_on_demand = true },
	{ "parked_refs",     8192, .of_job = SIZING_TASKS_OF_A_JOB, .used = FOLLOWING, .is_on_demand = true }, /* as parked_calls */
	{ "syscall_rows",       1, .fixed = SYSCALL_ROWS, .used = OF_ONE | BY_NAME, .is_on_demand = true },
	{ "syscalls_by_cgroup", 1024, .of_pair = SIZING_CGROUPS_OF_A_JOB * SIZING_SYSCALLS_OF_A_PAIR, .used = BY_GROUP | BY_NAME, .is_on_demand = true },
	{ "parked_syscalls", 16384, .of_job = SIZING_TASKS_OF_A_JOB, .used = BY_NAME, .is_on_demand = true }, /* tasks asleep in a call */
};
/* clang-format on */

static const struct need *find_need(const char *map)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (strcmp(table[i].map, map) == 0)
			return &table[i];
	}
	return NULL;
}

/* 0: it is not used. */
static unsigned int needed(const struct need *need, const struct sizing_shape *s)
{
	unsigned int is_so = (s->has_groups ? BY_GROUP : OF_ONE) | (s->followed ? FOLLOWING : 0) |
			     (s->names_syscalls ? BY_NAME : 0);

	if (need->used & ~is_so)
		return 0;
	if (need->needed)
		return need->needed(s);
	return need->of_job * s->jobs + need->of_pair * pairs(s) + need->of_cpu * s->cpus +
	       need->of_place * places(s) + need->of_followed * s->followed + need->fixed;
}

#define ROWS_MIN 64
#define SYSCALLS_MIN 1024 /* else the self-test has no room */
#define HISTOGRAMS_MIN 1
#define UNUSED_ENTRIES 1 /* a map has one at least */

static void fill_shape(struct sizing_shape *s)
{
	s->cpus = s->cpus ? s->cpus : sizing_cpus();
	s->jobs = s->jobs ? s->jobs : 1;
	s->mounts = s->mounts ? s->mounts : 8;
}

static unsigned int entries_for(const char *map, const struct sizing_shape *shape, unsigned int own)
{
	const struct need *need = find_need(map);

	if (!need)
		return own;
	return needed(need, shape) ? MAX(needed(need, shape), MAX(need->usual, own))
				   : UNUSED_ENTRIES;
}

unsigned int sizing_share(const char *map, unsigned int entries, const struct sizing_shape *shape)
{
	const struct need *need = find_need(map);
	struct sizing_shape one = *shape;

	one.jobs = 1;
	one.followed /= 8; /* of all jobs' */
	fill_shape(&one);
	return need ? MIN(MAX(entries / 8, needed(need, &one)), entries / 2) : entries / 8;
}

static const struct map_size *find_fixed(const struct map_size *fixed, const char *map)
{
	for (; fixed && fixed->map; fixed++) {
		if (strcmp(fixed->map, map) == 0)
			return fixed;
	}
	return NULL;
}

/* Take entries from @map, down to @least, until @bytes of all maps are within @limit; returns what
 * they are then. */
static uint64_t shrink(struct map_form *map, unsigned int least, uint64_t bytes, uint64_t limit,
		       unsigned int cpus)
{
	uint64_t others = bytes - map_form_bytes(map, cpus);
	unsigned int most = map->entries, low = MIN(least, most);

	while (low < most) { /* the greatest number that fits is in low..most */
		map->entries = low + (most - low + 1) / 2;
		if (others + map_form_bytes(map, cpus) <= limit)
			low = map->entries;
		else
			most = map->entries - 1;
	}
	map->entries = low;
	return others + map_form_bytes(map, cpus);
}

uint64_t sizing_choose(const struct sizing *sizing, struct map_form *forms, size_t count)
{
	/* In the order in which maps shrink. */
	static const struct map_size least[] = { { "file_histograms", HISTOGRAMS_MIN },
						 { "syscalls_by_cgroup", SYSCALLS_MIN },
						 { "file_rows", ROWS_MIN } };
	uint64_t limit = sizing->limit_bytes ? sizing->limit_bytes : SIZING_LIMIT_MIB * MIB;
	uint64_t bytes = 0;
	struct sizing_shape shape = sizing->shape;

	fill_shape(&shape);
	for (size_t i = 0; i < count; i++) {
		const struct map_size *fixed = find_fixed(sizing->fixed, forms[i].name);
		const struct need *need = find_need(forms[i].name);
		bool is_demanded = need && need->is_on_demand; /* used where that is asked for */
		bool is_asked = is_demanded && needed(need, &shape);

		forms[i].entries = fixed ? fixed->entries
					 : entries_for(forms[i].name, &shape, forms[i].entries);
		if (is_demanded && !is_asked && forms[i].type == BPF_MAP_TYPE_HASH)
			forms[i].flags |= BPF_F_NO_PREALLOC; /* no element for each CPU */
		if (is_demanded && is_asked && !shape.has_groups && limit < UINT64_MAX / 2)
			limit += map_form_bytes(&forms[i], shape.cpus);
	}
	for (size_t i = 0; i < count; i++)
		bytes += map_form_bytes(&forms[i], shape.cpus);
	for (size_t map = 0; map < ARRAY_SIZE(least); map++) {
		for (size_t i = 0; i < count && bytes > limit; i++) {
			if (strcmp(forms[i].name, least[map].map) == 0 &&
			    !find_fixed(sizing->fixed, forms[i].name))
				bytes = shrink(&forms[i], least[map].entries, bytes, limit,
					       shape.cpus);
		}
	}
	return bytes;
}
