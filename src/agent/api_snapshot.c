/* SPDX-License-Identifier: MIT */
#include "agent/api_snapshot.h"

#include <string.h>

#include "agent/api.h"
#include "agent/api_format.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "node/job_record.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "node/sampler.h"
#include "model/snapshot.h"

struct query {
	uint64_t age_ns;
	struct api_wish wish; /* ahead_ns UINT64_MAX: no reading ahead is wanted */
};

/* A number of seconds in the query; without it *@ns stays as it is.  -EINVAL. */
static int take_seconds(const struct http_request *request, const char *key, uint64_t *ns)
{
	const char *text = http_query(request, key);

	return text ? parse_seconds(text, ns) : 0;
}

static int take_query(const struct http_request *request, struct query *ret,
		      struct http_answer *answer)
{
	const char *files = http_query(request, "files");

	*ret = (struct query){ .age_ns = API_LIST_AGE_NS,
			       .wish = { .ahead_ns = UINT64_MAX, .in_sums = files } };
	if (take_seconds(request, "max_age", &ret->age_ns) < 0 ||
	    take_seconds(request, "ended", &ret->wish.ended_ns) < 0 ||
	    take_seconds(request, "ahead", &ret->wish.ahead_ns) < 0 ||
	    take_seconds(request, "since", &ret->wish.since_ns) < 0) {
		(void)http_fail(answer, 400,
				"'max_age', 'ended', 'since' and 'ahead' are numbers of seconds");
		return -1;
	}
	if (files && strcmp(files, "sums") != 0) {
		(void)http_fail(answer, 400, "'files' is 'sums'");
		return -1;
	}
	ret->age_ns = MAX(ret->age_ns, API_RECORD_AGE_NS);
	return 0;
}

/* Who wants it fresher than a list gets what a record would have: a reading by everybody's own
 * right.  Who is content with an older one gets the last that there is, which rates may begin with.
 */
int api_wire_snapshot_answer(struct api_ahead *ahead, struct sampler *sampler,
			     const struct http_request *request, const struct api_view *view,
			     struct http_answer *ret)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	struct node_values values;
	struct job_record_node node;
	struct error err = {};
	struct query query;

	if (take_query(request, &query, ret) < 0)
		return 0;
	sampler_want_commands(sampler);
	if (sampler_get(sampler, query.age_ns, &snapshot, &err) < 0)
		return http_fail(ret, 503, "there is no reading: %s", err.text);
	sampler_get_node(sampler, &node);
	node.cluster = NULL; /* the configuration's, which may be another before all is sent */
	if (query.wish.ahead_ns < UINT64_MAX) {
		ahead->uid = request->peer.uid;
		query.wish.ahead = &ahead->ns;
		query.wish.ahead_ns = MAX(query.wish.ahead_ns, API_RECORD_AGE_NS);
	}
	values = sampler_get_node_values(sampler);
	return api_stream_snapshot(snapshot, view, &node, &values, &query.wish, ret);
}
