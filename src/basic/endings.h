/* SPDX-License-Identifier: MIT */
/* endings - signals by which somebody asks a program that looks again and again for its end. */
#pragma once

/* From now on SIGINT, SIGTERM and SIGHUP interrupt nothing, and make the descriptor that is
 * returned readable. -errno. */
int endings_open(void);
