/* SPDX-License-Identifier: MIT */
#include "model/job_row.h"

#include <stdbool.h>
#include <stdio.h>

const char *job_row_key(enum metric_id id, char buffer[JOB_ROW_KEY_SIZE])
{
	const struct metric *metric = metric_get(id);
	bool is_of_mounts = metric->scope == SCOPE_MOUNT || metric->scope == SCOPE_MOUNT_OP;

	if (metric->kind == KIND_HISTOGRAM || !metric->section ||
	    (metric_id_of(metric) >= METRIC_JOB_COUNT && metric->scope != SCOPE_SOCKET &&
	     !is_of_mounts))
		return NULL;
	snprintf(buffer, JOB_ROW_KEY_SIZE, "%s%s.%s", is_of_mounts ? "io." : "", metric->section,
		 metric->key);
	return buffer;
}
