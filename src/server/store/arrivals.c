/* SPDX-License-Identifier: MIT */
/* What becomes of a line that a node sent, and how it comes back. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/fnv.h"
#include "codec/gzip_member.h"
#include "codec/record_parse.h"
#include "codec/records.h"
#include "model/record.h"
#include "server/store/store_internal.h"

#define TIMELINE_GONE "null"
#define CLOCK_TOLERANCE_NS INT64_C(1000000000)
#define CLOCK_EVENT_NS UINT64_C(3600000000000) /* of a node not more than one in that time */

/* ---- a line, its timeline apart ---- */

/* The position of the value of member @key in a text that is a map.  The text has been parsed, so
 * it is well-formed. */
static bool find_value(const char *text, size_t length, const char *key, size_t *ret_at,
		       size_t *ret_length)
{
	size_t depth = 0, name = 0, name_length = 0, value = 0, key_length = strlen(key);

	for (size_t i = 0; i < length; i++) {
		char c = text[i];

		if (c == '"') {
			if (depth == 1 && !value)
				name = i + 1;
			for (i++; i < length && text[i] != '"'; i++)
				i += text[i] == '\\';
			if (depth == 1 && !value)
				name_length = i - name;
		} else if (c == ':' && depth == 1) {
			value = i + 1 + strspn(text + i + 1, " \t\r\n");
		} else if (depth == 1 && value && (c == ',' || c == '}')) {
			if (name_length == key_length &&
			    memcmp(text + name, key, key_length) == 0) {
				*ret_at = value;
				*ret_length = i - value;
				return true;
			}
			value = 0;
		}
		depth += c == '{' || c == '[';
		depth -= (c == '}' || c == ']') && depth;
	}
	return false;
}

struct line_parts { /* both as gzip */
	void *record, *timeline; /* timeline: NULL: the record has none, or has it still */
	size_t record_length, timeline_length;
	int64_t timeline_at; /* in the record's text; -1: it is whole */
};
/* Take a line apart; the caller frees both. */
static int line_pack(const struct store_line *line, int level, struct line_parts *ret)
{
	_cleanup_free_ char *rest = NULL;
	size_t at, length, end;

	ret->timeline_at = -1;
	if (!find_value(line->text, line->length, "timeline", &at, &length) ||
	    line->text[at] != '{')
		return gzip_member_pack(line->text, line->length, level, &ret->record,
					&ret->record_length);
	end = at + length;
	rest = malloc(line->length - length);
	if (!rest || gzip_member_pack(line->text + at, length, level, &ret->timeline,
				      &ret->timeline_length) < 0)
		return -ENOMEM;
	memcpy(rest, line->text, at);
	memcpy(rest + at, line->text + end, line->length - end);
	ret->timeline_at = (int64_t)at;
	return gzip_member_pack(rest, line->length - length, level, &ret->record,
				&ret->record_length);
}

static int unpack(const struct cell *packed, char **ret, size_t *ret_length)
{
	int r = gzip_members_unpack(packed->bytes, packed->length, RECORD_FILE_MAX, ret,
				    ret_length);

	return r == -ENOMEM ? r : r < 0 ? -EBADMSG : 0;
}

static int join(const struct statement *row, bool wants_timeline, struct stored_line *line)
{
	const struct cell packed_record = store_cell(row, 0), packed_timeline = store_cell(row, 1);
	_cleanup_free_ char *timeline = NULL, *record = NULL;
	bool had_timeline = (int64_t)COLUMN_NUMBER(row, 2) >= 0;
	size_t length = had_timeline ? strlen(TIMELINE_GONE) : 0, record_length = 0, at;
	int r = unpack(&packed_record, &record, &record_length);

	if (r == 0 && packed_timeline.is_known && wants_timeline)
		r = unpack(&packed_timeline, &timeline, &length);
	if (r < 0)
		return r;
	at = had_timeline ? COLUMN_NUMBER(row, 2) : record_length;
	if (at > record_length)
		return -EBADMSG;
	line->length = record_length + length;
	line->text = malloc(line->length + 1);
	if (!line->text)
		return -ENOMEM;
	memcpy(line->text, record, at);
	memcpy(line->text + at, timeline ? timeline : TIMELINE_GONE, length);
	memcpy(line->text + at + length, record + at, record_length - at + 1);
	return 0;
}

int line_read(struct store *s, uint64_t id, bool wants_timeline, struct stored_line *ret)
{
	struct statement *row = store_ask(
		s,
		"SELECT record, timeline, timeline_at, closed, clock_offset_ns, job FROM records WHERE id = ?1",
		NUMBER(id));
	int r;

	*ret = (struct stored_line){};
	if (!store_next(s, row))
		return s->failure ? s->failure : -ENOENT;
	ret->is_closed = store_cell(row, 3).is_known;
	ret->clock_offset_ns = (int64_t)COLUMN_NUMBER(row, 4);
	ret->job = COLUMN_NUMBER(row, 5);
	r = join(row, wants_timeline, ret);
	store_reset(row);
	if (r == -ENOMEM)
		store_fail_at(s, r, "cannot read a record of the database");
	return r;
}

/* Of a job that ran before its agent came, the moment at which it was first seen has to do: the
 * agent keeps it, too. */
static void settle_start(struct record *record)
{
	if (!record->time.start_ns)
		record->time.start_ns = record->time.measured_from_ns;
}

struct record *line_read_record(struct store *s, uint64_t id, struct stored_line *ret_line)
{
	struct record *record = NULL;
	json_t *root = NULL;
	int r = line_read(s, id, false, ret_line);

	if (r == 0)
		root = json_loadb(ret_line->text, ret_line->length, JSON_REJECT_DUPLICATES, NULL);
	if (root)
		r = record_parse(root, &record, NULL);
	json_decref(root);
	free(TAKE_PTR(ret_line->text));
	if (r == -ENOMEM)
		store_fail_at(s, r, "cannot read a record of the database");
	if (!record)
		return NULL;
	timeline_clear(&record->timeline);
	settle_start(record);
	record_correct_clock(record, ret_line->clock_offset_ns);
	return record;
}

/* ---- what comes ---- */

uint64_t store_digest(const struct store_line *line)
{
	uint64_t length = line->length;

	return fnv_bytes(fnv_bytes(FNV_BEGIN, line->text, length), &length, sizeof(length));
}

struct arrival {
	const struct store_line *line;
	struct record *record; /* its times by our clock */
	uint64_t digest, start_ns; /* start: by the node's */
	int64_t clock_offset_ns;
	const char *spark; /* NULL: none */
};

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

static int check(const struct record *record, struct error *reason)
{
	const struct {
		const char *what, *text;
		bool may_lack;
	} parts[] = {
		{ "node", record->node, false },      { "job.manager", record->job.manager, false },
		{ "job.id", record->job.id, false },  { "cluster", record->cluster, true },
		{ "boot_id", record->boot_id, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		size_t length = strlen(text_or_empty(parts[i].text));

		if (!length && !parts[i].may_lack)
			return error_set(reason, -EINVAL, "it has no %s", parts[i].what);
		if (length > STORE_KEY_MAX_BYTES)
			return error_set(reason, -EINVAL, "its %s is longer than %d bytes",
					 parts[i].what, STORE_KEY_MAX_BYTES);
	}
	if (!record->time.start_ns)
		return error_set(reason, -EINVAL, "it has no time.start");
	if (MAX(record->time.start_ns, record->time.end_ns) > INT64_MAX ||
	    MAX(record->time.elapsed_ns, record->sequence) > INT64_MAX)
		return error_set(reason, -EINVAL, "its time or sequence is beyond 2^63");
	if (record->job.uid > UINT32_MAX)
		return error_set(reason, -EINVAL, "job.uid is no user's number");
	if (record->merged_nodes > 1)
		return error_set(reason, -EINVAL, "it is merged over nodes");
	return 0;
}

#define KEY_ARGS(a)                                                                        \
	TEXT(text_or_empty((a)->record->cluster)), TEXT((a)->record->node),                \
		TEXT(text_or_empty((a)->record->boot_id)), TEXT((a)->record->job.manager), \
		TEXT((a)->record->job.id), NUMBER((a)->start_ns)

/* Of one that is there already, and stays. */
static enum store_answer judge(struct store *s, const struct arrival *a, struct error *reason)
{
	struct statement *found =
		store_ask(s,
			  "SELECT sequence, digest FROM records WHERE cluster = ?1 AND node = ?2 "
			  "AND boot_id = ?3 AND manager = ?4 AND job_id = ?5 AND start_ns = ?6",
			  KEY_ARGS(a));
	bool is_other = store_next(s, found) && COLUMN_NUMBER(found, 0) == a->record->sequence &&
			COLUMN_NUMBER(found, 1) != a->digest;

	store_reset(found);
	if (is_other)
		error_set(reason, 0, "another record has this key and sequence");
	return is_other ? STORE_REFUSED : STORE_KNOWN;
}

int64_t store_clock_offset(const struct store_line *line, uint64_t made_ns, uint64_t sequence)
{
	int64_t offset_ns = line->clock_offset_ns, future_ns;

	/* it is a clock, in us, that never goes back: where the node's was set right since, it says
	 * nothing */
	if (!line->is_clock_told && sequence < INT64_MAX / 1000)
		made_ns = MAX(made_ns, sequence * 1000);
	future_ns = (int64_t)(made_ns - line->arrived_ns);
	if (future_ns > MAX(offset_ns, 0))
		offset_ns = future_ns;
	return offset_ns > CLOCK_TOLERANCE_NS || offset_ns < -CLOCK_TOLERANCE_NS ? offset_ns : 0;
}

void store_note_clock(struct store *s, const char *cluster, const char *node, int64_t offset_ns,
		      uint64_t now_ns)
{
	char detail[96];

	if (!offset_ns)
		return;
	snprintf(detail, sizeof(detail), "the node's clock is %" PRId64 " ms %s",
		 (offset_ns < 0 ? -offset_ns : offset_ns) / 1000000,
		 offset_ns < 0 ? "behind" : "ahead");
	store_do(s,
		 "INSERT INTO events (at_ns, kind, cluster, node, detail) "
		 "SELECT ?1, 'clock', ?2, ?3, ?4 WHERE NOT EXISTS "
		 "(SELECT 1 FROM events WHERE kind = 'clock' AND node = ?3 AND at_ns > ?5)",
		 NUMBER(now_ns), TEXT(cluster), TEXT(node), TEXT(detail),
		 NUMBER(now_ns > CLOCK_EVENT_NS ? now_ns - CLOCK_EVENT_NS : 0));
}

/* Put it where there is none of its key, or an older one.  *ret_job: that this had; 0: none. */
static enum store_answer write_record(struct store *s, const struct arrival *a, uint64_t *ret_id,
				      uint64_t *ret_job, struct error *reason)
{
	struct line_parts parts = {};
	struct statement *row;
	bool is_taken;

	/* checkpoints are replaced after some minutes */
	if (line_pack(a->line, a->record->is_final ? GZIP_SMALL : GZIP_FAST, &parts) < 0)
		store_fail_at(s, -ENOMEM, "cannot compress the record");
	row = store_ask(
		s,
		"INSERT INTO records (cluster, node, boot_id, manager, job_id, start_ns, sequence, final, "
		"digest, arrived_ns, clock_offset_ns, record, timeline, timeline_at, spark, end_ns) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, 0) " STORE_ON_CONFLICT
		" DO UPDATE SET "
		"sequence = ?7, final = ?8, digest = ?9, arrived_ns = ?10, clock_offset_ns = ?11, "
		"record = ?12, timeline = ?13, timeline_at = ?14, spark = ?15, closed = NULL "
		"WHERE records.sequence < ?7 AND (records.final = 0 OR ?8 = 1) RETURNING id, job",
		KEY_ARGS(a), NUMBER(a->record->sequence), NUMBER(a->record->is_final),
		NUMBER(a->digest), NUMBER(a->line->arrived_ns), NUMBER(a->clock_offset_ns),
		BYTES(parts.record, parts.record_length),
		BYTES(parts.timeline, parts.timeline_length), NUMBER(parts.timeline_at),
		TEXT(a->spark));
	is_taken = store_next(s, row);
	*ret_id = is_taken ? COLUMN_NUMBER(row, 0) : 0;
	*ret_job = is_taken ? COLUMN_NUMBER(row, 1) : 0;
	store_reset(row);
	free(parts.record);
	free(parts.timeline);
	return is_taken ? STORE_TAKEN : judge(s, a, reason);
}

/* ---- a node that started anew will say nothing more of jobs before that ---- */

void store_close_older_boots(struct store *s)
{
	_cleanup_(id_list_clear) struct id_list ids = {};
	struct boot *boot = &s->boot;

	if (!boot->arrived_ns)
		return;
	store_find(s, &ids,
		   "SELECT id FROM records WHERE cluster = ?1 AND node = ?2 AND final = 0 "
		   "AND closed IS NULL AND boot_id <> ?3 AND sequence < ?4 LIMIT 1000",
		   TEXT(boot->cluster), TEXT(boot->node), TEXT(boot->id), NUMBER(boot->sequence));
	store_close_records(s, &ids, "the node started anew", boot->arrived_ns);
	boot->arrived_ns = 0;
}

/* Once for all records of a boot that come together. */
static void note_boot(struct store *s, const struct arrival *a)
{
	const char *cluster = text_or_empty(a->record->cluster),
		   *id = text_or_empty(a->record->boot_id);
	struct boot *boot = &s->boot;

	if (strcmp(boot->cluster, cluster) != 0 || strcmp(boot->node, a->record->node) != 0 ||
	    strcmp(boot->id, id) != 0)
		store_close_older_boots(s);
	boot->sequence = boot->arrived_ns ? MAX(boot->sequence, a->record->sequence)
					  : a->record->sequence;
	boot->arrived_ns = a->line->arrived_ns;
	snprintf(boot->cluster, sizeof(boot->cluster), "%s", cluster);
	snprintf(boot->node, sizeof(boot->node), "%s", a->record->node);
	snprintf(boot->id, sizeof(boot->id), "%s", id);
}

int store_put_record(struct store *s, const struct store_line *line, enum store_answer *ret,
		     struct error *reason)
{
	_cleanup_(record_freep) struct record *record = NULL;
	struct arrival a = { .line = line };
	char spark[STORE_SPARK_SIZE];
	uint64_t id, job, old_job;
	bool is_new;
	int r = record_parse(line->root, &record, reason);

	if (r == 0)
		settle_start(record);
	if (r == 0)
		r = check(record, reason);
	if (r == -EINVAL) {
		*ret = STORE_REFUSED;
		return 0;
	}
	if (r < 0)
		return error_set_errno(reason, r, "cannot read the record");
	a.spark = store_spark_of_record(record, spark);
	timeline_clear(&record->timeline); /* no other column comes of it */
	a.record = record;
	a.digest = store_digest(line);
	a.start_ns = record->time.start_ns;
	a.clock_offset_ns = store_clock_offset(
		line, MAX(record->time.start_ns, record->time.end_ns), record->sequence);
	record_correct_clock(record, a.clock_offset_ns);
	*ret = write_record(s, &a, &id, &old_job, reason);
	if (*ret == STORE_TAKEN) {
		job = store_assign(s, id, record, old_job, &is_new);
		store_fold_new(s, job, record, is_new);
		note_boot(s, &a);
		store_note_clock(s, text_or_empty(record->cluster), record->node, a.clock_offset_ns,
				 line->arrived_ns);
	}
	return store_told(s, reason);
}
