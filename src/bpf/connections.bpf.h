/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * connections - TCP's own numbers, by cgroup: connections opened and accepted, segments sent again,
 * round-trip times.
 *
 * A socket is followed by its address, from its connect, accept or first use until the kernel
 * destroys it, which happens to each TCP socket before its memory is reused.  The socket itself
 * holds its retransmitted segments: new ones are counted with calls on it, and the rest at its end,
 * for the cgroup that used it last.  Round-trip times are read at each sixteenth call, and when it
 * is closed.  Costs a hash look-up for each call on a TCP socket, and some probe reads and
 * additions for each sixteenth.
 */
#pragma once

#include "bpf/buckets.bpf.h"
#include "bpf/slots.bpf.h"
#include "bpf/traffic.bpf.h"

#define CALLS_A_LOOK 16 /* a power of two */

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* preallocated: it is written in interrupts */
	__uint(max_entries, 8192); /* set before load: see the meter's sizing */
	__type(key, __u64); /* the struct sock's address; removed as it is destroyed */
	__type(value, struct connection);
} connections SEC(".maps");

static __always_inline void count_of_tcp(__u64 cgroup, __u32 opened, __u32 accepted)
{
	struct traffic_counts *counts = get_traffic(cgroup, TRAFFIC_TCP);

	if (!counts) {
		count_lost_of(cgroup, LOST_TRAFFIC);
		return;
	}
	if (opened)
		__sync_fetch_and_add(&counts->opened, 1);
	if (accepted)
		__sync_fetch_and_add(&counts->accepted, 1);
}

/* What a number of the socket has more than is counted, which is counted now.  Whoever finds that
 * another looked meanwhile leaves the rest to the next. */
static __always_inline __u32 take_new(__u32 *counted, __u32 now)
{
	__u32 before = *(volatile __u32 *)counted;

	return (__s32)(now - before) > 0 && replace(counted, before, now) ? now - before : 0;
}

/* Count what was sent, and sent again, since the last look. */
static __always_inline void count_segments(struct connection *c, const struct sock *sk)
{
	const struct tcp_sock *tcp = (const void *)sk;
	__u32 segments = take_new(&c->segments, BPF_CORE_READ(tcp, data_segs_out));
	__u32 again = take_new(&c->again, BPF_CORE_READ(tcp, total_retrans));
	struct traffic_counts *counts;

	if (!segments && !again)
		return;
	counts = get_traffic(c->cgroup, TRAFFIC_TCP);
	if (!counts) {
		count_lost_of(c->cgroup, LOST_TRAFFIC);
		return;
	}
	__sync_fetch_and_add(&counts->segments, segments);
	if (again)
		__sync_fetch_and_add(&counts->retransmits, again);
}

/* @tcp: what it has sent so far is not counted; NULL: it is new. */
static __always_inline struct connection *follow_connection(__u64 address, __u64 cgroup,
							    const struct tcp_sock *tcp)
{
	struct connection new = { .cgroup = cgroup };

	if (tcp) {
		new.segments = BPF_CORE_READ(tcp, data_segs_out);
		new.again = BPF_CORE_READ(tcp, total_retrans);
	}
	if (bpf_map_update_elem(&connections, &address, &new, BPF_ANY) < 0)
		count_lost_of(cgroup, LOST_CONNECTION);
	return bpf_map_lookup_elem(&connections, &address);
}

#define NO_ROUND_TRIP (~0U) /* rtt_min, until there was one */

/* What TCP knows of the round-trip times of a connection. */
static __always_inline void look_at_round_trips(__u64 cgroup, const struct tcp_sock *tcp)
{
	__u32 srtt = BPF_CORE_READ(tcp, srtt_us) >> 3, least = BPF_CORE_READ(tcp, rtt_min.s[0].v);
	struct traffic_counts *counts = srtt ? get_traffic(cgroup, TRAFFIC_TCP) : NULL;
	volatile __u64 *min_ns;
	__u64 bucket;

	if (!counts)
		return;
	__sync_fetch_and_add(&counts->rtt_ns, srtt * 1000ULL);
	__sync_fetch_and_add(&counts->rtt_samples, 1);
	bucket = latency_bucket_of(srtt * 1000ULL);
	if (bucket < TRAFFIC_BUCKETS)
		__sync_fetch_and_add(&counts->rtt_distribution[bucket], 1);
	if (!least || least == NO_ROUND_TRIP)
		return;
	min_ns = &counts->min_rtt_ns; /* CPUs that share the row may overwrite each other's */
	if (!*min_ns || least * 1000ULL < *min_ns)
		*min_ns = least * 1000ULL;
}

/* A task of @cgroup uses the TCP socket behind a struct socket. */
__noinline int use_connection(__u64 cgroup, __u64 address)
{
	const struct socket *socket = (const void *)address;
	struct sock *sk = BPF_CORE_READ(socket, sk);
	const struct tcp_sock *tcp = (const void *)sk;
	struct connection *c;
	__u64 key = (__u64)sk;

	if (!watch.sees_connections)
		return 0;
	c = bpf_map_lookup_elem(&connections, &key);
	if (!c) /* it is older than us: its earlier retransmits are not counted */
		c = follow_connection(key, cgroup, tcp);
	if (!c)
		return 0;
	if (c->cgroup != cgroup) {
		count_segments(c, sk); /* which are the last user's */
		c->cgroup = cgroup;
	}
	if (c->calls++ & (CALLS_A_LOOK - 1))
		return 0;
	count_segments(c, sk);
	look_at_round_trips(cgroup, tcp);
	return 0;
}

/* A call gave back the descriptor of a new socket. */
static __always_inline void accept_connection(struct call_slot *slot, __u64 cgroup,
					      __u32 descriptor)
{
	const struct socket *socket;
	__u64 key;

	look_up(descriptor);
	if (slot->found_socket != TRAFFIC_TCP + 1)
		return;
	count_of_tcp(cgroup, 0, 1);
	socket = (const void *)slot->found_address;
	key = (__u64)BPF_CORE_READ(socket, sk);
	if (watch.sees_connections)
		follow_connection(key, cgroup, NULL);
}

/* Those below a socket of MPTCP are the kernel's own; what goes through that one is no TCP's. */
static __always_inline void open_here(const struct sock *sk)
{
	const struct tcp_sock *tcp = (const void *)sk;
	struct call_slot *slot = get_slot();
	struct connection *c;
	__u64 cgroup;

	if (bpf_core_field_exists(tcp->is_mptcp) && BPF_CORE_READ(tcp, is_mptcp))
		return;
	if (!slot || !judge(slot, current_task(), &cgroup))
		return;
	c = follow_connection((__u64)sk, cgroup, NULL);
	if (c)
		c->is_opening = 1;
}

/*
 * A connection begins in the task that connects, and succeeds in an interrupt as a rule.  One that
 * is cut hard forgets what it sent again and how long it took, but is closed before.
 */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(open_connection, const struct sock *sk, int from, int to)
{
	__u64 key = (__u64)sk;
	struct connection *c;
	bool is_closed;

	if (!watch.sees_connections || LOAD(sk, sk_protocol) != IPPROTO_TCP)
		return 0;
	if (to == TCP_SYN_SENT)
		open_here(sk);
	is_closed = from == TCP_CLOSE_WAIT ||
		    (from == TCP_ESTABLISHED && to != TCP_CLOSE_WAIT); /* by this side, once */
	if (!is_closed && to != TCP_CLOSE && to != TCP_ESTABLISHED)
		return 0;
	c = bpf_map_lookup_elem(&connections, &key);
	if (c && is_closed)
		look_at_round_trips(c->cgroup, (const void *)sk);
	if (c && to == TCP_CLOSE)
		count_segments(c, sk);
	if (c && to == TCP_ESTABLISHED && c->is_opening) {
		c->is_opening = 0;
		count_of_tcp(c->cgroup, 1, 0);
	}
	return 0;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(end_connection, const struct sock *sk)
{
	__u64 key = (__u64)sk;
	struct connection *c = bpf_map_lookup_elem(&connections, &key);

	if (!c)
		return 0;
	count_segments(c, sk);
	bpf_map_delete_elem(&connections, &key);
	return 0;
}
