/* SPDX-License-Identifier: MIT */
#include "client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "client/client_json.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "answerer.h"
#include "made.h"
#include "test.h"
#include "basic/waiter.h"

TEST(a_list_of_jobs_comes_back)
{
	static const char text[] =
		"{\"jobs\": [{\"manager\": \"slurm\", \"id\": \"1\", \"name\": null, \"user\": \"a\","
		" \"uid\": 1000, \"live\": true, \"end\": null, \"more\": [1]}, {\"manager\": \"run\", \"id\": \"2\", \"end\": \"1970-01-01T00:00:07Z\"}]}";
	_cleanup_(client_jobs_clear) struct client_jobs jobs = {};

	ASSERT_OK(client_parse_jobs(text, strlen(text), &jobs, NULL));
	ASSERT_EQ((uint64_t)jobs.count, (uint64_t)2);
	ASSERT_STREQ(jobs.items[0].manager, "slurm");
	ASSERT_STREQ(jobs.items[0].user, "a");
	ASSERT(!jobs.items[0].name && jobs.items[0].is_live);
	ASSERT_EQ(jobs.items[0].uid, 1000);
	ASSERT_EQ(jobs.items[1].uid, -1);
	ASSERT(!jobs.items[1].is_live);
	ASSERT_EQ(jobs.items[0].end_ns, (uint64_t)0);
	ASSERT_EQ(jobs.items[1].end_ns, UINT64_C(7000000000));
}

TEST(what_an_agent_says_of_itself_comes_back)
{
	static const char text[] =
		"{\"schema\": \"jobmeter.agent/1\", \"version\": \"7\", \"jobs_live\": 1009,"
		" \"tiers\": [\"T0\"], \"missing\": [], \"more\": 1}";
	_cleanup_(client_agent_clear) struct client_agent agent = {};

	ASSERT_OK(client_parse_agent(text, strlen(text), &agent, NULL));
	ASSERT_STREQ(agent.version, "7");
	ASSERT_EQ(agent.jobs_live, (uint64_t)1009);
	ASSERT(agent.tiers.count == 1 && !agent.missing.count && !agent.notes.count);
}

TEST(what_goes_to_the_server_comes_back)
{
	static const char text[] =
		"{\"version\": \"7\", \"push\": {\"server\": \"https://s\", \"finals_unsent\": 3,"
		" \"checkpoints_unsent\": 5, \"oldest\": \"1970-01-01T00:00:07Z\", \"answered\": null,"
		" \"refused\": 1, \"finals_dropped\": 2, \"why_unsent\": \"it answers 503\"}}",
			  none[] = "{\"version\": \"7\", \"push\": null}";
	_cleanup_(client_agent_clear) struct client_agent agent = {}, without = {};

	ASSERT_OK(client_parse_agent(text, strlen(text), &agent, NULL));
	ASSERT_STREQ(agent.push.server, "https://s");
	ASSERT_STREQ(agent.push.why_unsent, "it answers 503");
	ASSERT_EQ(agent.push.finals_unsent + agent.push.checkpoints_unsent, (uint64_t)8);
	ASSERT_EQ(agent.push.oldest_ns, UINT64_C(7000000000));
	ASSERT_EQ(agent.push.answered_ns, (uint64_t)0);
	ASSERT_OK(client_parse_agent(none, strlen(none), &without, NULL));
	ASSERT(!without.push.server);
}

TEST(what_is_no_answer_is_told_and_leaves_the_result_alone)
{
	static const struct row {
		const char *text, *error;
	} jobs_rows[] = {
		{ NULL, "the agent's answer is no JSON" },
		{ "", "the agent's answer is no JSON" },
		{ "<html>", "the agent's answer is no JSON" },
		{ "[]", "the agent's answer is no JSON" },
		{ "{}", "the agent's answer is no list of jobs" },
		{ "{\"jobs\": 1}", "the agent's answer: jobs is a number" },
		{ "{\"jobs\": [1]}", "the agent's answer: jobs[0] is a number" },
		{ "{\"jobs\": [{}]}", "the agent's answer: jobs[0] lacks manager or id" },
		{ "{\"jobs\": [{\"manager\": 1}]}", "the agent's answer: jobs[0].manager is a number" },
		{ "{\"jobs\": [{\"manager\": \"a\", \"id\": \"1\", \"uid\": -2}]}", "jobs[0].uid" },
	}, agent_rows[] = {
		{ NULL, "the agent's answer is no JSON" },
		{ "{}", "the agent's answer lacks its version" },
		{ "{\"version\": 1}", "the agent's answer: version is a number" },
		{ "{\"version\": \"1\", \"tiers\": \"T0\"}", "the agent's answer: tiers is" },
		{ "{\"version\": \"1\", \"notes\": [1]}", "the agent's answer: notes holds what is no text" },
		{ "{\"version\": \"1\", \"jobs_live\": -1}", "jobs_live" },
	}, group_rows[] = {
		{ NULL, "the agent's answer is no JSON" },
		{ "{\"manager\": \"run\"}", "the agent's answer lacks manager or id" },
		{ "{\"manager\": \"run\", \"id\": {}}", "the agent's answer: id is a map" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(jobs_rows); i++) {
		const char *text = jobs_rows[i].text;
		struct client_jobs jobs = { .count = 7 };
		struct error err = {};

		ASSERT_ERR(client_parse_jobs(text, text ? strlen(text) : 0, &jobs, &err), -EPROTO);
		ASSERT_CONTAINS(err.text, jobs_rows[i].error);
		ASSERT_EQ((uint64_t)jobs.count, (uint64_t)7);
	}
	for (size_t i = 0; i < ARRAY_SIZE(agent_rows); i++) {
		const char *text = agent_rows[i].text;
		struct client_agent agent = {};
		struct error err = {};

		ASSERT_ERR(client_parse_agent(text, text ? strlen(text) : 0, &agent, &err),
			   -EPROTO);
		ASSERT_CONTAINS(err.text, agent_rows[i].error);
		ASSERT(!agent.version);
	}
	for (size_t i = 0; i < ARRAY_SIZE(group_rows); i++) {
		const char *text = group_rows[i].text;
		struct client_group group = {};
		struct error err = {};

		ASSERT_ERR(client_parse_group(text, text ? strlen(text) : 0, &group, &err),
			   -EPROTO);
		ASSERT_CONTAINS(err.text, group_rows[i].error);
		ASSERT(!group.manager);
	}
}

TEST(a_refusals_words_are_found)
{
	ASSERT_TEXT(client_parse_error("{\"error\": \"no\"}", 15), "no");
	ASSERT(!client_parse_error("{\"error\": 1}", 12));
	ASSERT(!client_parse_error("<html>", 6));
}

#define HEALTHY WELL "{\"status\": \"ok\"}"

TEST(odd_ids_arrive_as_they_are)
{
	static const char *const answers[] = {
		HEALTHY,
		"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n{\"error\": \"not yours\"}",
		NULL
	};
	_cleanup_(client_closep) struct client *c = NULL;
	struct record *record = NULL;
	struct error err = {};
	char path[100], line[256] = "";
	FILE *log = tmpfile();
	int fd = listen_at("odd.sock", path, sizeof(path));
	pid_t pid = answer_with(fd, answers, log);

	ASSERT_OK(client_open(path, &c, &err));
	ASSERT_ERR(client_get_record(c, "slurm", "1/%\n?\"\xc3\xa9 [7]", &record, &err), -ENOENT);
	ASSERT_STREQ(err.text, "not yours");
	waitpid(pid, NULL, 0);
	rewind(log);
	ASSERT(fgets(line, sizeof(line), log) && fgets(line, sizeof(line), log));
	ASSERT_STREQ(line, "GET /v1/jobs/slurm/1%2F%25%0A%3F%22%C3%A9%20%5B7%5D HTTP/1.1\n");
	fclose(log);
	close(fd);
}

TEST(a_record_comes_back)
{
	_cleanup_(record_freep) struct record *made = made_record(0), *back = NULL;
	_cleanup_free_ char *json = made_json(made), *text = NULL;
	_cleanup_(client_closep) struct client *c = NULL;
	const char *answers[] = { HEALTHY, NULL, NULL };
	char path[100];
	FILE *log = tmpfile();
	int fd = listen_at("record.sock", path, sizeof(path));
	pid_t pid;

	ASSERT(asprintf(&text, "%s%s", WELL, json) > 0);
	answers[1] = text;
	pid = answer_with(fd, answers, log);
	setenv("JOBMETER_SOCKET", path, 1);
	ASSERT_OK(client_open(NULL, &c, NULL));
	unsetenv("JOBMETER_SOCKET");
	ASSERT_OK(client_get_record(c, "run", "1", &back, NULL));
	ASSERT_TEXT(made_json(back), json);
	waitpid(pid, NULL, 0);
	fclose(log);
	close(fd);
}

TEST(what_answers_but_is_no_agent_is_told)
{
	static const char *const answers[] = { HEALTHY, WELL "{\"schema\": \"other/1\"}",
					       "nonsense\r\n\r\n", "", NULL };
	_cleanup_(client_closep) struct client *c = NULL;
	struct record *record = NULL;
	struct error err = {};
	char path[100];
	FILE *log = tmpfile();
	int fd = listen_at("other.sock", path, sizeof(path));
	pid_t pid = answer_with(fd, answers, log);

	ASSERT_OK(client_open(path, &c, &err));
	ASSERT_ERR(client_get_record(c, "run", "1", &record, &err), -EPROTO);
	ASSERT_CONTAINS(err.text, "the agent's answer: ");
	ASSERT_ERR(client_get_record(c, "run", "1", &record, &err), -EPROTO);
	close(fd); /* the other process has it, as long as it lives */
	ASSERT_ERR(client_get_record(c, "run", "1", &record, &err), -ECONNREFUSED);
	ASSERT_CONTAINS(err.text, "no agent answers");
	waitpid(pid, NULL, 0);
	ASSERT_ERR(client_get_record(c, "run", "1", &record, &err), -ECONNREFUSED);
	fclose(log);
}

TEST(who_was_cut_asks_again)
{
	static const char *const answers[] = { "", "", HEALTHY, "", WELL "{\"jobs\": []}", NULL };
	_cleanup_(client_closep) struct client *c = NULL;
	_cleanup_(client_jobs_clear) struct client_jobs jobs = {};
	struct error err = {};
	char path[100];
	FILE *log = tmpfile();
	int fd = listen_at("busy.sock", path, sizeof(path));
	pid_t pid = answer_with(fd, answers, log);

	ASSERT_OK(client_open(path, &c, &err));
	ASSERT_OK(client_list_jobs(c, &jobs, &err));
	waitpid(pid, NULL, 0);
	fclose(log);
	close(fd);
}

TEST(without_an_agent_it_is_said_at_once)
{
	struct client *c = NULL;
	struct error err = {};
	char path[100], text[300];
	int fd = listen_at("dead.sock", path, sizeof(path));

	close(fd); /* the socket's file stays, as after kill -9 */
	ASSERT_ERR(client_open(path, &c, &err), -ECONNREFUSED);
	snprintf(text, sizeof(text), "no agent answers at '%s': Connection refused", path);
	ASSERT_STREQ(err.text, text);
	ASSERT_ERR(client_open("/nonexistent/agent.sock", &c, &err), -ENOENT);
	memset(text, 'x', 200);
	text[200] = '\0';
	ASSERT_ERR(client_open(text, &c, &err), -ENAMETOOLONG);
	ASSERT(!c);
}

TEST(an_agent_that_stands_still_is_not_waited_for)
{
	struct client *c = NULL;
	struct error err = {};
	char path[100];
	int fd = listen_at("still.sock", path, sizeof(path)); /* takes connections, as a stopped
								 process' does */

	ASSERT_ERR(client_open(path, &c, &err), -ETIMEDOUT);
	ASSERT_CONTAINS(err.text, "does not answer");
	close(fd);
}

/* Who has enough after @left more times. */
struct patience {
	int left, asked;
};

static int lose_patience(void *context)
{
	struct patience *p = context;

	p->asked++;
	return p->left-- > 0 ? 0 : -ECANCELED;
}

TEST(who_has_more_to_do_is_asked_while_an_answer_is_waited_for)
{
	static const char *const answers[] = { HEALTHY, "", WELL "{\"jobs\": []}", WELL "nonsense",
					       NULL };
	_cleanup_(client_closep) struct client *c = NULL;
	_cleanup_(client_jobs_clear) struct client_jobs jobs = {};
	struct patience patience = { .left = INT_MAX };
	const struct waiter waiter = { { -1, -1 }, 1000, lose_patience, &patience };
	struct error err = {};
	char path[100];
	FILE *log = tmpfile();
	int fd = listen_at("asked.sock", path, sizeof(path));
	pid_t pid = answer_with(fd, answers, log);

	ASSERT_OK(client_open(path, &c, &err));
	client_set_waiter(c, &waiter);
	ASSERT_OK(client_list_jobs(c, &jobs, &err)); /* it was cut once */
	ASSERT(patience.asked > 0);
	ASSERT_ERR(client_list_jobs(c, &jobs, &err), -EPROTO);
	waitpid(pid, NULL, 0);
	close(fd);
	ASSERT_ERR(client_list_jobs(c, &jobs, &err), -ECONNREFUSED);
	fclose(log);
}

TEST(who_waits_no_longer_does_not_wait_for_the_end)
{
	static const char *const answers[] = { HEALTHY, NULL };
	_cleanup_(client_closep) struct client *c = NULL;
	struct client_jobs jobs = { .count = 7 };
	struct patience patience = { .left = 2 };
	struct waiter waiter = { { -1, -1 }, INT_MAX, lose_patience, &patience };
	struct error err = {};
	char path[100];
	FILE *log = tmpfile();
	int fd = listen_at("silent.sock", path, sizeof(path)), ends[2];
	pid_t pid = answer_with(fd, answers, log);

	ASSERT(pipe2(ends, O_CLOEXEC) == 0 && write(ends[1], "", 1) == 1);
	waiter.fds[1] = ends[0]; /* readable: so he is asked at once, again and again */
	ASSERT_OK(client_open(path, &c, &err));
	waitpid(pid, NULL, 0); /* from now on connections are taken by nobody */
	client_set_waiter(c, &waiter);
	ASSERT_ERR(client_list_jobs(c, &jobs, &err), -ECANCELED);
	ASSERT_CONTAINS(err.text, "stopped waiting for the agent");
	ASSERT_EQ(patience.asked, 3);
	ASSERT_EQ((uint64_t)jobs.count, (uint64_t)7);
	close(ends[0]);
	close(ends[1]);
	close(fd);
	fclose(log);
}
