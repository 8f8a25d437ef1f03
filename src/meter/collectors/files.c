/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "cleanup.h"
#include "collectors.h"
#include "files.h"
#include "files.skel.h"
#include "macro.h"

/* File systems that hold nothing but what the kernel makes up as it is read. */
static const char *const pseudo_types[] = {
	"anon_inodefs", "bpf",      "cgroup", "cgroup2",    "configfs", "debugfs", "dma_buf",
	"efivarfs",     "nsfs",     "pidfs",  "proc",       "pstore",   "secretmem", "securityfs",
	"selinuxfs",    "sysfs",    "tracefs", "mqueue",    "binfmt_misc",
};

/* Where memfd and System V shared memory live: a tmpfs that is mounted nowhere. */
static uint32_t find_shared_memory_device(void)
{
	_cleanup_close_ int fd = memfd_create("jobmeter", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return DEVICE_UNRESOLVED;
	return major(st.st_dev) << 20 | minor(st.st_dev);
}

static enum row_kind kind_of(uint32_t device, const char *fstype, const struct mount *mount)
{
	if (device == DEVICE_EXEC)
		return ROW_EXEC;
	if (device == DEVICE_UNRESOLVED)
		return ROW_UNRESOLVED;
	if (strcmp(fstype, "pipefs") == 0)
		return ROW_PIPE;
	if (strcmp(fstype, "sockfs") == 0)
		return ROW_SOCKET;
	for (size_t i = 0; i < ARRAY_SIZE(pseudo_types); i++) {
		if (strcmp(fstype, pseudo_types[i]) == 0)
			return ROW_PSEUDO;
	}
	if (mount)
		return ROW_MOUNT;
	return device == find_shared_memory_device() ? ROW_PSEUDO : ROW_UNRESOLVED;
}

static int add_aliases(struct mount_row *row, const struct mounts *mounts, const struct mount *main)
{
	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *m = &mounts->items[i];
		int r;

		if (m->device != main->device || strcmp(m->point, main->point) == 0)
			continue;
		r = mount_row_add_alias(row, m->point);
		if (r < 0)
			return r;
	}
	return 0;
}

static struct mount_row *get_row(struct files_bpf *bpf, const struct mounts *mounts, uint32_t device,
				 struct reading *to)
{
	const struct mount *mount = mounts_find(mounts, device);
	struct superblock sb = {};
	struct mount_row *row;
	enum row_kind kind;

	(void)bpf_map_lookup_elem(bpf_map__fd(bpf->maps.superblocks), &device, &sb);
	kind = kind_of(device, sb.fstype, mount);
	if (kind != ROW_MOUNT)
		return reading_get_mount(to, kind, row_kind_name(kind), NULL);
	row = reading_get_mount(to, kind, mount->point, *mount->fstype ? mount->fstype : sb.fstype);
	if (!row || row->source)
		return row;
	row->source = strdup(mount->source);
	if (!row->source || add_aliases(row, mounts, mount) < 0)
		return NULL;
	return row;
}

static void add_counts(struct op_counts *to, const struct file_counts *from)
{
	to->calls += from->calls;
	to->bytes += from->bytes;
	to->errors += from->errors;
	to->ns += from->ns;
}

static int collect_rows(struct files_bpf *bpf, const struct mounts *mounts, bool has_clock,
			struct reading *to)
{
	int fd = bpf_map__fd(bpf->maps.file_rows);
	struct file_key key, *previous = NULL;
	struct file_counts counts;

	for (; bpf_map_get_next_key(fd, previous, &key) == 0; previous = &key) {
		struct mount_row *row;

		if (key.op >= OP_COUNT || bpf_map_lookup_elem(fd, &key, &counts) < 0)
			continue;
		row = get_row(bpf, mounts, key.device, to);
		if (!row)
			return -ENOMEM;
		add_counts(&row->ops[key.op], &counts);
		row->has_seconds = has_clock;
	}
	return 0;
}

static int collect_histograms(struct files_bpf *bpf, const struct mounts *mounts, struct reading *to)
{
	int fd = bpf_map__fd(bpf->maps.file_histograms);
	struct file_key key, *previous = NULL;
	struct file_histograms h;

	for (; bpf_map_get_next_key(fd, previous, &key) == 0; previous = &key) {
		struct mount_row *row;

		if (key.op >= OP_DATA_COUNT || bpf_map_lookup_elem(fd, &key, &h) < 0)
			continue;
		row = get_row(bpf, mounts, key.device, to);
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

/* What the kernel side had no room for. */
static int collect_other(struct files_bpf *bpf, bool has_clock, struct reading *to)
{
	int fd = bpf_map__fd(bpf->maps.other_rows), cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct file_counts *per_cpu = NULL;

	if (cpus < 0)
		return cpus;
	per_cpu = calloc((size_t)cpus, sizeof(*per_cpu));
	if (!per_cpu)
		return -ENOMEM;
	for (uint32_t op = 0; op < OP_COUNT; op++) {
		if (bpf_map_lookup_elem(fd, &op, per_cpu) < 0)
			continue;
		for (int cpu = 0; cpu < cpus; cpu++) {
			struct mount_row *row;

			if (!per_cpu[cpu].calls)
				continue;
			row = reading_get_mount(to, ROW_OTHER, row_kind_name(ROW_OTHER), NULL);
			if (!row)
				return -ENOMEM;
			add_counts(&row->ops[op], &per_cpu[cpu]);
			row->has_seconds = has_clock;
		}
	}
	return 0;
}

int collect_files(struct files_bpf *bpf, const struct mounts *mounts, bool has_clock,
		  bool has_histograms, struct reading *to)
{
	int r;

	to->has_mounts = true;
	r = collect_rows(bpf, mounts, has_clock, to);
	if (r >= 0)
		r = collect_other(bpf, has_clock, to);
	if (r >= 0 && has_histograms)
		r = collect_histograms(bpf, mounts, to);
	if (r >= 0)
		reading_sort_mounts(to);
	return r;
}
