/* SPDX-License-Identifier: MIT */
/* Whatever a collector answers: no more is rejected than was sent, and a reason is one line that
 * fits. */
#include <string.h>

#include "export/otlp_sender.h"
#include "fuzz.h"

#define SENT 97

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[OTLP_SENDER_REASON_SIZE];

	memset(why, '-', sizeof(why));
	why[sizeof(why) - 1] = '\0';
	CHECK(otlp_answer_parse((const char *)data, size, SENT, why) <= SENT);
	CHECK(memchr(why, '\0', sizeof(why)));
	for (const char *p = why; *p; p++)
		CHECK((unsigned char)*p >= ' ' && *p != 127);
	return 0;
}
