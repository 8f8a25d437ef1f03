/* SPDX-License-Identifier: MIT */
/* request - the features of a job that are known when it is submitted, in one table: the body of
 * POST /api/v1/predict, what `jobmeter predict` sends, and what is documented. */
#pragma once

#include <stddef.h>

enum request_kind { REQUEST_TEXT, REQUEST_NAME, REQUEST_NUMBER };

extern const struct request_field {
	const char *key;
	enum request_kind kind;
	size_t offset; /* in struct job_request: of a hash, or of a double */
	const char *help;
} request_fields[];
extern const size_t request_field_count;
