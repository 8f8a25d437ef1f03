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

static size_t skip_blank(const char *text, size_t length, size_t at)
{
	while (at < length && strchr(" \t\r\n", text[at]) && text[at])
		at++;
	return at;
}

/* Behind the string that begins at @at. */
static size_t skip_string(const char *text, size_t length, size_t at)
{
	for (at++; at < length && text[at] != '"'; at++)
		at += text[at] == '\\';
	return at < length ? at + 1 : length;
}

/* Behind the value that begins at @at: at the ',' or the bracket that ends it. */
static size_t skip_value(const char *text, size_t length, size_t at)
{
	size_t depth = 0;

	while (at < length) {
		char c = text[at];

		if (c == '"') {
			at = skip_string(text, length, at);
			continue;
		}
		if (depth == 0 && (c == ',' || c == '}' || c == ']'))
			return at;
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		at++;
	}
	return length;
}

/* The text has been parsed, so that it is well-formed; of another nothing is read behind its end.
 */
bool line_find_value(const char *text, size_t length, const char *key, size_t *ret_at,
		     size_t *ret_length)
{
	size_t at = skip_blank(text, length, 0), key_length = strlen(key);

	if (at >= length || text[at] != '{')
		return false;
	at++;
	while ((at = skip_blank(text, length, at)) < length && text[at] == '"') {
		size_t name = at + 1, end = skip_string(text, length, at), value;

		at = skip_blank(text, length, end);
		value = skip_blank(text, length, at + 1);
		if (at >= length || value >= length)
			return false;
		at = skip_value(text, length, value);
		if (end - name == key_length + 1 && memcmp(text + name, key, key_length) == 0) {
			*ret_at = value;
			*ret_length = at - value;
			return true;
		}
		at += at < length && text[at] == ',';
	}
	return false;
}

static int unpack(const void *packed, size_t length, char **ret, size_t *ret_length)
{
	int r = gzip_members_unpack(packed, length, RECORD_FILE_MAX, ret, ret_length);

	return r == -ENOMEM ? r : r < 0 ? -EBADMSG : 0;
}

int line_join(const struct line_parts *parts, char **ret, size_t *ret_length)
{
	_cleanup_free_ char *record = NULL, *timeline = NULL;
	size_t record_length = 0, timeline_length = strlen(TIMELINE_GONE), at;
	char *line;
	int r = unpack(parts->record, parts->record_length, &record, &record_length);

	if (r == 0 && parts->timeline)
		r = unpack(parts->timeline, parts->timeline_length, &timeline, &timeline_length);
	if (r < 0)
		return r;
	if (parts->timeline_at < 0) {
		*ret = TAKE_PTR(record);
		*ret_length = record_length;
		return 0;
	}
	at = (size_t)parts->timeline_at;
	if (at > record_length)
		return -EBADMSG;
	line = malloc(record_length + timeline_length + 1);
	if (!line)
		return -ENOMEM;
	memcpy(line, record, at);
	memcpy(line + at, timeline ? timeline : TIMELINE_GONE, timeline_length);
	memcpy(line + at + timeline_length, record + at, record_length - at + 1);
	*ret = line;
	*ret_length = record_length + timeline_length;
	return 0;
}

int line_parse(const char *text, size_t length, struct record **ret, struct error *err)
{
	json_error_t error;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	int r = root ? record_parse(root, ret, err) : error_set(err, -EINVAL, "%s", error.text);

	json_decref(root);
	if (r == 0)
		timeline_clear(&(*ret)->timeline);
	return r;
}
