/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rows - the counters of files: a row by leaf, superblock, operation and CPU, written by that CPU alone,
 * and beside it its histograms.  A row costs one look-up in a hash a call, its histograms another.
 */
#pragma once

#include "compat.bpf.h"
#include "files.h"
#include "lost.bpf.h"

const volatile bool has_clock = true;
const volatile bool has_histograms = true;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);    /* set before load, from the memory limit */
	__type(key, struct file_key); /* added here; removed by user space when the leaf has gone */
	__type(value, struct file_counts);
} file_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2048);    /* as file_rows, for operations that move data */
	__type(key, struct file_key);
	__type(value, struct file_histograms);
} file_histograms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); /* where rows go for which file_rows has no room */
	__uint(max_entries, FILES_OPS);
	__type(key, __u32);
	__type(value, struct file_counts);
} other_rows SEC(".maps");

static const struct file_counts no_counts;
static const struct file_histograms no_histograms;

static __always_inline struct file_key key_for(__u64 leaf, __u32 device, __u8 op)
{
	struct file_key key = {
		.leaf = leaf,
		.device = device,
		.cpu = bpf_get_smp_processor_id(),
		.op = op,
	};

	return key;
}

/* 0 to 27: the position of the highest bit, plus one. */
static __always_inline __u64 bucket_of(__u64 value)
{
	__u64 bucket = 0;

	if (value >> 27)
		return FILES_BUCKETS - 1;
	if (value >> 16) {
		bucket = 16;
		value >>= 16;
	}
	if (value >> 8) {
		bucket += 8;
		value >>= 8;
	}
	if (value >> 4) {
		bucket += 4;
		value >>= 4;
	}
	if (value >> 2) {
		bucket += 2;
		value >>= 2;
	}
	if (value >> 1) {
		bucket += 1;
		value >>= 1;
	}
	return bucket + value; /* what is left is 0 or 1 */
}

static __always_inline struct file_counts *get_row(const struct file_key *key)
{
	struct file_counts *row = bpf_map_lookup_elem(&file_rows, key);
	__u32 op = key->op;

	if (row)
		return row;
	bpf_map_update_elem(&file_rows, key, &no_counts, BPF_NOEXIST);
	row = bpf_map_lookup_elem(&file_rows, key);
	if (row)
		return row;
	count_lost(LOST_ROW);
	return bpf_map_lookup_elem(&other_rows, &op);
}

static __always_inline void count_histograms(const struct file_key *key, long result, __u64 ns)
{
	struct file_histograms *h = bpf_map_lookup_elem(&file_histograms, key);
	__u64 bucket;

	if (!h) {
		bpf_map_update_elem(&file_histograms, key, &no_histograms, BPF_NOEXIST);
		h = bpf_map_lookup_elem(&file_histograms, key);
	}
	if (!h) {
		count_lost(LOST_HISTOGRAM);
		return;
	}
	if (result >= 0) {
		bucket = bucket_of(result);
		if (bucket < FILES_BUCKETS)
			h->sizes[bucket]++;
	}
	if (has_clock) {
		bucket = bucket_of(ns >> 7);
		if (bucket)
			bucket--; /* the first bucket holds all under 2^8 ns */
		if (bucket < FILES_BUCKETS)
			h->latencies[bucket]++;
	}
}

/* One whole call.  @timed_ns of its @ns are in the row already. */
static __always_inline void count_call(const struct call *call, struct call_kind kind, long result,
				       __u64 ns, __u64 timed_ns)
{
	struct file_key key = key_for(call->leaf, call->device, kind.op);
	struct file_counts *row = get_row(&key);

	if (!row)
		return;
	row->calls++;
	row->ns += ns - timed_ns;
	if (result < 0)
		row->errors++;
	else if (kind.moves_data)
		row->bytes += result;
	if (kind.moves_data && has_histograms)
		count_histograms(&key, result, ns);
}

static __always_inline void count_exec(const struct call *call, struct call_kind kind,
				       struct task_struct *task, __u64 ns)
{
	struct file_key key = key_for(call->leaf, DEVICE_EXEC, kind.op);
	struct file_counts *row = get_row(&key);

	if (!row)
		return;
	row->calls += task->ioac.syscr - call->chars_calls;
	row->bytes += task->ioac.rchar - call->chars;
	row->ns += ns;
}
