/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "client/client.h"
#include "cli/commands.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/inherited.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "cli/measure.h"
#include "cli/on_demand.h"
#include "cli/output.h"
#include "cli/identify.h"
#include "report/page.h"
#include "codec/records.h"
#include "analysis/rules.h"
#include "cli/runs.h"
#include "cli/site_rules.h"
#include "load/tiers.h"
#include "trace/installed_sets.h"
#include "analysis/comparison.h"
#include "analysis/repetition.h"
#include "analysis/variables.h"
#include "model/record.h"
#include "model/rows.h"
#include "report/headline.h"
#include "report/rows_text.h"

/* ---- what `run --repeat` says of all its runs together ---- */

static struct human format_number(double number, const struct variable *variable)
{
	return amount_format(amount_of(number), variable->dimension);
}

/* In percent of the mean, as perf stat says it. */
static struct human tell_spread(const struct repetition *r)
{
	struct human h = { "-" };

	if (r->known > 1 && r->mean > 0)
		snprintf(h.text, sizeof(h.text), "± %.1f %%", 100 * r->deviation / r->mean);
	return h;
}

static void tell_outliers(const struct repetition *r, const struct variable *variable,
			  const char *label, const struct records *runs, struct rows *rows)
{
	rows_begin(rows, ROWS_TEXT, NULL);
	for (size_t i = 0; r->known && i < runs->count; i++) {
		const struct subject subject = { .record = runs->items[i] };
		struct amount a = variable_get(variable, &subject);

		if (repetition_is_outlier(r, a))
			rows_say(rows, ", ", "%srun %zu (%s)",
				 rows_has_said(rows) ? "" : "outliers: ", i + 1,
				 format_number(a.number, variable).text);
	}
	if (rows_has_said(rows))
		rows_say(rows, "", ", by %s", label);
}

/* How the numbers that everybody asks first vary, which runs are outliers, and which failed.  There
 * must be one record at least, in the order of the runs. */
static void repeat_text(const struct records *runs, const struct variables *variables,
			struct page *page)
{
	static const struct rows_column columns[] = {
		{ "what" }, { "mean" }, { "spread" }, { "least" }, { "median" }, { "greatest" },
	};
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct rows_table *table = rows_table(rows, ROWS_ALL, NULL, columns, ARRAY_SIZE(columns));
	struct repetition repetitions[FIRST_NUMBERS] = {};
	const struct variable *found[FIRST_NUMBERS];

	for (size_t i = 0; i < FIRST_NUMBERS; i++) {
		const char *name = first_numbers[i].variable;

		found[i] = variables_find(variables, name, strlen(name));
		if (repetition_make(found[i], runs->items, runs->count, &repetitions[i]) == 0 &&
		    repetitions[i].known) {
			const struct repetition *r = &repetitions[i];
			const struct variable *variable = found[i];

			rows_row(table, ROWS_ALL);
			rows_cell(table, cell_words(first_numbers[i].label));
			rows_cell(table, cell_words(format_number(r->mean, variable).text));
			rows_cell(table, cell_words(tell_spread(r).text));
			rows_cell(table, cell_words(format_number(r->least, variable).text));
			rows_cell(table, cell_words(format_number(r->median, variable).text));
			rows_cell(table, cell_words(format_number(r->greatest, variable).text));
		}
	}
	for (size_t i = 0; i < FIRST_NUMBERS; i++)
		tell_outliers(&repetitions[i], found[i], first_numbers[i].label, runs, rows);
	for (size_t i = 0; i < runs->count; i++) {
		_cleanup_free_ char *outcome = NULL;

		if (!headline_is_failure(runs->items[i]))
			continue;
		outcome = headline_outcome(runs->items[i]);
		rows_alert(rows, ROWS_TEXT, NULL, "run %zu: %s", i + 1,
			   outcome ? outcome : "failed");
	}
	page_put(page, PAGE_BOLD, "%s", headline_name(runs->items[0]));
	page_put(page, PAGE_PLAIN, "  %zu run%s", runs->count, runs->count == 1 ? "" : "s");
	page_end_line(page);
	rows_text(rows, ROWS_TEXT, page);
}

struct settings {
	bool is_patient, is_standalone;
	unsigned int tiers;
	int repeat; /* how often the command is run */
	const char *traced; /* sets of functions */
	struct on_demand demand;
};

static int parse_tiers(const char *text, void *at, struct error *err)
{
	return tiers_parse(text, at, err);
}

static const char *tier_word(const void *target, size_t i)
{
	(void)target;
	return i < meter_tier_count ? meter_tiers[i].word : i == meter_tier_count ? "none" : NULL;
}

#define REPEAT_MAX 1000

static int parse_repeat(const char *text, void *at, struct error *err)
{
	if (parse_int(text, 1, REPEAT_MAX, at) < 0)
		return error_set(err, -EINVAL, "'%s' is not a number of runs from 1 to %d", text,
				 REPEAT_MAX);
	return 0;
}

static int parse_sets(const char *text, void *at, struct error *err)
{
	_cleanup_(wanted_sets_clear) struct wanted_sets sets = {};

	if (wanted_sets_add_list(&sets, text, false, err) < 0)
		return -EINVAL;
	*(const char **)at = text;
	return 0;
}

/* clang-format off */
static const struct cli_option options[] = {
	{ "wait", 'w', NULL, "wait for processes that outlive the command",
	  offsetof(struct settings, is_patient), NULL },
	{ "tiers", 0, "LIST", "measure only these parts with BPF",
	  offsetof(struct settings, tiers), parse_tiers, tier_word },
	{ "repeat", 0, "N", "run the command N times, one after the other; report mean, spread and outliers",
	  offsetof(struct settings, repeat), parse_repeat },
	{ "trace", 0, "NAME[,NAME]", "trace these sets of functions, too (as root; 'jobmeter trace --list')",
	  offsetof(struct settings, traced), parse_sets },
	{ "standalone", 0, NULL, "measure without asking the agent",
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
			"'--output' needs a file: the standard output belongs to the command");
	r = name_file(output, own, err);
	if (r >= 0)
		r = output_settle(output, err);
	if (r >= 0 && output->format != OUTPUT_TEXT && !output->file)
		r = error_set(err, -EINVAL,
			      "this format needs '--output FILE': the standard output belongs to "
			      "the command");
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

static void keep(const struct record *record)
{
	struct error err = {};

	if (runs_store(record, NULL, &err) < 0) {
		error_prefix(&err, 0, "cannot keep the record");
		cli_say(&cmd_run, &err);
	}
}

/* It is no failure if the reader has gone. */
static void print(const struct output *output, const struct records *records, bool is_repeated)
{
	_cleanup_(sheet_clear) struct sheet sheet = {};
	struct error err = {};
	int r = sheet_open(stderr, &sheet);

	sheet.page.is_full = output->is_full;
	if (r < 0)
		error_set_errno(&err, r, "cannot print the report");
	else if (is_repeated)
		repeat_text(records, output->rules->variables, &sheet.page);
	else
		r = report_print(records, output->rules, &sheet.page, &err);
	if (r < 0)
		cli_say(&cmd_run, &err);
	else
		(void)sheet_print(&sheet);
}

/* Keeps and saves what was measured, then prints it: who reads that may have gone, and a signal
 * that is held until then may end us.  Of a command that was repeated the last run is kept.  Only a
 * file that was asked for and is not there is a failure. */
static int tell(struct output *output, struct own_file *own, const struct records *runs,
		const sigset_t *mask, bool is_repeated, struct error *err)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	const struct record *last;
	int r;

	assert(runs->items); /* there is one at least */
	last = runs->items[runs->count - 1];
	/* All ranks of a job are one run to who looks for the last ones, and each that has a file
	 * has its record there. */
	if (last->job.rank <= 0 || !output->file)
		keep(last);
	r = site_rules_load(&cmd_run, NULL, &rules, err);
	if (r < 0)
		return r;
	output->rules = rules;
	r = save(output, own, runs, err);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (!output->is_quiet)
		print(output, runs, is_repeated);
	return r;
}

/* Did somebody end it, as by Ctrl-C, who wants no further run?  A shell's exit code tells it, too.
 */
static bool was_ended(int code)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (code == 128 + signals[i])
			return true;
	}
	return false;
}

/* Instead of us, where a limit that might do for the command leaves us nothing to measure with.
 * Returns an exit code where it does not run. */
static int run_unmeasured(char **argv, int r, struct error *err)
{
	if (r != -EMFILE && r != -ENFILE && r != -EAGAIN && r != -ENOMEM)
		return 1;
	error_prefix(err, r, "the command runs without being measured");
	cli_say(&cmd_run, err);
	inherited_give_back();
	prctl(PR_SET_CHILD_SUBREAPER, 0); /* which the command would keep */
	execvp(argv[0], argv);
	r = errno;
	error_set_errno(err, r, "cannot run '%s'", argv[0]);
	return r == ENOENT ? 127 : 126;
}

/* The command, again and again, until it cannot be run or was ended.  @ret_code: of the
 * last run that failed.  @runs may have some even on failure. */
static int measure_all(const struct measure_options *measure, int count, char **argv,
		       struct records *runs, int *ret_code, struct error *err)
{
	*ret_code = 0;
	for (int i = 0; i < count; i++) {
		struct record *record;
		int code, r;

		if (i > 0)
			sigprocmask(SIG_SETMASK, measure->mask, NULL);
		r = measure_command(measure, argv, &record, &code, err);
		if (r < 0 && code < 0)
			code = i == 0 ? run_unmeasured(argv, r, err) : 1;
		*ret_code = code ? code : *ret_code;
		if (r < 0)
			return i > 0 ? error_prefix(err, r, "run %d of %d", i + 1, count) : r;
		if (records_add(runs, record) < 0) {
			record_free(record);
			return error_set_errno(err, -ENOMEM, "cannot keep the record");
		}
		if (was_ended(code))
			break;
	}
	return 0;
}

/* The agent of the node, unless it is not wanted or cannot do what is; NULL: there is none. */
static struct client *find_agent(const struct settings *settings)
{
	bool is_root = geteuid() == 0;
	struct client *client = NULL;
	struct error err = {};
	int r;

	if (settings->is_standalone || settings->tiers != METER_ALL)
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

/* It is said before the command runs, which may take hours. */
static void say_uncounted(const char *option, const struct on_demand *alone,
			  const struct settings *settings, struct client *agent)
{
	const char *why = agent ? "and this node's does not: your site can switch it on"
			  : settings->is_standalone || settings->tiers != METER_ALL
				  ? "and '--standalone' or '--tiers' leaves it out"
				  : "and none answers here: ask your site to run jobmeter-agent";
	struct error err = {};

	if (geteuid() == 0 || (!alone->follows_files && !alone->names_syscalls) ||
	    (agent && on_demand_is_counted(alone, agent)))
		return;
	error_set(&err, 0, "the report will lack '%s': without root only an agent counts it, %s",
		  option, why);
	cli_say(&cmd_run, &err);
}

static int run_run(const struct cli_command *command, int argc, char **argv)
{
	struct settings settings = { .tiers = METER_ALL, .repeat = 1, .demand = ON_DEMAND_NONE };
	struct output output = { .has_markdown = true, .has_html = true };
	const struct cli_options groups[] = {
		{ options, ARRAY_SIZE(options), &settings },
		{ on_demand_options, on_demand_option_count, &settings.demand },
		{ output_options, output_option_count, &output },
	};
	sigset_t mask;
	struct measure_options measure = { .root = "/", .mask = &mask };
	_cleanup_(client_closep) struct client *client = NULL;
	_cleanup_(own_file_clear) struct own_file own = {};
	_cleanup_(records_clear) struct records runs = {};
	struct error err = {}, why = {};
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err), code, told = 0;

	signal(SIGPIPE, SIG_IGN); /* the command's exit code is ours, whoever reads */
	if (r == 0)
		return CLI_WELL;
	if (r > 0 && argc == 0)
		r = error_set(&err, -EINVAL, "no command given; usage: jobmeter run -- COMMAND");
	if (r < 0)
		return cli_misuse(command, &err);
	r = check_output(&output, &own, &err);
	if (r >= 0 && settings.repeat > 1 && output.file && output_is_of_one(&output))
		r = error_set(&err, -EINVAL,
			      "with --repeat, --output takes a file that ends in .ndjson or .csv");
	if (r < 0)
		return r == -EINVAL ? cli_misuse(command, &err) : cli_fail(command, &err);
	if (output_check(&output, &err) < 0)
		return cli_fail(command, &err);

	client = find_agent(&settings);
	measure.agent = client;
	measure.is_patient = settings.is_patient;
	measure.tiers = settings.tiers;
	measure.traced = settings.traced;
	measure.names_syscalls = settings.demand.names_syscalls;
	measure.followed_max = on_demand_files(&settings.demand);
	say_uncounted("--files",
		      &(struct on_demand){ .follows_files = settings.demand.follows_files },
		      &settings, client);
	say_uncounted("--syscalls",
		      &(struct on_demand){ .names_syscalls = settings.demand.names_syscalls },
		      &settings, client);
	r = measure_all(&measure, settings.repeat, argv, &runs, &code, &err);
	if (runs.count) /* what was measured is told, whatever came then */
		told = tell(&output, &own, &runs, &mask, settings.repeat > 1, &why);
	if (told < 0)
		cli_fail(command, &why);
	if (r < 0)
		cli_fail(command, &err);
	return code || told >= 0 ? code : CLI_FAILED;
}

const struct cli_command cmd_run = {
	.name = "run",
	.arguments = "[OPTION...] [--] COMMAND [ARGUMENT...]",
	.summary = "Run a command and print a report on it",
	.details =
		"The command keeps its output, terminal and exit code; the report goes to the standard error.\n"
		"Under srun or mpirun, '--output DIR/' makes each rank write its own record; 'jobmeter report\n"
		"DIR' merges them.\n",
	.is_for_command = true,
	.run = run_run,
};
