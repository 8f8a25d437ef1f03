/* SPDX-License-Identifier: MIT */
/*
 * span_sender - a process that brings spans to the site's collector (export/otlp_sender.h) for one
 * that has rights: it has the network and none of these, and is given nothing but requests.
 *
 * Requests come in parts of a fixed size, so that one that is cut off leaves the next whole.  What
 * came of spans is said in the log: at the end, and when more than twice as many are missing.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct error;
struct service_user;

/* Fork it, as root and before rights are given up.  It ends when all ends of *ret_fd are closed,
 * some seconds later at most, which who forked it waits for. */
int span_sender_start(const char *url, const struct service_user *user, int *ret_fd, pid_t *ret_pid,
		      struct error *err);

/* As struct otlp_options has it; @fd points to that end.  What cannot be sent is dropped. */
int span_sender_put(void *fd, char *request, size_t length, size_t spans);
