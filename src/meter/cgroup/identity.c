/* SPDX-License-Identifier: MIT */
#include "cgroup/identity.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"

enum identity_field {
	IDENTITY_JOB,
	IDENTITY_STEP,
	IDENTITY_TASK,
	IDENTITY_USER,
	IDENTITY_NODE,
	IDENTITY_FIELD_COUNT,
};

struct rule {
	const char *name, *manager, *pattern;
	bool is_escaped; /* systemd's slices cannot hold the job's "-", so that it is written "_" */
	bool is_remade; /* as in struct identity */
	bool is_roots;
	bool is_for_others;
};

static const char *const names[IDENTITY_FIELD_COUNT] = {
	[IDENTITY_JOB] = "job",	  [IDENTITY_STEP] = "step", [IDENTITY_TASK] = "task",
	[IDENTITY_USER] = "user", [IDENTITY_NODE] = "node",
};

/* The field named at @name, up to a ":"; IDENTITY_FIELD_COUNT: unknown. */
static enum identity_field find_field(const char *name)
{
	size_t length = strcspn(name, ":"), i = 0;

	while (i < IDENTITY_FIELD_COUNT &&
	       (strlen(names[i]) != length || strncmp(names[i], name, length) != 0))
		i++;
	return (enum identity_field)i;
}

/* clang-format off */
static const struct rule builtin[] = {
	{ "run",                "run",        "jobmeter-run-<job:#>" },
	{ "slurm-v1",           "slurm",      "slurm[_<node:+>]/uid_<user:#>/job_<job:#>[/step_<step:+>[/task_<task:+>]]",
		.is_remade = true, .is_roots = true },
	{ "slurm-v2",           "slurm",      "[<node:+>_]slurmstepd.scope/job_<job:#>[/step_<step:+>[/*/task_<task:+>]]",
		.is_remade = true, .is_roots = true },
	/* Slurm 26.05 names a job by its SLUID, a letter s and 13 of base 32; "system" beside it is slurmstepd's own */
	{ "slurm-sluid",        "slurm",      "[<node:+>_]slurmstepd.scope/<job:s~>[/step_<step:+>[/*/task_<task:+>]]",
		.is_remade = true, .is_roots = true },
	{ "pbs-v1",             "pbs",        "pbs_jobs.service/jobid/<job:+>", .is_roots = true },
	{ "pbs-v2",             "pbs",        "pbs_jobs.service/jobs/<job:+>", .is_roots = true },
	{ "pbs-older",          "pbs",        "pbs.service/jobid/<job:+>", .is_roots = true },
	/* PBS Pro's own prefix, up to 2020; Torque; Univa and Altair Grid Engine */
	{ "pbspro-v1",          "pbs",        "pbspro.service/jobid/<job:+>", .is_roots = true },
	{ "pbspro-slice",       "pbs",        "pbspro.slice/pbspro-<job:+>.slice", .is_escaped = true, .is_roots = true },
	{ "pbspro-plain",       "pbs",        "pbspro/<job:+>", .is_roots = true },
	{ "torque",             "torque",     "torque/<job:+>", .is_roots = true },
	{ "uge",                "uge",        "UGE/<job:#>[.<task:#>]", .is_roots = true },
	/* job.ID.SLOT.TIME; an element of an array is ID[INDEX] */
	{ "lsf",                "lsf",        "lsf/+/job.<job:+>.#.#", .is_roots = true },
	{ "lsf-plain",          "lsf",        "lsf/+/job.<job:#>[.+]", .is_roots = true },
	/* the execute directory with "_" for "/", and the slot: only HTCondor knows what ran in
	 * it */
	{ "htcondor",           "htcondor",   "htcondor/condor_+_<job:slot+>", .is_roots = true },
	{ "htcondor-other",     "htcondor",   "htcondor/condor_<job:+>", .is_roots = true },
	{ "oar-v1",             "oar",        "oar/+_<job:#>", .is_roots = true },
	{ "oar-systemd",        "oar",        "oar-u<user:#>.slice/oar-u#-j<job:#>.slice[/oar-u#-j#-s<step:+>.scope]", .is_roots = true },
	{ "flux",               "flux",       "[imp-]shell-<task:#>-<job:f+>.service", .is_for_others = true },
	{ "kubernetes-systemd", "kubernetes", "[+-]kubepods[-+]-pod<job:+>.slice[/+-<step:%>.scope]", .is_escaped = true, .is_roots = true },
	/* containerd without SystemdCgroup takes a systemd unit's name for a path */
	{ "kubernetes-colons",  "kubernetes", "[+-]kubepods[-+]-pod<job:+>.slice:+:<step:%>", .is_escaped = true, .is_roots = true },
	{ "kubernetes-cgroupfs", "kubernetes", "kubepods[/+]/pod<job:+>[/<step:%>]", .is_roots = true },
	{ "docker-systemd",     "docker",     "docker-<job:%>.scope" },
	{ "docker-cgroupfs",    "docker",     "docker/<job:%>" },
	{ "podman",             "podman",     "libpod-<job:%>[.scope]" },
	{ "podman-split",       "podman",     "libpod-payload-<job:%>" },
	{ "session",            "systemd",    "user-<user:#>.slice/<job:session-+.scope>" },
	{ "user-manager",       "systemd",    "user-<user:#>.slice/<job:user@#.service>" },
	{ "user-unit",          "systemd",    "user-<user:#>.slice/user@#.service/+.slice/<job:+.service>" },
	{ "user-scope",         "systemd",    "user-<user:#>.slice/user@#.service/+.slice/<job:+.scope>" },
	{ "unit",               "systemd",    "*.slice/<job:+.service>" },
	{ "scope",              "systemd",    "*.slice/<job:+.scope>" },
	{ "root-unit",          "systemd",    "/<job:+.service>" },
	{ "root-scope",         "systemd",    "/<job:+.scope>" },
};
/* clang-format on */

struct identity_rules {
	struct rule items[IDENTITY_RULES_MAX]; /* strings are owned */
	size_t count;
};

#define NAME_MAX_BYTES 64
#define HEX_MIN 12 /* shorter runs of hex digits and of capitals are words and numbers */

/* The maximum number of steps for a rule and one path. A pattern with many runs in one component
 * has too many ways to match; built-in rules need a few thousand steps at most. */
#define STEPS_MAX 65536

struct span {
	const char *begin, *end;
};

struct match {
	struct span fields[IDENTITY_FIELD_COUNT];
	const char *end;
	unsigned int steps_left;
};

/* How many characters of @text the wildcard may take at most; *@ret_min: at least. */
static size_t measure_run(char wildcard, const char *text, size_t *ret_min)
{
	*ret_min = wildcard == '*' ? 0 : wildcard == '%' || wildcard == '~' ? HEX_MIN : 1;
	switch (wildcard) {
	case '#':
		return strspn(text, "0123456789");
	case '%':
		return strspn(text, "0123456789abcdef");
	case '~':
		return strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	default:
		return strcspn(text, "/");
	}
}

static const char *skip_optional(const char *pattern)
{
	int depth = 0;

	for (;; pattern++) {
		assert(*pattern); /* patterns are checked before */
		depth += (*pattern == '[') - (*pattern == ']');
		if (depth == 0)
			return pattern + 1;
	}
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
	/* drop its fields */
	memcpy(m->fields, before.fields, sizeof(m->fields));
	return match_here(skip_optional(pattern), text, open, m);
}

/* @open: the field that we are in.  Depth is bounded by the pattern's length. */
static bool match_here(const char *pattern, const char *text, size_t open, struct match *m)
{
	if (m->steps_left == 0)
		return false;
	m->steps_left--;
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
		case '~':
			return match_run(pattern, text, open, m);
		default:
			if (*text++ != *pattern)
				return false;
		}
	}
}

/* Where the component ends in which the field does. */
static size_t component_end(const char *path, const struct span *field)
{
	return field->begin ? (size_t)(field->end - path) + strcspn(field->end, "/") : 0;
}

static void take_field(const struct match *m, enum identity_field field, char to[IDENTITY_MAX])
{
	const struct span *span = &m->fields[field];
	size_t length = span->begin ? (size_t)(span->end - span->begin) : 0;

	memcpy(to, span->begin ? span->begin : "", MIN(length, (size_t)IDENTITY_MAX - 1));
}

static void fill(const struct rule *rule, const char *path, const char *start,
		 const struct match *m, struct identity *ret)
{
	*ret = (struct identity){ .rule = rule->name,
				  .manager = rule->manager,
				  .is_remade = rule->is_remade,
				  .is_roots = rule->is_roots,
				  .is_for_others = rule->is_for_others };
	ret->start = (size_t)(start - path);
	ret->end = (size_t)(m->end - path);
	take_field(m, IDENTITY_JOB, ret->job);
	take_field(m, IDENTITY_STEP, ret->step);
	take_field(m, IDENTITY_TASK, ret->task);
	take_field(m, IDENTITY_USER, ret->user);
	take_field(m, IDENTITY_NODE, ret->node);
	ret->job_end = component_end(path, &m->fields[IDENTITY_JOB]);
	ret->step_end = component_end(path, &m->fields[IDENTITY_STEP]);
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

/* Whether @rule reaches deeper into @path than @deepest, but not beyond @limit. */
static bool try_rule(const struct rule *rule, const char *path, size_t limit, size_t deepest,
		     struct identity *ret)
{
	bool is_anchored = *rule->pattern == '/', is_found = false;
	unsigned int steps_left = STEPS_MAX;

	for (const char *p = path + strspn(path, "/"); *p;
	     p = is_anchored ? "" : next_component(p)) {
		struct match m = { .steps_left = steps_left };
		bool is_match = match_here(rule->pattern + is_anchored, p, 0, &m);

		steps_left = m.steps_left;
		if (!is_match || (size_t)(m.end - path) > limit ||
		    (size_t)(m.end - path) <= deepest ||
		    m.fields[IDENTITY_JOB].begin == m.fields[IDENTITY_JOB].end)
			continue;
		deepest = (size_t)(m.end - path);
		fill(rule, path, p, &m, ret);
		is_found = true;
	}
	return is_found;
}

/* The deepest match that ends before @limit. */
static bool find_deepest(const struct identity_rules *rules, const char *path, size_t limit,
			 struct identity *ret)
{
	bool is_found = false;

	for (size_t i = 0; rules && i < rules->count; i++)
		is_found |= try_rule(&rules->items[i], path, limit, is_found ? ret->end : 0, ret);
	for (size_t i = 0; i < ARRAY_SIZE(builtin); i++)
		is_found |= try_rule(&builtin[i], path, limit, is_found ? ret->end : 0, ret);
	return is_found;
}

bool identity_of(const struct identity_rules *rules, const char *path, struct identity *ret)
{
	return find_deepest(rules, path, SIZE_MAX, ret);
}

bool identity_around(const struct identity_rules *rules, const char *path,
		     const struct identity *inner, struct identity *ret)
{
	return find_deepest(rules, path, inner->start, ret);
}

bool identity_builtin(size_t i, const char **ret_name, const char **ret_manager,
		      const char **ret_pattern)
{
	if (i >= ARRAY_SIZE(builtin))
		return false;
	*ret_name = builtin[i].name;
	*ret_manager = builtin[i].manager;
	*ret_pattern = builtin[i].pattern;
	return true;
}

/* ---- a site's own ---- */

/* A pattern as far as it was read. */
struct reading_pattern {
	const char *pattern;
	struct error *err;
	int depth; /* of brackets */
	enum identity_field open; /* IDENTITY_FIELD_COUNT: in none */
	int open_depth; /* of brackets, where it was opened */
	const char *open_text; /* behind its ":" */
	bool has[IDENTITY_FIELD_COUNT];
};

static int refuse(const struct reading_pattern *s, const char *what)
{
	return error_set(s->err, -EINVAL, "pattern '%s': %s", s->pattern, what);
}

/* *@p is at the "<", and afterwards at the ":". */
static int open_field(struct reading_pattern *s, const char **p)
{
	const char *name = *p + 1, *colon = strpbrk(name, ":<>[]/");
	int length = (int)strcspn(name, ":<>[]/");
	enum identity_field field;

	if (s->open != IDENTITY_FIELD_COUNT)
		return refuse(s, "a field within a field");
	if (!colon || *colon != ':')
		return refuse(s, "a '<' without FIELD: behind it");
	field = find_field(name);
	if (field == IDENTITY_FIELD_COUNT)
		return error_set(
			s->err, -EINVAL,
			"pattern '%s': there is no field '%.*s', but job, step, task, user and node",
			s->pattern, length, name);
	if (s->has[field])
		return error_set(s->err, -EINVAL, "pattern '%s': field '%s' is there twice",
				 s->pattern, names[field]);
	if (field == IDENTITY_JOB && s->depth > 0)
		return refuse(s, "the job stands in brackets, and cannot be missing");
	s->has[field] = true;
	s->open = field;
	s->open_depth = s->depth;
	s->open_text = colon + 1;
	*p = colon;
	return 0;
}

static int close_field(struct reading_pattern *s, const char *p)
{
	enum identity_field field = s->open;

	if (field == IDENTITY_FIELD_COUNT)
		return refuse(s, "a '>' without its '<'");
	if (s->open_depth != s->depth)
		return refuse(s, "brackets and fields overlap");
	if (p == s->open_text)
		return error_set(s->err, -EINVAL, "pattern '%s': field '%s' is empty", s->pattern,
				 names[field]);
	/* a name that is no number would pass for one */
	if (field == IDENTITY_USER &&
	    strspn(s->open_text, "0123456789#") != (size_t)(p - s->open_text))
		return refuse(s, "the user must be a number: <user:#>");
	s->open = IDENTITY_FIELD_COUNT;
	return 0;
}

static int read_character(struct reading_pattern *s, const char **p)
{
	switch (**p) {
	case '[':
		if (++s->depth > IDENTITY_DEPTH_MAX)
			return error_set(s->err, -EINVAL,
					 "pattern '%s': more than %d brackets within each other",
					 s->pattern, IDENTITY_DEPTH_MAX);
		return 0;
	case ']':
		if (s->depth-- == 0)
			return refuse(s, "a ']' without its '['");
		if (s->open != IDENTITY_FIELD_COUNT && s->depth < s->open_depth)
			return refuse(s, "brackets and fields overlap");
		return 0;
	case '<':
		return open_field(s, p);
	case '>':
		return close_field(s, *p);
	case '/':
		return s->open == IDENTITY_FIELD_COUNT ? 0 : refuse(s, "a field cannot hold a '/'");
	default:
		return 0;
	}
}

static int check_pattern(const char *pattern, struct error *err)
{
	struct reading_pattern s = { .pattern = pattern, .err = err, .open = IDENTITY_FIELD_COUNT };

	if (!*pattern)
		return error_set(err, -EINVAL, "the pattern is empty");
	if (strlen(pattern) > IDENTITY_PATTERN_MAX)
		return error_set(err, -EINVAL, "the pattern is longer than %d bytes",
				 IDENTITY_PATTERN_MAX);
	for (const char *p = pattern; *p; p++) {
		int r = read_character(&s, &p);

		if (r < 0)
			return r;
	}
	if (s.open != IDENTITY_FIELD_COUNT)
		return refuse(&s, "a '<' without its '>'");
	if (s.depth > 0)
		return refuse(&s, "a '[' without its ']'");
	if (!s.has[IDENTITY_JOB])
		return refuse(&s, "there is no <job:...> in it");
	return 0;
}

/* Managers' names are used in labels, and with the id in file names. */
static bool is_word(const char *text)
{
	return *text >= 'a' && *text <= 'z' &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_")] == '\0';
}

static int check_rule(const char *name, const char *manager, const char *pattern, struct error *err)
{
	if (!*name || strlen(name) > NAME_MAX_BYTES)
		return error_set(err, -EINVAL, "a rule's name has 1 to %d bytes", NAME_MAX_BYTES);
	if (!is_word(manager) || strlen(manager) > NAME_MAX_BYTES)
		return error_set(err, -EINVAL,
				 "manager '%.64s' is no name of small letters, digits, '-' and '_'",
				 manager);
	return check_pattern(pattern, err);
}

struct identity_rules *identity_rules_new(void)
{
	return calloc(1, sizeof(struct identity_rules));
}

static void rule_clear(struct rule *rule)
{
	free((char *)rule->name);
	free((char *)rule->manager);
	free((char *)rule->pattern);
}

struct identity_rules *identity_rules_free(struct identity_rules *rules)
{
	if (!rules)
		return NULL;
	for (size_t i = 0; i < rules->count; i++)
		rule_clear(&rules->items[i]);
	free(rules);
	return NULL;
}

void identity_rules_freep(struct identity_rules **rules)
{
	identity_rules_free(*rules);
}

int identity_rules_add(struct identity_rules *rules, const char *name, const char *manager,
		       const char *pattern, bool is_escaped, struct error *err)
{
	struct rule rule = { .is_escaped = is_escaped };
	int r;

	if (rules->count == IDENTITY_RULES_MAX)
		return error_set(err, -ENOSPC, "there are more than %d rules", IDENTITY_RULES_MAX);
	r = check_rule(name, manager, pattern, err);
	if (r < 0)
		return r;
	rule.name = strdup(name);
	rule.manager = strdup(manager);
	rule.pattern = strdup(pattern);
	if (!rule.name || !rule.manager || !rule.pattern) {
		rule_clear(&rule);
		return error_set_errno(err, ENOMEM, "cannot keep rule '%s'", name);
	}
	rule.is_roots = true;
	for (size_t i = 0; i < ARRAY_SIZE(builtin); i++) {
		if (strcmp(builtin[i].manager, rule.manager) != 0)
			continue;
		rule.is_remade |= builtin[i].is_remade;
		rule.is_roots &= builtin[i].is_roots;
		rule.is_for_others |= builtin[i].is_for_others;
	}
	rules->items[rules->count++] = rule;
	return 0;
}
