/* SPDX-License-Identifier: MIT */
/* identity_rule - one rule that maps a cgroup to a job, and its checks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

enum identity_field {
	IDENTITY_JOB,
	IDENTITY_STEP,
	IDENTITY_TASK,
	IDENTITY_USER,
	IDENTITY_NODE,
	IDENTITY_FIELD_COUNT,
};

struct identity_rule {
	const char *name, *manager, *pattern;
	bool is_escaped; /* systemd's slices cannot hold the job's "-", so that it is written "_" */
	bool is_remade; /* as in struct identity */
	bool is_roots;
	bool is_for_others;
};

/* The field named at @name, up to a ":"; IDENTITY_FIELD_COUNT: there is none. */
enum identity_field identity_field_find(const char *name);

/* -EINVAL: @err says what is wrong. */
int identity_rule_check(const char *name, const char *manager, const char *pattern,
			struct error *err);
