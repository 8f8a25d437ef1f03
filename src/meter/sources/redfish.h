/* SPDX-License-Identifier: MIT */
/*
 * redfish - finds and reads the power of a chassis in a Redfish service (DMTF DSP0268):
 * EnvironmentMetrics, else all power supplies of PowerSubsystem, else the older Power.
 *
 * Pure: the caller sends the requests. Answers are not trusted: their size and number are bounded,
 * and links lead to the same service only.
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
	/* The text at @path, at most REDFISH_ANSWER_MAX bytes; the caller frees. -ENOENT: none;
	 * other errors end the search. */
	int (*get)(void *context, const char *path, char **ret, size_t *ret_length,
		   struct error *err);
	void *context;
};

/* @chassis: the Id of the node's; "": the only one with a power. -ENOENT: none; -EINVAL:
 * several, or a wrong answer; and errors of get(). */
int redfish_find(const struct redfish_service *service, const char *chassis,
		 struct redfish_place *ret, struct error *err);

/* In microwatts. -ENODATA: no value now; -EINVAL, and errors of get(). */
int redfish_read(const struct redfish_service *service, const struct redfish_place *place,
		 uint64_t *ret_uw, struct error *err);
