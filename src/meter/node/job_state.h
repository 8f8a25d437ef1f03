/* SPDX-License-Identifier: MIT */
/* job_state - the folded part of jobs, written down: a file of state for each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct registry;
struct registry_job;
struct state;

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

void job_state_remove(struct state *state, struct registry_job *job);
