/* SPDX-License-Identifier: MIT */
#include "cli/arguments.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "client/client.h"
#include "client/web.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/text.h"
#include "codec/records.h"
#include "model/job_filter.h"
#include "model/job_name.h"
#include "model/json_place.h"
#include "cli/reader.h"
#include "cli/runs.h"
#include "cli/watch_target.h"

int argument_parse_url(const char *text, void *at, struct error *err)
{
	if (!web_is_url(text))
		return error_set(err, -EINVAL,
				 "'--server' is a URL such as https://server:9841, not '%s'", text);
	*(const char **)at = text;
	return 0;
}

/* clang-format off */
const struct cli_option arguments_options[] = {
	{ "server", 0, "URL", "search for IDs with the server at this URL alone", offsetof(struct arguments, database), argument_parse_url },
	{ "database", 0, "FILE", "search for IDs in a server's database or in files of records alone", offsetof(struct arguments, database), NULL },
};
/* clang-format on */
const size_t arguments_option_count = ARRAY_SIZE(arguments_options);

void arguments_clear(struct arguments *a)
{
	a->reader = reader_close(a->reader);
}

void complaint_tell(void *context, const struct error *err)
{
	const struct complaint *complaint = context;

	*complaint->exit_code = cli_fail(complaint->command, err);
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

/* A job that the agent of this node knows, live or ended lately.  -ENOTCONN: no agent lives here.
 */
static int find_with_agent(const char *argument, struct record **ret, struct error *err)
{
	_cleanup_(client_closep) struct client *client = NULL;
	_cleanup_(client_jobs_clear) struct client_jobs jobs = {};
	_cleanup_(watch_targets_clear) struct watch_targets targets = {};
	size_t chosen;
	int r;

	if (client_open(NULL, &client, err) < 0)
		return -ENOTCONN;
	r = watch_targets_parse(argument, &targets, err);
	if (r == 0)
		r = client_list_jobs(client, &jobs, err);
	if (r < 0)
		return r;
	r = watch_target_choose(&targets.items[0], jobs.items, jobs.count, &chosen, err);
	if (r < 0)
		return r;
	assert(chosen < jobs.count && jobs.items);
	return client_get_record(client, jobs.items[chosen].manager, jobs.items[chosen].id, ret,
				 err);
}

/* The agent knows the part of its own node alone. */
static int find_part_with_agent(const char *argument, const struct job_name *name,
				struct record **ret, struct error *err)
{
	_cleanup_(record_freep) struct record *record = NULL;
	_cleanup_free_ char *id = NULL;
	int r;

	if (!name->node)
		return find_with_agent(argument, ret, err);
	if (asprintf(&id, "%s%s%s", name->manager ? name->manager : "", name->manager ? "/" : "",
		     name->id) < 0) {
		id = NULL;
		return error_set_errno(err, ENOMEM, "cannot find '%s'", argument);
	}
	r = find_with_agent(id, &record, err);
	if (r < 0)
		return r;
	if (!record || !text_is_equal(record->node, name->node))
		return error_set(err, -ENOENT, "the agent of this node is not that of '%s'",
				 name->node);
	*ret = TAKE_PTR(record);
	return 0;
}

/* Each record of the job has the words; where they are not known, none. */
static void tell_emissions(struct reader *reader, const struct job_name *name,
			   struct records *records, size_t first)
{
	const struct job_filter filter = {
		.id = name->id, .manager = name->manager, .cluster = name->cluster, .limit = 1
	};
	_cleanup_(json_freep) json_t *answer = NULL;
	struct error unused;
	const char *words;

	if (reader_get_emissions(reader, NULL, &filter, &answer, &unused) < 0)
		return;
	words = json_string_value(
		json_object_get(json_array_get(json_object_get(answer, "emissions"), 0), "text"));
	for (size_t i = first; words && i < records->count; i++)
		records->items[i]->emissions = strdup(words);
}

static int find_with_reader(struct arguments *a, struct complaint *complaint,
			    const struct job_name *name, struct records *records, struct error *err)
{
	const size_t before = records->count;
	int r = a->reader ? 0
			  : reader_open(a->database, complaint_tell, complaint, &a->reader, err);

	if (r == 0)
		r = reader_get_records(a->reader, name, records, err);
	if (r == 0 && !name->node)
		tell_emissions(a->reader, name, records, before);
	return r;
}

/* Where a job is looked for that is no file; what was said last is why it was not found. */
static int find_job(struct arguments *a, struct complaint *complaint, const char *argument,
		    struct records *records, struct error *err)
{
	_cleanup_(job_name_clear) struct job_name name = {};
	struct record *record = NULL;
	struct error agent = {}, server = {};
	const char *said = NULL;
	int r = job_name_parse(argument, &name, err);

	if (r < 0)
		return r;
	name.cluster = a->cluster;
	if (a->database || a->cluster)
		return find_with_reader(a, complaint, &name, records, err);
	if (runs_find(argument, &record, err) == 0)
		return take_over(record, records, err);
	r = find_part_with_agent(argument, &name, &record, &agent);
	if (r == 0)
		return take_over(record, records, err);
	said = r == -ENOTCONN ? NULL : agent.text;
	r = find_with_reader(a, complaint, &name, records, &server);
	if (r == 0)
		return 0;
	if (r != -ENOTCONN) /* one that is away may have it */
		said = server.text;
	return error_set(err, -ENOENT, "there is no file, directory or local run '%s'%s%s",
			 argument, said ? ": " : "", said ? said : "");
}

/* "123" or "slurm/123", which is no path. */
static bool is_id(const char *argument)
{
	const char *slash = strchr(argument, '/');

	return *argument && (!slash || (slash != argument && *argument != '.' &&
					!strchr(slash + 1, '/') && slash[1]));
}

int argument_read(const struct cli_command *command, struct arguments *a, const char *argument,
		  struct records *records, struct error *err)
{
	struct complaint complaint = { command, &a->exit_code };
	struct error unused;
	struct stat st;
	int r;

	if (a->database || a->cluster)
		return find_job(a, &complaint, argument, records, err);
	if (strcmp(argument, "-") == 0)
		return records_read(argument, records, err);
	if (stat(argument, &st) == 0 && !S_ISDIR(st.st_mode))
		return records_read(argument, records, err);
	if (stat(argument, &st) == 0) {
		r = records_read_dir(argument, records, complaint_tell, &complaint, err);
		if (r != -ENOENT || !is_id(argument))
			return r;
		/* Jobs often have a directory of that name. */
		return find_job(a, &complaint, argument, records, &unused) == 0 ? 0 : r;
	}
	if (errno != ENOENT || !is_id(argument))
		return error_set_errno(err, errno, "cannot read '%s'", argument);
	return find_job(a, &complaint, argument, records, err);
}

int arguments_read(const struct cli_command *command, struct arguments *a, int argc, char **argv,
		   struct records *records, struct error *err)
{
	if (argc == 0 && (a->database || a->cluster))
		return error_set(
			err, -EINVAL,
			"'--database', '--server' and '--cluster' go with the id of a job");
	if (argc == 0) {
		struct record *newest = NULL;
		int r = runs_find_newest(&newest, err);

		return r < 0 ? r : take_over(newest, records, err);
	}
	for (int i = 0; i < argc; i++) {
		int r = argument_read(command, a, argv[i], records, err);

		if (r < 0)
			return r;
	}
	arguments_keep_newest(command, records);
	return records->count ? 0 : error_set(err, -ENOENT, "there is no record to report");
}

static bool is_same_job(const struct record *a, const struct record *b)
{
	return a->time.start_ns && a->time.start_ns == b->time.start_ns &&
	       a->time.measured_from_ns == b->time.measured_from_ns && a->job.rank == b->job.rank &&
	       a->boot_id && text_is_equal(a->boot_id, b->boot_id) &&
	       text_is_equal(a->cluster, b->cluster) && text_is_equal(a->node, b->node) &&
	       text_is_equal(a->job.manager, b->job.manager) && text_is_equal(a->job.id, b->job.id);
}

static bool is_newer(const struct record *a, const struct record *b)
{
	if (a->is_final != b->is_final)
		return a->is_final;
	return a->time.elapsed_ns != b->time.elapsed_ns ? a->time.elapsed_ns > b->time.elapsed_ns
							: a->sequence > b->sequence;
}

static struct record **find_same(const struct records *records, size_t count,
				 const struct record *record)
{
	for (size_t i = 0; i < count; i++) {
		if (is_same_job(records->items[i], record))
			return &records->items[i];
	}
	return NULL;
}

void arguments_keep_newest(const struct cli_command *command, struct records *records)
{
	size_t kept = 0;
	struct error said;

	for (size_t i = 0; i < records->count; i++) {
		struct record *record = records->items[i], *older = record;
		struct record **same = find_same(records, kept, record);

		if (!same) {
			records->items[kept++] = record;
			continue;
		}
		if (is_newer(record, *same)) {
			older = *same;
			*same = record;
		}
		record_free(older);
	}
	if (kept == records->count)
		return;
	error_set(&said, 0, "%zu record%s left out: there is a newer one of the same job",
		  records->count - kept, records->count - kept == 1 ? " is" : "s are");
	cli_say(command, &said);
	records->count = kept;
}

int arguments_merge(struct records *records, struct error *err)
{
	_cleanup_(record_freep) struct record *merged = NULL;
	int r;

	if (records->count < 2)
		return 0;
	r = record_merge((const struct record *const *)records->items, records->count, &merged);
	if (r >= 0)
		r = record_note_between((const struct record *const *)records->items,
					records->count, merged);
	if (r < 0)
		return error_set_errno(err, r, "cannot merge the records");
	records_clear(records);
	return take_over(TAKE_PTR(merged), records, err);
}
