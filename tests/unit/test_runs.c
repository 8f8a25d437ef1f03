/* SPDX-License-Identifier: MIT */
#include "runs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "error.h"
#include "made.h"
#include "test.h"

#define _cleanup_record_ _cleanup_(record_freep)

/* A fresh folder of runs for each test. */
static void begin(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", test_folder(), name);
	ASSERT_OK(setenv("XDG_STATE_HOME", path, 1));
}

static void store_at(uint64_t second, uint64_t sequence)
{
	_cleanup_record_ struct record *r = made_record(0);
	struct error err;

	r->sequence = sequence;
	r->time.start_ns = (1770091506 + second) * UINT64_C(1000000000);
	r->time.end_ns = r->time.start_ns + 1;
	ASSERT_OK(runs_store(r, NULL, &err));
}

TEST(a_run_is_private_and_found_again)
{
	_cleanup_record_ struct record *r = made_record(0), *by_name = NULL, *by_job = NULL,
				       *newest = NULL;
	_cleanup_free_ char *path = NULL;
	char id[128];
	struct error err;
	struct stat st;

	begin("found");
	ASSERT_ERR(runs_find_newest(&newest, &err), -ENOENT);
	ASSERT_CONTAINS(err.text, "there is no local run yet");
	r->job.id = strdup("run-17");
	ASSERT_OK(runs_store(r, &path, &err));
	ASSERT_OK(stat(path, &st));
	ASSERT_EQ(st.st_mode & 0777, 0600U);
	strcpy(id, strrchr(path, '/') + 1);
	*strrchr(id, '.') = '\0';
	*strrchr(path, '/') = '\0';
	ASSERT_OK(stat(path, &st));
	ASSERT_EQ(st.st_mode & 0777, 0700U);
	ASSERT_OK(runs_find(id, &by_name, &err));
	ASSERT_OK(runs_find("run-17", &by_job, &err));
	ASSERT_OK(runs_find_newest(&newest, &err));
	ASSERT_STREQ(by_name->job.id, "run-17");
	newest = record_free(newest);
	ASSERT_ERR(runs_find("run-18", &newest, &err), -ENOENT);
}

TEST(the_last_run_of_a_command_is_the_newest_that_ended_before)
{
	_cleanup_record_ struct record *now = made_record(0), *last = NULL;

	begin("last");
	store_at(0, 1);
	store_at(20, 3);
	store_at(10, 2);
	now->time.start_ns = 1770091521 * UINT64_C(1000000000);
	ASSERT_OK(runs_find_last_same(now, &last));
	ASSERT_EQ(last->sequence, 2);
	last = record_free(last);

	now->job.rank = 1; /* another rank of that run */
	ASSERT_ERR(runs_find_last_same(now, &last), -ENOENT);
	now->job.rank = 0;
	free(now->job.folder);
	now->job.folder = strdup("/elsewhere");
	ASSERT_ERR(runs_find_last_same(now, &last), -ENOENT);
}

TEST(the_oldest_runs_go_and_foreign_files_stay)
{
	_cleanup_record_ struct record *newest = NULL;
	_cleanup_free_ char *path = NULL;
	char foreign[300];
	struct error err;
	struct dirent **entries;
	int count;

	begin("prune");
	store_at(0, 0);
	ASSERT(asprintf(&path, "%s/jobmeter/runs", getenv("XDG_STATE_HOME")) > 0);
	snprintf(foreign, sizeof(foreign), "%s/0-not-ours.json", path);
	fclose(fopen(foreign, "we"));
	for (unsigned int i = 1; i < RUNS_KEPT + 5; i++)
		store_at(i, i);
	count = scandir(path, &entries, NULL, alphasort);
	ASSERT_EQ(count, RUNS_KEPT + 3); /* with ".", ".." and the foreign one */
	ASSERT_STREQ(entries[2]->d_name, "0-not-ours.json");
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	ASSERT_OK(runs_find_newest(&newest, &err));
	ASSERT_EQ(newest->sequence, RUNS_KEPT + 4);
}

TEST(a_broken_file_is_passed_over)
{
	_cleanup_record_ struct record *now = made_record(0), *last = NULL;
	char path[300];
	FILE *file;

	begin("broken");
	store_at(0, 1);
	snprintf(path, sizeof(path), "%s/jobmeter/runs/20990101T000000.000000000Z-1.json",
		 getenv("XDG_STATE_HOME"));
	file = fopen(path, "we");
	fputs("{\"schema\": ", file);
	fclose(file);
	now->time.start_ns += UINT64_C(1000000000) * 1000;
	ASSERT_OK(runs_find_last_same(now, &last));
	ASSERT_EQ(last->sequence, 1);
}
