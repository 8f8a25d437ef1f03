/* SPDX-License-Identifier: MIT */
/*
 * client_json - the agent's answers, from JSON.
 *
 * The agent is trusted no more than a file: -EPROTO: the text is not such an answer, and *ret stays
 * as it was.
 */
#pragma once

#include <stddef.h>

#include "client/client.h"

/* @text may be NULL: an empty answer. */
int client_parse_jobs(const char *text, size_t length, struct client_jobs *ret, struct error *err);
int client_parse_agent(const char *text, size_t length, struct client_agent *ret,
		       struct error *err);
int client_parse_group(const char *text, size_t length, struct client_group *ret,
		       struct error *err);
int client_parse_run(const char *text, size_t length, struct client_group *ret, struct error *err);

/* {"error": "..."}: what it says; the caller frees.  NULL: it is not that. */
char *client_parse_error(const char *text, size_t length);
