/* SPDX-License-Identifier: MIT */
/* answerer - a socket on which a made agent or server stands. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* A listening socket of that name in test_dir(); its path is *ret_path. */
int listen_at(const char *name, char *ret_path, size_t size);

/* A process that gives @answers (up to NULL), one a connection, and ends; the requests' first lines
 * go to @log. */
pid_t answer_with(int fd, const char *const *answers, FILE *log);

#define WELL "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
