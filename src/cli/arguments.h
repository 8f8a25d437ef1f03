/* SPDX-License-Identifier: MIT */
/* arguments - records that are named on the command line. */
#pragma once

struct cli_command;
struct error;
struct records;

/* A file, a directory of files, "-", or the id of a local run or of a job that the agent of this
 * node knows.  A file of a directory that is no record is told in the name of @command, and costs
 * *exit_code. */
int argument_read(const struct cli_command *command, const char *argument, struct records *records,
		  int *exit_code, struct error *err);

/* All of them; none stands for the newest local run. */
int arguments_read(const struct cli_command *command, int argc, char **argv,
		   struct records *records, int *exit_code, struct error *err);

/* Replace the records by one that is all of them. */
int arguments_merge(struct records *records, struct error *err);
