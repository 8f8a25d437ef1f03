/* SPDX-License-Identifier: MIT */
/*
 * dcmi - the node's power from its BMC by IPMI: the command "Get Power Reading" of the Data Center
 * Manageability Interface (DCMI 1.5, 6.6.1), by ioctl on /dev/ipmi0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define DCMI_NETFN 0x2c
#define DCMI_GET_POWER 0x02
#define DCMI_ANSWER_SIZE 19 /* its completion code included */
#define DCMI_REQUEST                   \
	{                              \
		0xdc, 0x01, 0x00, 0x00 \
	} /* of the system's statistics */

/* Of its mean, least and greatest power nothing is taken: they are over a period that the BMC
 * chooses, and may be days. */
struct dcmi_power {
	uint64_t watts; /* now */
	uint32_t stamp; /* the BMC's own time of it, in seconds; 0, or always the same: it has none
			 */
};

/* -EPROTO: not such an answer; -EIO: the BMC refused; -ENODATA: it measures no power now. *err
 * has the reason. */
int dcmi_parse(const uint8_t *data, size_t length, struct dcmi_power *ret, struct error *err);
