/* SPDX-License-Identifier: MIT */
#include "service/permission.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "http/http.h"
#include "model/job.h"
#include "basic/macro.h"

struct permission {
	gid_t groups[PERMISSION_GROUPS_MAX];
	size_t group_count;
	bool is_open;
};

int permission_new(const char *const *groups, struct permission **ret, struct error *err)
{
	_cleanup_(permission_freep) struct permission *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	for (; groups && *groups; groups++) {
		const struct group *group;

		if (p->group_count >= PERMISSION_GROUPS_MAX)
			return error_set(err, -E2BIG, "more than %d groups may see all",
					 PERMISSION_GROUPS_MAX);
		errno = 0;
		group = getgrnam(*groups);
		if (!group && errno && errno != ENOENT && errno != ESRCH)
			return error_set_errno(err, errno, "cannot find the group '%s'", *groups);
		if (!group)
			return error_set(err, -ENOENT, "there is no group '%s'", *groups);
		p->groups[p->group_count++] = group->gr_gid;
	}
	*ret = TAKE_PTR(p);
	return 0;
}

struct permission *permission_free(struct permission *p)
{
	free(p);
	return NULL;
}

void permission_freep(struct permission **p)
{
	permission_free(*p);
}

void permission_open_to_all(struct permission *p, bool is_open)
{
	p->is_open = is_open;
}

void permission_become(struct permission *p, struct permission *other)
{
	*p = *other;
	permission_free(other);
}

static bool is_admins(const struct permission *p, gid_t gid)
{
	for (size_t i = 0; i < p->group_count; i++) {
		if (p->groups[i] == gid)
			return true;
	}
	return false;
}

bool permission_sees_all(struct permission *p, const struct http_peer *peer)
{
	if (!peer->is_known)
		return false;
	if (p->is_open || peer->uid == 0 || is_admins(p, peer->gid))
		return true;
	for (size_t i = 0; i < MIN(peer->group_count, (size_t)HTTP_GROUPS_MAX); i++) {
		if (is_admins(p, peer->groups[i]))
			return true;
	}
	return false;
}

bool permission_sees(struct permission *p, const struct http_peer *peer, const struct job *job)
{
	if (peer->is_known && job->uid >= 0 && (uint64_t)job->uid == peer->uid)
		return true;
	return permission_sees_all(p, peer);
}
