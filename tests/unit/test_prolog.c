/* SPDX-License-Identifier: MIT */
#include "jobs/prolog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "test.h"
#include "tree.h"

#define FILE_42 PROLOG_DIR "/slurm-42.json"

static int parse(const char *text, struct job *job, struct error *err)
{
	return prolog_parse(text, strlen(text), job, err);
}

TEST(what_the_prolog_says_is_taken)
{
	_cleanup_(job_unrefp) struct job *job = job_new("slurm", "42");

	ASSERT_OK(parse(
		"{\"user\": \"ada\", \"uid\": 1000, \"account\": \"physics\", \"partition\": \"long\", \"qos\": \"normal\", \"reservation\": \"course\","
		" \"name\": \"a \\\"name\\\"\\n\", \"array_id\": \"40\", \"array_index\": 2, \"cores\": 4.5,"
		" \"memory_limit_bytes\": 17179869184, \"gpus\": [3, 0, 1], \"what\": {\"comes\": [\"later\"]}}",
		job, NULL));
	ASSERT_STREQ(job->user, "ada");
	ASSERT_EQ(job->uid, (int64_t)1000);
	ASSERT_STREQ(job->account, "physics");
	ASSERT_STREQ(job->partition, "long");
	ASSERT_STREQ(job->qos, "normal");
	ASSERT_STREQ(job->reservation, "course");
	ASSERT_STREQ(job->name, "a \"name\"\n");
	ASSERT_STREQ(job->array_id, "40");
	ASSERT_EQ(job->array_index, (int64_t)2);
	ASSERT_EQ(job->allocated_cores.number, (uint64_t)4500);
	ASSERT_EQ(job->memory_limit.number, UINT64_C(17179869184));
	ASSERT_STREQ(job->gpus, "0-1,3");
	ASSERT_STREQ(job->id, "42");
}

TEST(what_it_does_not_say_is_left_alone)
{
	_cleanup_(job_unrefp) struct job *job = job_new("slurm", "42");

	job->user = strdup("ada");
	job->uid = 7;
	job->memory_limit = (struct value){ 5, true };
	ASSERT_OK(parse("{\"gpus\": [], \"account\": null}", job, NULL));
	ASSERT_STREQ(job->user, "ada");
	ASSERT_EQ(job->uid, (int64_t)7);
	ASSERT_EQ(job->memory_limit.number, (uint64_t)5);
	ASSERT(!job->account && !job->allocated_cores.is_known);
	ASSERT_STREQ(job->gpus, ""); /* none, which is not unknown */
}

TEST(of_an_odd_text_nothing_is_taken_and_the_reason_is_told)
{
	static const struct {
		const char *text, *says;
	} odd[] = {
		{ "", "line 1" },
		{ "[]", "a list" },
		{ "7", "line 1" },
		{ "{\"user\": 7}", "user is a number" },
		{ "{\"account\": \"x\", \"uid\": \"7\"}", "uid is a string" },
		{ "{\"account\": \"x\", \"uid\": -1}", "out of range" },
		{ "{\"account\": \"x\", \"uid\": 4294967295}", "out of range" },
		{ "{\"cores\": -1}", "out of range" },
		{ "{\"cores\": 1e18}", "out of range" },
		{ "{\"cores\": \"4\"}", "a string" },
		{ "{\"memory_limit_bytes\": 1.5}", "a fraction" },
		{ "{\"gpus\": 1}", "a number" },
		{ "{\"account\": \"x\", \"gpus\": [\"0\"]}", "minor numbers" },
		{ "{\"gpus\": [-1]}", "minor numbers" },
		{ "{\"gpus\": [1024]}", "minor numbers" },
		{ "{\"user\": \"\\u0000\"}", "line 1" },
		{ "{\"user\": \"\xff\"}", "line 1" },
		{ "{\"user\": \"a\", \"user\": \"b\"}", "line 1" },
		{ "{\"account\": \"x\"} more", "line 1" },
		{ "{\"account\": \"x\"", "line 1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		_cleanup_(job_unrefp) struct job *job = job_new("slurm", "42");
		struct error err = {};

		if (parse(odd[i].text, job, &err) == 0)
			fprintf(stderr, "taken: %s\n", odd[i].text);
		ASSERT_ERR(parse(odd[i].text, job, &err), -EINVAL);
		ASSERT_CONTAINS(err.text, odd[i].says);
		ASSERT(!job->account && !job->user && !job->gpus && job->uid == -1);
	}
}

TEST(strings_and_the_whole_are_bounded)
{
	_cleanup_(job_unrefp) struct job *job = job_new("slurm", "42");
	_cleanup_free_ char *text = malloc(PROLOG_BYTES_MAX + 2);
	struct error err = {};

	memset(text, ' ', PROLOG_BYTES_MAX + 1);
	text[PROLOG_BYTES_MAX + 1] = '\0';
	memcpy(text, "{}", 2);
	ASSERT_ERR(parse(text, job, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "more than 64 KiB");
	text[PROLOG_BYTES_MAX] = '\0';
	ASSERT_OK(parse(text, job, NULL));
	memset(text, 'x', 1200);
	memcpy(text, "{\"user\": \"", 10);
	memcpy(text + 1200, "\"}", 3);
	ASSERT_ERR(parse(text, job, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "longer than 1024");
}

/* Directories as root makes them; the test's own are 0700.  -EPERM: we are not root. */
static int read_file(int root, const char *id, struct error *err)
{
	_cleanup_(job_unrefp) struct job *job = job_new("slurm", id);
	int r = prolog_read(root, PROLOG_DIR, job, err);

	ASSERT_EQ(job->account != NULL, r == 0);
	return r;
}

TEST(a_file_of_roots_is_read)
{
	_cleanup_close_ int root = tree_open("good");
	struct error err = {};

	ASSERT_ERR(read_file(root, "42", &err), -ENOENT); /* not even a directory */
	tree_write(root, FILE_42, "{\"account\": \"physics\"}");
	if (geteuid() != 0) {
		ASSERT_ERR(read_file(root, "42", &err), -EPERM);
		ASSERT_CONTAINS(err.text, "not root's");
		return;
	}
	ASSERT_OK(read_file(root, "42", &err));
	ASSERT_ERR(read_file(root, "43", &err), -ENOENT);
	tree_write(root, FILE_42, "{\"account\": 7}");
	ASSERT_ERR(read_file(root, "42", &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "'slurm-42.json': account is a number");
}

TEST(a_file_that_others_could_have_written_is_not)
{
	_cleanup_close_ int root = tree_open("bad");
	struct error err = {};

	if (geteuid() != 0)
		return; /* none is root's */
	tree_write(root, FILE_42, "{\"account\": \"physics\"}");
	ASSERT_OK(fchmodat(root, FILE_42, 0620, 0));
	ASSERT_ERR(read_file(root, "42", &err), -EPERM);
	ASSERT_CONTAINS(err.text, "can be written by others");
	ASSERT_OK(fchmodat(root, FILE_42, 0644, 0));
	ASSERT_OK(read_file(root, "42", &err));
	ASSERT_OK(fchownat(root, FILE_42, 7, 7, 0));
	ASSERT_ERR(read_file(root, "42", &err), -EPERM);
	ASSERT_CONTAINS(err.text, "not root's");
	ASSERT_OK(fchownat(root, FILE_42, 0, 0, 0));
	ASSERT_OK(fchmodat(root, "run/jobmeter", 0777, 0));
	ASSERT_ERR(read_file(root, "42", &err), -EPERM);
	ASSERT_OK(fchmodat(root, "run/jobmeter", 0755, 0));
	ASSERT_OK(read_file(root, "42", &err));
}

TEST(links_directories_and_pipes_are_no_files)
{
	_cleanup_close_ int root = tree_open("links");
	struct error err = {};

	if (geteuid() != 0)
		return;
	tree_write(root, "elsewhere/slurm-42.json", "{\"account\": \"physics\"}");
	tree_link(root, FILE_42, "../../../elsewhere/slurm-42.json");
	ASSERT_ERR(read_file(root, "42", &err), -EPERM);
	ASSERT_OK(mkdirat(root, PROLOG_DIR "/slurm-1.json", 0755));
	ASSERT_ERR(read_file(root, "1", &err), -EPERM);
	ASSERT_OK(mkfifoat(root, PROLOG_DIR "/slurm-2.json", 0600));
	ASSERT_ERR(read_file(root, "2", &err), -EPERM);
	ASSERT_CONTAINS(err.text, "no plain file");
	ASSERT_OK(renameat(root, "run", root, "away"));
	tree_link(root, "run", "away");
	ASSERT(read_file(root, "42", &err) < 0);
	ASSERT_CONTAINS(err.text, "cannot open directory 'run'");
}

TEST(a_job_whose_id_is_no_file_name_has_no_file)
{
	static const char *const ids[] = { "../../x", "a/b", "", ".", ".." };
	_cleanup_close_ int root = tree_open("ids");
	char longest[300];
	struct error err = {};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		ASSERT_ERR(read_file(root, ids[i], &err), -ENOENT);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	ASSERT_ERR(read_file(root, longest, &err), -ENOENT);
	ASSERT_CONTAINS(err.text, "too long");
}
