/* SPDX-License-Identifier: MIT */
#include "basic/parse.h"

#include <errno.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int parse_leading_u64(const char **text, uint64_t *ret)
{
	const char *p = *text;
	uint64_t value = 0;

	if (!is_digit(*p))
		return -EINVAL;
	for (; is_digit(*p); p++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return -ERANGE;
	}
	*text = p;
	*ret = value;
	return 0;
}

int parse_u64(const char *text, uint64_t *ret)
{
	uint64_t value;
	int r = parse_leading_u64(&text, &value);

	if (r < 0)
		return r;
	if (*text != '\0')
		return -EINVAL;
	*ret = value;
	return 0;
}

int parse_int(const char *text, int min, int max, int *ret)
{
	bool is_negative = *text == '-';
	uint64_t magnitude;
	int64_t value;
	int r = parse_u64(text + is_negative, &magnitude);

	if (r < 0)
		return r;
	if (magnitude > INT32_MAX)
		return -ERANGE;
	value = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
	if (value < min || value > max)
		return -ERANGE;
	*ret = (int)value;
	return 0;
}

static const char *skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

/* A number that a blank or the end of the text ends. */
static int parse_word_u64(const char *p, uint64_t *ret)
{
	uint64_t value;
	int r = parse_leading_u64(&p, &value);

	if (r < 0)
		return r;
	if (*p && !strchr(" \t\n", *p))
		return -EINVAL;
	*ret = value;
	return 0;
}

int parse_keyed_u64(const char *text, const char *key, char separator, uint64_t *ret)
{
	size_t length = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *p;

		if (*line == '\n')
			line++;
		if (strncmp(line, key, length) != 0)
			continue;
		p = line + length;
		if (separator && *p == separator)
			p++;
		else if (*p != ' ' && *p != '\t')
			continue;
		return parse_word_u64(skip_blanks(p), ret);
	}
	return -ENOENT;
}

int parse_labelled_u64(const char *text, const char *key, const char *label, uint64_t *ret)
{
	size_t key_length = strlen(key), label_length = strlen(label);

	for (const char *line = text; *line; line += *line == '\n') {
		const char *p = line, *end = line + strcspn(line, "\n");
		bool is_key = strncmp(line, key, key_length) == 0 && line[key_length] == ' ';

		line = end;
		while (is_key && (p = memchr(p, ' ', (size_t)(end - p)))) {
			if (strncmp(++p, label, label_length) != 0 || p[label_length] != '=')
				continue;
			return parse_word_u64(p + label_length + 1, ret);
		}
	}
	return -ENOENT;
}

char *parse_next_line(char **text)
{
	char *line = *text;
	char *end;

	if (!line || *line == '\0')
		return NULL;
	end = strchr(line, '\n');
	if (end) {
		*end = '\0';
		*text = end + 1;
	} else {
		*text = line + strlen(line);
	}
	return line;
}

char *parse_next_word(char **text)
{
	char *word = *text;
	char *end;

	if (!word)
		return NULL;
	word += strspn(word, " \t");
	if (*word == '\0')
		return NULL;
	end = word + strcspn(word, " \t");
	*text = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

bool parse_has_word(const char *words, const char *wanted)
{
	size_t length = strlen(wanted);

	for (const char *p = words; *p; p += strcspn(p, " \t\n")) {
		p += strspn(p, " \t\n");
		if (strcspn(p, " \t\n") == length && strncmp(p, wanted, length) == 0 && length)
			return true;
	}
	return false;
}

int parse_seconds(const char *text, uint64_t *ret_ns)
{
	uint64_t whole, fraction = 0, unit = 1000000000;
	int r = parse_leading_u64(&text, &whole);

	if (r < 0)
		return r;
	if (*text == '.') {
		for (text++; *text >= '0' && *text <= '9' && unit > 1; text++) {
			unit /= 10;
			fraction += (uint64_t)(*text - '0') * unit;
		}
		if (unit == 1000000000)
			return -EINVAL;
	}
	if (*text)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, 1000000000, &whole) ||
	    __builtin_add_overflow(whole, fraction, &whole))
		return -ERANGE;
	*ret_ns = whole;
	return 0;
}
