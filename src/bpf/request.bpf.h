/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* request - kind, owner and file of an io_uring request. */
#pragma once

#include "bpf/lost.bpf.h"
#include "bpf/resolve.bpf.h"
#include "bpf/rows.bpf.h"
#include "bpf/slots.bpf.h"

#define CQE_SKIP_SUCCESS (1U << 6) /* a request's flags begin with its submission's */

const volatile struct request_kind request_kinds[FILES_OPCODES]; /* set by user space */

static __always_inline struct request_kind request_kind_of(__u8 opcode)
{
	struct request_kind kind = {
		.how = request_kinds[opcode].how,
		.op = request_kinds[opcode].op,
		.other_op = request_kinds[opcode].other_op,
		.moves_data = request_kinds[opcode].moves_data,
	};

	return kind;
}

/* The cgroup of the task that submitted it, by probe reads; false: not one that we watch. */
static __always_inline bool owner_of_request(struct io_kiocb *req, __u64 *ret)
{
	struct task_struct *owner = NULL;
	struct cgroup *cgrp;

	if (bpf_core_field_exists(struct io_kiocb, task))
		owner = BPF_CORE_READ(req, task);
	else if (bpf_core_field_exists(struct io_kiocb, tctx))
		owner = BPF_CORE_READ(req, tctx, task);
	if (!owner)
		return false;
	cgrp = far_cgroup_of(owner);
	*ret = has_groups() ? fold_group((__u64)cgrp) : BPF_CORE_READ(cgrp, kn, id);
	return is_watched(cgrp);
}

/* The same, where the current task belongs to the process as a rule. */
static __always_inline bool cgroup_of_request(struct call_slot *slot, struct task_struct *task,
					      struct io_kiocb *req, __u64 *ret)
{
	return LOAD(task, flags) & PF_KTHREAD ? owner_of_request(req, ret) : judge(slot, task, ret);
}

static __always_inline __u64 place_of_request(struct call_slot *slot, struct io_kiocb *req)
{
	struct resolved found = { .place = PLACE_UNRESOLVED };
	struct file *file = BPF_CORE_READ(req, file);

	slot->found_socket = 0;
	if (!file)
		return PLACE_UNRESOLVED;
	resolve_file(file, &found);
	note_resolved(slot, &found);
	return found.place;
}
