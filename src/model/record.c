/* SPDX-License-Identifier: MIT */
#include "model/record.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/cause.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/fnv.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "model/record_field.h"
#include "model/section.h"
#include "basic/text.h"

int strings_add(struct strings *list, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;
	char **larger;
	int r;

	if (list->count >= STRINGS_MAX)
		return -ENOSPC;
	va_start(args, format);
	r = vasprintf(&text, format, args);
	va_end(args);
	if (r < 0) {
		text = NULL; /* undefined after a failure */
		return -ENOMEM;
	}
	larger = reallocarray(list->items, list->count + 1, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	list->items = larger;
	list->items[list->count++] = TAKE_PTR(text);
	return 0;
}

bool strings_contain(const struct strings *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i], text) == 0)
			return true;
	}
	return false;
}

void strings_clear(struct strings *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct strings){};
}

struct record *record_new(void)
{
	struct record *r = calloc(1, section_record_size());

	if (!r)
		return NULL;
	for (size_t i = 0; i < record_field_count; i++) {
		void *at = record_field_ref(&record_fields[i], r);

		if (record_fields[i].type == FIELD_INT)
			*(int *)at = record_fields[i].absent;
		else if (record_fields[i].type == FIELD_INT64)
			*(int64_t *)at = record_fields[i].absent;
	}
	r->merged_records = r->merged_nodes = 1;
	return r;
}

static void command_free(char **command)
{
	for (char **arg = command; arg && *arg; arg++)
		free(*arg);
	free(command);
}

static void command_freep(char ***command)
{
	command_free(*command);
}

static void field_clear(const struct record_field *field, struct record *r)
{
	void *at = record_field_ref(field, r);

	if (field->type == FIELD_STRING)
		free(*(char **)at);
	else if (field->type == FIELD_COMMAND)
		command_free(*(char ***)at);
	else if (field->type == FIELD_STRINGS)
		strings_clear(at);
}

struct record *record_share(struct record *r)
{
	r->other_owners++;
	return r;
}

struct record *record_free(struct record *r)
{
	if (!r)
		return NULL;
	if (r->other_owners) {
		r->other_owners--;
		return NULL;
	}
	for (size_t i = 0; i < record_field_count; i++)
		field_clear(&record_fields[i], r);
	for (size_t i = 0; i < r->survivor_count; i++)
		free(r->survivors[i].command);
	free(r->survivors);
	free(r->emissions);
	for (size_t i = 0; i < section_count; i++)
		section_clear(sections[i], section_of(r, sections[i]));
	reading_clear(&r->reading);
	free(r);
	return NULL;
}

void record_freep(struct record **r)
{
	record_free(*r);
}

int record_set_command(struct record *r, char *const argv[])
{
	_cleanup_(command_freep) char **copy = NULL;
	size_t count = 0, bytes = 0;

	while (argv[count] && count < COMMAND_ARGUMENTS_MAX)
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		bytes += strlen(argv[i]);
		if (bytes > COMMAND_BYTES_MAX)
			break;
		copy[i] = strdup(argv[i]);
		if (!copy[i])
			return -ENOMEM;
	}
	command_free(r->job.command);
	r->job.command = TAKE_PTR(copy);
	return 0;
}

const char *record_name(const struct record *r)
{
	const char *program = r->job.command ? r->job.command[0] : NULL;
	const char *slash = program ? strrchr(program, '/') : NULL;

	if (r->job.name)
		return r->job.name;
	return slash && slash[1] ? slash + 1 : program && *program ? program : NULL;
}

int record_add_survivor(struct record *r, int pid, const char *command)
{
	_cleanup_free_ char *copy = NULL;
	struct survivor *larger;

	if (r->survivor_count >= SURVIVORS_MAX)
		return -ENOSPC;
	copy = command ? strdup(command) : NULL;
	larger = reallocarray(r->survivors, r->survivor_count + 1, sizeof(*larger));
	if (larger)
		r->survivors = larger;
	if (!larger || (command && !copy))
		return -ENOMEM;
	r->survivors[r->survivor_count++] = (struct survivor){ .pid = pid,
							       .command = TAKE_PTR(copy) };
	return 0;
}

bool record_total(const struct record *r, enum metric_id id, uint64_t *ret)
{
	return reading_total(&r->reading, id, ret);
}

int64_t accounting_difference(const struct accounting *accounting)
{
	return (int64_t)(accounting->tasks_bytes - accounting->rows_bytes -
			 accounting->twice_bytes);
}

static void close_account(const struct record *r, enum metric_id tasks, enum file_op op,
			  struct accounting *accounting)
{
	const struct value *value = &r->reading.values[tasks];

	*accounting = (struct accounting){};
	if (!value->is_known || !r->reading.has_mounts)
		return;
	*accounting = (struct accounting){ .is_known = true, .tasks_bytes = value->number };
	for (size_t i = 0; i < r->reading.mount_count; i++) {
		const struct mount_row *row = &r->reading.mounts[i];

		if (row->kind == ROW_KERNEL)
			continue;
		accounting->rows_bytes += mount_row_accounted_bytes(row, op);
		/* the copy is begun anew on the file system below, and counted there once more */
		if (text_is_equal(row->fstype, "overlay"))
			accounting->twice_bytes +=
				row->interfaces[INTERFACE_COPY_FILE_RANGE][op].bytes;
	}
}

void record_close_accounting(struct record *r)
{
	close_account(r, METRIC_IO_CHARS_READ, OP_READ, &r->coverage.read_accounting);
	close_account(r, METRIC_IO_CHARS_WRITTEN, OP_WRITE, &r->coverage.write_accounting);
}

int record_settle_timeline(struct record *r)
{
	struct value values[TIMELINE_SERIES];

	timeline_values(&r->reading, NULL, values);
	return timeline_settle(&r->timeline, values);
}

/* By how much the elapsed time from @moment_ns ends elsewhere than the timeline. */
static uint64_t miss_of(const struct record *r, uint64_t moment_ns)
{
	const struct timeline *t = &r->timeline;
	uint64_t end_ns = t->start_ns + timeline_count(t) * timeline_interval_ns(t);
	uint64_t elapsed_end_ns = moment_ns + r->time.elapsed_ns;

	return MAX(end_ns, elapsed_end_ns) - MIN(end_ns, elapsed_end_ns);
}

uint64_t record_elapsed_from(const struct record *r)
{
	uint64_t start_ns = r->time.start_ns, measured_ns = r->time.measured_from_ns;

	if (!timeline_count(&r->timeline))
		return start_ns ? start_ns : measured_ns;
	if (!start_ns)
		return measured_ns ? measured_ns : r->timeline.start_ns;
	return measured_ns && miss_of(r, measured_ns) < miss_of(r, start_ns) ? measured_ns
									     : start_ns;
}

bool record_cpu_time(const struct record *r, uint64_t *ret_ns)
{
	const struct value *user = &r->reading.values[METRIC_CPU_USER];
	const struct value *system = &r->reading.values[METRIC_CPU_SYSTEM];

	if (!user->is_known || !system->is_known)
		return false;
	*ret_ns = user->number + system->number;
	return true;
}

#define ESTIMATE_PERCENT \
	99 /* of the time, below which it is told: counters are not read all at one instant */
#define LATE_PERCENT 95
#define EXCESS_NS 20000000 /* ticks, and what ends after the command */
#define LATE_NS \
	UINT64_C(100000000) /* what the command's start takes is no part of what is counted */

bool record_counters_are_estimates(const struct record *r)
{
	const struct value *enabled = &r->reading.values[METRIC_CPU_COUNTERS_ENABLED];
	const struct value *running = &r->reading.values[METRIC_CPU_COUNTERS_RUNNING];

	return enabled->is_known && running->is_known &&
	       running->number / ESTIMATE_PERCENT < enabled->number / 100;
}

int record_note_counters(struct record *r, bool is_user_only)
{
	const uint64_t enabled_ns = r->reading.values[METRIC_CPU_COUNTERS_ENABLED].number;
	const uint64_t running_ns = r->reading.values[METRIC_CPU_COUNTERS_RUNNING].number;
	uint64_t cpu_ns = 0;
	int code = 0;

	if (is_user_only)
		code = strings_add(&r->coverage.notes, RECORD_NOTE_USER_MODE);
	if (code >= 0 && record_counters_are_estimates(r))
		code = strings_add(
			&r->coverage.notes,
			"hardware counters: estimates, since they took turns and counted %.0f %% of the time",
			100 * (double)running_ns / (double)enabled_ns);
	if (code >= 0 && record_cpu_time(r, &cpu_ns) && cpu_ns > enabled_ns + LATE_NS &&
	    enabled_ns / LATE_PERCENT < cpu_ns / 100)
		code = strings_add(
			&r->coverage.notes,
			"hardware counters: lower bounds, since they stand for %.0f %% of the CPU time",
			100 * (double)enabled_ns / (double)cpu_ns);
	return code;
}

#define BETWEEN_MIN_NS UINT64_C(1000000000)

int record_note_between(const struct record *const *records, size_t count, struct record *merged)
{
	const uint64_t all_ns = merged->time.elapsed_ns;
	uint64_t sum_ns = 0;
	int r;

	for (size_t i = 0; i < count; i++)
		sum_ns += records[i]->time.elapsed_ns;
	if (sum_ns >= all_ns || all_ns - sum_ns < MAX(BETWEEN_MIN_NS, all_ns / 100))
		return 0;
	r = strings_add(&merged->coverage.notes, RECORD_NOTE_BETWEEN "%s",
			humanize_duration(all_ns - sum_ns).text);
	return r == -ENOSPC ? 0 : r; /* a full list says enough */
}

int record_note_cpu_excess(struct record *r)
{
	const struct value *cores = &r->reading.values[METRIC_CPU_ALLOCATED];
	const double core_ns = (double)cores->number / 1000 * (double)r->time.elapsed_ns;
	uint64_t cpu_ns;

	if (!cores->is_known || core_ns <= 0 || !record_cpu_time(r, &cpu_ns) ||
	    (double)cpu_ns <= core_ns * 1.01 + EXCESS_NS)
		return 0;
	return strings_add(
		&r->coverage.notes,
		"CPU time is %.0f %% of what the cores could give in the elapsed time: a part of it is of before or after",
		100 * (double)cpu_ns / core_ns);
}

bool record_blocked_time(const struct record *r, uint64_t *ret_ns)
{
	uint64_t sum = 0;

	for (size_t cause = 0; cause < CAUSE_COUNT; cause++) {
		const struct value *value = &r->reading.values[cause_metric((enum cause)cause)];

		if (!value->is_known && cause != CAUSE_THREADS) /* it was in locks before */
			return false;
		sum += value->number;
	}
	*ret_ns = sum;
	return true;
}

bool record_cores_busy(const struct record *r, uint64_t *ret_millicores)
{
	uint64_t cpu_ns;

	if (!record_cpu_time(r, &cpu_ns) || r->time.elapsed_ns == 0)
		return false;
	*ret_millicores = (uint64_t)(((unsigned __int128)cpu_ns * 1000 + r->time.elapsed_ns / 2) /
				     r->time.elapsed_ns);
	return true;
}

bool record_reached_memory_limit(const struct record *r)
{
	const struct value *values = r->reading.values;
	const uint64_t limit = values[METRIC_MEMORY_LIMIT].number;

	/* of a limit of a group above the job's own no hits are counted; below half of it the node
	 * ran out of memory */
	return r->merged_records <= 1 && limit && values[METRIC_MEMORY_OOM_KILLS].number &&
	       (values[METRIC_MEMORY_LIMIT_HITS].number ||
		values[METRIC_MEMORY_PEAK].number >= limit / 2);
}

bool record_utilization(const struct record *r, uint64_t *ret)
{
	const struct value *cores = &r->reading.values[METRIC_CPU_ALLOCATED];
	unsigned __int128 core_time = (unsigned __int128)cores->number * r->time.elapsed_ns;
	uint64_t cpu_ns;

	if (!record_cpu_time(r, &cpu_ns) || !cores->is_known || core_time == 0)
		return false;
	/* cores are thousandths, and the result ten-thousandths */
	*ret = (uint64_t)((unsigned __int128)cpu_ns * 10000 * 1000 / core_time);
	return true;
}

bool record_is_same_command(const struct record *a, const struct record *b)
{
	if (!a->job.command || !a->job.dir)
		return false;
	return text_lists_are_equal(a->job.command, b->job.command) &&
	       text_is_equal(a->job.dir, b->job.dir);
}

bool record_command_key(const struct record *r, uint64_t *ret)
{
	uint64_t key = FNV_BEGIN;

	if (!r->job.command || !r->job.dir)
		return false;
	for (char **argument = r->job.command; *argument; argument++)
		key = fnv_text(key, *argument);
	key = fnv_text(key, ""); /* where the arguments end */
	key = fnv_text(key, r->job.dir);
	*ret = fnv_bytes(key, &r->job.rank, sizeof(r->job.rank));
	return true;
}

void record_correct_clock(struct record *r, int64_t ahead_ns)
{
	int64_t bucket_ns = (int64_t)timeline_interval_ns(&r->timeline), whole_ns;
	int64_t buckets = ahead_ns / bucket_ns + 2 * (ahead_ns % bucket_ns) / bucket_ns;

	if (__builtin_mul_overflow(buckets, bucket_ns, &whole_ns))
		whole_ns = 0; /* it is nonsense */
	clock_correct(&r->time.start_ns, ahead_ns);
	clock_correct(&r->time.end_ns, ahead_ns);
	clock_correct(&r->time.measured_from_ns, ahead_ns);
	clock_correct(&r->timeline.start_ns, whole_ns);
	clock_correct(&r->timeline.last_ns, whole_ns);
	for (size_t i = 0; i < r->steps.count; i++) {
		clock_correct(&r->steps.items[i].start_ns, ahead_ns);
		clock_correct(&r->steps.items[i].end_ns, ahead_ns);
	}
}
