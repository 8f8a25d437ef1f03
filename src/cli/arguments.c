/* SPDX-License-Identifier: MIT */
#include "cli/arguments.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "client/client.h"
#include "basic/error.h"
#include "codec/records.h"
#include "cli/runs.h"
#include "cli/watch_target.h"

static int is_record_file(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && dot != entry->d_name && strcmp(dot, ".json") == 0;
}

/* A file of a directory that is no record is told and passed over; it costs the exit code. */
static int read_dir(const struct cli_command *command, const char *dir, struct records *records,
		    int *exit_code, struct error *err)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, is_record_file, alphasort);

	if (count < 0)
		return error_set_errno(err, errno, "cannot read the directory '%s'", dir);
	for (int i = 0; i < count; i++) {
		_cleanup_free_ char *path = NULL;

		if (asprintf(&path, "%s/%s", dir, entries[i]->d_name) < 0)
			path = NULL;
		else if (records_read(path, records, err) < 0)
			*exit_code = cli_fail(command, err);
		free(entries[i]);
	}
	free(entries);
	return count ? 0 : error_set(err, -ENOENT, "there is no *.json in the directory '%s'", dir);
}

static int take_over(struct record *record, struct records *records, struct error *err)
{
	int r = records_add(records, record);

	if (r < 0) {
		record_free(record);
		error_set_errno(err, r, "cannot keep the record");
	}
	return r;
}

/* A job that the agent of this node knows, live or ended lately. */
static int find_with_agent(const char *argument, struct record **ret, struct error *err)
{
	_cleanup_(client_closep) struct client *client = NULL;
	_cleanup_(client_jobs_clear) struct client_jobs jobs = {};
	_cleanup_(watch_targets_clear) struct watch_targets targets = {};
	_cleanup_free_ struct watch_candidate *candidates = NULL;
	size_t chosen;
	int r;

	if (client_open(NULL, &client, NULL) < 0)
		return error_set(err, -ENOENT, "there is no file, directory or local run '%s'",
				 argument);
	r = watch_targets_parse(argument, &targets, err);
	if (r == 0)
		r = client_list_jobs(client, &jobs, err);
	if (r < 0)
		return r;
	candidates = calloc(jobs.count + 1, sizeof(*candidates));
	if (!candidates)
		return error_set_errno(err, ENOMEM, "cannot find '%s'", argument);
	for (size_t i = 0; i < jobs.count; i++)
		candidates[i] = (struct watch_candidate){ jobs.items[i].manager, jobs.items[i].id };
	r = watch_target_choose(&targets.items[0], candidates, jobs.count, &chosen, err);
	if (r == -ENOENT)
		return error_prefix(err, r, "there is no file, directory or local run '%s'",
				    argument);
	if (r < 0)
		return r;
	return client_get_record(client, candidates[chosen].manager, candidates[chosen].id, ret,
				 err);
}

/* "123" or "slurm/123", which is no path. */
static bool is_id(const char *argument)
{
	const char *slash = strchr(argument, '/');

	return *argument && (!slash || (slash != argument && *argument != '.' &&
					!strchr(slash + 1, '/') && slash[1]));
}

int argument_read(const struct cli_command *command, const char *argument, struct records *records,
		  int *exit_code, struct error *err)
{
	struct record *record = NULL;
	struct stat st;
	int r;

	if (strcmp(argument, "-") == 0)
		return records_read(argument, records, err);
	if (stat(argument, &st) == 0)
		return S_ISDIR(st.st_mode) ? read_dir(command, argument, records, exit_code, err)
					   : records_read(argument, records, err);
	if (errno != ENOENT || !is_id(argument))
		return error_set_errno(err, errno, "cannot read '%s'", argument);
	r = runs_find(argument, &record, err);
	if (r < 0)
		r = find_with_agent(argument, &record, err);
	return r < 0 ? r : take_over(record, records, err);
}

int arguments_read(const struct cli_command *command, int argc, char **argv,
		   struct records *records, int *exit_code, struct error *err)
{
	if (argc == 0) {
		struct record *newest = NULL;
		int r = runs_find_newest(&newest, err);

		return r < 0 ? r : take_over(newest, records, err);
	}
	for (int i = 0; i < argc; i++) {
		int r = argument_read(command, argv[i], records, exit_code, err);

		if (r < 0)
			return r;
	}
	return records->count ? 0 : error_set(err, -ENOENT, "there is no record to report");
}

int arguments_merge(struct records *records, struct error *err)
{
	struct record *merged;
	int r;

	if (records->count < 2)
		return 0;
	r = record_merge((const struct record *const *)records->items, records->count, &merged);
	if (r < 0)
		return error_set_errno(err, r, "cannot merge the records");
	records_clear(records);
	return take_over(merged, records, err);
}
