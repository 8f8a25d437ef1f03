/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "state.h"

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

struct writer {
	char *at, *end;
};

static bool put(struct writer *w, char c)
{
	if (w->at + 1 >= w->end)
		return false;
	*w->at++ = c;
	*w->at = '\0';
	return true;
}

static bool put_escaped(struct writer *w, const char *text, const char *also_plain)
{
	static const char digits[] = "0123456789abcdef";

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		bool is_put =
			strchr(plain, *text) || strchr(also_plain, *text)
				? put(w, *text)
				: put(w, '%') && put(w, digits[c >> 4]) && put(w, digits[c & 15]);

		if (!is_put)
			return false;
	}
	return true;
}

/* Five bits a letter: for what is mostly escapes. */
static bool put_packed(struct writer *w, const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned int bits = 0, count = 0;

	for (; *text; text++) {
		bits = (bits & 0xff) << 8 | (unsigned char)*text;
		for (count += 8; count >= 5; count -= 5) {
			if (!put(w, letters[bits >> (count - 5) & 31]))
				return false;
		}
	}
	return !count || put(w, letters[bits << (5 - count) & 31]);
}

/* "slurm-42.json"; the first "-" ends the manager, so the id may have more.  "~slurm-..." is
 * packed. */
int state_name(const char *manager, const char *id, char ret[STATE_NAME_SIZE])
{
	struct writer w = { ret, ret + STATE_NAME_SIZE - strlen(".json") };

	if (!put_escaped(&w, manager, "") || !put(&w, '-') || !put_escaped(&w, id, ".-")) {
		w.at = ret;
		if (!put(&w, '~') || !put_escaped(&w, manager, "") || !put(&w, '-') ||
		    !put_packed(&w, id))
			return -ENAMETOOLONG;
	}
	memcpy(w.at, ".json", sizeof(".json"));
	return 0;
}
