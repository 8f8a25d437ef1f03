/* SPDX-License-Identifier: MIT */
/*
 * factors - a process that asks a provider for the emission factors of the site's zone, once a
 * site, and keeps them in a file as emission_factors_read() reads it.
 *
 * It is forked before the server gives up its rights, gives up its own, and ends with the server.
 * A value that is late or was null comes with a later question, each of which covers a day.  Values
 * that were corrected come behind the former ones.  After a failure, or where a quota is used up,
 * it waits a quarter of an hour, or as long as the provider says.
 */
#pragma once

#include "energy/emission.h"

struct error;
struct server_config;
struct service_user;

extern const char *const factors_providers[]; /* "none" first; NULL-ended */

/* The kind of what the provider says. */
enum emission_kind factors_kind(unsigned int provider);
/* Whether it wants emissions.provider_key_file. */
bool factors_wants_key(unsigned int provider);

/* *ret_fd: it ends when that is closed. */
int factors_start(const struct server_config *config, const struct service_user *user, int *ret_fd,
		  struct error *err);
