/* SPDX-License-Identifier: MIT */
#include "cli/on_demand.h"

#include <errno.h>
#include <stdint.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "client/client.h"

#define FILES_MOST (1 << 20) /* some 2 GiB of maps */

static int parse_files_max(const char *text, void *at, struct error *err)
{
	int number;

	if (parse_int(text, 1, FILES_MOST, &number) < 0)
		return error_set(err, -EINVAL, "'--files-max' is a number from 1 to %d, not '%s'",
				 FILES_MOST, text);
	*(unsigned int *)at = (unsigned int)number;
	return 0;
}

/* clang-format off */
const struct cli_option on_demand_options[] = {
	{ "files", 0, NULL, "report which files and directories were used most, and how",
	  offsetof(struct on_demand, follows_files), NULL },
	{ "files-max", 0, "N", "follow at most N files without the agent (default: 16384; 2 KiB each)",
	  offsetof(struct on_demand, files_max), parse_files_max },
	{ "syscalls", 0, NULL, "report which system calls took most time, and which failed",
	  offsetof(struct on_demand, names_syscalls), NULL },
};
/* clang-format on */

const size_t on_demand_option_count = ARRAY_SIZE(on_demand_options);

bool on_demand_is_counted(const struct on_demand *d, struct client *client)
{
	_cleanup_(client_agent_clear) struct client_agent agent = {};

	if (!d->follows_files && !d->names_syscalls)
		return true;
	if (client_get_agent(client, &agent, NULL) < 0)
		return false;
	return (!d->follows_files || strings_contain(&agent.tiers, "T3 (files)")) &&
	       (!d->names_syscalls || strings_contain(&agent.tiers, "T3 (syscalls)"));
}

unsigned int on_demand_files(const struct on_demand *d)
{
	return d->follows_files ? d->files_max : 0;
}
