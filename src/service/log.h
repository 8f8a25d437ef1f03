/* SPDX-License-Identifier: MIT */
/* log - lines for people on the standard error; with the priority that the journal knows, where
 * that listens. */
#pragma once

#include "config/config.h" /* the levels */
#include "basic/macro.h"

/* Who says it, where the journal does not know: "jobmeter-agent" unless it is set; kept. */
void log_set_program(const char *name);
/* What is less urgent is not said. */
void log_set_level(enum config_log_level level);
void log_say(enum config_log_level level, const char *format, ...) PRINTF_LIKE(2, 3);
