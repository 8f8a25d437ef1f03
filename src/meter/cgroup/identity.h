/* SPDX-License-Identifier: MIT */
/*
 * identity - maps a cgroup's path to (manager, job, step, task) by a table of rules.
 *
 * Only the path decides, never the environment of a process. Matching takes a bounded number of
 * steps for any path and rules.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define IDENTITY_MAX 256 /* a component of a path has at most 255 bytes, so nothing is cut */

#define IDENTITY_RULES_MAX 64 /* a site's own */
#define IDENTITY_PATTERN_MAX 255 /* bytes */
#define IDENTITY_DEPTH_MAX 8 /* brackets within brackets */

struct error;
struct identity_rules; /* a site's own rules, which come before the built-in ones */

struct identity {
	const char *rule; /* the rule's name: "slurm-v1"; lives as long as the rules */
	const char *manager; /* "slurm" */
	/* The fields found in the path; "" if absent. */
	char job[IDENTITY_MAX], step[IDENTITY_MAX], task[IDENTITY_MAX];
	char user[IDENTITY_MAX]; /* a number */
	char node[IDENTITY_MAX];
	size_t start, end; /* the part of the path that the rule covers */
	size_t job_end; /* the end of the component that names the job: the path of the job's top
			   group */
	size_t step_end; /* the same of the step; 0: none */
	bool is_remade; /* the manager removes and recreates a job's group within one job */
	bool is_roots; /* only root makes such groups: a group made by a user is not one of these */
	bool is_for_others; /* a user makes them for others; else a user's group belongs to its
			       maker */
};

struct identity_rules *identity_rules_new(void); /* NULL: no memory */
struct identity_rules *identity_rules_free(struct identity_rules *rules); /* NULL is fine; returns
									     NULL */
void identity_rules_freep(struct identity_rules **rules);

/*
 * Append a rule. All strings are copied.  @is_escaped: the job's
 * "-" is written
 * "_" in the path.  A rule for a built-in manager inherits is_remade and root ownership from its
 * built-in rules; one for another manager is root's, and not remade.
 *
 * -EINVAL: @err says what is wrong with it; -ENOSPC: there are too many.  A pattern matches whole
 * components of a path, starting at any of them; with a leading "/" at the first one only:
 *
 *   *  any run, may be empty    +  any run    #  a run of digits
 *   %  a run of 12 or more hex digits    ~  a run of 12 or more capitals and digits
 *   [...]  may be missing       <FIELD:...>  what this matches is the field: job, step, task, user,
 * node
 *
 * No run crosses a "/".  Of the rules that match, the one that reaches deepest wins, and of two
 * that reach as deep, the upper one.
 */
int identity_rules_add(struct identity_rules *rules, const char *name, const char *manager,
		       const char *pattern, bool is_escaped, struct error *err);

/*
 * The innermost rule that matches @path, a group's path within its hierarchy.  False: none does,
 * and *@ret is as it was.  Groups below the one that the rule names belong to it too.  @rules: a
 * site's; NULL: the built-in ones only.
 */
bool identity_of(const struct identity_rules *rules, const char *path, struct identity *ret);

/* The rule that matches around @inner in the same path: the Slurm job in which a `run` was started.
 */
bool identity_around(const struct identity_rules *rules, const char *path,
		     const struct identity *inner, struct identity *ret);

/* The built-in rules, one by one, for listings; false: there are no more. */
bool identity_builtin(size_t i, const char **ret_name, const char **ret_manager,
		      const char **ret_pattern);
