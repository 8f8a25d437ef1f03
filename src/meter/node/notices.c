/* SPDX-License-Identifier: MIT */
#include "node/notices.h"

#include <inttypes.h>

static bool is_over(const struct notices *n, uint64_t now_ns)
{
	return now_ns - n->since_ns >= NOTICES_PERIOD_NS;
}

void notices_add(struct notices *n, uint64_t now_ns, const struct error *line)
{
	if (n->count && n->told == n->count && !n->left_out && is_over(n, now_ns))
		n->count = n->told = 0;
	if (!n->count)
		n->since_ns = now_ns;
	if (n->count < NOTICES_MAX)
		n->lines[n->count++] = *line;
	else
		n->left_out++;
}

bool notices_get(struct notices *n, uint64_t now_ns, struct error *ret)
{
	if (n->told < n->count) {
		*ret = n->lines[n->told++];
		return true;
	}
	if (!n->left_out || !is_over(n, now_ns))
		return false;
	error_set(ret, 0, "%" PRIu64 " more were like '%.400s'", n->left_out,
		  n->lines[n->count - 1].text);
	n->count = n->told = n->left_out = 0;
	return true;
}
