/* SPDX-License-Identifier: MIT */
/*
 * error - why something failed, in words for a person.
 *
 * Functions return 0 or -Exxx, and where a person will read the reason they also fill a struct
 * error. The text is one line without the program's name and without a final newline.
 */
#pragma once

#include "basic/macro.h"

struct error {
	char text[512];
};

/* Set the text and return @code (a negative errno), so that one line reports and returns.
 * @err may be NULL.  A text that does not fit is cut. */
int error_set(struct error *err, int code, const char *format, ...) PRINTF_LIKE(3, 4);

/* The same with ": " and the system's words for @error_number (positive or negative) behind it.
 * Returns -|error_number|. */
int error_set_errno(struct error *err, int error_number, const char *format, ...) PRINTF_LIKE(3, 4);

/* Put "WHAT: " before a text that is there already.  Returns @code. */
int error_prefix(struct error *err, int code, const char *format, ...) PRINTF_LIKE(3, 4);
