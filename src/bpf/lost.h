/* SPDX-License-Identifier: MIT */
/* lost - why the kernel side could not count something as it should; shared with user space. */
#pragma once

enum lost_reason {
	LOST_ROW, /* no room for a row of files: counted in (other) */
	LOST_HISTOGRAM, /* no room for a histogram: the counts are there */
	LOST_CLOCK, /* begun unseen, or could not be parked: a call without its time */
	LOST_INTERRUPTED, /* no room for a call that a signal interrupted: not counted */
	LOST_COMPAT, /* a 32-bit program's call: not counted */
	LOST_EXEC, /* an exec begun unseen, or not parked: its reads are not counted */
	LOST_TASK, /* no room for a cgroup's totals: a task's end or move is not counted */
	LOST_LEAVING, /* no room for a task that ended: in no reading until it is freed */
	LOST_MOVE, /* a process with several threads was moved: what they did before moved along */
	LOST_PLACE, /* no room for a superblock's description: its rows have no name */
	LOST_PATH, /* no room to store where a call ends: it counts in (unresolved) */
	LOST_LIBAIO, /* a libaio request with an unseen result: not counted */
	LOST_SKIPPED, /* an io_uring request without a completion: not counted if it succeeded */
	LOST_REQUEST, /* an io_uring request with an unidentified end: not counted */
	LOST_BASELINE, /* no room for a task's baseline: earlier counts are lost if it moves */
	LOST_FILE, /* a call on a file that is not followed: counted in the sum of those */
	LOST_FILE_SUM, /* no room for that sum of a cgroup's: the call is counted by mount only */
	LOST_FILE_NAME, /* no room to remember an unfollowed file: their number is unknown */
	LOST_ORDER, /* no room for an open file: the order of its accesses is unknown */
	LOST_GROUP, /* no room for a group: it is counted with the one above it */
	LOST_GUEST, /* a group beyond the share of the user that made it: the same */
	LOST_FREEING, /* the freeing of a task was not seen: its last CPU time is missing */
	LOST_TIME, /* no room for a cgroup's times by cause: not counted */
	LOST_TASK_STATE, /* no room to follow a task's time: not counted before the next reading */
	LOST_POLL, /* no room for a polling cgroup: a poll or sample is not counted */
	LOST_THREADS, /* no room for a process' threads, or its entry was taken: not sampled */
	LOST_OOM_KILL, /* no room for an OOM-killed process: counted, but not named */
	LOST_TRAFFIC, /* no room for a cgroup's traffic: not counted by kind of socket */
	LOST_MESSAGE, /* a message of unknown length, or a multishot request: bytes not counted */
	LOST_CONNECTION, /* no room for a TCP socket: not counted as opened, nor its retransmits */
	LOST_ACCEPT, /* an io_uring request to accept connections: not counted as accepted */
	LOST_SYSCALL, /* a call by name, begun unseen or not parked: counted without its time */
	LOST_SYSCALL_ROW, /* no room for a cgroup's calls of that name: not counted by name */
	LOST_BLOCK_ROW, /* no room for what a cgroup has a block device do: not counted */
	LOST_BLOCK_REQUEST, /* no room for a request to a block device on its way: not counted */
	LOST_BLOCK_END, /* the end of a block request was not seen: counted later, without time */
	LOST_COUNT,
	/* followed in the map by as many numbers: losses in an unknown group */
};
