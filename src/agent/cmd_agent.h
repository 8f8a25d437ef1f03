/* SPDX-License-Identifier: MIT */
/* cmd_agent - what people type to start an agent. */
#pragma once

#include "basic/cli.h"

extern const struct cli_command cmd_agent;
