/* SPDX-License-Identifier: MIT */
#include "table.h"

#include "basic/macro.h"
#include "page.h"
#include "tool.h"

static const enum work call_works[] = { WORK_PREAD_1, WORK_PREAD_2,   WORK_PREAD_LAST, WORK_WRITE_1,
					WORK_WRITE_2, WORK_GETPPID_1, WORK_GETPPID_2 };
static const enum work other_works[] = { WORK_SWITCH, WORK_PIPE, WORK_FORK };
static const enum work switch_works[] = { WORK_SWITCH, WORK_PIPE, WORK_FORK, WORK_PREAD_1 };
static const enum work syscall_works[] = { WORK_GETPPID_1, WORK_GETPPID_2, WORK_PREAD_1,
					   WORK_PREAD_2, WORK_PIPE };
static const enum work metadata_works[] = { WORK_STAT, WORK_OPEN, WORK_ABSENT, WORK_UNLINK };
static const enum work device_works[] = { WORK_SEND };
static const enum work page_works[] = { WORK_NEW, WORK_COLD };

const struct ratio_sides ratio_sides[RATIO_COUNT] = {
	[RATIO_ALL_TO_REFERENCE] = { ENTRY_ALL, ENTRY_REFERENCE },
	[RATIO_ALL_TO_BPFTRACE] = { ENTRY_ALL, ENTRY_BPFTRACE },
	[RATIO_T1_TO_TOOLS] = { ENTRY_T1, ENTRY_SWITCH_TOOLS },
	[RATIO_T1_TO_SWITCH_REFERENCE] = { ENTRY_T1, ENTRY_SWITCH_REFERENCE },
	[RATIO_ALL_TO_TOOLS] = { ENTRY_ALL, ENTRY_SWITCH_TOOLS },
};

static void print_cell(struct samples *s, int places, FILE *out)
{
	fputc(' ', out);
	samples_print(s, places, out);
	fputs(" |", out);
}

static void print_head(const char *corner, const enum work *works, size_t count, FILE *out)
{
	fprintf(out, "| %s |", corner);
	for (size_t i = 0; i < count; i++)
		fprintf(out, " %s |", work_name(works[i]));
	fputs("\n|---|", out);
	for (size_t i = 0; i < count; i++)
		fputs("---|", out);
	fputc('\n', out);
}

static void print_row(const char *name, struct samples row[WORK_COUNT], const enum work *works,
		      size_t count, int places, FILE *out)
{
	fprintf(out, "| %s |", name);
	for (size_t i = 0; i < count; i++)
		print_cell(&row[works[i]], places, out);
	fputc('\n', out);
}

static bool is_measured(const struct samples row[WORK_COUNT], const enum work *works, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (row[works[i]].count)
			return true;
	}
	return false;
}

static void print_added(struct results *r, const enum work *works, size_t count, FILE *out)
{
	print_head("ns", works, count, out);
	print_row("nothing: all of it", r->bare, works, count, 0, out);
	for (int e = 0; e < ENTRY_COUNT; e++) {
		if (is_measured(r->added[e], works, count))
			print_row(entry_name((enum entry)e), r->added[e], works, count, 0, out);
	}
	fputc('\n', out);
}

static void print_ratios(struct results *r, FILE *out)
{
	const size_t count = 5; /* calls that the others count too */

	print_head("all of jobmeter adds, of what", call_works, count, out);
	print_row("the reference adds", r->ratios[RATIO_ALL_TO_REFERENCE], call_works, count, 2,
		  out);
	print_row("a bpftrace one-liner adds", r->ratios[RATIO_ALL_TO_BPFTRACE], call_works, count,
		  2, out);
	fputc('\n', out);
}

static void print_switch_ratios(struct results *r, FILE *out)
{
	const size_t count = 3; /* those that switch */

	print_head("adds, of what others add", switch_works, count, out);
	for (int i = RATIO_T1_TO_TOOLS; i <= RATIO_ALL_TO_TOOLS; i++) {
		char name[128];

		snprintf(name, sizeof(name), "%s, of %s", entry_name(ratio_sides[i].of),
			 entry_name(ratio_sides[i].to));
		if (is_measured(r->ratios[i], switch_works, count))
			print_row(name, r->ratios[i], switch_works, count, 2, out);
	}
	fputc('\n', out);
}

static void print_startups(struct results *r, FILE *out)
{
	fputs("| ms | wall | user and system |\n|---|---|---|\n", out);
	for (int i = 0; i < r->startup_count; i++) {
		fprintf(out, "| `%s` |", r->startups[i].name);
		print_cell(&r->startups[i].wall_ms, 1, out);
		print_cell(&r->startups[i].cpu_ms, 1, out);
		fputc('\n', out);
	}
	fputc('\n', out);
}

static void print_programs(struct results *r, FILE *out)
{
	fputs("| of | program | ns a run |\n|---|---|---|\n", out);
	for (int i = 0; i < r->program_count; i++)
		fprintf(out, "| %s | %s | %.0f |\n", r->programs[i].owner, r->programs[i].name,
			r->programs[i].ns);
	fputc('\n', out);
}

static void print_version(const char *name, const char *command, const char *option, FILE *out)
{
	char version[64];

	tool_version(command, option, version, sizeof(version));
	fprintf(out, "; %s %s", name, *version ? version : "absent");
}

static void print_repetitions(struct results *r, FILE *out)
{
	fprintf(out, "%d repetitions; median (quartiles).\n", r->repetitions);
	if (r->dropped)
		fprintf(out,
			"%d measurements were dropped, because other BPF programs came or went.\n",
			r->dropped);
	for (int i = 0; i < r->missing_count; i++)
		fprintf(out, "Skipped: %s is not installed.\n", r->missing[i]);
	if (r->refused)
		fprintf(out, "Skipped: %s do not run here.\n", r->refused);
	fputc('\n', out);
}

void table_print_calls(struct results *r, FILE *out)
{
	page_print_machine(out);
	print_version("bpftrace", "bpftrace", "--version", out);
	print_version("strace", "strace", "-V", out);
	fputs(".\n", out);
	print_repetitions(r, out);
	fputs("Added to one system call:\n\n", out);
	print_added(r, call_works, ARRAY_SIZE(call_works), out);
	fputs("Ratios of one repetition:\n\n", out);
	print_ratios(r, out);
	fputs("Added to operations on metadata, on paths two directories below the mount point:\n\n",
	      out);
	print_added(r, metadata_works, ARRAY_SIZE(metadata_works), out);
	fputs("Added to calls that bring new pages into the page cache, on a disk's file system:\n\n",
	      out);
	print_added(r, page_works, ARRAY_SIZE(page_works), out);
	fputs("Added to one switch between two threads of a CPU, and to one short process:\n\n",
	      out);
	print_added(r, other_works, ARRAY_SIZE(other_works), out);
	if (r->startup_count) {
		fputs("Start and end:\n\n", out);
		print_startups(r, out);
	}
	if (r->program_count) {
		fputs("One run of a BPF program, at pread by 2 threads, as the kernel's own statistics "
		      "(which cost\nsomething themselves) have it:\n\n",
		      out);
		print_programs(r, out);
	}
}

/* Of tables beside libbpf-tools, and beside @tool; NULL: no other. */
static void print_begin(struct results *r, const char *tool, const char *option, FILE *out)
{
	page_print_machine(out);
	print_version("libbpf-tools", "dpkg-query", "-W -f '${Version}\n' libbpf-tools", out);
	if (tool)
		print_version(tool, tool, option, out);
	fputs(".\n", out);
	print_repetitions(r, out);
}

void table_print_syscalls(struct results *r, FILE *out)
{
	print_begin(r, "strace", "-V", out);
	fputs("Added to one system call, and to a switch between two threads by a pipe, of which each half is one:\n\n",
	      out);
	print_added(r, syscall_works, ARRAY_SIZE(syscall_works), out);
}

static void print_requests(struct results *r, FILE *out)
{
	static const enum entry entries[] = { ENTRY_BLOCK, ENTRY_BIOLATENCY };

	fputs("What BPF programs take of one request to a block device, a read of 4 KiB past the page cache, by the "
	      "kernel's own\nstatistics (which cost something themselves):\n\n| ns a request | |\n|---|---|\n",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		if (!r->requests[entries[i]].count)
			continue;
		fprintf(out, "| %s |", entry_name(entries[i]));
		print_cell(&r->requests[entries[i]], 0, out);
		fputc('\n', out);
	}
	if (r->request_ratio.count) {
		fputs("| ours, of biolatency's, in one repetition |", out);
		print_cell(&r->request_ratio, 2, out);
		fputc('\n', out);
	}
	fputc('\n', out);
}

void table_print_devices(struct results *r, FILE *out)
{
	print_begin(r, "bpftrace", "--version", out);
	fputs("Added to two calls on a socket:\n\n", out);
	print_added(r, device_works, ARRAY_SIZE(device_works), out);
	fputs("Ratios of one repetition:\n\n", out);
	print_head("all of jobmeter adds, of what", device_works, ARRAY_SIZE(device_works), out);
	print_row("a bpftrace one-liner adds", r->ratios[RATIO_ALL_TO_BPFTRACE], device_works,
		  ARRAY_SIZE(device_works), 2, out);
	fputc('\n', out);
	if (r->requests[ENTRY_BLOCK].count)
		print_requests(r, out);
}

void table_print_switches(struct results *r, FILE *out)
{
	print_begin(r, NULL, NULL, out);
	fputs("Added to one switch between two threads of a CPU, to one short process, and to a call that "
	      "switches\nnothing:\n\n",
	      out);
	print_added(r, switch_works, ARRAY_SIZE(switch_works), out);
	fputs("Ratios of one repetition:\n\n", out);
	print_switch_ratios(r, out);
}
