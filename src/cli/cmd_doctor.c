/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "selftest/checkup.h"
#include "basic/cleanup.h"
#include "basic/cli.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "model/document.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "cli/output.h"
#include "report/page.h"
#include "basic/parse.h"
#include "cgroup/placement.h"

struct settings {
	const char *root;
	int explained_pid; /* 0: none */
	bool is_verbose, is_without_costs, is_quick;
};

/* What is to be printed: a checkup, the place of a process, or how healthy the node is. */
struct finding {
	const struct settings *settings;
	const struct strings *reasons; /* of the last */
	struct checkup *checkup;
	const struct placement *placement;
	struct hierarchy *hierarchy;
	const struct doctor_agent *agent;
};

static int parse_pid(const char *text, void *at, struct error *err)
{
	if (parse_int(text, 1, INT32_MAX, at) < 0)
		return error_set(err, -EINVAL, "'%s' is no process id", text);
	return 0;
}

#define AT(member) offsetof(struct settings, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "verbose", 'v', NULL, "print each hook and each sensor", AT(is_verbose), NULL },
	{ "quick", 0, NULL, "ask only the agent whether this node's numbers are right, for node health checks", AT(is_quick), NULL },
	{ "no-costs", 0, NULL, "do not measure the costs, which takes 2 seconds", AT(is_without_costs), NULL },
	{ "explain-pid", 0, "PID", "print the job of a process, and the rule that found it", AT(explained_pid), parse_pid },
	{ "root", 0, "DIR", "read proc and sys below DIR", AT(root), NULL },
};
/* clang-format on */

static void print_text(const struct finding *f, FILE *out)
{
	struct page page = page_for(out);
	char name[64];

	if (f->reasons) {
		doctor_agent_print_health(f->agent, f->reasons, &page);
		return;
	}
	if (!f->placement) {
		doctor_text(f->checkup, f->agent, f->settings->is_verbose, &page);
		return;
	}
	if (f->hierarchy->is_v2)
		snprintf(name, sizeof(name), "the v2 hierarchy");
	else
		snprintf(name, sizeof(name), "the v1 hierarchy %s",
			 controller_name(f->hierarchy->key));
	doctor_text_placement(f->placement, f->agent, name, &page);
}

static int write_to(const struct finding *f, const struct output *output, FILE *out)
{
	_cleanup_(document_freep) struct document *d = NULL;

	if (output->format == OUTPUT_TEXT) {
		print_text(f, out);
		return 0;
	}
	d = output_new_document(output, out);
	if (!d)
		return -ENOMEM;
	if (f->reasons)
		doctor_agent_put_health(f->agent, f->reasons, d);
	else if (f->placement)
		doctor_document_placement(f->placement, f->agent, f->hierarchy, d);
	else
		doctor_document(f->checkup, f->agent, d);
	return document_finish(d);
}

static int write_file(const struct output *output, const void *finding, FILE *out,
		      struct error *err)
{
	int r = write_to(finding, output, out);

	return r < 0 ? error_set_errno(err, r, "cannot write '%s'", output->file) : 0;
}

static int print(const struct finding *f, const struct output *output, struct error *err)
{
	bool is_for_people = output->format == OUTPUT_TEXT;
	int r = 0;

	if (output->file) {
		r = output_save_by(output, write_file, f, err);
		if (r < 0 || is_for_people || output->is_quiet)
			return r;
		print_text(f, stdout);
	} else if (!is_for_people || !output->is_quiet) {
		r = write_to(f, output, stdout);
	}
	if (fflush(stdout) != 0 || r < 0)
		return error_set_errno(err, r < 0 ? r : errno,
				       "cannot write to the standard output");
	return 0;
}

/* A captured tree has no agent. */
static bool is_own_machine(const struct settings *settings)
{
	return strcmp(settings->root, "/") == 0;
}

static int explain(int root_fd, const struct settings *settings, const struct output *output,
		   struct error *err)
{
	_cleanup_(hierarchy_clear) struct hierarchy hierarchy = {};
	_cleanup_(placement_clear) struct placement placement = {};
	_cleanup_(doctor_agent_clear) struct doctor_agent agent = {};
	const struct finding finding = { .settings = settings,
					 .placement = &placement,
					 .hierarchy = &hierarchy,
					 .agent = &agent };
	int r = hierarchy_read(root_fd, &hierarchy, err);

	if (r >= 0)
		r = placement_read(root_fd, &hierarchy, settings->explained_pid, &placement, err);
	if (r >= 0 && is_own_machine(settings))
		doctor_agent_ask(&agent, settings->explained_pid);
	return r < 0 ? r : print(&finding, output, err);
}

/* 0: healthy; 1: not. */
static int examine_quickly(const struct settings *settings, const struct output *output,
			   struct error *err)
{
	_cleanup_(doctor_agent_clear) struct doctor_agent agent = {};
	_cleanup_(strings_clear) struct strings reasons = {};
	const struct finding finding = { .settings = settings,
					 .reasons = &reasons,
					 .agent = &agent };
	int r;

	doctor_agent_ask(&agent, 0);
	r = doctor_agent_judge(&agent, &reasons);
	if (r < 0)
		return error_set_errno(err, r, "cannot examine this machine");
	r = print(&finding, output, err);
	return r < 0 ? r : reasons.count > 0;
}

static void checkup_freep(struct checkup **c)
{
	if (*c)
		checkup_clear(*c);
	free(*c);
}

/* 0: the default set works, here or in the agent; 1: it does not. */
static int examine(int root_fd, const struct settings *settings, const struct output *output,
		   struct error *err)
{
	_cleanup_(checkup_freep) struct checkup *checkup = calloc(1, sizeof(*checkup));
	_cleanup_(doctor_agent_clear) struct doctor_agent agent = {};
	const struct finding finding = { .settings = settings,
					 .checkup = checkup,
					 .agent = &agent };
	int r = checkup ? checkup_make(root_fd, !settings->is_without_costs, checkup) : -ENOMEM;

	if (r < 0)
		return error_set_errno(err, r, "cannot examine this machine");
	if (is_own_machine(settings))
		doctor_agent_ask(&agent, 0);
	r = print(&finding, output, err);
	return r < 0 ? r : !checkup_is_well(checkup) && !doctor_agent_is_well(&agent, checkup);
}

static int check_usage(int argc, char **argv, const struct settings *settings,
		       struct output *output, struct error *err)
{
	if (argc > 0)
		return error_set(err, -EINVAL, "doctor takes no argument, got '%s'", argv[0]);
	if (settings->is_quick && (settings->explained_pid || !is_own_machine(settings)))
		return error_set(err, -EINVAL, "--quick asks the agent of this node alone");
	return output_settle(output, err);
}

static int run_doctor(const struct cli_command *command, int argc, char **argv)
{
	struct settings settings = { .root = "/" };
	struct output output = { .no_csv = "doctor has no csv output" };
	const struct cli_options groups[] = {
		{ output_options, output_document_option_count, &output },
		{ options, ARRAY_SIZE(options), &settings },
	};
	_cleanup_close_ int root_fd = -EBADF;
	struct error err = {};
	int r = cli_parse(command, groups, ARRAY_SIZE(groups), &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r < 0 || check_usage(argc, argv, &settings, &output, &err) < 0)
		return cli_misuse(command, &err);
	root_fd = open(settings.root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		r = error_set_errno(&err, errno, "cannot open '%s'", settings.root);
	else
		r = output_check(&output, &err);
	if (r >= 0 && settings.is_quick)
		r = examine_quickly(&settings, &output, &err);
	else if (r >= 0)
		r = settings.explained_pid ? explain(root_fd, &settings, &output, &err)
					   : examine(root_fd, &settings, &output, &err);
	if (r < 0)
		return cli_fail(command, &err);
	return r > 0 ? CLI_FAILED : CLI_WELL;
}

const struct cli_command cmd_doctor = {
	.name = "doctor",
	.arguments = "[OPTION...]",
	.summary = "Check what this machine can measure and at what cost",
	.details =
		"doctor attaches each hook and checks its counts against known operations.\n"
		"Exit code: 0: totals and files by mount work, here or in the agent of this node; 1: they\n"
		"do not; 2: wrong usage. With --quick 0: the node is healthy; 1: it is not.\n",
	.run = run_doctor,
};
