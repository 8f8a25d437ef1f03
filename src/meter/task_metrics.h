/* SPDX-License-Identifier: MIT */
/* task_metrics - which metric each of the tasks' own counters is: one table for all who read them. */
#pragma once

#include "reading.h"
#include "tasks.h"

/* Add the counters to the values, which are known from then on. */
void task_metrics_add(struct value values[METRIC_JOB_COUNT], const struct task_counters *from);
