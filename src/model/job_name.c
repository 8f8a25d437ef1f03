/* SPDX-License-Identifier: MIT */
#include "model/job_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/error.h"
#include "basic/parse.h"

void job_name_clear(struct job_name *name)
{
	free(name->id);
	free(name->manager);
	free(name->node);
	*name = (struct job_name){};
}

int job_name_parse(const char *text, struct job_name *ret, struct error *err)
{
	struct job_name name = {};
	const char *slash = strchr(text, '/'), *id = slash ? slash + 1 : text,
		   *at = strrchr(id, '@');
	size_t length = at ? (size_t)(at - id) : strlen(id);

	if (slash == text || !length || (at && !at[1]))
		return error_set(err, -EINVAL,
				 "'%s' names no job: that is ID, MANAGER/ID or ID@NODE", text);
	name.id = strndup(id, length);
	name.manager = slash ? strndup(text, (size_t)(slash - text)) : NULL;
	name.node = at ? strdup(at + 1) : NULL;
	if (!name.id || (slash && !name.manager) || (at && !name.node)) {
		job_name_clear(&name);
		return error_set_errno(err, ENOMEM, "cannot search for '%s'", text);
	}
	*ret = name;
	return 0;
}

char *job_name_of_part(const char *id, const char *array_id, int64_t array_index,
		       int64_t het_offset)
{
	uint64_t number;
	char *name = NULL;

	if (array_id && array_index >= 0)
		return asprintf(&name, "%s_%" PRId64, array_id, array_index) < 0 ? NULL : name;
	/* its components' numbers follow each other */
	if (het_offset < 0 || parse_u64(id, &number) < 0 || number < (uint64_t)het_offset)
		return NULL;
	return asprintf(&name, "%" PRIu64 "+%" PRId64, number - (uint64_t)het_offset, het_offset) <
			       0
		       ? NULL
		       : name;
}
