/* SPDX-License-Identifier: MIT */
/*
 * worker - the process that is measured: it does system calls in rounds, and says what one took.
 *
 * Its files lie on a tmpfs of their own, one file a thread, on one mount.  The two works on new
 * pages have a file on a disk's file system, since a tmpfs has no page cache of that kind; what
 * they read is a hole, so that no disk is waited for.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct error;
struct worker;

enum work {
	WORK_PREAD_1, /* 4 KiB of a cached file, by one thread */
	WORK_PREAD_2, /* by two threads at once, each on its CPU and its file */
	WORK_PREAD_LAST, /* by one thread on the last CPU and not the first, where some cost more */
	WORK_WRITE_1, /* 4 KiB over the same 4 KiB */
	WORK_WRITE_2,
	WORK_GETPPID_1,
	WORK_GETPPID_2,
	WORK_SWITCH, /* two threads on one CPU wake each other by a futex: one switch */
	WORK_PIPE, /* the same by a byte in a pipe: one switch, a read that sleeps and a write */
	WORK_FORK, /* fork, _exit, wait */
	WORK_STAT, /* of a path that is there, two directories deep */
	WORK_OPEN, /* the same opened, and closed again: 2 calls */
	WORK_ABSENT, /* open of a path that is not there */
	WORK_UNLINK, /* a file made, closed and removed: 3 calls */
	WORK_NEW, /* write of 4 KiB that are not in the page cache yet */
	WORK_COLD, /* pread of 64 KiB that are not: 16 pages */
	WORK_SEND, /* 64 bytes sent to ourselves by TCP, and received: 2 calls */
	WORK_DIRECT, /* pread of 4 KiB past the page cache, from a loop device over the tmpfs: one
			request */
	WORK_COUNT,
};

const char *work_name(enum work w);
/* Calls to one thread of pread, write or getppid. */
int work_threads(enum work w);

/* What the worker has done since its start, to be compared with what a contender says. */
struct deeds {
	uint64_t preads, writes; /* of the tmpfs */
	uint64_t sends; /* by TCP */
	uint64_t requests; /* of the loop device */
	uint64_t switches; /* how often threads of rounds left their CPU of their own will */
	uint64_t cpu_ns; /* on a CPU in rounds, by the clock of processes; children with it */
	/* Between which lies what threads of rounds and children have lived, from birth to end,
	 * taken together. */
	uint64_t least_ns, most_ns;
};

/* Starts it; it waits.  @dir: an empty one on a tmpfs, of the caller's mount namespace; @disk_dir:
 * one on a disk's file system.  @device: a block device of 4 KiB at least, for WORK_DIRECT; NULL:
 * that is not asked for. */
int worker_start(const char *dir, const char *disk_dir, const char *device, struct worker **ret,
		 struct error *err);
struct worker *worker_stop(struct worker *w);
void worker_stopp(struct worker **w);

pid_t worker_pid(const struct worker *w);

/*
 * One round: @chunks times @calls of @what.  -ERANGE: what should switch did not.  *ret_ns: time of
 * one, on the wall: of each thread the median over the chunks in which nobody took the CPU from it
 * (over all, where there are not two such), and of the threads the mean.
 */
int worker_run(struct worker *w, enum work what, unsigned int calls, unsigned int chunks,
	       double *ret_ns, struct error *err);

struct deeds worker_deeds(const struct worker *w);
