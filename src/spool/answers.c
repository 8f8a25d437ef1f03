/* SPDX-License-Identifier: MIT */
#include "spool/answers.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "model/json_place.h"

static const char *const names[] = {
	[ANSWER_TAKEN] = "taken",
	[ANSWER_KNOWN] = "known",
	[ANSWER_REFUSED] = "refused",
};

const char *answer_kind_name(enum answer_kind kind)
{
	return names[kind];
}

static int find_kind(const char *name, enum answer_kind *ret)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) == 0) {
			*ret = (enum answer_kind)i;
			return 0;
		}
	}
	return -EBADMSG;
}

/* It goes into a log: in one line, without what moves a terminal's cursor. */
static void copy_reason(const char *text, char ret[ANSWER_REASON_SIZE])
{
	size_t length = 0;

	for (; text && *text && length < ANSWER_REASON_SIZE - 1; text++)
		ret[length++] = (unsigned char)*text < ' ' || *text == 127 ? ' ' : *text;
	ret[length] = '\0';
}

static int parse(const char *line, size_t length, struct answer *ret, struct error *err)
{
	json_t *root = NULL;
	struct answer answer = {};
	int r = length > ANSWER_LINE_MAX ? error_set(err, -EBADMSG, "a line of %zu bytes", length)
					 : place_parse_map(line, length, &root, err);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return -EBADMSG;
	r = find_kind(json_string_value(json_object_get(root, "answer")), &answer.kind);
	if (r < 0)
		error_set(err, r, "neither \"taken\" nor \"known\" nor \"refused\"");
	else
		copy_reason(json_string_value(json_object_get(root, "reason")), answer.reason);
	json_decref(root);
	if (r < 0)
		return r;
	*ret = answer;
	return 1;
}

int answer_next(const char **text, size_t *length, struct answer *ret, struct error *err)
{
	const char *line = *text, *end = *length ? memchr(line, '\n', *length) : NULL;
	size_t line_length;

	if (!end)
		return 0;
	line_length = (size_t)(end - line);
	*text = end + 1;
	*length -= line_length + 1;
	return parse(line, line_length, ret, err);
}
