/* SPDX-License-Identifier: MIT */
#include "cgroup/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/dir.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "test.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD "0f1e2d3c-1111-2222-3333-444455556666"

static const char *or_dash(const char *text)
{
	return *text ? text : "-";
}

static void tell(const struct identity *id, char *ret, size_t size)
{
	snprintf(ret, size, "%s %s %s %s %s %s", id->manager, id->job, or_dash(id->step),
		 or_dash(id->task), or_dash(id->user), id->rule);
}

/* Whose @path is, as a layout writes it. */
static void describe(const char *path, char *ret, size_t size)
{
	struct identity id;

	if (identity_of(NULL, path, &id))
		tell(&id, ret, size);
	else
		snprintf(ret, size, "none");
}

static size_t check_layout(const char *name)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	size_t count = 0;

	ASSERT(asprintf(&path, "layouts/%s", name) > 0);
	text = test_data(path);
	ASSERT_CONTAINS(
		text,
		"# A layout: drawn from a description, not captured from a machine.\n# Source: ");
	for (char *rest = text, *line; (line = parse_next_line(&rest));) {
		char found[2048], *arrow = strstr(line, " -> ");

		if (*line == '#')
			continue;
		ASSERT(arrow);
		*arrow = '\0';
		describe(line, found, sizeof(found));
		if (strcmp(found, arrow + 4) != 0)
			fprintf(stderr, "%s: %s\n", name, line);
		ASSERT_STREQ(found, arrow + 4);
		count++;
	}
	return count;
}

TEST(each_layout_gives_its_jobs_and_their_parts)
{
	_cleanup_(dir_clear) struct dir dir = {};
	size_t count = 0;

	ASSERT_OK(dir_read(AT_FDCWD, TEST_DATA "/layouts", 100, &dir));
	for (size_t i = 0; i < dir.count; i++)
		count += check_layout(dir.names[i]);
	ASSERT(dir.count >= 12 && count > 80);
}

TEST(each_built_in_rule_has_a_layout_that_it_matches)
{
	_cleanup_(dir_clear) struct dir dir = {};
	const char *name, *manager, *pattern;

	ASSERT_OK(dir_read(AT_FDCWD, TEST_DATA "/layouts", 100, &dir));
	for (size_t rule = 0; identity_builtin(rule, &name, &manager, &pattern); rule++) {
		char end[64];
		bool is_there = false;

		snprintf(end, sizeof(end), " %s\n", name);
		for (size_t i = 0; i < dir.count; i++) {
			_cleanup_free_ char *path = NULL, *text = NULL;

			ASSERT(asprintf(&path, "layouts/%s", dir.names[i]) > 0);
			text = test_data(path);
			is_there |= strstr(text, end) != NULL;
		}
		if (strcmp(name, "root-unit") == 0) /* no manager makes one, but some init systems
						       might */
			continue;
		if (!is_there)
			fprintf(stderr, "no layout of %s\n", name);
		ASSERT(is_there);
	}
}

TEST(built_in_rules_are_such_as_a_site_might_write)
{
	const char *name, *manager, *pattern;

	for (size_t i = 0; identity_builtin(i, &name, &manager, &pattern); i++) {
		_cleanup_(identity_rules_freep) struct identity_rules *rules = identity_rules_new();
		struct error err = {};

		if (identity_rules_add(rules, name, manager, pattern, false, &err) < 0)
			fprintf(stderr, "%s: %s\n", name, err.text);
		ASSERT_OK(identity_rules_add(rules, name, manager, pattern, false, &err));
	}
}

TEST(where_the_job_and_the_step_end_is_told)
{
	struct identity id;

	ASSERT(identity_of(NULL, "/slurm/uid_1/job_2/step_3/task_4/mine", &id));
	ASSERT_EQ(id.job_end, strlen("/slurm/uid_1/job_2"));
	ASSERT_EQ(id.step_end, strlen("/slurm/uid_1/job_2/step_3"));
	ASSERT(id.is_remade && id.is_roots);
	ASSERT(identity_of(NULL, "/a/jobmeter-run-5/b", &id));
	ASSERT_EQ(id.job_end, strlen("/a/jobmeter-run-5"));
	ASSERT_EQ(id.step_end, (size_t)0);
	ASSERT(!id.is_remade && !id.is_roots);
	ASSERT(identity_of(NULL, "/docker/" HEX64 "/x", &id));
	ASSERT_EQ(id.job_end, strlen("/docker/" HEX64));
}

TEST(a_path_of_nobody_has_no_identity)
{
	static const char *const paths[] = {
		"",
		"/",
		"//",
		"/a/b",
		"/slurm",
		"/slurm/uid_1000",
		"/slurm/uid_x/job_1",
		"/slurm/uid_1/job_",
		"/slurm/uid_1/job_1x",
		"/slurmstepd.scope.d/job_1",
		"/jobmeter-run-",
		"/jobmeter-run-1x",
		"/xjobmeter-run-1",
		"/docker/abc",
		"/docker/",
		"/kubepods/pod",
		"/lsf/job.1",
		"/pbs_jobs.service.d/jobid/1",
		"/system.slice",
		"/a/b.service",
		"/.service",
		"/system.slice/.scope",
	};
	struct identity id = { .rule = "as it was" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (identity_of(NULL, paths[i], &id))
			fprintf(stderr, "%s is matched by %s\n", paths[i], id.rule);
		ASSERT_STREQ(id.rule, "as it was");
	}
}

TEST(a_path_is_of_the_innermost_job_and_may_be_in_another)
{
	/* clang-format off */
	static const struct {
		const char *path, *inner, *outer; /* as describe() has them; outer: NULL if none */
	} rows[] = {
		/* groups below a job are the job's */
		{ "/slurm/uid_1/job_2/step_3/task_4/mine/deeper", "slurm 2 3 4 1 slurm-v1", NULL },
		{ "/slurm/uid_1/job_2/mine", "slurm 2 - - 1 slurm-v1", NULL },
		/* what an optional part took in vain is not kept */
		{ "/slurm/uid_1/job_2/step_", "slurm 2 - - 1 slurm-v1", NULL },
		{ "/slurmstepd.scope/job_1/step_5/user/task_", "slurm 1 5 - - slurm-v2", NULL },
		/* the stepd of Slurm is no job */
		{ "/system.slice/slurmstepd.scope/system", "systemd slurmstepd.scope - - - scope", NULL },
		/* a run inside a job or a session, and a pod in a container, have both */
		{ "/slurm/uid_1000/job_42/step_0/task_3/jobmeter-run-99", "run 99 - - - run", "slurm 42 0 3 1000 slurm-v1" },
		{ "/docker/" HEX64 "/kubelet/kubepods/burstable/pod" POD "/" HEX64, "kubernetes " POD " " HEX64 " - - kubernetes-cgroupfs", "docker " HEX64 " - - - docker-cgroupfs" },
		{ "/user.slice/user-7.slice/session-c2.scope/jobmeter-run-1", "run 1 - - - run", "systemd session-c2.scope - - 7 session" },
		/* the system slice around a job is no second identity */
		{ "/system.slice/slurmstepd.scope/job_9/step_0/user/task_0", "slurm 9 0 0 - slurm-v2", NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct identity inner, outer;
		char text[2048];

		ASSERT(identity_of(NULL, rows[i].path, &inner));
		tell(&inner, text, sizeof(text));
		ASSERT_STREQ(text, rows[i].inner);
		ASSERT(identity_around(NULL, rows[i].path, &inner, &outer) == !!rows[i].outer);
		if (!rows[i].outer)
			continue;
		tell(&outer, text, sizeof(text));
		ASSERT_STREQ(text, rows[i].outer);
		ASSERT(!identity_around(NULL, rows[i].path, &outer, &inner));
	}
}

TEST(a_hostile_path_is_bounded)
{
	char path[4096];
	struct identity id;

	memset(path, '_', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	ASSERT(!identity_of(NULL, path, &id));
	for (size_t i = 0; i + 1 < sizeof(path); i++)
		path[i] = "/job.1"[i % 6];
	ASSERT(!identity_of(NULL, path, &id));
	memcpy(path, "/pbs_jobs.service/jobs/", 23); /* a name longer than any file's is cut */
	memset(path + 23, 'x', sizeof(path) - 24);
	ASSERT(identity_of(NULL, path, &id));
	ASSERT_EQ(strlen(id.job), (size_t)IDENTITY_MAX - 1);
}

/* ---- a site's own rules ---- */

TEST(a_sites_rule_comes_before_the_built_in_ones)
{
	_cleanup_(identity_rules_freep) struct identity_rules *rules = identity_rules_new();
	struct identity id;

	ASSERT_OK(identity_rules_add(rules, "ours", "ours",
				     "/batch/<user:#>-<job:+>[/part<step:#>]", false, NULL));
	ASSERT_OK(identity_rules_add(rules, "crons", "ours", "system.slice/<job:cron.service>",
				     false, NULL));
	ASSERT(identity_of(rules, "/batch/12-a.b/part7/x", &id));
	ASSERT_STREQ(id.rule, "ours");
	ASSERT_STREQ(id.manager, "ours");
	ASSERT_STREQ(id.job, "a.b");
	ASSERT_STREQ(id.user, "12");
	ASSERT_STREQ(id.step, "7");
	ASSERT(id.is_roots && !id.is_remade);
	ASSERT(identity_of(rules, "/system.slice/cron.service", &id));
	ASSERT_STREQ(id.rule, "crons");
	ASSERT(identity_of(rules, "/jobmeter-run-1", &id)); /* the built-in ones are there, too */
	ASSERT_STREQ(id.rule, "run");
	ASSERT(!identity_of(NULL, "/batch/12-a.b", &id));
}

TEST(a_sites_rule_of_a_known_manager_has_its_traits)
{
	_cleanup_(identity_rules_freep) struct identity_rules *rules = identity_rules_new();
	struct identity id;

	ASSERT_OK(identity_rules_add(rules, "a", "slurm", "/our-slurm/<job:#>", false, NULL));
	ASSERT_OK(identity_rules_add(rules, "b", "podman", "/our-pods/<job:+>", true, NULL));
	ASSERT(identity_of(rules, "/our-slurm/5", &id));
	ASSERT(id.is_remade && id.is_roots);
	ASSERT(identity_of(rules, "/our-pods/a_b", &id));
	ASSERT(!id.is_remade && !id.is_roots);
	ASSERT_STREQ(id.job, "a-b");
}

TEST(a_rule_that_is_no_good_is_refused_with_the_reason)
{
	static const struct {
		const char *manager, *pattern, *says;
	} bad[] = {
		{ "x", "", "is empty" },
		{ "x", "job", "no <job:...>" },
		{ "x", "a/<step:+>", "no <job:...>" },
		{ "x", "<joob:+>", "no field 'joob'" },
		{ "x", "<job>", "without FIELD:" },
		{ "x", "<job:+", "'<' without its '>'" },
		{ "x", "<", "without FIELD:" },
		{ "x", "job:+>", "'>' without its '<'" },
		{ "x", "<job:>", "'job' is empty" },
		{ "x", "<job:+>/<job:+>", "'job' is there twice" },
		{ "x", "<job:+><step:+><step:+>", "'step' is there twice" },
		{ "x", "[<job:+>]", "cannot be missing" },
		{ "x", "[a<job:+>", "cannot be missing" },
		{ "x", "<job:+>[a", "'[' without its ']'" },
		{ "x", "<job:+>]", "']' without its '['" },
		{ "x", "<job:a[b>]", "overlap" },
		{ "x", "[<step:a]b>/<job:+>", "overlap" },
		{ "x", "<job:a<step:+>>", "a field within a field" },
		{ "x", "<job:a/b>", "cannot hold a '/'" },
		{ "x", "<job:#>_<user:+>", "must be a number" },
		{ "x", "[[[[[[[[[a]]]]]]]]]<job:#>", "more than 8 brackets" },
		{ "", "<job:+>", "no name" },
		{ "My Manager", "<job:+>", "no name" },
		{ "../x", "<job:+>", "no name" },
	};
	_cleanup_(identity_rules_freep) struct identity_rules *rules = identity_rules_new();
	struct identity id;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = {};

		if (identity_rules_add(rules, "r", bad[i].manager, bad[i].pattern, false, &err) ==
		    0)
			fprintf(stderr, "taken: %s\n", bad[i].pattern);
		ASSERT_ERR(identity_rules_add(rules, "r", bad[i].manager, bad[i].pattern, false,
					      &err),
			   -EINVAL);
		ASSERT_CONTAINS(err.text, bad[i].says);
	}
	ASSERT_ERR(identity_rules_add(rules, "", "x", "<job:+>", false, NULL), -EINVAL);
	ASSERT(!identity_of(rules, "/a", &id));
}

TEST(rules_and_their_length_are_bounded)
{
	_cleanup_(identity_rules_freep) struct identity_rules *rules = identity_rules_new();
	char pattern[IDENTITY_PATTERN_MAX + 2] = "<job:#>";
	struct error err = {};

	memset(pattern + 7, 'a', sizeof(pattern) - 8);
	ASSERT_ERR(identity_rules_add(rules, "r", "x", pattern, false, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "longer than 255");
	pattern[IDENTITY_PATTERN_MAX] = '\0';
	for (size_t i = 0; i < IDENTITY_RULES_MAX; i++)
		ASSERT_OK(identity_rules_add(rules, "r", "x", pattern, false, NULL));
	ASSERT_ERR(identity_rules_add(rules, "r", "x", pattern, false, &err), -ENOSPC);
	ASSERT_CONTAINS(err.text, "more than 64");
	ASSERT(identity_rules_free(NULL) == NULL);
}

/* Without a bound this takes longer than the universe lasts. */
TEST(a_rule_with_many_runs_and_a_hostile_path_come_to_an_end)
{
	_cleanup_(identity_rules_freep) struct identity_rules *rules = identity_rules_new();
	char path[512];
	struct identity id;

	ASSERT_OK(identity_rules_add(rules, "r", "x", "+_+_+_+_+_+_+_+_+_+[_+[_+[_+]]]<job:#>",
				     false, NULL));
	memset(path, '_', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	for (size_t i = 0; i < sizeof(path) - 1; i += 200)
		path[i] = '/';
	ASSERT(!identity_of(rules, path, &id));
	memcpy(path, "/jobmeter-run-7/", 16); /* others are matched as ever */
	ASSERT(identity_of(rules, path, &id));
	ASSERT_STREQ(id.job, "7");
}
