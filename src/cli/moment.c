/* SPDX-License-Identifier: MIT */
#include "cli/moment.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "basic/timestamp.h"

#define NS_PER_S UINT64_C(1000000000)

/* "7d", so many seconds. */
bool moment_parse_span(const char *text, uint64_t *ret_s)
{
	static const struct span {
		char letter;
		uint64_t seconds;
	} spans[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 7 * 86400 } };
	uint64_t number;

	if (parse_leading_u64(&text, &number) < 0 || !*text || text[1] || number > UINT32_MAX)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
		if (spans[i].letter != *text)
			continue;
		*ret_s = number * spans[i].seconds;
		return true;
	}
	return false;
}

static bool parse_relative(const char *text, uint64_t now_ns, uint64_t *ret)
{
	uint64_t span_s = 0;

	if (strcmp(text, "now") != 0) {
		if (strncmp(text, "now-", 4) == 0)
			text += 4;
		if (!moment_parse_span(text, &span_s))
			return false;
	}
	*ret = span_s < now_ns / NS_PER_S ? now_ns - span_s * NS_PER_S : 1;
	return true;
}

static bool take_local(struct tm *tm, uint64_t *ret)
{
	time_t seconds;

	tm->tm_isdst = -1;
	seconds = mktime(tm);
	if (seconds <= 0)
		return false;
	*ret = (uint64_t)seconds * NS_PER_S;
	return true;
}

static bool parse_today(const char *text, uint64_t now_ns, uint64_t *ret)
{
	time_t seconds = (time_t)(now_ns / NS_PER_S);
	struct tm tm;

	if (strcmp(text, "today") != 0 || !localtime_r(&seconds, &tm))
		return false;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	return take_local(&tm, ret);
}

/* strptime(3) lets a day be that no month has. */
static bool parse_local(const char *text, uint64_t *ret)
{
	static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M",
					     "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S" };

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct tm tm = {};
		const char *end = strptime(text, forms[i], &tm);
		int day = tm.tm_mday;

		if (end && !*end)
			return take_local(&tm, ret) && tm.tm_mday == day;
	}
	return false;
}

int moment_parse(const char *text, uint64_t now_ns, uint64_t *ret, struct error *err)
{
	uint64_t moment_ns;

	if (!parse_relative(text, now_ns, &moment_ns) && !parse_today(text, now_ns, &moment_ns) &&
	    !parse_local(text, &moment_ns) && timestamp_parse(text, &moment_ns) < 0)
		return error_set(err, -EINVAL,
				 "'%s' is no time: that is 7d, 36h, 2026-11-20 or "
				 "2026-11-20T14:30",
				 text);
	*ret = moment_ns;
	return 0;
}

int moment_parse_argument(const char *text, void *at, struct error *err)
{
	return moment_parse(text, clock_now_ns(CLOCK_REALTIME), at, err);
}
