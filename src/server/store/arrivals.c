/* SPDX-License-Identifier: MIT */
/* What becomes of a line that a node sent. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/fnv.h"
#include "codec/gzip_member.h"
#include "codec/record_parse.h"
#include "model/record.h"
#include "server/store/store_internal.h"

#define SECOND UINT64_C(1000000000)
#define KEY_MAX_BYTES 1024 /* of each part of a record's key */
#define CLOCK_TOLERANCE_NS SECOND
#define CLOCK_EVENT_NS (3600 * SECOND) /* of a node not more than one in that time */

struct arrival {
	const struct store_line *line;
	struct record *record;
	int64_t clock_offset_ns;
};

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

/* ---- what is refused ---- */

static int check_key(const char *what, const char *text, struct error *reason)
{
	if (!text || !*text)
		return error_set(reason, -EINVAL, "it has no %s", what);
	if (strlen(text) > KEY_MAX_BYTES)
		return error_set(reason, -EINVAL, "its %s is longer than %d bytes", what,
				 KEY_MAX_BYTES);
	return 0;
}

static int check(const struct record *record, struct error *reason)
{
	int r = check_key("node", record->node, reason);

	if (r >= 0)
		r = check_key("job.manager", record->job.manager, reason);
	if (r >= 0)
		r = check_key("job.id", record->job.id, reason);
	if (r >= 0 && record->cluster && *record->cluster)
		r = check_key("cluster", record->cluster, reason);
	if (r >= 0 && record->boot_id && *record->boot_id)
		r = check_key("boot_id", record->boot_id, reason);
	if (r < 0)
		return r;
	if (!record->time.start_ns)
		return error_set(reason, -EINVAL, "it has no time.start");
	if (record->time.start_ns > INT64_MAX || record->time.end_ns > INT64_MAX ||
	    record->time.elapsed_ns > INT64_MAX || record->sequence > INT64_MAX)
		return error_set(reason, -EINVAL, "its time or sequence is beyond 2^63");
	if (record->job.uid > UINT32_MAX)
		return error_set(reason, -EINVAL, "job.uid is no user's number");
	if (record->merged_nodes > 1)
		return error_set(reason, -EINVAL, "it is merged over nodes");
	return 0;
}

/* ---- what is there ---- */

struct found {
	uint64_t id; /* 0: none */
	uint64_t sequence, digest, job;
	bool is_final;
};

static void bind_key(sqlite3_stmt *statement, const struct record *record)
{
	store_bind_text(statement, 1, text_or_empty(record->cluster));
	store_bind_text(statement, 2, record->node);
	store_bind_text(statement, 3, text_or_empty(record->boot_id));
	store_bind_text(statement, 4, record->job.manager);
	store_bind_text(statement, 5, record->job.id);
	store_bind_number(statement, 6, record->time.start_ns);
}

static int find(struct store *s, const struct record *record, struct found *ret, struct error *err)
{
	sqlite3_stmt *statement = store_sql(s, SQL_FIND_RECORD);
	int r;

	bind_key(statement, record);
	r = store_step(s, statement, err);
	if (r <= 0)
		return r;
	ret->id = store_column_number(statement, 0);
	ret->sequence = store_column_number(statement, 1);
	ret->is_final = store_column_number(statement, 2);
	ret->digest = store_column_number(statement, 3);
	ret->job = store_column_number(statement, 4);
	sqlite3_reset(statement);
	return 0;
}

static uint64_t digest_of(const struct store_line *line)
{
	uint64_t length = line->length;

	return fnv_bytes(fnv_bytes(FNV_BEGIN, line->text, line->length), &length, sizeof(length));
}

static enum store_answer judge(const struct found *found, const struct record *record,
			       uint64_t digest, struct error *reason)
{
	if (!found->id)
		return STORE_TAKEN;
	if (found->sequence == record->sequence) {
		if (found->digest == digest)
			return STORE_KNOWN;
		error_set(reason, 0, "another record has this key and sequence");
		return STORE_REFUSED;
	}
	if (found->is_final && !record->is_final)
		return STORE_KNOWN;
	return record->sequence > found->sequence ? STORE_TAKEN : STORE_KNOWN;
}

/* ---- the clock ---- */

/* By how much the node's clock is ahead at least, from what cannot have been yet. */
static int64_t clock_offset(const struct store_line *line, const struct record *record)
{
	uint64_t now_ns = line->arrived_ns,
		 made_ns = MAX(record->time.start_ns, record->time.end_ns);

	if (line->clock_offset_ns)
		return line->clock_offset_ns;
	if (record->sequence < INT64_MAX / 1000)
		made_ns = MAX(made_ns, record->sequence * 1000); /* it is a clock, in us */
	return made_ns > now_ns + CLOCK_TOLERANCE_NS ? (int64_t)(made_ns - now_ns) : 0;
}

static int note_clock(struct store *s, const struct arrival *a, struct error *err)
{
	uint64_t now_ns = a->line->arrived_ns;
	sqlite3_stmt *statement = store_sql(s, SQL_FIND_CLOCK_EVENT);
	char detail[96];
	const struct event event = { .kind = "clock",
				     .at_ns = now_ns,
				     .cluster = text_or_empty(a->record->cluster),
				     .node = a->record->node,
				     .detail = detail };
	int r;

	if (!a->clock_offset_ns)
		return 0;
	store_bind_text(statement, 1, a->record->node);
	store_bind_number(statement, 2, now_ns > CLOCK_EVENT_NS ? now_ns - CLOCK_EVENT_NS : 0);
	r = store_step(s, statement, err);
	if (statement)
		sqlite3_reset(statement);
	if (r != 0)
		return r < 0 ? r : 0;
	snprintf(detail, sizeof(detail), "the node's clock is %" PRId64 " ms %s",
		 (a->clock_offset_ns < 0 ? -a->clock_offset_ns : a->clock_offset_ns) / 1000000,
		 a->clock_offset_ns < 0 ? "behind" : "ahead");
	return store_add_event(s, &event, err);
}

/* ---- storing ---- */

struct packed_line {
	void *record, *timeline;
	size_t record_length, timeline_length;
	int64_t timeline_at;
};

static void packed_line_clear(struct packed_line *p)
{
	free(p->record);
	free(p->timeline);
}

static int pack(const struct arrival *a, struct packed_line *ret)
{
	/* checkpoints are replaced after some minutes */
	int level = a->record->is_final ? GZIP_SMALL : GZIP_FAST;
	const struct store_line *line = a->line;
	_cleanup_free_ char *rest = NULL;
	size_t at, length;
	int r;

	ret->timeline_at = -1;
	if (!line_find_value(line->text, line->length, "timeline", &at, &length) ||
	    line->text[at] != '{')
		return gzip_member_pack(line->text, line->length, level, &ret->record,
					&ret->record_length);
	rest = malloc(line->length - length);
	if (!rest)
		return -ENOMEM;
	memcpy(rest, line->text, at);
	memcpy(rest + at, line->text + at + length, line->length - at - length);
	ret->timeline_at = (int64_t)at;
	r = gzip_member_pack(rest, line->length - length, level, &ret->record, &ret->record_length);
	return r < 0 ? r
		     : gzip_member_pack(line->text + at, length, level, &ret->timeline,
					&ret->timeline_length);
}

static int write_record(struct store *s, const struct arrival *a, bool is_new, uint64_t digest,
			struct error *err)
{
	_cleanup_(packed_line_clear) struct packed_line packed = {};
	sqlite3_stmt *statement = store_sql(s, is_new ? SQL_ADD_RECORD : SQL_REPLACE_RECORD);
	int r = pack(a, &packed);

	if (r < 0)
		return error_set_errno(err, r, "cannot compress the record");
	if (!statement)
		return store_fail(s, err);
	bind_key(statement, a->record);
	store_bind_number(statement, 7, a->record->sequence);
	store_bind_number(statement, 8, a->record->is_final);
	store_bind_number(statement, 9, digest);
	store_bind_number(statement, 10, a->line->arrived_ns);
	store_bind_number(statement, 11, (uint64_t)a->clock_offset_ns);
	sqlite3_bind_blob64(statement, 12, packed.record, packed.record_length, SQLITE_STATIC);
	if (packed.timeline)
		sqlite3_bind_blob64(statement, 13, packed.timeline, packed.timeline_length,
				    SQLITE_STATIC);
	store_bind_number(statement, 14, (uint64_t)packed.timeline_at);
	r = store_run(s, statement, err);
	sqlite3_clear_bindings(statement); /* of what is freed now */
	return r;
}

/* A node that started anew will say nothing more of jobs before that. */
static int close_older_boots(struct store *s, const struct arrival *a, struct error *err)
{
	_cleanup_(id_list_clear) struct id_list ids = {};
	sqlite3_stmt *statement = store_sql(s, SQL_FIND_OLDER_BOOTS);
	int r;

	store_bind_text(statement, 1, text_or_empty(a->record->cluster));
	store_bind_text(statement, 2, a->record->node);
	store_bind_text(statement, 3, text_or_empty(a->record->boot_id));
	store_bind_number(statement, 4, a->record->sequence);
	r = store_collect(s, statement, &ids, err);
	return r < 0 ? r
		     : store_close_records(s, &ids, "the node started anew", a->line->arrived_ns,
					   err);
}

static int take(struct store *s, const struct arrival *a, const struct found *found,
		uint64_t digest, struct error *err)
{
	struct record_key key = { .id = found->id,
				  .cluster = text_or_empty(a->record->cluster),
				  .node = a->record->node,
				  .manager = a->record->job.manager,
				  .job_id = a->record->job.id,
				  .record = a->record,
				  .old_job = found->job,
				  .is_new = true };
	int r = write_record(s, a, !found->id, digest, err);

	if (r >= 0 && !found->id)
		key.id = (uint64_t)sqlite3_last_insert_rowid(s->db);
	if (r >= 0)
		r = store_assign(s, &key, err);
	if (r >= 0)
		r = close_older_boots(s, a, err);
	return r < 0 ? r : note_clock(s, a, err);
}

int store_put_record(struct store *s, const struct store_line *line, enum store_answer *ret,
		     struct error *reason)
{
	_cleanup_(record_freep) struct record *record = NULL;
	struct arrival arrival = { .line = line };
	uint64_t digest = digest_of(line);
	struct found found = {};
	int r = record_parse(line->root, &record, reason);

	if (r == 0)
		r = check(record, reason);
	if (r == -EINVAL) {
		*ret = STORE_REFUSED;
		return 0;
	}
	if (r < 0)
		return error_set_errno(reason, r, "cannot read the record");
	timeline_clear(&record->timeline); /* no column comes of it */
	arrival.record = record;
	arrival.clock_offset_ns = clock_offset(line, record);
	r = find(s, record, &found, reason);
	if (r < 0)
		return r;
	*ret = judge(&found, record, digest, reason);
	return *ret == STORE_TAKEN ? take(s, &arrival, &found, digest, reason) : 0;
}
