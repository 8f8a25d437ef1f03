/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <langinfo.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "client/client.h"
#include "cli/commands.h"
#include "basic/error.h"
#include "tui/grid.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "analysis/rules.h"
#include "cli/site_rules.h"
#include "tui/columns.h"
#include "tui/top_draw.h"
#include "tui/top_run.h"
#include "tui/top_source.h"
#include "cli/watch_target.h"

#define DELAY_NS UINT64_C(2000000000)
#define DELAY_LEAST_NS 100000000u
#define DELAY_MOST_NS UINT64_C(60000000000)
#define COLUMNS_DEFAULT 80
#define COUNT_MOST 1000000000

struct settings {
	const char *jobs, *user, *record, *replay;
	uint64_t delay_ns, count;
	struct {
		unsigned int columns, rows;
	} size;
	struct columns_wanted wanted;
	bool has_no_legend;
	bool is_batch, is_json, is_ascii, is_tree, is_standalone, hides_idle;
};

static int parse_delay(const char *text, void *at, struct error *err)
{
	uint64_t *ns = at;

	if (parse_seconds(text, ns) < 0 || *ns < DELAY_LEAST_NS || *ns > DELAY_MOST_NS)
		return error_set(err, -EINVAL, "a delay is from 0.1 to 60 seconds, not '%s'", text);
	return 0;
}

static int parse_count(const char *text, void *at, struct error *err)
{
	int count;

	if (parse_int(text, 1, COUNT_MOST, &count) < 0)
		return error_set(err, -EINVAL, "a number of iterations is 1 or more, not '%s'",
				 text);
	*(uint64_t *)at = (uint64_t)count;
	return 0;
}

/* "80x24"; "160": that wide, and as high as it takes. */
static int parse_size(const char *text, void *at, struct error *err)
{
	_cleanup_free_ char *columns = strdup(text);
	char *rows = columns ? strchr(columns, 'x') : NULL;
	int wide, high = 0;

	if (rows)
		*rows++ = '\0';
	if (!columns || parse_int(columns, TOP_COLUMNS_MIN, GRID_COLUMNS_MAX, &wide) < 0 ||
	    (rows && parse_int(rows, TOP_ROWS_MIN, 1000, &high) < 0))
		return error_set(err, -EINVAL,
				 "a size is COLUMNSxROWS, at least %dx%d, or COLUMNS, not '%s'",
				 TOP_COLUMNS_MIN, TOP_ROWS_MIN, text);
	((unsigned int *)at)[0] = (unsigned int)wide;
	((unsigned int *)at)[1] = (unsigned int)high;
	return 0;
}

static int parse_columns(const char *text, void *at, struct error *err)
{
	return columns_parse(text, at, err);
}

static const char *column_word(const void *target, size_t i)
{
	(void)target;
	return i < column_count ? top_columns[i].name : NULL;
}

#define AT(member) offsetof(struct settings, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "job", 'j', "ID[,ID]", "show only these jobs: 123, slurm/123", AT(jobs), NULL },
	{ "user", 'u', "NAME", "show only jobs of this user", AT(user), NULL },
	{ "delay", 'd', "S", "update every S seconds (default: 2)", AT(delay_ns), parse_delay },
	{ "iterations", 'n', "N", "update N times, then exit", AT(count), parse_count },
	{ "batch", 'b', NULL, "print text without reading keys", AT(is_batch), NULL },
	{ "json", 0, NULL, "print a line of JSON for each update (jobmeter.snapshot/1)", AT(is_json), NULL },
	{ "size", 0, "CxR", "with --batch: the size of the screen, or all jobs in C columns", AT(size), parse_size },
	{ "record", 0, "FILE", "write each update to FILE, for --replay and scripts", AT(record), NULL },
	{ "replay", 0, "FILE", "show a recorded FILE", AT(replay), NULL },
	{ "standalone", 0, NULL, "measure without the agent (needs root)", AT(is_standalone), NULL },
	{ "tree", 't', NULL, "begin with steps, tasks and processes", AT(is_tree), NULL },
	{ "columns", 'o', "LIST", "show these columns, in this order", AT(wanted), parse_columns, column_word },
	{ "no-legend", 0, NULL, "with --batch: rows alone, without title and heads", AT(has_no_legend), NULL },
	{ "hide-idle", 'i', NULL, "leave out jobs that do nothing now", AT(hides_idle), NULL },
	{ "ascii", 0, NULL, "draw with ASCII only", AT(is_ascii), NULL },
};
/* clang-format on */

static unsigned int columns_here(void)
{
	struct winsize size;
	const char *text = getenv("COLUMNS");
	int columns;

	if (text && parse_int(text, TOP_COLUMNS_MIN, GRID_COLUMNS_MAX, &columns) == 0)
		return (unsigned int)columns;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= TOP_COLUMNS_MIN)
		return size.ws_col;
	return COLUMNS_DEFAULT;
}

static int check_settings(const struct settings *s, int argc, char **argv,
			  struct watch_targets *targets, struct error *err)
{
	if (argc > 0)
		return error_set(err, -EINVAL,
				 "there is nothing to do with '%s'; did you mean '--job %s'?",
				 argv[0], argv[0]);
	if (s->is_batch && s->is_json)
		return error_set(err, -EINVAL, "'--batch' and '--json' exclude each other");
	if (s->has_no_legend && (!s->is_batch || s->size.rows))
		return error_set(err, -EINVAL,
				 "'--no-legend' needs '--batch', and no height of a screen");
	if (s->wanted.count && s->is_json)
		return error_set(err, -EINVAL, "'--columns' and '--json' exclude each other");
	if (s->size.columns && !s->is_batch)
		return error_set(err, -EINVAL, "'--size' needs '--batch'");
	if (s->replay && (s->record || s->is_standalone))
		return error_set(err, -EINVAL, "'--replay' and '%s' exclude each other",
				 s->record ? "--record" : "--standalone");
	if (s->record && strcmp(s->record, "-") == 0)
		return error_set(err, -EINVAL,
				 "'--record' needs a file: the standard output is the screen");
	if (s->user && (!*s->user || strlen(s->user) >= TOP_TEXT_MAX))
		return error_set(err, -EINVAL, "'%.70s' is not a user name", s->user);
	if (s->user && !s->replay && !getpwnam(s->user)) /* a recording may be another machine's */
		return error_set(err, -EINVAL, "there is no user '%.70s'", s->user);
	if (!s->is_batch && !s->is_json && !isatty(STDOUT_FILENO))
		return error_set(err, -EINVAL,
				 "the output is not a terminal; use '--batch' or '--json'");
	return s->jobs ? watch_targets_parse(s->jobs, targets, err) : 0;
}

/* The agent where one lives; where none does, root measures by himself. */
static int open_live(const struct settings *s, struct top_source **ret, struct error *ret_notice,
		     struct error *err)
{
	_cleanup_(client_closep) struct client *client = NULL;
	bool is_root = geteuid() == 0;
	int r;

	if (s->is_standalone && !is_root)
		return error_set(err, -EPERM, "'--standalone' needs root");
	if (s->is_standalone)
		return top_source_open_own(ret, err);
	r = client_open(NULL, &client, err);
	if (r < 0 && !is_root)
		return error_prefix(err, r, "top needs a running agent, or root");
	if (r < 0) {
		if (r != -ENOENT && r != -ECONNREFUSED) { /* there is one, but */
			error_prefix(err, r, "measuring without the agent");
			*ret_notice = *err;
		}
		return top_source_open_own(ret, err);
	}
	r = top_source_open_agent(client, ret, err);
	if (r == 0)
		TAKE_PTR(client);
	return r;
}

/* *ret_notice: what is worth to be known of it; said at once, since what a screen shows is gone
 * with it. */
static int open_source(const struct settings *s, struct top_source **ret, struct error *ret_notice,
		       struct error *err)
{
	int r = s->replay ? top_source_open_replay(s->replay, ret, ret_notice, err)
			  : open_live(s, ret, ret_notice, err);

	if (r == 0 && *ret_notice->text)
		cli_say(&cmd_top, ret_notice);
	return r;
}

static int look(const struct settings *s, const struct watch_targets *targets, struct error *err)
{
	_cleanup_(top_source_closep) struct top_source *source = NULL;
	_cleanup_(rules_freep) struct rules *rules = NULL;
	_cleanup_fclose_ FILE *record = NULL;
	struct error notice = {};
	struct top_target list[WATCH_TARGETS_MAX];
	const char *no_color = getenv("NO_COLOR");
	struct top_options o = {
		.form = s->is_json    ? TOP_FORM_LINES
			: s->is_batch ? TOP_FORM_TEXT
				      : TOP_FORM_SCREEN,
		.interval_ns = s->delay_ns,
		.count = s->count,
		.columns = s->size.columns ? s->size.columns : columns_here(),
		.rows = s->size.rows,
		.is_ascii = s->is_ascii || strcasecmp(nl_langinfo(CODESET), "UTF-8") != 0,
		.has_color = !(no_color && *no_color),
		.is_tree = s->is_tree,
		.hides_idle = s->hides_idle,
		.has_no_legend = s->has_no_legend,
		.wanted = &s->wanted,
		.user = s->user,
		.targets = list,
		.target_count = targets->count,
	};
	int r = site_rules_load(&cmd_top, NULL, &rules, err);

	_Static_assert(WATCH_TARGETS_MAX <= TOP_TARGETS_MAX,
		       "top takes as many as it may be asked for");
	for (size_t i = 0; i < targets->count; i++)
		list[i] = (struct top_target){ targets->items[i].manager, targets->items[i].id };
	o.rules = rules;
	if (r == 0)
		r = open_source(s, &source, &notice, err);
	o.notice = notice.text;
	/* what was recorded before is lost only where there is something to be recorded */
	if (r == 0 && s->record && !(record = fopen(s->record, "we")))
		r = error_set_errno(err, errno, "cannot write '%s'", s->record);
	o.record = record;
	return r < 0 ? r : top_run(source, &o, err);
}

static int run_top(const struct cli_command *command, int argc, char **argv)
{
	struct settings settings = { .delay_ns = DELAY_NS };
	const struct cli_options groups[] = { { options, ARRAY_SIZE(options), &settings } };
	_cleanup_(watch_targets_clear) struct watch_targets targets = {};
	struct error err = {};
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r > 0)
		r = check_settings(&settings, argc, argv, &targets, &err);
	if (r < 0)
		return cli_misuse(command, &err);
	r = look(&settings, &targets, &err);
	if (r == -ENOTTY)
		return cli_misuse(command, &err);
	return r < 0 ? cli_fail(command, &err) : CLI_WELL;
}

const struct cli_command cmd_top = {
	.name = "top",
	.arguments = "[OPTION...]",
	.summary = "Show all jobs of this node now, the busiest first",
	.details =
		"Keys are htop's where possible; F1 lists all.  With an agent on the node users see their own\n"
		"jobs, root sees all.\n",
	.run = run_top,
};
