/* SPDX-License-Identifier: MIT */
/* sbatch - what a command line of sbatch, or the #SBATCH lines of a script, ask for. */
#pragma once

#include <jansson.h>

struct error;

#define SBATCH_SCRIPT_MAX (4u << 20) /* bytes */

/* @argv: behind "sbatch".  Its script, or @script where it is not NULL, is read too: the command
 * line wins.  *ret, the caller's: a map as POST /api/v1/predict wants it.  Options that say nothing
 * of what a job takes are passed over.  -EINVAL: an option's value is none. */
int sbatch_parse(int argc, char **argv, const char *script, json_t **ret, struct error *err);
