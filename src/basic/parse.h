/* SPDX-License-Identifier: MIT */
/*
 * parse - numbers and lines of untrusted text (kernel files, options).
 *
 * Nothing here reads past the end, accepts trailing rubbish or wraps around.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The whole of @text is one decimal number.  -EINVAL: it is not; -ERANGE: over 64 bits. */
int parse_u64(const char *text, uint64_t *ret);

/* The whole of @text is one decimal number in [@min, @max]; else -EINVAL or -ERANGE. */
int parse_int(const char *text, int min, int max, int *ret);

/* The whole of @text is a number of seconds, "10" or "0.25", with at most 9 digits behind the
 * point.  In ns. -EINVAL, -ERANGE. */
int parse_seconds(const char *text, uint64_t *ret_ns);

/* The first decimal number at *@text, which moves behind it.  -EINVAL: no digit there. */
int parse_leading_u64(const char **text, uint64_t *ret);

/* The number behind @key in lines of "KEY VALUE" or "KEY VALUE UNIT" (any run of blanks between;
 * @separator, such as ':', may end the key).  -ENOENT: no such line; -EINVAL, -ERANGE: no number
 * behind it. */
int parse_keyed_u64(const char *text, const char *key, char separator, uint64_t *ret);

/* The number behind "@label=" in the line that begins with the word @key, as in "some avg10=0.00
 * total=12345". -ENOENT: no such line, or no such label in it; -EINVAL, -ERANGE: no number behind
 * it. */
int parse_labelled_u64(const char *text, const char *key, const char *label, uint64_t *ret);

/* Cut the next line off *@text, in place, without its newline; NULL at the end. */
char *parse_next_line(char **text);

/* Cut the next word (separated by blanks) off *@text, in place; NULL at the end. */
char *parse_next_word(char **text);

/* Is @wanted one of the words (separated by blanks and newlines) of @words? */
bool parse_has_word(const char *words, const char *wanted);
