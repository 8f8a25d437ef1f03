/* SPDX-License-Identifier: MIT */
/*
 * site_rules - loads the rules of this site and user.  There are three layers, each overriding the
 * one before: the built-in rules, the site's file (/etc/jobmeter/insights.yaml, or the file that
 * $JOBMETER_INSIGHTS names; if that is empty, no file) and the user's file
 * ($XDG_CONFIG_HOME/jobmeter/insights.yaml, by default ~/.config/...).  Both files are optional.
 *
 * Rules put advice into reports.  So a file must belong to root or to the reader, and only its
 * owner may write to it.  One that fails this check, or is broken, is skipped with a one-line
 * warning; the report is printed without it.
 */
#pragma once

#include <stddef.h>

struct cli_command;
struct error;
struct rules;

#define SITE_RULES_PATH "/etc/jobmeter/insights.yaml"

/* @more: a file that was named on the command line and overrides all layers; NULL: none.  Its owner
 * and mode are not checked.  Fails only if that file is broken or missing, or with -ENOMEM. */
int site_rules_load(const struct cli_command *command, const char *more, struct rules **ret,
		    struct error *err);

/* Check the file at @path on top of the built-in rules.  @ret is for counting its rules. */
int site_rules_check(const char *path, struct rules **ret, struct error *err);
