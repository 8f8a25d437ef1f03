/* SPDX-License-Identifier: MIT */
/* The helper's side: what runs as root.  Whatever comes in is checked here, as if from an enemy. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "cgroup/group.h"
#include "agent/helper.h"
#include "cgroup/hierarchy.h"
#include "cgroup/mounts.h"
#include "agent/orphans.h"
#include "basic/parse.h"
#include "service/privileges.h"
#include "service/syscall_filter.h"

#define AGAIN_MS 20 /* a group that is busy is tried again */
#define ORPHANS_MS 1000 /* others' groups are looked at, while there are any */
#define STRAYS_MS 60000

struct made {
	struct group *group; /* NULL: free */
	struct hierarchy hierarchy;
	uid_t uid;
	pid_t client;
	uint32_t generation; /* of this place: a token is good once */
	bool is_leaving;
};

struct process {
	int fd, root_fd;
	bool is_over; /* the agent said so */
	struct orphans orphans;
	uint64_t swept_ns; /* when strays were looked for, by CLOCK_BOOTTIME */
	struct made made[HELPER_GROUPS_MAX];
};

/* ---- the owner of a process ---- */

/* All four of "Uid:\t1\t1\t1\t1": a program that is another's for the moment, as by set-user-ID, is
 * not taken. */
static bool is_of(const char *status, uid_t uid)
{
	const char *at = strstr(status, "\nUid:\t");

	if (!at)
		return false;
	at += strlen("\nUid:");
	for (int i = 0; i < 4; i++) {
		uint64_t number;

		if (*at++ != '\t' || parse_leading_u64(&at, &number) < 0 || number != uid)
			return false;
	}
	return *at == '\n';
}

/* While this has not become readable, the number was this process' all along. */
static bool has_ended(int pid_fd)
{
	struct pollfd p = { .fd = pid_fd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

static int check_process(const struct process *p, const struct helper_request *request, int pid_fd,
			 struct error *err)
{
	char path[32], status[8192];
	int r;

	snprintf(path, sizeof(path), "proc/%d/status", request->pid);
	r = file_read_small(p->root_fd, path, status, sizeof(status));
	if (r < 0)
		return error_set_errno(err, r == -ENOENT ? -ESRCH : r, "cannot read '%s'", path);
	if (!is_of(status, request->uid))
		return error_set(err, -EPERM, "process %d is not user %u's", request->pid,
				 request->uid);
	if (has_ended(pid_fd))
		return error_set_errno(err, ESRCH, "process %d", request->pid);
	return 0;
}

/* ---- making ---- */

/* Outside of our own view of the tree the kernel shows "/..". */
static bool leads_out(const char *path)
{
	return path && (strstr(path, "/../") ||
			(strlen(path) >= 3 && strcmp(path + strlen(path) - 3, "/..") == 0));
}

static int read_hierarchy(const struct process *p, const struct helper_request *request,
			  struct hierarchy *ret, struct error *err)
{
	int r = hierarchy_read_of(p->root_fd, request->pid, ret, err);

	if (r < 0 || !request->key)
		return r;
	ret->is_v2 = false;
	ret->key = (enum controller)(request->key - 1);
	return ret->mount[ret->key] ? 0
				    : error_set(err, -ENOENT, "cgroup v1's '%s' is not mounted",
						controller_name(ret->key));
}

static int find_place(const struct process *p, const struct helper_request *request,
		      struct hierarchy *ret, struct error *err)
{
	int r = read_hierarchy(p, request, ret, err);

	for (size_t i = 0; i < CONTROLLER_COUNT && r >= 0; i++) {
		if (leads_out(ret->own[i]))
			r = -EXDEV;
	}
	if (r >= 0 && leads_out(ret->v2_own))
		r = -EXDEV;
	return r == -EXDEV ? error_set(err, r,
				       "process %d is in a cgroup that cannot be seen from here",
				       request->pid)
			   : r;
}

/* Where it is now must be the new group, just below where it was. */
static int check_moved(const struct process *p, const struct made *made,
		       const struct helper_request *request, const char *name, int pid_fd,
		       struct error *err)
{
	_cleanup_(hierarchy_clear) struct hierarchy now = {};
	_cleanup_free_ char *wanted = NULL;
	const char *before = hierarchy_own_path(&made->hierarchy);
	int r = read_hierarchy(p, request, &now, err);

	if (r < 0)
		return r;
	if (asprintf(&wanted, "%s/%s", strcmp(before, "/") == 0 ? "" : before, name) < 0)
		return -ENOMEM;
	if (has_ended(pid_fd))
		return error_set_errno(err, ESRCH, "process %d", request->pid);
	if (strcmp(hierarchy_own_path(&now), wanted) != 0)
		return error_set(err, -EBUSY, "process %d was moved elsewhere meanwhile",
				 request->pid);
	return 0;
}

static int fill(const struct process *p, struct made *made, const struct helper_request *request,
		int pid_fd, struct error *err)
{
	char name[32];
	int r;

	snprintf(name, sizeof(name), "jobmeter-run-%u", request->number);
	r = group_make_for(p->root_fd, &made->hierarchy, name, (pid_t)request->number, &made->group,
			   err);
	if (r >= 0)
		r = check_process(p, request, pid_fd, err); /* again, as late as can be */
	if (r >= 0)
		r = group_add_process(made->group, request->pid, err);
	if (r >= 0)
		r = check_moved(p, made, request, name, pid_fd, err);
	return r;
}

static struct made *find_free(struct process *p, uid_t uid, struct error *err)
{
	struct made *found = NULL;
	size_t count = 0;

	for (size_t i = 0; i < HELPER_GROUPS_MAX; i++) {
		if (!p->made[i].group)
			found = found ? found : &p->made[i];
		else if (p->made[i].uid == uid)
			count++;
	}
	if (uid && count >= HELPER_GROUPS_OF_USER) {
		error_set(err, 0, "user %u has %zu groups already", uid, count);
		return NULL;
	}
	if (!found)
		error_set(err, 0, "there are %d groups already", HELPER_GROUPS_MAX);
	return found;
}

static void clear(struct made *made)
{
	hierarchy_clear(&made->hierarchy);
	made->is_leaving = false;
	made->generation++;
}

static uint64_t token_of(const struct process *p, const struct made *made)
{
	return (uint64_t)made->generation << 32 | (uint64_t)(made - p->made);
}

static int make(struct process *p, const struct helper_request *request, struct helper_reply *reply,
		struct error *err)
{
	_cleanup_close_ int pid_fd = -EBADF;
	struct made *made;
	int r;

	if (request->pid <= 1 || !request->number || request->number > HELPER_NUMBER_MAX ||
	    request->token)
		return error_set(err, -EBADMSG, "this is no request");
	pid_fd = (int)syscall(SYS_pidfd_open, request->pid, 0);
	if (pid_fd < 0)
		return error_set_errno(err, errno, "process %d", request->pid);
	r = check_process(p, request, pid_fd, err);
	if (r < 0)
		return r;
	made = find_free(p, request->uid, err);
	if (!made)
		return -EDQUOT;
	r = find_place(p, request, &made->hierarchy, err);
	if (r >= 0)
		r = fill(p, made, request, pid_fd, err);
	if (r < 0) {
		made->is_leaving = made->group && group_try_remove(&made->group) < 0;
		made->uid = request->uid;
		if (!made->group)
			clear(made);
		return r;
	}
	made->uid = request->uid;
	made->client = (pid_t)request->number;
	reply->token = token_of(p, made);
	reply->group_id = group_id(made->group);
	return 0;
}

/* ---- removing ---- */

static int leave(struct process *p, const struct helper_request *request, struct error *err)
{
	size_t i = request->token & UINT32_MAX;

	if (request->pid || request->uid || request->number)
		return error_set(err, -EBADMSG, "this is no request");
	if (i >= HELPER_GROUPS_MAX || !p->made[i].group ||
	    token_of(p, &p->made[i]) != request->token || p->made[i].is_leaving)
		return error_set(err, -ENOENT, "there is no such group");
	p->made[i].is_leaving = true;
	return 0;
}

static int release(struct process *p, const struct helper_request *request, struct error *err)
{
	if (request->pid || request->uid || request->token || !request->number ||
	    request->number > HELPER_NUMBER_MAX)
		return error_set(err, -EBADMSG, "this is no request");
	if (!orphans_release(&p->orphans, (pid_t)request->number))
		return error_set(err, -ENOENT, "there is no such group");
	return 0;
}

/* A client that was killed never asks for the removal: its group is removed once it is empty, and
 * its user can make it again.  Returns whether there are others. */
static bool mark_orphans(struct process *p)
{
	bool are_left = false;

	for (size_t i = 0; i < HELPER_GROUPS_MAX; i++) {
		struct made *made = &p->made[i];

		if (!made->group || made->is_leaving)
			continue;
		if (kill(made->client, 0) < 0 && errno == ESRCH &&
		    group_list_processes(made->group, NULL, 0) == 0)
			made->is_leaving = true;
		else
			are_left = true;
	}
	return are_left;
}

/* Returns whether some are still busy. */
static bool remove_leaving(struct process *p)
{
	bool are_left = false;

	for (size_t i = 0; i < HELPER_GROUPS_MAX; i++) {
		struct made *made = &p->made[i];

		if (!made->is_leaving)
			continue;
		if (group_try_remove(&made->group) < 0)
			are_left = true;
		else
			clear(made);
	}
	return are_left;
}

/* ---- its life ---- */

static bool is_request(const struct helper_request *request)
{
	return request->magic == HELPER_MAGIC && request->version == HELPER_VERSION &&
	       request->key <= CONTROLLER_COUNT &&
	       (request->kind == HELPER_MAKE || request->kind == HELPER_REMOVE ||
		request->kind == HELPER_RELEASE || request->kind == HELPER_END);
}

static void answer(struct process *p, const struct helper_request *request)
{
	struct helper_reply reply = { .magic = HELPER_MAGIC,
				      .version = HELPER_VERSION,
				      .kind = request->kind,
				      .sequence = request->sequence };
	struct error err = {};

	if (!is_request(request))
		reply.result = error_set(&err, -EBADMSG, "this is no request");
	else if (request->kind == HELPER_MAKE)
		reply.result = make(p, request, &reply, &err);
	else if (request->kind == HELPER_RELEASE)
		reply.result = release(p, request, &err);
	else
		reply.result = leave(p, request, &err);
	if (reply.result < 0)
		snprintf(reply.text, sizeof(reply.text), "%.215s", err.text);
	(void)send(p->fd, &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* False: the agent is gone. */
static bool serve_once(struct process *p)
{
	struct helper_request request;
	ssize_t n = recv(p->fd, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	if (n != (ssize_t)sizeof(request)) /* too short or too long: answered as what is none */
		request = (struct helper_request){};
	if (is_request(&request) && request.kind == HELPER_END)
		p->is_over = true;
	else
		answer(p, &request);
	return true;
}

/* proc is mounted with hidepid, or the mounts cannot be read. */
static bool are_processes_hidden(int root_fd)
{
	_cleanup_(mounts_clear) struct mounts mounts = {};

	if (mounts_read(root_fd, "self", &mounts, NULL) < 0)
		return true;
	for (size_t i = 0; i < mounts.count; i++) {
		if (strcmp(mounts.items[i].fstype, "proc") == 0 &&
		    strstr(mounts.items[i].options, "hidepid="))
			return true;
	}
	return false;
}

static int begin(const struct process *p)
{
	const struct privileges_options options = {
		.features = PRIVILEGE_HELPER |
			    (are_processes_hidden(p->root_fd) ? PRIVILEGE_HIDDEN : 0),
	};
	struct helper_reply hello = { .magic = HELPER_MAGIC,
				      .version = HELPER_VERSION,
				      .kind = HELPER_HELLO };
	struct error err = {};

	prctl(PR_SET_NAME, "jobmeter-helper");
	privileges_ignore_signals(); /* the whole service may get one, before the agent ends us */
	privileges_raise_descriptors();
	hello.result = privileges_drop(&options, NULL, &err);
	if (hello.result >= 0)
		hello.result = syscall_filter_apply(FILTER_HELPER, &err);
	if (hello.result == -EOPNOTSUPP) /* the agent says so of both */
		hello.result = 0;
	snprintf(hello.text, sizeof(hello.text), "%.215s", err.text);
	if (send(p->fd, &hello, sizeof(hello), MSG_NOSIGNAL) < 0)
		return -errno;
	return hello.result;
}

/* Groups of runs that were killed beside an agent which they did not use. */
static void sweep_strays(struct process *p)
{
	uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME);
	struct orphans strays;

	if (now_ns - p->swept_ns < STRAYS_MS * UINT64_C(1000000) ||
	    orphans_find(p->root_fd, &strays) < 0)
		return;
	(void)orphans_sweep(&strays);
	orphans_clear(&strays);
	p->swept_ns = now_ns;
}

bool helper_serve(int fd, int root_fd)
{
	struct process *p = calloc(1, sizeof(*p));
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	bool is_on, is_over;

	if (!p)
		return false;
	p->fd = fd;
	p->root_fd = root_fd;
	is_on = begin(p) >= 0;
	(void)orphans_find(root_fd, &p->orphans); /* without it they stay, which hurts no number */
	while (is_on && !p->is_over) {
		bool are_left = mark_orphans(p);
		int timeout = orphans_sweep(&p->orphans) || are_left ? ORPHANS_MS : STRAYS_MS;

		sweep_strays(p);
		if (poll(&wait, 1, remove_leaving(p) ? AGAIN_MS : timeout) > 0)
			is_on = serve_once(p);
	}
	is_over = p->is_over;
	for (size_t i = 0; i < HELPER_GROUPS_MAX; i++) {
		if (p->made[i].group) {
			group_abandon(p->made[i].group);
			hierarchy_clear(&p->made[i].hierarchy);
		}
	}
	orphans_clear(&p->orphans);
	free(p);
	return is_over;
}
