/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "cleanup.h"
#include "collectors.h"
#include "files.h"
#include "leaves.h"
#include "macro.h"
#include "naming.h"
#include "objects.h"

static void add_data(struct mount_row *row, const struct file_key *key, const struct op_counts *counts)
{
	if (key->way != WAY_CALL)
		op_counts_add(&row->ways[key->way][key->op], counts);
	if (key->way != WAY_MAPPING)
		op_counts_add(&row->ops[key->op], counts);
}

static void add_counts(struct mount_row *row, const struct file_key *key, const struct file_counts *from)
{
	struct op_counts counts = { .calls = from->calls, .errors = from->errors, .ns = from->ns };

	if (key->op < OP_DATA_COUNT) {
		counts.bytes = from->bytes;
		add_data(row, key, &counts);
	} else {
		counts.not_found = from->not_found;
		op_counts_add(&row->ops[key->op], &counts);
	}
}

static bool is_known(const struct file_key *key)
{
	return key->op < OP_COUNT && key->way < WAY_COUNT;
}

static int collect_rows(const struct objects *objects, struct naming *naming, bool has_clock,
			struct reading *to)
{
	int fd = objects_map_fd(objects, OBJECT_FILES, "file_rows");
	struct file_key key, *previous = NULL;
	struct file_row kept;

	for (; bpf_map_get_next_key(fd, previous, &key) == 0; previous = &key) {
		struct file_counts counts;
		struct mount_row *row;

		if (!is_known(&key) || bpf_map_lookup_elem(fd, &key, &kept) < 0)
			continue;
		counts = leaves_counts_of(&kept);
		row = naming_get_row(naming, key.place, to);
		if (!row)
			return -ENOMEM;
		add_counts(row, &key, &counts);
		row->has_seconds = has_clock;
	}
	return 0;
}

static int collect_histograms(const struct objects *objects, struct naming *naming, struct reading *to)
{
	int fd = objects_map_fd(objects, OBJECT_FILES, "file_histograms");
	struct file_key key, *previous = NULL;
	struct file_histograms h;

	for (; bpf_map_get_next_key(fd, previous, &key) == 0; previous = &key) {
		struct mount_row *row;

		if (key.op >= OP_DATA_COUNT || bpf_map_lookup_elem(fd, &key, &h) < 0)
			continue;
		row = naming_get_row(naming, key.place, to);
		if (!row)
			return -ENOMEM;
		for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
			row->sizes[key.op].counts[i] += h.sizes[i];
			row->latencies[key.op].counts[i] += h.latencies[i];
		}
		row->has_histograms = true;
	}
	return 0;
}

/* The way back from OTHER_ROW(). */
static struct file_key other_key(uint32_t other)
{
	if (other < FILES_OPS)
		return (struct file_key){ .op = (uint8_t)other };
	return (struct file_key){ .op = (uint8_t)((other - FILES_OPS) % 2),
				  .way = (uint8_t)((other - FILES_OPS) / 2) };
}

/* What the kernel side had no room for. */
static int collect_other(const struct objects *objects, bool has_clock, struct reading *to)
{
	int fd = objects_map_fd(objects, OBJECT_FILES, "other_rows"), cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct file_counts *per_cpu = NULL;

	if (cpus < 0)
		return cpus;
	per_cpu = calloc((size_t)cpus, sizeof(*per_cpu));
	if (!per_cpu)
		return -ENOMEM;
	for (uint32_t other = 0; other < OTHER_ROWS; other++) {
		const struct file_key key = other_key(other);

		if (!is_known(&key) || bpf_map_lookup_elem(fd, &other, per_cpu) < 0)
			continue;
		for (int cpu = 0; cpu < cpus; cpu++) {
			struct mount_row *row;

			if (!per_cpu[cpu].calls)
				continue;
			row = reading_get_mount(to, ROW_OTHER, row_kind_name(ROW_OTHER), NULL);
			if (!row)
				return -ENOMEM;
			add_counts(row, &key, &per_cpu[cpu]);
			row->has_seconds = has_clock;
		}
	}
	return 0;
}

int collect_files(const struct objects *objects, struct naming *naming, bool has_clock,
		  bool has_histograms, struct reading *to)
{
	int r;

	naming->superblocks_fd = objects_map_fd(objects, OBJECT_FILES, "superblocks");
	to->has_mounts = true;
	r = collect_rows(objects, naming, has_clock, to);
	if (r >= 0)
		r = collect_other(objects, has_clock, to);
	if (r >= 0 && has_histograms)
		r = collect_histograms(objects, naming, to);
	if (r >= 0)
		reading_sort_mounts(to);
	return r;
}
