/* SPDX-License-Identifier: MIT */
/* lost - why the kernel side could not count something as it should; shared with user space. */
#pragma once

enum lost_reason {
	LOST_ROW, /* no room for a row of files: counted in (other) */
	LOST_HISTOGRAM, /* no room for a histogram: the counts are there */
	LOST_CLOCK, /* a call was begun unseen or could not be parked: counted without its time */
	LOST_INTERRUPTED, /* no room for a call that a signal interrupted: its EINTR is not counted
			   */
	LOST_COMPAT, /* a 32-bit program's call: not counted */
	LOST_EXEC, /* a start of a program was begun unseen, or could not be parked: its reads are
		      not counted */
	LOST_TASK, /* no room for a cgroup's totals: a task's end, or its move, is not counted */
	LOST_LEAVING, /* no room for a task that ended: in no reading until it is freed */
	LOST_MOVE, /* a process with several threads was moved: what they did before moved along */
	LOST_PLACE, /* no room for a superblock's description: its rows have no name */
	LOST_PATH, /* no room to store where a call ends: it counts in (unresolved) */
	LOST_LIBAIO, /* a libaio request with an unseen result: not counted */
	LOST_SKIPPED, /* an io_uring request that asked for no completion: not counted if it
			 succeeded */
	LOST_REQUEST, /* an io_uring request with an unidentified end: not counted */
	LOST_BASELINE, /* no room for a task's home: were it moved, what it did before would be
			  missing */
	LOST_FILE, /* a call on a file that is not followed: counted in the sum of those */
	LOST_FILE_SUM, /* no room for that sum of a cgroup's: the call is counted by mount only */
	LOST_FILE_NAME, /* no room to remember that a file is not followed: how many are is not
			   known (no loss) */
	LOST_ORDER, /* no room for an open file: whether its accesses follow each other is not known
		     */
	LOST_GROUP, /* no room for a group: it is counted with the one above it */
	LOST_GUEST, /* a group that a user made beyond his share of them: the same */
	LOST_FREEING, /* the freeing of a task that ended was not seen: its last CPU time is not
			 counted */
	LOST_TIME, /* no room for a cgroup's times by cause: not counted */
	LOST_TASK_STATE, /* no room to follow a task's time: not counted before the next reading */
	LOST_POLL, /* no room for a cgroup that polls or spins: a poll, or a sample, is not counted
		    */
	LOST_THREADS, /* no room for what a process' threads did, or the cgroup's busiest process
			 was not to be had: they are not looked at */
	LOST_OOM_KILL, /* no room for a process that was killed for want of memory: it is counted,
			  and not named */
	LOST_TRAFFIC, /* no room for what a cgroup sends and receives: not counted by kind of socket
		       */
	LOST_MESSAGE, /* a message whose length could not be read, or a request that sees many: its
			 bytes are not counted */
	LOST_CONNECTION, /* no room for a TCP socket that begins or is used: neither opened nor what
			    it sent again is counted */
	LOST_ACCEPT, /* a request to io_uring to accept connections: they are not counted as
			accepted */
	LOST_SYSCALL, /* of all calls by name: one was begun unseen, or could not be parked: counted
			 without its time */
	LOST_SYSCALL_ROW, /* no room for a cgroup's calls of that name: not counted by name */
	LOST_BLOCK_ROW, /* no room for what a cgroup has a block device do: not counted */
	LOST_BLOCK_REQUEST, /* no room for a request to a block device on its way: not counted */
	LOST_BLOCK_END, /* the end of a request to a block device was not seen: counted later,
			   without its time */
	LOST_COUNT,
	/* The map has as many numbers once more: of losses whose
	   group is unknown. */
};
