/* SPDX-License-Identifier: MIT */
#include "predict/request.h"

#include "basic/macro.h"
#include "predict/predictor.h"

#define AT(member) offsetof(struct job_request, member)
/* clang-format off */
const struct request_field request_fields[] = {
	{ "account", REQUEST_TEXT, AT(account), "What is charged for it." },
	{ "partition", REQUEST_TEXT, AT(partition), "The partition or queue." },
	{ "qos", REQUEST_TEXT, AT(qos), "The quality of service." },
	{ "name", REQUEST_NAME, AT(name), "The job's name; numbers in it mean nothing." },
	{ "script_hash", REQUEST_TEXT, AT(script), "What tells its script from others." },
	{ "nodes", REQUEST_NUMBER, AT(nodes), "Nodes." },
	{ "tasks", REQUEST_NUMBER, AT(tasks), "Tasks." },
	{ "cores", REQUEST_NUMBER, AT(cores), "Cores of all its nodes." },
	{ "memory_bytes", REQUEST_NUMBER, AT(memory_bytes), "Memory of all its nodes." },
	{ "gpus", REQUEST_NUMBER, AT(gpus), "GPUs of all its nodes." },
	{ "time_limit_seconds", REQUEST_NUMBER, AT(limit_s), "The time limit." },
	{ "array_tasks", REQUEST_NUMBER, AT(array_tasks), "Tasks of its array." },
};
/* clang-format on */
const size_t request_field_count = ARRAY_SIZE(request_fields);
