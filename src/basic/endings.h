/* SPDX-License-Identifier: MIT */
/* endings - the signals that ask a polling program to end. */
#pragma once

/* From now on SIGINT, SIGTERM and SIGHUP interrupt nothing, and make the descriptor that is
 * returned readable. -errno. */
int endings_open(void);
