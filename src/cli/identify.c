/* SPDX-License-Identifier: MIT */
#include "identify.h"

#include <string.h>

#include "file.h"
#include "record.h"

static char *read_word(int root_fd, const char *path)
{
	char text[256];

	if (file_read_small(root_fd, path, text, sizeof(text)) < 0)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return strdup(text);
}

void identify_node(int root_fd, struct record *record)
{
	record->node = read_word(root_fd, "proc/sys/kernel/hostname");
	record->boot_id = read_word(root_fd, "proc/sys/kernel/random/boot_id");
	record->agent_version = strdup(JOBMETER_VERSION);
}
