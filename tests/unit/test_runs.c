/* SPDX-License-Identifier: MIT */
#include "cli/runs.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "made.h"
#include "test.h"

#define _cleanup_record_ _cleanup_(record_freep)

/* A fresh directory of runs for each test. */
static void begin(const char *name)
{
	ASSERT_OK(setenv("XDG_STATE_HOME", test_path(name), 1));
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
				       *by_stem = NULL, *newest = NULL;
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
	*strrchr(id, '-') = '\0'; /* without what stands for the command */
	ASSERT_OK(runs_find(id, &by_stem, &err));
	*strrchr(id, '-') = '\0';
	ASSERT_ERR(runs_find(id, &newest, &err), -ENOENT);
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
	free(now->job.dir);
	now->job.dir = strdup("/elsewhere");
	ASSERT_ERR(runs_find_last_same(now, &last), -ENOENT);
}

TEST(what_was_killed_or_took_no_time_is_compared_with_nothing)
{
	static const struct {
		uint64_t elapsed_ns;
		int exit_code, signal;
	} ends[] = {
		{ UINT64_C(5000000000), -1, 2 },
		{ UINT64_C(5000000000), 137, 0 },
		{ 999999999, 0, 0 },
	};
	_cleanup_record_ struct record *now = made_record(0), *last = NULL;

	begin("whole");
	now->time.start_ns += UINT64_C(1000000000) * 1000;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		_cleanup_record_ struct record *r = made_record(0);
		struct error err;

		r->time.start_ns += UINT64_C(1000000000) * i;
		r->time.end_ns = r->time.start_ns + 1;
		r->time.elapsed_ns = ends[i].elapsed_ns;
		r->job.exit_code = ends[i].exit_code;
		r->job.signal = ends[i].signal;
		ASSERT_OK(runs_store(r, NULL, &err));
	}
	ASSERT_ERR(runs_find_last_same(now, &last), -ENOENT);
	store_at(20, 7);
	ASSERT_OK(runs_find_last_same(now, &last));
	ASSERT_EQ(last->sequence, 7);
	last = record_free(last);
	now->job.signal = 15;
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

/* ---- the last one of a command ---- */

static void path_of(const char *name, char path[400])
{
	snprintf(path, 400, "%s/jobmeter/runs/%s", getenv("XDG_STATE_HOME"), name);
}

/* The only run's name. */
static void name_of_run(char name[256])
{
	char dir[400];
	struct dirent **entries;
	int count;

	path_of("", dir);
	count = scandir(dir, &entries, NULL, alphasort);
	ASSERT_EQ(count, 3); /* with "." and ".." */
	snprintf(name, 256, "%s", entries[2]->d_name);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
}

static void rename_run(const char *from, const char *to)
{
	char old[400], new[400];

	path_of(from, old);
	path_of(to, new);
	ASSERT_OK(rename(old, new));
}

static struct record *find_last(void)
{
	_cleanup_record_ struct record *now = made_record(0);
	struct record *last = NULL;

	now->time.start_ns += UINT64_C(1000000000) * 1000;
	return runs_find_last_same(now, &last) == 0 ? last : NULL;
}

TEST(a_run_of_before_there_were_keys_is_found)
{
	_cleanup_record_ struct record *last = NULL;
	char name[256];

	begin("old");
	store_at(0, 7);
	name_of_run(name);
	rename_run(name, "20260203T040506.000000000Z-1.json");
	last = find_last();
	ASSERT(last && last->sequence == 7);
}

TEST(a_key_alone_makes_no_command_the_same)
{
	_cleanup_record_ struct record *other = made_record(0), *now = made_record(0), *last = NULL;
	struct error err;
	char name[256], lie[256];
	uint64_t key;

	begin("lie");
	ASSERT(record_command_key(now, &key));
	free(other->job.dir);
	other->job.dir = strdup("/elsewhere");
	ASSERT_OK(runs_store(other, NULL, &err));
	name_of_run(name);
	snprintf(lie, sizeof(lie), "20260203T040600.000000000Z-1-%016" PRIx64 ".json", key);
	rename_run(name, lie);
	store_at(0, 1);
	last = find_last();
	ASSERT(last && last->sequence == 1);
}

TEST(files_of_other_commands_are_not_opened)
{
	_cleanup_record_ struct record *last = NULL;
	char path[400], name[256];

	begin("unopened");
	store_at(0, 1);
	name_of_run(name);
	path_of("20260203T040600.000000000Z-1-0123456789abcdef.json", path);
	ASSERT_OK(mkfifo(path, 0600)); /* who opens it waits for ever */
	last = find_last();
	ASSERT(last && last->sequence == 1);
}

TEST(a_record_whose_command_is_not_known_has_no_run_before)
{
	_cleanup_record_ struct record *nothing = record_new(), *last = NULL;

	begin("nothing");
	store_at(0, 1);
	nothing->time.start_ns = UINT64_C(1780000000000000000);
	ASSERT_ERR(runs_find_last_same(nothing, &last), -ENOENT);
}

TEST(keys_tell_arguments_directories_and_ranks_apart)
{
	_cleanup_record_ struct record *a = record_new(), *b = record_new();
	uint64_t key = 0, other = 0;

	ASSERT(!record_command_key(a, &key));
	ASSERT_OK(record_set_command(a, (char *[]){ "ab", "c", NULL }));
	ASSERT_OK(record_set_command(b, (char *[]){ "a", "bc", NULL }));
	a->job.dir = strdup("/x");
	b->job.dir = strdup("/x");
	ASSERT(record_command_key(a, &key) && record_command_key(b, &other));
	ASSERT(key != other);
	ASSERT_OK(record_set_command(b, (char *[]){ "ab", "c", NULL }));
	ASSERT(record_command_key(b, &other) && key == other);
	b->job.rank = 3;
	ASSERT(record_command_key(b, &other) && key != other);
}
