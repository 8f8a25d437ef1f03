/* SPDX-License-Identifier: MIT */
#include "cli/traced_job.h"

#include <fcntl.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/file.h"
#include "cgroup/hierarchy.h"
#include "cgroup/placement.h"
#include "cli/watch_groups.h"

static bool find_target(int root_fd, const struct hierarchy *h, const struct watch_target *target,
			struct identity *ret)
{
	_cleanup_free_ char *path = NULL;

	return watch_groups_find(root_fd, h, target, &path, NULL) == 0 &&
	       identity_of(NULL, path, ret);
}

static bool find_process(int root_fd, const struct hierarchy *h, pid_t pid, struct identity *ret)
{
	struct placement p = {};
	bool is_found = false;

	if (placement_read(root_fd, h, pid, &p, NULL) == 0) {
		is_found = p.has_identity;
		*ret = p.has_outer ? p.outer : p.identity;
	}
	placement_clear(&p);
	return is_found;
}

void traced_job_find(const struct watch_target *target, pid_t pid, struct traced_job *ret)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct identity found = {};
	bool is_found;

	*ret = (struct traced_job){};
	if (root_fd < 0 || hierarchy_read(root_fd, &h, NULL) < 0)
		return;
	is_found = target ? find_target(root_fd, &h, target, &found)
			  : find_process(root_fd, &h, pid, &found);
	if (!is_found)
		return;
	ret->identity = found;
	if (strcmp(found.manager, "run") != 0 ||
	    file_read_small(root_fd, "proc/sys/kernel/random/boot_id", ret->scope,
			    sizeof(ret->scope)) < 0)
		ret->scope[0] = '\0';
	ret->scope[strcspn(ret->scope, "\n")] = '\0';
}
