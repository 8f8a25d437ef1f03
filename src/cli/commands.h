/* SPDX-License-Identifier: MIT */
/* commands - the subcommands, each in its cmd_*.c. */
#pragma once

#include "basic/cli.h"

extern const struct cli_command cmd_advise;
extern const struct cli_command cmd_compare;
extern const struct cli_command cmd_doctor;
extern const struct cli_command cmd_energy;
extern const struct cli_command cmd_gpu;
extern const struct cli_command cmd_insights;
extern const struct cli_command cmd_jobs;
extern const struct cli_command cmd_predict;
extern const struct cli_command cmd_report;
extern const struct cli_command cmd_run;
extern const struct cli_command cmd_seff;
extern const struct cli_command cmd_top;
extern const struct cli_command cmd_trace;
extern const struct cli_command cmd_up;
extern const struct cli_command cmd_usage;
extern const struct cli_command cmd_watch;

/* All of them, as help lists them. */
extern const struct cli_command *const commands[];
extern const size_t command_count;
