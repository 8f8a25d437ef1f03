/* SPDX-License-Identifier: MIT */
/*
 * site_rules - the rules as this site and this user have them, in layers: those that are built in,
 * above them the site's file (/etc/jobmeter/insights.yaml; $JOBMETER_INSIGHTS names another one,
 * and empty none), and the user's own ($XDG_CONFIG_HOME/jobmeter/insights.yaml, without it
 * ~/.config/...).  Neither need be there.
 *
 * What they say stands in reports as advice: so each must be root's or the reader's own, and nobody
 * else may write to it.  One that is not, or is broken, is told in one line and left out; it stops
 * no report.
 */
#pragma once

#include <stddef.h>

struct cli_command;
struct error;
struct rules;

#define SITE_RULES_PATH "/etc/jobmeter/insights.yaml"

/* @more: a file above all of them, that was asked for by name; NULL: none.  Who may write to it is
 * not asked.  Fails only if that one is broken or not there, or -ENOMEM. */
int site_rules_load(const struct cli_command *command, const char *more, struct rules **ret,
		    struct error *err);

/* What is wrong with a file above those that are built in; the result is for counting. */
int site_rules_check(const char *path, struct rules **ret, struct error *err);
