/* SPDX-License-Identifier: MIT */
#include "service/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "test.h"

#define BIT(c) (UINT64_C(1) << (c))

/* A process that drops its rights, says so, and waits for its end. */
struct dropped {
	pid_t pid;
	int result;
	char text[512];
	uint64_t missing;
	char status[8192];
};

static void drop_in_child(const struct privileges_options *options, int to_fd)
{
	struct dropped d = {};
	struct error err = {};

	d.result = privileges_drop(options, &d.missing, &err);
	memcpy(d.text, err.text, sizeof(d.text));
	if (write(to_fd, &d, sizeof(d)) == (ssize_t)sizeof(d))
		pause();
	_exit(0);
}

static struct dropped drop(const struct privileges_options *options)
{
	struct dropped d = {};
	char path[64];
	int ends[2], pid;

	ASSERT_OK(pipe(ends));
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		drop_in_child(options, ends[1]);
	close(ends[1]);
	ASSERT_EQ(read(ends[0], &d, sizeof(d)), (ssize_t)sizeof(d));
	close(ends[0]);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	ASSERT(file_read_small(AT_FDCWD, path, d.status, sizeof(d.status)) > 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (d.result < 0)
		printf("  %s\n", d.text);
	return d;
}

static void expect_line(const struct dropped *d, const char *format, uint64_t number)
{
	char line[64];

	snprintf(line, sizeof(line), format, (unsigned long long)number);
	ASSERT_CONTAINS(d->status, line);
}

static bool is_root(void)
{
	if (geteuid() == 0)
		return true;
	printf("  (not root: not tried)\n");
	return false;
}

TEST(what_is_left_is_what_was_wanted_and_the_kernel_says_so)
{
	struct service_user user = {};
	struct privileges_options options = { .features = PRIVILEGE_AGENT, .user = &user };
	uint64_t wanted = BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_PTRACE) |
			  BIT(CAP_DAC_READ_SEARCH);
	struct dropped d;
	struct error err;
	char line[64];

	ASSERT_EQ(privileges_wanted(PRIVILEGE_AGENT), wanted);
	if (!is_root())
		return;
	ASSERT_OK(service_user_find("nobody", &user, &err));
	d = drop(&options);
	ASSERT_OK(d.result);
	wanted &= ~d.missing;
	snprintf(line, sizeof(line), "\nUid:\t%u\t%u\t%u\t%u\n", user.uid, user.uid, user.uid,
		 user.uid);
	ASSERT_CONTAINS(d.status, line);
	snprintf(line, sizeof(line), "\nGid:\t%u\t%u\t%u\t%u\n", user.gid, user.gid, user.gid,
		 user.gid);
	ASSERT_CONTAINS(d.status, line);
	snprintf(line, sizeof(line), "\nGroups:\t%u ", user.gid);
	ASSERT_CONTAINS(d.status, line);
	expect_line(&d, "\nCapInh:\t%016llx\n", 0);
	expect_line(&d, "\nCapPrm:\t%016llx\n", wanted);
	expect_line(&d, "\nCapEff:\t%016llx\n", wanted);
	expect_line(&d, "\nCapBnd:\t%016llx\n", wanted);
	expect_line(&d, "\nCapAmb:\t%016llx\n", 0);
	expect_line(&d, "\nNoNewPrivs:\t%llu\n", 1);
}

TEST(a_tier_that_is_off_keeps_no_right)
{
	struct service_user user = {};
	struct privileges_options options = { .user = &user };
	struct dropped d;
	struct error err;

	ASSERT_EQ(privileges_wanted(0), UINT64_C(0));
	ASSERT_EQ(privileges_wanted(PRIVILEGE_BPF), BIT(CAP_BPF) | BIT(CAP_PERFMON));
	ASSERT_EQ(privileges_wanted(PRIVILEGE_SENSORS), BIT(CAP_DAC_READ_SEARCH));
	if (!is_root())
		return;
	ASSERT_OK(service_user_find("nobody", &user, &err));
	d = drop(&options);
	ASSERT_OK(d.result);
	expect_line(&d, "\nCapEff:\t%016llx\n", 0);
	expect_line(&d, "\nCapBnd:\t%016llx\n", 0);
}

TEST(root_may_stay_root_with_less)
{
	struct service_user user = {};
	struct privileges_options options = { .features = PRIVILEGE_SENSORS, .user = &user };
	struct dropped d;
	struct error err;

	ASSERT_OK(service_user_find("root", &user, &err));
	ASSERT_EQ(user.uid, 0U);
	if (!is_root())
		return;
	d = drop(&options);
	ASSERT_OK(d.result);
	ASSERT_CONTAINS(d.status, "\nUid:\t0\t0\t0\t0\n");
	expect_line(&d, "\nCapEff:\t%016llx\n", BIT(CAP_DAC_READ_SEARCH));
	expect_line(&d, "\nCapBnd:\t%016llx\n", BIT(CAP_DAC_READ_SEARCH));
}

/* As in a container, or under a CapabilityBoundingSet: what is not there is named, and no failure.
 */
TEST(what_was_not_there_to_keep_is_named)
{
	struct privileges_options options = { .features = PRIVILEGE_AGENT };
	uint64_t missing = 0;
	char text[128];
	int status, pid;

	if (!is_root())
		return;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct privileges_options less = { .features = PRIVILEGE_BPF };

		_exit(privileges_drop(&less, NULL, NULL) < 0 ||
		      privileges_drop(&options, &missing, NULL) < 0 ||
		      missing != (BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH)));
	}
	waitpid(pid, &status, 0);
	ASSERT_EQ(status, 0);
	ASSERT_STREQ(privileges_format(BIT(CAP_BPF) | BIT(CAP_SYS_PTRACE), text, sizeof(text)),
		     "BPF, SYS_PTRACE");
	ASSERT_STREQ(privileges_format(0, text, sizeof(text)), "");
	ASSERT_STREQ(privileges_format(UINT64_MAX, text, 8), "BPF, PE");
}

TEST(who_wanted_to_end_with_his_parent_does_so_as_another_user_too)
{
	struct service_user user = {};
	struct privileges_options options = { .user = &user };
	int status, pid;

	if (!is_root())
		return;
	ASSERT_OK(service_user_find("nobody", &user, NULL));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int number = 0;

		_exit(prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 ||
		      privileges_drop(&options, NULL, NULL) < 0 ||
		      prctl(PR_GET_PDEATHSIG, &number) < 0 || number != SIGTERM);
	}
	waitpid(pid, &status, 0);
	ASSERT_EQ(status, 0);
}

TEST(a_user_that_is_not_there_is_said_with_what_to_do)
{
	struct service_user user = {};
	struct error err;

	ASSERT_ERR(service_user_find("jobmeter-nobody-has-this", &user, &err), -ENOENT);
	ASSERT_STREQ(err.text, "there is no user 'jobmeter-nobody-has-this' to run as: make it "
			       "(systemd-sysusers, or "
			       "useradd --system jobmeter-nobody-has-this), or name another in the "
			       "setting 'user'");
	ASSERT(!user.is_known);
}

TEST(every_right_has_its_reason)
{
	size_t count;
	const struct privilege *table = privileges_table(&count);

	for (size_t i = 0; i < count; i++) {
		ASSERT(table[i].name && table[i].features && strlen(table[i].why) > 10);
		for (size_t j = 0; j < i; j++)
			ASSERT(table[i].capability != table[j].capability);
	}
}
