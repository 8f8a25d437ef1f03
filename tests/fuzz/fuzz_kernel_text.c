/* SPDX-License-Identifier: MIT */
/* Any text as the small files of proc and cgroups: parsers read within it, or refuse. */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "descendants.h"
#include "fuzz.h"
#include "hierarchy.h"
#include "identity.h"
#include "parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	struct identity identity;
	uint64_t number;
	pid_t parent;
	char state;
	char *rest, *word;

	(void)parse_u64(text, &number);
	(void)parse_keyed_u64(text, "oom_kill", '\0', &number);
	(void)parse_keyed_u64(text, "rchar", ':', &number);
	(void)descendants_parse_stat(text, &state, &parent);
	(void)identity_of(text, &identity);
	for (rest = text; (word = parse_next_line(&rest));) {
		while (parse_next_word(&word))
			;
	}
	return 0;
}
