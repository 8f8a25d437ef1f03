/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/error.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/moment.h"
#include "cli/sbatch.h"
#include "client/server_client.h"
#include "model/json_place.h"
#include "model/rows.h"
#include "report/page.h"
#include "report/rows_text.h"

#define GREATEST 9e18 /* of what is shown, in the finest units */
#define TEXT_SIZE 96
#define SLACK_MAX_S (7 * 86400)
#define NS UINT64_C(1000000000)

struct prediction_settings {
	const char *script, *server, *job;
	uint64_t slack_s; /* 0: the start is not asked for */
	bool is_json;
};

static int parse_slack(const char *text, void *at, struct error *err)
{
	if (moment_parse_span(text, at) && *(uint64_t *)at && *(uint64_t *)at <= SLACK_MAX_S)
		return 0;
	return error_set(err, -EINVAL, "'%.64s' is no span such as 12h or 90m, of a week at most",
			 text);
}

#define AT(member) offsetof(struct prediction_settings, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "script", 0, "FILE", "the script, if it is not named behind '--'", AT(script), NULL },
	{ "server", 0, "URL", "ask the server at this URL, as its token's user", AT(server), argument_parse_url },
	{ "job", 0, "ID", "store the prediction for this job, submitted just now; its end scores it", AT(job), NULL },
	{ "json", 0, NULL, "print JSON", AT(is_json), NULL },
};
static const struct cli_option advise_options[] = {
	{ "slack", 0, "TIME", "the start may wait so long (12h, 90m, 2d): when does the job emit least?", AT(slack_s), parse_slack },
};
/* clang-format on */

/* ---- what is shown ---- */

static struct human show_watts(uint64_t milliwatts)
{
	struct human human;

	snprintf(human.text, sizeof(human.text), "%.1f W", (double)milliwatts / 1000);
	return human;
}

static const struct shown {
	const char *name, *label;
	double scale;
	struct human (*show)(uint64_t number);
} shown[] = {
	{ "runtime", "runtime", 1e9, humanize_duration },
	{ "memory", "peak memory", 1, humanize_bytes },
	{ "cores", "busy cores", 1000, humanize_cores },
	{ "power", "power of a node", 1000, show_watts },
	{ "energy", "energy", 1e6, humanize_energy },
};

static bool format_number(const struct shown *s, const json_t *number, char text[TEXT_SIZE])
{
	double value = json_number_value(number) * s->scale;

	if (!json_is_number(number) || !(value >= 0 && value < GREATEST))
		return false;
	snprintf(text, TEXT_SIZE, "%s", s->show((uint64_t)value).text);
	return true;
}

static void add_target(struct rows_table *table, const struct shown *s, const json_t *target)
{
	const json_t *likeness = json_object_get(target, "likeness"),
		     *model = json_object_get(target, "model");
	char value[TEXT_SIZE], low[TEXT_SIZE], high[TEXT_SIZE];

	rows_row(table, ROWS_TEXT);
	rows_words(table, "%s", s->label);
	if (!format_number(s, json_object_get(target, "value"), value)) {
		rows_words(table, "not known");
		rows_words(table, "-");
		rows_words(table, "-");
		return;
	}
	rows_words(table, "%s%s", json_is_true(json_object_get(target, "at_least")) ? "over " : "",
		   value);
	if (format_number(s, json_object_get(target, "low"), low) &&
	    format_number(s, json_object_get(target, "high"), high))
		rows_words(table, "%s to %s", low, high);
	else
		rows_words(table, "not known");
	rows_words(table, "%lld, %s (%s%s)",
		   (long long)json_integer_value(json_object_get(target, "like_jobs")),
		   json_is_string(likeness) ? json_string_value(likeness) : "like this",
		   json_is_string(model) ? json_string_value(model) : "?",
		   strcmp(place_text_of(target, "quality"), "estimated") == 0 ? ", from estimates"
									      : "");
}

static void print_prediction(const json_t *root)
{
	static const struct rows_column columns[] = {
		{ "" },
		{ "expected" },
		{ "9 of 10 jobs" },
		{ "from your last jobs", .is_left = true },
	};
	const json_t *targets = json_object_get(root, "targets"),
		     *co2e = json_object_get(json_object_get(root, "co2e_grams"), "value"),
		     *cost = json_object_get(json_object_get(root, "cost"), "value");
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct page page = page_for(stdout);
	struct rows_table *table = rows_table(rows, ROWS_TEXT, NULL, columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		add_target(table, &shown[i], json_object_get(targets, shown[i].name));
	if (json_is_number(co2e))
		rows_remark(table, ROWS_TEXT, "CO2e: %.1f g, by the factor that holds now.",
			    json_number_value(co2e));
	if (json_is_number(cost))
		rows_remark(table, ROWS_TEXT, "Cost: %.4g %s of electricity.",
			    json_number_value(cost), place_text_of(root, "currency"));
	page.is_flush = true;
	rows_text(rows, ROWS_TEXT, &page);
}

/* ---- advice ---- */

/* "Start: --begin=2026-11-29T03:00:00 emits 18 % less CO2e than now, +-6 %: 540 g of 660 g" */
static void add_start(struct rows_table *table, const json_t *start)
{
	const json_t *error = json_object_get(start, "error"),
		     *grams = json_object_get(start, "co2e_grams");
	const char *at = json_string_value(json_object_get(start, "at")),
		   *source = place_text_of(start, "source");
	double gain = json_number_value(json_object_get(start, "gain"));
	char moment[TEXT_SIZE] = "", of[TEXT_SIZE] = "", about[TEXT_SIZE] = ", error not known";
	uint64_t at_ns = 0;
	time_t at_s;
	struct tm tm;

	if (!at || timestamp_parse(at, &at_ns) < 0) {
		rows_remark(table, ROWS_TEXT, "Start: not known: %s.",
			    place_text_of(start, "reason"));
		return;
	}
	if (json_is_true(json_object_get(start, "now"))) {
		rows_remark(table, ROWS_TEXT,
			    "Start: now; no later start emits less (forecast: %s).", source);
		return;
	}
	at_s = (time_t)(at_ns / NS);
	if (localtime_r(&at_s, &tm))
		(void)strftime(moment, sizeof(moment), "%Y-%m-%dT%H:%M:%S", &tm);
	if (json_is_number(grams))
		snprintf(of, sizeof(of), ": %.4g g of %.4g g", json_number_value(grams),
			 json_number_value(json_object_get(start, "co2e_grams_now")));
	if (json_is_number(error))
		snprintf(about, sizeof(about), ", ±%s",
			 humanize_percent(json_number_value(error)).text);
	rows_remark(table, ROWS_TEXT,
		    "Start: --begin=%s emits %s less CO2e than now%s%s (forecast: %s)%s", moment,
		    humanize_percent(gain).text, about, of, source,
		    json_is_number(error) && json_number_value(error) >= gain
			    ? "; no more than its error: start when you like."
			    : ".");
}

static const struct advised {
	const char *key, *label;
	size_t shown;
} advised[] = {
	{ "memory_bytes", "memory", 1 },
	{ "time_limit_seconds", "time limit", 0 },
	{ "cores", "cores", 2 },
};

static void add_amount(struct rows_table *table, const struct advised *a, const json_t *amount,
		       const json_t *chance)
{
	char text[TEXT_SIZE];

	if (format_number(&shown[a->shown], amount, text))
		rows_words(table, "%s", text);
	else
		rows_words(table, "-");
	if (json_is_number(chance))
		rows_words(table, "%s", humanize_percent(json_number_value(chance)).text);
	else
		rows_words(table, "not known");
}

static void print_advice(const json_t *root)
{
	static const struct rows_column columns[] = {
		{ "" },	       { "ask for" },	 { "needs more" },
		{ "you ask" }, { "needs more" }, { "jobs" },
	};
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct page page = page_for(stdout);
	struct rows_table *table = rows_table(rows, ROWS_TEXT, NULL, columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < ARRAY_SIZE(advised); i++) {
		const json_t *map = json_object_get(json_object_get(root, "advice"),
						    advised[i].key);

		rows_row(table, ROWS_TEXT);
		rows_words(table, "%s", advised[i].label);
		add_amount(table, &advised[i], json_object_get(map, "value"),
			   json_object_get(map, "chance_above"));
		add_amount(table, &advised[i], json_object_get(map, "asked"),
			   json_object_get(map, "chance_above_asked"));
		rows_words(table, "%lld",
			   (long long)json_integer_value(json_object_get(map, "jobs")));
	}
	rows_remark(table, ROWS_TEXT,
		    "A job that needs more memory or time is killed; with more busy cores it is "
		    "slower. N jobs cannot show a chance below 1 of N + 1.");
	if (json_object_get(root, "start"))
		add_start(table, json_object_get(root, "start"));
	page.is_flush = true;
	rows_text(rows, ROWS_TEXT, &page);
}

static int ask(const struct prediction_settings *settings, json_t *request, json_t **ret,
	       struct error *err)
{
	const char *path = settings->job ? "/api/v1/predictions" : "/api/v1/predict";
	_cleanup_(server_client_closep) struct server_client *client = NULL;
	int r = settings->server ? server_client_open_url(settings->server, &client, err)
				 : server_client_open(NULL, &client, err);

	if (r == 0 && settings->job)
		json_object_set_new(request, "job", json_string(settings->job));
	if (r == 0 && settings->slack_s)
		json_object_set_new(request, "slack_seconds",
				    json_integer((json_int_t)settings->slack_s));
	return r < 0 ? r : server_client_post(client, path, request, ret, err);
}

static int run_predict(const struct cli_command *command, int argc, char **argv)
{
	_cleanup_(json_freep) json_t *request = NULL, *answer = NULL;
	struct prediction_settings settings = {};
	const struct cli_options groups[] = {
		{ options, ARRAY_SIZE(options), &settings },
		{ advise_options, ARRAY_SIZE(advise_options), &settings },
	};
	struct error err = {};
	const bool is_advice = strcmp(command->name, cmd_advise.name) == 0; /* maybe a copy */
	int r = cli_parse(command, groups, is_advice ? 2 : 1, &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r > 0 && !argc && !settings.script)
		r = error_set(&err, -EINVAL,
			      "of what job? '-- SBATCH-ARGUMENTS' or '--script FILE' says it");
	if (r < 0)
		return cli_misuse(command, &err);
	r = sbatch_parse(argc, argv, settings.script, &request, &err);
	if (r == -EINVAL)
		return cli_misuse(command, &err);
	if (r == 0)
		r = ask(&settings, request, &answer, &err);
	if (r < 0)
		return cli_fail(command, &err);
	if (!settings.is_json && is_advice)
		print_advice(answer);
	else if (!settings.is_json)
		print_prediction(answer);
	else if (json_dumpf(answer, stdout, JSON_INDENT(2)) == 0)
		putchar('\n');
	return CLI_WELL;
}

const struct cli_command cmd_predict = {
	.name = "predict",
	.arguments = "[OPTION...] -- SBATCH-ARGUMENTS",
	.summary = "Predict the runtime, memory and energy of a job before you submit it",
	.details =
		"Takes the arguments of sbatch, and reads the #SBATCH lines of the script.  The value is the\n"
		"median of your last similar jobs; 9 of 10 jobs are within the interval, as long as your jobs\n"
		"stay similar.  'not known': fewer than 3 similar jobs of yours have ended.\n",
	.run = run_predict,
};

const struct cli_command cmd_advise = {
	.name = "advise",
	.arguments = "[OPTION...] -- SBATCH-ARGUMENTS",
	.summary = "Advise on the memory, time limit and cores to request for a job",
	.details =
		"Takes the arguments of sbatch.  Each value, advised or requested, has the chance that the job\n"
		"needs more, by your similar jobs.  The advice aims at 5 %, which takes 19 of them.\n"
		"With --slack, the start that emits the least CO2e within that time, by the forecast of the\n"
		"emission factor, with the gain and its error; 'not known' without a forecast.\n",
	.run = run_predict,
};
