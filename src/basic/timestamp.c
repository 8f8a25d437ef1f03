/* SPDX-License-Identifier: MIT */
#include "basic/timestamp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "basic/macro.h"

#define NS_PER_S UINT64_C(1000000000)

char *timestamp_format(char buffer[TIMESTAMP_SIZE], uint64_t ns)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm tm = {};
	size_t used;

	gmtime_r(&seconds, &tm);
	used = strftime(buffer, TIMESTAMP_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buffer + used, TIMESTAMP_SIZE - used, ".%09uZ", (unsigned int)(ns % NS_PER_S));
	return buffer;
}

/* @count digits at *@text, which moves behind them; -1: they are not all there. */
static int take_digits(const char **text, size_t count)
{
	int value = 0;

	for (size_t i = 0; i < count; i++, (*text)++) {
		if (**text < '0' || **text > '9')
			return -1;
		value = value * 10 + (**text - '0');
	}
	return value;
}

static int parse_seconds(const char **text, time_t *ret)
{
	/* the parts in their order, each with its prefix */
	static const struct part {
		char before;
		unsigned char digits;
		short min, max;
	} parts[] = { { 0, 4, 1970, 2500 }, { '-', 2, 1, 12 }, { '-', 2, 1, 31 },
		      { 'T', 2, 0, 23 },    { ':', 2, 0, 59 }, { ':', 2, 0, 59 } };
	int values[ARRAY_SIZE(parts)];
	struct tm tm;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (parts[i].before && *(*text)++ != parts[i].before)
			return -EINVAL;
		values[i] = take_digits(text, parts[i].digits);
		if (values[i] < parts[i].min || values[i] > parts[i].max)
			return -EINVAL;
	}
	tm = (struct tm){ .tm_year = values[0] - 1900,
			  .tm_mon = values[1] - 1,
			  .tm_mday = values[2],
			  .tm_hour = values[3],
			  .tm_min = values[4],
			  .tm_sec = values[5] };
	*ret = timegm(&tm);
	return tm.tm_mday == values[2] ? 0 : -EINVAL; /* there is no 31st of February */
}

int timestamp_parse(const char *text, uint64_t *ret)
{
	uint64_t fraction = 0;
	time_t seconds;
	int r = parse_seconds(&text, &seconds);

	if (r < 0)
		return r;
	if (*text == '.') {
		uint64_t scale = NS_PER_S / 10;

		for (text++; *text >= '0' && *text <= '9' && scale > 0; text++, scale /= 10)
			fraction += (uint64_t)(*text - '0') * scale;
	}
	if (strcmp(text, "Z") != 0)
		return -EINVAL;
	*ret = (uint64_t)seconds * NS_PER_S + fraction;
	return 0;
}
