/* SPDX-License-Identifier: MIT */
/* Whatever a BMC answers: it is a power whose bytes stand there, or refused in a line. */
#include <errno.h>
#include <string.h>

#include "basic/error.h"
#include "fuzz.h"
#include "sources/dcmi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dcmi_power power = { .watts = UINT64_MAX };
	struct error err = {};
	int r = dcmi_parse(data, size, &power, &err);

	CHECK(r == 0 || r == -EPROTO || r == -EIO || r == -ENODATA);
	CHECK((r < 0) == (*err.text != '\0') && !strchr(err.text, '\n'));
	CHECK((r == -EIO) == (size && data[0]));
	if (r < 0)
		CHECK(power.watts == UINT64_MAX);
	else
		CHECK(size >= DCMI_ANSWER_SIZE && power.watts == data[2] + 256u * data[3]);
	return 0;
}
