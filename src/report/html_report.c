/* SPDX-License-Identifier: MIT */
#include "report/html_report.h"

#include <assert.h>

#include "basic/cleanup.h"
#include "report/headline.h"
#include "report/html.h"
#include "report/shade.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "model/rows.h"
#include "report/rows_html.h"

const char html_report_style[] =
#include "report/report_css.h"
	;

/* ---- <head> ---- */

static void put_meta(const char *key, const char *name, const char *content, struct html *h)
{
	html_begin(h, "meta");
	html_attribute(h, key, "%s", name);
	html_attribute(h, "content", "%s", content);
	html_end(h);
}

static void put_head(const struct record *r, struct html *h)
{
	html_begin(h, "head");
	html_begin(h, "meta");
	html_attribute(h, "charset", "utf-8");
	html_end(h);
	/* no script runs and nothing is fetched, whatever a browser would make of the rest */
	put_meta("http-equiv", "Content-Security-Policy",
		 "default-src 'none'; style-src 'unsafe-inline'", h);
	put_meta("name", "viewport", "width=device-width, initial-scale=1", h);
	put_meta("name", "color-scheme", "light dark", h);
	put_meta("name", "generator", "jobmeter " JOBMETER_VERSION, h);
	html_element(h, "title", NULL, "%s: what it did", headline_name(r));
	html_begin(h, "style");
	html_raw(h, html_report_style);
	html_end(h);
	html_end(h);
}

/* ---- the end ---- */

#define OF_TEXT 2 /* the first of reading_terms: of what only a terminal's screen has */

void html_report_body(const struct record *r, const struct analysis *analysis, struct html *h)
{
	_cleanup_(rows_freep) struct rows *rows = record_rows(r, NULL, analysis);

	shade_put_patterns(h);
	rows_html(rows, h);
	html_begin(h, "section");
	html_element(h, "h2", NULL, "How to read this");
	html_begin_class(h, "dl", "reading");
	for (const struct cli_term *term = reading_terms + OF_TEXT; term->word; term++) {
		html_element(h, "dt", NULL, "%s", term->word);
		html_element(h, "dd", NULL, "%s", term->text);
	}
	html_end(h);
	html_end(h);
	html_begin(h, "footer");
	html_text(h, "Measured by jobmeter %s", r->agent_version ? r->agent_version : "-");
	if (r->node)
		html_text(h, " on %s", r->node);
	html_text(h, ", printed by jobmeter %s.", JOBMETER_VERSION);
	html_end(h);
}

void html_report(const struct record *r, const struct analysis *analysis, FILE *out)
{
	struct html h = { .out = out };

	fputs("<!DOCTYPE html>\n", out);
	html_begin(&h, "html");
	html_attribute(&h, "lang", "en");
	put_head(r, &h);
	html_begin(&h, "body");
	html_begin(&h, "main");
	html_report_body(r, analysis, &h);
	html_end(&h);
	html_end(&h);
	html_end(&h);
	assert(h.depth == 0);
}

/* clang-format off */
const struct cli_term reading_terms[] = {
	{ "first line", "The name, how it ended (OK: exit code 0), how long it ran, the node and its allocated cores." },
	{ "findings", "At most two, with the advice behind \"->\". \"Nothing stands out.\": no rule found anything. \"Nothing stands out "
		"yet\": the run was too short for some rules, or a finding may come from the start of the program. "
		"--full has all of them; jobmeter insights shows their numbers." },
	{ "CPU efficiency", "CPU time over (elapsed time x allocated cores), as in seff; then the mean number of busy cores, "
		"and CPU time in user mode and in the kernel. \"waited for 1.1 more\": its threads were ready to use so many more cores, "
		"which others had or a CPU quota withheld." },
	{ "Memory efficiency", "Peak memory over requested memory (the limit of the job), as in seff; \"Memory\", the "
		"peak alone, without a limit. \"reached its limit\": the kernel killed a process; the needed memory is unknown. "
		"The peak includes page cache and shared memory (also files in /dev/shm); it lacks pages that "
		"others loaded first, such as libraries." },
	{ "Working time", "The time, summed over all threads, in which they ran, waited for a CPU, or were blocked in files, "
		"sync, locks, the network or page faults; its parts are shares of that sum. Reads, writes, metadata and sync: "
		"inside such calls, on a CPU or blocked (waiting for a CPU there is CPU wait); computing: the program's own code; other kernel: page faults without storage, "
		"process start and all other calls of the kernel. Findings use the same numbers. "
		"Sleep, poll, and waiting for children, threads or work are not included; they are in parentheses if they "
		"were most of the run. Below 5 % of the run there are no shares." },
	{ "Processes", "The number of processes and threads, the memory of the largest process (left out if it has more "
		"than the job was charged for, since it shares pages with others; --full has it), and the numbers of crashes (SIGSEGV, SIGABRT and the like) and "
		"OOM kills." },
	{ "mount", "Bytes and calls by file system. size: mean bytes per read; written: handed to the kernel, which may "
		"write it to a disk later; metadata: open, stat, readdir and the like; p99: 99 % of reads (or writes, "
		"if these took longer) took less, exact to a factor of two; \"-\" for io_uring and libaio, and no such column if "
		"metadata and sync took longer than both. Mounts with less than 1 % of all are left out or in one row, \"others\"; there is "
		"no table below 1 MiB, 1,000 calls and 1 % of the time. (pipe) is no file system; (unresolved): operations whose file "
		"system this kernel does not report." },
	{ "waits, files", "With --full: waits are the times in which threads were blocked in such calls; the times of files and "
		"their operations are those inside the calls, on a CPU or blocked. Metadata calls: open, stat, readdir and the like." },
	{ "cores, read", "Over time, each column the mean of its part of the run; then the highest column. "
		"The second line shows reads or writes, whichever took longer." },
	{ "Not measured", "What this machine, kernel or user cannot measure; --full has the reasons." },
	{ "-", "Unknown, which is not zero." },
	{ "≥", "At least: a part was not measured; >= without UTF-8, where ± is +-." },
	{ "~", "An estimate." },
	{ "core time", "With --full: allocated cores x elapsed time. Unused core time is divided among the causes of the threads' waits "
		"at that time, in proportion; the rest is idle. That is a convention." },
	{ "CPU binding", "With --full: the allowed CPUs (affinity and cpuset); those used for at least 5 % of the time; "
		"moves of threads between CPUs; and the NUMA nodes of the used CPUs, of those allowed. "
		"Memory of another node is slower." },
	{},
};
/* clang-format on */
