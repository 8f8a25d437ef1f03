/* SPDX-License-Identifier: MIT */
/* commands - the subcommands; each stands in its cmd_*.c. */
#pragma once

#include "cli.h"

extern const struct cli_command cmd_doctor;
extern const struct cli_command cmd_report;
extern const struct cli_command cmd_run;
extern const struct cli_command cmd_watch;
