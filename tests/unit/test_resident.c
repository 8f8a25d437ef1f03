/* SPDX-License-Identifier: MIT */
#include "basic/resident.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* Of files, KiB. */
static unsigned long mapped_kib(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long kib = 0;
	char line[256];

	ASSERT(status);
	while (fgets(line, sizeof(line), status)) {
		if (strncmp(line, "RssFile:", 8) == 0)
			kib = strtoul(line + 8, NULL, 10);
	}
	fclose(status);
	return kib;
}

TEST(what_is_dropped_is_less_than_there_was_and_comes_back)
{
	unsigned long before = mapped_kib();

	ASSERT(before > 0);
	resident_drop_text();
	ASSERT(mapped_kib() < before);
}
