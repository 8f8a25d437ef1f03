/* SPDX-License-Identifier: MIT */
/* top_detail - one job from close by: where its core time goes, what stands out, its mounts, what
 * it did over time. */
#pragma once

struct grid;
struct top;
struct top_job;

/* In the rows from @first to before @end.  Returns the row behind the last that was drawn. */
unsigned int top_detail_draw(const struct top *t, const struct top_job *job, struct grid *g,
			     unsigned int first, unsigned int end);
