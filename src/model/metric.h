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
};

enum metric_scope {
	SCOPE_JOB,
	SCOPE_MOUNT,	 /* job x mount */
	SCOPE_MOUNT_OP,	 /* job x mount x operation on metadata */
	SCOPE_MOUNT_WAY, /* job x mount x way of data, but plain calls and mappings */
	SCOPE_FILE,	 /* job x file or folder, of those that were used most; on demand */
};

struct metric {
	const char *name;    /* Prometheus' name */
	const char *label;   /* a fixed label, as KEY="VALUE", or NULL */
	const char *section; /* the record's section: "cpu", "read", "ways.read" */
	const char *key;     /* the record's key within it */
	enum metric_unit unit;
	enum metric_kind kind;
	enum metric_scope scope;
	const char *help;
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
	METRIC_COUNT,
	METRIC_FILE_FIRST = METRIC_FILE_READ_BYTES,
};

/* @id must be below METRIC_COUNT. */
const struct metric *metric_get(enum metric_id id);

/* "user_seconds" in section "cpu"; NULL: no such metric.  For records that come back. */
const struct metric *metric_find(const char *section, const char *key);

/* The last part of its section: "read" of "ways.read". */
const char *metric_part(const struct metric *metric);

/* The row's own index. */
enum metric_id metric_id_of(const struct metric *metric);
