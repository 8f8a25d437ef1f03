/* SPDX-License-Identifier: MIT */
/* cmd_server - what people type to start a server, or to look after its database. */
#pragma once

#include "basic/cli.h"

extern const struct cli_command cmd_server;
