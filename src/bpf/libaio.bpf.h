/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * libaio - results of Linux' asynchronous I/O, which no system call shows.  A request is remembered
 * where it starts, in the process that asked, since it may end in an interrupt or a kernel thread.
 */
#pragma once

#include "bpf/lost_by_cgroup.bpf.h"
#include "bpf/resolve.bpf.h"
#include "bpf/rows.bpf.h"
#include "bpf/slots.bpf.h"

struct libaio_request {
	__u64 cgroup;
	__u64 place;
	__u8 op;
	__u8 pad[7];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated: it may be read in an interrupt */
	__uint(max_entries, 8192); /* requests on their way */
	__type(key, __u64); /* the kiocb's address; added at its start, removed at its end */
	__type(value, struct libaio_request);
} libaio_requests SEC(".maps");

/* The file's superblock is known from its open; that of one that was open before stays without a
 * name. */
static __always_inline int start_request(struct kiocb *kiocb, __u8 op)
{
	struct task_struct *task = current_task();
	struct cgroup *cgrp = cgroup_of(task);
	struct resolved file = { .place = PLACE_UNRESOLVED };
	struct libaio_request request = { .cgroup = fold_cgroup(task, cgroup_id(cgrp)), .op = op };
	__u64 key = (__u64)kiocb;

	if (!is_watched(cgrp))
		return 0;
	resolve_file(kiocb->ki_filp, &file);
	request.place = file.place;
	if (bpf_map_update_elem(&libaio_requests, &key, &request, BPF_ANY) < 0)
		count_lost_of(request.cgroup, LOST_LIBAIO);
	return 0;
}

SEC("fentry/aio_read")
int BPF_PROG(start_libaio_read, struct kiocb *kiocb)
{
	return start_request(kiocb, FILES_READ);
}

SEC("fentry/aio_write")
int BPF_PROG(start_libaio_write, struct kiocb *kiocb)
{
	return start_request(kiocb, FILES_WRITE);
}

SEC("fentry/aio_complete_rw")
int BPF_PROG(end_libaio_request, struct kiocb *kiocb, long result)
{
	__u64 address = (__u64)kiocb;
	struct libaio_request *request = bpf_map_lookup_elem(&libaio_requests, &address);
	struct file_key key;

	if (!request)
		return 0;
	key = key_for(request->cgroup, request->place, request->op, FILES_BY_LIBAIO);
	count_trampolined(&key, result);
	bpf_map_delete_elem(&libaio_requests, &address);
	return 0;
}
