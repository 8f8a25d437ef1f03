/* SPDX-License-Identifier: MIT */
#include "cli/reader.h"

#include <errno.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "client/server_client.h"

struct reader {
	const struct reader_source *source;
	void *state;
};

/* ---- the server ---- */

static int list_of_server(void *state, const struct job_filter *filter, struct job_rows *rows,
			  struct error *err)
{
	return server_client_list_jobs(state, filter, rows, err);
}

static int get_of_server(void *state, const struct job_name *name, struct records *records,
			 struct error *err)
{
	return server_client_get_records(state, name, records, err);
}

static void close_server(void *state)
{
	server_client_close(state);
}

static const struct reader_source server = { list_of_server, get_of_server, close_server };

static int open_server(struct reader *r, struct error *err)
{
	struct server_client *client;
	int code = server_client_open(NULL, &client, err);

	if (code < 0)
		return code;
	r->source = &server;
	r->state = client;
	return 0;
}

/* ---- any ---- */

static int open_source(struct reader *r, const char *path, const struct rules *rules,
		       struct error *err)
{
	if (!path)
		return open_server(r, err);
	if (reader_is_database(path)) {
		r->source = &reader_database;
		return reader_open_database(path, &r->state, err);
	}
	r->source = &reader_files;
	return reader_open_files(path, rules, &r->state, err);
}

int reader_open(const char *path, const struct rules *rules, struct reader **ret, struct error *err)
{
	_cleanup_(reader_closep) struct reader *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return error_set_errno(err, ENOMEM, "cannot read jobs");
	code = open_source(r, path, rules, err);
	if (code < 0)
		return code;
	*ret = TAKE_PTR(r);
	return 0;
}

struct reader *reader_close(struct reader *r)
{
	if (r && r->state)
		r->source->close(r->state);
	free(r);
	return NULL;
}

void reader_closep(struct reader **r)
{
	reader_close(*r);
}

int reader_list_jobs(struct reader *r, const struct job_filter *filter, struct job_rows *rows,
		     struct error *err)
{
	return r->source->list(r->state, filter, rows, err);
}

int reader_get_records(struct reader *r, const struct job_name *name, struct records *records,
		       struct error *err)
{
	return r->source->get(r->state, name, records, err);
}
