/* SPDX-License-Identifier: MIT */
/*
 * server - takes records on TCP, and shows jobs on a Unix socket to those whose they are.
 *
 * It may be started as root, and goes on as the user of its settings, without a right.
 */
#pragma once

struct error;
struct server;
struct server_config;

/* @config stays the caller's, and has to outlive the server. */
int server_open(const struct server_config *config, struct server **ret, struct error *err);
struct server *server_close(struct server *s); /* NULL is fine; returns NULL */

/* Until SIGTERM or SIGINT. */
int server_run(struct server *s);
