/* SPDX-License-Identifier: MIT */
/* Whatever comes where an agent's reply should: it is taken whole, bounded, and the same however it
 * is cut. */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "basic/macro.h"
#include "client/reply.h"

#define BODY_MAX 64

static int take(const uint8_t *data, size_t size, size_t piece, struct reply *ret)
{
	int r = 0;

	for (size_t at = 0; r == 0 && at < size; at += piece)
		r = reply_feed(ret, (const char *)data + at, MIN(piece, size - at));
	return r == 0 ? reply_end(ret) : MIN(r, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reply whole = { .max = BODY_MAX }, cut = { .max = BODY_MAX };
	int r = take(data, size, size + 1, &whole), r_cut = take(data, size, 1 + size % 7, &cut);

	CHECK(whole.length <= BODY_MAX && (!whole.text || strlen(whole.text) <= whole.length));
	CHECK((r == -EPROTO) == (whole.why != NULL));
	CHECK((r < 0) == (r_cut < 0)); /* of a body that is too long and wrong, either may be seen
					  first */
	if (r == 0) {
		CHECK(whole.status >= 100 && whole.status == cut.status &&
		      whole.length == cut.length);
		CHECK(!whole.length ||
		      (whole.text && cut.text && memcmp(whole.text, cut.text, whole.length) == 0));
	}
	reply_clear(&whole);
	reply_clear(&cut);
	return 0;
}
