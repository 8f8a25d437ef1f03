/* SPDX-License-Identifier: MIT */
/* Print docs/internals/insights.md: how rules are written, and each rule that is built in. */
#include <stdio.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "analysis/rules.h"

/* clang-format off */
static const char concept[] =
	"# Insights\n"
	"\n"
	"Insights are findings on a job, with their numbers, the source of each threshold, and advice. They begin each report,\n"
	"are sections of each record, and have a command:\n"
	"\n"
	"    jobmeter insights                                 of the last local run\n"
	"    jobmeter insights run.json --format markdown      for a mail or a ticket\n"
	"    jobmeter insights 123 --json\n"
	"    jobmeter insights run.json --fail-on warning      exit code 3 if there is one at least as severe\n"
	"    jobmeter insights --list                          all rules with conditions, thresholds, sources and files\n"
	"    jobmeter insights --names                         the names that rules may use\n"
	"    jobmeter insights --check site.yaml               check a file of rules\n"
	"    jobmeter insights --rules site.yaml run.json      add the rules of a file\n"
	"\n"
	"**Every finding shows its numbers.** A rule with an unknown number stays silent and is listed as `not known`, with the\n"
	"missing names: there is no advice about memory without a limit, and none about unmeasured causes of waiting.\n"
	"\n"
	"Below one second only crashes and OOM kills are reported, and each rule has a minimum time, count or share.\n"
	"[insights-cases.md](insights-cases.md) shows how often the first finding is right.\n"
	"\n"
	"## A file of rules\n"
	"\n"
	"Rules come in layers. Each layer is an optional file of the same form:\n"
	"\n"
	"1. `share/insights.yaml`, which is built in;\n"
	"2. the site's: `/etc/jobmeter/insights.yaml`, or the file that `$JOBMETER_INSIGHTS` names (empty: none);\n"
	"3. the user's: `$XDG_CONFIG_HOME/jobmeter/insights.yaml`, else `~/.config/jobmeter/insights.yaml`;\n"
	"4. the file of `jobmeter insights --rules`.\n"
	"\n"
	"`run`, `report`, `watch`, `insights` and `compare` use the first three. For the same `id`, a later file overrides an\n"
	"earlier one key by key, and within `thresholds` and `least` number by number. So a site changes a number in three lines,\n"
	"or switches a rule off (`share/site-insights.yaml` is an example):\n"
	"\n"
	"    rules:\n"
	"      - id: cpu-low\n"
	"        thresholds: {enough: 50 %}\n"
	"      - id: like-serial\n"
	"        enabled: no\n"
	"    classes:\n"
	"      - id: io-bound\n"
	"        thresholds: {least: 30 %}\n"
	"    variables:\n"
	"      cores_wasted: cpu_allocated_cores - cores_busy\n"
	"\n"
	"`variables` are your own names, at most 64, made of names of the record (not of each other). A variable with names of a\n"
	"mount is for rules with `each: mount`. `alone: yes` at the top of a file ignores all files below it and the built-in\n"
	"rules.\n"
	"\n"
	"Errors name file and line. Because rules appear in reports as advice, a file must belong to root or to the reader, and be\n"
	"writable by its owner only. Any other file, and a broken one, is ignored as a whole with one line on the standard error.\n"
	"Only `--rules` and `--check` fail.\n"
	"\n"
	"A new rule has these keys:\n"
	"\n"
	"    rules:\n"
	"      - id: memory-low\n"
	"        severity: info                # info, warning or critical\n"
	"        least: {elapsed: 5 s, memory_limit: 1G}\n"
	"        thresholds: {enough: 70 %, room: 1.2, worth: 1G}\n"
	"        source: jobstats, below 70 % of the limit\n"
	"        when: memory_usage < enough and room * memory_peak + worth <= memory_limit\n"
	"        text: \"{memory_peak_bytes} of {memory_limit_bytes} were used.\"\n"
	"        advice: \"Ask for {room * memory_peak:memory}.\"\n"
	"        directive: \"#SBATCH --mem={room * memory_peak:memory}\"\n"
	"                resource: memory              # the lost resource\n"
	"        lost: memory_unused_bytes     # and how much of it\n"
	"\n"
	"| key | |\n"
	"|---|---|\n"
	"| `id` | small letters, digits and `-`; required, as are `severity`, `source`, `when` and `text` |\n"
	"| `enabled` | `no` switches the rule off |\n"
	"| `severity` | `info`, `warning` or `critical` |\n"
	"| `each` | `mount`: the rule is evaluated for each mount (and for files without a known mount), and may use its names: `mount_read_bytes`, and `{mount}` in sentences. `mount by path`: the same for operations by path; on kernels without fentry it is evaluated once, for all mounts together (`\"mount\": null`) |\n"
	"| `thresholds` | names for numbers, at most 8, usable in the rest of the rule |\n"
	"| `least` | names of the record and their minimum values, at most 8; below one of them the rule is silent. The default of `elapsed` is 1 s |\n"
	"| `source` | where the thresholds come from |\n"
	"| `when` | the condition |\n"
	"| `text` | the finding, with at least one number |\n"
	"| `advice`, `directive` | the advice, and the line for the resource manager; left out if a number in it is unknown |\n"
	"| `advice_on_network`, `advice_on_disk`, `advice_on_memory` | other advice if the files are on a network file system (NFS, Lustre...), on a disk of the node, or in memory (tmpfs) |\n"
	"| `resource`, `lost` | the lost resource, and how much of it: bytes or seconds |\n"
	"| `group` | only the first true rule of a group is reported (that of the lowest file first) |\n"
	"| `explains` | ids and groups, separated by `, `, with this rule as their cause: they are not reported beside it |\n"
	"\n"
	"Braces in a sentence contain a number in the same language. `:memory` prints bytes as for Slurm's `--mem`, rounded up\n"
	"(`4G`), `:whole` a plain number rounded up, and `:signal` the name of a signal. Words in braces: `{mount}`, `{on_mount}`\n"
	"(\" on /scratch\", or nothing if unknown), `{command}` (its name without the directory) and `{oom_command}` (the largest\n"
	"OOM-killed process).\n"
	"\n"
	"Findings are sorted by severity, then by their order in the file: failures, changes to the program, unused requests. One\n"
	"that lost more than five times as much as another of its severity comes before it. A finding that another one explains is left out, so each cause appears once.\n"
	"\n"
	"`classes` name the kind of job; several may hold. A class has `id`, `thresholds`, `source`, `when`, `text`, and `share`:\n"
	"its part of the job. `patterns` are searched in the timeline (below). All thresholds can be changed.\n"
	"\n"
	"### The language\n"
	"\n"
	"- numbers, with a unit if they have one: `4G` `64 KiB` `1.5T` (powers of 1024), `30s` `5 min` `2h` `1d` `10 ms`, `10 %`\n"
	"- names; a unit at the end may be left out if that leaves one name only (`elapsed`, `memory_peak`)\n"
	"- `+ - * /`, `min(a, b)`, `max(a, b)`, parentheses; `< <= > >= == !=`; `and`, `or`, `not`\n"
	"- nothing else: no loops, no calls, at most 1024 bytes and 32 levels\n"
	"\n"
	"Only like is added or compared, bytes with bytes. A number without a unit takes that of the other side: `memory_usage >\n"
	"80` means 80 %. Since `0.8` could mean either, write `80 %` or `0.8 %`. In `jobmeter compare --fail-on`, `1.1x` means\n"
	"1.1 times the value in the first record. Unknown values make a result unknown unless it does not depend on them: in `a\n"
	"and b`, one \"no\" is enough.\n"
	"\n"
	"### Names\n"
	"\n"
	"`jobmeter insights --names` lists them. Each scalar metric of [metrics.md](metrics.md) has one, by its place in a\n"
	"record: `cpu.user_seconds` is `cpu_user_seconds`, `io[].read.bytes` is `read_bytes` (all rows but the kernel threads')\n"
	"and `mount_read_bytes` (one mount), `io[].meta.open.errors` is `open_errors`, `cpu.causes.lock_seconds` is\n"
	"`blocked_lock_seconds`, and `files.followed.read.bytes` is `files_read_bytes`. Each cause of waiting also has\n"
	"`blocked_lock_share` (of all time of its threads) and, if it counts as loss, `working_lock_share` (of the working time),\n"
	"`lost_lock_seconds` and `lost_lock_share` (of the core time). Of reads, writes, metadata and sync the working share is\n"
	"the time inside such calls, on a CPU or blocked, less a proportional part of the CPU waits, so that the parts add up to\n"
	"the working time.\n"
	"\n"
	"## Classes, efficiency, core time\n"
	"\n"
	"`jobmeter run`, `report`, `watch` and `insights` append these sections to JSON and YAML. Unknown values are `null`,\n"
	"never zero.\n"
	"\n"
	"    \"classification\": {\"primary\": \"lock-bound\",\n"
	"      \"classes\": [{\"id\": \"lock-bound\", \"share\": 0.5, \"text\": \"...\", \"evidence\": {\"lost_lock_share\": 0.5}}],\n"
	"      \"unknown\": [\"network-bound\"]},\n"
	"    \"efficiency\": {\"formula\": 2, \"score\": 36, \"billing\": null, \"coverage\": 0.8, \"missing\": [\"memory\"],\n"
	"      \"cores\": {\"used_cores\": 1.44, \"allocated_cores\": 4, \"share\": 0.36},\n"
	"      \"memory\": {\"used_bytes\": 4294967296, \"allocated_bytes\": null, \"share\": null},\n"
	"      \"chain\": {\"used\": 0.75, \"balance\": 0.8, \"not_blocked\": 0.571429, \"not_waiting\": 0.75, \"other\": 1.4},\n"
	"      \"core_time\": {\"seconds\": 400, \"on_cpu_seconds\": 144, \"lost\": {\"file_read_seconds\": 144, \"...\": 0},\n"
	"        \"idle_seconds\": 64, \"intervals\": 100}},\n"
	"    \"insights\": [{\"id\": \"memory-low\", \"severity\": \"info\", \"text\": \"...\", \"advice\": \"...\",\n"
	"      \"directive\": \"#SBATCH --mem=4G\", \"resource\": \"memory\", \"lost_bytes\": 13851269530,\n"
	"      \"evidence\": {\"memory_usage\": 0.19375, \"...\": 0}, \"condition\": \"...\", \"source\": \"...\"}]\n"
	"\n"
	"**Classes.** A job may have several classes, or none; the one with the largest share is *primary*. Most shares are parts\n"
	"of the core time, which do not overlap. `mixed` is a job with two large parts and none that dominates; its share is their\n"
	"sum. `balanced` is a job with even work on all cores and no obstacle. `cpu-contended` is a part of the time that threads\n"
	"wanted a core, `memory-stalled` a part of the elapsed time. Classes with unmeasured numbers are under `unknown`.\n"
	"\n"
	"**Core time** is allocated cores times elapsed time; time not on a CPU is *unused*. Time of a hypervisor or interrupts\n"
	"(`stolen`) is lost first. The rest is divided among the causes of the threads' waits, in proportion, and none gets more\n"
	"than its waits:\n"
	"\n"
	"    lost[c] = waited[c] x min(1, unused / sum of waited)\n"
	"\n"
	"over files, sync, page faults, locks, the network and waiting for a CPU. Sleep, poll, pipes and waiting for children are\n"
	"never lost: the program chose to wait, or waited for another of its processes. The remainder is *idle*. This is a\n"
	"convention. It is computed for each bucket of the timeline (`intervals` has their number) if the record has one, else\n"
	"for the whole.\n"
	"\n"
	"**Spinning** is waiting without sleeping: a rank in a barrier, an idle thread of a pool. It looks like work, so jobmeter\n"
	"samples the code of each CPU some 50 times a second. A sample in a library of MPI, of its transports (UCX, libfabric,\n"
	"PSM) or of OpenMP, or inside sched_yield or a poll with a timeout of zero, is 20 ms of spinning (`cpu.polling_seconds`):\n"
	"an upper bound of waiting, because such a library also communicates. Spinning in the program's own code, or in\n"
	"statically linked libraries, counts as work. Below 2 s (100 samples) it is not reported. [files.md](files.md) has the\n"
	"details.\n"
	"\n"
	"**The score** is 100 times used over allocated; without weights, of cores only. `coverage` is the share of its five\n"
	"parts that are known, `missing` names the others, `formula` is the version of the formula.\n"
	"\n"
	"**Weights** are the scheduler's, in the syntax of Slurm's `TRESBillingWeights`:\n"
	"\n"
	"    billing:\n"
	"      gpu: \"CPU=2.0,Mem=0.25G,GRES/gpu=8\"      for this partition\n"
	"      \"*\": \"CPU=1.0,Mem=0.25G\"               for all others, and if the partition is unknown\n"
	"\n"
	"As in Slurm, memory is billed by the MiB or by the unit behind its weight (`0.25G`: a quarter for each GiB), and the\n"
	"bill is the sum (`PriorityFlags=MAX_TRES` is not supported). The score is then 100 x sum of (weight x used) / sum of\n"
	"(weight x allocated), over cores and memory (its peak), without unknown parts:\n"
	"\n"
	"    \"billing\": {\"weights\": \"CPU=2.0,Mem=0.25G,GRES/gpu=8\", \"partition\": \"gpu\",\n"
	"      \"parts\": {\"cores\": 0.666667, \"memory\": 0.333333}, \"left_out\": [\"GRES/gpu\"]}\n"
	"\n"
	"**The chain** explains the cores' part: used over allocated = used cores x balance x not_blocked x not_waiting x other.\n"
	"*used* is the share of allocated cores that worked at all; *balance* the mean of their time divided by the largest;\n"
	"*not_blocked* and *not_waiting* the parts of the working time not lost to files, locks and the like, and to waiting for\n"
	"a CPU; *other* is the rest of the product.\n";

static const char patterns_concept[] =
	"\n"
	"## Patterns\n"
	"\n"
	"Patterns are found in a job's [timeline](timeline.md) by arithmetic alone. They appear in the section `patterns` of each\n"
	"record, as marks on the report's curves, in findings, and as names for rules.\n"
	"\n"
	"    \"patterns\": [{\"id\": \"idle-tail\", \"from\": \"2026-09-21T14:26:40.000000000Z\", \"to\": \"2026-09-21T14:40:00.000000000Z\",\n"
	"      \"seconds\": 800, \"share\": 0.5, \"lost_core_seconds\": 3200,\n"
	"      \"text\": \"Nothing was done in the last 13 m 20 s (50 %), from 13 m 20 s on.\"}]\n"
	"\n"
	"`\"patterns\": null` is a record without a timeline. An unknown bucket is a gap, never zero: it ends an idle time and is\n"
	"no edge. A pattern with too few known buckets is unknown, not absent. The first and last bucket are left out if the job\n"
	"ran in less than half of them.\n"
	"\n"
	"| pattern | meaning | detection |\n"
	"|---|---|---|\n"
	"| `phase` | the CPU rate, or bytes read and written, change at once | for each rate, the cheapest division into stretches of at least `length` buckets and `part` of the timeline, by squared distance from each mean in units of the noise, and `penalty` for an edge (at least `buckets` in total); an edge stays if the means differ by `change` of the largest rate (and `rate`, of bytes) and by `apart` standard deviations of the wilder side, and if the rate jumps there by `jump` times the usual |\n"
	"| `checkpoints` | bursts of writes at a period | a burst is above the usual rate by `height` of the way to the peak, which is `above` times the usual; at least `count` of them, of `bytes`, over `span` of the time; `regular` of them keep the period within `tolerance` (or a bucket) and the size within a factor of two; a period has at least `buckets` |\n"
	"| `idle-tail` | idle up to the end | below `share` of the cores on CPU and below `cores`, and less than `rate` read and written, for `time` and for `part` of the job, after `work` in which something was done |\n"
	"| `hang` | long idle after work, whether or not it continued | the same for `time`, after as long a time with `busy` cores on average; not at the end of a job that ended by itself: that is a tail |\n"
	"| `leak` | memory grows along a line through the second half | the median of all slopes; the growth is `growth` of what is used, `bytes`, `scatter` times the scatter around the line, `steady` times what a random walk with such steps would give, and more than `cache` times what was read and written meanwhile, since the kernel counts the page cache |\n"
	"| `died-inside` | next to no CPU time from some moment on | the smallest ratio c of the mean CPU rate after a moment to that before (`busy` cores or more), with `part` of the time on both sides; homogeneity is 1 - 1/(1 + 1000 c), and `least` where c is a thousandth |\n"
	"\n"
	"**The cost of checkpoints** is the CPU time missing in and after the bursts, until half of the usual rate is back,\n"
	"divided by the usual rate. `duration_seconds` is in whole buckets, so an upper bound.\n"
	"\n"
	"**The time until memory reaches its limit** is extrapolated from the end of the record. Memory that an application keeps\n"
	"on purpose grows in the same way, and data read through mappings may look like growth.\n"
	"\n"
	"**False patterns in noise**, of a thousand generated timelines of 256 buckets of each kind\n"
	"(`tests/unit/test_pattern_noise.c`):\n"
	"\n"
	"| noise | phases | checkpoints | leak | tail, hang, death |\n"
	"|---|---|---|---|---|\n"
	"| white, of 20 % and more | 0 | 0 | 0 | 0 |\n"
	"| rates and memory that walk at random | 2 | 0 | 4 | 0 |\n"
	"| rates and memory that return to their mean slowly (0.9 a bucket) | 0 | 0 | 0 | 0 |\n"
	"| bursts of writes of any size at any time | 0 | 0 | 0 | 0 |\n"
	"| the same, all of one size | 0 | 0 | 0 | 0 |\n"
	"| one burst in the shape of a saw, shorter than a phase | 0 | 0 | 0 | 0 |\n"
	"| constant, with memory that trembles by 1 to 100 MiB | 0 | 0 | 0 | 0 |\n"
	"\n"
	"With `enabled: no` a pattern is off, and rules that use it are unknown. `jobmeter compare` ignores patterns.\n";
/* clang-format on */

static void print_thresholds(const struct rule *rule, const char *before)
{
	for (size_t i = 0; i < rule->threshold_count; i++) {
		const struct constant *c = &rule->thresholds[i];

		printf("%s`%s` %s", i ? ", " : before, c->name,
		       amount_format_exact(c->amount, c->dimension).text);
	}
}

/* A row; what it takes and where that is from, --list says. */
static void print_rule(const struct rule *rule, const char *kind)
{
	printf("| `%s` | %s%s | %s |\n", rule->id, kind, rule->is_each_mount ? ", each mount" : "",
	       template_text(rule->text));
}

static void print_rules(const struct rules *rules)
{
	puts("\n## The rules\n\n"
	     "`jobmeter insights --list` prints the condition, thresholds, source and advice of each.\n\n"
	     "| rule | severity | text |\n|---|---|---|");
	for (size_t i = 0; i < rules->insights.count; i++)
		print_rule(&rules->insights.items[i],
			   severity_name(rules->insights.items[i].severity));
	puts("\n## The classes\n\n| class | | text |\n|---|---|---|");
	for (size_t i = 0; i < rules->classes.count; i++)
		print_rule(&rules->classes.items[i], "class");
}

static void print_patterns(const struct rules *rules)
{
	fputs(patterns_concept, stdout);
	for (size_t i = 0; i < rules->patterns.count; i++) {
		printf("\n**%s**", rules->patterns.items[i].id);
		print_thresholds(&rules->patterns.items[i], ": ");
		printf(".\nSource: %s.\n", rules->patterns.items[i].source);
	}
}

int main(void)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	struct error err = {};

	if (rules_load_built_in(&rules, &err) < 0) {
		fprintf(stderr, "insights-page: %s\n", err.text);
		return 1;
	}
	puts("<!-- Made by tools/insights-page from src/analysis and share/insights.yaml; a test "
	     "compares them. -->");
	fputs(concept, stdout);
	print_patterns(rules);
	print_rules(rules);
	return 0;
}
