/* SPDX-License-Identifier: MIT */
/* log - lines for people on the standard error; with the priority that the journal knows, where
 * that listens. */
#pragma once

#include "config/config.h" /* the levels */
#include "basic/macro.h"

/* The program's name, if the journal does not know it: "jobmeter-agent" unless set; kept. */
void log_set_program(const char *name);
/* Less urgent messages are dropped. */
void log_set_level(enum config_log_level level);
void log_say(enum config_log_level level, const char *format, ...) PRINTF_LIKE(2, 3);
