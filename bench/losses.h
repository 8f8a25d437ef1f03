/* SPDX-License-Identifier: MIT */
/* losses - works whose speed is taken: by a process that computes, by one that switches, by two MPI
 * ranks. */
#pragma once

struct error;

enum loss {
	LOSS_COMPUTE, /* a tight loop on every CPU */
	LOSS_SWITCH, /* stress-ng --switch */
	LOSS_MPI, /* two ranks that hand a message to and fro */
	LOSS_COUNT,
};

const char *loss_name(enum loss loss);

/* NULL: it can be measured here; else why not.  @pingpong: the program, or NULL. */
const char *loss_missing(enum loss loss, const char *pingpong);

/* How much is done in a second, over some @seconds. */
int loss_measure(enum loss loss, const char *pingpong, int seconds, double *ret, struct error *err);
