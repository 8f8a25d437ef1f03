/* SPDX-License-Identifier: MIT */
/*
 * decimal - whole numbers of ns or thousandths, written as decimals without a detour by floating
 * point.
 *
 * decimal_format(): most readers of JSON keep a number with a point as a double, which holds any 15
 * digits and no more. So no more are written: ns are exact up to 11 days, and beyond that to a part
 * in 10^15; what is printed comes back as it was printed.  Only a whole part is written in any
 * case, however long.
 */
#pragma once

#include <stdint.h>

#define DECIMAL_SIZE 32

/* @value / 10^@places into @buffer, trailing zeros cut: 12345678901 with 9 places is
 * "12.345678901".
 * @places: 9 at most.  Returns @buffer. */
char *decimal_format(char buffer[DECIMAL_SIZE], uint64_t value, unsigned int places);

/* The same with all digits, for readers that can take them. */
char *decimal_format_exact(char buffer[DECIMAL_SIZE], uint64_t value, unsigned int places);

/* The nearest whole number of 10^-@places to @number.  -ERANGE: negative, or over 64 bits. */
int decimal_from_double(double number, unsigned int places, uint64_t *ret);
