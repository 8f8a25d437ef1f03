/* SPDX-License-Identifier: MIT */
/*
 * complaint - why libbpf could not load an object, in one line.
 *
 * libbpf logs much, through one hook without a context, and ends with a summary ("failed to load
 * BPF skeleton").  The reason is the verifier's last line before its statistics, or libbpf's first
 * message.
 */
#pragma once

#include <stdbool.h>

struct complaint {
	char text[160]; /* "": nothing heard */
	bool is_verifiers; /* the best reason there is */
};

/* Hear one message, which may be of many lines. */
void complaint_hear(struct complaint *c, const char *message);

/* From now on, until complaint_stop(), hear what libbpf warns of in this thread. */
void complaint_listen(struct complaint *c);
void complaint_stop(void);
