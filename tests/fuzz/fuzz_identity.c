/* SPDX-License-Identifier: MIT */
/* Any text as a group's path: what a rule takes from it stands there, in whole components. */
#include <limits.h>
#include <string.h>

#include "basic/cleanup.h"
#include "fuzz.h"
#include "cgroup/identity.h"
#include "basic/macro.h"

/* A field of IDENTITY_MAX is a part of one component; the job's "_" may have become "-". */
static void check_field(const char *covered, const char *field)
{
	_cleanup_free_ char *unescaped = strdup(covered);

	CHECK(strnlen(field, IDENTITY_MAX) < IDENTITY_MAX);
	CHECK(!strchr(field, '/'));
	for (char *p = unescaped; *p; p++) {
		if (*p == '_')
			*p = '-';
	}
	CHECK(strstr(covered, field) || strstr(unescaped, field));
}

static void check_identity(const char *path, const struct identity *id)
{
	_cleanup_free_ char *covered = NULL;

	CHECK(id->rule && *id->rule && id->manager && *id->manager);
	CHECK(id->start < id->end && id->end <= strlen(path));
	CHECK(path[id->end] == '/' || path[id->end] == '\0');
	CHECK(id->start == 0 || path[id->start - 1] == '/');
	CHECK(*id->job);
	CHECK(id->start < id->job_end && id->job_end <= id->end);
	CHECK(id->step_end == 0 || (id->start < id->step_end && id->step_end <= id->end));
	CHECK(!*id->step || id->step_end);
	CHECK(strspn(id->user, "0123456789") == strlen(id->user));
	covered = strndup(path + id->start, id->end - id->start);
	check_field(covered, id->job);
	check_field(covered, id->step);
	check_field(covered, id->task);
	check_field(covered, id->user);
	check_field(covered, id->node);
}

static void check_equal(const struct identity *a, const struct identity *b)
{
	CHECK(a->rule == b->rule && a->start == b->start && a->end == b->end);
	CHECK(strcmp(a->job, b->job) == 0 && strcmp(a->step, b->step) == 0);
	CHECK(strcmp(a->task, b->task) == 0 && strcmp(a->user, b->user) == 0);
	CHECK(strcmp(a->node, b->node) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *path = strndup((const char *)data, MIN(size, (size_t)PATH_MAX - 1));
	struct identity inner, outer, again;
	size_t length = 0;

	for (const char *p = path; *p; p++) {
		length = *p == '/' ? 0 : length + 1;
		if (length > NAME_MAX)
			return 0; /* no group can be named so */
	}
	if (!identity_of(NULL, path, &inner))
		return 0;
	check_identity(path, &inner);
	if (identity_around(NULL, path, &inner, &outer)) {
		check_identity(path, &outer);
		CHECK(outer.end <= inner.start);
	}
	path[inner.end] = '\0'; /* what is below does not count */
	CHECK(identity_of(NULL, path, &again));
	check_equal(&inner, &again);
	return 0;
}
