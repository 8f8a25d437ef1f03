/* SPDX-License-Identifier: MIT */
/* top_detail - the details of one job: core time, findings, mounts, and curves over time. */
#pragma once

struct grid;
struct top;
struct top_job;

/* In the rows from @first to before @end.  Returns the row behind the last that was drawn. */
unsigned int top_detail_draw(const struct top *t, const struct top_job *job, struct grid *g,
			     unsigned int first, unsigned int end);
