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
		printf(" (sampled)");
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
	     "The kernel keeps some numbers of a cgroup in files of the cgroup, which v1 and v2 name differently. On v1 each\n"
	     "controller may have a hierarchy of its own; jobmeter uses the same path in each. A file that does not exist is\n"
	     "absent, which is not zero. Files include the cgroups below, except where the table says \"of the group alone\";\n"
	     "throttled time is that of the cgroup's own quota.\n\n"
	     "- **with BPF**: \"tasks\" are the counters that each task has in the kernel, summed over live and ended tasks.\n"
	     "  A peak is read once more as the cgroup ends.\n"
	     "- **sampled**: `run` and `watch` read the file each second. The agent reads it as the job begins, when memory in\n"
	     "  use is a tenth above the largest sample before, and at each 64th sample; the value is the largest one sampled.\n"
	     "  The agent reads `failcnt` as the job begins, and while more than seven eighths of the limit are in use.\n"
	     "- **perf events** are hardware counters of the processor: [processors.md](processors.md).\n"
	     "- **without BPF**: what is left if BPF is refused or switched off. Only then are the files of a \"tasks\" number\n"
	     "  read: `memory.stat` costs more than all others together.\n\n"
	     "| number | v1 | v2 | with BPF | without BPF |\n|---|---|---|---|---|");
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++)
		print_metric((enum metric_id)id);
	puts("\nCores are those of the nearest cpuset from the cgroup up, or the smallest quota if that is less. Memory is\n"
	     "the smallest limit, and absent if that is more than the machine has. Files stay open between samples, within\n"
	     "RLIMIT_NOFILE; beyond that they are opened and closed each time, and counted.");
	return 0;
}
