/* SPDX-License-Identifier: MIT */
/* The reader of a server's database file: whoever can open it sees all that is in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "cli/reader.h"
#include "codec/records.h"
#include "model/job_name.h"
#include "model/job_row.h"
#include "server/store/store.h"

#define MAGIC "SQLite format 3" /* and a NUL */

static const struct store_who everybody = { .sees_all = true };

bool reader_is_database(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char head[sizeof(MAGIC)];

	return fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
	       memcmp(head, MAGIC, sizeof(head)) == 0;
}

/* ---- jobs ---- */

static bool copy(const char *from, char **ret)
{
	*ret = from && *from ? strdup(from) : NULL;
	return *ret || !from || !*from;
}

static bool take_texts(const struct store_job *job, struct job_row *row)
{
	return copy(job->cluster, &row->cluster) && copy(job->node, &row->node) &&
	       copy(job->manager, &row->manager) && copy(job->id, &row->id) &&
	       copy(job->name, &row->name) && copy(job->user, &row->user) &&
	       copy(job->account, &row->account) && copy(job->partition, &row->partition) &&
	       copy(job->state, &row->state) && copy(job->reason, &row->reason);
}

static int take_job(void *context, const struct store_job *job)
{
	_cleanup_(job_row_clear) struct job_row row = JOB_ROW_EMPTY;

	if (!take_texts(job, &row))
		return -ENOMEM;
	row.uid = job->uid;
	row.is_final = job->is_final;
	row.start_ns = job->start_ns;
	row.end_ns = job->end_ns;
	row.elapsed_ns = job->elapsed_ns.number;
	row.nodes = (unsigned int)job->nodes.number;
	for (size_t i = 0; i < store_value_count(); i++) {
		size_t id = metric_id_of(store_value_metric(i));

		if (id < JOB_ROW_VALUES)
			row.values[id] = job->values[i];
	}
	return job_rows_add(context, &row);
}

static int list_of_database(void *state, const struct job_filter *filter, struct job_rows *rows,
			    struct error *err)
{
	struct store_filter wanted = {
		.since_ns = filter->since_ns,
		.until_ns = filter->until_ns,
		.user = filter->user,
		.account = filter->account,
		.partition = filter->partition,
		.manager = filter->manager,
		.state = filter->state,
		.name = filter->name,
		.id = filter->id,
		.text = filter->text,
	};
	size_t begin = rows->count;
	bool has_more = true;

	while (has_more && (!filter->limit || rows->count - begin < filter->limit)) {
		size_t had = rows->count - begin;
		int r;

		wanted.offset = (unsigned int)had;
		wanted.limit = STORE_LIMIT_MAX;
		if (filter->limit && filter->limit - had < STORE_LIMIT_MAX)
			wanted.limit = (unsigned int)(filter->limit - had);
		r = store_list_jobs(state, &wanted, &everybody, take_job, rows, &has_more, err);
		if (r < 0)
			return r;
		has_more &= rows->count - begin > had;
	}
	return 0;
}

/* ---- records ---- */

struct taking {
	struct records *records;
	struct error *err;
};

static int take_line(void *context, const char *line, size_t length)
{
	struct taking *taking = context;

	return records_parse(line, length, "the database", taking->records, taking->err);
}

static int get_of_database(void *state, const struct job_name *name, struct records *records,
			   struct error *err)
{
	const struct store_question question = { .id = name->id,
						 .node = name->node,
						 .manager = name->manager };
	struct taking taking = { records, err };
	int r = store_read_records(state, &question, &everybody, take_line, &taking, err);

	if (r == -ENOENT)
		return error_set(err, -ENOENT, "there is no job '%s' in this database", name->id);
	return r;
}

static void close_database(void *state)
{
	store_close(state);
}

int reader_open_database(const char *path, void **ret_state, struct error *err)
{
	struct store *store;
	int r = store_open(path, STORE_READ, &store, err);

	if (r == 0)
		*ret_state = store;
	return r;
}

const struct reader_source reader_database = { list_of_database, get_of_database, close_database };
