/* SPDX-License-Identifier: MIT */
/*
 * prolog - what the site's prolog wrote of a job: run/jobmeter/jobs/MANAGER-ID.json below the root.
 *
 * Only root's word counts: the directory and the file must be root's, and nobody else's to write.
 * One map, of which any member may be missing and others are ignored:
 *
 *   {"user": "ada", "uid": 1000, "account": "physics", "partition": "long", "qos": "normal",
 * "name": "train", "sluid": "sEKNKTV3WPV500", "array_id": "42", "array_index": 3, "het_offset": 0,
 * "cores": 4.5, "memory_limit_bytes": 17179869184, "gpus": [0, 1]}
 *
 * "id" counts where the job is known by its SLUID alone so far: in MANAGER-SLUID.json.
 * "gpus" are the minor numbers of their devices; an empty list says that there are none.
 */
#pragma once

#include <stddef.h>

#include "model/job.h"

struct error;

#define PROLOG_DIR "run/jobmeter/jobs" /* by default */
#define PROLOG_BYTES_MAX 65536

/*
 * Fill in what the file in @dir, a path below @root_fd, says of @job, whose manager and id name it;
 * what it does not say is left alone.  On failure nothing is taken.  -ENOENT: there is no such
 * file, nor a directory; -EPERM: somebody else than root could have written it; -EINVAL: what
 * stands there is odd.  @err says which.  A job whose id is no name of a file has none: -ENOENT.
 */
int prolog_read(int root_fd, const char *dir, struct job *job, struct error *err);

/* The same from a text. */
int prolog_parse(const char *text, size_t length, struct job *job, struct error *err);
