/* SPDX-License-Identifier: MIT */
/* Print docs/internals/insights.md: how rules are written, the names that they may use, and each
 * rule that is built in. */
#include <stdio.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "analysis/formula.h"
#include "analysis/patterns.h"
#include "analysis/rules.h"
#include "analysis/variables.h"

/* clang-format off */
static const char concept[] =
	"# Insights\n"
	"\n"
	"What stands out in a job, with its numbers, where the threshold is from, and what to do: as the first sentences of\n"
	"each report, as sections of each record, and alone:\n"
	"\n"
	"    jobmeter insights                        of the last local run\n"
	"    jobmeter insights run.json --format markdown      for a mail or a ticket\n"
	"    jobmeter insights 123 --json\n"
	"    jobmeter insights run.json --fail-on warning      exit code 3 if there is one as severe\n"
	"    jobmeter insights --list                 the rules\n"
	"    jobmeter insights --names                the names that rules may use\n"
	"    jobmeter insights --check site.yaml      is this file right?\n"
	"    jobmeter insights --rules site.yaml run.json      by these rules, too\n"
	"\n"
	"**Nothing is said without its numbers.** A condition that depends on something unknown is neither true nor false: the\n"
	"rule says nothing, and is listed as `not known`, with the names that are missing. So there is no advice about memory\n"
	"without a limit, and none about causes of waiting where nobody looked at them.\n"
	"\n"
	"Below a second only crashes and processes that were killed for want of memory are told, and each rule has a least time, count\n"
	"or share. How often that is right is measured on commands with known causes: [insights-cases.md](insights-cases.md).\n"
	"\n"
	"## A file of rules\n"
	"\n"
	"Rules come in layers, each of which is a file of one form, and need not be there:\n"
	"\n"
	"1. `share/insights.yaml`, which is built in;\n"
	"2. the site's: `/etc/jobmeter/insights.yaml`, or what `$JOBMETER_INSIGHTS` names (empty: none);\n"
	"3. the user's: `$XDG_CONFIG_HOME/jobmeter/insights.yaml`, else `~/.config/jobmeter/insights.yaml`;\n"
	"4. the file that `jobmeter insights --rules` names.\n"
	"\n"
	"`run`, `report`, `watch`, `insights` and `compare` take the first three. What a later file says of an `id` goes before what\n"
	"an earlier one says, key by key, and within `thresholds` and `least` number by number; what it does not mention stays. So a site\n"
	"changes a number by three lines, and switches off what it does not want (`share/site-insights.yaml` is an example):\n"
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
	"All thresholds of rules, classes and patterns, and what a rule needs at least, can be changed, each to a value of its kind. `variables` are names of\n"
	"one's own, at most 64, made of names of the record (not of each other); one that uses names of a mount is for rules that\n"
	"are asked for each mount. `alone: yes` at the top of a file leaves out all files below it, and what is built in.\n"
	"\n"
	"Files are checked as they are read, each name and unit, with file and line; `--check FILE` does so above what is built in,\n"
	"and `--list` shows in which files each rule is made and changed. What a site's or a user's file says stands in reports as\n"
	"advice: so it must be root's or the reader's own, and nobody else may write to it. One that is not, or is broken, is told in\n"
	"one line on the standard error, and left out as a whole; it stops no report. Only `--rules` and `--check` fail.\n"
	"\n"
	"A new rule has what is required here:\n"
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
	"        resource: memory              # what is lost\n"
	"        lost: memory_unused_bytes     # and how much of it\n"
	"\n"
	"| key | |\n"
	"|---|---|\n"
	"| `id` | small letters, digits and `-`; required, as are `severity`, `source`, `when` and `text` |\n"
	"| `enabled` | `no`: it is not asked |\n"
	"| `severity` | `info`, `warning` or `critical` |\n"
	"| `each` | `mount`: the rule is asked for each mount (and for files whose mount is not known), and may use names of one: `mount_read_bytes`, and `{mount}` in sentences. `mount by path`: the same of operations by path. On many kernels what failed has no mount, and what went well has: then no mount's share says anything, and the rule is asked once, of all mounts together (`\"mount\": null`) |\n"
	"| `thresholds` | names for numbers, at most 8; they may be used in all that follows |\n"
	"| `least` | names of the record and what each must at least be, at most 8: the time, count and share below which the rule is silent. Without `elapsed` that is 1 s; `elapsed: 0 s` has it speak of the shortest job |\n"
	"| `source` | where the thresholds are from |\n"
	"| `when` | the condition |\n"
	"| `text` | what is so; at least one number stands in it |\n"
	"| `advice`, `directive` | what to do, and how to say it to the manager; left out where a number in it is not known |\n"
	"| `advice_on_network`, `advice_on_disk`, `advice_on_memory` | what to do instead where the files are on a file system of servers (NFS, Lustre...), on a disk of the node, or in memory (tmpfs) |\n"
	"| `resource`, `lost` | what is lost, and how much: bytes or seconds |\n"
	"| `group` | of several that say the same, only the one that stands first (in the lowest file) speaks |\n"
	"| `explains` | ids and groups, by `, `, of which this is the cause: they are silent where it speaks |\n"
	"\n"
	"What stands in braces in a sentence is a number by the same language. It is shown by what it counts; `:memory` behind it\n"
	"shows bytes as Slurm's `--mem` takes them, rounded up (`4G`), `:whole` a plain number rounded up, and `:signal` the name of a\n"
	"signal. Words in braces: `{mount}`, `{on_mount}` (\" on /scratch\", or nothing where it is not known), `{command}` (its name\n"
	"without the directory) and `{oom_command}` (the largest process that was killed for want of memory).\n"
	"\n"
	"Findings are sorted by severity, and within one as the rules stand in the file: what went wrong, what can be changed in the\n"
	"program, what was asked for and not used. What another finding explains is left out, so that one cause is told once.\n"
	"\n"
	"`classes` in the same file say what kind of job it was; several may hold. A class has `id`, `thresholds`, `source`,\n"
	"`when`, `text`, and `share`: how much of the job is so. `patterns` say what is looked for in the timeline: below.\n"
	"\n"
	"### The language\n"
	"\n"
	"- numbers, with a unit if they have one: `4G` `64 KiB` `1.5T` (powers of 1024), `30s` `5 min` `2h` `1d` `10 ms`, `10 %`\n"
	"- names: those below; a unit at the end may be left out where that names one only (`elapsed`, `memory_peak`)\n"
	"- `+ - * /`, `min(a, b)`, `max(a, b)`, parentheses; `< <= > >= == !=`; `and`, `or`, `not`\n"
	"- nothing else: no loops, no calls, 1024 bytes and 32 levels at most\n"
	"\n"
	"What is added or compared must be of one kind, bytes with bytes. A number without a unit takes that of the other side:\n"
	"`memory_usage > 80` means 80 %. Since `0.8` might mean either there, it must be written `80 %` or `0.8 %`.\n"
	"`jobmeter compare --fail-on` has one more word: `1.1x` is 1.1 times what the other side was in the first record.\n"
	"\n"
	"What follows from something unknown is unknown, unless it does not depend on it: of `a and b` one no is enough.\n"
	"\n"
	"## Classes, efficiency, core time\n"
	"\n"
	"`jobmeter run`, `report`, `watch` and `insights` write them into JSON and YAML behind the record's own sections, whoever\n"
	"measured it, and of a session for each job and their sum; what is not known is `null`, and never zero.\n"
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
	"A job may be of several classes: each has a condition and a share of its own, and the greatest share is the *primary*\n"
	"one. Most shares are parts of the core time, which do not overlap; `mixed` is the sum of two such parts, `balanced` work\n"
	"times load balance, `cpu-contended` a part of the time that threads wanted a core, `memory-stalled` one of the elapsed time.\n"
	"`mixed` is a job of which two things take a good part each and none takes nearly all, `balanced` one whose cores share the\n"
	"work evenly while nothing holds it up: neither is what is left when no other class holds, and a job may have none. What\n"
	"depends on a number that nobody measured is under `unknown`: without T1 all that is lost to a cause, without T2 spinning,\n"
	"on cgroup v1 pressure. `network-bound` is told by the time that threads were blocked on sockets; how much went over the\n"
	"network is not measured, and no class says so.\n"
	"\n"
	"**Core time** is allocated cores times elapsed time. What was not on a CPU is *unused*. Of that, what a hypervisor or\n"
	"interrupts took from threads on a CPU (`stolen`) is lost first and whole, being core time itself. What is left of it is\n"
	"shared out over the causes for which threads waited meanwhile, in proportion, and none gets more than threads waited for it:\n"
	"\n"
	"    lost[c] = waited[c] x min(1, unused / sum of waited)\n"
	"\n"
	"over files, sync, page faults, locks, the network and waiting for a CPU. Sleep, poll, pipes and waiting for children are\n"
	"never lost: there the program wanted to wait, or another of its processes is what it waited for. The rest is *idle*:\n"
	"nothing was there to run. It is a convention. Where the record has a timeline that tells of CPU time and causes, this is done\n"
	"for each of its buckets (`intervals` says over how many), else over the whole: then a job that first reads and then\n"
	"computes on all cores looks as one that does both at a time.\n"
	"\n"
	"**Spinning** is what a thread does that waits and does not sleep: a rank in a barrier, an idle thread of a pool. It looks\n"
	"like work, on a CPU. What gives it away are its calls: polls (poll, select, epoll_wait and their kin) that were not to wait\n"
	"and found nothing, and sched_yield. CPU time from one such look to the next is counted as spun (`cpu.polling_seconds`) where\n"
	"there were 30 ms of it at most, and in between neither a wait, nor a read or write, nor a poll of another kind. Open MPI looks\n"
	"each 10 ms, and yields between where there are more ranks than cores. Two things cannot be told from outside: what spins in its\n"
	"own memory without any call (barriers of OpenMP, spin locks, MPI libraries that never ask the system) is taken for work; and a\n"
	"program that computes and looks now and then, each 30 ms or oftener, is taken to spin. So there is no class without its counts.\n"
	"\n"
	"**The score** is 100 times used over allocated. Without a site's weights the cores are all that counts. `coverage` is how\n"
	"many of its five parts are known; `missing` names the others. `formula` goes up when the same record would give another\n"
	"score; 2 is the first that knows weights, and without them says what 1 said.\n"
	"\n"
	"**Weights** are what the scheduler bills by, in a file of rules, with Slurm's words for `TRESBillingWeights`:\n"
	"\n"
	"    billing:\n"
	"      gpu: \"CPU=2.0,Mem=0.25G,GRES/gpu=8\"      for this partition\n"
	"      \"*\": \"CPU=1.0,Mem=0.25G\"               for all others, and where the partition is not known\n"
	"\n"
	"As Slurm does, memory is billed by the MiB or by the unit behind its weight (`0.25G`: a quarter for each GiB), and the bill is\n"
	"the sum (`PriorityFlags=MAX_TRES` is not known here; weights are from 0 on). The score is then 100 x sum of (weight x allocated x\n"
	"used/allocated) / sum of (weight x allocated), over cores and memory; of memory used is its peak. What is not known (no\n"
	"limit of memory, several records as one) is on neither side, nor is what nobody measures here. The record says so:\n"
	"\n"
	"    \"billing\": {\"weights\": \"CPU=2.0,Mem=0.25G,GRES/gpu=8\", \"partition\": \"gpu\",\n"
	"      \"parts\": {\"cores\": 0.666667, \"memory\": 0.333333}, \"left_out\": [\"GRES/gpu\"]}\n"
	"\n"
	"and reports show `score 47 of 100, as billed`; without weights `billing` is `null`.\n"
	"\n"
	"**The chain** explains the cores' part: used over allocated = touched x balance x not_blocked x not_waiting x other.\n"
	"*touched* are cores that worked at all, of those allocated; *balance* the mean of their time by the greatest;\n"
	"*not_blocked* and *not_waiting* what of the time with something to do was not lost to files, locks and the like, and of\n"
	"the rest not to waiting for a CPU; *other* is what is left to the product: above 1 where threads that waited had touched no core,\n"
	"below where work did not last all of the time.\n";

static const char patterns_concept[] =
	"\n## Patterns\n"
	"\n"
	"What a job did over time is found in its [timeline](timeline.md), by arithmetic alone: as the section `patterns` of each\n"
	"record, as marks on the report's curves, as sentences of `jobmeter insights`, and as names for rules.\n"
	"\n"
	"    \"patterns\": [{\"id\": \"idle-tail\", \"from\": \"2026-09-21T14:26:40.000000000Z\", \"to\": \"2026-09-21T14:40:00.000000000Z\",\n"
	"      \"seconds\": 800, \"share\": 0.5, \"lost_core_seconds\": 3200,\n"
	"      \"text\": \"Nothing was done in the last 13 m 20 s (50 %), from 13 m 20 s on.\"}]\n"
	"\n"
	"`\"patterns\": null` is a record without a timeline. A bucket that is not known is a gap, and never zero: it ends what is\n"
	"idle, it is no edge, and a pattern of which too few buckets are known is unknown, which is not \"none\". A job that is\n"
	"shorter than a pattern has none. Edges are those of buckets; the first and the last bucket are left out where the job ran\n"
	"in less than half of them.\n"
	"\n"
	"| pattern | what it is | how it is found |\n"
	"|---|---|---|\n"
	"| `phase` | the CPU rate, or bytes read and written, change at once | of each rate the cheapest division into stretches of at least `length` buckets and `part` of the timeline, by squared distance from each one's mean in units of the noise and `penalty` for an edge (at least `buckets` in all); an edge stays if the means are `change` of the greatest rate apart (and `rate`, of bytes), and `apart` standard deviations of the wilder side, and if the rate jumps there by `jump` times what is usual |\n"
	"| `checkpoints` | bursts of writes at a period | a burst is above the usual rate by `height` of the way to the peak, which is `above` times the usual; at least `count` of them, of `bytes`, over `span` of the time; `regular` of them keep the period within `tolerance` (or a bucket) and the size within a factor of two; a period has at least `buckets` |\n"
	"| `idle-tail` | nothing was done up to the end | below `share` of the cores on CPU and below `cores`, and less than `rate` read and written, for `time` and for `part` of the job, after `work` in which something was done |\n"
	"| `hang` | nothing was done for long after work, whether or not it went on | the same for `time`, after as long a time with `busy` cores on average; not at the end of a job that ended by itself (exit code 0, or completed): that is a tail |\n"
	"| `leak` | memory grows along a line through the second half | the median of all slopes; the growth is `growth` of what is used, `bytes`, `scatter` times the scatter around the line, `steady` times what a walk at random with such steps would come to, and more than `cache` times what was read and written meanwhile: the kernel counts the page cache, and less than that may be files that were read |\n"
	"| `died-inside` | next to no CPU time from some moment on | the least ratio c of the mean CPU rate after a moment to that before (`busy` cores or more), with `part` of the time on both sides; homogeneity is 1 - 1/(1 + 1000 c), and `least` where c is a thousandth |\n"
	"\n"
	"**What checkpoints cost** is the CPU time that is missing in the bursts, and behind them until half of the usual rate is\n"
	"there again, divided by the usual rate. `duration_seconds` is in whole buckets, so an upper bound. The period is the slope\n"
	"through all beginnings, and finer than a bucket.\n"
	"\n"
	"**When memory will be at its limit** is told where there is a limit: the line goes on, from the end of the record. Memory\n"
	"that an application keeps on purpose grows in the same way; that it is of no use, no meter can know. What is read\n"
	"through mappings stands in no count of bytes read, and may be taken for growth.\n"
	"\n"
	"**How often noise is taken for a pattern** is measured (`tests/unit/test_pattern_noise.c`), in a thousand made timelines of\n"
	"256 buckets of each kind; the test allows for a few more:\n"
	"\n"
	"| noise | phases | checkpoints | leak | tail, hang, death |\n"
	"|---|---|---|---|---|\n"
	"| white, of 20 % and more | 0 | 0 | 0 | 0 |\n"
	"| rates and memory that walk at random | 2 | 0 | 4 | 0 |\n"
	"| rates and memory that return to their mean slowly (0.9 a bucket) | 0 | 0 | 0 | 0 |\n"
	"| bursts of writes of any size at any time | 0 | 0 | 0 | 0 |\n"
	"| the same, all of one size | 0 | 0 | 0 | 0 |\n"
	"| one burst of a saw's shape, shorter than a phase | 0 | 0 | 0 | 0 |\n"
	"| constant, with memory that trembles by 1 to 100 MiB | 0 | 0 | 0 | 0 |\n"
	"\n"
	"A site changes each threshold, or has a pattern not looked for (`enabled: no`): then rules that ask for it know nothing.\n"
	"`jobmeter compare` does not look at patterns.\n";
/* clang-format on */

static void print_thresholds(const struct rule *rule, const char *before)
{
	for (size_t i = 0; i < rule->threshold_count; i++) {
		const struct constant *c = &rule->thresholds[i];

		printf("%s`%s` %s", i ? ", " : before, c->name,
		       amount_format_exact(c->amount, c->dimension).text);
	}
}

static void print_least(const struct rule *rule)
{
	for (size_t i = 0; i < rule->least_count; i++)
		printf("%s`%s`", i ? ", " : ".\nSilent but where ", rule->least[i].text);
}

static const char *const storages[STORAGE_COUNT] = {
	[STORAGE_NETWORK] = "a network",
	[STORAGE_DISK] = "a disk of the node",
	[STORAGE_MEMORY] = "memory",
};

static void print_rule(const struct rule *rule, const char *kind)
{
	printf("\n### %s\n\n", rule->id);
	printf("%s%s: %s\n", kind,
	       !rule->is_each_mount ? ""
	       : rule->is_by_path   ? ", for each mount by path"
				    : ", for each mount",
	       template_text(rule->text));
	if (rule->advice)
		printf("%s\n", template_text(rule->advice));
	if (rule->directive)
		printf("`%s`\n", template_text(rule->directive));
	for (size_t i = 0; i < STORAGE_COUNT; i++) {
		if (rule->advice_on[i])
			printf("On %s: %s\n", storages[i], template_text(rule->advice_on[i]));
	}
	printf("\nWhen `%s`", rule->condition);
	print_thresholds(rule, "; ");
	print_least(rule);
	printf(".\nSource: %s.\n", rule->source);
	if (rule->explains)
		printf("Explains: %s.\n", rule->explains);
}

static void print_rules(const struct rules *rules)
{
	puts("\n## The rules");
	for (size_t i = 0; i < rules->insights.count; i++)
		print_rule(&rules->insights.items[i],
			   severity_name(rules->insights.items[i].severity));
	puts("\n## The classes");
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

/* Formulas; what is a metric is on the page of metrics. */
static void print_names(void)
{
	puts("\n## The names\n\n"
	     "Each scalar metric of [metrics.md](metrics.md) has one, by its place in a record: `cpu.user_seconds` is\n"
	     "`cpu_user_seconds`, `io[].read.bytes` is `read_bytes` (over all rows but the kernel threads') and `mount_read_bytes`\n"
	     "(of one), `io[].meta.open.errors` is `open_errors`, `cpu.causes.lock_seconds` is `blocked_lock_seconds`, and\n"
	     "`files.followed.read.bytes` is `files_read_bytes`. To each cause of waiting there are `blocked_lock_share` (of all time of\n"
	     "its threads), and where waiting is loss `working_lock_share` (of the working time), `lost_lock_seconds` and\n"
	     "`lost_lock_share` (of the core time). And:\n\n"
	     "| name | | of a mount, too | |\n|---|---|---|---|");
	for (size_t i = 0; i < formula_count(); i++) {
		const struct formula *formula = formula_get(i);

		printf("| `%s` | %s | %s | %s |\n", formula->name,
		       dimension_name(formula->dimension).text,
		       formula->is_of_rows ? "`mount_...`" : "", formula->help);
	}
	for (size_t i = 0; i < PATTERN_NAMES; i++) {
		const struct pattern_name *name = pattern_name(i);

		if (name)
			printf("| `%s` | %s |  | %s |\n", name->name,
			       dimension_name(name->dimension).text, name->help);
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
	print_names();
	print_rules(rules);
	return 0;
}
