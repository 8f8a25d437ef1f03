/* SPDX-License-Identifier: MIT */
/* traffic - shared with user space by the programs that count traffic through sockets. */
#pragma once

#include <linux/types.h>
#include <stddef.h>

/* Kinds of sockets; the model's, asserted where both are known. */
#define TRAFFIC_TCP 0
#define TRAFFIC_UDP 1
#define TRAFFIC_UNIX_STREAM 2
#define TRAFFIC_UNIX_DGRAM 3
#define TRAFFIC_OTHER 4
#define TRAFFIC_KINDS 5

#define TRAFFIC_BUCKETS 28

/* A row of what the tasks of a cgroup sent and received through sockets of one kind, by the CPU
 * that counted. */
struct traffic_key {
	__u64 cgroup;
	__u32 cpu;
	__u32 kind;
};

struct traffic_counts { /* in the order of the model's metrics of sockets */
	__u64 sent_bytes, sent_calls, sent_errors;
	__u64 received_bytes, received_calls, received_errors;
	__u64 opened, accepted, retransmits; /* of TCP, as all from here on */
	__u64 rtt_ns, rtt_samples; /* the sum of smoothed times, and of how many */
	__u64 segments; /* of data, those sent again included */
	__u64 min_rtt_ns; /* no sum; 0: there is none */
	__u64 rtt_distribution[TRAFFIC_BUCKETS]; /* as the model's histogram of latencies */
};
#define TRAFFIC_COUNTERS \
	(offsetof(struct traffic_counts, min_rtt_ns) / sizeof(__u64)) /* that are sums */

/* A TCP socket that is followed. */
struct connection {
	__u64 cgroup; /* that used it last */
	__u32 segments, again; /* sent, and sent again, that are counted */
	__u32 calls;
	__u32 is_opening; /* no answer came yet */
};

_Static_assert(sizeof(struct connection) == 24, "shared with the kernel side");
_Static_assert(sizeof(struct traffic_key) == 16, "shared with the kernel side");
_Static_assert(sizeof(struct traffic_counts) == 328, "shared with the kernel side");
