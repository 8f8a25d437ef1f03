/* SPDX-License-Identifier: MIT */
#include "spool/sender.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/json_place.h"

static const char *const names[ANSWER_KINDS] = { "taken", "known", "refused" };

const char *answer_kind_name(enum answer_kind kind)
{
	return names[kind];
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
	_cleanup_(json_freep) json_t *root = NULL;
	const char *name;
	int r = length > ANSWER_LINE_MAX ? error_set(err, -EBADMSG, "a line of %zu bytes", length)
					 : place_parse_map(line, length, &root, err);

	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	name = json_string_value(json_object_get(root, "answer"));
	for (size_t i = 0; name && i < ANSWER_KINDS; i++) {
		if (strcmp(name, names[i]) != 0)
			continue;
		ret->kind = (enum answer_kind)i;
		copy_reason(json_string_value(json_object_get(root, "reason")), ret->reason);
		return 1;
	}
	return error_set(err, -EBADMSG, "neither \"taken\" nor \"known\" nor \"refused\"");
}

int answer_next(const char **text, size_t *length, struct answer *ret, struct error *err)
{
	const char *line = *text, *end = *length ? memchr(line, '\n', *length) : NULL;

	if (!end)
		return 0;
	*text = end + 1;
	*length -= (size_t)(end - line) + 1;
	return parse(line, (size_t)(end - line), ret, err);
}
