/* SPDX-License-Identifier: MIT */
/* Any text as a process' stat: a name may hold whatever its owner likes. */
#include <string.h>

#include "fuzz.h"
#include "jobs/job_command.h"
#include "tui/processes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[2048];
	struct process p = { .pid = -1 };
	struct job_command c = { .pid = -1 };

	size = size < sizeof(text) ? size : sizeof(text) - 1;
	memcpy(text, data, size);
	text[size] = '\0';
	if (job_command_parse_stat(text, &c) < 0)
		CHECK(c.pid == -1 && !*c.name);
	else
		CHECK(c.pid > 0 && strlen(c.name) < JOB_COMMAND_SIZE);
	if (process_parse_stat(text, &p) < 0) {
		CHECK(p.pid == -1 && !p.state);
		return 0;
	}
	CHECK(p.pid >= 0 && p.state && strlen(p.name) < PROCESS_NAME_SIZE);
	return 0;
}
