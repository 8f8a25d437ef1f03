/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "server/api/caller.h"
#include "server/evaluate.h"
#include "server/server.h"
#include "server/server_config.h"
#include "server/store/pg.h"

#define PREFIX "JOBMETER_SERVER_"
#define TOKEN_EXPIRES "90d"
#define DAY_NS (UINT64_C(86400) * 1000000000)
#define TOKEN_DAYS_MAX 3660

struct settings_given {
	const char *config, *database, *listen, *socket, *user, *from, *to, *scope, *swf, *sacct,
		*model_file;
	uint64_t expires_ns; /* from now; 0: not given */
	bool dumps, is_insecure, is_version_asked, takes_estimates;
};

static const char *scope_word(const void *target UNUSED, size_t i)
{
	return i == 0 ? "user" : i == 1 ? "operator" : NULL;
}

static int parse_scope(const char *text, void *at, struct error *err)
{
	for (size_t i = 0; scope_word(NULL, i); i++) {
		if (strcmp(text, scope_word(NULL, i)) != 0)
			continue;
		*(const char **)at = text;
		return 0;
	}
	return error_set(err, -EINVAL, "'--scope' is user or operator, not '%s'", text);
}

/* "90d" */
static int parse_days(const char *text, void *at, struct error *err)
{
	const char *rest = text;
	uint64_t days;

	if (parse_leading_u64(&rest, &days) < 0 || strcmp(rest, "d") != 0 || !days ||
	    days > TOKEN_DAYS_MAX)
		return error_set(err, -EINVAL,
				 "'--expires' is a number of days such as 90d, up to %dd, not '%s'",
				 TOKEN_DAYS_MAX, text);
	*(uint64_t *)at = days * DAY_NS;
	return 0;
}

#define AT(member) offsetof(struct settings_given, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "config", 0, "FILE", "settings (" SERVER_CONFIG_PATH ")", AT(config), NULL },
	{ "database", 0, "FILE|URL", "the database, as the setting 'database'", AT(database), NULL },
	{ "listen", 0, "ADDRESS", "where nodes push, as the setting 'listen'", AT(listen), NULL },
	{ "socket", 0, "PATH", "where users ask, as the setting 'socket.path'", AT(socket), NULL },
	{ "insecure", 0, NULL, "take records without a token, as 'insecure: on' does", AT(is_insecure), NULL },
	{ "user", 0, "USER", "with 'forget': whose records are deleted; with 'token create': whose jobs it shows; a name or a number", AT(user), NULL },
	{ "scope", 0, "SCOPE", "with 'token create': user (their own jobs) or operator (all)", AT(scope), parse_scope, scope_word },
	{ "expires", 0, "DAYS", "with 'token create': for how long it holds (" TOKEN_EXPIRES ")", AT(expires_ns), parse_days },
	{ "from", 0, "DATABASE", "with 'move': sqlite:FILE or postgresql://...", AT(from), NULL },
	{ "to", 0, "DATABASE", "with 'move': the same; it is empty, or has a part of what is moved", AT(to), NULL },
	{ "swf", 0, "FILE", "with 'predict evaluate': jobs in the Standard Workload Format, instead of the database's", AT(swf), NULL },
	{ "sacct", 0, "FILE", "with 'predict evaluate': the output of 'sacct -P -o ALL', instead", AT(sacct), NULL },
	{ "dump-config", 0, NULL, "show what holds, and where it comes from, and end", AT(dumps), NULL },
	{ "version", 0, NULL, "say which one this is, and end", AT(is_version_asked), NULL },
};
/* clang-format on */

static int run_reindex(struct store *s, const struct settings_given *given UNUSED,
		       const char *none UNUSED, struct error *err)
{
	uint64_t records;
	int r = store_reindex(s, &records, err);

	if (r >= 0)
		printf("%" PRIu64 " records indexed\n", records);
	return r;
}

static int run_check(struct store *s, const struct settings_given *given UNUSED,
		     const char *none UNUSED, struct error *err)
{
	uint64_t wrong = 0;
	int r = store_check_rollups(s, &wrong, err);

	if (r >= 0 && wrong)
		return error_set(err, -EBADMSG,
				 "%" PRIu64 " rows of usage are not what the jobs add up to: "
				 "'jobmeter-server reindex' makes them anew",
				 wrong);
	if (r >= 0)
		printf("the usage is what the jobs add up to\n");
	return r;
}

static int run_forget(struct store *s, const struct settings_given *given, const char *none UNUSED,
		      struct error *err)
{
	const char *user = given->user;
	const struct passwd *entry = getpwnam(user);
	uint64_t records, number;
	int64_t uid = entry ? (int64_t)entry->pw_uid : -1;
	int r;

	if (!entry && parse_u64(user, &number) == 0 && number <= UINT32_MAX)
		uid = (int64_t)number;
	r = store_forget(s, user, uid, clock_now_ns(CLOCK_REALTIME), &records, err);
	if (r >= 0)
		printf("%" PRIu64 " records deleted\n", records);
	if (r >= 0 && uid < 0)
		fprintf(stderr,
			"jobmeter-server: no user '%s' is known here: the ledger knows users by "
			"number only, so name the number, too\n",
			user);
	return r;
}

static const char *file_of(const char *database)
{
	bool is_named = strncmp(database, "sqlite:", strlen("sqlite:")) == 0;

	return database + (is_named ? strlen("sqlite:") : 0);
}

static int run_move(struct store *to, const struct settings_given *given, const char *none UNUSED,
		    struct error *err)
{
	_cleanup_(store_closep) struct store *source = NULL;
	int r = store_open_any(file_of(given->from), STORE_READ, &source, err);

	return r < 0 ? r : store_move(source, to, stdout, err);
}

static int run_backup(struct store *s, const struct settings_given *given UNUSED, const char *path,
		      struct error *err)
{
	return store_backup(s, path, err);
}

static int create_token(struct store *s, const struct settings_given *given,
			const char *none UNUSED, struct error *err)
{
	uint64_t expires_ns = given->expires_ns;
	bool sees_all = given->scope && strcmp(given->scope, "operator") == 0;

	if (!expires_ns)
		(void)parse_days(TOKEN_EXPIRES, &expires_ns, NULL);
	return caller_make_token(s, given->user, sees_all, expires_ns, stdout, err);
}

static int list_tokens(struct store *s, const struct settings_given *given UNUSED,
		       const char *none UNUSED, struct error *err)
{
	return caller_print_tokens(s, stdout, err);
}

static int revoke_token(struct store *s, const struct settings_given *given UNUSED,
			const char *number, struct error *err)
{
	uint64_t id;

	if (parse_u64(number, &id) < 0 || id > INT64_MAX)
		return error_set(err, -EINVAL, "'%s' is no number of a token", number);
	return store_revoke_token(s, id, err);
}

static int run_evaluate(struct store *s, const struct settings_given *given,
			const char *none UNUSED, struct error *err)
{
	return evaluate_jobs(s, given->swf, given->sacct, given->takes_estimates, NULL, stdout,
			     err);
}

static int run_train(struct store *s, const struct settings_given *given, const char *none UNUSED,
		     struct error *err)
{
	return evaluate_jobs(s, NULL, NULL, given->takes_estimates, given->model_file, stdout, err);
}

static const struct task {
	const char *word, *second; /* "token", "create"; second: NULL: there is none */
	const char *takes; /* behind the words; NULL: nothing */
	size_t wants; /* an option of its own, in struct settings_given; 0: none */
	const char *wants_name;
	enum store_mode mode;
	int (*run)(struct store *s, const struct settings_given *given, const char *argument,
		   struct error *err);
} tasks[] = {
	{ "backup", NULL, "the name of a file", 0, NULL, STORE_READ, run_backup },
	{ "reindex", NULL, NULL, 0, NULL, STORE_WRITE, run_reindex },
	{ "check", NULL, NULL, 0, NULL, STORE_WRITE, run_check },
	{ "forget", NULL, NULL, AT(user), "--user NAME", STORE_WRITE, run_forget },
	{ "move", NULL, NULL, AT(from), "--from DATABASE --to DATABASE", STORE_MOVE, run_move },
	{ "predict", "evaluate", NULL, 0, NULL, STORE_READ, run_evaluate },
	{ "predict", "train", NULL, 0, NULL, STORE_READ, run_train },
	{ "token", "create", NULL, AT(user), "--user NAME", STORE_WRITE, create_token },
	{ "token", "list", NULL, 0, NULL, STORE_WRITE, list_tokens },
	{ "token", "revoke", "the number of a token", 0, NULL, STORE_WRITE, revoke_token },
};

static int run_task(const struct task *task, const struct settings_given *given,
		    const char *database, const char *argument, struct error *err)
{
	_cleanup_(store_closep) struct store *store = NULL;
	int r;

	if (given->swf || given->sacct)
		return task->run(NULL, given, argument, err);
	/* nothing is made where there is nothing, but by a move */
	if (task->mode != STORE_MOVE && !store_is_url(database) && access(database, F_OK) < 0)
		return error_set_errno(err, errno, "cannot open the database '%s'", database);
	r = store_open_any(database, task->mode, &store, err);
	return r < 0 ? r : task->run(store, given, argument, err);
}

/* An option goes before the environment, which goes before the file.  Settings want absolute paths;
 * of the command line one is relative to where we are. */
static int set_options(const struct settings_given *given)
{
	const struct {
		const char *name, *value;
		bool is_path;
	} rows[] = {
		{ PREFIX "DATABASE", given->database, true },
		{ PREFIX "SOCKET_PATH", given->socket, true },
		{ PREFIX "LISTEN", given->listen, false },
		{ PREFIX "INSECURE", given->is_insecure ? "on" : NULL, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *value = rows[i].value;
		bool is_relative = rows[i].is_path && value && *value && *value != '/' &&
				   !store_is_url(value);
		_cleanup_free_ char *here = is_relative ? getcwd(NULL, 0) : strdup(""),
				    *whole = NULL;

		if (!value)
			continue;
		if (!here || asprintf(&whole, "%s%s%s", here, is_relative ? "/" : "", value) < 0 ||
		    setenv(rows[i].name, whole, 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int find_task(int argc, char **argv, const struct settings_given *given,
		     const struct task **ret, struct error *err)
{
	const struct task *task = NULL;
	int words = 1;

	for (size_t i = 0; i < ARRAY_SIZE(tasks) && argc; i++) {
		const char *second = tasks[i].second;

		if (strcmp(tasks[i].word, argv[0]) == 0 &&
		    (!second || (argc > 1 && strcmp(second, argv[1]) == 0)))
			task = &tasks[i];
	}
	if (argc && !task && strcmp(argv[0], "predict") == 0)
		return error_set(err, -EINVAL, "'predict' goes with evaluate or train");
	if (argc && !task && strcmp(argv[0], "token") == 0)
		return error_set(err, -EINVAL, "'token' goes with create, list or revoke");
	if (argc && !task)
		return error_set(
			err, -EINVAL,
			"'%s' is none of backup, reindex, check, forget, move, predict, token",
			argv[0]);
	words += task && task->second;
	if (task && argc != words + (task->takes ? 1 : 0))
		return error_set(err, -EINVAL, "'%s' takes %s", argv[words - 1],
				 task->takes ? task->takes : "no argument");
	if (task && task->wants &&
	    (!*(const char *const *)((const char *)given + task->wants) ||
	     !given->to != !given->from))
		return error_set(err, -EINVAL, "'%s' wants %s", argv[words - 1], task->wants_name);
	if (given->user && !(task && task->wants == AT(user)))
		return error_set(err, -EINVAL, "--user goes with 'forget' and 'token create' only");
	if ((given->from || given->to) && !(task && task->run == run_move))
		return error_set(err, -EINVAL, "--from and --to go with 'move' only");
	if ((given->scope || given->expires_ns) && !(task && task->run == create_token))
		return error_set(err, -EINVAL, "--scope and --expires go with 'token create' only");
	if ((given->swf || given->sacct) && !(task && task->run == run_evaluate))
		return error_set(err, -EINVAL, "--swf and --sacct go with 'predict evaluate' only");
	if (given->swf && given->sacct)
		return error_set(err, -EINVAL, "--swf and --sacct exclude each other");
	*ret = task;
	return 0;
}

static int run_server(const struct cli_command *command, int argc, char **argv)
{
	_cleanup_(server_config_freep) struct server_config *config = NULL;
	struct settings_given given = {};
	const struct cli_options group = { options, ARRAY_SIZE(options), &given };
	struct error err = {}, unknown = {};
	const struct task *task = NULL;
	int r = cli_parse(command, &group, 1, &argc, argv, &err);

	if (r > 0 && given.is_version_asked)
		puts("jobmeter-server " JOBMETER_VERSION);
	if (r == 0 || given.is_version_asked)
		return CLI_WELL;
	if (r > 0)
		r = find_task(argc, argv, &given, &task, &err);
	if (r >= 0 && set_options(&given) < 0)
		r = error_set_errno(&err, ENOMEM, "cannot start");
	if (r >= 0)
		r = server_config_load(given.config, environ, &config, &unknown, &err);
	if (r < 0)
		return cli_misuse(command, &err);
	if (*unknown.text)
		cli_say(command, &unknown);
	if (given.dumps)
		return server_config_dump(config, stdout) < 0 ? CLI_FAILED : CLI_WELL;
	given.model_file = config->model_file;
	given.takes_estimates = config->predicts_from_estimates;
	r = task ? run_task(task, &given, given.to ? file_of(given.to) : config->database,
			    task->takes ? argv[argc - 1] : NULL, &err)
		 : server_run(config, &err);
	return r < 0 ? cli_fail(command, &err) : CLI_WELL;
}

const struct cli_command cmd_server = {
	.program = "jobmeter-server",
	.arguments =
		"[OPTION...] [backup FILE | reindex | check | forget | move | predict evaluate | predict train | token create | list | revoke N]",
	.summary = "Keep the records of a site's jobs, and show users their own",
	.details =
		"backup FILE   copy the database, while the server goes on\n"
		"check         whether the usage is what the jobs add up to\n"
		"reindex       make the columns of the jobs again of their records; it can be broken off\n"
		"forget        delete all records of the user that --user names\n"
		"move          copy all from one database into another, and compare; again, it goes on\n"
		"predict evaluate  replay the jobs of the past, or those of --swf or --sacct: how well each would\n"
		"              have been predicted from those before it, by each model\n"
		"predict train the same, and keep the best models, which the server uses from then on\n"
		"token         create one for --user, with which they read their jobs by HTTP: it is\n"
		"              printed once; list them all; revoke one\n",
	.run = run_server,
};
