/* SPDX-License-Identifier: MIT */
#include "permission.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <time.h>

#include "cleanup.h"
#include "error.h"
#include "http.h"
#include "job.h"
#include "macro.h"

#define MEMBERSHIPS_MAX 1024 /* groups of one user that are looked at */
#define NAME_BUFFER 16384

struct cached {
	uid_t uid;
	gid_t gid;
	bool is_used, is_admin;
	uint64_t until_ns;
};

struct permission {
	gid_t groups[PERMISSION_GROUPS_MAX];
	size_t group_count;
	bool is_open;
	struct permission_source source;
	struct cached cached[PERMISSION_CACHED]; /* at the place that the uid gives */
};

static int list_groups(void *context, uid_t uid, gid_t primary, gid_t *groups, int max)
{
	_cleanup_free_ char *buffer = malloc(NAME_BUFFER);
	struct passwd entry, *found = NULL;

	(void)context;
	if (!buffer)
		return -ENOMEM;
	if (getpwuid_r(uid, &entry, buffer, NAME_BUFFER, &found) != 0 || !found)
		return 0; /* no name, no supplementary groups */
	(void)getgrouplist(entry.pw_name, primary, groups, &max);
	return max;
}

static uint64_t monotonic_ns(void *context)
{
	struct timespec t;

	(void)context;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int find_group(const char *name, gid_t *ret, struct error *err)
{
	_cleanup_free_ char *buffer = malloc(NAME_BUFFER);
	struct group entry, *found = NULL;
	int r;

	if (!buffer)
		return -ENOMEM;
	r = getgrnam_r(name, &entry, buffer, NAME_BUFFER, &found);
	if (r)
		return error_set_errno(err, r, "cannot look up the group '%s'", name);
	if (!found)
		return error_set(err, -ENOENT, "there is no group '%s'", name);
	*ret = entry.gr_gid;
	return 0;
}

int permission_new(const char *const *groups, struct permission **ret, struct error *err)
{
	_cleanup_(permission_freep) struct permission *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->source = (struct permission_source){ .list = list_groups, .now_ns = monotonic_ns };
	for (; groups && *groups; groups++) {
		int r;

		if (p->group_count >= PERMISSION_GROUPS_MAX)
			return error_set(err, -E2BIG, "more than %d groups may see all",
					 PERMISSION_GROUPS_MAX);
		r = find_group(*groups, &p->groups[p->group_count], err);
		if (r < 0)
			return r;
		p->group_count++;
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

void permission_set_source(struct permission *p, const struct permission_source *source)
{
	p->source = *source;
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

/* Of a user with more groups than we look at, the first ones count. */
static bool is_member(const struct permission *p, uid_t uid, gid_t gid)
{
	_cleanup_free_ gid_t *groups = calloc(MEMBERSHIPS_MAX, sizeof(*groups));
	int count =
		groups ? p->source.list(p->source.context, uid, gid, groups, MEMBERSHIPS_MAX) : 0;

	for (int i = 0; i < MIN(count, MEMBERSHIPS_MAX); i++) {
		if (is_admins(p, groups[i]))
			return true;
	}
	return false;
}

static bool is_admin(struct permission *p, uid_t uid, gid_t gid)
{
	struct cached *cached = &p->cached[uid % PERMISSION_CACHED];
	uint64_t now = p->source.now_ns(p->source.context);

	if (!cached->is_used || cached->uid != uid || cached->gid != gid || cached->until_ns <= now)
		*cached = (struct cached){
			.uid = uid,
			.gid = gid,
			.is_used = true,
			.is_admin = is_member(p, uid, gid),
			.until_ns = now + PERMISSION_CACHED_S * UINT64_C(1000000000),
		};
	return cached->is_admin;
}

bool permission_sees_all(struct permission *p, const struct http_peer *peer)
{
	if (!peer->is_known)
		return false;
	if (p->is_open || peer->uid == 0 || is_admins(p, peer->gid))
		return true;
	return p->group_count && is_admin(p, peer->uid, peer->gid);
}

bool permission_sees(struct permission *p, const struct http_peer *peer, const struct job *job)
{
	if (peer->is_known && job->uid >= 0 && (uint64_t)job->uid == peer->uid)
		return true;
	return permission_sees_all(p, peer);
}
