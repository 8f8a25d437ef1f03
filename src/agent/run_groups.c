/* SPDX-License-Identifier: MIT */
#include "agent/run_groups.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/error.h"
#include "agent/helper.h"
#include "http/http.h"
#include "basic/parse.h"

#define OWNERS_MAX 2048 /* remembered; who came first goes first */

struct owner {
	unsigned int number; /* of the run; 0: free */
	uid_t uid;
	uint64_t token, group_id;
	bool is_live;
};

struct run_groups {
	struct helper *helper;
	struct owner owners[OWNERS_MAX];
	size_t next;
};

struct run_groups *run_groups_new(struct helper *helper)
{
	struct run_groups *g = calloc(1, sizeof(*g));

	if (g)
		g->helper = helper;
	return g;
}

struct run_groups *run_groups_free(struct run_groups *g)
{
	free(g);
	return NULL;
}

void run_groups_leave_helper(struct run_groups *g)
{
	g->helper = NULL;
}

/* The one that was announced last. */
static struct owner *find(const struct run_groups *g, const char *id)
{
	for (size_t i = 0; i < OWNERS_MAX; i++) {
		const struct owner *owner = &g->owners[(g->next + OWNERS_MAX - 1 - i) % OWNERS_MAX];
		char text[16];

		snprintf(text, sizeof(text), "%u", owner->number);
		if (owner->number && strcmp(text, id) == 0)
			return (struct owner *)owner;
	}
	return NULL;
}

/* After its client was killed a run has no owner. */
static bool is_taken(const struct owner *owner)
{
	return owner->number && owner->is_live &&
	       (kill((pid_t)owner->number, 0) == 0 || errno != ESRCH);
}

/* Who came first goes first. */
static struct owner *find_free(struct run_groups *g)
{
	for (size_t i = 0; i < OWNERS_MAX; i++) {
		struct owner *owner = &g->owners[g->next];

		g->next = (g->next + 1) % OWNERS_MAX;
		if (!is_taken(owner))
			return owner;
	}
	return NULL;
}

/* The number is the client's own, as without an agent: so a left-over group tells whether its maker
 * lives. */
static int begin(void *context, const struct http_peer *peer, pid_t pid, struct api_run *ret,
		 struct error *err)
{
	struct run_groups *g = context;
	struct owner *owner;
	struct helper_group group;
	int r;

	if (!g->helper)
		return error_set(err, -EPIPE, "the root helper is gone");
	owner = find_free(g);
	if (!owner)
		return error_set(err, -EBUSY, "too many runs are under way");
	r = helper_make_group(g->helper, pid, peer->uid, (unsigned int)peer->pid, &group, err);
	if (r < 0)
		return r;
	if (asprintf(&ret->id, "%d", peer->pid) < 0) {
		(void)helper_remove_group(g->helper, group.token, NULL);
		ret->id = NULL;
		return error_set_errno(err, ENOMEM, "cannot remember it");
	}
	*owner = (struct owner){ (unsigned int)peer->pid, peer->uid, group.token, group.id, true };
	ret->group_id = group.id;
	return 0;
}

static int end(void *context, const char *id, struct error *err)
{
	struct run_groups *g = context;
	struct owner *owner = find(g, id);
	int number;

	if (owner ? !owner->is_live : parse_int(id, 1, INT32_MAX, &number) < 0)
		return error_set(err, -ENOENT, "there is no such run");
	if (owner)
		owner->is_live = false;
	if (!g->helper)
		return error_set(err, -EPIPE, "the root helper is gone");
	return owner ? helper_remove_group(g->helper, owner->token, err)
		     : helper_release_group(g->helper, (unsigned int)number, err);
}

void run_groups_fill(struct run_groups *g, struct api_runs *ret)
{
	*ret = (struct api_runs){ .begin = begin, .end = end, .context = g };
}

int64_t run_groups_owner(const struct run_groups *g, uint64_t group_id)
{
	for (size_t i = 0; i < OWNERS_MAX; i++) {
		if (g->owners[i].number && g->owners[i].group_id == group_id)
			return g->owners[i].uid;
	}
	return -1;
}
