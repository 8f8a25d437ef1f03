/* SPDX-License-Identifier: MIT */
#include "client/server_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answerer.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "codec/records.h"
#include "made.h"
#include "model/job_filter.h"
#include "model/job_name.h"
#include "model/json_place.h"
#include "test.h"

#define JOB(id)                                                                                  \
	"{\"cluster\": \"c\", \"manager\": \"slurm\", \"id\": \"" id "\", \"user\": \"alice\","  \
	" \"uid\": 1009, \"state\": \"COMPLETED\", \"final\": true, \"nodes\": 2,"               \
	" \"start\": \"1970-01-01T00:00:07Z\", \"end\": \"1970-01-01T00:00:18Z\","               \
	" \"elapsed_seconds\": 11.5, \"cpu.user_seconds\": 3.25, \"cpu.allocated_cores\": 2,"    \
	" \"io.read.bytes\": 104729, \"memory.limit_bytes\": null, \"reason\": \"small-reads\"," \
	" \"more.of.it\": [1]}"

static const json_t *member(const json_t *jobs, size_t i, const char *key)
{
	return json_object_get(json_array_get(jobs, i), key);
}

TEST(a_list_of_jobs_comes_back_as_it_is)
{
	static const char text[] = "{\"jobs\": [" JOB("1") ", " JOB("2") "], \"more\": true}";
	_cleanup_(json_freep) json_t *jobs = json_array();
	bool has_more = false;

	ASSERT_OK(server_parse_jobs(text, strlen(text), jobs, &has_more, NULL));
	ASSERT_EQ((uint64_t)json_array_size(jobs), (uint64_t)2);
	ASSERT(has_more);
	ASSERT_STREQ(json_string_value(member(jobs, 1, "id")), "2");
	ASSERT_EQ((uint64_t)json_integer_value(member(jobs, 0, "io.read.bytes")), (uint64_t)104729);
	ASSERT(json_is_null(member(jobs, 0, "memory.limit_bytes")));
	ASSERT(!member(jobs, 0, "io.write.bytes"));
	ASSERT_OK(server_parse_jobs(text, strlen(text), jobs, &has_more, NULL));
	ASSERT_EQ((uint64_t)json_array_size(jobs), (uint64_t)4);
}

TEST(what_is_no_list_is_told_and_leaves_the_result_alone)
{
	static const struct row {
		const char *text, *error;
	} rows[] = {
		{ NULL, "the server's answer: it is no JSON" },
		{ "<html>", "the server's answer: it is no JSON" },
		{ "[]", "the server's answer: it is a list and should be a map" },
		{ "{}", "the server's answer: it is no list of jobs" },
		{ "{\"jobs\": {}}", "jobs is a map" },
		{ "{\"jobs\": [1]}", "is a number and should be a map" },
		{ "{\"jobs\": [{\"id\": \"1\"}]}", "lacks manager or id" },
		{ "{\"jobs\": [{\"manager\": \"run\"}]}", "lacks manager or id" },
		{ "{\"jobs\": [" JOB("1") ", {\"manager\": 1}]}", "manager is a number" },
		{ "{\"jobs\": [], \"more\": 1}", "more" },
		{ "{\"jobs\": [], \"jobs\": []}", "it is no JSON" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(json_freep) json_t *jobs = json_array();
		const char *text = rows[i].text;
		struct error err = {};
		bool has_more = true;

		ASSERT_ERR(server_parse_jobs(text, text ? strlen(text) : 0, jobs, &has_more, &err),
			   -EPROTO);
		ASSERT_CONTAINS(err.text, rows[i].error);
		ASSERT(!json_array_size(jobs) && has_more);
	}
}

/* What a server that gives these answers was asked, line by line. */
struct asked {
	int fd;
	pid_t pid;
	FILE *log;
	struct server_client *client;
};

static struct asked begin(const char *name, const char *const *answers)
{
	struct asked asked = { .log = tmpfile() };
	char path[100];

	asked.fd = listen_at(name, path, sizeof(path));
	asked.pid = answer_with(asked.fd, answers, asked.log);
	ASSERT_OK(server_client_open(path, &asked.client, NULL));
	return asked;
}

static void next_line(struct asked *asked, char *ret, size_t size)
{
	ASSERT(fgets(ret, (int)size, asked->log) != NULL);
	ret[strcspn(ret, "\n")] = '\0';
}

static void end(struct asked *asked)
{
	close(asked->fd);
	waitpid(asked->pid, NULL, 0);
	rewind(asked->log);
	server_client_close(asked->client);
}

TEST(a_filter_is_asked)
{
	static const char *const answers[] = { WELL "{\"jobs\": [" JOB("1") "], \"more\": true}",
					       WELL "{\"jobs\": []}", NULL };
	const struct job_filter filter = { .user = "al ice",
					   .text = "a&b=%",
					   .limit = 3,
					   .offset = 2,
					   .since_ns = UINT64_C(7000000000) };
	_cleanup_(json_freep) json_t *jobs = json_array();
	struct asked asked = begin("pages.sock", answers);
	bool has_more = false;
	char line[300];

	ASSERT_OK(server_client_list_jobs(asked.client, &filter, jobs, &has_more, NULL));
	ASSERT_EQ((uint64_t)json_array_size(jobs), (uint64_t)1);
	ASSERT(has_more);
	ASSERT_OK(server_client_list_jobs(asked.client, &(struct job_filter){}, jobs, &has_more,
					  NULL));
	ASSERT(!has_more);
	end(&asked);
	next_line(&asked, line, sizeof(line));
	ASSERT_STREQ(line, "GET /v1/jobs?since=1970-01-01T00%3A00%3A07.000000000Z&user=al%20ice"
			   "&text=a%26b%3D%25&limit=3&offset=2 HTTP/1.1");
	next_line(&asked, line, sizeof(line));
	ASSERT_STREQ(line, "GET /v1/jobs HTTP/1.1");
	fclose(asked.log);
}

TEST(records_of_all_nodes_come_back)
{
	_cleanup_(record_freep) struct record *first = made_record(0), *second = made_record(2);
	_cleanup_free_ char *a = made_json(first), *b = made_json(second), *text = NULL;
	_cleanup_(job_name_clear) struct job_name name = {};
	_cleanup_(records_clear) struct records records = {};
	const char *answers[] = { NULL, NULL };
	struct asked asked;
	char line[300];

	ASSERT(asprintf(&text, "%s%s\n%s\n", WELL, a, b) > 0);
	answers[0] = text;
	asked = begin("records.sock", answers);
	ASSERT_OK(job_name_parse("slurm/1/2@node 7", &name, NULL));
	ASSERT_OK(server_client_get_records(asked.client, &name, &records, NULL));
	ASSERT_EQ((uint64_t)records.count, (uint64_t)2);
	end(&asked);
	next_line(&asked, line, sizeof(line));
	ASSERT_STREQ(line, "GET /v1/records?id=1%2F2&node=node%207&manager=slurm&clock=1 HTTP/1.1");
	fclose(asked.log);
}

TEST(what_the_server_says_is_told)
{
	static const char *const answers[] = {
		"HTTP/1.1 404 Not Found\r\n\r\n{\"error\": \"there is no job '7'\"}",
		WELL "{\"schema\": \"other/1\"}", WELL "", NULL
	};
	_cleanup_(job_name_clear) struct job_name name = {};
	_cleanup_(records_clear) struct records records = {};
	struct asked asked = begin("said.sock", answers);
	struct error err = {};

	ASSERT_OK(job_name_parse("7", &name, NULL));
	ASSERT_ERR(server_client_get_records(asked.client, &name, &records, &err), -ENOENT);
	ASSERT_STREQ(err.text, "there is no job '7'");
	ASSERT_ERR(server_client_get_records(asked.client, &name, &records, &err), -EPROTO);
	ASSERT_CONTAINS(err.text, "the server's answer: ");
	ASSERT_ERR(server_client_get_records(asked.client, &name, &records, &err), -EPROTO);
	ASSERT(!records.count);
	end(&asked);
	fclose(asked.log);
}

TEST(without_a_server_that_is_said)
{
	_cleanup_(server_client_closep) struct server_client *client = NULL;
	_cleanup_(json_freep) json_t *jobs = json_array();
	struct error err = {};
	bool has_more;

	setenv("JOBMETER_SERVER_SOCKET", "/nonexistent/server.sock", 1);
	ASSERT_OK(server_client_open(NULL, &client, NULL));
	unsetenv("JOBMETER_SERVER_SOCKET");
	ASSERT_ERR(server_client_list_jobs(client, &(struct job_filter){}, jobs, &has_more, &err),
		   -ENOTCONN);
	ASSERT_STREQ(err.text, "no server answers at '/nonexistent/server.sock': No such file or "
			       "directory");
	ASSERT_ERR(server_client_greet(client, &err), -ENOTCONN);
}
