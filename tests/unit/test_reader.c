/* SPDX-License-Identifier: MIT */
#include "cli/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "codec/records.h"
#include "made.h"
#include "model/job_name.h"
#include "model/job_row.h"
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

/* A file of these records, as a reader. */
static struct reader *reader_of(const struct told *told, size_t count)
{
	struct reader *reader = NULL;
	struct error err = {};
	char path[300];
	FILE *out;

	snprintf(path, sizeof(path), "%s/records.ndjson", test_dir());
	out = fopen(path, "we");
	for (size_t i = 0; i < count; i++)
		write_record(out, &told[i]);
	fclose(out);
	ASSERT_OK(reader_open(path, NULL, &reader, &err));
	return reader;
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
	_cleanup_(job_rows_clear) struct job_rows rows = {};

	ASSERT_OK(reader_list_jobs(reader, &(struct job_filter){}, &rows, NULL));
	ASSERT_EQ((uint64_t)rows.count, (uint64_t)3);
	ASSERT_EQ(rows.items[0].start_ns, 5000 * S);
	ASSERT_EQ(rows.items[0].nodes, 1u);
	ASSERT_STREQ(rows.items[2].id, "7");
	ASSERT_EQ(rows.items[2].nodes, 2u);
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
	_cleanup_(job_rows_clear) struct job_rows rows = {};

	ASSERT_OK(reader_list_jobs(reader, &(struct job_filter){}, &rows, NULL));
	ASSERT_EQ((uint64_t)rows.count, (uint64_t)2);
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
	_cleanup_(job_rows_clear) struct job_rows rows = {};

	ASSERT_OK(reader_list_jobs(reader, &(struct job_filter){}, &rows, NULL));
	ASSERT_EQ((uint64_t)rows.count, (uint64_t)2);
	ASSERT_STREQ(rows.items[0].id, "8");
	ASSERT_STREQ(rows.items[0].state, "RUNNING");
	ASSERT_EQ(rows.items[0].elapsed_ns, 20 * S);
	ASSERT(rows.items[1].is_final);
	ASSERT_EQ(rows.items[1].elapsed_ns, 100 * S);
}

TEST(a_filter_and_a_limit_hold)
{
	static const struct told told[] = {
		{ "slurm", "7", "n1", 1000, 100, 1, false },
		{ "slurm", "8", "n1", 2000, 100, 1, false },
		{ "slurm", "9", "n1", 3000, 100, 1, false },
	};
	_cleanup_(reader_closep) struct reader *reader = reader_of(told, 3);
	_cleanup_(job_rows_clear) struct job_rows first = {}, later = {};

	ASSERT_OK(reader_list_jobs(reader, &(struct job_filter){ .limit = 1 }, &first, NULL));
	ASSERT_EQ((uint64_t)first.count, (uint64_t)1);
	ASSERT_STREQ(first.items[0].id, "9");
	ASSERT_OK(reader_list_jobs(
		reader, &(struct job_filter){ .since_ns = 1500 * S, .until_ns = 2500 * S }, &later,
		NULL));
	ASSERT_EQ((uint64_t)later.count, (uint64_t)1);
	ASSERT_STREQ(later.items[0].id, "8");
}

TEST(a_place_without_records_is_told)
{
	struct reader *reader = NULL;
	struct error err = {};
	char path[300];

	ASSERT_ERR(reader_open("/nonexistent", NULL, &reader, &err), -ENOENT);
	snprintf(path, sizeof(path), "%s/empty", test_dir());
	ASSERT(mkdir(path, 0700) == 0);
	ASSERT_ERR(reader_open(path, NULL, &reader, &err), -ENOENT);
	ASSERT_CONTAINS(err.text, "there is no record in the directory '");
	rmdir(path);
}
