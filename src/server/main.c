/* SPDX-License-Identifier: MIT */
#include <malloc.h>

#include "server/cmd_server.h"

int main(int argc, char **argv)
{
	/* What a large batch took goes back to the kernel. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 256 << 10);
	return cmd_server.run(&cmd_server, argc, argv);
}
