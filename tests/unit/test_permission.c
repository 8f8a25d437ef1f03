/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <grp.h>
#include <stdio.h>

#include "basic/error.h"
#include "basic/cleanup.h"
#include "http/http.h"
#include "model/job.h"
#include "service/permission.h"
#include "test.h"

#define FIRST 1000
#define SECOND 1001
#define ADMIN 1002

static struct permission *open_made(void)
{
	static const char *const names[] = { "root", NULL };
	struct permission *p = NULL;

	ASSERT_OK(permission_new(names, &p, NULL));
	return p;
}

/* ADMIN is in the group 0 ("root" everywhere), beside others. */
static struct http_peer peer_of(uid_t uid)
{
	struct http_peer peer = {
		.is_known = true, .uid = uid, .gid = uid, .groups = { uid, 7, 0 }
	};

	peer.group_count = uid == ADMIN ? 3 : 2;
	return peer;
}

TEST(a_user_sees_his_own_jobs_and_no_other)
{
	_cleanup_(permission_freep) struct permission *p = open_made();
	struct http_peer first = peer_of(FIRST), second = peer_of(SECOND);
	struct job job = { .uid = FIRST };

	ASSERT(permission_sees(p, &first, &job));
	ASSERT(!permission_sees(p, &second, &job));
	ASSERT(!permission_sees_all(p, &first));
}

TEST(root_and_admins_see_all)
{
	_cleanup_(permission_freep) struct permission *p = open_made();
	struct http_peer root = peer_of(0), admin = peer_of(ADMIN), primary = peer_of(SECOND);
	struct job job = { .uid = FIRST };

	primary.gid = 0; /* the admins' group as the primary one */
	ASSERT(permission_sees(p, &root, &job) && permission_sees_all(p, &root));
	ASSERT(permission_sees(p, &admin, &job) && permission_sees_all(p, &admin));
	ASSERT(permission_sees(p, &primary, &job));
}

TEST(a_job_of_nobody_known_is_seen_by_root_and_admins_only)
{
	_cleanup_(permission_freep) struct permission *p = open_made();
	struct http_peer root = peer_of(0), admin = peer_of(ADMIN), first = peer_of(FIRST);
	struct http_peer nobody = peer_of((uid_t)-1);
	struct job job = { .uid = -1 };

	ASSERT(permission_sees(p, &root, &job));
	ASSERT(permission_sees(p, &admin, &job));
	ASSERT(!permission_sees(p, &first, &job));
	ASSERT(!permission_sees(p, &nobody, &job)); /* -1 is no user's number */
}

TEST(a_peer_that_is_not_known_sees_nothing)
{
	_cleanup_(permission_freep) struct permission *p = open_made();
	struct http_peer unknown = {}; /* whose uid would be root's */
	struct job job = { .uid = 0 };

	ASSERT(!permission_sees(p, &unknown, &job));
	ASSERT(!permission_sees_all(p, &unknown));
}

TEST(without_named_groups_only_root_sees_all)
{
	struct permission *p = NULL;
	struct http_peer admin = peer_of(ADMIN), root = peer_of(0);

	ASSERT_OK(permission_new(NULL, &p, NULL));
	ASSERT(!permission_sees_all(p, &admin));
	ASSERT(permission_sees_all(p, &root));
	permission_free(p);
}

TEST(where_everyone_sees_all_only_who_is_not_known_does_not)
{
	_cleanup_(permission_freep) struct permission *p = open_made(), *strict = open_made();
	struct http_peer first = peer_of(FIRST), unknown = {};

	permission_open_to_all(p, true);
	ASSERT(permission_sees_all(p, &first));
	ASSERT(!permission_sees_all(p, &unknown));
	permission_become(p, TAKE_PTR(strict));
	ASSERT(!permission_sees_all(p, &first));
}

TEST(a_group_that_is_not_there_and_too_many_are_told)
{
	const char *const one[] = { "no-such-group", NULL };
	const char *many[PERMISSION_GROUPS_MAX + 2] = {};
	struct permission *p = NULL;
	struct error err = {};

	ASSERT_ERR(permission_new(one, &p, &err), -ENOENT);
	ASSERT_STREQ(err.text, "there is no group 'no-such-group'");
	for (size_t i = 0; i <= PERMISSION_GROUPS_MAX; i++)
		many[i] = "root";
	ASSERT_ERR(permission_new(many, &p, &err), -E2BIG);
	ASSERT(!p);
}
