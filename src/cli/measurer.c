/* SPDX-License-Identifier: MIT */
#include "cli/measurer.h"

#include <string.h>

#include "cli/child.h"
#include "sources/children.h"
#include "sources/node_ports.h"
#include "sources/sources.h"
#include "model/record.h"
#include "model/section.h"

#define CPU_SLACK_NS 10000000 /* ticks */

void measurer_freep(struct measurer **m)
{
	if (*m)
		(*m)->free(*m);
}

bool measurer_is_short(const struct child *child, const struct children_usage *usage,
		       const struct record *record)
{
	const struct value *values = record->reading.values;
	uint64_t counted = values[METRIC_CPU_USER].number + values[METRIC_CPU_SYSTEM].number;
	uint64_t waited = children_cpu_ns(usage);

	return counted + child->overhead_ns + waited / 100 + CPU_SLACK_NS < waited;
}

int measurer_note_short(const struct children_usage *usage, struct record *record)
{
	struct strings *missing = &record->coverage.missing;
	char *last;
	int r;

	raise_to_children(usage, &record->reading);
	r = strings_add(&record->coverage.notes,
			"lower bound: CPU time comes from wait(), since BPF counted less");
	if (r == 0)
		r = strings_add(missing,
				"what some processes did: they left the command's cgroup, or their "
				"end was not seen; numbers but CPU time are lower bounds");
	if (r < 0)
		return r;
	last = missing->items[missing->count - 1]; /* the first that people read */
	memmove(missing->items + 1, missing->items, (missing->count - 1) * sizeof(*missing->items));
	missing->items[0] = last;
	return 0;
}

/* Does it tell of one of the sources that measure.c asks by itself? */
static bool is_of_process(const char *text)
{
	const struct source_list list = sources_all();

	for (size_t i = 0; i < list.count; i++) {
		const struct source *s = list.items[i];

		if (s->sample_job && strncmp(text, s->label, strlen(s->label)) == 0)
			return true;
	}
	return false;
}

static int add_texts(const struct strings *from, struct strings *to)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < from->count; i++) {
		if (!is_of_process(from->items[i]))
			r = strings_add(to, "%s", from->items[i]);
	}
	return r;
}

#define SWAP(member)                                         \
	do {                                                 \
		__typeof__(from->member) its = from->member; \
		from->member = record->member;               \
		record->member = its;                        \
	} while (0)

/* Sections that have no member of the record: they are not known by name here. */
static int take_sections(const struct record *from, struct record *to)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < section_count; i++) {
		const struct section *s = sections[i];

		if (!s->offset && section_is_known(s, section_get(from, s)))
			r = section_copy(s, section_of(to, s), section_get(from, s));
	}
	return r;
}

int measurer_take_over(struct record *from, struct record *record)
{
	int r;

	SWAP(reading);
	SWAP(timeline);
	SWAP(files);
	SWAP(syscalls);
	SWAP(oom_list);
	SWAP(ports);
	SWAP(job.cpus_used);
	record->cores = from->cores;
	record->ranks = from->ranks;
	record->threads = from->threads;
	record->coverage.lost_events = from->coverage.lost_events;
	record->coverage.unmeasured_ns = from->coverage.unmeasured_ns;
	r = take_sections(from, record);
	if (r >= 0)
		r = add_texts(&from->coverage.tiers, &record->coverage.tiers);
	if (r >= 0)
		r = add_texts(&from->coverage.missing, &record->coverage.missing);
	return r < 0 ? r : add_texts(&from->coverage.notes, &record->coverage.notes);
}

int measurer_note_children(int root_fd, struct record *record)
{
	int r = strings_add(&record->coverage.tiers, "children");

	if (r >= 0)
		r = strings_add(&record->coverage.notes,
				"lower bound: processes that no other process waited for "
				"are not in CPU time "
				"and I/O");
	if (r >= 0 && !record->ports && node_ports_exist(root_fd))
		r = strings_add(&record->coverage.missing, NODE_PORTS_MISSING);
	return r;
}
