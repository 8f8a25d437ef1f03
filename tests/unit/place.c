/* SPDX-License-Identifier: MIT */
#include "place.h"

#include <ctype.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "basic/error.h"
#include "server/store/pg.h"
#include "server/store/store.h"
#include "test.h"

static const char *url(void)
{
	return getenv("JOBMETER_TEST_DATABASE");
}

bool place_is_file(void)
{
	return !url();
}

static void ignore(void *none, const PGresult *notice)
{
	(void)none;
	(void)notice;
}

static PGconn *connect_to(const char *where)
{
	PGconn *connection = PQconnectdb(where);

	if (PQstatus(connection) != CONNECTION_OK)
		printf("  %s", PQerrorMessage(connection));
	ASSERT(PQstatus(connection) == CONNECTION_OK);
	PQsetNoticeReceiver(connection, ignore, NULL);
	return connection;
}

static PGresult *run(PGconn *connection, const char *text)
{
	PGresult *result = PQexec(connection, text);
	ExecStatusType status = PQresultStatus(result);

	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		printf("  %s", PQerrorMessage(connection));
	ASSERT(status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK);
	return result;
}

/* A schema's name has letters and digits only. */
static const char *schema_of(const char *name)
{
	static char schema[64];
	int length = snprintf(schema, sizeof(schema), "%s", name);

	for (int i = 0; i < length && schema[i]; i++) {
		if (!isalnum((unsigned char)schema[i]))
			schema[i] = '_';
	}
	return schema;
}

const char *place_of(const char *name)
{
	static char where[512];
	char text[128];
	PGconn *connection;

	if (place_is_file()) {
		snprintf(where, sizeof(where), "%s/%s.db", test_dir(), name);
		return where;
	}
	connection = connect_to(url());
	snprintf(text, sizeof(text), "CREATE SCHEMA IF NOT EXISTS \"%s\"", schema_of(name));
	PQclear(run(connection, text));
	PQfinish(connection);
	snprintf(where, sizeof(where), "%s&options=-csearch_path%%3D%s", url(), schema_of(name));
	return where;
}

static void print_cell(FILE *out, int column, const char *text)
{
	fprintf(out, "%s%s", column ? "|" : "", text ? text : "-");
}

static void ask_file(const char *path, const char *question, FILE *out)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *statement = NULL;

	ASSERT_EQ(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_prepare_v2(db, question, -1, &statement, NULL) != SQLITE_OK)
		printf("  %s\n", sqlite3_errmsg(db));
	ASSERT(statement);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(statement); i++)
			print_cell(out, i, (const char *)sqlite3_column_text(statement, i));
		fputc('\n', out);
	}
	sqlite3_finalize(statement);
	sqlite3_close(db);
}

static void ask_server(const char *where, const char *question, FILE *out)
{
	PGconn *connection = connect_to(where);
	PGresult *rows = run(connection, question);

	for (int row = 0; row < PQntuples(rows); row++) {
		for (int i = 0; i < PQnfields(rows); i++)
			print_cell(out, i,
				   PQgetisnull(rows, row, i) ? NULL : PQgetvalue(rows, row, i));
		fputc('\n', out);
	}
	PQclear(rows);
	PQfinish(connection);
}

struct store *place_open(const char *name)
{
	struct store *s = NULL;
	struct error err = {};

	if (store_open_any(place_of(name), STORE_WRITE, &s, &err) < 0)
		printf("  %s\n", err.text);
	ASSERT(s);
	return s;
}

char *place_ask(const char *name, const char *question)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ASSERT(out);
	(place_is_file() ? ask_file : ask_server)(place_of(name), question, out);
	fclose(out);
	return text;
}

void place_execute(const char *name, const char *text)
{
	sqlite3 *db = NULL;
	PGconn *connection;

	if (place_is_file()) {
		ASSERT_EQ(sqlite3_open(place_of(name), &db), SQLITE_OK);
		ASSERT_EQ(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		return;
	}
	connection = connect_to(place_of(name));
	PQclear(run(connection, text));
	PQfinish(connection);
}
