/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * traffic - traffic through sockets, by cgroup and kind of socket: counted at the system calls and
 * requests that files sees, in separate rows.
 *
 * A socket's kind is looked up where its descriptor is, as the call begins.  Costs some probe
 * reads, a look-up in a hash and a few additions a call on a socket, and one load any other call on
 * a descriptor.
 */
#pragma once

#include "bpf/compat.bpf.h"
#include "bpf/files.h"
#include "bpf/groups.bpf.h"
#include "bpf/lost.bpf.h"
#include "bpf/traffic.h"

#define MOVES_NOTHING (MSG_PEEK | MSG_ERRQUEUE) /* what is read stays there, or is no message */

#define MESSAGES_MAX 1024 /* of one call; the kernel takes no more */
#define MESSAGE_SIZE 64 /* of the program's struct mmsghdr */
#define MESSAGE_LENGTH 56 /* where it holds its msg_len */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024); /* set before load: see the meter's sizing */
	__type(key, struct traffic_key); /* added here; removed by user space when the cgroup has
					    gone */
	__type(value, struct traffic_counts);
} traffic_rows SEC(".maps");

static const struct traffic_counts no_traffic;

/* The kind of a struct socket, by its address, plus one; 0: it is none. */
__noinline int kind_of_socket(__u64 address)
{
	const struct socket *socket = (const void *)address;
	struct sock *sk = BPF_CORE_READ(socket, sk);
	__u16 family, type, protocol;

	if (!sk)
		return TRAFFIC_OTHER + 1; /* a module's own */
	family = BPF_CORE_READ(sk, __sk_common.skc_family);
	type = BPF_CORE_READ(sk, sk_type);
	protocol = BPF_CORE_READ(sk, sk_protocol);
	if (family == AF_UNIX && type == SOCK_STREAM)
		return TRAFFIC_UNIX_STREAM + 1;
	if (family == AF_UNIX && type == SOCK_DGRAM)
		return TRAFFIC_UNIX_DGRAM + 1;
	if (family != AF_INET && family != AF_INET6)
		return TRAFFIC_OTHER + 1;
	if (type == SOCK_STREAM && protocol == IPPROTO_TCP)
		return TRAFFIC_TCP + 1;
	return type == SOCK_DGRAM && protocol == IPPROTO_UDP ? TRAFFIC_UDP + 1 : TRAFFIC_OTHER + 1;
}

/* CPUs share the rows of a user's groups. */
static __always_inline struct traffic_counts *get_traffic(__u64 cgroup, __u32 kind)
{
	struct traffic_key key = { cgroup, is_guest(cgroup) ? 0 : bpf_get_smp_processor_id(),
				   kind };

	return get_or_add(&traffic_rows, &key, &no_traffic);
}

/* One operation on a socket of that kind, plus one; @result: the bytes that it moved, or its error.
 */
__noinline int count_traffic(__u64 cgroup, __u32 kind, __u32 op, long result)
{
	struct traffic_counts *counts = get_traffic(cgroup, kind - 1);

	if (!counts)
		return count_lost_of(cgroup, LOST_TRAFFIC);
	__sync_fetch_and_add(op == FILES_WRITE ? &counts->sent_calls : &counts->received_calls, 1);
	if (result < 0)
		__sync_fetch_and_add(
			op == FILES_WRITE ? &counts->sent_errors : &counts->received_errors, 1);
	else if (result)
		__sync_fetch_and_add(
			op == FILES_WRITE ? &counts->sent_bytes : &counts->received_bytes, result);
	return 0;
}

struct messages {
	__u64 vector;
	__u64 count, sum, cgroup;
};

static __always_inline long sum_message(__u32 i, void *context)
{
	struct messages *messages = context;
	__u32 length = 0;

	if (i >= messages->count)
		return 1;
	if (bpf_probe_read_user(&length, sizeof(length),
				(void *)(messages->vector + i * MESSAGE_SIZE + MESSAGE_LENGTH)) < 0)
		count_lost_of(messages->cgroup, LOST_MESSAGE);
	messages->sum += length;
	return 0;
}

/* The bytes of @count messages, which the kernel wrote into the program's vector. */
__noinline __u64 sum_messages(__u64 vector, __u32 count, __u64 cgroup)
{
	struct messages messages = { vector, count, 0, cgroup };

	repeat(MESSAGES_MAX, sum_message, &messages);
	return messages.sum;
}

/* The bytes that a call on a socket moved; each kind of call reports them differently. */
static __always_inline long moved_bytes(const struct call *call, const struct pt_regs *regs,
					long result)
{
	if (result <= 0)
		return result;
	if (call->moves_nothing)
		return 0;
	return call->kind.traits & CALL_HAS_MESSAGES
		       ? (long)sum_messages(call_argument(regs, call->kind.messages), result,
					    call->cgroup)
		       : result;
}
