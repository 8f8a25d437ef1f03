/* SPDX-License-Identifier: MIT */
/* job_state - the folded part of jobs, written down: a file of state for each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "node/state.h"

struct registry;
struct registry_job;

/* The file name of a job. @maker: the user who made its cgroups, since others may choose the
 * same id; -1: none. Any bytes are valid, and names are unique; very long ids (130 bytes if most
 * are no letters, else 220) are replaced by a digest. -ENAMETOOLONG: the manager's name is too
 * long. */
int state_name(const char *manager, const char *id, int64_t maker, char ret[STATE_NAME_SIZE]);

/* Into a registry that has learned nothing yet.  What is not to be taken is set aside. */
int job_state_read(struct state *state, struct registry *registry, struct error *err);

/* Each job that changed.  False: not all could be written, and the others will be tried again. */
bool job_state_write(struct state *state, struct registry *registry);

/* One, whether it changed or not. */
bool job_state_write_one(struct state *state, struct registry_job *job);

/* The same, before the kernel side of that number is erased: see state_write_last().  -Exxx: not
 * all could be written, and it must not be. */
int job_state_write_last(struct state *state, struct registry *registry, uint32_t kernel_side,
			 struct error *err);
/* One, whether it changed or not. */
int job_state_write_last_one(struct state *state, struct registry_job *job, uint32_t kernel_side,
			     struct error *err);

void job_state_remove(struct state *state, struct registry_job *job);
