/* SPDX-License-Identifier: MIT */
#include "cgroup/identity_rule.h"

#include <errno.h>
#include <string.h>

#include "basic/error.h"
#include "cgroup/identity.h"

#define NAME_MAX_BYTES 64

static const char *const names[IDENTITY_FIELD_COUNT] = {
	[IDENTITY_JOB] = "job",	  [IDENTITY_STEP] = "step", [IDENTITY_TASK] = "task",
	[IDENTITY_USER] = "user", [IDENTITY_NODE] = "node",
};

enum identity_field identity_field_find(const char *name)
{
	size_t length = strcspn(name, ":"), i = 0;

	while (i < IDENTITY_FIELD_COUNT &&
	       (strlen(names[i]) != length || strncmp(names[i], name, length) != 0))
		i++;
	return (enum identity_field)i;
}

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
	field = identity_field_find(name);
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

int identity_rule_check(const char *name, const char *manager, const char *pattern,
			struct error *err)
{
	if (!*name || strlen(name) > NAME_MAX_BYTES)
		return error_set(err, -EINVAL, "a rule's name has 1 to %d bytes", NAME_MAX_BYTES);
	if (!is_word(manager) || strlen(manager) > NAME_MAX_BYTES)
		return error_set(err, -EINVAL,
				 "manager '%.64s' is no name of small letters, digits, '-' and '_'",
				 manager);
	return check_pattern(pattern, err);
}
