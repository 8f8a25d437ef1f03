/* SPDX-License-Identifier: MIT */
/* saved - measures a command as `jobmeter run` does, with options that no user has, and saves its
 * record. */
#pragma once

struct error;
struct measure_options;

/* Returns the command's exit code; on failure *err says why, in words. */
int saved_measure(const struct measure_options *options, char **command, const char *file,
		  struct error *err);
