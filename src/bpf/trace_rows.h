/* SPDX-License-Identifier: MIT */
/*
 * trace_rows - what user space and the programs of `trace` share: the row that a probe is compiled
 * to, the event that a hit sends, and the sums that it adds to.
 *
 * A row is one probe in one file, or of the kernel.  A hit finds its row by its cookie, and counts
 * if the row has the cookie's generation.
 */
#pragma once

#include <linux/types.h>

#define TRACE_ROWS_MAX 8192 /* two files of PyTorch have 6,000 */
#define TRACE_CAPTURES 10
#define TRACE_VALUES 16 /* ways to get captures, and the text's address */
#define TRACE_DEREFS 2
#define TRACE_PRODUCTS 2
#define TRACE_FACTORS 4
#define TRACE_KEYS 2
#define TRACE_DEPTH 16 /* probed functions that one thread may be inside of at once */
#define TRACE_TEXT_BYTES 128 /* with its NUL */
#define TRACE_BUCKETS 48 /* 0: 0; n: from 2^(n-1) on; the last: all above */
#define TRACE_TABLE_ENTRIES 4096 /* of all tables together */
#define TRACE_NONE 0xff /* no capture, no value, no map */

#define TRACE_COOKIE_ROW 0xffffULL
#define TRACE_COOKIE_AT_RET (1ULL << 16) /* on a `ret` instruction, and not behind it */
#define TRACE_COOKIE(row, generation) ((__u64)(generation) << 32 | (row))

enum trace_source {
	TRACE_REGISTER, /* index: enum trace_register */
	TRACE_SLOT, /* index: 64-bit slot above the stack pointer; 0: the return address */
	TRACE_RETURNED, /* what the function returned */
	TRACE_RECORD, /* the address of a tracepoint's record */
	TRACE_FIXED, /* its first offset */
};

enum trace_register { /* the first six are the arguments */
		      TRACE_DI,
		      TRACE_SI,
		      TRACE_DX,
		      TRACE_CX,
		      TRACE_R8,
		      TRACE_R9,
		      TRACE_AX,
		      TRACE_BX,
		      TRACE_BP,
		      TRACE_SP,
		      TRACE_R10,
		      TRACE_R11,
		      TRACE_R12,
		      TRACE_R13,
		      TRACE_R14,
		      TRACE_R15,
		      TRACE_REGISTERS,
};

#define TRACE_SIGNED 1 /* of trace_value.flags */
#define TRACE_AT_RETURN 2 /* all but its word is read when the function returns */

/* See struct probe_value for the order in which it is computed. */
struct trace_value {
	__u8 capture; /* TRACE_NONE: of the text */
	__u8 source, index;
	__u8 flags;
	__u8 deref_count;
	__u8 width; /* bytes: 1, 2, 4, 8 */
	__u8 low_bit, bit_count; /* 0, 0: all */
	__u8 if_low_bit, if_count; /* 0, 0: no condition */
	__u8 map; /* an index among all maps; or TRACE_NONE */
	__u8 pad[5];
	__s32 offsets[TRACE_DEREFS];
	__u64 if_equal;
};

struct trace_factor {
	__u64 constant; /* where there is no capture */
	__u16 table_first, table_count; /* where there is one: entries that it is an index of; count
					   0: it is the factor itself */
	__u8 capture; /* or TRACE_NONE */
	__u8 pad[3];
};

struct trace_product {
	struct trace_factor factors[TRACE_FACTORS];
	__u32 factor_count; /* 0: there is no such product */
	__u32 pad;
};

#define TRACE_SENDS_EVENTS 1 /* of trace_row.flags */
#define TRACE_SUMS 2
#define TRACE_RETURNS 4 /* it counts when the function returns, with its duration */
#define TRACE_SKIPS_INNER 8 /* not inside another function of its group */
#define TRACE_OF_KERNEL 16 /* what it reads is the kernel's memory */
#define TRACE_IS_LONG 64 /* its events have a tail */
#define TRACE_EVENT_IF_FAILED 128 /* events of calls that failed, or took long, alone */
#define TRACE_EVENT_IF_FIRST 256 /* events of calls that begin new sums alone */
#define TRACE_FAILS_NEVER 1024
#define TRACE_FAILS_BELOW_0 512 /* a result below 0 says that it failed; else any but 0 */

enum trace_map_action { TRACE_MAP_KEEP, TRACE_MAP_PUT, TRACE_MAP_PUT_BYTES, TRACE_MAP_DELETE };

struct trace_row {
	__u32 generation; /* 0: it is off */
	__u32 flags;
	__u64 event_over_ns; /* with TRACE_EVENT_IF_FAILED: "or took longer"; 0: not asked.  Alone:
				took longer */
	__u8 group; /* its probes are inner ones of each other */
	__u8 value_count;
	__u8 text; /* the value that is the text's address; or TRACE_NONE */
	__u8 text_bytes;
	__u8 keys[TRACE_KEYS]; /* captures by which sums are kept apart; or TRACE_NONE */
	__u8 map_action, map, map_key, map_value; /* done when the function returned 0 */
	__u8 pad[6];
	struct trace_product bytes[TRACE_PRODUCTS];
	struct trace_value values[TRACE_VALUES];
};

#define TRACE_HAS_RETURNED 1 /* of trace_event.flags: duration and result are there */
#define TRACE_HAS_BYTES 2
#define TRACE_HAS_TEXT 4
#define TRACE_IS_OPEN 8 /* a call that has not returned: duration is how long it went on so far */
#define TRACE_HAS_ENDED 16 /* with it: its thread has ended inside */

#define TRACE_NO_CALL                                                                              \
	0xffff /* of trace_event.row, with TRACE_IS_OPEN: the thread is in no call that            \
		  was seen to begin; captures[0] is its stack pointer, captures[1] its instruction \
		*/

#define TRACE_SHORT_CAPTURES 4 /* that an event has without its tail */

struct trace_event {
	__u32 size; /* with its tail, if it has one */
	__u16 row;
	__u8 flags;
	__u8 pad;
	__u64 start_ns; /* CLOCK_MONOTONIC, of the entry */
	__u64 duration_ns;
	__u32 tgid, tid;
	__u64 cgroup;
	__s64 result;
	__u32 cpu;
	__u16 depth; /* probed functions that it is inside of */
	__u16 has; /* a bit a capture: it is there */
	__u64 bytes;
	__s64 captures[TRACE_SHORT_CAPTURES];
};

struct trace_event_long {
	struct trace_event event;
	__s64 captures[TRACE_CAPTURES - TRACE_SHORT_CAPTURES];
	char text[TRACE_TEXT_BYTES]; /* NUL-ended */
};

struct trace_sums_key { /* no value is shared between CPUs */
	__u64 cgroup;
	__u32 tgid;
	__u16 row, cpu;
	__s64 keys[TRACE_KEYS];
};

struct trace_numbers {
	__u64 calls, failed; /* by its result, as 32 bits */
	__u64 bytes, bytes_unknown; /* the second: calls without known bytes */
	__u64 ns;
};

struct trace_sums {
	struct trace_numbers numbers;
	__u32 sizes[TRACE_BUCKETS], durations[TRACE_BUCKETS];
};

struct trace_learned_key {
	__u32 tgid, map;
	__s64 key;
};

/* By row, a CPU each: hits = outside + skipped + made + too_deep + left, but for those that are
 * inside now, and those that neither send nor sum; made = events sent + dropped, where all are to
 * be sent. */
struct trace_counts {
	__u64 hits; /* of any process */
	__u64 outside; /* of processes that are not traced */
	__u64 skipped; /* inside another function of its group */
	__u64 made;
	__u64 dropped; /* there was no room for the event */
	__u64 not_summed; /* there was no room for its sums */
	__u64 too_deep; /* inside too many probed functions, or no memory to remember it */
	__u64 left; /* without a return that was seen: longjmp, an exception, a thread's end */
};

struct trace_control {
	__u64 is_on;
	__u64 groups; /* that called for the first time */
	__u64 execs; /* programs that traced processes began */
};

#define TRACE_GROUP_LEVELS 32

struct trace_group { /* a cgroup */
	__u64 above[TRACE_GROUP_LEVELS]; /* by level: from the root to itself; 0: none */
};

_Static_assert(sizeof(struct trace_value) == 32, "shared with the kernel side");
_Static_assert(sizeof(struct trace_product) == 72, "shared with the kernel side");
_Static_assert(sizeof(struct trace_row) == 688, "shared with the kernel side");
_Static_assert(sizeof(struct trace_event) == 96, "shared with the kernel side");
_Static_assert(sizeof(struct trace_event_long) == 272, "shared with the kernel side");
_Static_assert(sizeof(struct trace_sums_key) == 32, "shared with the kernel side");
