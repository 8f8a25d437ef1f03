/* SPDX-License-Identifier: MIT */
#include "agent/api.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/api_format.h"
#include "agent/api_trace.h"
#include "basic/cleanup.h"
#include "cgroup/descendants.h"
#include "basic/error.h"
#include "basic/file.h"
#include "cgroup/hierarchy.h"
#include "cgroup/identity.h"
#include "basic/parse.h"
#include "codec/agent_answer.h"
#include "codec/trace_post.h"
#include "agent/push.h"
#include "service/permission.h"
#include "model/record.h"
#include "selftest/rights.h"
#include "node/job_groups.h"
#include "node/sampler.h"

#define JOBS "/v1/jobs/"
#define RUNS "/v1/runs/"
#define END "/end"
#define PROC_TEXT_MAX (64 * 1024)
#define PATH_LENGTH_MAX 4096

struct run { /* that a client announced, and has not ended */
	char *id;
	uint64_t group_id;
	uid_t uid;
	pid_t client;
};

struct api {
	struct api_options options;
	struct run runs[API_RUNS_MAX];
	size_t run_count;
	struct api_ahead ahead;
	struct api_traces traces;
};

int api_open(const struct api_options *options, struct api **ret)
{
	struct api *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->options = *options;
	a->traces.tracer = options->tracer;
	*ret = a;
	return 0;
}

struct api *api_close(struct api *a)
{
	for (size_t i = 0; a && i < a->run_count; i++)
		free(a->runs[i].id);
	free(a);
	return NULL;
}

bool api_wants_ahead(struct api *a, uint64_t *ret_age_ns, uid_t *ret_uid)
{
	*ret_age_ns = a->ahead.ns;
	*ret_uid = a->ahead.uid;
	a->ahead.ns = 0;
	return *ret_age_ns > 0;
}

bool api_view_sees(const struct api_view *view, const struct snapshot_job *job)
{
	return permission_sees(view->permission, &view->peer, job->job);
}

/* The same words whether it is not there or not his. */
static int fail_job(struct http_answer *ret)
{
	return http_fail(ret, 404, "there is no such job, or it is not yours");
}

static int get_snapshot(struct api *a, uint64_t max_age_ns, struct snapshot **ret,
			struct http_answer *answer)
{
	struct error err = {};

	if (sampler_get(a->options.sampler, max_age_ns, ret, &err) == 0)
		return 0;
	(void)http_fail(answer, 503, "there is no reading: %s", err.text);
	return -EIO;
}

/* A job that @peer may see; NULL: none such. */
static const struct snapshot_job *find_job(struct api *a, const struct snapshot *snapshot,
					   const struct http_peer *peer, const char *manager,
					   const char *id)
{
	const struct snapshot_job *job = snapshot_find(snapshot, manager, id);

	return job && permission_sees(a->options.permission, peer, job->job) ? job : NULL;
}

/* Is there such a job that the caller may see?  For any other no reading is taken, so that the time
 * of an answer does not reveal whether another user's job exists. */
static bool knows_job(struct api *a, const struct http_request *request, const char *manager,
		      const char *id, struct http_answer *ret)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;

	if (permission_sees_all(a->options.permission, &request->peer))
		return true;
	if (get_snapshot(a, API_LIST_AGE_NS, &snapshot, ret) < 0)
		return false;
	if (find_job(a, snapshot, &request->peer, manager, id))
		return true;
	(void)fail_job(ret);
	return false;
}

/* @group_id: the job's top group, which no other job of that name has; 0: whichever it is. */
static int answer_record(struct api *a, const struct http_request *request, uint64_t max_age_ns,
			 const char *manager, const char *id, uint64_t group_id,
			 struct http_answer *ret)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	_cleanup_(record_freep) struct record *record = NULL;
	const struct snapshot_job *job;
	struct error err = {};
	int r;

	if (get_snapshot(a, max_age_ns, &snapshot, ret) < 0)
		return 0;
	job = find_job(a, snapshot, &request->peer, manager, id);
	if (!job || (group_id && job->job->group_id != group_id))
		return fail_job(ret);
	r = sampler_get_record(a->options.sampler, snapshot, job, &record, &err);
	if (r == -ENOENT)
		return fail_job(ret);
	if (r < 0)
		return http_fail(ret, 503, "there is no record of the job: %s", err.text);
	return api_answer(api_format_record, record, ret);
}

/* Of "?group=ID"; 0: there is none. */
static uint64_t asked_group(const struct http_request *request)
{
	const char *text = http_query(request, "group");
	uint64_t id;

	return !text ? 0 : parse_u64(text, &id) == 0 ? id : UINT64_MAX;
}

static int get_jobs(void *context, const struct http_request *request, struct http_answer *ret)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	struct api *a = context;
	struct api_view view = { a->options.permission, request->peer };

	if (get_snapshot(a, API_LIST_AGE_NS, &snapshot, ret) < 0)
		return 0;
	return api_stream_jobs(snapshot, &view, ret);
}

static int get_wire_snapshot(void *context, const struct http_request *request,
			     struct http_answer *ret)
{
	struct api *a = context;
	struct api_view view = { a->options.permission, request->peer };

	return api_wire_snapshot_answer(&a->ahead, a->options.sampler, request, &view, ret);
}

/* A name from the URL: something, and not longer than the kernel has names. */
static bool is_name(const char *text, size_t length)
{
	return length > 0 && length < IDENTITY_MAX && strlen(text) >= length;
}

/* "/v1/jobs/MANAGER/ID", which http has decoded: an ID may hold slashes, a manager's name does not.
 */
static int get_job(void *context, const struct http_request *request, struct http_answer *ret)
{
	const char *manager = request->path + strlen(JOBS), *slash = strchr(manager, '/');
	_cleanup_free_ char *name = NULL;

	if (!slash || !is_name(manager, (size_t)(slash - manager)) ||
	    !is_name(slash + 1, strlen(slash + 1)))
		return fail_job(ret);
	name = strndup(manager, (size_t)(slash - manager));
	if (!name)
		return -ENOMEM;
	if (!knows_job(context, request, name, slash + 1, ret))
		return 0;
	return answer_record(context, request, API_RECORD_AGE_NS, name, slash + 1,
			     asked_group(request), ret);
}

/* ---- groups ---- */

/* -EINVAL: @pid_text is no number of a process. */
static int find_path_of(const struct api *a, const char *pid_text, char **ret)
{
	_cleanup_free_ char *cgroups = NULL;
	char path[64];
	int pid;

	if (!a->options.hierarchy || parse_int(pid_text, 1, INT32_MAX, &pid) < 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "proc/%d/cgroup", pid);
	if (file_read(a->options.root_fd, path, PROC_TEXT_MAX, &cgroups, NULL) < 0)
		return -ENOENT;
	return hierarchy_find_path(a->options.hierarchy, cgroups, ret) < 0 ? -ENOENT : 0;
}

static bool is_process_of(const struct api *a, pid_t pid, const struct http_peer *peer)
{
	char path[64], text[8192];
	struct rights rights = {};

	snprintf(path, sizeof(path), "proc/%d/status", pid);
	return file_read_small(a->options.root_fd, path, text, sizeof(text)) >= 0 &&
	       rights_parse_status(text, &rights) >= 0 && rights.is_known &&
	       rights.uid == peer->uid;
}

/* A job stays what it is, and its user's.  What the last reading does not know is worth another one
 * only for @is_own (a process of the caller's) and for who sees all. */
static int answer_group(struct api *a, const struct http_request *request, const char *path,
			bool is_own, struct http_answer *ret)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	struct identity identity;
	struct client_group group;

	if (!identity_of(a->options.rules, path, &identity))
		return http_fail(ret, 404, "that is part of no job, or of one that is not yours");
	if (get_snapshot(a, API_LIST_AGE_NS, &snapshot, ret) < 0)
		return 0;
	is_own |= permission_sees_all(a->options.permission, &request->peer);
	if (is_own && !find_job(a, snapshot, &request->peer, identity.manager, identity.job)) {
		snapshot = snapshot_unref(snapshot);
		if (get_snapshot(a, API_RECORD_AGE_NS, &snapshot, ret) < 0)
			return 0;
	}
	if (!find_job(a, snapshot, &request->peer, identity.manager, identity.job))
		return http_fail(ret, 404, "that is part of no job, or of one that is not yours");
	group = (struct client_group){
		.manager = (char *)identity.manager,
		.id = identity.job,
		.step = *identity.step ? identity.step : NULL,
		.task = *identity.task ? identity.task : NULL,
		.path = (char *)path,
	};
	return api_answer_shape(API_GROUP_SCHEMA, &client_group_shape, &group, ret);
}

static int get_group(void *context, const struct http_request *request, struct http_answer *ret)
{
	const char *pid = http_query(request, "pid"), *path = http_query(request, "path");
	_cleanup_free_ char *found = NULL;
	struct api *a = context;
	int number = 0, r;

	if (!pid == !path)
		return http_fail(ret, 400, "either 'pid' or 'path' is wanted");
	if (path)
		return *path == '/' && strlen(path) < PATH_LENGTH_MAX
			       ? answer_group(a, request, path, false, ret)
			       : http_fail(ret, 400, "'path' is a group's path, from '/' on");
	r = find_path_of(a, pid, &found);
	if (r == -EINVAL)
		return http_fail(ret, 400, "'pid' is a process' number");
	if (r < 0) /* the same as for a process of another */
		return http_fail(ret, 404, "that is part of no job, or of one that is not yours");
	(void)parse_int(pid, 1, INT32_MAX, &number);
	return answer_group(a, request, found, is_process_of(a, number, &request->peer), ret);
}

/* ---- runs ---- */

static size_t count_runs_of(const struct api *a, uid_t uid)
{
	size_t count = 0;

	for (size_t i = 0; i < a->run_count; i++)
		count += a->runs[i].uid == uid;
	return count;
}

static void forget_run(struct api *a, size_t index)
{
	free(a->runs[index].id);
	a->runs[index] = a->runs[--a->run_count];
}

/* Runs whose client was killed never end: the helper that made their groups removes them. */
static void forget_orphans(struct api *a)
{
	for (size_t i = a->run_count; i-- > 0;) {
		if (kill(a->runs[i].client, 0) < 0 && errno == ESRCH)
			forget_run(a, i);
	}
}

/* Its index in the list; run_count: there is none. */
static size_t find_run(const struct api *a, const struct http_peer *peer, const char *id)
{
	size_t i = 0;

	while (i < a->run_count && (a->runs[i].uid != peer->uid || strcmp(a->runs[i].id, id) != 0))
		i++;
	return i;
}

static int parse_run(const struct http_request *request, pid_t *ret)
{
	json_t *json = request->body ? json_loadb(request->body, request->body_length,
						  JSON_REJECT_DUPLICATES, NULL)
				     : NULL;
	json_int_t pid = json_integer_value(json_object_get(json, "pid")); /* 0 for everything else
									    */

	json_decref(json);
	if (pid < 1 || pid > INT32_MAX)
		return -EINVAL;
	*ret = (pid_t)pid;
	return 0;
}

/* A child of the client, and no other's process: what is moved into a group is accounted to him. */
static bool is_child_of(const struct api *a, pid_t pid, const struct http_peer *peer)
{
	char path[64], text[8192], state;
	pid_t parent;

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	if (file_read_small(a->options.root_fd, path, text, sizeof(text)) < 0 ||
	    descendants_parse_stat(text, &state, &parent) < 0 || parent != peer->pid)
		return false;
	return is_process_of(a, pid, peer);
}

static int begin_run(struct api *a, const struct http_peer *peer, pid_t pid,
		     struct http_answer *ret)
{
	const struct api_runs *runs = a->options.runs;
	struct run *run = &a->runs[a->run_count];
	struct api_run made = {};
	struct client_group group;
	struct error err = {};
	int r = runs->begin(runs->context, peer, pid, &made, &err);

	if (r < 0)
		return http_fail(ret, 503, "there can be no group for the run: %s", err.text);
	if (!made.path) { /* where it is now */
		char number[16];

		snprintf(number, sizeof(number), "%d", pid);
		(void)find_path_of(a, number, &made.path);
	}
	*run = (struct run){ .id = strdup(made.id),
			     .group_id = made.group_id,
			     .uid = peer->uid,
			     .client = peer->pid };
	if (run->id) {
		a->run_count++;
		group = (struct client_group){ .manager = (char *)"run",
					       .id = made.id,
					       .path = made.path,
					       .group_id = made.group_id };
		r = api_answer_shape(API_RUN_SCHEMA, &client_run_shape, &group, ret);
	} else {
		(void)runs->end(runs->context, made.id, NULL);
		r = -ENOMEM;
	}
	free(made.id);
	free(made.path);
	return r;
}

static int post_run(void *context, const struct http_request *request, struct http_answer *ret)
{
	struct api *a = context;
	const struct http_peer *peer = &request->peer;
	pid_t pid;

	if (!a->options.runs)
		return http_fail(ret, 503,
				 "this agent has no helper, and so makes no groups for runs");
	if (parse_run(request, &pid) < 0)
		return http_fail(ret, 400, "wanted is {\"pid\": NUMBER}");
	if (!peer->is_known || !is_child_of(a, pid, peer))
		return http_fail(ret, 403, "process %d is no child of yours", pid);
	if (a->run_count >= API_RUNS_MAX ||
	    (peer->uid && count_runs_of(a, peer->uid) >= API_RUNS_OF_USER_MAX))
		forget_orphans(a);
	if (a->run_count >= API_RUNS_MAX ||
	    (peer->uid && count_runs_of(a, peer->uid) >= API_RUNS_OF_USER_MAX))
		return http_fail(ret, 503, "too many runs are under way");
	return begin_run(a, peer, pid, ret);
}

/* A run has its client's number. */
static bool is_number_of(const struct http_peer *peer, const char *id)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", peer->pid);
	return strcmp(id, number) == 0;
}

/* An agent before us began it.  Whoever may see the job's record and has its number is its client.
 */
static int end_inherited(struct api *a, const struct http_request *request, const char *id,
			 struct http_answer *ret)
{
	int r = answer_record(a, request, 0, "run", id, asked_group(request), ret);

	if (r == 0 && ret->status == 200)
		(void)a->options.runs->end(a->options.runs->context, id, NULL); /* else it goes with
										   its client */
	return r;
}

/*
 * The record as it is now, and then the group goes.  Tasks that have just ended may not be in yet:
 * the agent has one thread, and does not wait.  The client asks for the job's record until it is
 * final.
 */
static int end_run(struct api *a, const struct http_request *request, const char *id,
		   struct http_answer *ret)
{
	const struct api_runs *runs = a->options.runs;
	size_t index = find_run(a, &request->peer, id);
	struct error err = {};
	int r;

	if (!request->peer.is_known || !runs ||
	    (index == a->run_count && !is_number_of(&request->peer, id)))
		return http_fail(ret, 404, "there is no such run, or it is not yours");
	if (index == a->run_count)
		return end_inherited(a, request, id, ret);
	r = answer_record(a, request, 0, "run", id, a->runs[index].group_id, ret);
	if (runs->end(runs->context, id, &err) < 0 && r == 0 && ret->status == 200) {
		free(ret->text);
		*ret = (struct http_answer){};
		r = http_fail(ret, 503, "the group of the run cannot be removed: %s", err.text);
	}
	forget_run(a, index);
	return r;
}

static int post_run_end(void *context, const struct http_request *request, struct http_answer *ret)
{
	const char *id = request->path + strlen(RUNS);
	size_t length = strlen(id), end = strlen(END);
	_cleanup_free_ char *name = NULL;

	if (length <= end || strcmp(id + length - end, END) != 0 || !is_name(id, length - end))
		return http_fail(ret, 404, "there is no such run, or it is not yours");
	name = strndup(id, length - end);
	return name ? end_run(context, request, name, ret) : -ENOMEM;
}

/* ---- traces ---- */

/* The group of "MANAGER/ID", by the tree of groups. */
static int find_group_of(const struct api *a, const char *job, char **ret)
{
	_cleanup_(job_groups_clear) struct job_groups groups = {};
	const char *slash = strchr(job, '/');
	struct error err = {};

	if (!slash || !a->options.hierarchy ||
	    job_groups_list(a->options.root_fd, a->options.hierarchy, a->options.rules, &groups,
			    &err) < 0)
		return -ENOENT;
	for (size_t i = 0; i < groups.count; i++) {
		const struct identity *identity = &groups.items[i].identity;

		if (*identity->step || strcmp(identity->job, slash + 1) != 0 ||
		    strlen(identity->manager) != (size_t)(slash - job) ||
		    strncmp(identity->manager, job, (size_t)(slash - job)) != 0)
			continue;
		*ret = TAKE_PTR(groups.items[i].path);
		return 0;
	}
	return -ENOENT;
}

/* Whoever may see a job sees of its calls those of his own processes, as the kernel side says. */
static int trace_job(struct api *a, const struct http_request *request, const char *job,
		     struct http_answer *ret)
{
	const char *slash = strchr(job, '/');
	_cleanup_free_ char *manager = NULL, *path = NULL;

	if (!slash)
		return http_fail(ret, 400, "'job' is MANAGER/ID");
	manager = strndup(job, (size_t)(slash - job));
	if (!manager)
		return -ENOMEM;
	if (!knows_job(a, request, manager, slash + 1, ret))
		return 0;
	if (find_group_of(a, job, &path) < 0)
		return fail_job(ret);
	return api_trace_answer(&a->traces, request, &(struct api_trace_job){ slash + 1, path },
				ret);
}

static int get_trace(void *context, const struct http_request *request, struct http_answer *ret)
{
	const char *job = http_query(request, "job");
	const struct api_trace_job none = {};
	struct api *a = context;

	if (!a->traces.tracer)
		return http_fail(ret, 403,
				 "users may not trace here: the setting 'trace.users' is off");
	if (!request->peer.is_known || strcmp(request->method, "GET") != 0)
		return http_fail(ret, 400, "this is for GET by a user of this machine");
	if (!job == !http_query(request, "pid"))
		return http_fail(ret, 400, "either 'pid' or 'job' is wanted");
	return job ? trace_job(a, request, job, ret)
		   : api_trace_answer(&a->traces, request, &none, ret);
}

static int post_trace_end(void *context, const struct http_request *request,
			  struct http_answer *ret)
{
	return api_trace_end(&((struct api *)context)->traces, request, ret);
}

/* Nobody but root counts calls of a job so that its record can vouch for them. */
static int post_trace(void *context, const struct http_request *request, struct http_answer *ret)
{
	_cleanup_(trace_post_clear) struct trace_post post = {};
	struct api *a = context;
	struct error err = {};
	int r;

	if (!request->peer.is_known || request->peer.uid != 0)
		return http_fail(ret, 403, "only root may tell what he traced");
	r = trace_post_parse(request->body ? request->body : "", request->body_length, &post, &err);
	if (r == -EINVAL)
		return http_fail(ret, 400, "%s", err.text);
	if (r == 0)
		r = sampler_add_trace(a->options.sampler, &post, &err);
	if (r == -ENOENT)
		return fail_job(ret);
	if (r < 0)
		return http_fail(ret, r == -ESTALE ? 409 : 503, "%s", err.text);
	return api_answer(api_format_nothing, NULL, ret);
}

/* ---- the agent itself ---- */

/* Those of the last reading that the caller sees. */
static void count_jobs(struct api *a, const struct api_view *view, struct sampler_state *state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	struct error err = {};

	state->jobs_live = state->jobs_ended = 0;
	if (sampler_get(a->options.sampler, UINT64_MAX, &snapshot, &err) < 0)
		return;
	for (size_t i = 0; i < snapshot->job_count; i++) {
		if (api_view_sees(view, &snapshot->jobs[i]))
			++*(snapshot->jobs[i].is_live ? &state->jobs_live : &state->jobs_ended);
	}
}

static struct client_push push_answer(const struct push_status *p)
{
	const struct sender_status *s = &p->sender;

	return (struct client_push){
		.is_on = p->is_on,
		.server = (char *)p->server,
		.why_unsent = *s->text ? (char *)s->text : NULL,
		.finals_unsent = s->records[true],
		.checkpoints_unsent = s->records[false],
		.finals_dropped = p->spool.dropped[true],
		.checkpoints_dropped = p->spool.dropped[false],
		.taken = s->answers[ANSWER_TAKEN],
		.known = s->answers[ANSWER_KNOWN],
		.refused = s->answers[ANSWER_REFUSED],
		.http_status = s->http_status,
		.bytes = s->bytes,
		.max_bytes = p->max_bytes,
		.oldest_ns = s->oldest_ns,
		.answered_ns = s->answered_ns,
	};
}

static int get_agent(void *context, const struct http_request *request, struct http_answer *ret)
{
	_cleanup_(record_freep) struct record *coverage = record_new();
	struct api *a = context;
	struct api_view view = { a->options.permission, request->peer };
	struct sampler_state state = {};
	struct push_status push = {};
	struct client_agent agent;
	int r;

	if (!coverage)
		return -ENOMEM;
	r = sampler_describe(a->options.sampler, coverage);
	if (r < 0)
		return r;
	sampler_get_state(a->options.sampler, &state);
	count_jobs(a, &view, &state);
	if (a->options.get_push)
		a->options.get_push(a->options.push, &push);
	agent = (struct client_agent){
		.is_whole = permission_sees_all(view.permission, &view.peer),
		.version = (char *)JOBMETER_VERSION,
		.tiers = coverage->coverage.tiers,
		.missing = coverage->coverage.missing,
		.notes = coverage->coverage.notes,
		.readings = state.readings,
		.failed_readings = state.failed_readings,
		.last_reading_ns = state.last_reading_ns,
		.jobs_live = state.jobs_live,
		.jobs_ended = state.jobs_ended,
		.groups = state.groups,
		.walks = state.walks,
		.found_by_walk = state.found_by_walk,
		.state_errors = state.state_errors,
		.set_aside = state.set_aside,
		.lost_events = coverage->coverage.lost_events,
		.push = push_answer(&push),
	};
	return api_answer_shape(API_AGENT_SCHEMA, &client_agent_shape, &agent, ret);
}

static void format_energy(const void *sampler, struct document *d)
{
	sampler_format_energy(sampler, d);
}

/* Who may read a sensor learns what others compute (CVE-2020-8694). */
static int get_energy(void *context, const struct http_request *request, struct http_answer *ret)
{
	const struct api *a = context;

	if (!permission_sees_all(a->options.permission, &request->peer))
		return http_fail(ret, 403, "only root and admins see the node's sensors");
	return api_answer(format_energy, a->options.sampler, ret);
}

struct gpus_view {
	const struct sampler *sampler;
	int64_t only_uid;
};

static void format_gpus(const void *what, struct document *d)
{
	const struct gpus_view *view = what;

	sampler_format_gpus(view->sampler, view->only_uid, d);
}

/* The cards to all, as the driver's own tools show them; of processes and jobs their owner's. */
static int get_gpus(void *context, const struct http_request *request, struct http_answer *ret)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	struct api *a = context;
	struct gpus_view view = { a->options.sampler, -1 };

	if (!permission_sees_all(a->options.permission, &request->peer))
		view.only_uid = request->peer.uid;
	if (get_snapshot(a, API_LIST_AGE_NS, &snapshot, ret) < 0)
		return 0;
	return api_answer(format_gpus, &view, ret);
}

static int get_metrics(void *context, const struct http_request *request, struct http_answer *ret)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	struct api *a = context;
	struct api_view view = { a->options.permission, request->peer };

	if (!a->options.expose)
		return http_fail(ret, 404, "there are no metrics here");
	if (get_snapshot(a, API_LIST_AGE_NS, &snapshot, ret) < 0)
		return 0;
	return a->options.expose(a->options.context, request, snapshot, &view, ret);
}

static int get_health(void *context, const struct http_request *request, struct http_answer *ret)
{
	(void)context;
	(void)request;
	ret->status = 200;
	ret->type = "application/json";
	ret->text = strdup("{\"status\": \"ok\", \"version\": \"" JOBMETER_VERSION "\"}\n");
	ret->length = ret->text ? strlen(ret->text) : 0;
	return ret->text ? 0 : -ENOMEM;
}

const struct http_route *api_routes(void)
{
	/* clang-format off */
	static const struct http_route routes[] = {
		{ "GET", "/health", get_health, .is_open = true },
		{ "GET", "/metrics", get_metrics },
		{ "GET", "/v1/agent", get_agent },
		{ "GET", "/v1/energy", get_energy },
		{ "GET", "/v1/gpus", get_gpus },
		{ "GET", "/v1/group", get_group },
		{ "GET", "/v1/jobs", get_jobs },
		{ "GET", JOBS, get_job },
		{ "GET", "/v1/snapshot", get_wire_snapshot },
		{ "GET", "/v1/trace", get_trace },
		{ "POST", "/v1/trace/end", post_trace_end },
		{ "POST", "/v1/traces", post_trace },
		{ "POST", "/v1/runs", post_run },
		{ "POST", RUNS, post_run_end },
		{},
	};
	/* clang-format on */

	return routes;
}
