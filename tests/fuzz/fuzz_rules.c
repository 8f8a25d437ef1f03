/* SPDX-License-Identifier: MIT */
/* Lines of a manager and a pattern, as a site writes them, and behind an empty line a path: a rule
 * is refused with a reason or does no harm, and what it takes from the path stands there. */
#include <limits.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "fuzz.h"
#include "cgroup/identity.h"
#include "basic/macro.h"
#include "basic/parse.h"

static void add_rule(struct identity_rules *rules, char *line)
{
	char *manager = parse_next_word(&line);
	struct error err = {};

	if (!manager)
		return;
	line = line ? line : (char *)"";
	if (identity_rules_add(rules, "made", manager, line, strchr(line, '_') != NULL, &err) < 0)
		CHECK(*err.text);
	else
		CHECK(!*err.text && *manager && strstr(line, "<job:"));
}

static void check_field(const char *field)
{
	CHECK(strnlen(field, IDENTITY_MAX) < IDENTITY_MAX && !strchr(field, '/'));
}

static void check_identity(const char *path, const struct identity *id)
{
	CHECK(*id->rule && *id->manager && *id->job);
	CHECK(id->start < id->end && id->end <= strlen(path));
	CHECK(path[id->end] == '/' || path[id->end] == '\0');
	CHECK(id->start == 0 || path[id->start - 1] == '/');
	CHECK(id->start < id->job_end && id->job_end <= id->end && id->step_end <= id->end);
	CHECK(strspn(id->user, "0123456789") == strlen(id->user));
	check_field(id->job);
	check_field(id->step);
	check_field(id->task);
	check_field(id->user);
	check_field(id->node);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(identity_rules_freep) struct identity_rules *rules = identity_rules_new();
	_cleanup_free_ char *text = strndup((const char *)data, MIN(size, (size_t)PATH_MAX - 1));
	char *rest = text, *line;
	struct identity inner, outer;

	while ((line = parse_next_line(&rest)) && *line)
		add_rule(rules, line);
	rest = rest ? rest : (char *)"";
	if (!identity_of(rules, rest, &inner))
		return 0;
	check_identity(rest, &inner);
	if (identity_around(rules, rest, &inner, &outer)) {
		check_identity(rest, &outer);
		CHECK(outer.end <= inner.start);
	}
	return 0;
}
