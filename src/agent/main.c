/* SPDX-License-Identifier: MIT */
#include <malloc.h>

#include "agent/agent.h"
#include "basic/inherited.h"

int main(int argc, char **argv)
{
	inherited_set_right(022);
	/* Large buffers go back to the kernel, whatever was freed before: readings come and go. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 256 << 10);
	return cmd_agent.run(&cmd_agent, argc, argv);
}
