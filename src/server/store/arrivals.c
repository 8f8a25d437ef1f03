/* SPDX-License-Identifier: MIT */
/* What becomes of a line that a node sent. */
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
#include "model/record.h"
#include "server/store/store_internal.h"

#define SECOND UINT64_C(1000000000)
#define KEY_MAX_BYTES 1024 /* of each part of a record's key */
#define CLOCK_TOLERANCE_NS (int64_t) SECOND
#define CLOCK_EVENT_NS (3600 * SECOND) /* of a node not more than one in that time */

struct arrival {
	const struct store_line *line;
	struct record *record; /* its times by our clock */
	uint64_t digest, start_ns; /* start: by the node's */
	int64_t clock_offset_ns;
};

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

/* ---- what is refused ---- */

static int check_key(const struct record *record, struct error *reason)
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
		if (length > KEY_MAX_BYTES)
			return error_set(reason, -EINVAL, "its %s is longer than %d bytes",
					 parts[i].what, KEY_MAX_BYTES);
	}
	return 0;
}

static int check(const struct record *record, struct error *reason)
{
	int r = check_key(record, reason);

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

#define KEY_ARGS(a)                                                                        \
	TEXT(text_or_empty((a)->record->cluster)), TEXT((a)->record->node),                \
		TEXT(text_or_empty((a)->record->boot_id)), TEXT((a)->record->job.manager), \
		TEXT((a)->record->job.id), NUMBER((a)->start_ns)

/* *ret_job: that the record has, 0 where there is none. */
static int judge(struct store *s, const struct arrival *a, enum store_answer *ret,
		 uint64_t *ret_job, struct error *reason)
{
	sqlite3_stmt *found =
		store_ask(s,
			  "SELECT sequence, final, digest, job FROM records WHERE cluster = ?1 "
			  "AND node = ?2 AND boot_id = ?3 AND manager = ?4 AND job_id = ?5 "
			  "AND start_ns = ?6",
			  KEY_ARGS(a));
	uint64_t sequence;
	int r = store_step(s, found, reason);

	*ret = STORE_TAKEN;
	*ret_job = 0;
	if (r <= 0)
		return r;
	sequence = COLUMN_NUMBER(found, 0);
	*ret_job = COLUMN_NUMBER(found, 3);
	if (sequence == a->record->sequence && COLUMN_NUMBER(found, 2) != a->digest) {
		error_set(reason, 0, "another record has this key and sequence");
		*ret = STORE_REFUSED;
	} else if (sequence >= a->record->sequence ||
		   (COLUMN_NUMBER(found, 1) && !a->record->is_final)) {
		*ret = STORE_KNOWN;
	}
	sqlite3_reset(found);
	return 0;
}

/* ---- the clock ---- */

/* By how much the node's clock is ahead, where that is more than a second: as it was told, or else
 * at least so much as the record lies in the future. */
static int64_t clock_offset(const struct store_line *line, const struct record *record)
{
	int64_t offset_ns = line->clock_offset_ns;
	uint64_t made_ns = MAX(record->time.start_ns, record->time.end_ns);

	if (record->sequence < INT64_MAX / 1000)
		made_ns = MAX(made_ns, record->sequence * 1000); /* it is a clock, in us */
	offset_ns = MAX(offset_ns, (int64_t)(made_ns - line->arrived_ns));
	return offset_ns > CLOCK_TOLERANCE_NS || offset_ns < -CLOCK_TOLERANCE_NS ? offset_ns : 0;
}

static int note_clock(struct store *s, const struct arrival *a, struct error *err)
{
	uint64_t now_ns = a->line->arrived_ns;
	char detail[96];

	if (!a->clock_offset_ns)
		return 0;
	snprintf(detail, sizeof(detail), "the node's clock is %" PRId64 " ms %s",
		 (a->clock_offset_ns < 0 ? -a->clock_offset_ns : a->clock_offset_ns) / 1000000,
		 a->clock_offset_ns < 0 ? "behind" : "ahead");
	return store_do(s, err,
			"INSERT INTO events (at_ns, kind, cluster, node, detail) "
			"SELECT ?1, 'clock', ?2, ?3, ?4 WHERE NOT EXISTS "
			"(SELECT 1 FROM events WHERE kind = 'clock' AND node = ?3 AND at_ns > ?5)",
			NUMBER(now_ns), TEXT(text_or_empty(a->record->cluster)),
			TEXT(a->record->node), TEXT(detail),
			NUMBER(now_ns > CLOCK_EVENT_NS ? now_ns - CLOCK_EVENT_NS : 0));
}

/* ---- storing ---- */

struct packed_line {
	void *record, *timeline;
	size_t record_length, timeline_length;
	int64_t timeline_at; /* in the record's text; -1: it is whole */
};

static void packed_line_clear(struct packed_line *p)
{
	free(p->record);
	free(p->timeline);
}

static int pack(const struct arrival *a, struct packed_line *ret)
{
	/* checkpoints are replaced after some minutes */
	int level = a->record->is_final ? GZIP_SMALL : GZIP_FAST, r;
	const struct store_line *line = a->line;
	_cleanup_free_ char *rest = NULL;
	size_t at, length;

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

static int write_record(struct store *s, const struct arrival *a, uint64_t *ret_id,
			struct error *err)
{
	_cleanup_(packed_line_clear) struct packed_line packed = {};
	sqlite3_stmt *record;
	int r = pack(a, &packed);

	if (r < 0)
		return error_set_errno(err, r, "cannot compress the record");
	record = store_ask(
		s,
		"INSERT INTO records (cluster, node, boot_id, manager, job_id, start_ns, sequence, final, "
		"digest, arrived_ns, clock_offset_ns, record, timeline, timeline_at, end_ns) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 0) "
		"ON CONFLICT (cluster, node, boot_id, manager, job_id, start_ns) DO UPDATE SET "
		"sequence = ?7, final = ?8, digest = ?9, arrived_ns = ?10, clock_offset_ns = ?11, "
		"record = ?12, timeline = ?13, timeline_at = ?14, closed = NULL RETURNING id",
		KEY_ARGS(a), NUMBER(a->record->sequence), NUMBER(a->record->is_final),
		NUMBER(a->digest), NUMBER(a->line->arrived_ns), NUMBER(a->clock_offset_ns),
		BYTES(packed.record, packed.record_length),
		BYTES(packed.timeline, packed.timeline_length), NUMBER(packed.timeline_at));
	return store_get(s, record, ret_id, err);
}

/* A node that started anew will say nothing more of jobs before that. */
static int close_older_boots(struct store *s, const struct arrival *a, struct error *err)
{
	_cleanup_(id_list_clear) struct id_list ids = {};
	sqlite3_stmt *older =
		store_ask(s,
			  "SELECT id FROM records WHERE cluster = ?1 AND node = ?2 AND final = 0 "
			  "AND closed IS NULL AND boot_id <> ?3 AND sequence < ?4 LIMIT 1000",
			  TEXT(text_or_empty(a->record->cluster)), TEXT(a->record->node),
			  TEXT(text_or_empty(a->record->boot_id)), NUMBER(a->record->sequence));
	int r = store_collect(s, older, &ids, err);

	return r < 0 ? r
		     : store_close_records(s, &ids, "the node started anew", a->line->arrived_ns,
					   err);
}

static int take(struct store *s, const struct arrival *a, uint64_t old_job, struct error *err)
{
	uint64_t id = 0, job = 0;
	int r = write_record(s, a, &id, err);

	if (r >= 0)
		r = store_assign(s, id, a->record, old_job, &job, err);
	if (r >= 0)
		r = store_fold_new(s, job, a->record, err);
	if (r >= 0)
		r = close_older_boots(s, a, err);
	return r < 0 ? r : note_clock(s, a, err);
}

int store_put_record(struct store *s, const struct store_line *line, enum store_answer *ret,
		     struct error *reason)
{
	_cleanup_(record_freep) struct record *record = NULL;
	struct arrival a = { .line = line };
	uint64_t old_job, length = line->length;
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
	a.record = record;
	a.digest = fnv_bytes(fnv_bytes(FNV_BEGIN, line->text, length), &length, sizeof(length));
	a.start_ns = record->time.start_ns;
	a.clock_offset_ns = clock_offset(line, record);
	line_correct_clock(record, a.clock_offset_ns);
	r = judge(s, &a, ret, &old_job, reason);
	return r < 0 || *ret != STORE_TAKEN ? r : take(s, &a, old_job, reason);
}
