/* SPDX-License-Identifier: MIT */
/* Any text as a mountinfo file: what is taken as mounts can be asked for, and is freed. */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "error.h"
#include "fuzz.h"
#include "mounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	_cleanup_(mounts_clear) struct mounts mounts = {};
	struct error err;

	if (mounts_parse(text, &mounts, &err) < 0)
		return 0;
	for (size_t i = 0; i < mounts.count && i < 64; i++) {
		const struct mount *found = mounts_find(&mounts, mounts.items[i].device);

		if (found && found->device != mounts.items[i].device)
			abort();
	}
	(void)mounts_find_type(&mounts, "cgroup", "memory");
	return 0;
}
