/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "cleanup.h"
#include "http.h"
#include "job.h"
#include "permission.h"
#include "test.h"

#define FIRST 1000
#define SECOND 1001
#define ADMIN 1002

/* A made table of groups: ADMIN is in the group 0 ("root" everywhere), beside his own. */
struct groups {
	uint64_t now_ns;
	int asked;
	bool has_left;
};

static int list_made(void *context, uid_t uid, gid_t primary, gid_t *groups, int max)
{
	struct groups *made = context;

	made->asked++;
	if (max > 0)
		groups[0] = primary;
	if (uid != ADMIN || made->has_left)
		return 1;
	if (max > 1)
		groups[1] = 0;
	return 2;
}

static uint64_t made_now(void *context)
{
	return ((struct groups *)context)->now_ns;
}

static struct permission *open_made(struct groups *made)
{
	static const char *const names[] = { "root", NULL };
	struct permission *p = NULL;

	ASSERT_OK(permission_new(names, &p, NULL));
	permission_set_source(p, &(struct permission_source){ list_made, made_now, made });
	return p;
}

static struct http_peer peer_of(uid_t uid)
{
	return (struct http_peer){ .is_known = true, .uid = uid, .gid = uid };
}

TEST(a_user_sees_his_own_jobs_and_no_other)
{
	struct groups made = {};
	_cleanup_(permission_freep) struct permission *p = open_made(&made);
	struct http_peer first = peer_of(FIRST), second = peer_of(SECOND);
	struct job job = { .uid = FIRST };

	ASSERT(permission_sees(p, &first, &job));
	ASSERT(!permission_sees(p, &second, &job));
	ASSERT(!permission_sees_all(p, &first));
}

TEST(root_and_admins_see_all)
{
	struct groups made = {};
	_cleanup_(permission_freep) struct permission *p = open_made(&made);
	struct http_peer root = peer_of(0), admin = peer_of(ADMIN), primary = peer_of(SECOND);
	struct job job = { .uid = FIRST };

	primary.gid = 0; /* the admins' group as the primary one */
	ASSERT(permission_sees(p, &root, &job) && permission_sees_all(p, &root));
	ASSERT(permission_sees(p, &admin, &job) && permission_sees_all(p, &admin));
	ASSERT(permission_sees(p, &primary, &job));
}

TEST(a_job_of_nobody_known_is_seen_by_root_and_admins_only)
{
	struct groups made = {};
	_cleanup_(permission_freep) struct permission *p = open_made(&made);
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
	struct groups made = {};
	_cleanup_(permission_freep) struct permission *p = open_made(&made);
	struct http_peer unknown = {}; /* whose uid would be root's */
	struct job job = { .uid = 0 };

	ASSERT(!permission_sees(p, &unknown, &job));
	ASSERT(!permission_sees_all(p, &unknown));
}

TEST(groups_are_remembered_for_some_seconds_and_then_asked_again)
{
	struct groups made = { .now_ns = 5 };
	_cleanup_(permission_freep) struct permission *p = open_made(&made);
	struct http_peer admin = peer_of(ADMIN);

	ASSERT(permission_sees_all(p, &admin));
	made.has_left = true;
	ASSERT(permission_sees_all(p, &admin));
	ASSERT_EQ(made.asked, 1);
	made.now_ns += PERMISSION_CACHED_S * UINT64_C(1000000000);
	ASSERT(!permission_sees_all(p, &admin));
	ASSERT_EQ(made.asked, 2);
}

TEST(what_is_remembered_of_one_is_never_taken_for_another)
{
	struct groups made = {};
	_cleanup_(permission_freep) struct permission *p = open_made(&made);
	struct http_peer admin = peer_of(ADMIN), same_place = peer_of(ADMIN + PERMISSION_CACHED);

	ASSERT(permission_sees_all(p, &admin));
	ASSERT(!permission_sees_all(p, &same_place));
	ASSERT(permission_sees_all(p, &admin));
}

TEST(without_named_groups_only_root_sees_all_and_nobody_is_asked)
{
	struct permission *p = NULL;
	struct groups made = {};
	struct http_peer admin = peer_of(ADMIN), root = peer_of(0);

	ASSERT_OK(permission_new(NULL, &p, NULL));
	permission_set_source(p, &(struct permission_source){ list_made, made_now, &made });
	ASSERT(!permission_sees_all(p, &admin));
	ASSERT(permission_sees_all(p, &root));
	ASSERT_EQ(made.asked, 0);
	permission_free(p);
}

TEST(the_systems_own_groups_are_read)
{
	const struct group *group = getgrgid(getgid());
	const char *names[] = { group ? group->gr_name : "root", NULL };
	struct http_peer own = { .is_known = true, .uid = getuid(), .gid = (gid_t)-2 };
	struct permission *p = NULL;

	ASSERT_OK(permission_new(names, &p, NULL));
	(void)permission_sees_all(p, &own); /* whoever we are: getgrouplist() was asked */
	own.gid = group ? group->gr_gid : 0;
	ASSERT(permission_sees_all(p, &own));
	permission_free(p);
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
