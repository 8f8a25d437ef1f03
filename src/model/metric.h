/* SPDX-License-Identifier: MIT */
/*
 * metric - the one table of what jobmeter measures.
 *
 * Readings, merging, JSON, CSV and the reference page walk it; nobody lists the metrics a second
 * time.  Where a number comes from is the collector's own table.
 */
#pragma once

#include <stddef.h>

/* How the 64-bit value that is stored counts, and so how it is shown. */
enum metric_unit {
	UNIT_COUNT,
	UNIT_BYTES,
	UNIT_SECONDS, /* stored in ns */
	UNIT_CORES,   /* stored in thousandths */
	UNIT_LOAD,    /* stored in hundredths, as the kernel says it */
};

/* Digits behind the point when a stored value is written in its unit. */
unsigned int metric_unit_places(enum metric_unit unit);

/* How two values become one: over leaves, ranks, nodes, restarts. */
enum metric_kind {
	KIND_COUNTER, /* the sum */
	KIND_PEAK,    /* the sum over nodes and ranks is an upper bound, so: the greatest */
	KIND_LIMIT,   /* what was granted: the sum over nodes, the same within one */
	KIND_GAUGE,   /* what is so now: the sum over nodes, never over time */
	KIND_HISTOGRAM,
	KIND_INFO,  /* 1, for its labels */
};

enum metric_scope {
	SCOPE_JOB,
	SCOPE_MOUNT,	 /* job x mount */
	SCOPE_MOUNT_OP,	 /* job x mount x operation on metadata */
	SCOPE_MOUNT_WAY, /* job x mount x way of data, but plain calls and mappings */
	SCOPE_FILE,	 /* job x file or folder, of those that were used most; on demand */
	/* The rest is in no record, only in what is scraped. */
	SCOPE_JOB_INFO,
	SCOPE_JOB_TIME,
	SCOPE_NODE,
	SCOPE_NODE_DEVICE, /* node x disk or network interface */
	SCOPE_NODE_MOUNT,
	SCOPE_NODE_INFO,
	SCOPE_AGENT,
	SCOPE_AGENT_INFO,
	SCOPE_AGENT_MAP,
	SCOPE_AGENT_LOSS,   /* agent x reason why an event was not counted as it should */
	SCOPE_AGENT_HOOK,
	SCOPE_AGENT_SCRAPE, /* agent x endpoint x status */
	SCOPE_COUNT,
};

struct metric {
	const char *name;    /* Prometheus' name */
	const char *label;   /* a fixed label, as KEY="VALUE", or NULL */
	const char *section; /* the record's section: "cpu", "read", "ways.read"; NULL: it is in none */
	const char *key;     /* the record's key within it */
	enum metric_unit unit;
	enum metric_kind kind;
	enum metric_scope scope;
	const char *help;
	const char *family_help; /* where several rows have one name: of all of them, on the first */
};

/* The rows of SCOPE_JOB come first, so that these are indexes into a reading's values too. */
enum metric_id {
	METRIC_CPU_USER,
	METRIC_CPU_SYSTEM,
	METRIC_CPU_RUN_QUEUE,
	METRIC_CPU_ALLOCATED,
	METRIC_CPU_VOLUNTARY_SWITCHES,
	METRIC_CPU_INVOLUNTARY_SWITCHES,
	METRIC_CPU_THROTTLED,
	METRIC_MEMORY_PEAK,
	METRIC_MEMORY_PROCESS_PEAK,
	METRIC_MEMORY_LIMIT,
	METRIC_MEMORY_USAGE,
	METRIC_MEMORY_MINOR_FAULTS,
	METRIC_MEMORY_MAJOR_FAULTS,
	METRIC_MEMORY_OOM_KILLS,
	METRIC_TASKS_ENDED,
	METRIC_TASKS_LIVE,
	METRIC_IO_CHARS_READ,
	METRIC_IO_CHARS_WRITTEN,
	METRIC_IO_CALLS_READ,
	METRIC_IO_CALLS_WRITTEN,
	METRIC_IO_STORAGE_READ,
	METRIC_IO_STORAGE_WRITTEN,
	METRIC_JOB_COUNT,

	METRIC_READ_BYTES = METRIC_JOB_COUNT,
	METRIC_READ_CALLS,
	METRIC_READ_ERRORS,
	METRIC_READ_SECONDS,
	METRIC_READ_SIZES,
	METRIC_READ_LATENCIES,
	METRIC_WRITE_BYTES,
	METRIC_WRITE_CALLS,
	METRIC_WRITE_ERRORS,
	METRIC_WRITE_SECONDS,
	METRIC_WRITE_SIZES,
	METRIC_WRITE_LATENCIES,
	METRIC_MAPPED_READ_BYTES,
	METRIC_MAPPED_WRITE_BYTES,
	METRIC_META_CALLS,
	METRIC_META_ERRORS,
	METRIC_META_NOT_FOUND,
	METRIC_META_SECONDS,
	METRIC_WAY_READ_BYTES,
	METRIC_WAY_READ_CALLS,
	METRIC_WAY_READ_ERRORS,
	METRIC_WAY_WRITE_BYTES,
	METRIC_WAY_WRITE_CALLS,
	METRIC_WAY_WRITE_ERRORS,
	METRIC_FILE_READ_BYTES,
	METRIC_FILE_READ_CALLS,
	METRIC_FILE_READ_ERRORS,
	METRIC_FILE_READ_SECONDS,
	METRIC_FILE_READ_SEQUENTIAL,
	METRIC_FILE_READ_RANDOM,
	METRIC_FILE_WRITE_BYTES,
	METRIC_FILE_WRITE_CALLS,
	METRIC_FILE_WRITE_ERRORS,
	METRIC_FILE_WRITE_SECONDS,
	METRIC_FILE_WRITE_SEQUENTIAL,
	METRIC_FILE_WRITE_RANDOM,
	METRIC_FILE_OPENS,
	METRIC_FILE_CREATES,
	METRIC_FILE_CLOSES,
	METRIC_FILE_OTHERS,
	METRIC_FILE_META_SECONDS,
	METRIC_FILE_SIZE,
	METRIC_FILE_REREAD,
	METRIC_FILE_READ_AFTER_WRITE,

	METRIC_JOB_INFO,
	METRIC_JOB_START,
	METRIC_JOB_END,
	METRIC_NODE_CPU_USER,
	METRIC_NODE_CPU_NICE,
	METRIC_NODE_CPU_SYSTEM,
	METRIC_NODE_CPU_IDLE,
	METRIC_NODE_CPU_IOWAIT,
	METRIC_NODE_CPU_IRQ,
	METRIC_NODE_CPU_SOFTIRQ,
	METRIC_NODE_CPU_STEAL,
	METRIC_NODE_CPUS,
	METRIC_NODE_SWITCHES,
	METRIC_NODE_FORKS,
	METRIC_NODE_PROCS_RUNNING,
	METRIC_NODE_PROCS_BLOCKED,
	METRIC_NODE_BOOT_TIME,
	METRIC_NODE_LOAD_1,
	METRIC_NODE_LOAD_5,
	METRIC_NODE_LOAD_15,
	METRIC_NODE_MEMORY_TOTAL,
	METRIC_NODE_MEMORY_FREE,
	METRIC_NODE_MEMORY_AVAILABLE,
	METRIC_NODE_MEMORY_BUFFERS,
	METRIC_NODE_MEMORY_CACHED,
	METRIC_NODE_SWAP_TOTAL,
	METRIC_NODE_SWAP_FREE,
	METRIC_NODE_PRESSURE_CPU_WAITING,
	METRIC_NODE_PRESSURE_IO_WAITING,
	METRIC_NODE_PRESSURE_IO_STALLED,
	METRIC_NODE_PRESSURE_MEMORY_WAITING,
	METRIC_NODE_PRESSURE_MEMORY_STALLED,
	METRIC_NODE_NETWORK_RECEIVE_BYTES,
	METRIC_NODE_NETWORK_RECEIVE_PACKETS,
	METRIC_NODE_NETWORK_RECEIVE_ERRORS,
	METRIC_NODE_NETWORK_RECEIVE_DROPS,
	METRIC_NODE_NETWORK_TRANSMIT_BYTES,
	METRIC_NODE_NETWORK_TRANSMIT_PACKETS,
	METRIC_NODE_NETWORK_TRANSMIT_ERRORS,
	METRIC_NODE_NETWORK_TRANSMIT_DROPS,
	METRIC_NODE_DISK_READ_BYTES,
	METRIC_NODE_DISK_READ_CALLS,
	METRIC_NODE_DISK_WRITE_BYTES,
	METRIC_NODE_DISK_WRITE_CALLS,
	METRIC_NODE_DISK_BUSY,
	METRIC_NODE_DISK_WEIGHTED,
	METRIC_NODE_FILESYSTEM_SIZE,
	METRIC_NODE_FILESYSTEM_FREE,
	METRIC_NODE_FILESYSTEM_AVAILABLE,
	METRIC_NODE_FILESYSTEM_INODES,
	METRIC_NODE_FILESYSTEM_FREE_INODES,
	METRIC_NODE_INFO,
	METRIC_AGENT_INFO,
	METRIC_AGENT_CPU_USER,
	METRIC_AGENT_CPU_SYSTEM,
	METRIC_AGENT_RESIDENT_MEMORY,
	METRIC_AGENT_OPEN_DESCRIPTORS,
	METRIC_AGENT_READINGS,
	METRIC_AGENT_FAILED_READINGS,
	METRIC_AGENT_LAST_READING,
	METRIC_AGENT_JOBS_LIVE,
	METRIC_AGENT_JOBS_ENDED,
	METRIC_AGENT_GROUPS,
	METRIC_AGENT_WALKS,
	METRIC_AGENT_FOUND_BY_WALK,
	METRIC_AGENT_STATE_ERRORS,
	METRIC_AGENT_SET_ASIDE,
	METRIC_AGENT_SKIPPED_RUNS,
	METRIC_AGENT_LOST_EVENTS,
	METRIC_AGENT_MAP_BYTES,
	METRIC_AGENT_MAP_CAPACITY,
	METRIC_AGENT_MAP_ENTRIES,
	METRIC_AGENT_HOOK_ON,
	METRIC_AGENT_SCRAPES,
	METRIC_COUNT,
	METRIC_FILE_FIRST = METRIC_FILE_READ_BYTES,
	METRIC_FILE_END = METRIC_JOB_INFO,
};

/* @id must be below METRIC_COUNT. */
const struct metric *metric_get(enum metric_id id);

/* "user_seconds" in section "cpu"; NULL: no such metric.  For records that come back. */
const struct metric *metric_find(const char *section, const char *key);

/* The names of the labels that tell the things of a scope apart, beside the fixed one; ends with NULL. */
#define SCOPE_LABELS_MAX 6
const char *const *metric_labels(enum metric_scope scope);

/* The last part of its section: "read" of "ways.read"; "" where it has none. */
const char *metric_part(const struct metric *metric);

/* The row's own index. */
enum metric_id metric_id_of(const struct metric *metric);
