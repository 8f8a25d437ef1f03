/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "client/client.h"
#include "cli/commands.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "cli/measure.h"
#include "cli/on_demand.h"
#include "cli/output.h"
#include "cli/own_file.h"
#include "report/page.h"
#include "codec/records.h"
#include "cli/report.h"
#include "analysis/rules.h"
#include "cli/runs.h"
#include "cli/site_rules.h"
#include "load/tiers.h"

struct settings {
	bool is_patient, is_standalone;
	unsigned int tiers;
	struct on_demand demand;
};

static int parse_tiers(const char *text, void *at, struct error *err)
{
	return tiers_parse(text, at, err);
}

static const char *tier_word(const void *target, size_t i)
{
	(void)target;
	return i < meter_tier_count ? meter_tiers[i].name : i == meter_tier_count ? "none" : NULL;
}

/* clang-format off */
static const struct cli_option options[] = {
	{ "wait", 'w', NULL, "wait for processes that outlive the command, too",
	  offsetof(struct settings, is_patient), NULL },
	{ "tiers", 0, "LIST", "measure by BPF only some of totals (T0), time by cause (T1), files (T2)",
	  offsetof(struct settings, tiers), parse_tiers, tier_word },
	{ "standalone", 0, NULL, "measure here, and ask no agent",
	  offsetof(struct settings, is_standalone), NULL },
};
/* clang-format on */

/* "DIR/" and a directory that is there stand for a file of this run's own in it: ranks share the
 * option. */
static int name_file(struct output *output, struct own_file *own, struct error *err)
{
	size_t length = output->file ? strlen(output->file) : 0;
	struct stat st;
	int r;

	if (!length)
		return 0;
	if (output->file[length - 1] != '/' &&
	    (stat(output->file, &st) < 0 || !S_ISDIR(st.st_mode)))
		return 0;
	r = file_make_dirs(output->file, 0777);
	if (r < 0)
		return error_set_errno(err, r, "cannot make the directory '%s'", output->file);
	r = own_file_choose(output->file, own);
	output->file = own->path;
	return r < 0 ? error_set_errno(err, r, "cannot name the record's file") : 0;
}

/* The command's own output goes where it always goes, so ours needs a file. */
static int check_output(struct output *output, struct own_file *own, struct error *err)
{
	int r;

	if (output->file && strcmp(output->file, "-") == 0)
		return error_set(
			err, -EINVAL,
			"the standard output is the command's: '--output' needs a file, and not '-'");
	r = name_file(output, own, err);
	if (r >= 0)
		r = output_settle(output, err);
	if (r >= 0 && output->format != OUTPUT_TEXT && !output->file)
		r = error_set(err, -EINVAL,
			      "the standard output is the command's: a machine's format needs "
			      "--output FILE");
	return r;
}

static int save(struct output *output, struct own_file *own, const struct records *records,
		struct error *err)
{
	int r;

	if (!output->file)
		return 0;
	output->must_be_new = own->path;
	r = output_save(output, records, err);
	for (unsigned int number = 2; own->path && r == -EEXIST; number++) {
		if (own_file_rename(own, number) < 0)
			break;
		output->file = own->path;
		r = output_save(output, records, err);
	}
	return r;
}

/* All ranks of a job are one run to who looks for the last ones, and each that has a file has its
 * record there. */
static bool is_of_history(const struct record *record, const struct output *output)
{
	return record->job.rank <= 0 || !output->file;
}

static void keep(const struct record *record)
{
	struct error err = {};

	if (runs_store(record, NULL, &err) < 0) {
		error_prefix(&err, 0, "the record is not kept");
		cli_say(&cmd_run, &err);
	}
}

/* That nobody reads it is nobody's failure. */
static void print(const struct records *records, const struct rules *rules)
{
	_cleanup_(sheet_clear) struct sheet sheet = {};
	struct error err = {};
	int r = sheet_open(stderr, &sheet);

	if (r < 0)
		error_set_errno(&err, r, "cannot print the report");
	else
		r = report_print(records, rules, &sheet.page, &err);
	if (r < 0)
		cli_say(&cmd_run, &err);
	else
		(void)sheet_print(&sheet);
}

/* Keeps and saves what was measured, then prints it: who reads that may have gone, and a signal
 * that is held until then may end us.  Takes @record over.  Only a file that was asked for and is
 * not there is a failure. */
static int tell(struct output *output, struct own_file *own, struct record *record,
		const sigset_t *mask, struct error *err)
{
	_cleanup_(records_clear) struct records records = {};
	_cleanup_(rules_freep) struct rules *rules = NULL;
	int r = records_add(&records, record);

	if (r < 0) {
		record_free(record);
		return error_set_errno(err, r, "cannot keep the record");
	}
	if (is_of_history(record, output))
		keep(record);
	r = site_rules_load(&cmd_run, NULL, &rules, err);
	if (r < 0)
		return r;
	output->rules = rules;
	r = save(output, own, &records, err);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (!output->is_quiet)
		print(&records, rules);
	return r;
}

/* The agent of the node, unless it is not wanted or cannot do what is; NULL: there is none. */
static struct client *find_agent(const struct settings *settings)
{
	bool is_root = geteuid() == 0;
	struct client *client = NULL;
	struct error err = {};
	int r;

	if (settings->is_standalone || settings->tiers != METER_ALL ||
	    (settings->demand.follows_files && is_root))
		return NULL;
	r = client_open(NULL, &client, &err);
	if (r < 0 && r != -ENOENT && r != -ECONNREFUSED) {
		error_prefix(&err, r, "measuring without the agent");
		cli_say(&cmd_run, &err);
	}
	if (client && is_root && !on_demand_is_counted(&settings->demand, client))
		client = client_close(client);
	return client;
}

static int run_run(const struct cli_command *command, int argc, char **argv)
{
	struct settings settings = { .tiers = METER_ALL, .demand = ON_DEMAND_NONE };
	struct output output = { .has_markdown = true, .has_html = true };
	const struct cli_options groups[] = {
		{ options, ARRAY_SIZE(options), &settings },
		{ on_demand_options, on_demand_option_count, &settings.demand },
		{ output_options, output_option_count, &output },
	};
	sigset_t mask;
	struct measure_options measure = { .root = "/",
					   .on_sigpipe = signal(SIGPIPE, SIG_IGN),
					   .mask = &mask };
	_cleanup_(client_closep) struct client *client = NULL;
	_cleanup_(own_file_clear) struct own_file own = {};
	struct record *record;
	struct error err = {};
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err), code;

	if (r == 0)
		return CLI_WELL;
	if (r > 0 && argc == 0)
		r = error_set(&err, -EINVAL, "there is no command: jobmeter run -- COMMAND");
	if (r < 0)
		return cli_misuse(command, &err);
	r = check_output(&output, &own, &err);
	if (r < 0)
		return r == -EINVAL ? cli_misuse(command, &err) : cli_fail(command, &err);
	if (output_check(&output, &err) < 0)
		return cli_fail(command, &err);

	client = find_agent(&settings);
	measure.agent = client;
	measure.is_patient = settings.is_patient;
	measure.tiers = settings.tiers;
	measure.names_syscalls = settings.demand.names_syscalls;
	measure.followed_max = on_demand_files(&settings.demand);
	r = measure_command(&measure, argv, &record, &code, &err);
	if (r < 0) {
		cli_fail(command, &err);
		return code;
	}
	if (tell(&output, &own, record, &mask, &err) < 0) {
		cli_fail(command, &err);
		return code ? code : CLI_FAILED;
	}
	return code;
}

const struct cli_command cmd_run = {
	.name = "run",
	.arguments = "[OPTION...] [--] COMMAND [ARGUMENT...]",
	.summary = "Run a command and say what it did",
	.details =
		"The command's own output, terminal and exit code stay as they are; the report goes to the\n"
		"standard error.  Under srun or mpirun, '--output DIR/' has each rank write a record of\n"
		"its own, which 'jobmeter report DIR' merges.\n",
	.is_for_command = true,
	.run = run_run,
};
