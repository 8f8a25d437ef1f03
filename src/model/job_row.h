/* SPDX-License-Identifier: MIT */
/* job_row - what the numbers of a job are called in a list of jobs, as the metric table has them.
 */
#pragma once

#include "model/metric.h"

/* Those of a job, and behind them sums over its mounts and its sockets. */
#define JOB_ROW_VALUES METRIC_NETWORK_END
#define JOB_ROW_KEY_SIZE 64

/* "cpu.user_seconds", "io.read.bytes"; NULL: the list has none such. */
const char *job_row_key(enum metric_id id, char buffer[JOB_ROW_KEY_SIZE]);
