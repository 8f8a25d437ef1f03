/* SPDX-License-Identifier: MIT */

#include "cli/commands.h"
#include "test.h"
#include "typed.h"

TEST(lines_are_those_of_seff_in_their_order)
{
	ASSERT_TYPED(cmd_seff, CLI_WELL, "DATA/made-train.json",
		     "Job ID: ", "\nCluster: unknown\nUser/Group: made-user/unknown\n",
		     "\nState: COMPLETED (exit code 0)\n"
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
	ASSERT_TYPED(cmd_seff, CLI_WELL, "DATA/made-short.json", "\nMemory Efficiency: unknown\n");
}

TEST(a_job_has_to_be_named)
{
	ASSERT_TYPED(cmd_seff, CLI_USAGE, "");
}
