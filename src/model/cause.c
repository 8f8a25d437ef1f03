/* SPDX-License-Identifier: MIT */
#include "model/cause.h"

#include <assert.h>

/* clang-format off */
static const struct {
	const char *name;
	enum metric_id metric;
	bool is_lost;
} causes[CAUSE_COUNT] = {
	[CAUSE_FILE_READ]  = { "file_read", METRIC_BLOCKED_FILE_READ, true },
	[CAUSE_FILE_WRITE] = { "file_write", METRIC_BLOCKED_FILE_WRITE, true },
	[CAUSE_FILE_META]  = { "file_meta", METRIC_BLOCKED_FILE_META, true },
	[CAUSE_FILE_ASYNC] = { "file_async", METRIC_BLOCKED_FILE_ASYNC, true },
	[CAUSE_SYNC]       = { "sync", METRIC_BLOCKED_SYNC, true },
	[CAUSE_PAGE_FAULT] = { "page_fault", METRIC_BLOCKED_PAGE_FAULT, true },
	[CAUSE_NETWORK]    = { "network", METRIC_BLOCKED_NETWORK, true },
	[CAUSE_LOCK]       = { "lock", METRIC_BLOCKED_LOCK, true },
	[CAUSE_PIPE]       = { "pipe", METRIC_BLOCKED_PIPE, false },
	[CAUSE_POLL]       = { "poll", METRIC_BLOCKED_POLL, false },
	[CAUSE_SLEEP]      = { "sleep", METRIC_BLOCKED_SLEEP, false },
	[CAUSE_CHILDREN]   = { "children", METRIC_BLOCKED_CHILDREN, false },
	[CAUSE_THREADS]    = { "threads", METRIC_BLOCKED_THREADS, false },
	[CAUSE_STOPPED]    = { "stopped", METRIC_BLOCKED_STOPPED, false },
	[CAUSE_OTHER]      = { "other", METRIC_BLOCKED_OTHER, false },
};
/* clang-format on */

const char *cause_name(enum cause cause)
{
	assert(cause < CAUSE_COUNT);
	return causes[cause].name;
}

enum metric_id cause_metric(enum cause cause)
{
	assert(cause < CAUSE_COUNT);
	return causes[cause].metric;
}

bool cause_is_lost(enum cause cause)
{
	assert(cause < CAUSE_COUNT);
	return causes[cause].is_lost;
}
