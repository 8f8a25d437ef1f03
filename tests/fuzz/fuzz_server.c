/* SPDX-License-Identifier: MIT */
/* Whatever a server may answer to a question for jobs: it is taken whole, or told in a line. */

#include "basic/cleanup.h"
#include "basic/error.h"
#include "client/server_client.h"
#include "fuzz.h"
#include "model/json_place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(json_freep) json_t *jobs = json_array();
	struct error err = {};
	bool has_more = false;

	if (server_parse_jobs((const char *)data, size, jobs, &has_more, &err) < 0) {
		CHECK(*err.text && !json_array_size(jobs) && !has_more);
		return 0;
	}
	for (size_t i = 0; i < json_array_size(jobs); i++) {
		const json_t *job = json_array_get(jobs, i);

		CHECK(json_is_string(json_object_get(job, "manager")));
		CHECK(json_is_string(json_object_get(job, "id")));
	}
	return 0;
}
