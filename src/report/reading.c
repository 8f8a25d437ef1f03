/* SPDX-License-Identifier: MIT */
#include "report/reading.h"

/* clang-format off */
const struct cli_term reading_terms[] = {
	{ "first line", "The name, how it ended (OK: exit code 0), how long it ran, the node and its allocated cores." },
	{ "findings", "At most two, with the advice behind \"->\". \"Nothing stands out.\": no rule found anything. \"Nothing stands out "
		"yet\": the run was too short for some rules, or a finding may come from the start of the program. "
		"--full has all of them; jobmeter insights shows their numbers." },
	{ "CPU efficiency", "CPU time over (elapsed time x allocated cores), as in seff; then the mean number of busy cores, "
		"and CPU time in user mode and in the kernel." },
	{ "Memory efficiency", "Peak memory over requested memory (the limit of the job), as in seff; \"Memory\", the "
		"peak alone, without a limit. \"reached its limit\": the kernel killed a process; the needed memory is unknown. "
		"The peak includes page cache and shared memory (also files in /dev/shm); it lacks pages that "
		"others loaded first, such as libraries." },
	{ "Working time", "The time, summed over all threads, in which they ran, waited for a CPU, or were blocked in files, "
		"sync, locks, the network or page faults; its parts are shares of that sum. Reads, writes, metadata and sync: "
		"inside such calls, on a CPU or blocked; computing: the program's own code; other kernel: page faults without storage, "
		"process start and all other calls of the kernel. Findings use the same numbers. "
		"Sleep, poll, and waiting for children, threads or work are not included; they are in parentheses if they "
		"were most of the run. Below 5 % of the run there are no shares." },
	{ "Processes", "The number of processes and threads, the memory of the largest process (left out if pages shared with others "
		"make it larger than the job's own peak; --full has it), and the numbers of crashes (SIGSEGV, SIGABRT and the like) and "
		"OOM kills." },
	{ "mount", "Bytes and calls by file system. size: mean bytes per read; written: handed to the kernel, which may "
		"write it to a disk later; metadata: open, stat, readdir and the like; p99: 99 % of reads (or writes, "
		"if these took longer) took less, exact to a factor of two; \"-\" for io_uring and libaio, and no such column if "
		"metadata and sync took longer than both. Mounts with less than 1 % of all are left out or in one row, \"others\"; there is "
		"no table below 1 MiB, 1,000 calls and 1 % of the time. (pipe) is no file system; (unresolved): operations whose file "
		"system this kernel does not report." },
	{ "cores, read", "Over time, each column the mean of its part of the run; then the highest column. "
		"The second line shows reads or writes, whichever took longer." },
	{ "Not measured", "What this machine, kernel or user cannot measure; --full has the reasons." },
	{ "-", "Unknown, which is not zero." },
	{ "≥", "At least: a part was not measured." },
	{ "~", "An estimate." },
	{ "core time", "With --full: allocated cores x elapsed time. Unused core time is divided among the causes of the threads' waits "
		"at that time, in proportion; the rest is idle. That is a convention." },
	{ "CPU binding", "With --full: the allowed CPUs (affinity and cpuset); those used for at least 5 % of the time; "
		"moves of threads between CPUs; and the NUMA nodes of the used CPUs, of those allowed. "
		"Memory of another node is slower." },
	{},
};
/* clang-format on */
