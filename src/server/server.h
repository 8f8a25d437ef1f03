/* SPDX-License-Identifier: MIT */
/*
 * server - takes records on TCP, and shows jobs on a Unix socket to those whose they are.
 *
 * It may be started as root, and goes on as the user of its settings, without a right.
 */
#pragma once

struct error;
struct server_config;

/* Until SIGTERM, SIGINT or SIGHUP.  Negative: it could not start, and *err says why. */
int server_run(const struct server_config *config, struct error *err);
