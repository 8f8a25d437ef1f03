/* SPDX-License-Identifier: MIT */
/* Flux, by one `flux jobs --json` for all jobs of the system's instance. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "server/store/runs.h"
#include "server/sync/manager.h"

#define NS 1e9
#define COUNT "--count=100000" /* jobs of one answer */

/* Of an unset time Flux says 0. */
static void take_moment(const json_t *number, struct value *ret)
{
	const double seconds = json_number_value(number);

	if (seconds > 0 && seconds < (double)VALUE_MAX / NS)
		*ret = value_known((uint64_t)(seconds * NS));
}

static void take_count(const json_t *number, struct value *ret)
{
	if (json_is_integer(number) && json_integer_value(number) >= 0)
		*ret = value_known((uint64_t)json_integer_value(number));
}

/* clang-format off */
static const struct value_field texts[] = { /* of which a state is the later, the result */
	{ "username", value_take_text, RUN_AT(user) },
	{ "name", value_take_text, RUN_AT(name) },
	{ "queue", value_take_text, RUN_AT(partition) },
	{ "bank", value_take_text, RUN_AT(account) },
	{ "nodelist", value_take_text, RUN_AT(node_list) },
	{ "cwd", value_take_text, RUN_AT(workdir) },
	{ "state", value_take_state, 0 },
	{ "result", value_take_state, 0 },
	{},
};

static const struct number {
	const char *name;
	void (*take)(const json_t *number, struct value *ret);
	size_t offset;
} numbers[] = {
	{ "userid", take_count, RUN_AT(uid) },
	{ "t_submit", take_moment, RUN_AT(submit) },
	{ "t_depend", take_moment, RUN_AT(eligible) },
	{ "t_run", take_moment, RUN_AT(start) },
	{ "t_cleanup", take_moment, RUN_AT(end) },
	{ "t_inactive", take_moment, RUN_AT(end) }, /* of one that did not run */
	{ "runtime", take_moment, RUN_AT(elapsed) },
	{ "duration", take_moment, RUN_AT(time_limit) },
	{ "nnodes", take_count, RUN_AT(nodes) },
	{ "ncores", take_count, RUN_AT(cores) },
	{ "returncode", take_count, RUN_AT(exit_code) },
};
/* clang-format on */

static bool make_command(enum manager_question question, const struct query_request *request,
			 const char *known_fields UNUSED, struct manager_command *ret)
{
	const char *const argv[] = { "flux",   "jobs", "-A",	      "-a",
				     "--json", COUNT,  ret->texts[0], NULL };
	const time_t since = (time_t)request->since_s;
	struct tm tm = {};

	gmtime_r(&since, &tm);
	strftime(ret->texts[0], sizeof(ret->texts[0]), "--since=%Y-%m-%d %H:%M:%S", &tm);
	memcpy(ret->argv, argv, sizeof(argv));
	return question == QUESTION_RUNS;
}

static int open_answer(struct manager_answer *a, struct error *err)
{
	a->root = json_loadb(a->text, a->length, 0, NULL);
	if (!json_is_array(json_object_get(a->root, "jobs")))
		return error_set(err, -EBADMSG, "flux' answer is no JSON with jobs, or breaks off");
	return 0;
}

/* As Flux, and so its cgroups, names it: f and base 58. */
static void format_id(uint64_t number, char *ret, size_t size)
{
	static const char digits[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
	size_t at = size - 1;

	ret[at] = '\0';
	do {
		ret[--at] = digits[number % 58];
		number /= 58;
	} while (number && at > 1);
	ret[--at] = 'f';
	memmove(ret, ret + at, size - at);
}

static int next_run(struct manager_answer *a, struct store_run *ret, struct error *err)
{
	json_t *job = json_array_get(json_object_get(a->root, "jobs"), a->line_at++), *id;
	struct store_run run = { .manager = manager_flux.name, .cluster = a->cluster };

	if (!job)
		return 0;
	for (size_t i = 0; texts[i].name; i++) {
		/* the answer is ours, and so is what it holds */
		char *text =
			(char *)(uintptr_t)json_string_value(json_object_get(job, texts[i].name));

		if (text)
			texts[i].take(text, &run, texts[i].offset);
	}
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct value *value = value_of_run(&run, numbers[i].offset);

		if (!value->is_known)
			numbers[i].take(json_object_get(job, numbers[i].name), value);
	}
	id = json_object_get(job, "id");
	if (json_is_integer(id) && json_integer_value(id) >= 0) {
		format_id((uint64_t)json_integer_value(id), a->id, sizeof(a->id));
		run.id = a->id;
	}
	*ret = run;
	return value_is_run(&run) ? 1
				  : error_set(err, -EBADMSG,
					      "a job of flux has no number, state or moment of "
					      "submission");
}

const struct manager manager_flux = {
	.name = "flux",
	.command = make_command,
	.open = open_answer,
	.next = next_run,
};
