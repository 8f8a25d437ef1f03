/* SPDX-License-Identifier: MIT */
/*
 * server_json - a list of jobs as a server answers it, from JSON.
 *
 * The server is trusted no more than a file: -EPROTO: the text is no such list, and *ret stays as
 * it was.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;
struct job_rows;

/* @text may be NULL: an empty answer.  The jobs are added to *rows; *ret_more: the server has more
 * of them. */
int server_parse_jobs(const char *text, size_t length, struct job_rows *rows, bool *ret_more,
		      struct error *err);
