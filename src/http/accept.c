/* SPDX-License-Identifier: MIT */
#include "http/accept.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "basic/macro.h"

#define ITEMS_MAX 64 /* of one header; the rest is not looked at */

struct span {
	const char *text;
	size_t length;
};

static struct span trim(struct span s)
{
	while (s.length && strchr(" \t", *s.text)) {
		s.text++;
		s.length--;
	}
	while (s.length && strchr(" \t", s.text[s.length - 1]))
		s.length--;
	return s;
}

/* Cut the part before @separator off the front; false at the end.  Separators within quotes are
 * none. */
static bool next_part(struct span *rest, char separator, struct span *ret)
{
	bool is_quoted = false;
	size_t i = 0;

	if (!rest->text)
		return false;
	for (; i < rest->length && (is_quoted || rest->text[i] != separator); i++) {
		if (is_quoted && rest->text[i] == '\\' && i + 1 < rest->length)
			i++;
		else if (rest->text[i] == '"')
			is_quoted = !is_quoted;
	}
	*ret = trim((struct span){ rest->text, i });
	*rest = i < rest->length ? (struct span){ rest->text + i + 1, rest->length - i - 1 }
				 : (struct span){};
	return true;
}

static bool is_text(struct span s, const char *text)
{
	return s.length == strlen(text) && strncasecmp(s.text, text, s.length) == 0;
}

/* "0.75" is 750; more than 1 or no such number is -1. */
static int parse_quality(struct span s)
{
	int quality = 0, weight = 100;

	if (s.length == 0 || s.length > 5 || (s.text[0] != '0' && s.text[0] != '1'))
		return -1;
	quality = (s.text[0] - '0') * ACCEPT_MAX;
	if (s.length > 1 && s.text[1] != '.')
		return -1;
	for (size_t i = 2; i < s.length; i++, weight /= 10) {
		if (s.text[i] < '0' || s.text[i] > '9')
			return -1;
		quality += (s.text[i] - '0') * weight;
	}
	return quality <= ACCEPT_MAX ? quality : -1;
}

struct item {
	struct span name;
	int quality; /* -1: not to be understood */
	bool has_parameter; /* that was asked for, with another value perhaps */
	bool is_parameter; /* ... with the very value */
};

static struct span unquote(struct span s)
{
	if (s.length >= 2 && s.text[0] == '"' && s.text[s.length - 1] == '"')
		return (struct span){ s.text + 1, s.length - 2 };
	return s;
}

static struct item parse_item(struct span text, const char *parameter, const char *value)
{
	struct item item = { .quality = ACCEPT_MAX };
	struct span part;

	next_part(&text, ';', &item.name);
	while (next_part(&text, ';', &part)) {
		struct span key;

		next_part(&part, '=', &key);
		part = trim(part);
		if (is_text(key, "q")) {
			item.quality = part.text ? parse_quality(part) : -1;
		} else if (parameter && is_text(key, parameter)) {
			item.has_parameter = true;
			item.is_parameter = part.text && is_text(unquote(part), value);
		}
	}
	return item;
}

/* How closely an entry means the type; 0: it does not. */
static unsigned int rank_of(const struct item *item, const char *type)
{
	size_t main_length = strcspn(type, "/");

	if (is_text(item->name, type))
		return item->is_parameter ? 4 : item->has_parameter ? 0 : 3;
	if (item->name.length == main_length + 2 &&
	    strncasecmp(item->name.text, type, main_length + 1) == 0 &&
	    item->name.text[main_length + 1] == '*')
		return 2;
	return is_text(item->name, "*/*") ? 1 : 0;
}

static unsigned int find_type(const char *header, const char *type, const char *parameter,
			      const char *value, unsigned int least_rank)
{
	struct span rest = { header, strlen(header) }, text;
	unsigned int best = 0;
	int quality = 0;

	for (size_t i = 0; i < ITEMS_MAX && next_part(&rest, ',', &text); i++) {
		struct item item = parse_item(text, parameter, value);
		unsigned int rank = rank_of(&item, type);

		if (item.quality < 0 || rank < least_rank || rank < best)
			continue;
		quality = rank > best ? item.quality : MAX(quality, item.quality);
		best = rank;
	}
	return (unsigned int)quality;
}

unsigned int accept_type(const char *header, const char *type, const char *parameter,
			 const char *value)
{
	return header ? find_type(header, type, parameter, value, 1) : ACCEPT_MAX;
}

unsigned int accept_exact_type(const char *header, const char *type, const char *parameter,
			       const char *value)
{
	return header ? find_type(header, type, parameter, value, 3) : 0;
}

bool accept_coding(const char *header, const char *coding)
{
	struct span rest = { header, header ? strlen(header) : 0 }, text;
	int star = 0;

	for (size_t i = 0; i < ITEMS_MAX && next_part(&rest, ',', &text); i++) {
		struct item item = parse_item(text, NULL, NULL);

		if (is_text(item.name, coding))
			return item.quality > 0;
		if (is_text(item.name, "*"))
			star = item.quality;
	}
	return star > 0;
}
