/* SPDX-License-Identifier: MIT */
#include "agent/api.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/api_format.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "cgroup/hierarchy.h"
#include "basic/macro.h"
#include "made_snapshot.h"
#include "node/job_record.h"
#include "service/permission.h"
#include "agent/push.h"
#include "model/record.h"
#include "sampler_double.h"
#include "test.h"
#include "codec/wire_snapshot.h"
#include "tree.h"

#define FIRST 1000
#define SECOND 1001
#define ODD_ID "7/\"\\ \xc3\xa9\xff\n<&%"

/* An agent with a made node: four jobs of two users and of nobody known. */
struct node {
	struct snapshot *snapshot;
	struct sampler *sampler;
	struct permission *permission;
	struct hierarchy hierarchy;
	struct api_runs runs;
	struct api *api;
	int root_fd;
	int begun, ended;
	uint64_t group_id; /* of the run's group */
	bool cannot_begin, tells_no_path;
};

#define RUN_GROUP UINT64_C(9007199254740993) /* more than a reader of JSON may hold in a number */

static char mount_point[] = "/cg", top[] = "/";

static int make_run(void *context, const struct http_peer *peer, pid_t pid, struct api_run *ret,
		    struct error *err)
{
	struct node *n = context;

	(void)peer;
	(void)pid;
	if (n->cannot_begin)
		return error_set(err, -EACCES, "his group is not his");
	n->begun++;
	*ret = (struct api_run){ strdup("41"), n->group_id,
				 n->tells_no_path ? NULL : strdup("/a/jobmeter-run-41") };
	return 0;
}

static int unmake_run(void *context, const char *id, struct error *err)
{
	struct node *n = context;

	(void)err;
	ASSERT_STREQ(id, "41");
	n->ended++;
	return 0;
}

static void get_push(void *push, struct push_status *ret)
{
	*ret = (struct push_status){ .is_on = true,
				     .server = push,
				     .sender = { .records = { 0, 3 },
						 .answers = { 5, 0, 0 },
						 .http_status = 503,
						 .oldest_ns = UINT64_C(7000000000) } };
}

static void node_open(struct node *n)
{
	static unsigned int number;
	struct api_options options;
	struct snapshot_job *job;
	char name[16];

	snprintf(name, sizeof(name), "node-%u", number++);
	*n = (struct node){ .root_fd = tree_open(name) };
	n->hierarchy = (struct hierarchy){
		.is_v2 = true, .v2_mount = mount_point, .v2_own = top, .v2_root = top
	};
	n->snapshot = snapshot_double_new(4);
	snapshot_double_fill(n->snapshot, 0, "run", "41", FIRST)->job->group_id = RUN_GROUP;
	job = snapshot_double_fill(n->snapshot, 1, "slurm", "123", FIRST);
	job->is_live = false;
	snapshot_double_fill(n->snapshot, 2, "slurm", "124", SECOND);
	job = snapshot_double_fill(n->snapshot, 3, "units", ODD_ID, -1);
	job->job->name = strdup(ODD_ID);
	n->sampler = sampler_double_new(n->snapshot);
	ASSERT_OK(permission_new(NULL, &n->permission, NULL));
	n->runs = (struct api_runs){ make_run, unmake_run, n };
	options = (struct api_options){ .sampler = n->sampler,
					.permission = n->permission,
					.root_fd = n->root_fd,
					.hierarchy = &n->hierarchy,
					.runs = &n->runs,
					.get_push = get_push,
					.push = (char *)"https://s" };
	ASSERT_OK(api_open(&options, &n->api));
}

static void node_close(struct node *n)
{
	api_close(n->api);
	permission_free(n->permission);
	sampler_double_free(n->sampler);
	snapshot_unref(n->snapshot);
	close(n->root_fd);
}

/* The text of the answer, which has that @status; the caller frees.  Pieces of @piece bytes are
 * asked for. */
static char *ask_by(struct node *n, struct http_request *request, size_t piece, unsigned int status)
{
	const struct http_route *found = NULL;
	struct http_answer answer = {};
	_cleanup_free_ char *buffer = malloc(piece);
	char *text = NULL;
	size_t size = 0;
	ssize_t got;
	FILE *out;

	for (const struct http_route *r = api_routes(); r->path && !found; r++) {
		size_t length = strlen(r->path);

		if (strcmp(r->method, request->method) == 0 &&
		    (r->path[length - 1] == '/' ? strncmp(r->path, request->path, length)
						: strcmp(r->path, request->path)) == 0)
			found = r;
	}
	ASSERT(found);
	ASSERT_OK(found->answer(n->api, request, &answer));
	ASSERT_EQ(answer.status, status);
	if (!answer.next)
		return answer.text;
	out = open_memstream(&text, &size);
	while ((got = answer.next(answer.context, buffer, piece)) > 0) {
		ASSERT((size_t)got <= piece);
		fwrite(buffer, 1, (size_t)got, out);
	}
	ASSERT_EQ(got, 0);
	answer.done(answer.context);
	fclose(out);
	return text;
}

static char *ask(struct node *n, const char *method, const char *path, uid_t uid,
		 unsigned int status)
{
	struct http_request request = { .method = method,
					.path = path,
					.peer = { true, uid, uid, getpid() } };

	return ask_by(n, &request, 4096, status);
}

/* A test of a made node @n. */
#define NODE(what) TEST_WITH(what, struct node, n, node_open, node_close)

NODE(a_list_holds_the_callers_jobs_and_no_other)
{
	_cleanup_free_ char *first = NULL, *second = NULL;

	first = ask(n, "GET", "/v1/jobs", FIRST, 200);
	ASSERT_CONTAINS(
		first,
		"{\"schema\":\"jobmeter.jobs/1\",\"time\":\"2026-02-03T04:05:06.123456789Z\"");
	ASSERT_CONTAINS(first, "\"manager\":\"run\",\"id\":\"41\"");
	ASSERT_CONTAINS(first, "\"id\":\"123\"");
	ASSERT_CONTAINS(first, "\"live\":false");
	ASSERT_CONTAINS(first, "\"cpu\":{\"user_seconds\":0.000000007,\"system_seconds\":null,");
	ASSERT_LACKS(first, "124");
	ASSERT_LACKS(first, "units");
	second = ask(n, "GET", "/v1/jobs", SECOND, 200);
	ASSERT_CONTAINS(second, "\"id\":\"124\"");
	ASSERT_LACKS(second, "\"id\":\"123\"");
	ASSERT_TOLD(ask(n, "GET", "/v1/jobs", 4711, 200), "\"jobs\":[]}\n");
	ASSERT_TOLD(ask(n, "GET", "/v1/jobs", 0, 200), "\"manager\":\"units\"");
	ASSERT_EQ(sampler_double_asked_age(n->sampler), API_LIST_AGE_NS);
	ASSERT(!sampler_double_wants_commands(n->sampler));
}

static char *ask_snapshot(struct node *n, const char *key, const char *value, uid_t uid,
			  unsigned int status)
{
	struct query_double query[2] = { { key, value } };
	struct http_request request = { .method = "GET",
					.path = "/v1/snapshot",
					.peer = { true, uid, uid, 1 },
					.connection = query };

	return ask_by(n, &request, 331, status);
}

NODE(a_wire_snapshot_holds_records_of_the_callers_jobs_and_no_other)
{
	_cleanup_free_ char *first = NULL, *ended = NULL, *root = NULL;
	struct tick tick = {}, all = {};

	n->snapshot->boot_ns = UINT64_C(1009000000000);
	n->snapshot->took_ns = 7000000;
	n->snapshot->jobs[1].job->end_boot_ns = n->snapshot->boot_ns - UINT64_C(5000000000);
	first = ask_snapshot(n, NULL, NULL, FIRST, 200);
	ASSERT_OK(wire_snapshot_parse(first, strlen(first), NULL, &tick, NULL));
	ASSERT_EQ(tick.boot_ns, n->snapshot->boot_ns);
	ASSERT_EQ(tick.real_ns, n->snapshot->real_ns);
	ASSERT_EQ(tick.took_ns, n->snapshot->took_ns);
	ASSERT_EQ((uint64_t)tick.jobs.count, (uint64_t)1);
	ASSERT_STREQ(tick.jobs.items[0]->job.id, "41");
	ASSERT_STREQ(tick.jobs.items[0]->node, "made-node");
	ASSERT_EQ((uint64_t)tick.jobs.items[0]->reading.values[METRIC_CPU_USER].number,
		  (uint64_t)7);
	wire_snapshot_clear(&tick);
	ended = ask_snapshot(n, "ended", "5.5", FIRST, 200);
	ASSERT_OK(wire_snapshot_parse(ended, strlen(ended), NULL, &tick, NULL));
	ASSERT_EQ((uint64_t)tick.jobs.count, (uint64_t)2);
	ASSERT(tick.jobs.items[1]->is_final);
	wire_snapshot_clear(&tick);
	root = ask_snapshot(n, NULL, NULL, 0, 200);
	ASSERT_OK(wire_snapshot_parse(root, strlen(root), NULL, &all, NULL));
	ASSERT_EQ((uint64_t)all.jobs.count, (uint64_t)3);
	wire_snapshot_clear(&all);
}

NODE(who_has_a_wire_snapshot_is_told_in_a_word_of_jobs_that_did_nothing_since)
{
	_cleanup_free_ char *first = NULL, *second = NULL;
	_cleanup_(wire_snapshot_clear) struct tick tick = {}, next = {};

	n->snapshot->boot_ns = UINT64_C(1009000000000);
	n->snapshot->jobs[0].changed_ns = n->snapshot->jobs[3].changed_ns = UINT64_C(1007000000000);
	n->snapshot->jobs[2].changed_ns = UINT64_C(1007000000001);
	first = ask_snapshot(n, NULL, NULL, 0, 200);
	ASSERT_LACKS(first, "unchanged");
	ASSERT_OK(wire_snapshot_parse(first, strlen(first), NULL, &tick, NULL));
	second = ask_snapshot(n, "since", "1007", 0, 200);
	ASSERT_CONTAINS(second, "{\"unchanged\":true,\"manager\":\"run\",\"id\":\"41\",");
	ASSERT_OK(wire_snapshot_parse(second, strlen(second), &tick, &next, NULL));
	ASSERT_EQ((uint64_t)next.jobs.count, (uint64_t)3);
	for (size_t i = 0; i < 3; i++)
		ASSERT_EQ(next.jobs.items[i] == tick.jobs.items[i], i != 1);
	free(ask_snapshot(n, "since", "x", 0, 400));
}

/* All of an answer that is made piece by piece. */
static size_t length_of(struct http_answer *answer)
{
	char buffer[4096];
	size_t length = 0;
	ssize_t got;

	while ((got = answer->next(answer->context, buffer, sizeof(buffer))) > 0)
		length += (size_t)got;
	ASSERT_EQ(got, 0);
	answer->done(answer->context);
	return length;
}

NODE(a_job_on_many_mounts_is_short_where_sums_of_them_do)
{
	const struct job_record_node of_node = { .node = "made-node" };
	struct api_view view = { .peer = { true, 0, 0, 1 } };
	struct snapshot large = {};
	size_t lengths[2];

	view.permission = n->permission;
	made_snapshot_fill_large(&large, 10, 8, 3);
	for (int in_sums = 0; in_sums < 2; in_sums++) {
		const struct api_wish wish = { .in_sums = in_sums };
		struct http_answer answer = {};

		ASSERT_OK(api_stream_snapshot(&large, &view, &of_node, &(struct node_values){},
					      &wish, &answer));
		lengths[in_sums] = length_of(&answer);
	}
	ASSERT(lengths[0] > 10 * 20000);
	ASSERT(lengths[1] < 10 * 6000);
	free(ask_snapshot(n, "files", "rows", 0, 400));
	made_snapshot_clear(&large);
}

NODE(a_reading_ahead_is_wanted_once_when_all_of_the_wire_snapshot_has_gone_out)
{
	struct query_double query[] = { { "ahead", "0.1" }, {} };
	struct http_request request = { .path = "/v1/snapshot",
					.peer = { true, 0, 0, 1 },
					.connection = query };
	struct http_answer answer = {};
	struct api_ahead ahead = { .uid = 7 };
	uint64_t age_ns = 7;
	uid_t uid;

	for (int i = 0; i < 3; i++) {
		struct api_view view = { n->permission, request.peer };
		bool is_cut = i == 1, is_wanted = i < 2; /* who does not say so wants none */
		char buffer[331];

		query[0].key = is_wanted ? "ahead" : NULL;
		ASSERT_OK(api_wire_snapshot_answer(&ahead, n->sampler, &request, &view, &answer));
		while (answer.next(answer.context, buffer, sizeof(buffer)) > 0 && !is_cut)
			;
		ASSERT_EQ(ahead.ns, (uint64_t)0);
		answer.done(answer.context);
		ASSERT_EQ(ahead.ns, is_wanted && !is_cut ? UINT64_C(100000000) : (uint64_t)0);
		ASSERT_EQ((uint64_t)ahead.uid, (uint64_t)0);
		ahead.ns = 0;
	}
	ASSERT(!api_wants_ahead(n->api, &age_ns, &uid));
	ASSERT_EQ(age_ns, (uint64_t)0);
}

NODE(a_wire_snapshot_is_as_fresh_as_it_is_asked_for)
{
	static const struct row {
		const char *age;
		uint64_t ns;
	} rows[] = { { NULL, API_LIST_AGE_NS },
		     { "0.25", 250000000 },
		     { "0", API_RECORD_AGE_NS },
		     { "0.01", API_RECORD_AGE_NS },
		     { "60", UINT64_C(60000000000) } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		free(ask_snapshot(n, rows[i].age ? "max_age" : NULL, rows[i].age, FIRST, 200));
		ASSERT_EQ(sampler_double_asked_age(n->sampler), rows[i].ns);
		ASSERT(sampler_double_wants_commands(n->sampler));
	}
	for (size_t i = 0; i < 2; i++) {
		_cleanup_free_ char *text = ask_snapshot(n, i ? "max_age" : "ended", "-1", FIRST,
							 400);

		ASSERT_CONTAINS(text,
				"'max_age', 'ended', 'since' and 'ahead' are numbers of seconds");
	}
}

NODE(a_list_is_json_whatever_a_name_holds_and_however_it_is_cut)
{
	for (size_t piece = 1; piece < 700; piece += 37) {
		struct http_request request = { .method = "GET",
						.path = "/v1/jobs",
						.peer = { true, 0, 0, 1 } };
		_cleanup_free_ char *text = ask_by(n, &request, piece, 200);
		json_t *json, *jobs;

		json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		jobs = json_object_get(json, "jobs");
		ASSERT_EQ((uint64_t)json_array_size(jobs), (uint64_t)4);
		ASSERT_STREQ(json_string_value(json_object_get(json_array_get(jobs, 3), "id")),
			     "7/\"\\ \xc3\xa9\xef\xbf\xbd\n<&%");
		json_decref(json);
	}
}

NODE(sums_over_mounts_leave_mappings_and_kernel_threads_out)
{
	struct snapshot_job *job;

	n->snapshot->has_mounts = true;
	n->snapshot->mounts = calloc(2, sizeof(*n->snapshot->mounts));
	n->snapshot->mount_count = 2;
	n->snapshot->mounts[0] = (struct snapshot_mount){ .kind = ROW_MOUNT, .name = strdup("/a") };
	n->snapshot->mounts[1] = (struct snapshot_mount){ .kind = ROW_KERNEL,
							  .name = strdup("(kernel)") };
	job = &n->snapshot->jobs[2];
	job->rows = snapshot_rows_new(5);
	job->row_count = 5;
	job->rows[0] = (struct snapshot_row){
		0, OP_READ, INTERFACE_CALL, 0, { .calls = 3, .bytes = 3 * 1009, .errors = 1 }
	};
	job->rows[1] = (struct snapshot_row){
		0, OP_READ, INTERFACE_IO_URING, 0, { .calls = 1, .bytes = 7 }
	};
	job->rows[2] = (struct snapshot_row){ 0, OP_READ, INTERFACE_MAPPING, 0, { .bytes = 4096 } };
	job->rows[3] = (struct snapshot_row){
		0, OP_STAT, INTERFACE_CALL, 0, { .calls = 11, .errors = 2 }
	};
	job->rows[4] =
		(struct snapshot_row){ 1, OP_WRITE, INTERFACE_CALL, 0, { .calls = 5, .bytes = 5 } };
	ASSERT_TOLD(
		ask(n, "GET", "/v1/jobs", SECOND, 200),
		"\"io\":{\"read\":{\"bytes\":3034,\"calls\":4,\"errors\":1},"
		"\"write\":{\"bytes\":0,\"calls\":0,\"errors\":0},\"meta\":{\"calls\":11,\"errors\":2}}");
}

NODE(a_record_is_given_to_its_owner_and_to_root)
{
	_cleanup_free_ char *odd = NULL;

	ASSERT_TOLD(ask(n, "GET", "/v1/jobs/run/41", FIRST, 200),
		    "\"schema\":\"jobmeter.record/1\"", "\"final\":false");
	ASSERT_EQ(sampler_double_asked_age(n->sampler), API_RECORD_AGE_NS);
	ASSERT_TOLD(ask(n, "GET", "/v1/jobs/slurm/123", FIRST, 200), "\"final\":true");
	odd = ask(n, "GET", ("/v1/jobs/units/" ODD_ID), 0, 200); /* the id holds a
										 slash */
	ASSERT_CONTAINS(odd, "\"manager\":\"units\"");
}

NODE(not_yours_and_not_there_are_the_same_answer)
{
	static const char *const paths[] = {
		"/v1/jobs/slurm/124", "/v1/jobs/slurm/9999",
		"/v1/jobs/nothing/1", ("/v1/jobs/units/" ODD_ID),
		"/v1/jobs/slurm",     "/v1/jobs/slurm/",
		"/v1/jobs/",	      "/v1/jobs//123",
		"/v1/jobs/../../etc", "/v1/jobs/slurm/../run/41",
	};
	_cleanup_free_ char *wanted = NULL, *long_path = NULL;

	wanted = ask(n, "GET", "/v1/jobs/slurm/0", FIRST, 404);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_free_ char *text = ask(n, "GET", paths[i], FIRST, 404);

		ASSERT_STREQ(text, wanted);
		ASSERT_EQ(sampler_double_asked_age(n->sampler), API_LIST_AGE_NS); /* nothing is read
										    for that */
	}
	ASSERT(asprintf(&long_path, "/v1/jobs/slurm/%05000d", 1) > 0);
	ASSERT_TEXT(ask(n, "GET", long_path, FIRST, 404), wanted);
}

NODE(a_peer_that_is_not_known_gets_nothing)
{
	struct http_request request = { .method = "GET", .path = "/v1/jobs" };

	ASSERT_TOLD(ask_by(n, &request, 4096, 200), "\"jobs\":[]");
	request.path = "/v1/jobs/run/41";
	free(ask_by(n, &request, 4096, 404));
	request.path = "/health";
	ASSERT_TOLD(ask_by(n, &request, 4096, 200), "\"status\": \"ok\"");
}

static char *ask_group(struct node *n, const char *key, const char *value, uid_t uid,
		       unsigned int status)
{
	struct query_double query[2] = { { key, value } };
	struct http_request request = { .method = "GET",
					.path = "/v1/group",
					.peer = { true, uid, uid, 1 },
					.connection = query };

	return ask_by(n, &request, 4096, status);
}

NODE(a_process_and_a_group_lead_to_their_job)
{
	tree_write(n->root_fd, "proc/77/cgroup", "0::/slurm/uid_1000/job_123/step_batch/task_0\n");
	ASSERT_TOLD(ask_group(n, "path", "/a/jobmeter-run-41", FIRST, 200),
		    "\"manager\":\"run\",\"id\":\"41\",\"step\":null");
	ASSERT_TOLD(ask_group(n, "pid", "77", FIRST, 200),
		    "\"manager\":\"slurm\",\"id\":\"123\",\"step\":\"batch\",\"task\":\"0\"");
	free(ask_group(n, "path", "/a/jobmeter-run-41/below", FIRST, 200));
}

NODE(a_group_of_another_is_like_one_that_is_no_jobs)
{
	static const struct row {
		const char *key, *value;
		unsigned int status;
	} rows[] = {
		{ "path", "/slurm/uid_1001/job_124", 404 },
		{ "path", "/slurm/uid_1001/job_125", 404 },
		{ "path", "/user.slice", 404 },
		{ "pid", "78", 404 },
		{ "pid", "79", 404 },
		{ "pid", "4194304", 404 },
		{ "pid", "0", 400 },
		{ "pid", "-1", 400 },
		{ "pid", "77x", 400 },
		{ "pid", "99999999999999999999", 400 },
		{ "pid", "../1", 400 },
		{ "path", "slurm", 400 },
		{ "path", "", 400 },
		{ "other", "1", 400 },
	};

	tree_write(n->root_fd, "proc/78/cgroup", "0::/slurm/uid_1001/job_124/step_0\n");
	tree_write(n->root_fd, "proc/79/cgroup", "rubbish\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = ask_group(n, rows[i].key, rows[i].value, FIRST,
						      rows[i].status);

		if (rows[i].status == 404)
			ASSERT_STREQ(text, "that is part of no job, or of one that is not yours");
	}
	ASSERT_EQ(sampler_double_asked_age(n->sampler), API_LIST_AGE_NS); /* nothing is read for
									    that... */
	tree_write(n->root_fd, "proc/80/cgroup", "0::/slurm/uid_1000/job_125\n");
	tree_write(n->root_fd, "proc/80/status",
		   "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n");
	free(ask_group(n, "pid", "80", FIRST, 404));
	ASSERT_EQ(sampler_double_asked_age(n->sampler), API_RECORD_AGE_NS); /* ...but for one's own
									      process */
}

static char *post(struct node *n, const char *path, uid_t uid, const char *body,
		  unsigned int status)
{
	struct http_request request = { .method = "POST",
					.path = path,
					.peer = { true, uid, uid, 50 },
					.body = body,
					.body_length = body ? strlen(body) : 0 };

	return ask_by(n, &request, 4096, status);
}

static void write_process(const struct node *n, int pid, int parent, unsigned int uid)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text), "%d (a) b) S %d 1 1\n", pid, parent);
	tree_write(n->root_fd, path, text);
	snprintf(path, sizeof(path), "proc/%d/status", pid);
	snprintf(text, sizeof(text), "Name:\ta\nUid:\t%u\t%u\t%u\t%u\nCapEff:\t0000000000000000\n",
		 uid, uid, uid, uid);
	tree_write(n->root_fd, path, text);
}

NODE(a_run_begins_and_ends)
{
	write_process(n, 51, 50, FIRST);
	ASSERT_TOLD(post(n, "/v1/runs", FIRST, "{\"pid\": 51}", 200),
		    "\"manager\":\"run\",\"id\":\"41\",\"path\":\"/a/jobmeter-run-41\"");
	ASSERT_TOLD(post(n, "/v1/runs/41/end", FIRST, NULL, 200),
		    "\"schema\":\"jobmeter.record/1\"");
	ASSERT_EQ(sampler_double_asked_age(n->sampler), (uint64_t)0);
	ASSERT_EQ(n->begun, 1);
	ASSERT_EQ(n->ended, 1);
	free(post(n, "/v1/runs/41/end", FIRST, NULL, 404));
	ASSERT_EQ(n->ended, 1);
}

NODE(the_group_of_a_run_is_where_its_process_is)
{
	n->tells_no_path = true;
	write_process(n, 51, 50, FIRST);
	tree_write(n->root_fd, "proc/51/cgroup", "0::/b/jobmeter-run-41\n");
	ASSERT_TOLD(post(n, "/v1/runs", FIRST, "{\"pid\": 51}", 200),
		    "\"path\":\"/b/jobmeter-run-41\"");
}

NODE(a_run_is_the_one_in_its_group_and_no_other_of_its_number)
{
	static const struct row {
		const char *group;
		unsigned int status;
	} rows[] = {
		{ "9007199254740993", 200 }, { "9007199254740992", 404 }, { "x", 404 }, { "0", 200 }
	};

	n->group_id = RUN_GROUP + 1; /* that one is in no reading yet */
	write_process(n, 51, 50, FIRST);
	ASSERT_TOLD(post(n, "/v1/runs", FIRST, "{\"pid\": 51}", 200),
		    "\"group\":\"9007199254740994\"");
	free(post(n, "/v1/runs/41/end", FIRST, NULL, 404));
	ASSERT_EQ(n->ended, 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct query_double query[] = { { "group", rows[i].group }, {} };
		struct http_request request = { .method = "GET",
						.path = "/v1/jobs/run/41",
						.peer = { true, FIRST, FIRST, 1 },
						.connection = query };
		free(ask_by(n, &request, 100, rows[i].status));
	}
}

/* An agent before this one began it: a run has its client's number. */
NODE(a_run_of_before_is_ended_by_its_client)
{
	static const struct row {
		pid_t pid;
		uid_t uid;
		unsigned int status;
	} rows[] = { { 50, FIRST, 404 }, { 41, SECOND, 404 }, { 41, FIRST, 200 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_request request = { .method = "POST", .path = "/v1/runs/41/end" };

		request.peer = (struct http_peer){ .is_known = true,
						   .uid = rows[i].uid,
						   .pid = rows[i].pid };
		free(ask_by(n, &request, 100, rows[i].status));
		ASSERT_EQ(n->ended, rows[i].status == 200);
	}
}

NODE(only_who_began_a_run_ends_it)
{
	static const struct row {
		const char *path;
		uid_t uid;
	} rows[] = {
		{ "/v1/runs/41/end", SECOND }, { "/v1/runs/41/end", 0 },
		{ "/v1/runs/42/end", FIRST },  { "/v1/runs//end", FIRST },
		{ "/v1/runs/end", FIRST },     { "/v1/runs/41", FIRST },
		{ "/v1/runs/", FIRST },	       { "/v1/runs/41/endx", FIRST },
	};

	write_process(n, 51, 50, FIRST);
	free(post(n, "/v1/runs", FIRST, "{\"pid\": 51}", 200));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = post(n, rows[i].path, rows[i].uid, NULL, 404);

		ASSERT_STREQ(text, "there is no such run, or it is not yours");
	}
	ASSERT_EQ(n->ended, 0);
}

NODE(only_an_own_child_can_be_run)
{
	static const struct row {
		const char *body;
		unsigned int status;
	} rows[] = {
		{ "{\"pid\": 52}", 403 }, /* another's child */
		{ "{\"pid\": 53}", 403 }, /* of another user */
		{ "{\"pid\": 54}", 403 }, /* not there */
		{ "{\"pid\": 50}", 403 }, /* himself */
		{ "{\"pid\": 0}", 400 },
		{ "{\"pid\": -1}", 400 },
		{ "{\"pid\": 4294967347}", 400 },
		{ "{\"pid\": \"51\"}", 400 },
		{ "{\"pid\": 51.0}", 400 },
		{ "[51]", 400 },
		{ "{}", 400 },
		{ "", 400 },
		{ NULL, 400 },
		{ "{\"pid\": 51", 400 },
		{ "{\"pid\": 51, \"pid\": 52}", 400 },
	};

	write_process(n, 51, 50, FIRST);
	write_process(n, 52, 1, FIRST);
	write_process(n, 53, 50, SECOND);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		free(post(n, "/v1/runs", FIRST, rows[i].body, rows[i].status));
	ASSERT_EQ(n->begun, 0);
}

NODE(without_a_helper_or_a_group_there_is_no_run_and_words_for_it)
{
	struct api_options options;

	write_process(n, 51, 50, FIRST);
	n->cannot_begin = true;
	ASSERT_TEXT(post(n, "/v1/runs", FIRST, "{\"pid\": 51}", 503),
		    "there can be no group for the run: his group is not his");
	api_close(n->api);
	options = (struct api_options){ .sampler = n->sampler,
					.permission = n->permission,
					.root_fd = n->root_fd };
	ASSERT_OK(api_open(&options, &n->api));
	free(post(n, "/v1/runs", FIRST, "{\"pid\": 51}", 503));
}

/* A number that no process has any more. */
static pid_t dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

NODE(one_user_cannot_take_all_runs_and_those_of_dead_clients_are_forgotten)
{
	pid_t dead = dead_pid();
	struct http_request request = {
		.method = "POST", .path = "/v1/runs", .body = "{\"pid\": 51}", .body_length = 11
	};

	request.peer =
		(struct http_peer){ .is_known = true, .uid = FIRST, .gid = FIRST, .pid = getpid() };
	write_process(n, 51, getpid(), FIRST);
	for (int i = 0; i < API_RUNS_OF_USER_MAX; i++)
		free(ask_by(n, &request, 4096, 200));
	ASSERT_TEXT(ask_by(n, &request, 4096, 503), "too many runs are under way");
	request.peer.uid = SECOND;
	request.peer.pid = dead;
	write_process(n, 51, dead, SECOND);
	for (int i = 0; i < API_RUNS_OF_USER_MAX; i++)
		free(ask_by(n, &request, 4096, 200));
	free(ask_by(n, &request, 4096, 200));
}

#define TRACE(group, more)                                                             \
	"{\"schema\": \"jobmeter.trace/1\", \"group\": \"" group "\", \"id\": \"3\", " \
	"\"trace\": {\"process_seconds\": 1, \"functions\": [" more "]}}"

NODE(root_alone_tells_what_was_traced)
{
	static const struct {
		uid_t uid;
		const char *body;
		unsigned int status;
	} words[] = {
		{ 0, TRACE("1009", ""), 200 },	   { 0, TRACE("1013", ""), 409 },
		{ 0, TRACE("7", ""), 404 },	   { 0, TRACE("1009", "7"), 400 },
		{ 0, TRACE("x", ""), 400 },	   { 0, "", 400 },
		{ FIRST, TRACE("1009", ""), 403 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		free(post(n, "/v1/traces", words[i].uid, words[i].body, words[i].status));
}

NODE(the_agent_tells_of_itself)
{
	_cleanup_free_ char *agent = NULL;

	agent = ask(n, "GET", "/v1/agent", FIRST, 200);
	ASSERT_CONTAINS(agent, "\"readings\":41,");
	ASSERT_CONTAINS(agent, "\"missing\":[\"made: by a double\"]");
	ASSERT_CONTAINS(agent, "\"jobs_live\":1,\"jobs_ended\":1,"); /* his own */
	ASSERT(!strstr(agent, "\"groups\"") && !strstr(agent, "\"lost_events\"") &&
	       !strstr(agent, "\"push\""));
	ASSERT_TOLD(ask(n, "GET", "/v1/agent", 0, 200), "\"jobs_live\":3,\"jobs_ended\":1,",
		    "\"lost_events\":0", "\"push\":{\"server\":\"https://s\",\"finals_unsent\":3,",
		    "\"oldest\":\"1970-01-01T00:00:07.000000000Z\",\"answered\":null,"
		    "\"http_status\":503,\"taken\":5,");
	free(ask(n, "GET", "/metrics", FIRST, 404));
}

NODE(without_a_reading_the_answer_says_why)
{
	struct api_options options;

	sampler_double_free(n->sampler);
	n->sampler = sampler_double_new(NULL);
	api_close(n->api);
	options = (struct api_options){ .sampler = n->sampler,
					.permission = n->permission,
					.root_fd = n->root_fd };
	ASSERT_OK(api_open(&options, &n->api));
	ASSERT_TEXT(ask(n, "GET", "/v1/jobs", FIRST, 503),
		    "there is no reading: the double has none");
	free(ask(n, "GET", "/v1/jobs/run/41", FIRST, 503));
}
