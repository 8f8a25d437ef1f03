/* SPDX-License-Identifier: MIT */
#include "heritage.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "block_rows.h" /* the kernel side's */
#include "cleanup.h"
#include "file_op.h"
#include "folder.h"
#include "macro.h"
#include "pinned.h"
#include "pins.h"
#include "teams.h"
#include "tallies.h"
#include "traffic.h"
#include "translation.h"

#define ENTRIES_MAX (1 << 24) /* that a map is believed to hold */

PRINTF_LIKE(2, 3) static void tell(struct heritage *h, const char *format, ...)
{
	va_list args;

	if (*h->why)
		return;
	va_start(args, format);
	vsnprintf(h->why, sizeof(h->why), format, args);
	va_end(args);
}

/* ---- one entry of each map that we know, as we have it ---- */

struct total {
	uint64_t leaf;
	struct task_totals totals;
	uint32_t uid;
};

struct born {
	uint64_t id;
	uint64_t peak_pages;
	struct group_life life;
	uint8_t has_oom_kills, is_cut;
};

static const struct member key_members[] = {
	MEMBER(struct file_key, leaf, true), MEMBER(struct file_key, place, true),
	MEMBER(struct file_key, op, true),   MEMBER(struct file_key, way, true),
	MEMBER(struct file_key, cpu, false), MEMBER(struct file_key, is_trampolines, false),
};
static const struct member row_members[] = {
	MEMBER(struct file_counts, calls, true),
	MEMBER(struct file_counts, errors, false),
	MEMBER(struct file_counts, ns, false),
	MEMBER(struct file_counts, amount, true),
};
static const struct member histogram_members[] = {
	MEMBER(struct file_histograms, sizes, false),
	MEMBER(struct file_histograms, latencies, false),
};
static const struct member leaf_members[] = { MEMBER(struct leaf_cpu, leaf, true) };

#define ENDED(member)                                                                              \
	{ "ended." #member, offsetof(struct total, totals.ended.member), sizeof(uint64_t), false }
#define TOTAL(member, is_needed)                                                                   \
	{ #member, offsetof(struct total, totals.member), sizeof(uint64_t), is_needed }
/* clang-format off */
static const struct member total_members[] = {
	TOTAL(exits, true), TOTAL(frees, true), TOTAL(process_peak_pages, false),
	TOTAL(team.count, false), TOTAL(team.sum_ns, false), TOTAL(team.greatest_ns, false),
	ENDED(user_ns), ENDED(system_ns), ENDED(run_delay_ns), ENDED(voluntary_switches),
	ENDED(involuntary_switches), ENDED(migrations), ENDED(minor_faults), ENDED(major_faults), ENDED(rchar), ENDED(wchar),
	ENDED(syscr), ENDED(syscw), ENDED(read_bytes), ENDED(write_bytes),
	{ "uid", offsetof(struct total, uid), sizeof(uint32_t), false },
	{ "crashed", offsetof(struct total, totals.crashed), sizeof(uint32_t), false },
};

#define BLOCKED(cause) MEMBER(struct task_times, blocked.cause, false)
static const struct member times_members[] = {
	MEMBER(struct task_times, on, true), MEMBER(struct task_times, stolen, false), MEMBER(struct task_times, queued, true),
	BLOCKED(file_read), BLOCKED(file_write), BLOCKED(file_meta), BLOCKED(file_async), BLOCKED(sync),
	BLOCKED(page_fault), BLOCKED(network), BLOCKED(lock), BLOCKED(pipe), BLOCKED(poll), BLOCKED(sleep),
	BLOCKED(children), BLOCKED(stopped), BLOCKED(other),
};

static const struct member looks_members[] = {
	MEMBER(struct looks, polls, true), MEMBER(struct looks, yields, true), MEMBER(struct looks, ns, true),
};

static const struct member traffic_key_members[] = {
	MEMBER(struct traffic_key, leaf, true), MEMBER(struct traffic_key, kind, true),
};
static const struct member traffic_members[] = {
	MEMBER(struct traffic_counts, sent_bytes, true), MEMBER(struct traffic_counts, sent_calls, true),
	MEMBER(struct traffic_counts, sent_errors, true), MEMBER(struct traffic_counts, received_bytes, true),
	MEMBER(struct traffic_counts, received_calls, true), MEMBER(struct traffic_counts, received_errors, true),
	MEMBER(struct traffic_counts, opened, true), MEMBER(struct traffic_counts, accepted, true),
	MEMBER(struct traffic_counts, retransmits, true), MEMBER(struct traffic_counts, round_trip_ns, true),
	MEMBER(struct traffic_counts, round_trips, true),
	MEMBER(struct traffic_counts, segments, false), MEMBER(struct traffic_counts, least_round_trip_ns, false), MEMBER(struct traffic_counts, round_trip_times, false),
};

static const struct member block_key_members[] = {
	MEMBER(struct block_key, leaf, true), MEMBER(struct block_key, op, true),
};
static const struct member block_members[] = {
	MEMBER(struct block_value, bytes, true), MEMBER(struct block_value, requests, true),
	MEMBER(struct block_value, errors, true), MEMBER(struct block_value, ns, true),
	MEMBER(struct block_value, latencies, true), MEMBER(struct block_value, name, true),
};

#define LIFE(member, is_needed)                                                                    \
	{ #member, offsetof(struct born, life.member), sizeof(((struct born *)NULL)->life.member), is_needed }
static const struct member life_members[] = {
	LIFE(parent, true), LIFE(born_ns, true), LIFE(died_ns, true), LIFE(path, true), LIFE(maker_uid, false),
	LIFE(oom_kills, false), MEMBER(struct born, peak_pages, false),
	MEMBER(struct born, has_oom_kills, false), MEMBER(struct born, is_cut, false),
};

static const struct member victim_members[] = {
	MEMBER(struct oom_victim, killed_ns, true), MEMBER(struct oom_victim, anon_pages, false),
	MEMBER(struct oom_victim, file_pages, false), MEMBER(struct oom_victim, shmem_pages, false),
	MEMBER(struct oom_victim, pid, true), MEMBER(struct oom_victim, uid, true),
	MEMBER(struct oom_victim, has_pages, false), MEMBER(struct oom_victim, command, true),
};

static const struct member place_members[] = {
	MEMBER(struct superblock, magic, true), MEMBER(struct superblock, device, true),
	MEMBER(struct superblock, mnt_ns, true), MEMBER(struct superblock, is_mounted, true),
	MEMBER(struct superblock, has_path, true), MEMBER(struct superblock, is_cut, true),
	MEMBER(struct superblock, name_count, true), MEMBER(struct superblock, fstype, true),
	MEMBER(struct superblock, names, true),
};
/* clang-format on */
static_assert(ARRAY_SIZE(total_members) == 6 + TASK_COUNTERS + 2, "each counter is told");
static_assert(ARRAY_SIZE(times_members) == 3 + TIME_CAUSES, "and each cause");
static_assert(ARRAY_SIZE(looks_members) == LOOKS_COUNTERS, "and each number of looks");
static_assert(ARRAY_SIZE(traffic_members) == TRAFFIC_COUNTERS + 2, "and of traffic");

/* ---- reading a map of theirs ---- */

/* An open map, and how its keys and values are to be read. */
struct source {
	struct heritage *to;
	const char *name;
	int fd;
	struct bpf_map_info info;
	struct translation key, value;
	int ops[256], ways[256]; /* their numbers' meaning; negative: not known */
	bool has_traffic;	 /* it was read... */
	bool has_details; /* ...with all that we know of */
	bool has_block;
};

/* @list with room for one entry more than its @count, that one zeroed; NULL: no memory. */
static void *grow(void *list, size_t count, size_t size)
{
	bool is_full = (count & (count - 1)) == 0; /* it grows by powers of two */
	char *larger = is_full ? reallocarray(list, count ? count * 2 : 1, size) : list;

	if (larger)
		memset(larger + count * size, 0, size);
	return larger;
}

/* The new last entry of one of a heritage's lists; NULL: no memory. */
#define ADD(list, count)                                                                           \
	({                                                                                         \
		__typeof__(list) larger_ = grow(list, count, sizeof(*(list)));                     \
		if (larger_)                                                                       \
			(list) = larger_;                                                          \
		larger_ ? &larger_[(count)++] : NULL;                                              \
	})

/* In our numbers; false: we have none such. */
static bool translate_op(const struct source *s, uint8_t *op, uint8_t *way)
{
	if (s->ops[*op] < 0 || s->ways[*way] < 0)
		return false;
	*op = (uint8_t)s->ops[*op];
	*way = (uint8_t)s->ways[*way];
	return true;
}

static bool read_key(const struct source *s, const void *key, struct file_key *ret)
{
	*ret = (struct file_key){};
	translation_apply(&s->key, key, ret);
	return translate_op(s, &ret->op, &ret->way);
}

static bool take_row(const struct source *s, const void *key, const void *value)
{
	struct file_key own_key;
	struct leaf_row *row;

	if (!read_key(s, key, &own_key))
		return false;
	row = ADD(s->to->rows, s->to->row_count);
	if (!row)
		return false;
	row->key = own_key;
	translation_apply(&s->value, value, &row->counts);
	return true;
}

static bool take_histograms(const struct source *s, const void *key, const void *value)
{
	struct leaf_histograms *h;
	struct file_key own_key;

	if (!read_key(s, key, &own_key))
		return false;
	h = ADD(s->to->histograms, s->to->histogram_count);
	if (!h)
		return false;
	h->key = own_key;
	translation_apply(&s->value, value, &h->histograms);
	return true;
}

static bool take_total(const struct source *s, const void *key, const void *value)
{
	struct leaf_tasks *tasks = ADD(s->to->tasks, s->to->task_count);
	struct total total = {};
	struct leaf_cpu leaf = {};

	if (!tasks)
		return false;
	translation_apply(&s->key, key, &leaf);
	translation_apply(&s->value, value, &total);
	tasks->leaf = leaf.leaf;
	tasks->counters = total.totals.ended;
	tasks->ended = total.totals.frees;
	tasks->crashed = total.totals.crashed;
	tasks->unsettled = total.totals.exits - total.totals.frees;
	tasks->process_peak_pages = total.totals.process_peak_pages;
	tasks->team = total.totals.team;
	tasks->uid = total.uid ? total.uid : UINT32_MAX;
	return true;
}

static bool take_times(const struct source *s, const void *key, const void *value)
{
	struct leaf_tasks *tasks = ADD(s->to->tasks, s->to->task_count);
	struct leaf_cpu leaf = {};

	if (!tasks)
		return false;
	translation_apply(&s->key, key, &leaf);
	translation_apply(&s->value, value, &tasks->times);
	tasks->leaf = leaf.leaf;
	tasks->uid = UINT32_MAX;
	s->to->has_times = true;
	return true;
}

static bool take_looks(const struct source *s, const void *key, const void *value)
{
	struct leaf_tasks *tasks = ADD(s->to->tasks, s->to->task_count);
	struct leaf_cpu leaf = {};

	if (!tasks)
		return false;
	translation_apply(&s->key, key, &leaf);
	translation_apply(&s->value, value, &tasks->looks);
	tasks->leaf = leaf.leaf;
	tasks->uid = UINT32_MAX;
	s->to->has_looks = true;
	return true;
}

static bool take_victim(const struct source *s, const void *key, const void *value)
{
	struct heritage_victim *victim = ADD(s->to->victims, s->to->victim_count);
	struct leaf_cpu leaf = {};

	if (!victim)
		return false;
	translation_apply(&s->key, key, &leaf);
	translation_apply(&s->value, value, &victim->victim);
	victim->leaf = leaf.leaf;
	return true;
}

static bool take_traffic(const struct source *s, const void *key, const void *value)
{
	struct leaf_tasks *tasks = ADD(s->to->tasks, s->to->task_count);
	struct traffic_counts counts = {};
	struct traffic_key own_key = {};

	if (!tasks)
		return false;
	translation_apply(&s->key, key, &own_key);
	tasks->leaf = own_key.leaf;
	tasks->uid = UINT32_MAX;
	if (own_key.kind >= TRAFFIC_KINDS)
		return false;
	translation_apply(&s->value, value, &counts);
	traffic_add(&tasks->network, own_key.kind, &counts);
	return true;
}

static bool take_block(const struct source *s, const void *key, const void *value)
{
	struct leaf_block *block = ADD(s->to->blocks, s->to->block_count);
	struct block_key own_key = {};
	struct block_value own_value = {};

	if (!block)
		return false;
	translation_apply(&s->key, key, &own_key);
	translation_apply(&s->value, value, &own_value);
	block->leaf = own_key.leaf;
	if (blocks_row_of(own_key.op, &own_value, &block->row))
		return true;
	s->to->block_count--;
	return false;
}

static bool take_group(const struct source *s, const void *key, const void *value)
{
	struct group_life *life = ADD(s->to->groups, s->to->group_count);
	struct born born = { .life.maker_uid = UINT32_MAX };

	if (!life)
		return false;
	translation_apply(&s->value, value, &born);
	*life = born.life;
	memcpy(&life->id, key, sizeof(life->id));
	life->peak_bytes = born.peak_pages * (uint64_t)sysconf(_SC_PAGESIZE);
	life->has_oom_kills = born.has_oom_kills != 0;
	life->is_cut = born.is_cut || life->path[sizeof(life->path) - 1];
	life->path[sizeof(life->path) - 1] = '\0';
	return true;
}

static bool take_place(const struct source *s, const void *key, const void *value)
{
	struct heritage_place *place = ADD(s->to->places, s->to->place_count);

	if (!place)
		return false;
	memcpy(&place->place, key, sizeof(place->place));
	translation_apply(&s->value, value, &place->superblock);
	return true;
}

/* clang-format off */
static const struct {
	const char *map;
	const struct member *key; /* NULL: a number of 64 bits */
	size_t key_count;
	const struct member *value;
	size_t value_count;
	bool (*take)(const struct source *s, const void *key, const void *value);
} known[] = {
	{ "file_rows", key_members, ARRAY_SIZE(key_members), row_members, ARRAY_SIZE(row_members), take_row },
	{ "file_histograms", key_members, ARRAY_SIZE(key_members),
	  histogram_members, ARRAY_SIZE(histogram_members), take_histograms },
	{ "superblocks", NULL, 0, place_members, ARRAY_SIZE(place_members), take_place },
	{ "task_totals", leaf_members, ARRAY_SIZE(leaf_members),
	  total_members, ARRAY_SIZE(total_members), take_total },
	{ "task_times", leaf_members, ARRAY_SIZE(leaf_members),
	  times_members, ARRAY_SIZE(times_members), take_times },
	{ "looks", leaf_members, ARRAY_SIZE(leaf_members), looks_members, ARRAY_SIZE(looks_members), take_looks },
	{ "oom_victims", leaf_members, ARRAY_SIZE(leaf_members), victim_members, ARRAY_SIZE(victim_members), take_victim },
	{ "traffic_rows", traffic_key_members, ARRAY_SIZE(traffic_key_members),
	  traffic_members, ARRAY_SIZE(traffic_members), take_traffic },
	{ "block_rows", block_key_members, ARRAY_SIZE(block_key_members),
	  block_members, ARRAY_SIZE(block_members), take_block },
	{ "groups", NULL, 0, life_members, ARRAY_SIZE(life_members), take_group },
};
/* clang-format on */

static int translate(struct source *s, const char *what, uint32_t type, uint32_t size, const struct member *members,
		     size_t count, const struct btf *btf, struct translation *ret)
{
	int r = translation_make(btf, type, size, members, count, ret);

	if (r < 0)
		tell(s->to, "the %s of their map '%s' are not ours", what, s->name);
	else if (ret->missing)
		tell(s->to, "their map '%s' has no '%s'", s->name, ret->missing);
	return r;
}

static int read_types(struct source *s, size_t i)
{
	struct btf *btf = btf__load_from_kernel_by_id(s->info.btf_id);
	int r = 0;

	if (!btf)
		return -ENOENT;
	if (known[i].key)
		r = translate(s, "keys", s->info.btf_key_type_id, s->info.key_size, known[i].key,
			      known[i].key_count, btf, &s->key);
	else if (s->info.key_size != sizeof(uint64_t))
		r = -ENOENT;
	if (r >= 0)
		r = translate(s, "values", s->info.btf_value_type_id, s->info.value_size, known[i].value,
			      known[i].value_count, btf, &s->value);
	btf__free(btf);
	return r;
}

static int visit(struct source *s, bool (*take)(const struct source *s, const void *key, const void *value))
{
	_cleanup_free_ char *key = calloc(1, s->info.key_size), *value = calloc(1, s->info.value_size);
	const void *previous = NULL;

	if (!key || !value)
		return -ENOMEM;
	for (size_t n = 0; n < ENTRIES_MAX && bpf_map_get_next_key(s->fd, previous, key) == 0; n++) {
		previous = key;
		if (bpf_map_lookup_elem(s->fd, key, value) < 0 || !take(s, key, value)) {
			s->to->unread++;
			tell(s->to, "an entry of their map '%s' is not known here", s->name);
		}
	}
	return 0;
}

static int open_source(const struct pins *set, const char *pin, struct source *s)
{
	uint32_t size = sizeof(s->info);

	s->name = pin;
	s->info = (struct bpf_map_info){};
	s->fd = pins_get(set, PINS_MAPS, pin);
	if (s->fd >= 0 && bpf_obj_get_info_by_fd(s->fd, &s->info, &size) < 0) {
		close(s->fd);
		s->fd = -errno;
	}
	return s->fd;
}

static void read_hash(struct source *s, const struct pins *set, const char *pin, size_t i)
{
	int r = open_source(set, pin, s);

	if (r >= 0)
		r = s->info.type == BPF_MAP_TYPE_HASH ? read_types(s, i) : -ENOENT;
	if (r >= 0)
		r = visit(s, known[i].take);
	if (r >= 0 && known[i].take == take_traffic) {
		s->has_traffic = true;
		s->has_details = !s->value.missing;
	}
	s->has_block |= r >= 0 && known[i].take == take_block;
	if (r < 0) {
		s->to->unread_maps++;
		tell(s->to, "their map '%s' cannot be read", pin);
	}
	if (s->fd >= 0)
		close(s->fd);
}

/* ---- maps of a value for each CPU ---- */

/* Add @number uint64_t of each CPU's value; @ret has room for so many. */
static int sum_cpus(const struct source *s, uint32_t i, uint64_t *ret, size_t number)
{
	int cpus = libbpf_num_possible_cpus();
	size_t size = (s->info.value_size + 7) / 8;
	_cleanup_free_ uint64_t *values = cpus > 0 ? calloc((size_t)cpus, size * sizeof(uint64_t)) : NULL;

	if (!values || number > size || bpf_map_lookup_elem(s->fd, &i, values) < 0)
		return -EIO;
	memset(ret, 0, number * sizeof(*ret));
	for (size_t cpu = 0; cpu < (size_t)cpus; cpu++) {
		for (size_t n = 0; n < number; n++)
			ret[n] += values[cpu * size + n];
	}
	return 0;
}

/* The way back from OTHER_ROW(). */
static void other_op(uint32_t other, uint8_t *ret_op, uint8_t *ret_way)
{
	bool has_way = other >= FILES_OPS;

	*ret_op = (uint8_t)(has_way ? (other - FILES_OPS) % 2 : other);
	*ret_way = (uint8_t)(has_way ? (other - FILES_OPS) / 2 : 0);
}

static void read_other_rows(struct source *s)
{
	for (uint32_t i = 0; i < s->info.max_entries; i++) {
		struct leaf_row *row, other = { .key.leaf = LEAF_OTHER, .key.place = PLACE_UNRESOLVED };

		other_op(i, &other.key.op, &other.key.way);
		if (sum_cpus(s, i, (uint64_t *)&other.counts, sizeof(other.counts) / sizeof(uint64_t)) < 0) {
			s->to->unread++;
			continue;
		}
		if (!other.counts.calls)
			continue;
		row = translate_op(s, &other.key.op, &other.key.way) ? ADD(s->to->rows, s->to->row_count) : NULL;
		if (row)
			*row = other;
		else
			s->to->unread++;
	}
}

static void read_lost(struct source *s)
{
	for (uint32_t reason = 0; reason < s->info.max_entries; reason++) {
		uint64_t lost;

		if (sum_cpus(s, reason, &lost, 1) >= 0)
			s->to->lost += lost;
	}
}

static void read_per_cpu(struct source *s, const struct pins *set, const char *pin, uint32_t value_size,
			 uint32_t entries, void (*read)(struct source *s))
{
	int r = open_source(set, pin, s);

	if (r >= 0 && s->info.type == BPF_MAP_TYPE_PERCPU_ARRAY && s->info.value_size == value_size &&
	    (!entries || s->info.max_entries == entries)) {
		read(s);
	} else {
		s->to->unread_maps++;
		tell(s->to, "their map '%s' is not as ours", pin);
	}
	if (s->fd >= 0)
		close(s->fd);
}

/* @pin: "OBJECT-MAP".  Whose map it is may change from build to build. */
static void read_map(struct source *s, const struct pins *set, const char *pin)
{
	const char *map = strchr(pin, '-');

	map = map ? map + 1 : pin;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].map, map) == 0)
			read_hash(s, set, pin, i);
	}
	if (strcmp(map, "other_rows") == 0)
		read_per_cpu(s, set, pin, sizeof(struct file_counts), OTHER_ROWS, read_other_rows);
	else if (strcmp(map, "lost") == 0)
		read_per_cpu(s, set, pin, sizeof(uint64_t), 0, read_lost);
}

/* A map that is not there counted nothing: another build, or other settings, had no such tier. */
static void read_maps(struct source *s, const struct pins *set)
{
	_cleanup_(folder_clear) struct folder maps = {};
	int r = pins_list(set, PINS_MAPS, &maps);

	if (r < 0) {
		s->to->unread_maps++;
		tell(s->to, "their maps cannot be listed: %s", strerror(-r));
	}
	for (size_t i = 0; i < maps.count; i++)
		read_map(s, set, maps.names[i]);
}

/* ---- a set ---- */

/* Numbers of operations and ways are a build's own: their names tell. */
static void read_names(struct source *s, const struct pins *set)
{
	_cleanup_close_ int fd = pins_get(set, NULL, PINS_NAMES);
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info);

	for (size_t i = 0; i < ARRAY_SIZE(s->ops); i++)
		s->ops[i] = s->ways[i] = -1;
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0 || info.key_size != sizeof(uint32_t) ||
	    info.value_size != PINNED_NAME_SIZE || info.max_entries != PINNED_NAMES) {
		tell(s->to, "their operations have no names");
		return;
	}
	for (uint32_t i = 0; i < PINNED_NAMES; i++) {
		char name[PINNED_NAME_SIZE + 1] = "";

		if (bpf_map_lookup_elem(fd, &i, name) < 0 || !*name)
			continue;
		if (i < FILES_OPS && file_op_find(name) < OP_COUNT)
			s->ops[i] = (int)file_op_find(name);
		else if (i >= FILES_OPS && file_way_find(name) < WAY_COUNT)
			s->ways[i - FILES_OPS] = (int)file_way_find(name);
	}
}

static int compare_leaves(const void *a, const void *b)
{
	const struct leaf_tasks *x = a, *y = b;

	return (x->leaf > y->leaf) - (x->leaf < y->leaf);
}

/* One entry a leaf, of those from @first on, which are one a leaf and CPU. */
static void fold_tasks(struct heritage *h, size_t first)
{
	size_t kept = first;

	if (h->task_count > first + 1)
		qsort(h->tasks + first, h->task_count - first, sizeof(*h->tasks), compare_leaves);
	for (size_t i = first; i < h->task_count; i++) {
		struct leaf_tasks *from = &h->tasks[i], *to = &h->tasks[kept - (kept > first)];

		if (kept == first || to->leaf != from->leaf) {
			h->tasks[kept++] = *from;
			continue;
		}
		for (size_t n = 0; n < TASK_COUNTERS; n++)
			((uint64_t *)&to->counters)[n] += ((uint64_t *)&from->counters)[n];
		for (size_t n = 0; n < sizeof(to->times) / sizeof(uint64_t); n++)
			((uint64_t *)&to->times)[n] += ((uint64_t *)&from->times)[n];
		for (size_t n = 0; n < LOOKS_COUNTERS; n++)
			((uint64_t *)&to->looks)[n] += ((uint64_t *)&from->looks)[n];
		network_add(&to->network, &from->network);
		to->ended += from->ended;
		to->crashed += from->crashed;
		to->unsettled += from->unsettled; /* one CPU's may be below zero: modulo 2^64 */
		to->process_peak_pages = MAX(to->process_peak_pages, from->process_peak_pages);
		thread_team_raise(&to->team, &from->team);
		to->uid = to->uid == UINT32_MAX ? from->uid : to->uid;
	}
	h->task_count = kept;
	for (size_t i = first; i < kept; i++) {
		h->unsettled += (int64_t)h->tasks[i].unsettled > 0 ? h->tasks[i].unsettled : 0;
		h->tasks[i].unsettled = 0; /* who comes next counts them as they are freed */
	}
}

void heritage_harvest(struct heritage *h, const struct pins *set)
{
	struct source source = { .to = h };
	size_t first = h->task_count;

	read_names(&source, set);
	read_maps(&source, set);
	fold_tasks(h, first);
	h->has_details = source.has_details && (h->has_details || !h->sets);
	h->has_network = source.has_traffic && (h->has_network || !h->sets); /* a part would not do */
	h->has_block = source.has_block && (h->has_block || !h->sets);
	h->sets++;
}

void heritage_clear(struct heritage *h)
{
	free(h->rows);
	free(h->histograms);
	free(h->tasks);
	free(h->victims);
	free(h->blocks);
	free(h->groups);
	free(h->places);
	*h = (struct heritage){};
}
