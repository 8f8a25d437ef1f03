/* SPDX-License-Identifier: MIT */
#include "trace/owner.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "test.h"

static const struct owner owner = { 1001, 1003 };

#define STATUS(uids, gids, capabilities)                                                       \
	"Name:\tfree\nUmask:\t0022\nUid:\t" uids "\nGid:\t" gids "\nFDSize:\t64\nCapInh:\t0\n" \
	"CapPrm:\t" capabilities "\nCapEff:\t0000000000000000\n"
#define OWN_UIDS "1001\t1001\t1001\t1001"
#define OWN_GIDS "1003\t1003\t1003\t1003"
#define NONE "0000000000000000"

static const struct {
	const char *what, *status;
	int result;
} cases[] = {
	{ "his own", STATUS(OWN_UIDS, OWN_GIDS, NONE), 0 },
	{ "another's", STATUS("1002\t1002\t1002\t1002", OWN_GIDS, NONE), -ENOENT },
	{ "a number that begins as his", STATUS("10010\t1001\t1001\t1001", OWN_GIDS, NONE),
	  -ENOENT },
	{ "real", STATUS("0\t1001\t1001\t1001", OWN_GIDS, NONE), -ENOENT },
	{ "effective", STATUS("1001\t0\t1001\t1001", OWN_GIDS, NONE), -ENOENT },
	{ "saved", STATUS("1001\t1001\t0\t1001", OWN_GIDS, NONE), -ENOENT },
	{ "of files", STATUS("1001\t1001\t1001\t0", OWN_GIDS, NONE), -ENOENT },
	{ "too few", STATUS("1001\t1001\t1001", OWN_GIDS, NONE), -ENOENT },
	{ "none", "Name:\tfree\n", -ENOENT },
	{ "empty", "", -ENOENT },
	{ "effective group", STATUS(OWN_UIDS, "1003\t12\t1003\t1003", NONE), -EPERM },
	{ "saved group", STATUS(OWN_UIDS, "1003\t1003\t12\t1003", NONE), -EPERM },
	{ "a capability", STATUS(OWN_UIDS, OWN_GIDS, "0000000000002000"), -EPERM },
	{ "capabilities that it does not say",
	  "Name:\tfree\nUid:\t" OWN_UIDS "\nGid:\t" OWN_GIDS "\n", -EPERM },
};

TEST(a_process_is_a_users_with_all_of_its_ids_and_no_more_rights)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = {};

		if (owner_check_status(&owner, cases[i].status, &err) == cases[i].result)
			continue;
		printf("  %s: %s\n", cases[i].what, err.text);
		ASSERT(false);
	}
}

TEST(a_process_that_is_not_there_is_as_another_users)
{
	struct error gone = {}, others = {};
	const pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	ASSERT_ERR(owner_check(&owner, pid, &gone), -ENOENT);
	ASSERT_ERR(owner_check(&(struct owner){ getuid() + 1, getgid() }, getpid(), &others),
		   -ENOENT);
	ASSERT_STREQ(gone.text, others.text);
}
