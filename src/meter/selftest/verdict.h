/* SPDX-License-Identifier: MIT */
/* verdict - which hooks counted the self-test right, from its results and the counts.  No side
 * effects. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct hook;
struct reading;
struct selftest_talk;

struct judged {
	const char *program;
	char why[160]; /* what it counted wrong; "": all that rests on it was counted right */
};

#define VERDICT_MAX 48

struct verdict { /* hooks that are not in it were not tried */
	struct judged items[VERDICT_MAX];
	size_t count, doubts; /* doubts: of how many something was counted wrong */
};

/* What a reading of the canary's group is held against. */
struct evidence {
	const long *results; /* of the self-test, by case */
	const struct selftest_talk *talk; /* NULL: it was not asked to */
	bool has_left_connections; /* they are closed, and still followed */
	const struct hook *hooks; /* as they are on now; a tier of which one is off is not judged */
	size_t hook_count;
	const struct reading *reading;
	bool is_settled; /* the canary's end was seen */
	int settle_ms; /* after so long */
	bool is_disturbed; /* programs were skipped meanwhile: those that may be are not doubted */
};

void verdict_find(const struct evidence *e, struct verdict *ret);

/* Add that @program counted right, or why not: by @format, unless there is a reason already. */
void verdict_judge(struct verdict *v, const char *program, bool is_right, const char *format, ...);
