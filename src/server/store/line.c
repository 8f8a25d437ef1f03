/* SPDX-License-Identifier: MIT */
/* A record's line: where its timeline stands, and both parts together again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "codec/gzip_member.h"
#include "codec/record_parse.h"
#include "codec/records.h"
#include "model/record.h"
#include "server/store/store_internal.h"

#define TIMELINE_GONE "null"

/* The text has been parsed, so that it is well-formed; of another nothing is read behind its end.
 */
bool line_find_value(const char *text, size_t length, const char *key, size_t *ret_at,
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

static int unpack(sqlite3_stmt *statement, int column, char **ret, size_t *ret_length)
{
	const void *packed = sqlite3_column_blob(statement, column);
	size_t length = (size_t)sqlite3_column_bytes(statement, column);
	int r = gzip_members_unpack(packed, length, RECORD_FILE_MAX, ret, ret_length);

	return r == -ENOMEM ? r : r < 0 ? -EBADMSG : 0;
}

/* Put @timeline where it stood. */
static int join(struct stored_line *line, size_t at, const char *timeline, size_t length)
{
	char *whole = at <= line->length ? malloc(line->length + length + 1) : NULL;

	if (!whole)
		return at <= line->length ? -ENOMEM : -EBADMSG;
	memcpy(whole, line->text, at);
	memcpy(whole + at, timeline, length);
	memcpy(whole + at + length, line->text + at, line->length - at + 1);
	free(line->text);
	line->text = whole;
	line->length += length;
	return 0;
}

static int read_parts(sqlite3_stmt *row, struct stored_line *ret)
{
	_cleanup_free_ char *timeline = NULL;
	int64_t at = sqlite3_column_int64(row, 2); /* -1: it has none */
	size_t length = strlen(TIMELINE_GONE);
	int r = unpack(row, 0, &ret->text, &ret->length);

	if (r == 0 && at >= 0 && sqlite3_column_type(row, 1) != SQLITE_NULL)
		r = unpack(row, 1, &timeline, &length);
	return r < 0 || at < 0 ? r
			       : join(ret, (size_t)at, timeline ? timeline : TIMELINE_GONE, length);
}

int line_read(struct store *s, uint64_t id, struct stored_line *ret, struct error *err)
{
	sqlite3_stmt *row =
		store_ask(s,
			  "SELECT record, timeline, timeline_at, closed, clock_offset_ns, job "
			  "FROM records WHERE id = ?1",
			  NUMBER(id));
	int r = store_step(s, row, err);

	if (r == 0)
		return error_set(err, -ENOENT, "the record is gone");
	if (r < 0)
		return r;
	*ret = (struct stored_line){
		.is_closed = sqlite3_column_type(row, 3) != SQLITE_NULL,
		.clock_offset_ns = sqlite3_column_int64(row, 4),
		.job = COLUMN_NUMBER(row, 5),
	};
	r = read_parts(row, ret);
	sqlite3_reset(row);
	if (r == 0)
		return 0;
	free(ret->text);
	ret->text = NULL;
	return error_set_errno(err, r, "cannot read a record of the database");
}

void line_correct_clock(struct record *record, int64_t offset_ns)
{
	uint64_t *const times[] = { &record->time.start_ns, &record->time.end_ns,
				    &record->time.measured_from_ns };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		int64_t time_ns;

		if (*times[i] && !__builtin_sub_overflow((int64_t)*times[i], offset_ns, &time_ns) &&
		    time_ns > 0)
			*times[i] = (uint64_t)time_ns;
	}
}

int line_parse(const struct stored_line *line, struct record **ret, struct error *err)
{
	json_error_t error;
	json_t *root = json_loadb(line->text, line->length, JSON_REJECT_DUPLICATES, &error);
	int r = root ? record_parse(root, ret, err) : error_set(err, -EINVAL, "%s", error.text);

	json_decref(root);
	if (r < 0)
		return r;
	timeline_clear(&(*ret)->timeline);
	line_correct_clock(*ret, line->clock_offset_ns);
	return 0;
}
