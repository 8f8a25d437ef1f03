/* SPDX-License-Identifier: MIT */
#include "cli/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answerer.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "codec/records.h"
#include "made.h"
#include "model/job_name.h"
#include "model/job_filter.h"
#include "model/json_place.h"
#include "test.h"

#define S UINT64_C(1000000000)

/* What tests change of a made record. */
struct told {
	const char *manager, *id, *node;
	uint64_t start_s, elapsed_s, sequence;
	bool runs;
};

static void set(char **text, const char *to)
{
	free(*text);
	*text = strdup(to);
}

static void write_record(FILE *out, const struct told *told)
{
	_cleanup_(record_freep) struct record *record = made_record(0);
	_cleanup_free_ char *json = NULL;

	set(&record->job.manager, told->manager);
	set(&record->job.id, told->id);
	set(&record->node, told->node);
	record->time.start_ns = told->start_s * S;
	record->time.elapsed_ns = told->elapsed_s * S;
	record->time.end_ns = told->runs ? 0 : (told->start_s + told->elapsed_s) * S;
	record->is_final = !told->runs;
	record->sequence = told->sequence;
	json = made_json(record);
	fputs(json, out);
	fputc('\n', out);
}

/* No file here is a directory's. */
static void refuse_nothing(void *context UNUSED, const struct error *err UNUSED)
{
	ASSERT(!"refused");
}

/* A file of these records, as a reader. */
static struct reader *reader_of(const struct told *told, size_t count)
{
	struct reader *reader = NULL;
	struct error err = {};
	const char *path = test_path("records.ndjson");
	FILE *out;

	out = fopen(path, "we");
	for (size_t i = 0; i < count; i++)
		write_record(out, &told[i]);
	fclose(out);
	ASSERT_OK(reader_open(path, refuse_nothing, NULL, &reader, &err));
	return reader;
}

static json_t *list(struct reader *reader, const struct job_filter *filter)
{
	json_t *jobs = json_array();

	ASSERT_OK(reader_list_jobs(reader, filter, jobs, NULL));
	return jobs;
}

static const char *text_at(const json_t *jobs, size_t i, const char *key)
{
	return json_string_value(json_object_get(json_array_get(jobs, i), key));
}

static int number_at(const json_t *jobs, size_t i, const char *key)
{
	return (int)json_number_value(json_object_get(json_array_get(jobs, i), key));
}

static size_t count_of(struct reader *reader, const char *text)
{
	_cleanup_(job_name_clear) struct job_name name = {};
	_cleanup_(records_clear) struct records records = {};
	int r;

	ASSERT_OK(job_name_parse(text, &name, NULL));
	r = reader_get_records(reader, &name, &records, NULL);
	ASSERT(r == 0 || (r == -ENOENT && !records.count));
	return records.count;
}

TEST(nodes_of_a_managers_job_are_one_job)
{
	static const struct told told[] = {
		{ "slurm", "7", "n1", 1000, 100, 1, false },
		{ "slurm", "7", "n2", 1003, 200, 1, false },
		{ "slurm", "7", "n1", 5000, 100, 1, false }, /* the id again, later */
		{ "slurm", "8", "n1", 1000, 100, 1, false },
	};
	_cleanup_(reader_closep) struct reader *reader = reader_of(told, 4);
	_cleanup_(json_freep) json_t *jobs = NULL;

	jobs = list(reader, &(struct job_filter){});
	ASSERT_EQ((uint64_t)json_array_size(jobs), (uint64_t)3);
	ASSERT_STREQ(text_at(jobs, 0, "start"), "1970-01-01T01:23:20.000000000Z");
	ASSERT_EQ(number_at(jobs, 0, "nodes"), 1);
	ASSERT_STREQ(text_at(jobs, 2, "id"), "7");
	ASSERT_EQ(number_at(jobs, 2, "nodes"), 2);
	ASSERT_EQ((uint64_t)count_of(reader, "7"), (uint64_t)1); /* the newest */
	ASSERT_EQ((uint64_t)count_of(reader, "slurm/7@n2"), (uint64_t)1);
	ASSERT_EQ((uint64_t)count_of(reader, "7@n3"), (uint64_t)0);
	ASSERT_EQ((uint64_t)count_of(reader, "pbs/8"), (uint64_t)0);
}

TEST(parts_a_minute_apart_are_one_job_and_no_more)
{
	static const struct told told[] = {
		{ "pbs", "7", "n1", 1000, 100, 1, false },
		{ "pbs", "7", "n2", 1160, 10, 1, false },
		{ "pbs", "7", "n3", 1231, 10, 1, false },
	};
	_cleanup_(reader_closep) struct reader *reader = reader_of(told, 3);

	ASSERT_EQ((uint64_t)count_of(reader, "7"), (uint64_t)1);
	ASSERT_EQ((uint64_t)count_of(reader, "7@n1"), (uint64_t)1);
	ASSERT_EQ((uint64_t)count_of(reader, "7@n2"), (uint64_t)1);
}

TEST(runs_of_one_id_are_jobs_of_their_own)
{
	static const struct told told[] = {
		{ "run", "7", "n1", 1000, 100, 1, false },
		{ "run", "7", "n2", 1003, 200, 1, false },
	};
	_cleanup_(reader_closep) struct reader *reader = reader_of(told, 2);
	_cleanup_(json_freep) json_t *jobs = NULL;

	jobs = list(reader, &(struct job_filter){});
	ASSERT_EQ((uint64_t)json_array_size(jobs), (uint64_t)2);
	ASSERT_EQ((uint64_t)count_of(reader, "7"), (uint64_t)1);
}

TEST(of_the_versions_of_a_record_the_best_counts)
{
	static const struct told told[] = {
		{ "slurm", "7", "n1", 1000, 100, 5, false },
		{ "slurm", "7", "n1", 1000, 50, 9, true }, /* a checkpoint never replaces an end */
		{ "slurm", "7", "n1", 1000, 99, 4, false },
		{ "slurm", "8", "n1", 1000, 10, 1, true },
		{ "slurm", "8", "n1", 1000, 20, 2, true },
	};
	_cleanup_(reader_closep) struct reader *reader = reader_of(told, 5);
	_cleanup_(json_freep) json_t *jobs = NULL;

	jobs = list(reader, &(struct job_filter){});
	ASSERT_EQ((uint64_t)json_array_size(jobs), (uint64_t)2);
	ASSERT_STREQ(text_at(jobs, 0, "id"), "8");
	ASSERT_STREQ(text_at(jobs, 0, "state"), "RUNNING");
	ASSERT_EQ(number_at(jobs, 0, "elapsed_seconds"), 20);
	ASSERT(json_is_true(json_object_get(json_array_get(jobs, 1), "final")));
	ASSERT_EQ(number_at(jobs, 1, "elapsed_seconds"), 100);
}

TEST(filters_and_limits_hold)
{
	static const struct told told[] = {
		{ "slurm", "7", "n1", 1000, 100, 1, false },
		{ "slurm", "8", "n1", 2000, 100, 1, false },
		{ "slurm", "9", "n1", 3000, 100, 1, true },
	};
	const struct {
		struct job_filter filter;
		const char *ids;
	} rows[] = {
		{ {}, "987" },
		{ { .limit = 1 }, "9" },
		{ { .since_ns = 1500 * S, .until_ns = 2500 * S }, "8" },
		{ { .since_ns = 2100 * S }, "98" },
		{ { .since_ns = 2101 * S }, "9" },
		{ { .until_ns = 2000 * S }, "7" },
		{ { .user = "made-user" }, "987" },
		{ { .user = "Made-user" }, "" },
		{ { .user = "1000" }, "987" },
		{ { .user = "100" }, "" },
		{ { .manager = "slurm", .id = "8" }, "8" },
		{ { .manager = "pbs", .id = "8" }, "" },
		{ { .state = "Running" }, "9" },
		{ { .partition = "debug" }, "" }, /* it has none */
		{ { .name = "slurm" }, "" },
		{ { .text = "ADE-US" }, "987" },
		{ { .text = "slurm" }, "" },
	};
	_cleanup_(reader_closep) struct reader *reader = reader_of(told, 3);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(json_freep) json_t *jobs = list(reader, &rows[i].filter);
		char ids[8] = "";

		for (size_t j = 0; j < json_array_size(jobs); j++)
			strcat(ids, text_at(jobs, j, "id"));
		ASSERT_STREQ(ids, rows[i].ids);
	}
}

TEST(jobs_of_more_records_than_are_merged_at_once_are_whole)
{
	struct told told[40];
	_cleanup_(reader_closep) struct reader *reader = NULL;
	_cleanup_(json_freep) json_t *jobs = NULL;
	char names[40][8];

	for (int i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		told[i] = (struct told){ "slurm", "7", names[i], 1000, 100, 1, false };
	}
	reader = reader_of(told, 40);
	jobs = list(reader, &(struct job_filter){});
	ASSERT_EQ((uint64_t)json_array_size(jobs), (uint64_t)1);
	ASSERT_EQ(number_at(jobs, 0, "nodes"), 40);
	ASSERT_EQ((uint64_t)count_of(reader, "7"), (uint64_t)40);
}

/* As the first screen of its report has them, line by line. */
TEST(bytes_are_of_file_systems_that_hold_data)
{
	static const struct {
		const char *mount, *type;
		bool counts;
	} mounts[] = { { "/scratch", "lustre", true }, { "/dev/shm", "tmpfs", true },
		       { "/image", "squashfs", true }, { "(unresolved)", NULL, true },
		       { "(pipe)", NULL, false },      { "(pseudo)", NULL, false },
		       { "(socket)", NULL, false },    { "(exec)", NULL, false },
		       { "/dev", "devtmpfs", false },  { "/root/dev", "devtmpfs", false },
		       { "/sys/x", "tracefs", false } };
	_cleanup_(record_freep) struct record *record = made_record(0);
	_cleanup_(reader_closep) struct reader *reader = NULL;
	_cleanup_(json_freep) json_t *jobs = NULL;
	_cleanup_free_ char *json = NULL;
	int read = 0, written = 0;
	struct error err = {};
	const char *path = test_path("mounts.json");
	FILE *out;

	set(&record->job.id, "7");
	set(&record->node, "n1");
	reading_clear_mounts(&record->reading);
	record->reading.has_mounts = true;
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		struct mount_row *row = reading_get_mount(&record->reading,
							  row_kind_of(mounts[i].mount),
							  mounts[i].mount, mounts[i].type);

		row->ops[OP_READ].bytes = 1u << i;
		row->ops[OP_WRITE].bytes = 3u << i;
		read += mounts[i].counts ? 1 << i : 0;
		written += mounts[i].counts ? 3 << i : 0;
	}
	json = made_json(record);
	out = fopen(path, "we");
	fputs(json, out);
	fclose(out);
	(void)reader_open(path, refuse_nothing, NULL, &reader, &err);
	ASSERT_STREQ(err.text, "");
	jobs = list(reader, &(struct job_filter){});
	ASSERT_EQ(number_at(jobs, 0, "io.read.bytes"), read);
	ASSERT_EQ(number_at(jobs, 0, "io.write.bytes"), written);
}

TEST(what_is_no_nodes_record_is_told)
{
	_cleanup_(record_freep) struct record *record = made_record(0);
	_cleanup_free_ char *json = NULL;
	struct reader *reader = NULL;
	struct error err = {};
	const char *path = test_path("nowhere.json");
	FILE *out;

	set(&record->node, "");
	json = made_json(record);
	out = fopen(path, "we");
	fputs(json, out);
	fclose(out);
	ASSERT_ERR(reader_open(path, refuse_nothing, NULL, &reader, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "nowhere.json: it has no node");
}

#define JOB(id) "{\"manager\": \"slurm\", \"id\": \"" id "\"}"

/* Each answer is a page; what is asked for is one that begins behind those that came. */
TEST(a_server_is_asked_page_by_page_until_it_has_no_more)
{
	static const char *const answers[] = { WELL "{\"jobs\": [" JOB("1") ", " JOB(
						       "2") "], \"more\": true}",
					       WELL "{\"jobs\": [" JOB("3") "], \"more\": true}",
					       WELL "{\"jobs\": [], \"more\": true}", /* and so not
											 for ever */
					       NULL };
	_cleanup_(reader_closep) struct reader *reader = NULL;
	_cleanup_(json_freep) json_t *jobs = NULL;
	FILE *log = tmpfile();
	char path[100], line[300];
	int fd = listen_at("pages.sock", path, sizeof(path));
	pid_t pid = answer_with(fd, answers, log);

	setenv("JOBMETER_SERVER_SOCKET", path, 1);
	ASSERT_OK(reader_open(NULL, refuse_nothing, NULL, &reader, NULL));
	unsetenv("JOBMETER_SERVER_SOCKET");
	jobs = list(reader, &(struct job_filter){ .limit = 1500 });
	ASSERT_EQ((uint64_t)json_array_size(jobs), (uint64_t)3);
	close(fd);
	waitpid(pid, NULL, 0);
	rewind(log);
	ASSERT(fgets(line, sizeof(line), log) != NULL);
	ASSERT_CONTAINS(line, "GET /v1/jobs?limit=1000 HTTP/1.1");
	ASSERT(fgets(line, sizeof(line), log) != NULL);
	ASSERT_CONTAINS(line, "GET /v1/jobs?limit=1000&offset=2 HTTP/1.1");
	fclose(log);
}

TEST(a_place_without_records_is_told)
{
	struct reader *reader = NULL;
	struct error err = {};
	const char *path = test_path("empty");

	ASSERT_ERR(reader_open("/nonexistent", refuse_nothing, NULL, &reader, &err), -ENOENT);
	ASSERT(mkdir(path, 0700) == 0);
	ASSERT_ERR(reader_open(path, refuse_nothing, NULL, &reader, &err), -ENOENT);
	ASSERT_CONTAINS(err.text, "there is no *.json in the directory '");
	rmdir(path);
}
