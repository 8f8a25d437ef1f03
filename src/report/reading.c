/* SPDX-License-Identifier: MIT */
#include "report/reading.h"

/* clang-format off */
const struct cli_term reading_terms[] = {
	{ "first line", "The name, how it ended (OK is exit code 0), how long it ran, the node and its allocated cores." },
	{ "findings", "At most two, with what to do behind \"->\". \"Nothing stands out.\": no rule found anything. \"Nothing stands out "
		"yet\": it lasted less than a second, or what was found may be the start of a program. "
		"--full has all of them; jobmeter insights says which numbers they come from." },
	{ "CPU efficiency", "CPU time over (elapsed time x allocated cores), as seff has it. Behind it the cores that "
		"were busy on average, and CPU time in user mode and in the kernel." },
	{ "Memory efficiency", "Peak memory over what was requested (the limit of the job), as seff has it; \"Memory\", the "
		"peak alone, without a limit. \"reached its limit\": a process was killed for it; how much it needed is not known. The peak includes page cache and shared memory (files in /dev/shm, too); it lacks pages that "
		"others brought in, such as libraries." },
	{ "Working time", "The time of all threads together in which they ran, waited for a CPU, or were blocked in files, "
		"sync, locks, the network or page faults; its parts are shares of that sum. Reads, writes, metadata and sync: "
		"inside such calls, on a CPU or blocked; computing: the program's own code; other kernel: page faults that need no storage, "
		"starting processes and all other calls of the kernel. Findings use the same numbers. "
		"Sleep, poll, and waiting for children, threads or work are not in it; they stand in parentheses where they "
		"were most of the run. Where it was less than 5 % of the run there are no shares." },
	{ "Processes", "How many processes and threads there were, the memory of the largest process (left out where it shows more than "
		"the job's peak without files and shared memory, by pages that it shares with others; --full has it), how many crashed (died of "
		"SIGSEGV, SIGABRT and the like) and how many the kernel killed because memory ran out." },
	{ "mount", "Bytes and calls by file system. size: the mean of a read; written: handed to the kernel, which may "
		"write it to a disk later; metadata: open, stat, readdir and the like; p99: 99 of 100 reads (or writes, "
		"where these took longer) took less, exact to a factor of two; \"-\" for io_uring and libaio, and no such column where "
		"metadata and sync took longer than both. Mounts with less than 1 % of all are left out or one row, \"others\"; there is no table where all of it is "
		"less than 1 MiB, 1,000 calls and 1 % of the time. (pipe) is no "
		"file system; (unknown): this kernel does not say on which." },
	{ "cores, read", "Over time, each column the mean of its part of the run; the peak behind is the highest column. "
		"The second line is of reads or of writes, whichever took longer." },
	{ "Not measured", "What this machine, kernel or user cannot measure; --full has the reasons." },
	{ "-", "Not known, which is not zero." },
	{ "≥", "At least: a part was not measured." },
	{ "core time", "With --full: allocated cores x elapsed time. What no thread used was lost to what threads waited for "
		"meanwhile, in proportion; the rest is idle. That is a convention." },
	{ "CPU binding", "With --full: the CPUs that it could run on (affinity and cpuset); those that it was on for at least 5 % of the "
		"time; how often a thread went from one CPU to another; and the NUMA nodes of the CPUs that it used, of those that "
		"it could use. Memory of another node is slower." },
	{},
};
/* clang-format on */
