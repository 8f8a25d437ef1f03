/* SPDX-License-Identifier: MIT */
#include "model/job_filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "model/job_row.h"

#define AT(member) offsetof(struct job_filter, member)
#define OF(member) offsetof(struct job_row, member)
/* clang-format off */
static const struct condition {
	const char *key;
	size_t offset; /* of the wanted text */
	size_t row_offset;
	bool ignores_case;
} conditions[] = {
	{ "user", AT(user), OF(user), false },
	{ "account", AT(account), OF(account), false },
	{ "partition", AT(partition), OF(partition), false },
	{ "manager", AT(manager), OF(manager), false },
	{ "name", AT(name), OF(name), false },
	{ "id", AT(id), OF(id), false },
	{ "state", AT(state), OF(state), true },
	{ "text", AT(text), SIZE_MAX, true },
};
/* clang-format on */

const char *job_filter_key(size_t i)
{
	return i < ARRAY_SIZE(conditions) ? conditions[i].key : NULL;
}

static const char *text_at(const void *from, size_t offset)
{
	return *(const char *const *)(const void *)((const char *)from + offset);
}

const char *job_filter_text(const struct job_filter *filter, size_t i)
{
	return text_at(filter, conditions[i].offset);
}

static bool is_equal(const struct condition *condition, const char *wanted, const char *text)
{
	if (!text)
		return false;
	return condition->ignores_case ? strcasecmp(text, wanted) == 0 : strcmp(text, wanted) == 0;
}

static bool is_number_of_user(const char *wanted, const struct job_row *row)
{
	char number[24];

	snprintf(number, sizeof(number), "%" PRId64, row->uid);
	return row->uid >= 0 && strcmp(number, wanted) == 0;
}

static bool contains(const struct job_row *row, const char *text)
{
	const char *const places[] = { row->id, row->name, row->user, row->account, row->reason };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (places[i] && strcasestr(places[i], text))
			return true;
	}
	return false;
}

static bool holds(const struct condition *condition, const char *wanted, const struct job_row *row)
{
	if (condition->row_offset == SIZE_MAX)
		return contains(row, wanted);
	if (is_equal(condition, wanted, text_at(row, condition->row_offset)))
		return true;
	return condition->row_offset == OF(user) && is_number_of_user(wanted, row);
}

bool job_filter_matches(const struct job_filter *filter, const struct job_row *row)
{
	uint64_t end_ns = row->end_ns ? row->end_ns : row->start_ns + row->elapsed_ns;

	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
		const char *wanted = job_filter_text(filter, i);

		if (wanted && !holds(&conditions[i], wanted, row))
			return false;
	}
	return (!filter->since_ns || end_ns >= filter->since_ns) &&
	       (!filter->until_ns || row->start_ns < filter->until_ns);
}
