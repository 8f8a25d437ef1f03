/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "config.h"
#include "error.h"
#include "identity.h"
#include "macro.h"

#define FAILED 1
#define MISUSED 2

static const char usage[] =
	"usage: jobmeter-agent [OPTION...]\n"
	"Measures every job of this node: for Prometheus, and for people without root.\n"
	"\n"
	"  --config FILE    settings (" CONFIG_PATH ")\n"
	"  --check-config   say whether the settings are right, and end\n"
	"  --dump-config    show what holds, and where it comes from, and end\n"
	"  --insecure       serve TCP without a token, as 'insecure: on' does\n"
	"  --root DIR       read proc and sys below this folder\n"
	"  --help, --version\n"
	"\n"
	"SIGHUP reads the settings again; SIGTERM ends, and leaves nothing in the kernel;\n"
	"SIGUSR1 ends, and leaves what counts to the next agent.\n";

struct arguments {
	const char *config, *root;
	bool checks, dumps;
};

static int say(int code, const struct error *err)
{
	fprintf(stderr, "jobmeter-agent: %s\n", err->text);
	return code;
}

static int misuse(const char *format, const char *text)
{
	struct error err = {};

	error_set(&err, -EINVAL, format, text);
	return say(MISUSED, &err);
}

/* -1: go on. */
static int parse(int argc, char **argv, struct arguments *ret)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "check-config", no_argument, NULL, 'k' },
		{ "dump-config", no_argument, NULL, 'd' },
		{ "insecure", no_argument, NULL, 'i' },
		{ "root", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{},
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", options, NULL)) >= 0) {
		switch (option) {
		case 'c':
			ret->config = optarg;
			break;
		case 'k':
			ret->checks = true;
			break;
		case 'd':
			ret->dumps = true;
			break;
		case 'i':
			setenv("JOBMETER_INSECURE", "on", 1);
			break;
		case 'r':
			ret->root = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'v':
			puts("jobmeter-agent " JOBMETER_VERSION);
			return 0;
		case ':':
			return misuse("'%s' needs a value; see 'jobmeter-agent --help'",
				      argv[optind - 1]);
		default:
			return misuse("there is no option '%s'; see 'jobmeter-agent --help'",
				      argv[optind - 1]);
		}
	}
	return optind < argc ? misuse("'%s' is too much; see 'jobmeter-agent --help'", argv[optind])
			     : -1;
}

/* What only its user can judge. */
static int check_rules(const struct config *config, struct error *err)
{
	struct identity_rules *rules = identity_rules_new();
	int r = rules ? 0 : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < config->rules.count; i++) {
		r = identity_rules_add(rules, setting_list_get(&config->rules, i, CONFIG_RULE_NAME),
				       setting_list_get(&config->rules, i, CONFIG_RULE_MANAGER),
				       setting_list_get(&config->rules, i, CONFIG_RULE_PATTERN), 0,
				       err);
		if (r < 0)
			error_prefix(err, r, "rules[%zu]", i);
	}
	identity_rules_free(rules);
	return r;
}

static int run(struct config *config, const char *root)
{
	struct agent *agent = NULL;
	struct error err = {};
	int r = agent_open(config, root, &agent, &err);

	if (r < 0)
		say(FAILED, &err);
	else
		r = agent_run(agent); /* which says what fails */
	agent_close(agent);
	return r < 0 ? FAILED : 0;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .root = "/" };
	struct error err = {}, unknown = {};
	struct config *config;
	int r = parse(argc, argv, &arguments);

	if (r >= 0)
		return r;
	/* Large buffers go back to the kernel, whatever was freed before: readings come and go. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 256 << 10);
	r = config_load(arguments.config, environ, &config, &unknown, &err);
	if (r >= 0 && check_rules(config, &err) < 0) {
		config_free(config);
		r = -EINVAL;
	}
	if (r < 0)
		return say(MISUSED, &err);
	if (*unknown.text)
		fprintf(stderr, "jobmeter-agent: %s\n", unknown.text);
	if (!arguments.checks && !arguments.dumps)
		return run(config, arguments.root);
	r = arguments.dumps ? config_dump(config, stdout) : 0;
	config_free(config);
	return r < 0 ? FAILED : 0;
}
