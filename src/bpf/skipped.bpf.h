/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * skipped - io_uring's reads and writes without a completion event on success
 * (IOSQE_CQE_SKIP_SUCCESS). Those that end at once are seen in kiocb_done, the others in
 * io_complete_rw, which may be in an interrupt. A short read or write is a failure to io_uring, and
 * posts a completion.
 */
#pragma once

#include "bpf/request.bpf.h"
#include "bpf/traffic.bpf.h"

static __always_inline int count_unposted(struct io_kiocb *req, long result)
{
	struct request_kind kind = request_kind_of(BPF_CORE_READ(req, opcode));
	struct resolved found = { .place = PLACE_UNRESOLVED };
	struct file *file = BPF_CORE_READ(req, file);
	struct file_key key;
	__u64 cgroup;

	if (!file || !kind.moves_data || !(BPF_CORE_READ(req, flags) & CQE_SKIP_SUCCESS))
		return 0;
	if (result < 0 || result != asked_of_request(req))
		return 0;
	if (!owner_of_request(req, &cgroup))
		return 0;
	resolve_file(file, &found);
	key = key_for(cgroup, found.place, kind.op, FILES_BY_URING);
	count_trampolined(&key, result);
	if (found.socket)
		count_traffic(cgroup, kind_of_socket(found.socket), kind.op, result);
	return 0;
}

SEC("fentry/kiocb_done")
int BPF_PROG(count_unposted_at_once, struct io_kiocb *req, long result)
{
	return count_unposted(req, result);
}

SEC("fentry/io_complete_rw")
int BPF_PROG(count_unposted_later, struct kiocb *kiocb, long result)
{
	return count_unposted((struct io_kiocb *)kiocb, result); /* a request begins with what its
								    operation needs */
}
