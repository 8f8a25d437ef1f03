/* SPDX-License-Identifier: MIT */
#include "service/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"

#define BIT(capability) (UINT64_C(1) << (capability))
#define GROUPS_MAX 256

/* clang-format off */
static const struct privilege table[] = {
	{ CAP_BPF, "BPF", PRIVILEGE_BPF | PRIVILEGE_TRACING,
	  "read and erase maps: 5.10 asks for it each time; attach or load a program again" },
	{ CAP_PERFMON, "PERFMON", PRIVILEGE_BPF | PRIVILEGE_COUNTERS | PRIVILEGE_TRACING,
	  "attach or load again a program that reads the kernel; count groups by the processor's own counters" },
	{ CAP_SYS_PTRACE, "SYS_PTRACE", PRIVILEGE_PROCESSES | PRIVILEGE_HIDDEN | PRIVILEGE_TRACING,
	  "a job's own name, from the environment of its processes; all of them where /proc hides them (hidepid)" },
	{ CAP_DAC_READ_SEARCH, "DAC_READ_SEARCH", PRIVILEGE_PROCESSES | PRIVILEGE_SENSORS | PRIVILEGE_TRACING,
	  "directories of jobs that are closed to others, energy counters (mode 0400), tracefs" },
	{ CAP_CHECKPOINT_RESTORE, "CHECKPOINT_RESTORE", PRIVILEGE_TRACING,
	  "files that a user's process has mapped, whatever their path is now" },
	{ CAP_DAC_OVERRIDE, "DAC_OVERRIDE", PRIVILEGE_HELPER,
	  "make a group below one that systemd has given to its user" },
};
/* clang-format on */

#define SECUREBITS                                                                               \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                         \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | \
	 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

const struct privilege *privileges_table(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(table);
	return table;
}

uint64_t privileges_wanted(unsigned int features)
{
	uint64_t wanted = 0;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].features & features)
			wanted |= BIT(table[i].capability);
	}
	return wanted;
}

char *privileges_format(uint64_t capabilities, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(table) && used < size; i++) {
		if (capabilities & BIT(table[i].capability))
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 table[i].name);
	}
	return text;
}

int service_user_find(const char *name, struct service_user *ret, struct error *err)
{
	const struct passwd *found;

	errno = 0;
	found = getpwnam(name);
	if (!found && errno && errno != ENOENT && errno != ESRCH)
		return error_set_errno(err, errno, "cannot find the user '%s'", name);
	if (!found || strlen(name) >= sizeof(ret->name))
		return error_set(err, -ENOENT,
				 "there is no user '%s' to run as: make it (systemd-sysusers, or "
				 "useradd --system %s), or name another in the setting 'user'",
				 name, name);
	*ret = (struct service_user){ .is_known = true,
				      .uid = found->pw_uid,
				      .gid = found->pw_gid };
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	return 0;
}

/* ---- capabilities ---- */

struct sets {
	uint64_t effective, permitted, inheritable;
};

static int get_sets(struct sets *ret)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	ret->effective = data[0].effective | (uint64_t)data[1].effective << 32;
	ret->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	ret->inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
	return 0;
}

static int set_all(uint64_t kept)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)kept, .permitted = (uint32_t)kept },
		{ .effective = (uint32_t)(kept >> 32), .permitted = (uint32_t)(kept >> 32) },
	};

	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* What no exec can bring back.  The kernel says by -EINVAL where its capabilities end. */
static int limit_bounding_set(uint64_t kept)
{
	for (unsigned long c = 0; c < 64; c++) {
		int is_there = prctl(PR_CAPBSET_READ, c);

		if (is_there < 0)
			return 0;
		if (is_there && !(kept & BIT(c)) && prctl(PR_CAPBSET_DROP, c) < 0)
			return -errno;
	}
	return 0;
}

/* ---- the drop, in the order in which each step still may be done ---- */

static int lock_bits(const struct sets *sets, uint64_t kept, bool is_another, struct error *err)
{
	int r;

	/* Without that right the bounding set cannot be changed, and only no_new_privs guards an
	 * exec. */
	if (!(sets->effective & BIT(CAP_SETPCAP))) {
		if (is_another && prctl(PR_SET_KEEPCAPS, 1) < 0)
			return error_set_errno(err, errno, "cannot keep capabilities");
		return 0;
	}
	r = limit_bounding_set(kept);
	if (r >= 0 && prctl(PR_SET_SECUREBITS, SECUREBITS) < 0)
		r = -errno;
	return r < 0 ? error_set_errno(err, r, "cannot limit what an exec brings") : 0;
}

static int change_user(const struct service_user *user, struct error *err)
{
	if (initgroups(user->name, user->gid) < 0)
		return error_set_errno(err, errno, "cannot take the groups of '%s'", user->name);
	if (setresgid(user->gid, user->gid, user->gid) < 0 ||
	    setresuid(user->uid, user->uid, user->uid) < 0)
		return error_set_errno(err, errno, "cannot become '%s'", user->name);
	return 0;
}

static int close_doors(const struct privileges_options *options, uint64_t kept, struct error *err)
{
	int r = set_all(kept);

	if (r >= 0 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		r = -errno;
	if (r >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	if (r >= 0 && prctl(PR_SET_DUMPABLE, options->is_dumpable) < 0)
		r = -errno;
	return r < 0 ? error_set_errno(err, r, "cannot give up capabilities") : 0;
}

/* ---- reading back ---- */

static bool is_user(const struct service_user *user)
{
	uid_t r, e, s;
	gid_t gr, ge, gs;

	return getresuid(&r, &e, &s) == 0 && getresgid(&gr, &ge, &gs) == 0 && r == user->uid &&
	       e == r && s == r && gr == user->gid && ge == gr && gs == gr;
}

/* None but those that the user has by the accounting. */
static bool has_own_groups(const struct service_user *user)
{
	gid_t groups[GROUPS_MAX], allowed[GROUPS_MAX];
	int count = getgroups(GROUPS_MAX, groups), allowed_count = GROUPS_MAX;

	if (count < 0 || getgrouplist(user->name, user->gid, allowed, &allowed_count) < 0)
		return false;
	for (int i = 0; i < count; i++) {
		int j = 0;

		while (j < allowed_count && allowed[j] != groups[i])
			j++;
		if (j == allowed_count)
			return false;
	}
	return true;
}

static const char *find_flaw(const struct privileges_options *options, uint64_t kept,
			     bool is_another, bool is_limited)
{
	struct sets sets = {};

	if (is_another && (!is_user(options->user) || !has_own_groups(options->user)))
		return "user or groups are not those of the service";
	if (is_another && options->user->uid != 0 && setresuid(0, 0, 0) == 0)
		return "the way back to root is open";
	if (get_sets(&sets) < 0 || sets.effective != kept || sets.permitted != kept ||
	    sets.inheritable)
		return "capabilities are not those that were to be kept";
	if (is_limited && prctl(PR_GET_SECUREBITS) != SECUREBITS)
		return "an exec could bring capabilities";
	for (unsigned long c = 0; is_limited && c < 64; c++) {
		if (prctl(PR_CAPBSET_READ, c) == 1 && !(kept & BIT(c)))
			return "the bounding set holds more than what was to be kept";
	}
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return "new privileges can be had";
	if (prctl(PR_GET_DUMPABLE) != options->is_dumpable)
		return "others may trace the process, or none";
	return NULL;
}

int privileges_drop(const struct privileges_options *options, uint64_t *ret_missing,
		    struct error *err)
{
	uint64_t wanted = privileges_wanted(options->features), kept;
	bool is_another = geteuid() == 0 && options->user && options->user->is_known, is_limited;
	pid_t parent = getppid();
	int death_signal = 0;
	const char *flaw;
	struct sets sets = {};
	int r = get_sets(&sets);

	if (r < 0)
		return error_set_errno(err, r, "cannot read our capabilities");
	kept = wanted & sets.permitted;
	is_limited = sets.effective & BIT(CAP_SETPCAP);
	r = lock_bits(&sets, kept, is_another, err);
	(void)prctl(PR_GET_PDEATHSIG, &death_signal);
	/* With these bits the change of user keeps all capabilities, until the next step. */
	if (r >= 0 && is_another)
		r = change_user(options->user, err);
	/* which makes the kernel forget that we wanted to end with who started us */
	if (death_signal && prctl(PR_SET_PDEATHSIG, death_signal) == 0 && getppid() != parent)
		raise(death_signal);
	if (r >= 0)
		r = close_doors(options, kept, err);
	if (r < 0)
		return r;
	flaw = find_flaw(options, kept, is_another, is_limited);
	if (flaw)
		return error_set(err, -EPERM, "giving up rights failed: %s", flaw);
	if (ret_missing)
		*ret_missing = wanted & ~kept;
	return 0;
}

void privileges_close_others(int a, int b)
{
	unsigned int low = (unsigned int)MIN(a, b), high = (unsigned int)MAX(a, b);

	if (low > 3)
		close_range(3, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0U, 0);
}

void privileges_ignore_signals(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGQUIT };
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void privileges_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}
