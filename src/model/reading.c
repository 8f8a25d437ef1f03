/* SPDX-License-Identifier: MIT */
#include "model/reading.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/fnv.h"
#include "basic/idmap.h"
#include "basic/macro.h"
#include "basic/text.h"

#define UNPLACED_SHARE_MAX 100 /* a part of this is next to none */

/* clang-format off */
const char *const row_kind_names[ROW_KIND_COUNT] = {
	[ROW_PIPE] = "(pipe)", [ROW_SOCKET] = "(socket)", [ROW_PSEUDO] = "(pseudo)", [ROW_EXEC] = "(exec)",
	[ROW_KERNEL] = "(kernel)", [ROW_UNRESOLVED] = "(unresolved)", [ROW_OTHER] = "(other)",
};

/* Where a metric's number stands: at an offset in the counts of an operation (meta's is the caller's)
 * that stand in a row's ops, or in one of its ways (those of SCOPE_MOUNT_INTERFACE in the caller's). */
static const struct place {
	enum file_op op;
	enum file_interface interface; /* INTERFACE_COUNT: not in the ways */
	size_t offset;
} places[METRIC_COUNT] = {
#define PLACE(op, interface, member) { op, interface, offsetof(struct op_counts, member) }
	[METRIC_READ_BYTES] = PLACE(OP_READ, INTERFACE_COUNT, bytes),
	[METRIC_READ_CALLS] = PLACE(OP_READ, INTERFACE_COUNT, calls),
	[METRIC_READ_ERRORS] = PLACE(OP_READ, INTERFACE_COUNT, errors),
	[METRIC_READ_SECONDS] = PLACE(OP_READ, INTERFACE_COUNT, ns),
	[METRIC_WRITE_BYTES] = PLACE(OP_WRITE, INTERFACE_COUNT, bytes),
	[METRIC_WRITE_CALLS] = PLACE(OP_WRITE, INTERFACE_COUNT, calls),
	[METRIC_WRITE_ERRORS] = PLACE(OP_WRITE, INTERFACE_COUNT, errors),
	[METRIC_WRITE_SECONDS] = PLACE(OP_WRITE, INTERFACE_COUNT, ns),
	[METRIC_MAPPED_READ_BYTES] = PLACE(OP_READ, INTERFACE_MAPPING, bytes),
	[METRIC_MAPPED_WRITE_BYTES] = PLACE(OP_WRITE, INTERFACE_MAPPING, bytes),
	[METRIC_META_CALLS] = PLACE(OP_COUNT, INTERFACE_COUNT, calls),
	[METRIC_META_ERRORS] = PLACE(OP_COUNT, INTERFACE_COUNT, errors),
	[METRIC_META_NOT_FOUND] = PLACE(OP_COUNT, INTERFACE_COUNT, not_found),
	[METRIC_META_SECONDS] = PLACE(OP_COUNT, INTERFACE_COUNT, ns),
	[METRIC_INTERFACE_READ_BYTES] = PLACE(OP_READ, INTERFACE_COUNT, bytes),
	[METRIC_INTERFACE_READ_CALLS] = PLACE(OP_READ, INTERFACE_COUNT, calls),
	[METRIC_INTERFACE_READ_ERRORS] = PLACE(OP_READ, INTERFACE_COUNT, errors),
	[METRIC_INTERFACE_WRITE_BYTES] = PLACE(OP_WRITE, INTERFACE_COUNT, bytes),
	[METRIC_INTERFACE_WRITE_CALLS] = PLACE(OP_WRITE, INTERFACE_COUNT, calls),
	[METRIC_INTERFACE_WRITE_ERRORS] = PLACE(OP_WRITE, INTERFACE_COUNT, errors),
#undef PLACE
};
/* clang-format on */

const enum metric_id mount_sum_metrics[MOUNT_SUMS] = { METRIC_READ_BYTES, METRIC_WRITE_BYTES,
						       METRIC_META_CALLS };

const char *row_kind_name(enum row_kind kind)
{
	assert(kind < ROW_KIND_COUNT);
	return row_kind_names[kind];
}

enum row_kind row_kind_of(const char *mount)
{
	for (size_t kind = 0; kind < ROW_KIND_COUNT; kind++) {
		if (row_kind_names[kind] && strcmp(row_kind_names[kind], mount) == 0)
			return (enum row_kind)kind;
	}
	return ROW_MOUNT;
}

bool row_is_own(const struct mount_row *row)
{
	return row->kind != ROW_KERNEL; /* done for anybody on the node */
}

void reading_set(struct reading *r, enum metric_id id, uint64_t number)
{
	assert(id < METRIC_JOB_COUNT);
	r->values[id] = (struct value){ .number = number, .is_known = true };
}

void reading_add(struct reading *r, enum metric_id id, uint64_t number)
{
	assert(id < METRIC_JOB_COUNT);
	reading_set(r, id, r->values[id].number + number);
}

/* Room for one row more.  There is always room for a power of two of rows. */
static int grow(void *rows, size_t count, size_t size)
{
	void *at;

	if (count >= MOUNT_ROWS_MAX)
		return -ENOSPC;
	if (count & (count - 1))
		return 0;
	memcpy(&at, rows, sizeof(at)); /* of whatever type they are */
	at = reallocarray(at, MAX(count * 2, (size_t)1), size);
	if (!at)
		return -ENOMEM;
	memcpy(rows, &at, sizeof(at));
	return 0;
}

static void clear_names(struct mount_row *row)
{
	free(row->mount);
	free(row->fstype);
	free(row->source);
	row->mount = row->fstype = row->source = NULL;
	for (size_t i = 0; i < MOUNT_ALIASES_MAX; i++) {
		free(row->aliases[i]);
		row->aliases[i] = NULL;
	}
}

void mount_row_clear(struct mount_row *row)
{
	clear_names(row);
	*row = (struct mount_row){};
}

struct mount_row *reading_find_mount(const struct reading *r, enum row_kind kind, const char *mount,
				     const char *fstype)
{
	for (size_t i = 0; i < r->mount_count; i++) {
		struct mount_row *row = &r->mounts[i];

		if (row->kind == kind && text_is_equal(row->mount, mount) &&
		    text_is_equal(row->fstype, fstype))
			return row;
	}
	return NULL;
}

static struct mount_row *add_row(struct reading *r, enum row_kind kind, const char *mount,
				 const char *fstype)
{
	struct mount_row *row;

	if (grow(&r->mounts, r->mount_count, sizeof(*r->mounts)) < 0)
		return NULL;
	row = &r->mounts[r->mount_count];
	*row = (struct mount_row){ .kind = kind, .mount = strdup(mount) };
	row->fstype = fstype ? strdup(fstype) : NULL;
	if (!row->mount || (fstype && !row->fstype)) {
		mount_row_clear(row);
		return NULL;
	}
	r->mount_count++;
	return row;
}

struct mount_row *reading_get_mount(struct reading *r, enum row_kind kind, const char *mount,
				    const char *fstype)
{
	struct mount_row *row = reading_find_mount(r, kind, mount, fstype);

	return row ? row : add_row(r, kind, mount, fstype);
}

static struct mount_sum *find_sum(const struct reading *r, const char *mount, const char *fstype)
{
	for (size_t i = 0; i < r->sum_count; i++) {
		if (text_is_equal(r->sums[i].mount, mount) &&
		    text_is_equal(r->sums[i].fstype, fstype))
			return &r->sums[i];
	}
	return NULL;
}

int reading_add_sum(struct reading *r, const struct mount_sum *sum)
{
	struct mount_sum *to = find_sum(r, sum->mount, sum->fstype);
	int error;

	r->has_sums = true;
	if (to) {
		for (size_t i = 0; i < MOUNT_SUMS; i++)
			to->numbers[i] += sum->numbers[i];
		return 0;
	}
	error = grow(&r->sums, r->sum_count, sizeof(*r->sums));
	if (error < 0)
		return error;
	to = &r->sums[r->sum_count];
	*to = *sum;
	to->mount = strdup(sum->mount);
	to->fstype = sum->fstype ? strdup(sum->fstype) : NULL;
	r->sum_count++; /* whatever there is of it is freed with it */
	return to->mount && (to->fstype || !sum->fstype) ? 0 : -ENOMEM;
}

void reading_get_sums(const struct reading *r, const char *mount, const char *fstype,
		      uint64_t ret[MOUNT_SUMS])
{
	const struct mount_sum *sum = find_sum(r, mount, fstype);
	const struct mount_row *row = reading_find_mount(r, row_kind_of(mount), mount, fstype);

	for (size_t i = 0; i < MOUNT_SUMS; i++)
		ret[i] = sum   ? sum->numbers[i]
			 : row ? mount_row_number(row, mount_sum_metrics[i])
			       : 0;
}

int mount_row_add_alias(struct mount_row *row, const char *alias)
{
	if (text_is_equal(row->mount, alias))
		return 0;
	for (size_t i = 0; i < MOUNT_ALIASES_MAX; i++) {
		if (text_is_equal(row->aliases[i], alias))
			return 0;
		if (row->aliases[i])
			continue;
		row->aliases[i] = strdup(alias);
		return row->aliases[i] ? 0 : -ENOMEM;
	}
	return 0;
}

static int merge_strings(struct mount_row *to, const struct mount_row *from)
{
	for (size_t i = 0; i < MOUNT_ALIASES_MAX && from->aliases[i]; i++) {
		int r = mount_row_add_alias(to, from->aliases[i]);

		if (r < 0)
			return r;
	}
	if (!to->source && from->source) {
		to->source = strdup(from->source);
		if (!to->source)
			return -ENOMEM;
	}
	return 0;
}

#define COUNTS (sizeof(struct op_counts) / sizeof(uint64_t))

void op_counts_add(struct op_counts *to, const struct op_counts *from)
{
	for (size_t i = 0; i < COUNTS; i++)
		((uint64_t *)to)[i] += ((const uint64_t *)from)[i];
}

void op_counts_raise(struct op_counts *to, const struct op_counts *least)
{
	for (size_t i = 0; i < COUNTS; i++)
		((uint64_t *)to)[i] = MAX(((uint64_t *)to)[i], ((const uint64_t *)least)[i]);
}

void mount_row_add(struct mount_row *row, enum file_op op, enum file_interface interface,
		   const struct op_counts *counts)
{
	if (op < OP_DATA_COUNT && interface != INTERFACE_CALL)
		op_counts_add(&row->interfaces[interface][op], counts);
	if (op >= OP_DATA_COUNT || interface != INTERFACE_MAPPING)
		op_counts_add(&row->ops[op], counts);
}

static void merge_numbers(struct mount_row *to, const struct mount_row *from)
{
	const uint64_t *more = (const uint64_t *)&from->ops;
	uint64_t *numbers = (uint64_t *)&to->ops;

	to->has_seconds &= from->has_seconds;
	to->has_histograms &= from->has_histograms;
	to->lacks_not_found |= from->lacks_not_found;
	for (size_t i = 0; i < MOUNT_NUMBERS; i++)
		numbers[i] += more[i];
}

/* The row of what finds no room: the last mount becomes it.  NULL: no memory. */
static struct mount_row *get_other(struct reading *r)
{
	struct mount_row *row = reading_find_mount(r, ROW_OTHER, row_kind_names[ROW_OTHER], NULL);
	size_t last = r->mount_count - 1;
	char *name;

	if (row)
		return row;
	while (last > 0 && r->mounts[last].kind != ROW_MOUNT)
		last--;
	name = strdup(row_kind_names[ROW_OTHER]);
	if (!name)
		return NULL;
	row = &r->mounts[last];
	clear_names(row);
	row->kind = ROW_OTHER;
	row->mount = name;
	return row;
}

static uint64_t row_key(const struct mount_row *row)
{
	const uint64_t key = fnv_bytes(FNV_BEGIN, &row->kind, sizeof(row->kind));

	return fnv_text(fnv_text(key, row->mount), row->fstype ? row->fstype : "");
}

/* As reading_get_mount(), in constant time.  @numbers: of rows, from 1, by their keys; it has
 * all of @to, or another one of the same key. */
static struct mount_row *get_like(struct reading *to, const struct mount_row *like,
				  struct idmap *numbers)
{
	uint64_t key = row_key(like);
	size_t number = (size_t)idmap_get(numbers, key);
	struct mount_row *row = number ? &to->mounts[number - 1] : NULL;

	if (row && row->kind == like->kind && text_is_equal(row->mount, like->mount) &&
	    text_is_equal(row->fstype, like->fstype))
		return row;
	row = number ? reading_get_mount(to, like->kind, like->mount, like->fstype)
		     : add_row(to, like->kind, like->mount, like->fstype);
	if (row && !number && idmap_put(numbers, key, (void *)(row - to->mounts + 1)) < 0)
		return NULL;
	return row;
}

static int merge_mounts(struct reading *to, const struct reading *from)
{
	_cleanup_(idmap_clear) struct idmap numbers = {};
	struct mount_row *other = NULL;

	for (size_t i = 0; i < to->mount_count; i++) {
		if (idmap_put(&numbers, row_key(&to->mounts[i]), (void *)(i + 1)) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < from->mount_count; i++) {
		const struct mount_row *source = &from->mounts[i];
		size_t before = to->mount_count;
		struct mount_row *row = get_like(to, source, &numbers);
		int r;

		if (!row && before >= MOUNT_ROWS_MAX)
			row = other = other ? other : get_other(to);
		if (!row)
			return -ENOMEM;
		if (to->mount_count > before) /* a new row knows what its first source knows */
			row->has_seconds = row->has_histograms = true;
		merge_numbers(row, source);
		r = row->kind == source->kind ? merge_strings(row, source) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static void merge_value(struct value *to, const struct value *from, enum metric_kind kind)
{
	bool is_both = to->is_known && from->is_known;

	if (kind == KIND_COUNTER || kind == KIND_GAUGE)
		*to = is_both ? (struct value){ to->number + from->number, true }
			      : (struct value){};
	else if (!to->is_known || (is_both && from->number > to->number))
		*to = *from;
}

void values_merge(struct value *to, const struct value *from)
{
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++)
		merge_value(&to[id], &from[id], metric_get((enum metric_id)id)->kind);
}

void reading_clear_mounts(struct reading *r)
{
	for (size_t i = 0; i < r->mount_count; i++)
		mount_row_clear(&r->mounts[i]);
	free(r->mounts);
	r->mounts = NULL;
	r->mount_count = 0;
	r->has_mounts = false;
}

int reading_merge(struct reading *to, const struct reading *from)
{
	values_merge(to->values, from->values);
	to->has_mounts &= from->has_mounts;
	if (!to->has_mounts) {
		reading_clear_mounts(to);
		return 0;
	}
	return merge_mounts(to, from);
}

int reading_copy(struct reading *to, const struct reading *from)
{
	struct reading copy = { .has_mounts = from->has_mounts };
	int r = merge_mounts(&copy, from);

	if (r < 0) {
		reading_clear(&copy);
		return r;
	}
	memcpy(copy.values, from->values, sizeof(copy.values));
	reading_clear(to);
	*to = copy;
	return 0;
}

static struct mount_sum sum_of(const struct mount_row *row)
{
	return (struct mount_sum){ .mount = row->mount,
				   .fstype = row->fstype,
				   .numbers = { row->ops[OP_READ].bytes,
						row->ops[OP_WRITE].bytes } };
}

static int compare_sums(const void *a, const void *b)
{
	const struct mount_sum *x = a, *y = b;
	uint64_t x_bytes = x->numbers[0] + x->numbers[1], y_bytes = y->numbers[0] + y->numbers[1];
	int r;

	if (x_bytes != y_bytes)
		return x_bytes > y_bytes ? -1 : 1;
	r = strcmp(x->mount, y->mount);
	return r ? r : strcmp(x->fstype ? x->fstype : "", y->fstype ? y->fstype : "");
}

static int compare_mounts(const void *a, const void *b)
{
	const struct mount_sum x = sum_of(a), y = sum_of(b);

	return compare_sums(&x, &y);
}

void reading_sort_mounts(struct reading *r)
{
	if (r->mount_count > 1)
		qsort(r->mounts, r->mount_count, sizeof(*r->mounts), compare_mounts);
	if (r->sum_count > 1)
		qsort(r->sums, r->sum_count, sizeof(*r->sums), compare_sums);
}

/* Rows that stand for no place. */
static bool row_is_unplaced(const struct mount_row *row)
{
	return row->kind == ROW_UNRESOLVED || row->kind == ROW_OTHER;
}

static uint64_t calls_by_path(const struct mount_row *row)
{
	uint64_t calls = 0;

	for (size_t op = 0; op < OP_COUNT; op++)
		calls += file_op_is_by_path((enum file_op)op) ? row->ops[op].calls : 0;
	return calls;
}

bool reading_paths_are_placed(const struct reading *r)
{
	uint64_t unplaced = 0, all = 0;

	for (size_t i = 0; i < r->mount_count; i++) {
		uint64_t calls = calls_by_path(&r->mounts[i]);

		if (!row_is_own(&r->mounts[i]))
			continue;
		all += calls;
		unplaced += row_is_unplaced(&r->mounts[i]) ? calls : 0;
	}
	return unplaced <= all / UNPLACED_SHARE_MAX;
}

bool reading_failures_are_known(const struct reading *r, const struct mount_row *row)
{
	return row_is_unplaced(row) || reading_paths_are_placed(r);
}

struct mount_row *mount_row_free(struct mount_row *row)
{
	if (row)
		mount_row_clear(row);
	free(row);
	return NULL;
}

struct mount_row *reading_sum_rows(const struct reading *r, const char *name)
{
	struct mount_row *sum = calloc(1, sizeof(*sum));

	if (!sum)
		return NULL;
	sum->mount = strdup(name);
	if (!sum->mount)
		return mount_row_free(sum);
	sum->kind = ROW_OTHER;
	sum->has_seconds = sum->has_histograms = true;
	for (size_t i = 0; i < r->mount_count; i++) {
		if (row_is_own(&r->mounts[i]))
			merge_numbers(sum, &r->mounts[i]);
	}
	return sum;
}

static uint64_t *number_in(struct op_counts *counts, enum metric_id id)
{
	return (uint64_t *)(void *)((char *)counts + places[id].offset);
}

bool metric_takes(enum metric_id id, enum file_op op, enum file_interface interface)
{
	const struct metric *metric = metric_get(id);
	const struct place *place = &places[id];

	if (metric->kind == KIND_HISTOGRAM)
		return false;
	switch (metric->scope) {
	case SCOPE_MOUNT:
		return op == place->op &&
		       (place->interface < INTERFACE_COUNT ? interface == place->interface : interface != INTERFACE_MAPPING);
	case SCOPE_MOUNT_OP:
		return op >= OP_DATA_COUNT;
	case SCOPE_MOUNT_INTERFACE:
		return op == place->op && interface > INTERFACE_CALL &&
		       interface < INTERFACE_MAPPING;
	default:
		return false;
	}
}

uint64_t op_counts_number(const struct op_counts *counts, enum metric_id id)
{
	return *number_in((struct op_counts *)counts, id);
}

uint64_t *mount_row_number_ref(struct mount_row *row, enum metric_id id)
{
	const struct metric *metric = metric_get(id);
	const struct place *place = &places[id];

	assert(metric->scope == SCOPE_MOUNT && metric->kind != KIND_HISTOGRAM);
	return number_in(place->interface < INTERFACE_COUNT
				 ? &row->interfaces[place->interface][place->op]
				 : &row->ops[place->op],
			 id);
}

uint64_t *mount_row_op_number_ref(struct mount_row *row, enum metric_id id, enum file_op op)
{
	assert(metric_get(id)->scope == SCOPE_MOUNT_OP);
	return number_in(&row->ops[op], id);
}

uint64_t *mount_row_interface_number_ref(struct mount_row *row, enum metric_id id,
					 enum file_interface interface)
{
	assert(metric_get(id)->scope == SCOPE_MOUNT_INTERFACE);
	return number_in(&row->interfaces[interface][places[id].op], id);
}

uint64_t mount_row_number(const struct mount_row *row, enum metric_id id)
{
	struct mount_row *unchanged = (struct mount_row *)row;
	uint64_t sum = 0;

	if (metric_get(id)->scope == SCOPE_MOUNT)
		return *mount_row_number_ref(unchanged, id);
	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++)
		sum += *mount_row_op_number_ref(unchanged, id, (enum file_op)op);
	return sum;
}

static bool total_of_sums(const struct reading *r, enum metric_id id, uint64_t *ret)
{
	uint64_t total = 0;
	size_t place = 0;

	while (place < MOUNT_SUMS && mount_sum_metrics[place] != id)
		place++;
	if (!r->has_sums || place == MOUNT_SUMS)
		return false;
	for (size_t i = 0; i < r->sum_count; i++)
		total += r->sums[i].numbers[place];
	*ret = total;
	return true;
}

bool reading_total(const struct reading *r, enum metric_id id, uint64_t *ret)
{
	uint64_t total = 0;

	if (metric_get(id)->scope == SCOPE_SOCKET) {
		if (network_knows(&r->network, id))
			*ret = network_total(&r->network, id);
		return network_knows(&r->network, id);
	}
	if (!r->has_mounts)
		return total_of_sums(r, id, ret);
	for (size_t i = 0; i < r->mount_count; i++) {
		const struct mount_row *row = &r->mounts[i];

		if (!row_is_own(row))
			continue;
		if (!mount_row_knows(row, id))
			return false;
		total += mount_row_number(row, id);
	}
	*ret = total;
	return true;
}

bool mount_row_has_interface(const struct mount_row *row, enum file_interface interface)
{
	for (size_t op = 0; op < OP_DATA_COUNT; op++) {
		const struct op_counts *counts = &row->interfaces[interface][op];

		if (counts->calls || counts->bytes || counts->errors)
			return true;
	}
	return false;
}

bool mount_row_interfaces_fit(const struct mount_row *row, enum metric_id id)
{
	struct mount_row *unchanged = (struct mount_row *)row;
	uint64_t left = *number_in(&unchanged->ops[places[id].op], id);

	for (size_t interface = INTERFACE_CALL + 1; interface < INTERFACE_MAPPING; interface++) {
		uint64_t part = *mount_row_interface_number_ref(unchanged, id,
								(enum file_interface)interface);

		if (part > left)
			return false;
		left -= part;
	}
	return true;
}

uint64_t mount_row_accounted_bytes(const struct mount_row *row, enum file_op op)
{
	uint64_t bytes = row->ops[op].bytes;

	for (size_t interface = INTERFACE_CALL + 1; interface < INTERFACE_MAPPING; interface++) {
		if (!file_interface_is_accounted((enum file_interface)interface))
			bytes -= row->interfaces[interface][op].bytes;
	}
	return bytes;
}

struct histogram *mount_row_histogram(struct mount_row *row, enum metric_id id)
{
	switch (id) {
	case METRIC_READ_SIZES:
		return &row->sizes[OP_READ];
	case METRIC_WRITE_SIZES:
		return &row->sizes[OP_WRITE];
	case METRIC_READ_LATENCIES:
		return &row->latencies[OP_READ];
	case METRIC_WRITE_LATENCIES:
		return &row->latencies[OP_WRITE];
	default:
		assert(!"no histogram");
		return NULL;
	}
}

bool mount_row_knows(const struct mount_row *row, enum metric_id id)
{
	const struct metric *metric = metric_get(id);

	if (metric->kind == KIND_HISTOGRAM && !row->has_histograms)
		return false;
	if (id == METRIC_META_NOT_FOUND)
		return !row->lacks_not_found;
	return metric->unit != UNIT_SECONDS || row->has_seconds;
}

void reading_clear(struct reading *r)
{
	reading_clear_mounts(r);
	for (size_t i = 0; i < r->sum_count; i++) {
		free(r->sums[i].mount);
		free(r->sums[i].fstype);
	}
	free(r->sums);
	block_clear(&r->block);
	*r = (struct reading){};
}
