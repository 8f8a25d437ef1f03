/* SPDX-License-Identifier: MIT */
/* Lines, words and units are those of Slurm's seff, whose readers and scripts know them. */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <jansson.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/efficiency.h"
#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/text.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/reader.h"
#include "codec/records.h"
#include "model/job_filter.h"
#include "model/json_place.h"

#define NS_PER_S 1000000000
#define UNKNOWN "unknown"

static void put_duration(uint64_t ns, FILE *out)
{
	const uint64_t s = ns / NS_PER_S, days = s / 86400;

	if (days)
		fprintf(out, "%" PRIu64 "-", days);
	fprintf(out, "%02d:%02d:%02d", (int)(s / 3600 % 24), (int)(s / 60 % 60), (int)(s % 60));
}

static void put_size(double bytes, FILE *out)
{
	static const char units[] = "KMGTPE";
	double number = bytes / 1024;
	size_t i = 0;

	for (; number >= 1024 && units[i + 1]; i++)
		number /= 1024;
	fprintf(out, "%.2f %cB", number, units[i]);
}

/* The manager's word; without one, what can be told from the record. */
static const char *state_of(const struct record *r)
{
	if (!r->is_final)
		return "RUNNING";
	if (r->job.state && !text_is_equal(r->job.state, "ENDED"))
		return r->job.state;
	if (r->job.signal <= 0 && r->job.exit_code < 0)
		return "ENDED";
	if (r->job.signal <= 0 && r->job.exit_code == 0)
		return "COMPLETED";
	return record_reached_memory_limit(r) ? "OUT_OF_MEMORY" : "FAILED";
}

/* @peak: of each node, added; over several nodes, where each had its own at its own time, it is the
 * most that it may have been. */
static void put_memory(const struct record *r, struct value peak, FILE *out)
{
	const struct value *limit = &r->reading.values[METRIC_MEMORY_LIMIT];
	const unsigned int nodes = r->merged_nodes > 1 ? r->merged_nodes : 1;

	fputs("Memory Utilized: ", out);
	if (peak.is_known)
		put_size((double)peak.number, out);
	else
		fputs(UNKNOWN, out);
	fprintf(out, "%s\nMemory Efficiency: ",
		peak.is_known && nodes > 1 ? " (estimated maximum)" : "");
	if (!peak.is_known || !limit->is_known || !limit->number) {
		fputs(UNKNOWN "\n", out);
		return;
	}
	fprintf(out, "%.2f%% of ", (double)peak.number / (double)limit->number * 100);
	put_size((double)limit->number, out);
	fputs(" (", out);
	put_size((double)limit->number / nodes, out);
	fputs("/node)\n", out);
}

static void put_job(const struct record *r, struct value peak, FILE *out)
{
	const struct passwd *user;
	const char *name;
	const struct group *group;
	const int code = r->job.signal > 0 && r->job.exit_code <= 0 ? r->job.signal
								    : r->job.exit_code;
	const struct value *cores = &r->reading.values[METRIC_CPU_ALLOCATED];
	const double core_ns = (double)cores->number / 1000 * (double)r->time.elapsed_ns;
	const unsigned int nodes = r->merged_nodes > 1 ? r->merged_nodes : 1;
	uint64_t used_ns;
	bool is_known;

	fprintf(out, "Job ID: %s\n", r->job.id ? r->job.id : UNKNOWN);
	if (r->job.array_id && r->job.array_index >= 0)
		fprintf(out, "Array Job ID: %s_%" PRId64 "\n", r->job.array_id, r->job.array_index);
	fprintf(out, "Cluster: %s\n", r->cluster ? r->cluster : UNKNOWN);
	user = r->job.user	 ? getpwnam(r->job.user)
	       : r->job.uid >= 0 ? getpwuid((uid_t)r->job.uid)
				 : NULL;
	name = r->job.user ? r->job.user : user ? user->pw_name : UNKNOWN;
	group = user ? getgrgid(user->pw_gid) : NULL;
	fprintf(out, "User/Group: %s/%s\n", name, group ? group->gr_name : UNKNOWN);
	fputs("State: ", out);
	for (const char *c = state_of(r); *c; c++)
		fputc(toupper((unsigned char)*c), out); /* a run's is "completed" */
	if (r->is_final && code >= 0)
		fprintf(out, " (exit code %d)", code);
	else if (r->is_final)
		fputs(" (exit code " UNKNOWN ")", out);
	fputc('\n', out);
	is_known = record_cpu_time(r, &used_ns);
	if (!cores->is_known)
		fprintf(out, "Nodes: %u\nCores per node: " UNKNOWN "\n", nodes);
	else if (cores->number == 1000)
		fputs("Cores: 1\n", out);
	else
		fprintf(out, "Nodes: %u\nCores per node: %g\n", nodes,
			(double)cores->number / 1000 / nodes);
	fputs("CPU Utilized: ", out);
	if (is_known)
		put_duration(used_ns, out);
	else
		fputs(UNKNOWN, out);
	fputs("\nCPU Efficiency: ", out);
	if (is_known && cores->is_known) {
		fprintf(out, "%.2f%% of ", core_ns > 0 ? (double)used_ns / core_ns * 100 : 0);
		put_duration((uint64_t)core_ns, out);
		fputs(" core-walltime", out);
	} else {
		fputs(UNKNOWN, out);
	}
	fputs("\nJob Wall-clock time: ", out);
	put_duration(r->time.elapsed_ns, out);
	fputc('\n', out);
	put_memory(r, peak, out);
	if (!r->is_final)
		fputs("WARNING: Efficiency statistics may be misleading for RUNNING jobs.\n", out);
}

/* Not known where one node's is not. */
static struct value add_peaks(const struct records *records)
{
	struct value sum = { .is_known = true };

	for (size_t i = 0; i < records->count; i++) {
		const struct record *r = records->items[i];
		const struct value *peak = &r->reading.values[METRIC_MEMORY_PEAK];

		sum.number += record_reached_memory_limit(r)
				      ? r->reading.values[METRIC_MEMORY_LIMIT].number
				      : peak->number;
		sum.is_known &= peak->is_known;
	}
	return sum;
}

static int take_code(const json_t *job, const char *key, int absent)
{
	const json_t *code = json_object_get(job, key);

	return json_is_integer(code) ? (int)json_integer_value(code) : absent;
}

/* How the job ended, as its manager told the server; a node does not know.  Failures leave the
 * record as it is. */
static void ask_outcome(struct reader *reader, struct record *r)
{
	const struct job_filter filter = {
		.id = r->job.id, .manager = r->job.manager, .cluster = r->cluster, .limit = 1
	};
	_cleanup_(json_freep) json_t *jobs = json_array();
	const char *state;
	const json_t *job;
	struct error unused;

	if (!jobs || !r->job.id || reader_list_jobs(reader, &filter, jobs, &unused) < 0)
		return;
	job = json_array_get(jobs, 0);
	state = json_string_value(json_object_get(job, "state"));
	if (!state || text_is_equal(state, "RUNNING"))
		return;
	free(r->job.state);
	r->job.state = strdup(state);
	r->job.exit_code = take_code(job, "exit_code", r->job.exit_code);
	r->job.signal = take_code(job, "signal", r->job.signal);
}

static int print_job(const struct cli_command *command, struct arguments *arguments,
		     const char *argument, struct error *err)
{
	_cleanup_(records_clear) struct records records = {};
	struct value peak;
	int r = argument_read(command, arguments, argument, &records, err);

	if (r < 0)
		return r;
	arguments_keep_newest(command, &records);
	peak = add_peaks(&records);
	r = arguments_merge(&records, err);
	if (r == 0 && !records.count)
		r = error_set(err, -ENOENT, "there is no record in '%s'", argument);
	if (r < 0)
		return r;
	if (arguments->reader)
		ask_outcome(arguments->reader, records.items[0]);
	put_job(records.items[0], peak, stdout);
	return 0;
}

static int run_seff(const struct cli_command *command, int argc, char **argv)
{
	_cleanup_(arguments_clear) struct arguments arguments = {};
	const struct cli_options groups[] = {
		{ arguments_options, arguments_option_count, &arguments },
	};
	struct error err = {};
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r > 0 && argc < 1)
		r = error_set(&err, -EINVAL, "seff needs the id of a job");
	if (r < 0)
		return cli_misuse(command, &err);
	r = 0;
	for (int i = 0; r == 0 && i < argc; i++) {
		if (i > 0)
			putchar('\n');
		r = print_job(command, &arguments, argv[i], &err);
	}
	if (r == 0 && fflush(stdout) != 0)
		r = error_set_errno(&err, errno, "cannot write to the standard output");
	return r < 0 ? cli_fail(command, &err) : arguments.exit_code;
}

const struct cli_command cmd_seff = {
	.name = "seff",
	.arguments = "[OPTION...] ID|FILE|DIR...",
	.summary = "Print a job's efficiency in the format of Slurm's seff",
	.details =
		"IDs are those of 'jobmeter report'.  Unknown numbers are 'unknown', never 0.  Memory is the\n"
		"peak of all processes together; over several nodes the sum of their peaks, an upper bound.\n",
	.run = run_seff,
};
