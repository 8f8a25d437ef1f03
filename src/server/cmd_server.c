/* SPDX-License-Identifier: MIT */
#include "server/cmd_server.h"

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
#include "server/server.h"
#include "server/server_config.h"
#include "server/store/store.h"

#define PREFIX "JOBMETER_SERVER_"

struct settings_given {
	const char *config, *database, *listen, *socket, *user;
	bool dumps, is_insecure, is_version_asked;
};

#define AT(member) offsetof(struct settings_given, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "config", 0, "FILE", "settings (" SERVER_CONFIG_PATH ")", AT(config), NULL },
	{ "database", 0, "FILE", "the database, as the setting 'database'", AT(database), NULL },
	{ "listen", 0, "ADDRESS", "where nodes push, as the setting 'listen'", AT(listen), NULL },
	{ "socket", 0, "PATH", "where users ask, as the setting 'socket.path'", AT(socket), NULL },
	{ "insecure", 0, NULL, "take records without a token, as 'insecure: on' does", AT(is_insecure), NULL },
	{ "user", 0, "USER", "with 'forget': whose records are deleted, a name or a number", AT(user), NULL },
	{ "dump-config", 0, NULL, "show what holds, and where it comes from, and end", AT(dumps), NULL },
	{ "version", 0, NULL, "say which one this is, and end", AT(is_version_asked), NULL },
};
/* clang-format on */

/* ---- what is done with the database ---- */

struct task {
	const struct cli_command *command;
	const struct settings_given *given;
	struct store *store;
	const char *argument; /* NULL: none was given */
};

static int run_backup(const struct task *task, struct error *err)
{
	return store_backup(task->store, task->argument, err);
}

static void tell_progress(void *context UNUSED, uint64_t done)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%" PRIu64 " records", done);
}

static int run_reindex(const struct task *task, struct error *err)
{
	int r = store_reindex(task->store, tell_progress, NULL, err);

	if (isatty(STDERR_FILENO))
		fputc('\n', stderr);
	return r;
}

static int64_t find_uid(const char *user)
{
	const struct passwd *entry = getpwnam(user);
	uint64_t uid;

	if (entry)
		return entry->pw_uid;
	return parse_u64(user, &uid) == 0 && uid <= UINT32_MAX ? (int64_t)uid : -1;
}

static int run_forget(const struct task *task, struct error *err)
{
	const char *user = task->given->user;
	uint64_t records = 0;
	int r = store_forget(task->store, user, find_uid(user), clock_now_ns(CLOCK_REALTIME),
			     &records, err);

	if (r >= 0)
		printf("%" PRIu64 " records deleted\n", records);
	return r;
}

static const struct task_row {
	const char *word;
	bool wants_argument, wants_user;
	enum store_mode mode;
	int (*run)(const struct task *task, struct error *err);
} task_rows[] = {
	{ "backup", true, false, STORE_READ, run_backup },
	{ "reindex", false, false, STORE_WRITE, run_reindex },
	{ "forget", false, true, STORE_WRITE, run_forget },
};

static int run_task(const struct task_row *row, const struct server_config *config,
		    struct task *task)
{
	struct error err = {};
	int r = 0;

	/* nothing is made where there is nothing */
	if (access(config->database, F_OK) < 0)
		r = error_set_errno(&err, errno, "cannot open the database '%s'", config->database);
	if (r >= 0)
		r = store_open(config->database, row->mode, &task->store, &err);
	if (r >= 0)
		r = row->run(task, &err);
	store_close(task->store);
	return r < 0 ? cli_fail(task->command, &err) : CLI_WELL;
}

/* ---- the command line ---- */

static int serve(const struct cli_command *command, const struct server_config *config)
{
	struct server *server = NULL;
	struct error err = {};
	int r = server_open(config, &server, &err);

	if (r >= 0)
		r = server_run(server);
	server_close(server);
	return r < 0 ? cli_fail(command, &err) : CLI_WELL;
}

/* An option goes before the environment, which goes before the file. */
static int set_option(const char *name, const char *value)
{
	return value && setenv(name, value, 1) < 0 ? -errno : 0;
}

/* Settings want absolute paths; of the command line one is relative to where we are. */
static int set_path(const char *name, const char *path)
{
	_cleanup_free_ char *whole = NULL, *here = NULL;

	if (!path || *path == '/' || !*path)
		return set_option(name, path);
	here = getcwd(NULL, 0);
	if (!here || asprintf(&whole, "%s/%s", here, path) < 0) {
		whole = NULL;
		return -ENOMEM;
	}
	return set_option(name, whole);
}

static int set_options(const struct settings_given *given)
{
	int r = set_path(PREFIX "DATABASE", given->database);

	if (r >= 0)
		r = set_path(PREFIX "SOCKET_PATH", given->socket);
	if (r >= 0)
		r = set_option(PREFIX "LISTEN", given->listen);
	return r < 0 ? r : set_option(PREFIX "INSECURE", given->is_insecure ? "on" : NULL);
}

static int find_task(int argc, char **argv, const struct settings_given *given,
		     const struct task_row **ret, struct error *err)
{
	*ret = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(task_rows) && argc; i++) {
		if (strcmp(task_rows[i].word, argv[0]) == 0)
			*ret = &task_rows[i];
	}
	if (argc && !*ret)
		return error_set(err, -EINVAL, "'%s' is none of backup, reindex, forget", argv[0]);
	if (*ret && argc != ((*ret)->wants_argument ? 2 : 1))
		return error_set(err, -EINVAL, "'%s' takes %s", argv[0],
				 (*ret)->wants_argument ? "the name of a file" : "no argument");
	if (*ret && (*ret)->wants_user && !given->user)
		return error_set(err, -EINVAL, "'%s' wants --user NAME", argv[0]);
	if (given->user && !(*ret && (*ret)->wants_user))
		return error_set(err, -EINVAL, "--user goes with 'forget' only");
	return 0;
}

static int run_with(const struct cli_command *command, const struct settings_given *given, int argc,
		    char **argv)
{
	_cleanup_(server_config_freep) struct server_config *config = NULL;
	struct task task = { .command = command, .given = given };
	const struct task_row *row;
	struct error err = {}, unknown = {};
	int r = find_task(argc, argv, given, &row, &err);

	if (r >= 0 && set_options(given) < 0)
		r = error_set_errno(&err, ENOMEM, "cannot start");
	if (r >= 0)
		r = server_config_load(given->config, environ, &config, &unknown, &err);
	if (r < 0)
		return cli_misuse(command, &err);
	if (*unknown.text)
		cli_say(command, &unknown);
	if (given->dumps)
		return server_config_dump(config, stdout) < 0 ? CLI_FAILED : CLI_WELL;
	if (!row)
		return serve(command, config);
	task.argument = row->wants_argument ? argv[1] : NULL;
	return run_task(row, config, &task);
}

static int run_server(const struct cli_command *command, int argc, char **argv)
{
	struct settings_given given = {};
	const struct cli_options group = { options, ARRAY_SIZE(options), &given };
	struct error err = {};
	int r = cli_parse(command, &group, 1, &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r < 0)
		return cli_misuse(command, &err);
	if (given.is_version_asked) {
		puts("jobmeter-server " JOBMETER_VERSION);
		return CLI_WELL;
	}
	return run_with(command, &given, argc, argv);
}

const struct cli_command cmd_server = {
	.program = "jobmeter-server",
	.arguments = "[OPTION...] [backup FILE | reindex | forget]",
	.summary = "Keep the records of a site's jobs, and show each user his own",
	.details =
		"backup FILE   copy the database, while the server goes on\n"
		"reindex       make the columns of the jobs again of their records; it can be broken off\n"
		"forget        delete all records of the user that --user names\n",
	.run = run_server,
};
