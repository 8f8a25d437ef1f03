/* SPDX-License-Identifier: MIT */
/* Whatever a request says where a page ended: it is refused in a line, or comes back as it was. */
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/utf8.h"
#include "fuzz.h"
#include "server/store/cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size), *kept = NULL, *again = NULL,
			    *kept_again = NULL;
	struct store_cursor cursor = {}, other = {};
	struct error err = {};

	if (store_cursor_parse(text, &cursor, &kept, &err) < 0) {
		CHECK(*err.text && !kept);
		return 0;
	}
	again = store_cursor_format(&cursor);
	CHECK(again && store_cursor_parse(again, &other, &kept_again, &err) == 0);
	CHECK(cursor.order == other.order && cursor.start_ns == other.start_ns &&
	      cursor.uid == other.uid);
	for (size_t i = 0; i < CURSOR_TEXTS; i++)
		CHECK(utf8_is_valid(cursor.texts[i]) &&
		      strcmp(cursor.texts[i], other.texts[i]) == 0);
	return 0;
}
