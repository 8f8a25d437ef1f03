/* SPDX-License-Identifier: MIT */
/* site_report - what the jobs of a site, an account or a user did in some time: tables of a few
 * rows each, for those who run the site. */
#pragma once

#include <stddef.h>

#include "basic/cli.h"
#include "model/job_filter.h"

struct error;
struct output;

#define SITE_REPORT_USERS 8

struct site_report_options { /* begins as {}; filled by cli_parse() */
	const char *type; /* "waste"; NULL: none was asked for */
	struct job_filter filter;
	struct { /* side by side */
		const char *names[SITE_REPORT_USERS];
		size_t count;
	} users;
};

/* As struct cli_option wants it: into a site_report_options, at its users. */
int site_report_parse_user(const char *text, void *at, struct error *err);
int site_report_parse_type(const char *text, void *at, struct error *err);
const char *site_report_type_word(const void *target, size_t i);

/* Print it in the output's format.  @database: as reader_open() has it.  Without --since it is of
 * the last 7 days. */
int site_report_print(const struct cli_command *command, const struct site_report_options *options,
		      const char *database, const struct output *output, int *exit_code,
		      struct error *err);
