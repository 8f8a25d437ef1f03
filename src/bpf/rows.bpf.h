/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rows - the counters of files: a row by cgroup, place, operation and CPU, written by that CPU
 * alone, and beside it its histograms.  A row costs one look-up in a hash a call, its histograms
 * another.
 *
 * User space need not read unchanged rows: it begins an epoch with each reading, and of each group
 * the first row that changes in an epoch is reported, and each new row.  A program that reads the
 * epoch just before it changes may count just after, so reported groups are read in the next epoch,
 * too.
 */
#pragma once

#include "bpf/buckets.bpf.h"
#include "bpf/compat.bpf.h"
#include "bpf/files.h"
#include "bpf/groups.bpf.h"
#include "bpf/lost.bpf.h"
#include "bpf/slots.bpf.h"

#define ENOENT 2
#define EEXIST 17

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192); /* set before load: see the meter's sizing */
	__type(key, struct file_key); /* added here; removed by user space after the cgroup */
	__type(value, struct file_row);
} file_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF); /* of struct file_key: reported rows */
	__uint(max_entries, 4096); /* TOUCHED_BYTES if groups are counted separately */
} touched_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2048); /* as file_rows, for operations that move data */
	__type(key, struct file_key);
	__type(value, struct file_histograms);
} file_histograms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); /* where rows go for which file_rows has no room */
	__uint(max_entries, OTHER_ROWS);
	__type(key, __u32); /* OTHER_ROW() */
	__type(value, struct file_counts);
} other_rows SEC(".maps");

static const struct file_row no_counts;
static const struct file_histograms no_histograms;

static __always_inline struct file_key key_for(__u64 cgroup, __u64 place, __u8 op, __u8 interface)
{
	struct file_key key = {
		.cgroup = cgroup,
		.place = place,
		.cpu = bpf_get_smp_processor_id(),
		.op = op,
		.interface = interface,
	};

	return key;
}

/* The key from its CPU on, as one number: global functions take no pointers. */
static __always_inline __u64 rest_of(const struct file_key *key)
{
	return key->cpu | (__u64)key->op << 16 | (__u64)key->interface << 24 |
	       (__u64)key->is_trampolines << 32;
}

static __always_inline struct file_key whole_key(__u64 cgroup, __u64 place, __u64 rest)
{
	struct file_key key = {
		.cgroup = cgroup,
		.place = place,
		.cpu = rest & 0xffff,
		.op = rest >> 16 & 0xff,
		.interface = rest >> 24 & 0xff,
		.is_trampolines = rest >> 32,
	};

	return key;
}

/* Tell of a row that is new, or changes first in this epoch. */
__noinline int tell_of_row(__u64 cgroup, __u64 place, __u64 rest, __u32 is_new)
{
	struct file_key key = whole_key(cgroup, place, rest);
	__u32 epoch = watch.epoch;
	struct group_entry *group;

	if (!settings.has_groups)
		return 0;
	group = bpf_map_lookup_elem(&groups, &cgroup);
	if (group && group->rows_epoch == epoch && !is_new)
		return 0; /* another row of the group was reported */
	if (group)
		group->rows_epoch = epoch;
	if (bpf_ringbuf_output(&touched_rows, &key, sizeof(key), BPF_RB_NO_WAKEUP) < 0)
		watch.has_missed = 1;
	return 0;
}

/* A row that is there is about to change. */
static __always_inline void touch_row(struct file_row *row, const struct file_key *key)
{
	__u32 epoch = watch.epoch;

	if (!settings.has_groups || row->epoch == epoch)
		return;
	row->epoch = epoch;
	tell_of_row(key->cgroup, key->place, rest_of(key), 0);
}

static __always_inline struct file_counts *counts_of(struct file_row *row)
{
	return (struct file_counts *)row; /* which it begins with */
}

/* Make a row, of @share of its cgroup; 0: it may have no more, or there is no room. */
__noinline int make_row(__u64 cgroup, __u64 place, __u64 rest, __u32 share)
{
	struct file_key key = whole_key(cgroup, place, rest);
	struct call_slot *slot;
	long r;

	if (!take_share(cgroup, share))
		return 0;
	r = bpf_map_update_elem(&file_rows, &key, &no_counts, BPF_NOEXIST);
	if (r < 0) {
		untake_share(cgroup, share);
		if (r != -EEXIST)
			return 0;
	}
	tell_of_row(cgroup, place, rest, 1);
	slot = get_slot();
	if (slot && !bpf_map_lookup_elem(&superblocks, &place))
		slot->known_place = 0; /* it was erased meanwhile: learn it again */
	return 1;
}

/* The new row; beyond the cgroup's share what is other of the group that answers for it; NULL:
 * there is no room. */
static __always_inline struct file_row *make_shared_row(const struct file_key *key)
{
	__u64 rest = rest_of(key);
	struct file_key other = *key;
	struct file_row *row;

	if (make_row(key->cgroup, key->place, rest, SHARE_ROWS))
		return bpf_map_lookup_elem(&file_rows, key);
	other.cgroup = answering_group(key->cgroup);
	other.place = PLACE_OTHER;
	row = bpf_map_lookup_elem(&file_rows, &other);
	if (!row && make_row(other.cgroup, other.place, rest, SHARE_OTHER_ROWS))
		row = bpf_map_lookup_elem(&file_rows, &other);
	if (!row)
		return NULL;
	touch_row(row, &other);
	count_lost_of(key->cgroup, LOST_ROW);
	return row;
}

static __always_inline struct file_counts *get_row(const struct file_key *key)
{
	struct file_row *row = bpf_map_lookup_elem(&file_rows, key);
	__u32 other;

	if (row) {
		touch_row(row, key);
		return counts_of(row);
	}
	if (settings.has_groups) {
		row = make_shared_row(key);
	} else {
		bpf_map_update_elem(&file_rows, key, &no_counts, BPF_NOEXIST);
		row = bpf_map_lookup_elem(&file_rows, key);
	}
	if (row)
		return counts_of(row);
	count_lost_of(key->cgroup, LOST_ROW);
	other = OTHER_ROW(key->op, key->interface);
	return bpf_map_lookup_elem(&other_rows, &other);
}

static __always_inline struct file_histograms *get_histograms(const struct file_key *key)
{
	struct file_histograms *h = bpf_map_lookup_elem(&file_histograms, key);

	if (h)
		return h;
	/* None without its row: what is erased is found by rows. */
	if (settings.has_groups &&
	    (!bpf_map_lookup_elem(&file_rows, key) || !take_share(key->cgroup, SHARE_HISTOGRAMS))) {
		count_lost_of(key->cgroup, LOST_HISTOGRAM);
		return NULL;
	}
	if (bpf_map_update_elem(&file_histograms, key, &no_histograms, BPF_NOEXIST) < 0 &&
	    settings.has_groups)
		untake_share(key->cgroup, SHARE_HISTOGRAMS);
	h = bpf_map_lookup_elem(&file_histograms, key);
	if (!h)
		count_lost_of(key->cgroup, LOST_HISTOGRAM);
	return h;
}

/* One operation that moves data; @ns: its time where @is_timed, of which @new_ns are not in the
 * row. */
static __always_inline void count_data(const struct file_key *key, long result, __u64 ns,
				       __u64 new_ns, bool is_timed)
{
	struct file_counts *row = get_row(key);
	struct file_histograms *h;
	__u64 bucket;

	if (!row)
		return;
	row->calls++;
	row->ns += new_ns;
	if (result < 0)
		row->errors++;
	else
		row->bytes += result;
	if (!settings.has_histograms)
		return;
	h = get_histograms(key);
	if (!h)
		return;
	bucket = bucket_of(result);
	if (result >= 0 && bucket < FILES_BUCKETS)
		h->sizes[bucket]++;
	if (!is_timed || !settings.has_clock)
		return;
	bucket = latency_bucket_of(ns);
	if (bucket < FILES_BUCKETS)
		h->latencies[bucket]++;
}

/* The same without time, by a program that can be preempted or come in an interrupt: in a row of
 * its kind, and atomically. */
static __always_inline void count_trampolined(struct file_key *key, long result)
{
	struct file_histograms *h;
	struct file_counts *row;
	__u64 bucket;

	key->is_trampolines = 1;
	row = get_row(key);
	if (!row)
		return;
	__sync_fetch_and_add(&row->calls, 1);
	if (result < 0) {
		__sync_fetch_and_add(&row->errors, 1);
		return;
	}
	__sync_fetch_and_add(&row->bytes, result);
	h = settings.has_histograms ? get_histograms(key) : NULL;
	bucket = bucket_of(result);
	if (h && bucket < FILES_BUCKETS)
		__sync_fetch_and_add(&h->sizes[bucket], 1);
}

/* Bytes that no call moved. */
static __always_inline void count_bytes(const struct file_key *key, __u64 bytes)
{
	struct file_counts *row = get_row(key);

	if (!row)
		return;
	row->calls++;
	row->bytes += bytes;
}

/* Time inside a call, or a part of it. */
static __always_inline void count_time(const struct file_key *key, __u64 ns)
{
	struct file_counts *row = get_row(key);

	if (row)
		row->ns += ns;
}

static __always_inline void count_meta(const struct file_key *key, long result, __u64 ns)
{
	struct file_counts *row = get_row(key);

	if (!row)
		return;
	row->calls++;
	row->ns += ns;
	if (result < 0)
		row->errors++;
	if (result == -ENOENT)
		row->not_found++;
}
