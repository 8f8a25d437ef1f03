/* SPDX-License-Identifier: MIT */
#include "api_tick.h"

#include <string.h>

#include "api.h"
#include "api_format.h"
#include "cleanup.h"
#include "error.h"
#include "job_record.h"
#include "macro.h"
#include "parse.h"
#include "sampler.h"

struct query {
	uint64_t age_ns, ended_ns;
	uint64_t ahead_ns; /* UINT64_MAX: no reading ahead is wanted */
	bool is_delta;
	uint64_t since_ns; /* the boot_ns of a snapshot; 0: of none */
};

static struct api_tick_kept *find(struct api_ticks *t, uint64_t boot_ns)
{
	for (size_t i = 0; i < API_TICKS_KEPT; i++) {
		if (t->kept[i].snapshot && t->kept[i].snapshot->boot_ns == boot_ns)
			return &t->kept[i];
	}
	return NULL;
}

static void forget(struct api_tick_kept *kept)
{
	snapshot_unref(kept->snapshot);
	*kept = (struct api_tick_kept){};
}

/* For one who goes on from it, and so does not come back to it.  The caller's reference; NULL: it is not kept. */
static struct snapshot *take(struct api_ticks *t, uint64_t boot_ns)
{
	struct api_tick_kept *kept = find(t, boot_ns);
	struct snapshot *s;

	if (!kept)
		return NULL;
	s = snapshot_ref(kept->snapshot);
	if (--kept->readers == 0)
		forget(kept);
	return s;
}

/* A place that is free, else the one of the oldest. */
static struct api_tick_kept *find_place(struct api_ticks *t)
{
	struct api_tick_kept *place = &t->kept[0];

	for (size_t i = 0; i < API_TICKS_KEPT; i++) {
		struct api_tick_kept *kept = &t->kept[i];

		if (!kept->snapshot)
			return kept;
		if (kept->snapshot->boot_ns < place->snapshot->boot_ns)
			place = kept;
	}
	return place;
}

static void keep(struct api_ticks *t, struct snapshot *s)
{
	struct api_tick_kept *kept = find(t, s->boot_ns);

	if (!kept) {
		kept = find_place(t);
		forget(kept);
		kept->snapshot = snapshot_ref(s);
	}
	kept->readers++;
}

void api_ticks_expire(struct api_ticks *t, uint64_t boot_ns)
{
	for (size_t i = 0; i < API_TICKS_KEPT; i++) {
		const struct snapshot *s = t->kept[i].snapshot;

		if (s && boot_ns > s->boot_ns && boot_ns - s->boot_ns > API_TICKS_KEPT_NS)
			forget(&t->kept[i]);
	}
}

void api_ticks_clear(struct api_ticks *t)
{
	for (size_t i = 0; i < API_TICKS_KEPT; i++)
		forget(&t->kept[i]);
}

/* A number of seconds in the query; without it *@ns stays as it is.  -EINVAL. */
static int take_seconds(const struct http_request *request, const char *key, uint64_t *ns)
{
	const char *text = http_query(request, key);

	return text ? parse_seconds(text, ns) : 0;
}

static int take_query(const struct http_request *request, struct query *ret, struct http_answer *answer)
{
	const char *form = http_query(request, "form"), *since = http_query(request, "since");

	*ret = (struct query){ .age_ns = API_LIST_AGE_NS,
			       .ahead_ns = UINT64_MAX,
			       .is_delta = form && strcmp(form, "delta") == 0 };
	if (form && !ret->is_delta) {
		(void)http_fail(answer, 400, "'form' is 'delta', or is not given");
		return -1;
	}
	if (since && parse_u64(since, &ret->since_ns) < 0) {
		(void)http_fail(answer, 400, "'since' is the 'boot_ns' of an earlier answer");
		return -1;
	}
	if (take_seconds(request, "max_age", &ret->age_ns) < 0 || take_seconds(request, "ended", &ret->ended_ns) < 0 ||
	    take_seconds(request, "ahead", &ret->ahead_ns) < 0) {
		(void)http_fail(answer, 400, "'max_age', 'ended' and 'ahead' are numbers of seconds");
		return -1;
	}
	ret->age_ns = MAX(ret->age_ns, API_RECORD_AGE_NS);
	return 0;
}

/* Who wants it fresher than a list gets what a record would have: a reading by everybody's own right.  Who is content with
 * an older one gets the last that there is, which rates may begin with. */
int api_ticks_answer(struct api_ticks *t, struct sampler *sampler, const struct http_request *request,
		     const struct api_view *view, struct http_answer *ret)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL, *since = NULL;
	struct job_record_node node;
	struct error err = {};
	struct query query;
	int r;

	if (take_query(request, &query, ret) < 0)
		return 0;
	sampler_want_commands(sampler);
	if (sampler_get(sampler, query.age_ns, &snapshot, &err) < 0)
		return http_fail(ret, 503, "there is no reading: %s", err.text);
	sampler_get_node(sampler, &node);
	node.cluster = NULL; /* the configuration's, which may be another before all is sent */
	if (!query.is_delta)
		return api_stream_tick(snapshot, view, &node, query.ended_ns, ret);
	t->ahead_uid = request->peer.uid;
	since = query.since_ns ? take(t, query.since_ns) : NULL;
	r = api_stream_delta(snapshot, since, view, &node, query.ended_ns,
			     MAX(query.ahead_ns, API_RECORD_AGE_NS), query.ahead_ns < UINT64_MAX ? &t->ahead_ns : NULL, ret);
	keep(t, snapshot);
	return r;
}
