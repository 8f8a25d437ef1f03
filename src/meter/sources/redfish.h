/* SPDX-License-Identifier: MIT */
/*
 * redfish - where a Redfish service says what power a chassis takes, and what it says (DMTF
 * DSP0268): EnvironmentMetrics, else the power supplies of PowerSubsystem, all of them, else the
 * older Power.
 *
 * Pure: who asks is the caller's.  What comes is trusted no more than a file: its size and the
 * number of questions are bounded, and a link leads to the same service only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;

#define REDFISH_PATH_SIZE 256
#define REDFISH_CHASSIS_MAX 32
#define REDFISH_SUPPLIES_MAX 16
#define REDFISH_ANSWER_MAX (256u << 10)

enum redfish_kind { REDFISH_METRICS, REDFISH_SUPPLIES, REDFISH_POWER };

struct redfish_place {
	enum redfish_kind kind;
	size_t count; /* of its paths; 1, or as many as there are supplies */
	char paths[REDFISH_SUPPLIES_MAX][REDFISH_PATH_SIZE];
};

struct redfish_service {
	/* The text at @path, which the caller frees, of at most REDFISH_ANSWER_MAX bytes.  -ENOENT:
	 * there is none; other errors end all. */
	int (*get)(void *context, const char *path, char **ret, size_t *ret_length,
		   struct error *err);
	void *context;
};

/* @chassis: the Id of the one that is the node; "": the only one that has a power.  -ENOENT: there
 * is none; -EINVAL: there are several, or an answer is wrong; and what get() returns. */
int redfish_find(const struct redfish_service *service, const char *chassis,
		 struct redfish_place *ret, struct error *err);

/* In microwatts.  -ENODATA: it says none now; -EINVAL, and what get() returns. */
int redfish_read(const struct redfish_service *service, const struct redfish_place *place,
		 uint64_t *ret_uw, struct error *err);
