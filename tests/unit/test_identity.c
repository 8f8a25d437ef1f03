/* SPDX-License-Identifier: MIT */
#include "identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"
#include "test.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD "0f1e2d3c-1111-2222-3333-444455556666"
#define POD_IN_SLICE "0f1e2d3c_1111_2222_3333_444455556666"

/* clang-format off */
static const struct {
	const char *path, *rule, *manager, *job, *step, *task, *user, *node;
} layouts[] = {
	{ "/jobmeter-run-4711", "run", "run", "4711" },
	{ "/slurm/uid_1000/job_42", "slurm-v1", "slurm", "42", "", "", "1000" },
	{ "/slurm/uid_1000/job_42/step_batch", "slurm-v1", "slurm", "42", "batch", "", "1000" },
	{ "/slurm/uid_1000/job_42/step_0/task_3", "slurm-v1", "slurm", "42", "0", "3", "1000" },
	{ "/slurm_node_7/uid_0/job_42/step_extern", "slurm-v1", "slurm", "42", "extern", "", "0", "node_7" },
	{ "/system.slice/slurmstepd.scope/job_9", "slurm-v2", "slurm", "9" },
	{ "/system.slice/slurmstepd.scope/job_9/step_0/slurm", "slurm-v2", "slurm", "9", "0" },
	{ "/system.slice/slurmstepd.scope/job_9/step_0/user", "slurm-v2", "slurm", "9", "0" },
	{ "/system.slice/slurmstepd.scope/job_9/step_0/user/task_0", "slurm-v2", "slurm", "9", "0", "0" },
	{ "/system.slice/n_1_slurmstepd.scope/job_9/step_batch/user/task_special", "slurm-v2", "slurm", "9", "batch", "special", "", "n_1" },
	{ "/system.slice/slurmstepd.scope/sFQ3ZX81/step_0/user/task_1", "slurm-sluid", "slurm", "sFQ3ZX81", "0", "1" },
	{ "/pbs_jobs.service/jobid/123[4].server.example", "pbs-v1", "pbs", "123[4].server.example" },
	{ "/pbs_jobs.service/jobs/123.server", "pbs-v2", "pbs", "123.server" },
	{ "/lsf/cluster1/job.77.1234.1700000000", "lsf", "lsf", "77" },
	{ "/user.slice/user-500.slice/user@500.service/app.slice/imp-shell-3-f2uKBc1.service", "flux", "flux", "f2uKBc1", "", "3" },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_IN_SLICE ".slice/cri-containerd-" HEX64 ".scope", "kubernetes-systemd", "kubernetes", POD, HEX64 },
	{ "/kubepods.slice/kubepods-pod" POD_IN_SLICE ".slice", "kubernetes-systemd", "kubernetes", POD },
	{ "/kubepods/besteffort/pod" POD "/" HEX64, "kubernetes-cgroupfs", "kubernetes", POD, HEX64 },
	{ "/kubepods/pod" POD, "kubernetes-cgroupfs", "kubernetes", POD },
	{ "/system.slice/docker-" HEX64 ".scope", "docker-systemd", "docker", HEX64 },
	{ "/docker/" HEX64, "docker-cgroupfs", "docker", HEX64 },
	{ "/machine.slice/libpod-" HEX64 ".scope/container", "podman", "podman", HEX64 },
	{ "/libpod_parent/libpod-" HEX64, "podman", "podman", HEX64 },
	{ "/user.slice/user-1000.slice/session-3.scope", "session", "systemd", "session-3.scope", "", "", "1000" },
	{ "/user.slice/user-1000.slice/user@1000.service/init.scope", "user-manager", "systemd", "user@1000.service", "", "", "1000" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/a.service", "user-unit", "systemd", "a.service", "", "", "1000" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/run-u7.scope", "user-scope", "systemd", "run-u7.scope", "", "", "1000" },
	{ "/system.slice/cron.service", "unit", "systemd", "cron.service" },
	{ "/system.slice/system-getty.slice/getty@tty1.service", "unit", "systemd", "getty@tty1.service" },
	{ "/machine.slice/machine-a.scope", "scope", "systemd", "machine-a.scope" },
	{ "/init.scope", "root-scope", "systemd", "init.scope" },
};
/* clang-format on */

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

TEST(each_layout_gives_its_job_and_its_parts)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		struct identity id;

		if (!identity_of(layouts[i].path, &id))
			fprintf(stderr, "no rule matches %s\n", layouts[i].path);
		ASSERT(identity_of(layouts[i].path, &id));
		ASSERT_STREQ(id.rule, layouts[i].rule);
		ASSERT_STREQ(id.manager, layouts[i].manager);
		ASSERT_STREQ(id.job, or_empty(layouts[i].job));
		ASSERT_STREQ(id.step, or_empty(layouts[i].step));
		ASSERT_STREQ(id.task, or_empty(layouts[i].task));
		ASSERT_STREQ(id.user, or_empty(layouts[i].user));
		ASSERT_STREQ(id.node, or_empty(layouts[i].node));
	}
}

TEST(a_path_of_nobody_has_no_identity)
{
	static const char *const paths[] = {
		"", "/", "//", "/a/b", "/slurm", "/slurm/uid_1000", "/slurm/uid_x/job_1",
		"/slurm/uid_1/job_", "/slurm/uid_1/job_1x", "/slurmstepd.scope.d/job_1",
		"/jobmeter-run-", "/jobmeter-run-1x", "/xjobmeter-run-1", "/docker/abc",
		"/docker/", "/kubepods/pod", "/lsf/job.1", "/pbs_jobs.service.d/jobid/1",
		"/system.slice", "/a/b.service", "/.service", "/system.slice/.scope",
	};
	struct identity id = { .rule = "as it was" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (identity_of(paths[i], &id))
			fprintf(stderr, "%s is matched by %s\n", paths[i], id.rule);
		ASSERT_STREQ(id.rule, "as it was");
	}
}

TEST(groups_below_a_job_are_the_jobs)
{
	struct identity id;

	ASSERT(identity_of("/slurm/uid_1/job_2/step_3/task_4/mine/deeper", &id));
	ASSERT_STREQ(id.task, "4");
	ASSERT(identity_of("/slurm/uid_1/job_2/mine", &id));
	ASSERT_STREQ(id.job, "2");
	ASSERT_STREQ(id.step, "");
}

TEST(what_an_optional_part_took_in_vain_is_not_kept)
{
	struct identity id;

	ASSERT(identity_of("/slurm/uid_1/job_2/step_", &id));
	ASSERT_STREQ(id.step, "");
	ASSERT(identity_of("/slurmstepd.scope/job_1/step_5/user/task_", &id));
	ASSERT_STREQ(id.step, "5");
	ASSERT_STREQ(id.task, "");
}

TEST(the_stepd_of_slurm_is_no_job)
{
	struct identity id;

	ASSERT(identity_of("/system.slice/slurmstepd.scope/system", &id));
	ASSERT_STREQ(id.rule, "scope");
}

TEST(a_run_inside_a_job_has_both)
{
	const char *path = "/slurm/uid_1000/job_42/step_0/task_3/jobmeter-run-99";
	struct identity inner, outer;

	ASSERT(identity_of(path, &inner));
	ASSERT_STREQ(inner.rule, "run");
	ASSERT_STREQ(inner.job, "99");
	ASSERT(identity_around(path, &inner, &outer));
	ASSERT_STREQ(outer.rule, "slurm-v1");
	ASSERT_STREQ(outer.job, "42");
	ASSERT(!identity_around(path, &outer, &inner));
}

TEST(a_pod_in_a_container_and_a_run_in_a_session_have_both)
{
	const char *pod = "/docker/" HEX64 "/kubelet/kubepods/burstable/pod" POD "/" HEX64;
	const char *run = "/user.slice/user-7.slice/session-c2.scope/jobmeter-run-1";
	struct identity inner, outer;

	ASSERT(identity_of(pod, &inner));
	ASSERT_STREQ(inner.manager, "kubernetes");
	ASSERT(identity_around(pod, &inner, &outer));
	ASSERT_STREQ(outer.rule, "docker-cgroupfs");
	ASSERT(identity_of(run, &inner));
	ASSERT(identity_around(run, &inner, &outer));
	ASSERT_STREQ(outer.job, "session-c2.scope");
}

TEST(the_system_slice_around_a_slurm_job_is_no_second_identity)
{
	const char *path = "/system.slice/slurmstepd.scope/job_9/step_0/user/task_0";
	struct identity inner, outer;

	ASSERT(identity_of(path, &inner));
	ASSERT(!identity_around(path, &inner, &outer));
}

TEST(a_hostile_path_is_bounded)
{
	char path[4096];
	struct identity id;

	memset(path, '_', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	ASSERT(!identity_of(path, &id));
	for (size_t i = 0; i + 1 < sizeof(path); i++)
		path[i] = "/job.1"[i % 6];
	ASSERT(!identity_of(path, &id));
	memcpy(path, "/pbs_jobs.service/jobs/", 23); /* a name longer than any file's is cut */
	memset(path + 23, 'x', sizeof(path) - 24);
	ASSERT(identity_of(path, &id));
	ASSERT_EQ(strlen(id.job), (size_t)IDENTITY_MAX - 1);
}
