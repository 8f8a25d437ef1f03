/* SPDX-License-Identifier: MIT */
#include <malloc.h>

#include "server/server.h"
#include "basic/inherited.h"

int main(int argc, char **argv)
{
	inherited_set_right(022);
	/* What a large batch took goes back to the kernel. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 256 << 10);
	return cmd_server.run(&cmd_server, argc, argv);
}
