/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"

#include "basic/macro.h"

const struct cli_command *const commands[] = {
	&cmd_run,     &cmd_watch,   &cmd_top,	   &cmd_jobs,	&cmd_usage, &cmd_report,
	&cmd_compare, &cmd_seff,    &cmd_insights, &cmd_trace,	&cmd_up,    &cmd_energy,
	&cmd_gpu,     &cmd_predict, &cmd_advise,   &cmd_doctor,
};
const size_t command_count = ARRAY_SIZE(commands);
