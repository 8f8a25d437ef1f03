/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * uring - operations that come by io_uring, counted where the kernel posts their results.  That
 * happens in the process' own threads, or in workers that belong to its group; only what outlives
 * its process is ended by the kernel's threads.
 *
 * Several programs for one tracepoint, of which user space loads the one that fits its prototype.
 * Costs nothing but where io_uring is used.
 */
#pragma once

#include "bpf/connections.bpf.h"
#include "bpf/hot_files.bpf.h"
#include "bpf/request.bpf.h"

#define SPLICE_F_FD_IN_FIXED (1U << 31)
#define IORING_FSYNC_DATASYNC 1

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024); /* requests to close, on their way; without room they are
				      unresolved */
	__type(key, __u64); /* the request's address; removed at its end */
	__type(value, __u64); /* place */
} closing_places SEC(".maps");

static __always_inline __u64 place_of_descriptor(struct call_slot *slot, struct task_struct *task,
						 __u32 descriptor)
{
	slot->found_mode = slot->found_socket = 0;
	if (LOAD(task, flags) & PF_KTHREAD)
		return PLACE_UNRESOLVED; /* it has none of the process' descriptors */
	look_up(descriptor);
	return slot->found_place;
}

static __always_inline __u64 take_closing_place(struct io_kiocb *req)
{
	__u64 key = (__u64)req, *found = bpf_map_lookup_elem(&closing_places, &key);
	__u64 place = found ? *found : PLACE_UNRESOLVED;

	bpf_map_delete_elem(&closing_places, &key);
	return place;
}

/* An open into io_uring's own table gives no descriptor back. */
static __always_inline bool is_direct_open(struct io_kiocb *req)
{
	struct io_open *open = (void *)req;

	return bpf_core_type_exists(struct io_open) && BPF_CORE_READ(open, file_slot);
}

static __always_inline bool has_other_op(struct io_kiocb *req, __u8 how)
{
	struct io_sync *sync = (void *)req;
	struct io_unlink *unlink = (void *)req;

	if (how == REQUEST_SYNC && bpf_core_type_exists(struct io_sync))
		return BPF_CORE_READ(sync, flags) & IORING_FSYNC_DATASYNC;
	if (how == REQUEST_UNLINK && bpf_core_type_exists(struct io_unlink))
		return BPF_CORE_READ(unlink, flags) & AT_REMOVEDIR;
	return false;
}

/* Of the socket that was looked up last. */
static __always_inline void count_request_on_found(struct call_slot *slot, __u64 cgroup, __u8 op,
						   long result)
{
	if (slot->found_socket == TRAFFIC_TCP + 1)
		use_connection(cgroup, slot->found_address);
	count_traffic(cgroup, slot->found_socket ? slot->found_socket : TRAFFIC_OTHER + 1, op,
		      result);
}

/* The request's own file is where a splice writes. */
static __always_inline void count_splice(struct call_slot *slot, struct task_struct *task,
					 struct io_kiocb *req, __u64 cgroup,
					 struct request_kind kind, long result)
{
	struct file_key key = key_for(cgroup, place_of_request(slot, req), kind.other_op,
				      FILES_BY_SPLICE);
	struct io_splice *splice = (void *)req;

	count_data(&key, result, 0, 0, false);
	if (slot->found_socket)
		count_request_on_found(slot, cgroup, kind.other_op, result);
	key.op = kind.op;
	key.place = PLACE_UNRESOLVED;
	slot->found_socket = 0;
	if (bpf_core_type_exists(struct io_splice) &&
	    !(BPF_CORE_READ(splice, flags) & SPLICE_F_FD_IN_FIXED))
		key.place = place_of_descriptor(slot, task, BPF_CORE_READ(splice, splice_fd_in));
	count_data(&key, result, 0, 0, false);
	if (slot->found_socket)
		count_request_on_found(slot, cgroup, kind.op, result);
}

/* The same for single files; the position of the data is unknown. */
static __always_inline void count_request_on_files(struct io_kiocb *req, struct request_kind kind,
						   __u8 op, long result, __u64 cgroup)
{
	struct io_splice *splice = (void *)req;
	bool is_kernel = LOAD(current_task(), flags) & PF_KTHREAD;

	if (kind.how == REQUEST_BY_RESULT) {
		if (result < 0 || is_kernel || is_direct_open(req))
			return;
		follow_descriptor(REF_REQUEST, result, POSITION_START, 0, cgroup);
		count_on_file(REF_REQUEST, op, result, 0, 1);
	}
	if (kind.how == REQUEST_BY_FILE || kind.how == REQUEST_SYNC || kind.how == REQUEST_SPLICE) {
		follow_file(REF_REQUEST, (__u64)BPF_CORE_READ(req, file), cgroup);
		count_on_file(REF_REQUEST, kind.how == REQUEST_SPLICE ? kind.other_op : op, result,
			      0, 1);
	}
	if (kind.how == REQUEST_CLOSE) {
		take_request((__u64)req);
		count_on_file(REF_REQUEST, op, result, 0, 1);
	}
	if (kind.how == REQUEST_SPLICE && !is_kernel && bpf_core_type_exists(struct io_splice) &&
	    !(BPF_CORE_READ(splice, flags) & SPLICE_F_FD_IN_FIXED)) {
		follow_descriptor(REF_REQUEST, BPF_CORE_READ(splice, splice_fd_in),
				  POSITION_UNKNOWN, 0, cgroup);
		count_on_file(REF_REQUEST, op, result, 0, 1);
	}
}

/* A send or a receive. */
static __always_inline int count_request_on_socket(struct call_slot *slot, struct io_kiocb *req,
						   __u64 cgroup, __u8 op, long result)
{
	struct io_sr_msg *message = (void *)req;

	place_of_request(slot, req);
	if (result > 0 && op == FILES_READ && bpf_core_type_exists(struct io_sr_msg) &&
	    BPF_CORE_READ(message, msg_flags) & MOVES_NOTHING)
		result = 0;
	count_request_on_found(slot, cgroup, op, result);
	return 0;
}

static __always_inline int count_request(struct io_kiocb *req, long result)
{
	struct task_struct *task = current_task();
	struct call_slot *slot = get_slot();
	struct request_kind kind;
	struct file_key key;
	bool is_created = false;
	__u64 cgroup;

	if (!req || !slot)
		return 0;
	kind = request_kind_of(BPF_CORE_READ(req, opcode));
	if (kind.how == REQUEST_IGNORED || kind.how == REQUEST_MANY || kind.how == REQUEST_ACCEPT ||
	    !cgroup_of_request(slot, task, req, &cgroup))
		return 0;
	if (kind.how == REQUEST_SPLICE) {
		count_splice(slot, task, req, cgroup, kind, result);
		if (settings.follows_files)
			count_request_on_files(req, kind, kind.op, result, cgroup);
		return 0;
	}
	if (kind.how == REQUEST_SOCKET)
		return count_request_on_socket(slot, req, cgroup, kind.op, result);
	slot->found_socket = 0;
	key = key_for(cgroup, PLACE_UNRESOLVED, kind.op, 0);
	if (kind.how == REQUEST_BY_FILE || kind.how == REQUEST_SYNC)
		key.place = place_of_request(slot, req);
	if (kind.how == REQUEST_CLOSE)
		key.place = take_closing_place(req);
	if (kind.how == REQUEST_BY_RESULT && result >= 0 && !is_direct_open(req)) {
		key.place = place_of_descriptor(slot, task, result);
		is_created = slot->found_mode & FMODE_CREATED;
	}
	if (has_other_op(req, kind.how) || is_created)
		key.op = kind.other_op;
	if (kind.moves_data) {
		key.interface = FILES_BY_URING;
		count_data(&key, result, 0, 0, false);
		if (slot->found_socket)
			count_request_on_found(slot, cgroup, kind.op, result);
	} else {
		count_meta(&key, result, 0);
	}
	if (settings.follows_files)
		count_request_on_files(req, kind, key.op, result, cgroup);
	return 0;
}

/* Until Linux 6.12: (ctx, req, user_data, res, cflags, ...). */
SEC("tp_btf/io_uring_complete")
int count_request_result(__u64 *ctx)
{
	return count_request((struct io_kiocb *)ctx[1], (__s32)ctx[3]);
}

/* From Linux 6.13: (ctx, req, cqe); 072d37b53a8a "io_uring: make io_uring_complete() take
 * io_uring_cqe". */
SEC("tp_btf/io_uring_complete")
int count_request_entry(__u64 *ctx)
{
	struct io_uring_cqe *cqe = (struct io_uring_cqe *)ctx[2];

	return count_request((struct io_kiocb *)ctx[1], BPF_CORE_READ(cqe, res));
}

/* Where it closes is known only before it is closed. */
static __always_inline void note_closing(struct call_slot *slot, struct task_struct *task,
					 struct io_kiocb *req, __u64 cgroup)
{
	struct io_close *closing = (void *)req;
	__u64 key = (__u64)req, place;

	if (!bpf_core_type_exists(struct io_close) || BPF_CORE_READ(closing, file_slot))
		return;
	place = place_of_descriptor(slot, task, BPF_CORE_READ(closing, fd));
	if (bpf_map_update_elem(&closing_places, &key, &place, BPF_ANY) < 0)
		count_lost_of(slot->counted_cgroup, LOST_PATH);
	if (settings.follows_files && !(LOAD(task, flags) & PF_KTHREAD)) {
		follow_descriptor(REF_REQUEST, BPF_CORE_READ(closing, fd), POSITION_END, 0, cgroup);
		park_request(key);
	}
}

/* One that goes on to receive after its first message; what it posts of the others names no
 * request. */
static __always_inline bool is_multishot(struct io_kiocb *req)
{
	struct io_sr_msg *message = (void *)req;

	return bpf_core_field_exists(struct io_sr_msg, flags) &&
	       BPF_CORE_READ(message, flags) & IORING_RECV_MULTISHOT;
}

/* A request begins.  One that wants no completion for its success passes by unseen. */
static __always_inline int begin_request(struct io_kiocb *req)
{
	struct task_struct *task = current_task();
	struct request_kind kind = request_kind_of(BPF_CORE_READ(req, opcode));
	struct call_slot *slot = get_slot();
	__u64 cgroup;

	if (!slot || kind.how == REQUEST_IGNORED || !judge(slot, task, &cgroup))
		return 0;
	if (kind.how == REQUEST_ACCEPT)
		return count_lost_of(cgroup, LOST_ACCEPT);
	if (kind.how == REQUEST_MANY)
		return count_lost_of(cgroup, LOST_MESSAGE);
	if (kind.how == REQUEST_CLOSE)
		note_closing(slot, task, req, cgroup);
	if (kind.how == REQUEST_SOCKET && is_multishot(req))
		count_lost_of(cgroup, LOST_MESSAGE);
	if (BPF_CORE_READ(req, flags) & CQE_SKIP_SUCCESS &&
	    !(watch.sees_skipped && kind.moves_data))
		count_lost_of(cgroup, LOST_SKIPPED);
	return 0;
}

/* Until Linux 6.5. */
SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(begin_request_sqe, struct io_kiocb *req)
{
	return begin_request(req);
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(begin_request_req, struct io_kiocb *req)
{
	return begin_request(req);
}

/*
 * Until Linux 5.17: (ctx, req, ...), where a result names its request only by the program's own
 * value, which may be ambiguous.  So only their number is known. 502c87d65564 "io-uring: Make
 * tracepoints consistent."
 */
SEC("tp_btf/io_uring_submit_sqe")
int count_unseen_request(__u64 *ctx)
{
	struct io_kiocb *req = (struct io_kiocb *)ctx[1];
	struct call_slot *slot = get_slot();
	__u64 cgroup;

	if (!slot || watch.sees_requests || !judge(slot, current_task(), &cgroup))
		return 0;
	if (request_kind_of(BPF_CORE_READ(req, opcode)).how == REQUEST_IGNORED)
		return 0;
	return count_lost_of(cgroup, LOST_REQUEST);
}
