/* SPDX-License-Identifier: MIT */
#include "metric.h"

#include <assert.h>
#include <string.h>

/* clang-format off */
static const struct metric metrics[METRIC_COUNT] = {
	[METRIC_CPU_USER] = { "jobmeter_job_cpu_seconds_total", "mode=\"user\"", "cpu", "user_seconds",
		UNIT_SECONDS, KIND_COUNTER, SCOPE_JOB, "CPU time in user mode, as getrusage(2) splits it." },
	[METRIC_CPU_SYSTEM] = { "jobmeter_job_cpu_seconds_total", "mode=\"system\"", "cpu", "system_seconds",
		UNIT_SECONDS, KIND_COUNTER, SCOPE_JOB, "CPU time in the kernel, as getrusage(2) splits it." },
	[METRIC_CPU_RUN_QUEUE] = { "jobmeter_job_cpu_run_queue_seconds_total", NULL, "cpu", "run_queue_seconds",
		UNIT_SECONDS, KIND_COUNTER, SCOPE_JOB, "Time that threads were ready to run and waited for a CPU." },
	[METRIC_CPU_ALLOCATED] = { "jobmeter_job_cpu_allocated_cores", NULL, "cpu", "allocated_cores",
		UNIT_CORES, KIND_LIMIT, SCOPE_JOB, "Cores that the job may use: the manager's, else affinity, cpuset and quota together." },
	[METRIC_CPU_VOLUNTARY_SWITCHES] = { "jobmeter_job_cpu_voluntary_switches_total", NULL, "cpu", "voluntary_switches",
		UNIT_COUNT, KIND_COUNTER, SCOPE_JOB, "Context switches because a thread had to wait for something." },
	[METRIC_CPU_INVOLUNTARY_SWITCHES] = { "jobmeter_job_cpu_involuntary_switches_total", NULL, "cpu", "involuntary_switches",
		UNIT_COUNT, KIND_COUNTER, SCOPE_JOB, "Context switches because another thread was given the CPU." },
	[METRIC_CPU_THROTTLED] = { "jobmeter_job_cpu_throttled_seconds_total", NULL, "cpu", "throttled_seconds",
		UNIT_SECONDS, KIND_COUNTER, SCOPE_JOB, "Time that the CPU quota held the job back." },
	[METRIC_MEMORY_PEAK] = { "jobmeter_job_memory_peak_bytes", NULL, "memory", "peak_bytes",
		UNIT_BYTES, KIND_PEAK, SCOPE_JOB, "Greatest memory use of the job's group, page cache included." },
	[METRIC_MEMORY_PROCESS_PEAK] = { "jobmeter_job_memory_process_peak_bytes", NULL, "memory", "process_peak_bytes",
		UNIT_BYTES, KIND_PEAK, SCOPE_JOB, "Greatest resident set of any one process." },
	[METRIC_MEMORY_LIMIT] = { "jobmeter_job_memory_limit_bytes", NULL, "memory", "limit_bytes",
		UNIT_BYTES, KIND_LIMIT, SCOPE_JOB, "Memory that the job may use." },
	[METRIC_MEMORY_USAGE] = { "jobmeter_job_memory_usage_bytes", NULL, "memory", "usage_bytes",
		UNIT_BYTES, KIND_GAUGE, SCOPE_JOB, "Memory that the job's group uses now, page cache included." },
	[METRIC_MEMORY_MINOR_FAULTS] = { "jobmeter_job_memory_minor_faults_total", NULL, "memory", "minor_faults",
		UNIT_COUNT, KIND_COUNTER, SCOPE_JOB, "Page faults that needed no reading." },
	[METRIC_MEMORY_MAJOR_FAULTS] = { "jobmeter_job_memory_major_faults_total", NULL, "memory", "major_faults",
		UNIT_COUNT, KIND_COUNTER, SCOPE_JOB, "Page faults that had to read from storage." },
	[METRIC_MEMORY_OOM_KILLS] = { "jobmeter_job_memory_oom_kills_total", NULL, "memory", "oom_kills",
		UNIT_COUNT, KIND_COUNTER, SCOPE_JOB, "Processes killed because the group's memory ran out." },
	[METRIC_TASKS_ENDED] = { "jobmeter_job_tasks_ended_total", NULL, "tasks", "ended",
		UNIT_COUNT, KIND_COUNTER, SCOPE_JOB, "Threads (processes' main threads included) that ended." },
	[METRIC_TASKS_LIVE] = { "jobmeter_job_tasks", NULL, "tasks", "live",
		UNIT_COUNT, KIND_GAUGE, SCOPE_JOB, "Threads (processes' main threads included) that live now." },
	[METRIC_IO_CHARS_READ] = { "jobmeter_job_io_rchar_bytes_total", NULL, "tasks", "rchar_bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_JOB, "Bytes read as the tasks' own rchar counts them." },
	[METRIC_IO_CHARS_WRITTEN] = { "jobmeter_job_io_wchar_bytes_total", NULL, "tasks", "wchar_bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_JOB, "Bytes written as the tasks' own wchar counts them." },
	[METRIC_IO_CALLS_READ] = { "jobmeter_job_io_syscr_calls_total", NULL, "tasks", "syscr_calls",
		UNIT_COUNT, KIND_COUNTER, SCOPE_JOB, "Read calls as the tasks' own syscr counts them." },
	[METRIC_IO_CALLS_WRITTEN] = { "jobmeter_job_io_syscw_calls_total", NULL, "tasks", "syscw_calls",
		UNIT_COUNT, KIND_COUNTER, SCOPE_JOB, "Write calls as the tasks' own syscw counts them." },
	[METRIC_IO_STORAGE_READ] = { "jobmeter_job_io_storage_read_bytes_total", NULL, "tasks", "storage_read_bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_JOB, "Bytes that the tasks had read from storage (read_bytes)." },
	[METRIC_IO_STORAGE_WRITTEN] = { "jobmeter_job_io_storage_write_bytes_total", NULL, "tasks", "storage_write_bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_JOB, "Bytes that the tasks dirtied for storage (write_bytes)." },

	[METRIC_READ_BYTES] = { "jobmeter_job_io_read_bytes_total", NULL, "read", "bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_MOUNT, "Bytes that reads returned, all ways but mappings together." },
	[METRIC_READ_CALLS] = { "jobmeter_job_io_read_calls_total", NULL, "read", "calls",
		UNIT_COUNT, KIND_COUNTER, SCOPE_MOUNT, "Read calls, failed ones included." },
	[METRIC_READ_ERRORS] = { "jobmeter_job_io_read_errors_total", NULL, "read", "errors",
		UNIT_COUNT, KIND_COUNTER, SCOPE_MOUNT, "Read calls that failed." },
	[METRIC_READ_SECONDS] = { "jobmeter_job_io_read_seconds_total", NULL, "read", "seconds",
		UNIT_SECONDS, KIND_COUNTER, SCOPE_MOUNT, "Time that threads spent inside read calls; io_uring's and libaio's have none." },
	[METRIC_READ_SIZES] = { "jobmeter_job_io_read_size_bytes", NULL, "read", "sizes",
		UNIT_BYTES, KIND_HISTOGRAM, SCOPE_MOUNT, "Bytes that each successful read call returned." },
	[METRIC_READ_LATENCIES] = { "jobmeter_job_io_read_latency_seconds", NULL, "read", "latencies",
		UNIT_SECONDS, KIND_HISTOGRAM, SCOPE_MOUNT, "Time of each read call that has one." },
	[METRIC_WRITE_BYTES] = { "jobmeter_job_io_write_bytes_total", NULL, "write", "bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_MOUNT, "Bytes that writes returned as written, all ways but mappings together." },
	[METRIC_WRITE_CALLS] = { "jobmeter_job_io_write_calls_total", NULL, "write", "calls",
		UNIT_COUNT, KIND_COUNTER, SCOPE_MOUNT, "Write calls, failed ones included." },
	[METRIC_WRITE_ERRORS] = { "jobmeter_job_io_write_errors_total", NULL, "write", "errors",
		UNIT_COUNT, KIND_COUNTER, SCOPE_MOUNT, "Write calls that failed." },
	[METRIC_WRITE_SECONDS] = { "jobmeter_job_io_write_seconds_total", NULL, "write", "seconds",
		UNIT_SECONDS, KIND_COUNTER, SCOPE_MOUNT, "Time that threads spent inside write calls; io_uring's and libaio's have none, copies have it as reads." },
	[METRIC_WRITE_SIZES] = { "jobmeter_job_io_write_size_bytes", NULL, "write", "sizes",
		UNIT_BYTES, KIND_HISTOGRAM, SCOPE_MOUNT, "Bytes that each successful write call wrote." },
	[METRIC_WRITE_LATENCIES] = { "jobmeter_job_io_write_latency_seconds", NULL, "write", "latencies",
		UNIT_SECONDS, KIND_HISTOGRAM, SCOPE_MOUNT, "Time of each write call that has one." },
	[METRIC_MAPPED_READ_BYTES] = { "jobmeter_job_io_mapped_read_bytes_total", NULL, "mapped", "read_bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_MOUNT, "Bytes that were brought into the page cache for mappings of files, read-ahead included." },
	[METRIC_MAPPED_WRITE_BYTES] = { "jobmeter_job_io_mapped_write_bytes_total", NULL, "mapped", "write_bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_MOUNT, "Bytes of the pages that were dirtied through mappings of files." },
	[METRIC_META_CALLS] = { "jobmeter_job_io_meta_calls_total", NULL, "meta", "calls",
		UNIT_COUNT, KIND_COUNTER, SCOPE_MOUNT_OP, "Calls of one operation on metadata, failed ones included." },
	[METRIC_META_ERRORS] = { "jobmeter_job_io_meta_errors_total", NULL, "meta", "errors",
		UNIT_COUNT, KIND_COUNTER, SCOPE_MOUNT_OP, "Calls of one operation on metadata that failed." },
	[METRIC_META_NOT_FOUND] = { "jobmeter_job_io_meta_not_found_total", NULL, "meta", "not_found",
		UNIT_COUNT, KIND_COUNTER, SCOPE_MOUNT_OP, "Of the failed ones: those for a file that does not exist (ENOENT)." },
	[METRIC_META_SECONDS] = { "jobmeter_job_io_meta_seconds_total", NULL, "meta", "seconds",
		UNIT_SECONDS, KIND_COUNTER, SCOPE_MOUNT_OP, "Time inside calls of one operation on metadata." },
	[METRIC_WAY_READ_BYTES] = { "jobmeter_job_io_way_read_bytes_total", NULL, "ways.read", "bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_MOUNT_WAY, "Of the bytes read: those that came this way." },
	[METRIC_WAY_READ_CALLS] = { "jobmeter_job_io_way_read_calls_total", NULL, "ways.read", "calls",
		UNIT_COUNT, KIND_COUNTER, SCOPE_MOUNT_WAY, "Of the read calls: those of this way, failed ones included." },
	[METRIC_WAY_READ_ERRORS] = { "jobmeter_job_io_way_read_errors_total", NULL, "ways.read", "errors",
		UNIT_COUNT, KIND_COUNTER, SCOPE_MOUNT_WAY, "Of the read calls that failed: those of this way." },
	[METRIC_WAY_WRITE_BYTES] = { "jobmeter_job_io_way_write_bytes_total", NULL, "ways.write", "bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_MOUNT_WAY, "Of the bytes written: those that went this way." },
	[METRIC_WAY_WRITE_CALLS] = { "jobmeter_job_io_way_write_calls_total", NULL, "ways.write", "calls",
		UNIT_COUNT, KIND_COUNTER, SCOPE_MOUNT_WAY, "Of the write calls: those of this way, failed ones included." },
	[METRIC_WAY_WRITE_ERRORS] = { "jobmeter_job_io_way_write_errors_total", NULL, "ways.write", "errors",
		UNIT_COUNT, KIND_COUNTER, SCOPE_MOUNT_WAY, "Of the write calls that failed: those of this way." },

	[METRIC_FILE_READ_BYTES] = { "jobmeter_job_file_read_bytes_total", NULL, "files.read", "bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_FILE, "Bytes that were read by calls, io_uring included, libaio and mappings not." },
	[METRIC_FILE_READ_CALLS] = { "jobmeter_job_file_read_calls_total", NULL, "files.read", "calls",
		UNIT_COUNT, KIND_COUNTER, SCOPE_FILE, "Read calls, failed ones included." },
	[METRIC_FILE_READ_ERRORS] = { "jobmeter_job_file_read_errors_total", NULL, "files.read", "errors",
		UNIT_COUNT, KIND_COUNTER, SCOPE_FILE, "Read calls that failed." },
	[METRIC_FILE_READ_SECONDS] = { "jobmeter_job_file_read_seconds_total", NULL, "files.read", "seconds",
		UNIT_SECONDS, KIND_COUNTER, SCOPE_FILE, "Time inside read calls." },
	[METRIC_FILE_READ_SEQUENTIAL] = { "jobmeter_job_file_read_sequential_bytes_total", NULL, "files.read", "sequential_bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_FILE, "Bytes of calls that began where the one before of the same open file ended." },
	[METRIC_FILE_READ_RANDOM] = { "jobmeter_job_file_read_random_bytes_total", NULL, "files.read", "random_bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_FILE, "Bytes of calls that began elsewhere; of the rest of the bytes it is not known." },
	[METRIC_FILE_WRITE_BYTES] = { "jobmeter_job_file_write_bytes_total", NULL, "files.write", "bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_FILE, "Bytes that were written by calls, io_uring included, libaio and mappings not." },
	[METRIC_FILE_WRITE_CALLS] = { "jobmeter_job_file_write_calls_total", NULL, "files.write", "calls",
		UNIT_COUNT, KIND_COUNTER, SCOPE_FILE, "Write calls, failed ones included." },
	[METRIC_FILE_WRITE_ERRORS] = { "jobmeter_job_file_write_errors_total", NULL, "files.write", "errors",
		UNIT_COUNT, KIND_COUNTER, SCOPE_FILE, "Write calls that failed." },
	[METRIC_FILE_WRITE_SECONDS] = { "jobmeter_job_file_write_seconds_total", NULL, "files.write", "seconds",
		UNIT_SECONDS, KIND_COUNTER, SCOPE_FILE, "Time inside write calls." },
	[METRIC_FILE_WRITE_SEQUENTIAL] = { "jobmeter_job_file_write_sequential_bytes_total", NULL, "files.write", "sequential_bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_FILE, "Bytes of calls that began where the one before of the same open file ended." },
	[METRIC_FILE_WRITE_RANDOM] = { "jobmeter_job_file_write_random_bytes_total", NULL, "files.write", "random_bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_FILE, "Bytes of calls that began elsewhere; of the rest of the bytes it is not known." },
	[METRIC_FILE_OPENS] = { "jobmeter_job_file_opens_total", NULL, "files", "opens",
		UNIT_COUNT, KIND_COUNTER, SCOPE_FILE, "Opens that did not make the file." },
	[METRIC_FILE_CREATES] = { "jobmeter_job_file_creates_total", NULL, "files", "creates",
		UNIT_COUNT, KIND_COUNTER, SCOPE_FILE, "Opens that made the file." },
	[METRIC_FILE_CLOSES] = { "jobmeter_job_file_closes_total", NULL, "files", "closes",
		UNIT_COUNT, KIND_COUNTER, SCOPE_FILE, "Calls of close, of each descriptor." },
	[METRIC_FILE_OTHERS] = { "jobmeter_job_file_other_calls_total", NULL, "files", "other_calls",
		UNIT_COUNT, KIND_COUNTER, SCOPE_FILE, "Other calls on metadata by descriptor: fstat, fsync, getdents, ftruncate and the like." },
	[METRIC_FILE_META_SECONDS] = { "jobmeter_job_file_meta_seconds_total", NULL, "files", "meta_seconds",
		UNIT_SECONDS, KIND_COUNTER, SCOPE_FILE, "Time inside those and opens and closes." },
	[METRIC_FILE_SIZE] = { "jobmeter_job_file_size_bytes", NULL, "files", "size_bytes",
		UNIT_BYTES, KIND_PEAK, SCOPE_FILE, "Size of the file as its last call saw it; of several files the sum." },
	[METRIC_FILE_REREAD] = { "jobmeter_job_file_reread_bytes_total", NULL, "files", "reread_bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_FILE, "Bytes read beyond the range between the lowest and the highest offset read, which must have been read before." },
	[METRIC_FILE_READ_AFTER_WRITE] = { "jobmeter_job_file_read_after_write_bytes_total", NULL, "files", "read_after_write_bytes",
		UNIT_BYTES, KIND_COUNTER, SCOPE_FILE, "Bytes read between the lowest and the highest offset that the job had written until then." },
};
/* clang-format on */

unsigned int metric_unit_places(enum metric_unit unit)
{
	switch (unit) {
	case UNIT_SECONDS:
		return 9;
	case UNIT_CORES:
		return 3;
	case UNIT_COUNT:
	case UNIT_BYTES:
		break;
	}
	return 0;
}

const struct metric *metric_get(enum metric_id id)
{
	assert(id < METRIC_COUNT);
	return &metrics[id];
}

const struct metric *metric_find(const char *section, const char *key)
{
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		if (strcmp(metrics[i].section, section) == 0 && strcmp(metrics[i].key, key) == 0)
			return &metrics[i];
	}
	return NULL;
}

const char *metric_part(const struct metric *metric)
{
	const char *point = strrchr(metric->section, '.');

	return point ? point + 1 : metric->section;
}

enum metric_id metric_id_of(const struct metric *metric)
{
	return (enum metric_id)(metric - metrics);
}
