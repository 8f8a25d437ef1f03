// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * block - operations of block devices, by the cgroup that they are for: bytes of each request, and
 * its time from submission to end.
 *
 * A request here is a bio, so that requests of several jobs that the kernel merges stay apart, and
 * devices without a queue of their own (brd, zram, device mapper) are seen too.  Its owner is the
 * task that submits it; for a kernel thread, as in write-back, on cgroup v2 the group noted in the
 * bio, and else none: then it is not counted.
 *
 * The kernel reports the end of each bio, or of the merged request.
 *
 * Costs a hash entry and a look-up per request, and two clock reads.  The end may come in an
 * interrupt.
 */
#include "bpf/block_rows.h"
#include "bpf/buckets.bpf.h"
#include "bpf/compat.bpf.h"
#include "bpf/groups.bpf.h"
#include "bpf/cgroup.bpf.h"
#include "bpf/lost.bpf.h"
#include "bpf/own.bpf.h"

#define REQ_OP_BITS 0xff
#define REQ_OP_WRITE 1
#define REQ_OP_FLUSH 2
#define REQ_OP_DISCARD 3
#define MINOR_BITS 20
#define BIOS_MAX 256 /* of one request, which are its segments at most */

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated: it is written in interrupts */
	__uint(max_entries, 2048); /* set before load: see the meter's sizing */
	__type(key, __u64); /* a bio's address; removed as it ends */
	__type(value, struct block_request);
} block_requests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 512); /* the same */
	__type(key, struct block_key); /* added here; removed by user space after the cgroup */
	__type(value, struct block_value);
} block_rows SEC(".maps");

static const struct block_value no_requests;

/* ---- a request that has ended ---- */

/* NULL: no room.  CPUs share the rows of a user's groups. */
static __always_inline struct block_value *get_row(const struct block_request *request)
{
	struct gendisk *disk = (void *)request->disk;
	struct block_key key = {
		.cgroup = request->cgroup,
		.device = (__u32)BPF_CORE_READ(disk, major) << MINOR_BITS |
			  (__u32)BPF_CORE_READ(disk, first_minor),
		.cpu = is_guest(request->cgroup) ? 0 : bpf_get_smp_processor_id(),
		.op = request->op,
	};
	struct block_value *row = bpf_map_lookup_elem(&block_rows, &key);

	if (row)
		return row;
	bpf_map_update_elem(&block_rows, &key, &no_requests, BPF_NOEXIST);
	row = bpf_map_lookup_elem(&block_rows, &key);
	if (row)
		bpf_probe_read_kernel_str(row->name, sizeof(row->name), disk->disk_name);
	return row;
}

/* All but its time.  It may come while another of this CPU's is being counted. */
static __always_inline struct block_value *count_bytes(const struct block_request *request,
						       bool is_failed)
{
	struct block_value *row = get_row(request);

	if (!row) {
		count_lost_of(request->cgroup, LOST_BLOCK_ROW);
		return NULL;
	}
	__sync_fetch_and_add(&row->requests, 1);
	if (is_failed)
		__sync_fetch_and_add(&row->errors, 1);
	else
		__sync_fetch_and_add(&row->bytes, request->bytes);
	return row;
}

static __always_inline int count_request(const struct block_request *request, bool is_failed)
{
	__u64 ns = bpf_ktime_get_ns() - request->start_ns, bucket = latency_bucket_of(ns);
	struct block_value *row = count_bytes(request, is_failed);

	if (!row)
		return 0;
	__sync_fetch_and_add(&row->ns, ns);
	if (bucket < BLOCK_BUCKETS)
		__sync_fetch_and_add(&row->latencies[bucket], 1);
	return 0;
}

/* ---- submission ---- */

/* The cgroup that the kernel noted: on cgroup v2 that of the task which dirtied the page.  v1's
 * groups of block devices are another hierarchy's. */
static __always_inline __u64 noted_cgroup(struct bio *bio)
{
	struct cgroup *cgrp;

	if (settings.key_subsys >= 0 || !bpf_core_field_exists(bio->bi_blkg))
		return 0;
	cgrp = BPF_CORE_READ(bio, bi_blkg, blkcg, css.cgroup);
	if (!cgrp || !is_watched(cgrp))
		return 0;
	return has_groups() ? fold_group((__u64)cgrp) : BPF_CORE_READ(cgrp, kn, id);
}

/* 0: it belongs to no watched group. */
static __always_inline __u64 cgroup_behind(struct bio *bio)
{
	struct task_struct *task = current_task();
	struct cgroup *cgrp;

	if (LOAD(task, flags) & PF_KTHREAD)
		return noted_cgroup(bio);
	cgrp = cgroup_of(task);
	return is_watched(cgrp) ? fold_cgroup(task, cgroup_id(cgrp)) : 0;
}

/* As the kernel's own statistics of a disk have it; BLOCK_DOES: nothing that is counted (of zones).
 */
static __always_inline __u32 op_of(__u32 flags, __u32 bytes)
{
	__u32 op = flags & REQ_OP_BITS;

	if (!bytes)
		return op == REQ_OP_WRITE || op == REQ_OP_FLUSH ? BLOCK_DOES_FLUSH : BLOCK_DOES;
	if (op == REQ_OP_DISCARD)
		return BLOCK_DOES_DISCARD;
	return op & REQ_OP_WRITE ? BLOCK_DOES_WRITE : BLOCK_DOES_READ;
}

/* Where there is one already at this address, its end was not seen: it is known to have ended by
 * now, and not when. */
static __always_inline int settle_unended(__u64 bio)
{
	struct block_request *found = bpf_map_lookup_elem(&block_requests, &bio), request;

	if (!found)
		return 0;
	request = *found;
	bpf_map_delete_elem(&block_requests, &bio);
	count_lost_of(request.cgroup, LOST_BLOCK_END);
	count_bytes(&request, false);
	return 0;
}

static __always_inline int begin_request(struct bio *bio)
{
	struct block_request request = { .cgroup = cgroup_behind(bio) };
	__u64 key = (__u64)bio;

	settle_unended(key);
	request.bytes = LOAD(bio, bi_iter.bi_size);
	request.op = op_of(LOAD(bio, bi_opf), request.bytes);
	if (!request.cgroup || request.op == BLOCK_DOES)
		return 0;
	request.disk = (__u64)disk_of(bio);
	request.start_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&block_requests, &key, &request, BPF_ANY) < 0)
		count_lost_of(request.cgroup, LOST_BLOCK_REQUEST);
	return 0;
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(note_bio, struct bio *bio)
{
	struct own_cost *own = own_begin(OWN_SUBMIT);

	begin_request(bio);
	return own_end(own);
}

/* a54895fa057c "block: remove the request_queue to argument request based tracepoints", Linux 5.11
 */
SEC("tp_btf/block_bio_queue")
int BPF_PROG(note_bio_of_queue, void *queue, struct bio *bio)
{
	struct own_cost *own = own_begin(OWN_SUBMIT);

	begin_request(bio);
	return own_end(own);
}

/* ---- its end ---- */

/* Of a bio, by its address; unknown ones are skipped. */
static __always_inline int end_request(__u64 bio, __u32 is_failed)
{
	struct block_request *found = bpf_map_lookup_elem(&block_requests, &bio), request;

	if (!found)
		return 0;
	request = *found;
	bpf_map_delete_elem(&block_requests, &bio);
	return count_request(&request, is_failed);
}

/* The same as a global function, which the verifier checks once. */
__noinline int end_one_of_many(__u64 bio, __u32 is_failed)
{
	return end_request(bio, is_failed);
}

struct ending {
	struct bio *bio; /* the next; NULL: all have ended */
	__u64 bytes; /* of those that end */
	__u64 is_failed;
};

static __always_inline long end_next(__u32 i, void *context)
{
	struct ending *ending = context;
	struct bio *bio = ending->bio;
	__u32 size;

	if (!bio)
		return 1;
	size = BPF_CORE_READ(bio, bi_iter.bi_size);
	if (size > ending->bytes) {
		ending->bio = NULL;
		return 1;
	}
	end_one_of_many((__u64)bio, ending->is_failed);
	ending->bytes -= size;
	ending->bio = BPF_CORE_READ(bio, bi_next);
	return 0;
}

/* Of those of one request the first that take @bytes together; one that is done only in part goes
 * on. */
static __always_inline int end_requests(struct bio *bio, __u32 bytes, bool is_failed)
{
	struct ending ending = { bio, bytes, is_failed };

	repeat(BIOS_MAX, end_next, &ending);
	return ending.bio ? count_lost(LOST_BLOCK_REQUEST) : 0;
}

/* Of devices with a queue of requests. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(count_bios, struct request *request, int error, unsigned int bytes)
{
	struct own_cost *own = own_begin(OWN_END);

	end_requests(BPF_CORE_READ(request, bio), bytes, error != 0);
	return own_end(own);
}

/* Of others, and of what never became one. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(count_bio, void *queue, struct bio *bio)
{
	struct own_cost *own = own_begin(OWN_END);

	end_request((__u64)bio, LOAD(bio, bi_status) != 0);
	return own_end(own);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
