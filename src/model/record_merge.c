/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "basic/macro.h"
#include "model/record.h"
#include "model/record_field.h"
#include "model/section.h"
#include "model/sections.h"
#include "basic/text.h"

static int add_missing(struct strings *to, const struct strings *from)
{
	for (size_t i = 0; i < from->count; i++) {
		int r = strings_contain(to, from->items[i]) ? 0
							    : strings_add(to, "%s", from->items[i]);

		if (r < 0 && r != -ENOSPC) /* a full list says enough */
			return r;
	}
	return 0;
}

/* What was on is what was on in all. */
static void keep_shared(struct strings *tiers, const struct strings *other)
{
	size_t kept = 0;

	for (size_t i = 0; i < tiers->count; i++) {
		if (strings_contain(other, tiers->items[i]))
			tiers->items[kept++] = tiers->items[i];
		else
			free(tiers->items[i]);
	}
	tiers->count = kept;
}

/* The value of one field if all records share it; else it stays absent. */
static int merge_string(const struct record_field *field, const struct record *const *records,
			size_t count, char **ret)
{
	const char *first = *(char *const *)record_field_get(field, records[0]);

	for (size_t i = 1; i < count; i++) {
		if (!text_is_equal(first, *(char *const *)record_field_get(field, records[i])))
			return 0;
	}
	*ret = first ? strdup(first) : NULL;
	return first && !*ret ? -ENOMEM : 0;
}

static void merge_number(const struct record_field *field, const struct record *const *records,
			 size_t count, void *ret)
{
	size_t size = field->type == FIELD_INT ? sizeof(int) : sizeof(int64_t);

	for (size_t i = 1; i < count; i++) {
		if (memcmp(record_field_get(field, records[0]), record_field_get(field, records[i]),
			   size) != 0)
			return;
	}
	memcpy(ret, record_field_get(field, records[0]), size);
}

static int merge_field(const struct record_field *field, const struct record *const *records,
		       size_t count, struct record *to)
{
	void *at = record_field_ref(field, to);

	if (field->type == FIELD_STRING)
		return merge_string(field, records, count, at);
	if (field->type == FIELD_INT || field->type == FIELD_INT64)
		merge_number(field, records, count, at);
	return 0;
}

static int merge_command(const struct record *const *records, size_t count, struct record *to)
{
	for (size_t i = 1; i < count; i++) {
		if (!text_lists_are_equal(records[0]->job.command, records[i]->job.command))
			return 0;
	}
	return records[0]->job.command ? record_set_command(to, records[0]->job.command) : 0;
}

static void merge_time(const struct record *from, struct record *to, bool is_first)
{
	uint64_t measured = is_first ? from->time.measured_from_ns : to->time.measured_from_ns;

	if (from->time.start_ns && (!to->time.start_ns || from->time.start_ns < to->time.start_ns))
		to->time.start_ns = from->time.start_ns;
	to->time.end_ns = MAX(to->time.end_ns, from->time.end_ns);
	to->time.elapsed_ns = MAX(to->time.elapsed_ns, from->time.elapsed_ns);
	/* complete only from the latest of these moments on */
	to->time.measured_from_ns = measured && from->time.measured_from_ns
					    ? MAX(measured, from->time.measured_from_ns)
					    : 0;
}

/* From the first start to the last end, as far as the nodes' clocks agree; never less than the
 * longest. */
static void span_elapsed(struct record *to)
{
	if (to->time.start_ns && to->time.end_ns > to->time.start_ns)
		to->time.elapsed_ns = MAX(to->time.elapsed_ns, to->time.end_ns - to->time.start_ns);
}

static void merge_accounting(const struct accounting *from, struct accounting *to, bool is_first)
{
	to->is_known = from->is_known && (is_first || to->is_known);
	to->tasks_bytes = to->is_known ? to->tasks_bytes + from->tasks_bytes : 0;
	to->rows_bytes = to->is_known ? to->rows_bytes + from->rows_bytes : 0;
	to->twice_bytes = to->is_known ? to->twice_bytes + from->twice_bytes : 0;
}

static int merge_coverage(const struct record *from, struct record *to, bool is_first)
{
	int r;

	to->coverage.lost_events += from->coverage.lost_events;
	to->coverage.unmeasured_ns += from->coverage.unmeasured_ns;
	merge_accounting(&from->coverage.read_accounting, &to->coverage.read_accounting, is_first);
	merge_accounting(&from->coverage.write_accounting, &to->coverage.write_accounting,
			 is_first);
	if (!is_first)
		keep_shared(&to->coverage.tiers, &from->coverage.tiers);
	r = is_first ? add_missing(&to->coverage.tiers, &from->coverage.tiers) : 0;
	if (r == 0)
		r = add_missing(&to->coverage.missing, &from->coverage.missing);
	if (r == 0)
		r = add_missing(&to->coverage.notes, &from->coverage.notes);
	return r;
}

static int merge_survivors(const struct record *from, struct record *to)
{
	for (size_t i = 0; i < from->survivor_count; i++) {
		int r = record_add_survivor(to, from->survivors[i].pid, from->survivors[i].command);

		if (r < 0)
			return r == -ENOSPC ? 0 : r;
	}
	return 0;
}

static int merge_section(const struct section *section, const struct record *from,
			 struct record *to, bool is_first)
{
	const void *part = section_get(from, section);
	void *sum = section_of(to, section);

	if (!section->add && !section->shape)
		return 0;
	return is_first ? section_copy(section, sum, part) : section_add(section, sum, part);
}

static int merge_one(const struct record *from, struct record *to, bool is_first)
{
	int r = is_first ? reading_copy(&to->reading, &from->reading)
			 : reading_merge(&to->reading, &from->reading);

	for (size_t i = 0; r == 0 && i < section_count; i++)
		r = merge_section(sections[i], from, to, is_first);
	if (r < 0)
		return r;
	to->merged_records += from->merged_records;
	to->sequence = is_first || from->sequence == to->sequence ? from->sequence : 0;
	to->is_final = from->is_final && (is_first || to->is_final);
	merge_time(from, to, is_first);
	r = merge_survivors(from, to);
	return r < 0 ? r : merge_coverage(from, to, is_first);
}

/* Cores and memory that were granted on one node, or on the nodes of a record merged before. */
struct grant {
	struct value cores, sum, memory;
	struct cpulist cpus;
	bool has_cpus;
};

static void grant_add(struct grant *grant, const struct record *record)
{
	const struct value *cores = &record->reading.values[METRIC_CPU_ALLOCATED];
	const struct value *memory = &record->reading.values[METRIC_MEMORY_LIMIT];
	struct cpulist cpus;

	grant->sum.number += cores->number;
	grant->sum.is_known &= cores->is_known;
	if (!record->job.cpus_allowed || cpulist_parse(record->job.cpus_allowed, &cpus) < 0)
		grant->has_cpus = false;
	else
		cpulist_add(&grant->cpus, &cpus);
	grant->memory.is_known &= memory->is_known;
	grant->memory.number = MAX(grant->memory.number, memory->number);
}

/* Several machines may have one name (localhost), which then ran at the same time under several
 * boot ids; a node that booted in between did not. */
static bool is_one_node(const struct record *a, const struct record *b)
{
	const uint64_t a_end = a->time.end_ns ? a->time.end_ns : UINT64_MAX,
		       b_end = b->time.end_ns ? b->time.end_ns : UINT64_MAX;

	if (!a->node || !text_is_equal(a->node, b->node))
		return false;
	return !a->boot_id || !b->boot_id || strcmp(a->boot_id, b->boot_id) == 0 ||
	       a->time.start_ns >= b_end || b->time.start_ns >= a_end;
}

/* What the records of @records[@first]'s node were granted together. */
static struct grant grant_of(const struct record *const *records, size_t count, size_t first)
{
	struct grant grant = { .sum.is_known = true, .memory.is_known = true, .has_cpus = true };
	size_t members = 0;

	for (size_t i = first; i < count; i++) {
		if (i > first && !is_one_node(records[i], records[first]))
			continue;
		members++;
		grant_add(&grant, records[i]);
	}
	grant.cores = grant.sum;
	if (members > 1 && grant.sum.is_known) {
		uint64_t cores = (uint64_t)cpulist_count(&grant.cpus) * 1000;

		/* without the lists nobody knows which cores were the same */
		grant.cores = (struct value){ MIN(cores, grant.sum.number), grant.has_cpus };
	}
	return grant;
}

static bool is_first_of_node(const struct record *const *records, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (is_one_node(records[index], records[i]))
			return false;
	}
	return true;
}

static void add_value(struct value *to, const struct value *from)
{
	*to = to->is_known && from->is_known ? (struct value){ to->number + from->number, true }
					     : (struct value){};
}

/* A list as all records together have it; NULL, if one of them has none. */
static int merge_cpu_list(const struct record *const *records, size_t count, size_t offset,
			  char **ret)
{
	struct cpulist all = {}, one;

	for (size_t i = 0; i < count; i++) {
		const char *text =
			*(char *const *)(const void *)((const char *)records[i] + offset);

		if (!text || cpulist_parse(text, &one) < 0)
			return 0;
		cpulist_add(&all, &one);
	}
	*ret = cpulist_format(&all);
	return *ret ? 0 : -ENOMEM;
}

/* A CPU's number means nothing beyond its node. */
static int merge_cpu_lists(const struct record *const *records, size_t count, unsigned int groups,
			   struct record *to)
{
	static const size_t offsets[] = { offsetof(struct record, job.cpus_allowed),
					  offsetof(struct record, job.cpus_used),
					  offsetof(struct record, job.numa_allowed),
					  offsetof(struct record, job.numa_used) };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(offsets); i++) {
		char **at = (char **)(void *)((char *)to + offsets[i]);

		free(*at);
		*at = NULL;
		if (groups == 1)
			r = merge_cpu_list(records, count, offsets[i], at);
	}
	return r;
}

static int merge_grants(const struct record *const *records, size_t count, struct record *to)
{
	struct value cores = { .is_known = true }, memory = { .is_known = true };
	unsigned int groups = 0;

	to->merged_nodes = 0;
	for (size_t i = 0; i < count; i++) {
		struct grant grant;

		if (!is_first_of_node(records, i))
			continue;
		grant = grant_of(records, count, i);
		groups++;
		to->merged_nodes += records[i]->merged_nodes;
		add_value(&cores, &grant.cores);
		add_value(&memory, &grant.memory);
	}
	to->reading.values[METRIC_CPU_ALLOCATED] = cores;
	to->reading.values[METRIC_MEMORY_LIMIT] = memory;
	return merge_cpu_lists(records, count, groups, to);
}

/* Things that worked, of several records. */
struct crowd {
	uint64_t count;
	uint64_t sum_ns, greatest_ns; /* on a CPU */
	bool is_known;
};

/* @cpu_ns: what they did together, so that their balance tells what the one that did most did. */
static void add_crowd(struct crowd *crowd, const struct balance *e, uint64_t cpu_ns)
{
	unsigned __int128 others = (unsigned __int128)e->count.number * e->balance.number;

	crowd->is_known &= e->count.is_known && e->balance.is_known && others > 0;
	if (!crowd->is_known)
		return;
	crowd->count += e->count.number;
	crowd->sum_ns += cpu_ns;
	crowd->greatest_ns = MAX(crowd->greatest_ns,
				 (uint64_t)((unsigned __int128)cpu_ns * LOAD_BALANCE_ONE / others));
}

static struct balance load_balance_of_crowd(const struct crowd *crowd)
{
	return crowd->is_known
		       ? load_balance_of_sum(crowd->count, crowd->sum_ns, crowd->greatest_ns)
		       : (struct balance){};
}

static struct balance ranks_of(const struct record *record)
{
	const struct balance one = { { 1, true }, { LOAD_BALANCE_ONE, true } };

	return !record->ranks.count.is_known && record->job.rank >= 0 ? one : record->ranks;
}

/* What the ranks of a record did together: of a manager's job, those of the step that did most. */
static bool work_of_ranks(const struct record *record, bool is_spun_known, uint64_t *ret_ns)
{
	uint64_t most = 0, ns;

	for (size_t i = 0; i < record->steps.count; i++) {
		const struct step *step = &record->steps.items[i];

		if (step_has_ranks(step->id) && rank_work(step->values, is_spun_known, &ns))
			most = MAX(most, ns);
	}
	*ret_ns = most;
	return most || rank_work(record->reading.values, is_spun_known, ret_ns);
}

/* Cores of one node may be the same in two records, and nobody knows which: then they are absent.
 */
static void merge_load_balance(const struct record *const *records, size_t count, struct record *to)
{
	struct crowd cores = { .is_known = true }, ranks = { .is_known = true };
	bool is_spun_known = true, is_spun_known_of_any = false;

	to->cores = records[0]->cores;
	to->ranks = records[0]->ranks;
	if (count == 1)
		return;
	for (size_t i = 0; i < count; i++) {
		is_spun_known &= records[i]->reading.values[METRIC_CPU_POLLING].is_known;
		is_spun_known_of_any |= records[i]->reading.values[METRIC_CPU_POLLING].is_known;
	}
	if (is_spun_known_of_any != is_spun_known) /* ranks that spun would seem to work */
		rank_times_clear(section_of(to, &rank_work_section));
	for (size_t i = 0; i < count; i++) {
		const struct balance of_ranks = ranks_of(records[i]);
		uint64_t cpu_ns = 0, work_ns = 0;

		ranks.is_known &= work_of_ranks(records[i], is_spun_known, &work_ns);
		cores.is_known &= record_cpu_time(records[i], &cpu_ns) &&
				  is_first_of_node(records, i);
		add_crowd(&cores, &records[i]->cores, cpu_ns);
		add_crowd(&ranks, &of_ranks, work_ns);
	}
	to->cores = load_balance_of_crowd(&cores);
	to->ranks = load_balance_of_crowd(&ranks);
}

/* Of two records of one node nobody knows which throttling is in both. */
static void forget_throttles(const struct record *const *records, size_t count, struct record *to)
{
	for (size_t i = 1; i < count; i++) {
		if (is_first_of_node(records, i))
			continue;
		to->thermal.core_throttles = to->thermal.package_throttles = (struct value){};
		timeline_forget(&to->timeline, timeline_series_of(METRIC_JOB_THROTTLES));
	}
}

static int merge_timelines(const struct record *const *records, size_t count, struct record *to)
{
	_cleanup_free_ const struct timeline **timelines = calloc(count, sizeof(*timelines));

	if (!timelines)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		timelines[i] = &records[i]->timeline;
	return timeline_merge(timelines, count, &to->timeline);
}

/* All say it, as parts of one job do. */
static int merge_emissions(const struct record *const *records, size_t count, struct record *merged)
{
	for (size_t i = 0; i < count; i++) {
		if (!records[i]->emissions ||
		    !text_is_equal(records[0]->emissions, records[i]->emissions))
			return 0;
	}
	merged->emissions = strdup(records[0]->emissions);
	return merged->emissions ? 0 : -ENOMEM;
}

int record_merge(const struct record *const *records, size_t count, struct record **ret)
{
	_cleanup_(record_freep) struct record *merged = record_new();
	int r;

	if (count == 0)
		return -EINVAL;
	if (!merged)
		return -ENOMEM;
	merged->merged_records = 0;
	for (size_t i = 0; i < record_field_count; i++) {
		r = merge_field(&record_fields[i], records, count, merged);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < count; i++) {
		r = merge_one(records[i], merged, i == 0);
		if (r < 0)
			return r;
	}
	if (count > 1)
		span_elapsed(merged);
	r = merge_command(records, count, merged);
	if (r == 0)
		r = merge_grants(records, count, merged);
	if (r == 0)
		r = merge_timelines(records, count, merged);
	if (r == 0)
		r = merge_emissions(records, count, merged);
	if (r < 0)
		return r;
	merge_load_balance(records, count, merged);
	forget_throttles(records, count, merged);
	reading_sort_mounts(&merged->reading);
	hot_list_choose(&merged->files.hot, HOT_SHOWN);
	hot_list_choose(&merged->files.dirs, HOT_SHOWN);
	*ret = TAKE_PTR(merged);
	return 0;
}
