/* SPDX-License-Identifier: MIT */
#include "tui/numbers.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/amount.h"
#include "model/cause.h"
#include "model/document.h"
#include "basic/macro.h"
#include "model/record.h"
#include "model/sections/job_gpus.h"

#define NS_PER_S 1e9
#define UJ_PER_J 1e6

struct numbers numbers_none(void)
{
	return (struct numbers){ .seconds = NAN,
				 .cores = NAN,
				 .cores_allowed = NAN,
				 .waiting = NAN,
				 .blocked = NAN,
				 .cause = CAUSE_COUNT,
				 .memory = NAN,
				 .memory_limit = NAN,
				 .read = NAN,
				 .write = NAN,
				 .meta = NAN,
				 .received = NAN,
				 .sent = NAN,
				 .power = NAN,
				 .gpus = NAN,
				 .gpus_held = NAN,
				 .elapsed = NAN };
}

/* How much more a second; a counter that fell says nothing. */
static double rate(uint64_t now, uint64_t before, double seconds)
{
	return seconds > 0 && now >= before ? (double)(now - before) / seconds : NAN;
}

static double rate_of(const struct value *now, const struct value *before, enum metric_id id,
		      double seconds)
{
	if (!now[id].is_known || (before && !before[id].is_known))
		return NAN;
	return rate(now[id].number, before ? before[id].number : 0, seconds);
}

static double gauge_of(const struct value *values, enum metric_id id)
{
	return values[id].is_known ? (double)values[id].number : NAN;
}

static struct numbers numbers_of_values(const struct value *now, const struct value *before,
					double seconds)
{
	struct numbers n = numbers_none();
	double sum = 0, most = 0;

	n.seconds = seconds > 0 ? seconds : NAN;
	n.cores = (rate_of(now, before, METRIC_CPU_USER, seconds) +
		   rate_of(now, before, METRIC_CPU_SYSTEM, seconds)) /
		  NS_PER_S;
	n.cores_allowed = gauge_of(now, METRIC_CPU_ALLOCATED) / 1000;
	n.waiting = rate_of(now, before, METRIC_CPU_RUN_QUEUE, seconds) / NS_PER_S;
	for (size_t c = 0; c < CAUSE_COUNT; c++) {
		double threads = rate_of(now, before, cause_metric((enum cause)c), seconds) /
				 NS_PER_S;

		if (!cause_is_lost((enum cause)c))
			continue;
		sum += threads; /* of which a part is not known: nor is the sum */
		if (threads > most) {
			most = threads;
			n.cause = c;
		}
	}
	n.blocked = sum;
	if (isnan(sum))
		n.cause = CAUSE_COUNT;
	n.memory = gauge_of(now, METRIC_MEMORY_USAGE);
	n.memory_limit = gauge_of(now, METRIC_MEMORY_LIMIT);
	return n;
}

static double total_rate(const struct record *now, const struct record *before, enum metric_id id,
			 double seconds)
{
	uint64_t a, b = 0;

	if (!record_total(now, id, &a) || (before && !record_total(before, id, &b)))
		return NAN;
	return rate(a, b, seconds);
}

static int compare_mounts(const void *a, const void *b)
{
	const struct mount_numbers *x = a, *y = b;
	double bytes_x = x->read + x->write, bytes_y = y->read + y->write;

	if (x->meta < y->meta || x->meta > y->meta)
		return x->meta < y->meta ? 1 : -1;
	return (bytes_x < bytes_y) - (bytes_x > bytes_y);
}

/* In place of the idlest of those that are there already. */
static void keep_mount(struct numbers *n, const struct mount_numbers *mount)
{
	if (n->mount_count < NUMBERS_MOUNTS)
		n->mounts[n->mount_count++] = *mount;
	else if (compare_mounts(mount, &n->mounts[NUMBERS_MOUNTS - 1]) < 0)
		n->mounts[NUMBERS_MOUNTS - 1] = *mount;
	else
		return;
	qsort(n->mounts, n->mount_count, sizeof(*n->mounts), compare_mounts);
}

static void take_mount(const struct mount_sum *now, const struct record *before, double seconds,
		       struct numbers *to)
{
	struct mount_numbers mount = { .mount = now->mount };
	uint64_t earlier[MOUNT_SUMS] = {};

	if (before)
		reading_get_sums(&before->reading, now->mount, now->fstype, earlier);
	mount.read = rate(now->numbers[0], earlier[0], seconds);
	mount.write = rate(now->numbers[1], earlier[1], seconds);
	mount.meta = rate(now->numbers[2], earlier[2], seconds);
	if (mount.read + mount.write + mount.meta > 0)
		keep_mount(to, &mount);
}

static void take_mounts(const struct reading *now, const struct record *before, double seconds,
			struct numbers *to)
{
	for (size_t i = 0; i < now->sum_count; i++)
		take_mount(&now->sums[i], before, seconds, to);
	for (size_t i = 0; i < now->mount_count; i++) {
		const struct mount_row *row = &now->mounts[i];
		struct mount_sum sum = { .mount = row->mount, .fstype = row->fstype };

		for (size_t m = 0; m < MOUNT_SUMS; m++)
			sum.numbers[m] = mount_row_number(row, mount_sum_metrics[m]);
		if (row_is_own(row))
			take_mount(&sum, before, seconds, to);
	}
}

static double socket_rate(const struct network *now, const struct network *before,
			  enum metric_id id, double seconds)
{
	if (!now->is_known || (before && !before->is_known))
		return NAN;
	return rate(network_total(now, id), before ? network_total(before, id) : 0, seconds);
}

static void take_sockets(const struct network *now, const struct network *before, double seconds,
			 struct numbers *to)
{
	to->received = socket_rate(now, before, METRIC_NETWORK_RECEIVED_BYTES, seconds);
	to->sent = socket_rate(now, before, METRIC_NETWORK_SENT_BYTES, seconds);
}

/* A card that it holds since then began with nothing. */
static double gpu_rate(const struct record *now, const struct record *before, enum metric_id id,
		       double seconds)
{
	const struct value total = job_gpus_total(job_gpus_of(now), id);

	if (!total.is_known)
		return NAN;
	return rate(total.number, before ? job_gpus_total(job_gpus_of(before), id).number : 0,
		    seconds) /
	       NS_PER_S;
}

struct numbers numbers_of_step(const struct step *now, const struct step *before, double seconds)
{
	struct numbers n = numbers_of_values(now->values, before ? before->values : NULL, seconds);

	take_sockets(&now->network, before ? &before->network : NULL, seconds, &n);
	return n;
}

static bool knows_files(const struct record *r)
{
	return r->reading.has_mounts || r->reading.has_sums;
}

struct numbers numbers_of_job(const struct record *now, const struct record *before, double seconds)
{
	struct numbers n = numbers_of_values(now->reading.values,
					     before ? before->reading.values : NULL, seconds);

	if (now->time.elapsed_ns)
		n.elapsed = (double)now->time.elapsed_ns / NS_PER_S;
	n.power = rate_of(now->reading.values, before ? before->reading.values : NULL,
			  METRIC_ENERGY, seconds) /
		  UJ_PER_J;
	n.is_power_estimated = now->reading.values[METRIC_ENERGY_ESTIMATED].number > 0;
	take_sockets(&now->reading.network, before ? &before->reading.network : NULL, seconds, &n);
	n.gpus = gpu_rate(now, before, METRIC_GPU_BUSY, seconds);
	n.gpus_held = gpu_rate(now, before, METRIC_GPU_HELD, seconds);
	if (seconds > 0 && now == before && knows_files(now)) { /* ticks share who did nothing */
		n.read = n.write = n.meta = 0;
		return n;
	}
	n.read = total_rate(now, before, METRIC_READ_BYTES, seconds);
	n.write = total_rate(now, before, METRIC_WRITE_BYTES, seconds);
	n.meta = total_rate(now, before, METRIC_META_CALLS, seconds);
	if (!isnan(n.seconds) && knows_files(now) && (!before || knows_files(before)))
		take_mounts(&now->reading, before, seconds, &n);
	return n;
}

static void add_number(const char *key, double number, struct document *d)
{
	document_key(d, key);
	amount_write((struct amount){ number, !isnan(number) }, d);
}

#define IDLE_THREADS 0.05 /* fewer are shown as 0.0... */
#define IDLE_RATE 0.5 /* ...and as 0 */

/* NAN is not known, and no less than anything. */
bool numbers_are_idle(const struct numbers *n)
{
	return n->cores < IDLE_THREADS && !(n->waiting >= IDLE_THREADS) &&
	       !(n->blocked >= IDLE_THREADS) && !(n->read >= IDLE_RATE) &&
	       !(n->write >= IDLE_RATE) && !(n->meta >= IDLE_RATE) && !(n->received >= IDLE_RATE) &&
	       !(n->sent >= IDLE_RATE);
}

void numbers_format(const struct numbers *n, struct document *d)
{
	const struct {
		const char *key;
		double number;
	} rows[] = {
		{ "seconds", n->seconds }, { "cores", n->cores },
		{ "waiting", n->waiting }, { "blocked", n->blocked },
		{ "read_bytes", n->read }, { "write_bytes", n->write },
		{ "meta_calls", n->meta }, { "received_bytes", n->received },
		{ "sent_bytes", n->sent }, { "watts", n->power },
		{ "gpus", n->gpus },	   { "gpus_held", n->gpus_held },
	};

	document_begin_map(d);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add_number(rows[i].key, rows[i].number, d);
	document_put_string(d, "blocked_on",
			    n->cause < CAUSE_COUNT ? cause_name((enum cause)n->cause) : NULL);
	document_begin_list_of(d, "mounts");
	for (size_t i = 0; i < n->mount_count; i++) {
		const struct mount_numbers *mount = &n->mounts[i];

		document_begin_flat_map(d);
		document_put_string(d, "mount", mount->mount);
		add_number("read_bytes", mount->read, d);
		add_number("write_bytes", mount->write, d);
		add_number("meta_calls", mount->meta, d);
		document_end_map(d);
	}
	document_end_list(d);
	document_end_map(d);
}
