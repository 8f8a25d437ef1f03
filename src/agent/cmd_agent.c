/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "basic/cleanup.h"
#include "config/config.h"
#include "config/metering.h"
#include "basic/error.h"
#include "cgroup/identity.h"
#include "basic/macro.h"
#include "service/privileges.h"
#include "service/token.h"

struct settings_given {
	const char *config, *root, *token_from;
	bool checks, dumps, is_insecure, is_version_asked;
};

#define AT(member) offsetof(struct settings_given, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "config", 0, "FILE", "read the settings from FILE (default: " CONFIG_PATH ")", AT(config), NULL },
	{ "check-config", 0, NULL, "check the settings, then exit", AT(checks), NULL },
	{ "dump-config", 0, NULL, "print all settings and where they come from, then exit", AT(dumps), NULL },
	{ "init-token-from", 0, "FILE", "copy the token in FILE to the setting token_file, then exit: all nodes can have one before their first start", AT(token_from), NULL },
	{ "insecure", 0, NULL, "serve TCP without a token, as 'insecure: on' does", AT(is_insecure), NULL },
	{ "root", 0, "DIR", "read proc and sys below this directory", AT(root), NULL },
	{ "version", 0, NULL, "print the version, then exit", AT(is_version_asked), NULL },
};
/* clang-format on */

static int install_token(const struct config *config, const char *from, struct error *err)
{
	struct service_user user = {};
	int r = service_user_find(config->user, &user, err);

	if (r >= 0)
		r = token_install(from, config->token_file, user.gid, err);
	if (r > 0)
		printf("%s has the token of %s now\n", config->token_file, from);
	return r;
}

static int serve(const struct cli_command *command, struct config *config, const char *root)
{
	struct agent *agent = NULL;
	struct error err = {};
	int r = agent_open(config, root, &agent, &err);

	if (r < 0)
		cli_fail(command, &err);
	else
		r = agent_run(agent); /* which says what fails */
	agent_close(agent);
	return r < 0 ? CLI_FAILED : CLI_WELL;
}

static int run_with(const struct cli_command *command, const struct settings_given *given)
{
	_cleanup_(identity_rules_freep) struct identity_rules *rules = NULL;
	struct error err = {}, unknown = {};
	struct config *config;
	int r;

	if (given->is_insecure)
		setenv("JOBMETER_INSECURE", "on", 1);
	r = config_load(given->config, environ, &config, &unknown, &err);
	/* only what uses the rules can judge them */
	if (r >= 0 && metering_read_rules(config, &rules, &err) < 0) {
		config_free(config);
		r = -EINVAL;
	}
	if (r < 0)
		return cli_misuse(command, &err);
	if (*unknown.text)
		cli_say(command, &unknown);
	if (!given->checks && !given->dumps && !given->token_from)
		return serve(command, config, given->root);
	r = given->dumps ? config_dump(config, stdout) : 0;
	if (given->token_from)
		r = install_token(config, given->token_from, &err);
	config_free(config);
	if (r < 0 && given->token_from)
		return cli_fail(command, &err);
	return r < 0 ? CLI_FAILED : CLI_WELL;
}

static int run_agent(const struct cli_command *command, int argc, char **argv)
{
	struct settings_given given = { .root = "/" };
	const struct cli_options group = { options, ARRAY_SIZE(options), &given };
	struct error err = {};
	int r = cli_parse(command, &group, 1, &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r > 0 && argc > 0)
		r = error_set(&err, -EINVAL, "'%s' is too much; --help lists what it takes",
			      argv[0]);
	if (r < 0)
		return cli_misuse(command, &err);
	if (given.is_version_asked) {
		puts("jobmeter-agent " JOBMETER_VERSION);
		return CLI_WELL;
	}
	return run_with(command, &given);
}

const struct cli_command cmd_agent = {
	.program = "jobmeter-agent",
	.arguments = "[OPTION...]",
	.summary = "Measure every job of this node, for Prometheus and for users without root",
	.details =
		"SIGHUP reads the settings again.  SIGTERM ends the agent and removes everything from the\n"
		"kernel.  SIGUSR1 ends the agent; the next one takes over what counts in the kernel.\n",
	.run = run_agent,
};
