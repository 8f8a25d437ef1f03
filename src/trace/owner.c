/* SPDX-License-Identifier: MIT */
#include "trace/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/error.h"
#include "basic/file.h"
#include "basic/parse.h"

#define IDS 4 /* real, effective, saved, of files */

/* All of "Uid:\t1\t1\t1\t1". */
static bool has_ids(const char *status, const char *key, uint64_t wanted)
{
	const char *at = strstr(status, key);

	if (!at)
		return false;
	at += strlen(key);
	for (int i = 0; i < IDS; i++) {
		uint64_t id;

		if (*at++ != '\t' || parse_leading_u64(&at, &id) < 0 || id != wanted)
			return false;
	}
	return *at == '\n';
}

int owner_check_status(const struct owner *owner, const char *status, struct error *err)
{
	if (!has_ids(status, "\nUid:", owner->uid))
		return error_set(err, -ENOENT, "there is no such process, or it is not yours");
	if (!has_ids(status, "\nGid:", owner->gid) ||
	    !strstr(status, "\nCapPrm:\t0000000000000000\n"))
		return error_set(err, -EPERM,
				 "the process has other groups or more rights than you");
	return 0;
}

/* What may not be dumped belongs to root in proc. */
static bool may_be_dumped(const struct owner *owner, pid_t pid)
{
	char path[32];
	struct stat maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	return stat(path, &maps) == 0 && maps.st_uid == owner->uid;
}

static bool is_in_our_namespace(pid_t pid)
{
	char path[32];
	struct stat its, ours;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	return stat(path, &its) == 0 && stat("/proc/self/ns/user", &ours) == 0 &&
	       its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
}

int owner_check(const struct owner *owner, pid_t pid, struct error *err)
{
	char path[32], status[8192];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (file_read_small(AT_FDCWD, path, status, sizeof(status)) < 0)
		return error_set(err, -ENOENT, "there is no such process, or it is not yours");
	r = owner_check_status(owner, status, err);
	if (r < 0)
		return r;
	if (!may_be_dumped(owner, pid))
		return error_set(
			err, -EPERM,
			"the process may not be looked at: it runs, or has run, a program that has more rights than you, or it does not want to be");
	if (!is_in_our_namespace(pid))
		return error_set(err, -EPERM, "the process is in a user namespace of its own");
	return 0;
}
