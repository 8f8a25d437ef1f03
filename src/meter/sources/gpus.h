/* SPDX-License-Identifier: MIT */
/* gpus - the GPUs on the PCI bus, and their drivers. Listed only. */
#pragma once

#include <stddef.h>

struct gpu {
	const char *vendor; /* "NVIDIA" */
	char address[32]; /* "0000:17:00.0" */
	char device[16]; /* the vendor's own number: "0x2335" */
	char driver[32]; /* "": none */
};

#define GPUS_MAX 64

struct gpus {
	struct gpu items[GPUS_MAX];
	size_t count;
	char nvidia_driver[32]; /* version of NVIDIA's kernel driver; "": not loaded */
};

/* What is not there is no error; other makers' display controllers are no GPUs here. */
void gpus_read(int root_fd, struct gpus *ret);
