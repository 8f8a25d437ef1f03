/* SPDX-License-Identifier: MIT */
/* Whatever a server says of a batch: each line is an answer or is told to be none, nothing is read
 * behind the end, and what lacks its end says nothing. */
#include <errno.h>
#include <string.h>

#include "basic/error.h"
#include "fuzz.h"
#include "spool/sender.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	size_t length = size;

	for (;;) {
		struct answer answer = { .kind = ANSWER_KINDS };
		size_t before = length;
		struct error err = {};
		int r = answer_next(&text, &length, &answer, &err);

		CHECK(text + length == (const char *)data + size && length <= before);
		if (r == 0) {
			CHECK(length == before && !memchr(text, '\n', length));
			return 0;
		}
		CHECK(length < before);
		if (r < 0) {
			CHECK(r == -EBADMSG && *err.text && answer.kind == ANSWER_KINDS);
			continue;
		}
		CHECK(answer.kind < ANSWER_KINDS);
		for (const char *p = answer.reason; *p; p++)
			CHECK((unsigned char)*p >= ' ' && *p != 127);
	}
}
