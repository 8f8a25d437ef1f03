/* SPDX-License-Identifier: MIT */
/* arguments - records that are named on the command line. */
#pragma once

#include "basic/cli.h"

struct error;
struct reader;
struct records;

struct arguments { /* begins as {}; filled by cli_parse() */
	const char *database; /* where alone ids are looked for: as reader_open() has it; NULL:
				 local runs, the agent, the server */
	const char *cluster; /* not NULL: likewise there alone, jobs of this cluster */
	int exit_code; /* CLI_FAILED, if a file of a directory was no record */
	struct reader *reader; /* private: opened when it is needed */
};
void arguments_clear(struct arguments *a);

/* For files of a directory that are no records: a message in the name of the command, and a failure
 * as exit code. */
struct complaint {
	const struct cli_command *command;
	int *exit_code;
};
void complaint_tell(void *complaint, const struct error *err);

/* As struct cli_option wants it. */
int argument_parse_url(const char *text, void *at, struct error *err);
extern const struct cli_option arguments_options[]; /* their target is a struct arguments */
extern const size_t arguments_option_count;

/* A file, a directory of files, "-", or the id of a local run, of a job that the agent of this node
 * knows, or of one that the site's server does ("123", "slurm/123", "123@node17").  A file of a
 * directory that is no record is told in the name of @command, and costs the exit code.  A job on
 * several nodes has several records. */
int argument_read(const struct cli_command *command, struct arguments *a, const char *argument,
		  struct records *records, struct error *err);

/* All arguments; without any, the newest local run. */
int arguments_read(const struct cli_command *command, struct arguments *a, int argc, char **argv,
		   struct records *records, struct error *err);

/* Of records of one job on one node, as an agent writes them while it runs, the last one counts;
 * @command says how many are left out. */
void arguments_keep_newest(const struct cli_command *command, struct records *records);

/* Replace the records by one that is all of them. */
int arguments_merge(struct records *records, struct error *err);
