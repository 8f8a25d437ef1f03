/* SPDX-License-Identifier: MIT */
#include "tui/top_line.h"

#include <errno.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "codec/record_format.h"
#include "tui/top.h"

struct line_job {
	const struct top *top;
	struct top_job *job;
};

static void format_more(const void *context, struct document *d)
{
	const struct line_job *l = context;
	const char *class = top_class(l->top, l->job);

	document_put_string(d, "class", *class ? class : NULL);
	document_key(d, "now");
	numbers_format(&l->job->numbers, d);
}

int top_line_write(const struct top *t, bool is_all, FILE *out)
{
	_cleanup_(document_freep) struct document *d = document_new_json(out, DOCUMENT_ONE_LINE);

	if (!d)
		return -ENOMEM;
	document_begin_map(d);
	wire_snapshot_format_head(&t->last, d);
	document_begin_list_of(d, "jobs");
	for (size_t i = 0; i < t->job_count; i++) {
		const struct line_job line = { t, &t->jobs[i] };

		if (is_all || (top_shows(t, line.job) && !top_hides(t, line.job)))
			record_format_with(line.job->now, format_more, &line, d);
	}
	document_end_list(d);
	document_end_map(d);
	return document_finish(d);
}
