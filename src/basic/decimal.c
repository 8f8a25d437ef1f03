/* SPDX-License-Identifier: MIT */
#include "basic/decimal.h"

#include <assert.h>
#include <errno.h>

#include "basic/macro.h"

#define DIGITS_MAX 15

static const uint64_t powers[] = { 1,	   10,	    100,      1000,	 10000,
				   100000, 1000000, 10000000, 100000000, 1000000000 };

char *decimal_format(char buffer[DECIMAL_SIZE], uint64_t value, unsigned int places)
{
	unsigned int digits = 1, drop;

	for (uint64_t rest = value; rest >= 10; rest /= 10)
		digits++;
	drop = digits > DIGITS_MAX ? MIN(digits - DIGITS_MAX, places) : 0;
	assert(places < ARRAY_SIZE(powers));
	value = value / powers[drop] + (drop && value % powers[drop] >= powers[drop] / 2);
	return decimal_format_exact(buffer, value, places - drop);
}

/* Without snprintf(3): a page of a full node has a hundred thousand numbers. */
char *decimal_format_exact(char buffer[DECIMAL_SIZE], uint64_t value, unsigned int places)
{
	char digits[20 + ARRAY_SIZE(powers)]; /* the last one first */
	unsigned int count = 0;
	char *to = buffer;

	assert(places < ARRAY_SIZE(powers));
	for (; places > 0 && value % 10 == 0; places--)
		value /= 10;
	for (; value || count <= places; value /= 10)
		digits[count++] = (char)('0' + value % 10);
	while (count > 0) {
		if (count == places)
			*to++ = '.';
		*to++ = digits[--count];
	}
	*to = '\0';
	return buffer;
}

int decimal_from_double(double number, unsigned int places, uint64_t *ret)
{
	long double scaled;

	assert(places < ARRAY_SIZE(powers));
	scaled = (long double)number * (long double)powers[places] + 0.5L;
	if (!(number >= 0) || scaled >= 18446744073709551615.0L)
		return -ERANGE;
	*ret = (uint64_t)scaled;
	return 0;
}
