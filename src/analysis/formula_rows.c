/* SPDX-License-Identifier: MIT */
/* Numbers that follow from what was done on files, over one row or over all. */
#include "analysis/formula_internal.h"

#include <string.h>

#include "basic/macro.h"
#include "model/file_system.h"
#include "model/record.h"
#include "analysis/working_time.h"
#include "analysis/variables.h"

bool row_is_of_files(const struct mount_row *row)
{
	return row->kind == ROW_MOUNT || row->kind == ROW_UNRESOLVED || row->kind == ROW_OTHER;
}

bool row_holds_devices(const struct mount_row *row)
{
	static const char *const types[] = { "devtmpfs", "devpts" };

	for (size_t i = 0; row->fstype && i < ARRAY_SIZE(types); i++) {
		if (strcmp(row->fstype, types[i]) == 0)
			return true;
	}
	return strcmp(row->mount, "/dev") == 0; /* a container's is a tmpfs */
}

static bool row_holds_data(const struct mount_row *row)
{
	return row_is_of_files(row) && !row_holds_devices(row) &&
	       !file_system_of(row->fstype)->holds_no_data;
}

bool formula_data_total(const struct record *r, enum metric_id id, uint64_t *ret)
{
	uint64_t total = 0;

	if (!r->reading.has_mounts)
		return false;
	for (size_t i = 0; i < r->reading.mount_count; i++) {
		const struct mount_row *row = &r->reading.mounts[i];

		if (!row_holds_data(row))
			continue;
		if (!mount_row_knows(row, id))
			return false;
		total += mount_row_number(row, id);
	}
	*ret = total;
	return true;
}

typedef uint64_t row_count(const struct mount_row *row, enum metric_id id);
typedef bool row_test(const struct mount_row *row);

/* What a function says of the subject's row, or the sum of what it says of each that is meant. */
static struct amount sum_rows_that(const struct subject *s, row_test *is_meant, enum metric_id id,
				   row_count *count)
{
	const struct reading *reading = &s->record->reading;
	uint64_t sum = 0;

	if (s->row)
		return mount_row_knows(s->row, id) ? amount_of_metric(id, count(s->row, id))
						   : (struct amount){};
	if (!reading->has_mounts)
		return (struct amount){};
	for (size_t i = 0; i < reading->mount_count; i++) {
		const struct mount_row *row = &reading->mounts[i];

		if (!is_meant(row))
			continue;
		if (!mount_row_knows(row, id))
			return (struct amount){};
		sum += count(row, id);
	}
	return amount_of_metric(id, sum);
}

static struct amount sum_rows(const struct subject *s, enum metric_id id, row_count *count)
{
	return sum_rows_that(s, row_is_of_files, id, count);
}

/* What failed may stand in a row without a mount, wherever it was: so what went well counts
 * wherever it was, too. */
static struct amount sum_own_rows(const struct subject *s, enum metric_id id, row_count *count)
{
	return sum_rows_that(s, row_is_own, id, count);
}

static struct amount rows(const struct subject *s, enum metric_id id)
{
	return sum_rows(s, id, mount_row_number);
}

static uint64_t count_opens(const struct mount_row *row, enum metric_id id)
{
	return op_counts_number(&row->ops[OP_OPEN], id) +
	       op_counts_number(&row->ops[OP_CREATE], id);
}

static uint64_t count_flushes(const struct mount_row *row, enum metric_id id)
{
	return op_counts_number(&row->ops[OP_FSYNC], id) +
	       op_counts_number(&row->ops[OP_FDATASYNC], id);
}

/* All that waits until data are on storage. */
static uint64_t count_syncs(const struct mount_row *row, enum metric_id id)
{
	return count_flushes(row, id) + op_counts_number(&row->ops[OP_SYNC], id);
}

/* In operations of which more than half asked for what is not there. */
static uint64_t count_searches(const struct mount_row *row, enum metric_id id)
{
	uint64_t sum = 0;

	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++) {
		if (row->ops[op].not_found > row->ops[op].calls / 2)
			sum += op_counts_number(&row->ops[op], id);
	}
	return sum;
}

static uint64_t count_interfaces_without_time(const struct mount_row *row, enum file_op op,
					      enum metric_id id)
{
	uint64_t sum = 0;

	for (size_t interface = INTERFACE_CALL + 1; interface < INTERFACE_MAPPING; interface++) {
		if (!file_interface_has_time((enum file_interface)interface))
			sum += op_counts_number(&row->interfaces[interface][op], id);
	}
	return sum;
}

static uint64_t count_untimed_reads(const struct mount_row *row, enum metric_id id)
{
	return count_interfaces_without_time(row, OP_READ, id);
}

static uint64_t count_untimed_writes(const struct mount_row *row, enum metric_id id)
{
	return count_interfaces_without_time(row, OP_WRITE, id);
}

/* Of the calls that moved anything: the last read of a file returns nothing, and is no request. */
static uint64_t count_sizes(const struct histogram *h, uint64_t below)
{
	uint64_t sum = 0;

	for (size_t i = 1; i < HISTOGRAM_BUCKETS; i++) {
		if (histogram_lower_bound(HISTOGRAM_SIZE, i) < below)
			sum += h->counts[i];
	}
	return sum;
}

static uint64_t count_small_reads(const struct mount_row *row, enum metric_id id)
{
	(void)id;
	return count_sizes(&row->sizes[OP_READ], SMALL_REQUEST_BYTES);
}

static uint64_t count_small_writes(const struct mount_row *row, enum metric_id id)
{
	(void)id;
	return count_sizes(&row->sizes[OP_WRITE], SMALL_REQUEST_BYTES);
}

static uint64_t count_sized_reads(const struct mount_row *row, enum metric_id id)
{
	(void)id;
	return count_sizes(&row->sizes[OP_READ], UINT64_MAX);
}

static uint64_t count_sized_writes(const struct mount_row *row, enum metric_id id)
{
	(void)id;
	return count_sizes(&row->sizes[OP_WRITE], UINT64_MAX);
}

/* The metric's unit is bytes, and what was counted are calls: neither has places. */
static struct amount small_reads(const struct subject *s)
{
	return sum_rows(s, METRIC_READ_SIZES, count_small_reads);
}

static struct amount small_writes(const struct subject *s)
{
	return sum_rows(s, METRIC_WRITE_SIZES, count_small_writes);
}

static struct amount small_reads_share(const struct subject *s)
{
	return amount_divide(small_reads(s), sum_rows(s, METRIC_READ_SIZES, count_sized_reads));
}

static struct amount small_writes_share(const struct subject *s)
{
	return amount_divide(small_writes(s), sum_rows(s, METRIC_WRITE_SIZES, count_sized_writes));
}

static struct amount mean_read(const struct subject *s)
{
	return amount_divide(rows(s, METRIC_READ_BYTES),
			     amount_left(rows(s, METRIC_READ_CALLS), rows(s, METRIC_READ_ERRORS)));
}

static struct amount mean_write(const struct subject *s)
{
	return amount_divide(rows(s, METRIC_WRITE_BYTES),
			     amount_left(rows(s, METRIC_WRITE_CALLS),
					 rows(s, METRIC_WRITE_ERRORS)));
}

static struct amount read_rate(const struct subject *s)
{
	return amount_divide(rows(s, METRIC_READ_BYTES), formula_elapsed(s));
}

static struct amount write_rate(const struct subject *s)
{
	return amount_divide(rows(s, METRIC_WRITE_BYTES), formula_elapsed(s));
}

static struct amount opens(const struct subject *s)
{
	return sum_own_rows(s, METRIC_META_CALLS, count_opens);
}

/* Those that went well stand at their mount on every kernel. */
static struct amount opened(const struct subject *s)
{
	return amount_left(sum_rows(s, METRIC_META_CALLS, count_opens),
			   sum_rows(s, METRIC_META_ERRORS, count_opens));
}

/* Where failures have no mount, a mount's are not all, and those without one are no share of
 * anything. */
static struct amount if_placed(const struct subject *s, struct amount amount)
{
	bool is_known = !s->row || !s->lacks_places || s->row->kind == ROW_OTHER;

	return is_known ? amount : (struct amount){};
}

static struct amount failed_opens(const struct subject *s)
{
	return if_placed(s, sum_own_rows(s, METRIC_META_ERRORS, count_opens));
}

static struct amount open_fail_share(const struct subject *s)
{
	return amount_divide(failed_opens(s), opens(s));
}

static struct amount not_found_share(const struct subject *s)
{
	return if_placed(s, amount_divide(sum_own_rows(s, METRIC_META_NOT_FOUND, mount_row_number),
					  sum_own_rows(s, METRIC_META_CALLS, mount_row_number)));
}

static uint64_t count_listings(const struct mount_row *row, enum metric_id id)
{
	return op_counts_number(&row->ops[OP_READDIR], id);
}

/* Without directories: to list one takes an open, and two reads of it at least. */
static struct amount files_opened(const struct subject *s)
{
	struct amount listings = sum_rows(s, METRIC_META_CALLS, count_listings);

	return amount_left(opened(s), amount_divide(listings, amount_of(2)));
}

static struct amount bytes_per_open(const struct subject *s)
{
	return amount_divide(amount_add(rows(s, METRIC_READ_BYTES), rows(s, METRIC_WRITE_BYTES)),
			     files_opened(s));
}

static struct amount search_seconds(const struct subject *s)
{
	struct amount not_found = rows(s, METRIC_META_NOT_FOUND); /* without it nothing is known of
								     searches */

	return not_found.is_known ? sum_rows(s, METRIC_META_SECONDS, count_searches)
				  : (struct amount){};
}

/* io_uring's and libaio's: the ways that have no time. */
static struct amount untimed_reads(const struct subject *s)
{
	return sum_rows(s, METRIC_READ_CALLS, count_untimed_reads);
}

static struct amount untimed_writes(const struct subject *s)
{
	return sum_rows(s, METRIC_WRITE_CALLS, count_untimed_writes);
}

static struct amount async_calls(const struct subject *s)
{
	return amount_add(untimed_reads(s), untimed_writes(s));
}

static struct amount async_bytes(const struct subject *s)
{
	return amount_add(sum_rows(s, METRIC_READ_BYTES, count_untimed_reads),
			  sum_rows(s, METRIC_WRITE_BYTES, count_untimed_writes));
}

static struct amount holds_devices(const struct subject *s)
{
	bool is_known = s->row && s->row->mount; /* one that is compared with none has no name */

	return is_known ? amount_of(row_holds_devices(s->row)) : (struct amount){};
}

static struct amount meta_rate(const struct subject *s)
{
	return amount_divide(rows(s, METRIC_META_CALLS), formula_elapsed(s));
}

static struct amount flushes(const struct subject *s)
{
	return sum_rows(s, METRIC_META_CALLS, count_flushes);
}

static struct amount flush_seconds(const struct subject *s)
{
	return sum_rows(s, METRIC_META_SECONDS, count_flushes);
}

static struct amount writes_per_flush(const struct subject *s)
{
	return amount_divide(rows(s, METRIC_WRITE_CALLS), flushes(s));
}

static struct amount working_share(const struct subject *s, enum cause cause, struct amount inside)
{
	struct working_time t = formula_working(s);

	return working_time_share(&t, cause, inside);
}

static struct amount meta_working_share(const struct subject *s)
{
	struct amount syncs = sum_rows(s, METRIC_META_SECONDS, count_syncs);

	return working_share(s, CAUSE_FILE_META, amount_left(rows(s, METRIC_META_SECONDS), syncs));
}

static struct amount read_working_share(const struct subject *s)
{
	return working_share(s, CAUSE_FILE_READ, rows(s, METRIC_READ_SECONDS));
}

static struct amount write_working_share(const struct subject *s)
{
	return working_share(s, CAUSE_FILE_WRITE, rows(s, METRIC_WRITE_SECONDS));
}

static struct amount file_working_share(const struct subject *s)
{
	return amount_add(meta_working_share(s),
			  amount_add(read_working_share(s), write_working_share(s)));
}

static struct amount flush_working_share(const struct subject *s)
{
	return working_share(s, CAUSE_SYNC, flush_seconds(s));
}

static struct amount open_seconds(const struct subject *s)
{
	return sum_own_rows(s, METRIC_META_SECONDS, count_opens);
}

static struct amount open_working_share(const struct subject *s)
{
	return working_share(s, CAUSE_FILE_META, open_seconds(s));
}

static struct amount search_working_share(const struct subject *s)
{
	return working_share(s, CAUSE_FILE_META, search_seconds(s));
}

/* clang-format off */
const struct formula formula_rows[] = {
	{ "small_reads", DIMENSION_NUMBER, true, small_reads, "Read calls that returned something, but less than 64 KiB." },
	{ "small_writes", DIMENSION_NUMBER, true, small_writes, "Write calls that wrote something, but less than 64 KiB." },
	{ "small_reads_share", DIMENSION_SHARE, true, small_reads_share, "Share of the reads that returned something that returned less than 64 KiB." },
	{ "small_writes_share", DIMENSION_SHARE, true, small_writes_share, "Share of the writes that wrote something that wrote less than 64 KiB." },
	{ "mean_read_bytes", DIMENSION_BYTES, true, mean_read, "Bytes read over read calls that succeeded." },
	{ "mean_write_bytes", DIMENSION_BYTES, true, mean_write, "Bytes written over write calls that succeeded." },
	{ "read_rate", DIMENSION_RATE, true, read_rate, "Bytes read over elapsed time." },
	{ "write_rate", DIMENSION_RATE, true, write_rate, "Bytes written over elapsed time." },
	{ "opens", DIMENSION_NUMBER, true, opens, "Opens, failed ones and those that created the file included." },
	{ "opened", DIMENSION_NUMBER, true, opened, "Opens of files that went well." },
	{ "files_opened", DIMENSION_NUMBER, true, files_opened, "Opens that succeeded, without those of directories that were listed." },
	{ "failed_opens", DIMENSION_NUMBER, true, failed_opens, "Opens that failed; not of one mount where the kernel does not tell on which they did." },
	{ "open_fail_share", DIMENSION_SHARE, true, open_fail_share, "Opens that failed over all." },
	{ "not_found_share", DIMENSION_SHARE, true, not_found_share, "Calls on metadata for files that do not exist over all on metadata." },
	{ "search_seconds", DIMENSION_SECONDS, true, search_seconds, "Time in metadata operations of which more than half asked for files that do not exist." },
	{ "async_calls", DIMENSION_NUMBER, true, async_calls, "Reads and writes of files by io_uring and libaio." },
	{ "async_bytes", DIMENSION_BYTES, true, async_bytes, "Bytes that io_uring and libaio moved." },
	{ "untimed_reads", DIMENSION_NUMBER, true, untimed_reads, "Read operations without a known time: those of io_uring and libaio." },
	{ "untimed_writes", DIMENSION_NUMBER, true, untimed_writes, "Write operations without a known time: those of io_uring and libaio." },
	{ "holds_devices", DIMENSION_NUMBER, true, holds_devices, "1 where files of it are devices (devtmpfs, devpts, /dev), else 0; of a mount only." },
	{ "bytes_per_open", DIMENSION_BYTES, true, bytes_per_open, "Bytes read and written per file opened." },
	{ "meta_calls_per_second", DIMENSION_PER_SECOND, true, meta_rate, "Calls on metadata over elapsed time." },
	{ "flushes", DIMENSION_NUMBER, true, flushes, "Calls of fsync and fdatasync." },
	{ "flush_seconds", DIMENSION_SECONDS, true, flush_seconds, "Time inside fsync and fdatasync." },
	{ "writes_per_flush", DIMENSION_NUMBER, true, writes_per_flush, "Write calls per call of fsync or fdatasync." },
	{ "read_working_share", DIMENSION_SHARE, true, read_working_share, "Share of working time inside reads, on a CPU or blocked." },
	{ "write_working_share", DIMENSION_SHARE, true, write_working_share, "Share of working time inside writes, on a CPU or blocked." },
	{ "meta_working_share", DIMENSION_SHARE, true, meta_working_share, "Share of working time inside calls on metadata, without fsync and the like, on a CPU or blocked." },
	{ "file_working_share", DIMENSION_SHARE, true, file_working_share, "Share of working time inside reads, writes and calls on metadata, on a CPU or blocked." },
	{ "flush_working_share", DIMENSION_SHARE, true, flush_working_share, "Share of working time inside fsync and fdatasync, on a CPU or blocked." },
	{ "opening_seconds", DIMENSION_SECONDS, true, open_seconds, "Time inside opens, failed ones and those that created the file included." },
	{ "open_working_share", DIMENSION_SHARE, true, open_working_share, "Share of working time inside opens, on a CPU or blocked." },
	{ "search_working_share", DIMENSION_SHARE, true, search_working_share, "Share of working time inside operations of which more than half asked for files that do not exist, on a CPU or blocked." },
};
/* clang-format on */
const size_t formula_rows_count = ARRAY_SIZE(formula_rows);
