/* SPDX-License-Identifier: MIT */

#include "basic/cleanup.h"
#include "cli/commands.h"
#include "test.h"
#include "typed.h"

static int seff(const char *line, char **ret)
{
	return typed(&cmd_seff, line, ret);
}

TEST(lines_are_those_of_seff_in_their_order)
{
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(seff("DATA/made-train.json", &text), CLI_WELL);
	ASSERT_CONTAINS(text, "Job ID: ");
	ASSERT_CONTAINS(text, "\nCluster: unknown\nUser/Group: made-user/unknown\n");
	ASSERT_CONTAINS(text, "\nState: COMPLETED (exit code 0)\n"
			      "Nodes: 1\n"
			      "Cores per node: 4\n"
			      "CPU Utilized: 00:04:41\n"
			      "CPU Efficiency: 52.55% of 00:08:56 core-walltime\n"
			      "Job Wall-clock time: 00:02:14\n"
			      "Memory Utilized: 3.10 GB\n"
			      "Memory Efficiency: 19.37% of 16.00 GB (16.00 GB/node)\n");
}

TEST(what_is_not_known_is_not_zero)
{
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(seff("DATA/made-short.json", &text), CLI_WELL);
	ASSERT_CONTAINS(text, "\nMemory Efficiency: unknown\n");
}

TEST(a_job_has_to_be_named)
{
	_cleanup_free_ char *text = NULL;

	ASSERT_EQ(seff("", &text), CLI_USAGE);
}
