/* SPDX-License-Identifier: MIT */
/* Whatever a server may answer to a question for jobs: it is taken whole, or told in a line. */
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "client/server_client.h"
#include "fuzz.h"
#include "model/job_row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(job_rows_clear) struct job_rows rows = {};
	struct error err = {};
	bool has_more = false;

	if (server_parse_jobs((const char *)data, size, &rows, &has_more, &err) < 0) {
		CHECK(*err.text && !rows.count && !has_more);
		return 0;
	}
	for (size_t i = 0; i < rows.count; i++) {
		CHECK(rows.items[i].manager && rows.items[i].id && rows.items[i].uid >= -1);
		for (size_t j = 0; j < JOB_ROW_VALUES; j++)
			CHECK(!rows.items[i].values[j].is_known ||
			      job_row_key((enum metric_id)j, (char[JOB_ROW_KEY_SIZE]){}));
	}
	job_rows_sort(&rows);
	return 0;
}
