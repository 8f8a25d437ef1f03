/* SPDX-License-Identifier: MIT */
/* T3: the files that the kernel side followed, with their names and by their directories. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "counters/details.h"
#include "basic/error.h"
#include "load/entries.h"
#include "bpf/files.h"
#include "bpf/lost.h"
#include "bpf/tasks.h"
#include "model/sections/hot_files.h"
#include "basic/macro.h"
#include "counters/naming.h"
#include "counters/place_names.h"
#include "load/meter.h"

/* One file. */
struct found {
	struct followed_key key;
	struct followed_file file;
	struct followed_counts counts; /* over all CPUs */
	const char *mount; /* the names' */
	char *path; /* owned */
	size_t dir_length; /* of the path: of a directory all of it */
};

/* Of a cgroup, or of all together. */
struct finds {
	struct found *items;
	size_t count, room;
	struct followed_counts dropped; /* what was done with files that are not among them */
	uint64_t dropped_files;
};

struct search {
	const struct details_of *of;
	struct place_names *names;
	struct finds *finds; /* details_count() */
};

static void search_clear(struct search *s)
{
	for (size_t at = 0; s->finds && at < details_count(s->of); at++) {
		for (size_t i = 0; i < s->finds[at].count; i++)
			free(s->finds[at].items[i].path);
		free(s->finds[at].items);
	}
	free(s->finds);
}

/* NULL: that cgroup's are not wanted. */
static struct finds *finds_of(const struct search *s, uint64_t cgroup)
{
	size_t at = details_index(s->of, cgroup);

	return at == SIZE_MAX ? NULL : &s->finds[at];
}

/* ---- out of the kernel's maps ---- */

static int visit_map(const struct objects *objects, const char *name,
		     int (*visit)(const struct search *search, const void *key, const void *value),
		     const struct search *search)
{
	_cleanup_(entries_end) struct entries e = objects_entries(objects, OBJECT_FILES, name);
	int r = 0;

	while (r >= 0 && (r = entries_next(&e)) > 0)
		r = visit(search, e.key, e.value);
	return r;
}

static int add_found(const struct search *search, const void *key, const void *value)
{
	const struct followed_key *its = key;
	struct finds *finds = finds_of(search, its->cgroup);
	const struct snapshot_mount *mount;

	if (!finds)
		return 0;
	mount = place_names_get(search->names, its->place);
	if (!mount ||
	    array_reserve(&finds->items, &finds->room, finds->count, sizeof(*finds->items)) < 0)
		return -ENOMEM;
	finds->items[finds->count++] = (struct found){ .key = *its,
						       .file = *(const struct followed_file *)value,
						       .mount = mount->name };
	return 0;
}

static int compare_found_keys(const void *a, const void *b)
{
	const struct followed_key *x = &((const struct found *)a)->key,
				  *y = &((const struct found *)b)->key;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return (x->generation > y->generation) - (x->generation < y->generation);
}

/* Sorted, and one of those that several cgroups used. */
static void sort_finds(struct finds *finds)
{
	size_t kept = 0;

	if (finds->count > 1)
		qsort(finds->items, finds->count, sizeof(*finds->items), compare_found_keys);
	for (size_t i = 0; i < finds->count; i++) {
		struct found *found = &finds->items[i], *last = &finds->items[kept - !!kept];

		if (kept && compare_found_keys(last, found) == 0)
			last->file.size = MAX(last->file.size, found->file.size);
		else
			finds->items[kept++] = *found;
	}
	finds->count = kept;
}

static struct found *find(const struct search *search, const struct followed_key *key)
{
	const struct finds *finds = finds_of(search, key->cgroup);
	struct found wanted = { .key = *key };

	return finds && finds->count ? bsearch(&wanted, finds->items, finds->count, sizeof(wanted),
					       compare_found_keys)
				     : NULL;
}

static void add_counts(struct followed_counts *to, const struct followed_counts *from)
{
	const uint64_t read_low_inverse = MAX(to->read_low_inverse, from->read_low_inverse);
	const uint64_t read_high = MAX(to->read_high, from->read_high);
	uint64_t *sums = (uint64_t *)(void *)to;
	const uint64_t *parts = (const uint64_t *)(const void *)from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*sums); i++)
		sums[i] += parts[i];
	to->read_low_inverse = read_low_inverse; /* these two are no sums */
	to->read_high = read_high;
}

static int add_cpu(const struct search *search, const void *key, const void *value)
{
	struct found *found = find(search, key);

	if (found)
		add_counts(&found->counts, value);
	return 0;
}

static int add_dropped(const struct search *search, const void *key, const void *value)
{
	struct finds *finds = finds_of(search, ((const struct cgroup_cpu *)key)->cgroup);

	if (finds)
		add_counts(&finds->dropped, value);
	return 0;
}

/* ---- names ---- */

/* "/a/b" of the names from the last to the first, ".../b" if some are missing. */
static void format_names(const struct followed_name *name, char *ret)
{
	size_t end = MIN((size_t)name->length, sizeof(name->text));

	*ret = '\0';
	if (name->is_cut)
		ret = stpcpy(ret, "/...");
	while (end > 0) {
		size_t begin = end - 1; /* the end of the name */

		while (begin > 0 && name->text[begin - 1])
			begin--;
		*ret++ = '/';
		memcpy(ret, name->text + begin, end - begin - 1);
		ret += end - begin - 1;
		*ret = '\0';
		end = begin;
	}
}

#define NAMES_SIZE (FILE_PATH_SIZE + FILE_NAME_SIZE + 8)

/* Where only a part of a file system is mounted, its files' names begin with that part's. */
static const char *skip_root(const char *names, const char *root)
{
	size_t length = strlen(root);

	if (length > 1 && strncmp(names, root, length) == 0 &&
	    (names[length] == '/' || !names[length]))
		return names + length;
	return names;
}

static int add_name(const struct search *search, const void *key, const void *value)
{
	struct naming *naming = place_names_naming(search->names);
	struct found *found = find(search, key);
	const struct snapshot_mount *mount;
	char names[NAMES_SIZE];
	const char *rest, *point;

	if (!found || found->path)
		return 0;
	mount = naming_get(naming, found->key.place);
	if (!mount)
		return -ENOMEM;
	point = mount->name;
	format_names(value, names);
	rest = skip_root(names, naming_get_root(naming, found->key.place));
	if (asprintf(&found->path, "%s%s", strcmp(point, "/") == 0 && *rest ? "" : point, rest) <
	    0) {
		found->path = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* ---- into a record's files ---- */

static void set_data(struct hot_file *ret, enum file_op op, const struct followed_data *data)
{
	enum metric_id first = op == OP_READ ? METRIC_FILE_READ_BYTES : METRIC_FILE_WRITE_BYTES;
	const uint64_t numbers[] = {
		data->bytes,	   data->calls, data->errors, data->ns, data->sequential_bytes,
		data->random_bytes
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		*hot_file_number(ret, (enum metric_id)(first + i)) = numbers[i];
}

/* Of all that was read at known places, what one pass over their range could not have given. */
static uint64_t reread_bytes(const struct followed_counts *counts)
{
	uint64_t bytes = counts->data[OP_READ].sequential_bytes +
			 counts->data[OP_READ].random_bytes;
	uint64_t low = ~counts->read_low_inverse;
	uint64_t range = counts->read_high > low ? counts->read_high - low : 0;

	return bytes > range ? bytes - range : 0;
}

static void set_counts(struct hot_file *ret, const struct followed_counts *counts)
{
	set_data(ret, OP_READ, &counts->data[OP_READ]);
	set_data(ret, OP_WRITE, &counts->data[OP_WRITE]);
	*hot_file_number(ret, METRIC_FILE_OPENS) = counts->opens;
	*hot_file_number(ret, METRIC_FILE_CREATES) = counts->creates;
	*hot_file_number(ret, METRIC_FILE_CLOSES) = counts->closes;
	*hot_file_number(ret, METRIC_FILE_OTHERS) = counts->others;
	*hot_file_number(ret, METRIC_FILE_META_SECONDS) = counts->meta_ns;
	*hot_file_number(ret, METRIC_FILE_REREAD) = reread_bytes(counts);
	*hot_file_number(ret, METRIC_FILE_READ_AFTER_WRITE) = counts->read_after_write_bytes;
}

static bool is_dir(const struct found *found)
{
	return S_ISDIR(found->file.mode);
}

/* Without strings of its own. */
static struct hot_file hot_of(const struct found *found)
{
	struct hot_file file = { .files = !is_dir(found) };

	set_counts(&file, &found->counts);
	if (!is_dir(found)) /* what a directory's size means, only its file system knows */
		*hot_file_number(&file, METRIC_FILE_SIZE) = found->file.size;
	return file;
}

static void add_small(const struct hot_file *file, struct hot_files *ret)
{
	uint64_t bytes = hot_file_rank(file, HOT_BY_BYTES);

	if (!bytes || bytes >= SMALL_FILE_BYTES ||
	    hot_file_get(file, METRIC_FILE_SIZE) >= SMALL_FILE_BYTES)
		return;
	ret->small.files++;
	ret->small.bytes += bytes;
	ret->small.opens += hot_file_get(file, METRIC_FILE_OPENS) +
			    hot_file_get(file, METRIC_FILE_CREATES);
}

static int add_to(struct hot_list *list, const char *path, const char *mount,
		  const struct hot_file *from)
{
	struct hot_file *file;
	int r = hot_list_add(list, path, mount, &file);

	if (r < 0)
		return r;
	file->files = 0;
	hot_file_add(file, from);
	return 0;
}

static size_t dir_length(const struct found *found)
{
	const char *slash = strrchr(found->path, '/');

	if (is_dir(found) || !slash)
		return strlen(found->path);
	return slash == found->path ? 1 : (size_t)(slash - found->path);
}

static int compare_dirs(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int r = strcmp(x->mount, y->mount);

	if (r == 0)
		r = memcmp(x->path, y->path, MIN(x->dir_length, y->dir_length));
	return r ? r : (x->dir_length > y->dir_length) - (x->dir_length < y->dir_length);
}

/* Sorted by them, files of one directory are neighbours. */
static int sum_dirs(struct finds *finds, struct hot_list *ret)
{
	struct hot_file sum = {};

	for (size_t i = 0; i < finds->count; i++)
		finds->items[i].dir_length = dir_length(&finds->items[i]);
	if (finds->count > 1)
		qsort(finds->items, finds->count, sizeof(*finds->items), compare_dirs);
	for (size_t i = 0; i < finds->count; i++) {
		struct found *found = &finds->items[i];
		struct hot_file file = hot_of(found);
		int r;

		hot_file_add(&sum, &file);
		if (i + 1 < finds->count && compare_dirs(found, found + 1) == 0)
			continue;
		found->path[found->dir_length] = '\0';
		r = add_to(ret, found->path, found->mount, &sum);
		if (r < 0)
			return r;
		sum = (struct hot_file){};
	}
	return 0;
}

static int compare_paths(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int r = strcmp(x->path, y->path);

	if (r == 0)
		r = strcmp(x->mount, y->mount);
	return r ? r : is_dir(x) - is_dir(y);
}

/* Successive files of one name are one entry, with the largest size. */
static int sum_files(struct finds *finds, struct hot_files *ret)
{
	struct hot_file sum = {};

	if (finds->count > 1)
		qsort(finds->items, finds->count, sizeof(*finds->items), compare_paths);
	for (size_t i = 0; i < finds->count; i++) {
		const struct found *found = &finds->items[i];
		struct hot_file file = hot_of(found);
		uint64_t size = MAX(hot_file_get(&sum, METRIC_FILE_SIZE),
				    hot_file_get(&file, METRIC_FILE_SIZE));
		int r;

		hot_file_add(&ret->total, &file);
		if (is_dir(found))
			continue;
		add_small(&file, ret);
		hot_file_add(&sum, &file);
		*hot_file_number(&sum, METRIC_FILE_SIZE) = size;
		if (i + 1 < finds->count && compare_paths(found, found + 1) == 0)
			continue;
		r = add_to(&ret->hot, found->path, found->mount, &sum);
		if (r < 0)
			return r;
		sum = (struct hot_file){};
	}
	return 0;
}

static int count_dropped(const struct search *search, const void *key UNUSED, const void *value)
{
	search->finds->dropped_files += *(const uint8_t *)value == 0; /* no directory */
	return 0;
}

/* Of one group. */
static int sum_dropped(const struct objects *objects, const struct search *search)
{
	int cpus = libbpf_num_possible_cpus(),
	    fd = objects_map_fd(objects, OBJECT_FILES, "unfollowed_counts");
	_cleanup_free_ struct followed_counts *per_cpu =
		cpus > 0 ? calloc((size_t)cpus, sizeof(*per_cpu)) : NULL;
	const uint32_t zero = 0;

	if (!per_cpu)
		return -ENOMEM;
	if (bpf_map_lookup_elem(fd, &zero, per_cpu) < 0)
		return -errno;
	for (int cpu = 0; cpu < cpus; cpu++)
		add_counts(&search->finds->dropped, &per_cpu[cpu]);
	return visit_map(objects, "unfollowed_files", count_dropped, search);
}

/* A file without a stored name is shown by its mount only. */
static int name_rest(struct finds *finds)
{
	for (size_t i = 0; i < finds->count; i++) {
		struct found *found = &finds->items[i];

		if (!found->path && asprintf(&found->path, "%s/...", found->mount) < 0) {
			found->path = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

static int search_maps(const struct meter *m, struct search *search)
{
	const struct objects *objects = meter_objects(m);
	int r = visit_map(objects, "followed_files", add_found, search);

	for (size_t i = 0; i < details_count(search->of); i++)
		sort_finds(&search->finds[i]);
	if (r >= 0)
		r = visit_map(objects, "followed_counts", add_cpu, search);
	if (r >= 0)
		r = visit_map(objects, "followed_names", add_name, search);
	if (r < 0)
		return r;
	return meter_only_cgroup(m)
		       ? sum_dropped(objects, search)
		       : visit_map(objects, "unfollowed_by_cgroup", add_dropped, search);
}

/* How many the others are is remembered of one group only. */
static bool knows_dropped(const struct meter *m, const struct hot_files *files)
{
	return meter_only_cgroup(m) ? meter_lost(m, LOST_FILE_NAME) == 0
				    : hot_file_rank(&files->dropped, HOT_BY_CALLS) == 0;
}

static int sum_up(const struct meter *m, struct finds *finds, struct hot_files *ret)
{
	int r = name_rest(finds);

	*ret = (struct hot_files){ .is_known = true,
				   .has_seconds = meter_opened_with(m)->has_clock };
	if (r >= 0)
		r = sum_files(finds, ret);
	if (r >= 0)
		r = sum_dirs(finds, &ret->dirs);
	set_counts(&ret->dropped, &finds->dropped);
	ret->dropped.files = finds->dropped_files;
	ret->dropped.lacks_order = true;
	ret->knows_dropped = knows_dropped(m, ret);
	hot_list_choose(&ret->hot, HOT_SHOWN);
	hot_list_choose(&ret->dirs, HOT_SHOWN);
	return r;
}

int hot_files_read(const struct meter *m, struct place_names *names, const struct details_of *of,
		   struct hot_files *ret, struct error *err)
{
	_cleanup_(search_clear) struct search search = { .of = of, .names = names };
	size_t count = details_count(of);
	int r;

	if (!(meter_counted(m) & COUNTED_HOT_FILES))
		return 0;
	search.finds = calloc(count + 1, sizeof(*search.finds));
	r = search.finds ? search_maps(m, &search) : -ENOMEM;
	for (size_t i = 0; r >= 0 && i < count; i++)
		r = sum_up(m, &search.finds[i], &ret[i]);
	for (size_t i = 0; r < 0 && i < count; i++)
		hot_files_clear(&ret[i]);
	return r < 0 ? error_set_errno(err, r, "cannot read the kernel side's files") : 0;
}
