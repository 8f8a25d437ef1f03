/* SPDX-License-Identifier: MIT */
#include "identity.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "macro.h"

/*
 * A pattern matches whole components of a path, starting at any of them; with a leading "/" at the first
 * one only.
 *
 *   *  any run, may be empty    +  any run    #  a run of digits    %  a run of 12 or more hex digits
 *   [...]  may be missing       <FIELD:...>  what this matches is the field
 *
 * No run crosses a "/".  Of the rules that match, the one that reaches deepest wins, and of two that
 * reach as deep, the upper one.
 */
struct rule {
	const char *name, *manager, *pattern;
	bool is_escaped; /* systemd's slices cannot hold the job's "-", so that it is written "_" */
};

/* clang-format off */
static const struct rule rules[] = {
	{ "run",                "run",        "jobmeter-run-<job:#>" },
	{ "slurm-v1",           "slurm",      "slurm[_<node:+>]/uid_<user:#>/job_<job:#>[/step_<step:+>[/task_<task:+>]]" },
	{ "slurm-v2",           "slurm",      "[<node:+>_]slurmstepd.scope/job_<job:#>[/step_<step:+>[/*/task_<task:+>]]" },
	/* Slurm 26.05 names a job by its SLUID; "system" beside it is slurmstepd's own */
	{ "slurm-sluid",        "slurm",      "[<node:+>_]slurmstepd.scope/<job:s+>/step_<step:+>[/*/task_<task:+>]" },
	{ "pbs-v1",             "pbs",        "pbs_jobs.service/jobid/<job:+>" },
	{ "pbs-v2",             "pbs",        "pbs_jobs.service/jobs/<job:+>" },
	{ "lsf",                "lsf",        "lsf/+/job.<job:#>*" },
	{ "flux",               "flux",       "[imp-]shell-<task:#>-<job:f+>.service" },
	{ "kubernetes-systemd", "kubernetes", "kubepods[-+]-pod<job:+>.slice[/+-<step:%>.scope]", .is_escaped = true },
	{ "kubernetes-cgroupfs", "kubernetes", "kubepods[/+]/pod<job:+>[/<step:%>]" },
	{ "docker-systemd",     "docker",     "docker-<job:%>.scope" },
	{ "docker-cgroupfs",    "docker",     "docker/<job:%>" },
	{ "podman",             "podman",     "libpod-<job:%>[.scope]" },
	{ "session",            "systemd",    "user-<user:#>.slice/<job:session-+.scope>" },
	{ "user-manager",       "systemd",    "user-<user:#>.slice/<job:user@#.service>" },
	{ "user-unit",          "systemd",    "user-<user:#>.slice/user@#.service/+.slice/<job:+.service>" },
	{ "user-scope",         "systemd",    "user-<user:#>.slice/user@#.service/+.slice/<job:+.scope>" },
	{ "unit",               "systemd",    "*.slice/<job:+.service>" },
	{ "scope",              "systemd",    "*.slice/<job:+.scope>" },
	{ "root-unit",          "systemd",    "/<job:+.service>" },
	{ "root-scope",         "systemd",    "/<job:+.scope>" },
};

static const struct field { const char *name; size_t offset; } fields[] = {
	{ "job",  offsetof(struct identity, job) },
	{ "step", offsetof(struct identity, step) },
	{ "task", offsetof(struct identity, task) },
	{ "user", offsetof(struct identity, user) },
	{ "node", offsetof(struct identity, node) },
};
/* clang-format on */

#define HEX_MIN 12 /* shorter runs of hex digits are words and numbers */

struct span {
	const char *begin, *end;
};

struct match {
	struct span fields[ARRAY_SIZE(fields)];
	const char *end;
};

/* How many characters of @text the wildcard may take at most; *@ret_min: at least. */
static size_t measure_run(char wildcard, const char *text, size_t *ret_min)
{
	*ret_min = wildcard == '*' ? 0 : wildcard == '%' ? HEX_MIN : 1;
	if (wildcard == '#')
		return strspn(text, "0123456789");
	if (wildcard == '%')
		return strspn(text, "0123456789abcdef");
	return strcspn(text, "/");
}

static const char *skip_optional(const char *pattern)
{
	int depth = 0;

	for (;; pattern++) {
		assert(*pattern);
		depth += (*pattern == '[') - (*pattern == ']');
		if (depth == 0)
			return pattern + 1;
	}
}

static size_t find_field(const char *name)
{
	size_t length = strcspn(name, ":");

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (strlen(fields[i].name) == length && strncmp(fields[i].name, name, length) == 0)
			return i;
	}
	assert(false);
	return 0;
}

static bool match_here(const char *pattern, const char *text, size_t open, struct match *m);

static bool match_run(const char *pattern, const char *text, size_t open, struct match *m)
{
	size_t min, length = measure_run(*pattern, text, &min);

	for (; length >= min; length--) {
		if (match_here(pattern + 1, text + length, open, m))
			return true;
		if (length == 0)
			break;
	}
	return false;
}

static bool match_optional(const char *pattern, const char *text, size_t open, struct match *m)
{
	const struct match before = *m;

	if (match_here(pattern + 1, text, open, m))
		return true;
	*m = before; /* what it took on the way is not there */
	return match_here(skip_optional(pattern), text, open, m);
}

/* @open: the field that we are in.  Depth is bounded by the pattern's length, time by the runs in one
 * component, since none crosses a "/". */
static bool match_here(const char *pattern, const char *text, size_t open, struct match *m)
{
	for (;; pattern++) {
		switch (*pattern) {
		case '\0':
			m->end = text;
			return *text == '\0' || *text == '/';
		case '[':
			return match_optional(pattern, text, open, m);
		case ']':
			break;
		case '<':
			open = find_field(pattern + 1);
			m->fields[open].begin = text;
			pattern = strchr(pattern, ':');
			break;
		case '>':
			m->fields[open].end = text;
			break;
		case '*':
		case '+':
		case '#':
		case '%':
			return match_run(pattern, text, open, m);
		default:
			if (*text++ != *pattern)
				return false;
		}
	}
}

static void fill(const struct rule *rule, const char *path, const char *start,
		 const struct match *m, struct identity *ret)
{
	*ret = (struct identity){ .rule = rule->name, .manager = rule->manager };
	ret->start = (size_t)(start - path);
	ret->end = (size_t)(m->end - path);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		char *to = (char *)ret + fields[i].offset;
		size_t length = m->fields[i].begin ?
					(size_t)(m->fields[i].end - m->fields[i].begin) : 0;

		memcpy(to, m->fields[i].begin ? m->fields[i].begin : "",
		       MIN(length, (size_t)IDENTITY_MAX - 1));
	}
	for (char *p = ret->job; rule->is_escaped && *p; p++) {
		if (*p == '_')
			*p = '-';
	}
}

static const char *next_component(const char *path)
{
	path += strcspn(path, "/");
	return path + strspn(path, "/");
}

/* The deepest match that ends before @limit. */
static bool find_deepest(const char *path, size_t limit, struct identity *ret)
{
	const char *first = path + strspn(path, "/");
	size_t deepest = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		const char *pattern = rules[i].pattern;
		bool is_anchored = *pattern == '/';

		for (const char *p = first; *p; p = is_anchored ? "" : next_component(p)) {
			struct match m = {};

			if (!match_here(pattern + is_anchored, p, 0, &m) ||
			    (size_t)(m.end - path) > limit || (size_t)(m.end - path) <= deepest)
				continue;
			deepest = (size_t)(m.end - path);
			fill(&rules[i], path, p, &m, ret);
		}
	}
	return deepest != 0;
}

bool identity_of(const char *path, struct identity *ret)
{
	return find_deepest(path, SIZE_MAX, ret);
}

bool identity_around(const char *path, const struct identity *inner, struct identity *ret)
{
	return find_deepest(path, inner->start, ret);
}
