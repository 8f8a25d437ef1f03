/* SPDX-License-Identifier: MIT */
#include "counters/row_cache.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/idmap.h"
#include "basic/ids.h"
#include "load/meter.h"

#define WHOLE_NS UINT64_C(60000000000) /* how often all are read in any case */
#define DEAR 2 /* a single look-up costs as much as two rows of a full read */

struct row_key {
	uint64_t place;
	uint32_t is_trampolines;
	uint16_t cpu;
	uint8_t op, interface;
};
static_assert(sizeof(struct row_key) == 16, "no padding: keys are compared as bytes");

struct cgroup_keys {
	uint64_t cgroup;
	uint32_t count, room;
	struct row_key *keys;
};

struct row_cache {
	struct meter *meter;
	int rows_fd;
	struct ring_buffer *told; /* NULL: no ring buffer; all rows are read each time */
	struct idmap cgroups; /* struct cgroup_keys by cgroup */
	size_t rows; /* keys of all cgroups */
	uint64_t whole_ns; /* when all were read; 0: next time */
	bool is_whole; /* all are to be read now */
	struct id_list now, before; /* cgroups reported in this reading and in the last, as
				   they came */
	uint64_t *touched; /* both, sorted */
};

/* ---- keys ---- */

static void forget_keys(struct row_cache *b)
{
	size_t at = 0;

	for (struct cgroup_keys *k; (k = idmap_next(&b->cgroups, &at));) {
		free(k->keys);
		free(k);
	}
	idmap_clear(&b->cgroups);
	b->rows = 0;
}

static struct cgroup_keys *get_cgroup(struct row_cache *b, uint64_t cgroup)
{
	struct cgroup_keys *k = idmap_get(&b->cgroups, cgroup);

	if (k)
		return k;
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->cgroup = cgroup;
	if (idmap_put(&b->cgroups, cgroup, k) < 0) {
		free(k);
		return NULL;
	}
	return k;
}

static struct row_key short_key(const struct file_key *key)
{
	return (struct row_key){ key->place, key->is_trampolines, key->cpu, key->op,
				 key->interface };
}

static struct file_key long_key(uint64_t cgroup, const struct row_key *key)
{
	return (struct file_key){
		.cgroup = cgroup,
		.place = key->place,
		.cpu = key->cpu,
		.op = key->op,
		.interface = key->interface,
		.is_trampolines = key->is_trampolines,
	};
}

static int append_key(struct row_cache *b, struct cgroup_keys *k, const struct row_key *key)
{
	if (k->count == k->room) {
		uint32_t room = k->room ? k->room + k->room / 2 + 1 : 8;
		struct row_key *larger = reallocarray(k->keys, room, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		k->keys = larger;
		k->room = room;
	}
	k->keys[k->count++] = *key;
	b->rows++;
	return 0;
}

/* Unless it is there: a row may be reported twice. */
static int add_key(struct row_cache *b, const struct file_key *key)
{
	struct cgroup_keys *k = get_cgroup(b, key->cgroup);
	struct row_key brief = short_key(key);

	for (uint32_t i = 0; k && i < k->count; i++) {
		if (memcmp(&k->keys[i], &brief, sizeof(brief)) == 0)
			return 0;
	}
	return k ? append_key(b, k, &brief) : -ENOMEM;
}

/* ---- reported rows ---- */

/* For ring_buffer__consume(), which continues in any case: a failure is stored. */
static int take_told(void *account, void *data, size_t size)
{
	const struct file_key *key = data;
	struct row_cache *b = account;
	struct id_list *now = &b->now;

	if (size < sizeof(*key) ||
	    ((!now->count || now->items[now->count - 1] != key->cgroup) &&
	     id_list_add(now, key->cgroup) < 0) ||
	    add_key(b, key) < 0)
		b->is_whole = true;
	return 0;
}

const uint64_t *row_cache_begin(struct row_cache *b, uint64_t boot_ns, size_t *ret_count)
{
	struct id_list before = b->before;
	size_t count;

	b->before = b->now;
	b->now = before;
	b->now.count = 0;
	*ret_count = 0;
	b->is_whole = !b->told || !b->whole_ns || boot_ns - b->whole_ns >= WHOLE_NS;
	if (objects_begin_epoch(meter_objects(b->meter)))
		b->is_whole = true;
	if (b->told && ring_buffer__consume(b->told) < 0)
		b->is_whole = true;
	free(b->touched);
	count = b->before.count + b->now.count;
	b->touched = calloc(count + 1, sizeof(*b->touched));
	if (b->is_whole || !b->touched) {
		b->is_whole = true;
		b->whole_ns = boot_ns;
		return NULL;
	}
	if (b->before.count)
		memcpy(b->touched, b->before.items, b->before.count * sizeof(*b->touched));
	if (b->now.count)
		memcpy(b->touched + b->before.count, b->now.items,
		       b->now.count * sizeof(*b->touched));
	ids_sort(b->touched, count);
	*ret_count = ids_unique(b->touched, count);
	return b->touched;
}

/* ---- reading ---- */

static int read_all(struct row_cache *b, struct cgroup_row **ret, size_t *ret_count,
		    struct error *err)
{
	int r = cgroups_read_rows(b->meter, ret, ret_count, err);

	if (r < 0 || !b->told)
		return r;
	forget_keys(b);
	for (size_t i = 0; i < *ret_count; i++) {
		const struct file_key *key = &(*ret)[i].key;
		struct cgroup_keys *k = key->cgroup == CGROUP_OTHER ? NULL
								    : get_cgroup(b, key->cgroup);
		struct row_key brief = short_key(key);

		if (key->cgroup != CGROUP_OTHER && (!k || append_key(b, k, &brief) < 0)) {
			row_cache_invalidate(b);
			break;
		}
	}
	return 0;
}

/* Append the rows of one cgroup; those that are erased are forgotten. */
static int read_cgroup(struct row_cache *b, struct cgroup_keys *k, struct cgroup_row *rows,
		       size_t *count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < k->count; i++) {
		struct file_key key = long_key(k->cgroup, &k->keys[i]);
		struct file_row row;

		if (bpf_map_lookup_elem(b->rows_fd, &key, &row) < 0) {
			if (errno != ENOENT)
				return -errno;
			continue;
		}
		rows[(*count)++] = (struct cgroup_row){ key, cgroups_counts_of(&row) };
		k->keys[kept++] = k->keys[i];
	}
	b->rows -= k->count - kept;
	k->count = kept;
	return 0;
}

static size_t count_rows(const struct row_cache *b, const uint64_t *cgroups, size_t count)
{
	size_t rows = 0;

	for (size_t i = 0; i < count; i++) {
		const struct cgroup_keys *k = idmap_get(&b->cgroups, cgroups[i]);

		rows += k ? k->count : 0;
	}
	return rows;
}

static int read_some(struct row_cache *b, const uint64_t *cgroups, size_t count, size_t most,
		     struct cgroup_row **ret, size_t *ret_count, struct error *err)
{
	_cleanup_free_ struct cgroup_row *rows = calloc(most + 1, sizeof(*rows));
	size_t found = 0;
	int r = rows ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r >= 0; i++) {
		struct cgroup_keys *k = idmap_get(&b->cgroups, cgroups[i]);

		r = k ? read_cgroup(b, k, rows, &found) : 0;
	}
	if (r < 0)
		return error_set_errno(err, r, "cannot read the kernel side's rows of files");
	*ret = TAKE_PTR(rows);
	*ret_count = found;
	return 0;
}

int row_cache_read(struct row_cache *b, const uint64_t *cgroups, size_t count,
		   struct cgroup_row **ret, size_t *ret_count, bool *ret_is_whole,
		   struct error *err)
{
	size_t most = cgroups ? count_rows(b, cgroups, count) : 0;
	int r;

	*ret_is_whole = b->is_whole || !cgroups || most * DEAR > b->rows + 64;
	r = *ret_is_whole ? read_all(b, ret, ret_count, err)
			  : read_some(b, cgroups, count, most, ret, ret_count, err);
	if (r < 0)
		row_cache_invalidate(b);
	return r;
}

void row_cache_invalidate(struct row_cache *b)
{
	b->whole_ns = 0;
}

/* ---- opening ---- */

int row_cache_open(struct meter *m, struct row_cache **ret)
{
	int told = meter_only_cgroup(m)
			   ? -ENOENT
			   : objects_map_fd(meter_objects(m), OBJECT_FILES, "touched_rows");
	struct row_cache *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->meter = m;
	b->rows_fd = objects_map_fd(meter_objects(m), OBJECT_FILES, "file_rows");
	if (told >= 0)
		b->told = ring_buffer__new(told, take_told, b, NULL);
	*ret = b;
	return 0;
}

struct row_cache *row_cache_close(struct row_cache *b)
{
	if (!b)
		return NULL;
	ring_buffer__free(b->told);
	forget_keys(b);
	id_list_clear(&b->now);
	id_list_clear(&b->before);
	free(b->touched);
	free(b);
	return NULL;
}
