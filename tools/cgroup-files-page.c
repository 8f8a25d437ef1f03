/* SPDX-License-Identifier: MIT */
/* Print docs/internals/cgroup-files.md: which number of a job comes from which file of its cgroup,
 * from the code's tables. */
#include <stdio.h>

#include "cgroup/allocation.h"
#include "sources/children.h"
#include "cgroup/group_files.h"
#include "sources/hardware.h"

static const struct group_field *find_field(enum metric_id metric)
{
	for (size_t i = 0; i < group_field_count; i++) {
		if (group_fields[i].metric == metric)
			return &group_fields[i];
	}
	return NULL;
}

static void print_file(const char *file, const char *key)
{
	printf(file ? "`%s`" : "-", file);
	if (key)
		printf(": `%s`", key);
}

static void print_field(const struct group_field *f)
{
	print_file(f->v1_file, f->v1_key);
	if (f->is_v1_own)
		printf(", of the group alone");
	printf(" | ");
	print_file(f->v2_file, f->v2_key);
	if (f->v2_label)
		printf(" `%s`", f->v2_label);
	if (f->since)
		printf(", from Linux %s on", f->since);
	if (f->is_seldom)
		printf(" (looked at)");
	if (f->is_fallback)
		printf(" | tasks");
	else
		printf(f->is_v1_own ? " | v1: the end of a group; v2: file" : " | file");
	puts(f->is_v1_own ? " | v1: file, if no group is below; v2: file |" : " | file |");
}

/* All files that have a say, on v1 and on v2; false: none has. */
static bool print_sources(enum metric_id metric)
{
	const char *separator = "";

	for (size_t i = 0; i < allocation_source_count; i++) {
		const struct allocation_source *s = &allocation_sources[i];

		if (s->metric != metric)
			continue;
		printf("%s`%s`", separator, s->v1_file);
		if (s->v1_other)
			printf(" by `%s`", s->v1_other);
		separator = ", ";
	}
	if (!*separator)
		return false;
	separator = " | ";
	for (size_t i = 0; i < allocation_source_count; i++) {
		if (allocation_sources[i].metric != metric)
			continue;
		printf("%s`%s`", separator, allocation_sources[i].v2_file);
		separator = ", ";
	}
	puts(" | files, up to the root | files, up to the root |");
	return true;
}

static void print_metric(enum metric_id id)
{
	const struct metric *metric = metric_get(id);
	const struct group_field *f = find_field(id);

	printf("| `%s.%s` | ", metric->section, metric->key);
	if (f)
		print_field(f);
	else if (hardware_counts(id))
		puts("- | - | perf events | perf events |");
	else if (!print_sources(id))
		printf("- | - | tasks | %s |\n",
		       children_know(id) ? "`run` only: wait and proc" : "-");
}

int main(void)
{
	puts("<!-- Made by tools/cgroup-files-page from the tables in src/meter; a test compares them. -->\n"
	     "# Where the numbers of a job come from\n\n"
	     "The kernel keeps some numbers of a cgroup in files of the group itself, which v1 and v2 name differently.\n"
	     "On v1 each controller may have a hierarchy of its own, and a group is looked for at the same path in each;\n"
	     "what is not there is absent, which is not zero. Numbers of files hold those of groups below, but where it\n"
	     "says \"of the group alone\"; the time that a quota held a group back is of its own quota alone.\n\n"
	     "- **with BPF**: \"tasks\" are the counters that each task has in the kernel, summed over the live and the\n"
	     "  ended ones. A peak is taken once more as the group ends, with what no reading saw.\n"
	     "- **looked at**: `run` and `watch` read it each second while the job lives, the agent as the job begins, whenever\n"
	     "  memory in use is a tenth more than at the greatest look before, and at each 64th reading; what is told is the\n"
	     "  greatest that was seen, so it may have been more in between, and a job that was never looked at has none. `failcnt`\n"
	     "  is read by the agent as the job begins, and while seven eighths of the limit are in use. How often the limit was\n"
	     "  hit is as the last reading before the group's end had it.\n"
	     "- **perf events** are the processor's own counters, of a command and all that it starts, or of the job's group:\n"
	     "  [how-it-counts.md](how-it-counts.md).\n"
	     "- **without BPF**: what is left where BPF is refused or switched off. Then the files of a \"tasks\" number\n"
	     "  are read, and only then: `memory.stat` costs more than all the others together.\n\n"
	     "| number | v1 | v2 | with BPF | without BPF |\n|---|---|---|---|---|");
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++)
		print_metric((enum metric_id)id);
	puts("\nCores are those of the nearest cpuset from the group up, or the least quota where that is less; memory is\n"
	     "the least limit, and absent where that is more than the machine has. A file is kept open from one reading to\n"
	     "the next, within what RLIMIT_NOFILE allows; beyond that it is opened and closed each time, and counted.");
	return 0;
}
