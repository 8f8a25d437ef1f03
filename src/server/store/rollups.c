/* SPDX-License-Identifier: MIT */
/*
 * Usage by day, user, account and partition, kept beside the jobs: what a job adds is subtracted
 * before its row changes or goes, and added when the row is there again.  All are whole numbers
 * made of one row, so that the sums are exactly those that store_rebuild_rollups() makes of all
 * jobs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "server/store/store_internal.h"

#define ROLLUPS_VERSION 1 /* of what is below: of another they are made anew */
#define JOB_MAX "10000000000000000" /* of each number */
#define DAY_NS UINT64_C(86400000000000)
#define DAY "86400000000000"
#define TEXT_OF(column) \
	"substr(COALESCE(" column ", ''), 1, 128)" /* a key of PostgreSQL's is short */

/* Parts of a row of jobs, in nanoseconds. */
#define CORE "(\"cpu.allocated_cores\" / 1000.0 * elapsed_ns)"
#define USED "(\"cpu.user_seconds\" + \"cpu.system_seconds\")"
#define UNUSED_TIME "(CASE WHEN " CORE " > " USED " THEN " CORE " - " USED " ELSE 0 END)"
#define OF(cause) "COALESCE(\"cpu.causes." cause "_seconds\", 0)"
#define FILES                                                                      \
	"(" OF("file_read") " + " OF("file_write") " + " OF("file_meta") " + " OF( \
		"file_async") " + " OF("sync") ")"
#define BLOCKED "(" FILES " + " OF("page_fault") " + " OF("network") " + " OF("lock") ")"
/* Of the unused time what blocked threads explain: all causes together no more than there is. */
#define LOST(cause)                                                                             \
	"(" cause " * (CASE WHEN " BLOCKED " > " UNUSED_TIME " THEN " UNUSED_TIME " / " BLOCKED \
	" ELSE 1 END))"
#define PER_MS(ns) ns " / 1000000.0"
#define HOURS " / 3.6" /* of ms, with 6 places */
#define ASKED "COALESCE(requested_memory, \"memory.limit_bytes\")"
#define KNOWS(expression) "CASE WHEN " expression " IS NULL THEN 0 ELSE 1 END"
#define MIB_SECONDS(bytes) bytes " / 1048576.0 * elapsed_ns / 1000000000.0"

static const struct key {
	const char *column, *of;
	bool is_text;
} keys[] = {
	{ "day_ns", "start_ns / " DAY " * " DAY, false },
	{ "manager", "manager", true },
	{ "cluster", "cluster", true },
	{ "uid", "COALESCE(uid, -1)", false },
	{ "user_name", TEXT_OF("user_name"), true },
	{ "account", TEXT_OF("account"), true },
	{ "partition_name", TEXT_OF("partition_name"), true },
};

/* clang-format off */
static const struct sum {
	const char *column, *of; /* a job's, rounded to a whole number */
	struct store_column shown; /* no name: it is not */
	const char *scale; /* SQL after a sum that converts it to the unit shown, and rounds */
	unsigned int places;
	const char *known; /* the sum that says of how many jobs it is known; NULL: of all */
} sums[] = {
	{ "jobs", "1", { "jobs", STORE_NUMBER, "How many jobs." }, "", 0 },
	{ "measured", KNOWS(CORE " + " USED),
	  { "measured_jobs", STORE_NUMBER, "Those whose cores and CPU time are known: wasted time is theirs alone." }, "", 0 },
	{ "core_ms", PER_MS(CORE), { "core_hours", STORE_NUMBER, "Their cores, for as long as each took." }, HOURS, 6, "core_known" },
	{ "wasted_ms", PER_MS(UNUSED_TIME), { "wasted_core_hours", STORE_NUMBER, "Core time without CPU use: the next five together." }, HOURS, 6, "measured" },
	{ "files_ms", PER_MS(LOST(FILES)), { "wasted_files_core_hours", STORE_NUMBER, "Wasted while threads were blocked on files." }, HOURS, 6, "measured" },
	{ "memory_ms", PER_MS(LOST(OF("page_fault"))), { "wasted_page_faults_core_hours", STORE_NUMBER, "In page faults." }, HOURS, 6, "measured" },
	{ "network_ms", PER_MS(LOST(OF("network"))), { "wasted_network_core_hours", STORE_NUMBER, "On network sockets." }, HOURS, 6, "measured" },
	{ "locks_ms", PER_MS(LOST(OF("lock"))), { "wasted_locks_core_hours", STORE_NUMBER, "On locks and at barriers." }, HOURS, 6, "measured" },
	{ "idle_ms", "(" UNUSED_TIME " - " LOST(BLOCKED) ") / 1000000.0", { "wasted_idle_core_hours", STORE_NUMBER, "Without any of these causes." }, HOURS, 6, "measured" },
	{ "asked_mib_s", MIB_SECONDS(ASKED),
	  { "memory_asked_gib_hours", STORE_NUMBER, "Memory asked for, or the limit, for as long as each took." }, " / 3.6864", 6, "asked_known" },
	{ "used_mib_s", MIB_SECONDS("\"memory.peak_bytes\""),
	  { "memory_used_gib_hours", STORE_NUMBER, "Peak memory, for as long as each took." }, " / 3.6864", 6, "used_known" },
	{ "read_bytes", "\"io.read.bytes\"", { "read_bytes", STORE_NUMBER, "What they read." }, "", 0, "read_known" },
	{ "written_bytes", "\"io.write.bytes\"", { "written_bytes", STORE_NUMBER, "What they wrote." }, "", 0, "written_known" },
	{ "microjoules", "\"energy.joules\"", { "joules", STORE_NUMBER, "Their energy, of those of which it is known." }, "", 6, "energy_known" },
	{ "core_known", KNOWS(CORE), {} },
	{ "asked_known", KNOWS(ASKED), {} },
	{ "used_known", KNOWS("\"memory.peak_bytes\""), {} },
	{ "read_known", KNOWS("\"io.read.bytes\""), {} },
	{ "written_known", KNOWS("\"io.write.bytes\""), {} },
	{ "energy_known", KNOWS("\"energy.joules\""), {} },
};
/* clang-format on */

#define COUNTED "FROM jobs WHERE elapsed_ns IS NOT NULL AND COALESCE(has_begun, 1) = 1"

static void print_value(size_t i, FILE *out)
{
	/* what a hostile record says must not be more than a sum holds */
	fprintf(out,
		"CASE WHEN %s > " JOB_MAX " THEN " JOB_MAX
		" ELSE COALESCE(CAST(%s AS BIGINT), 0) END",
		sums[i].of, sums[i].of);
}

static void print_into(FILE *out)
{
	fputs("INSERT INTO rollups (", out);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		fprintf(out, "%s%s", i ? ", " : "", keys[i].column);
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		fprintf(out, ", %s", sums[i].column);
	fputs(") SELECT ", out);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		fprintf(out, "%s%s", i ? ", " : "", keys[i].of);
}

/* Job ?1, times ?2. */
static void print_change(FILE *out)
{
	print_into(out);
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++) {
		fputs(", ?2 * ", out);
		print_value(i, out);
	}
	fputs(" " COUNTED " AND id = ?1 ON CONFLICT (", out);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		fprintf(out, "%s%s", i ? ", " : "", keys[i].column);
	fputs(") DO UPDATE SET ", out);
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		fprintf(out, "%s%s = rollups.%s + excluded.%s", i ? ", " : "", sums[i].column,
			sums[i].column, sums[i].column);
}

/* All jobs of a day, from ?1 to ?2. */
static void print_whole(FILE *out)
{
	print_into(out);
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++) {
		fputs(", CAST(sum(", out);
		print_value(i, out);
		fputs(") AS BIGINT)", out);
	}
	fputs(" " COUNTED " AND start_ns >= ?1 AND start_ns < ?2 GROUP BY 1, 2, 3, 4, 5, 6, 7",
	      out);
}

static char *make_text(void (*print)(FILE *out))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print(out);
	return fclose(out) == 0 ? text : NULL;
}

/* What one job adds, @times 1 or -1. */
static void change(struct store *s, uint64_t job, int64_t times)
{
	if (!s->roll && !(s->roll = make_text(print_change)))
		return store_fail_at(s, -ENOMEM, "cannot add up a job");
	store_finish(s, store_ask_with(s, s->roll, ARGS(NUMBER(job), NUMBER(times))));
}

void store_roll_job(struct store *s, uint64_t job)
{
	change(s, job, 1);
}

void store_unroll_job(struct store *s, uint64_t job)
{
	change(s, job, -1);
	s->has_unrolled = true;
}

void store_drop_empty_rollups(struct store *s)
{
	if (s->has_unrolled)
		store_do(s, "DELETE FROM rollups WHERE jobs = 0");
	s->has_unrolled = false;
}

/* The next day from @from_ns on that has jobs or sums; false: there is none. */
static bool find_day(struct store *s, uint64_t from_ns, uint64_t *ret_ns)
{
	static const char text[] =
		"SELECT COALESCE(min(first_ns), -1) FROM "
		"(SELECT min(start_ns) AS first_ns FROM jobs WHERE start_ns >= ?1 UNION ALL "
		"SELECT min(day_ns) FROM rollups WHERE day_ns >= ?1) AS days";
	const uint64_t begin_ns = from_ns > INT64_MAX ? UINT64_MAX
						      : store_number(s, text, NUMBER(from_ns));

	*ret_ns = begin_ns / DAY_NS * DAY_NS;
	return !s->failure && begin_ns <= INT64_MAX;
}

/* One statement with values from ?1 to ?2, of a day; the first number of its row. */
static uint64_t ask_of_day(struct store *s, const char *text, uint64_t day_ns)
{
	const uint64_t end_ns = MIN(day_ns + DAY_NS, (uint64_t)INT64_MAX);

	return store_number_once(s, text, ARGS(NUMBER(day_ns), NUMBER(end_ns)));
}

/* Each day for itself, so that no statement takes long and records that come wait for one day at
 * most. */
void store_rebuild_rollups(struct store *s)
{
	_cleanup_free_ char *text = make_text(print_whole);
	bool goes_on = true;

	if (!text)
		return store_fail_at(s, -ENOMEM, "cannot add up the jobs");
	for (uint64_t day_ns = 0; goes_on; day_ns += DAY_NS) {
		struct error err = {};
		int r;

		s->database->begin(s);
		goes_on = find_day(s, day_ns, &day_ns);
		if (goes_on) {
			store_do(s, "DELETE FROM rollups WHERE day_ns = ?1", NUMBER(day_ns));
			(void)ask_of_day(s, text, day_ns);
		} else {
			store_set_mark(s, "rollups", ROLLUPS_VERSION);
		}
		r = store_commit(s, &err);
		if (r < 0) {
			store_abandon(s);
			s->failure = error_set(&s->error, r, "%s", err.text);
			return;
		}
	}
}

static void print_columns(FILE *out)
{
	fputs("SELECT ", out);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		fprintf(out, "%s%s", i ? ", " : "", keys[i].column);
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		fprintf(out, ", %s", sums[i].column);
	fputs(" FROM rollups WHERE day_ns >= ?1 AND day_ns < ?2", out);
}

int store_check_rollups(struct store *s, uint64_t *ret_wrong, struct error *err)
{
	_cleanup_free_ char *whole = make_text(print_whole), *kept = make_text(print_columns);
	const char *made = whole ? strstr(whole, "SELECT ") : NULL;
	_cleanup_free_ char *text = NULL;

	*ret_wrong = 0;
	if (!made || !kept ||
	    asprintf(&text,
		     "SELECT count(*) FROM (SELECT * FROM (%s EXCEPT %s) AS a UNION ALL "
		     "SELECT * FROM (%s EXCEPT %s) AS b) AS c",
		     kept, made, made, kept) < 0)
		return error_set_errno(err, ENOMEM, "cannot add up the jobs");
	for (uint64_t day_ns = 0; find_day(s, day_ns, &day_ns); day_ns += DAY_NS)
		*ret_wrong += ask_of_day(s, text, day_ns);
	return store_told(s, err);
}

void store_open_rollups(struct store *s, enum store_mode mode)
{
	struct column_def columns[ARRAY_SIZE(sums)];
	bool has[ARRAY_SIZE(sums)];

	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		columns[i] = (struct column_def){ sums[i].column, false };
	if (store_add_columns(s, "rollups", columns, ARRAY_SIZE(sums), mode, has) &&
	    mode != STORE_READ)
		store_execute(s, "CREATE INDEX IF NOT EXISTS rollups_empty ON rollups (jobs) WHERE "
				 "jobs = 0; DELETE FROM meta WHERE name = 'rollups'");
	if (mode == STORE_WRITE && store_read_mark(s, "rollups") != ROLLUPS_VERSION)
		store_rebuild_rollups(s);
}

/* ---- queries ---- */

static const struct store_column key_columns[] = {
	{ "key", STORE_TEXT, "What the sums of this row are of." },
	{ "start", STORE_TIME, "When its period begins; null without one." },
};
static const char *const words[][2] = { { "user", "CASE WHEN user_name <> '' THEN user_name ELSE "
						  "CAST(uid AS TEXT) END" },
					{ "account", "account" },
					{ "partition", "partition_name" },
					{ "cluster", "cluster" } };
static const char *const periods[] = { "day", "week", "month" };

const char *store_usage_word(size_t i)
{
	return i < ARRAY_SIZE(words) ? words[i][0] : NULL;
}

const char *store_usage_period(size_t i)
{
	return i < ARRAY_SIZE(periods) ? periods[i] : NULL;
}

size_t store_usage_columns(struct store_column ret[STORE_COLUMNS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(key_columns); i++)
		ret[count++] = key_columns[i];
	for (size_t i = 0; i < ARRAY_SIZE(sums) && sums[i].shown.name; i++)
		ret[count++] = sums[i].shown;
	return count;
}

static void print_question(struct store *s, const char *by, const char *period,
			   const struct job_filter *filter, const struct store_who *who, FILE *out)
{
	/* days since a Monday */
	static const char week[] = "((day_ns / " DAY " + 3) / 7 * 7 - 3) * " DAY;
	const enum store_sight sight = store_sight_of(s, who);
	const char *start = !period			   ? "0"
			    : strcmp(period, "week") == 0  ? week
			    : strcmp(period, "month") == 0 ? s->database->month
							   : "day_ns";
	const char *key = words[0][1];

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		key = strcmp(words[i][0], by) == 0 ? words[i][1] : key;
	fprintf(out, "SELECT %s, %s", key, start);
	for (size_t i = 0; i < ARRAY_SIZE(sums) && sums[i].shown.name; i++) {
		char column[128];

		snprintf(column, sizeof(column), "CASE WHEN %s > 0 THEN %s END",
			 sums[i].known ? sums[i].known : "jobs", sums[i].column);
		store_print_sum(column, sums[i].scale, out);
	}
	fputs(" FROM rollups WHERE day_ns >= ?1 AND day_ns < ?2", out);
	fputs(sight == SEES_OWN	       ? " AND uid = ?3"
	      : sight == SEES_ACCOUNTS ? " AND (uid = ?3 OR " SQL_OF_ACCOUNTS("?4") ")"
				       : "",
	      out);
	fputs(filter->user ? " AND (user_name = ?5 OR CAST(uid AS TEXT) = ?5)" : "", out);
	fputs(filter->account ? " AND account = ?6" : "", out);
	fputs(filter->partition ? " AND partition_name = ?7" : "", out);
	fputs(" GROUP BY 1, 2 ORDER BY 2, sum(core_ms) DESC, 1 LIMIT ?8", out);
}

static void put_row(const void *context UNUSED, const struct statement *row, struct document *d)
{
	const char *key = COLUMN_TEXT(row, 0);

	document_put_string(d, key_columns[0].name, key && *key ? key : NULL);
	document_put_time(d, key_columns[1].name, COLUMN_NUMBER(row, 1));
	for (size_t i = 0; i < ARRAY_SIZE(sums) && sums[i].shown.name; i++)
		(void)store_put_sum(row, 2 + (int)i, sums[i].shown.name, sums[i].places, true, d);
}

int store_format_usage(struct store *s, const char *by, const char *period,
		       const struct job_filter *filter, const struct store_who *who,
		       struct document *d, struct error *err)
{
	const uint64_t until_ns = filter->until_ns ? MIN(filter->until_ns, (uint64_t)INT64_MAX)
						   : INT64_MAX;
	const struct arg args[] = { NUMBER(MIN(filter->since_ns, (uint64_t)INT64_MAX) / DAY_NS *
					   DAY_NS),
				    NUMBER(until_ns),
				    NUMBER(who->uid),
				    TEXT(who->user),
				    TEXT(filter->user),
				    TEXT(filter->account),
				    TEXT(filter->partition),
				    NUMBER(filter->limit + 1) };
	struct statement rows = {};
	FILE *out = store_write(s, &rows, "cannot add up the jobs");

	if (out)
		print_question(s, by, period, filter, who, out);
	store_begin_list(s, &rows, args, ARRAY_SIZE(args));
	return store_format_list(s, &rows, "usage", filter->limit, put_row, NULL, d, err);
}
