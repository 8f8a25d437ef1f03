/* SPDX-License-Identifier: MIT */
/* Whatever stands for an answer of sacct: it is refused in a line, or read to its end; texts are
 * valid and bounded, and no run is without its number, state and moment of submission. */
#include <errno.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/utf8.h"
#include "fuzz.h"
#include "server/store/runs.h"
#include "server/sync/manager.h"

static void check_text(const char *text)
{
	_cleanup_free_ char *repaired = text ? utf8_repair(text) : NULL;

	CHECK(!text || (strlen(text) <= MANAGER_TEXT_MAX && strcmp(text, repaired) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = malloc(size + 1);
	struct manager_answer a = { .text = text, .length = size };
	struct error err = {};
	const char *account, *user;
	struct store_run run;
	int r;

	CHECK(text);
	memcpy(text, data, size);
	text[size] = '\0';
	a.at = text;
	while (manager_slurm.next_coordinator(&a, &account, &user))
		CHECK(account >= text && user > account && user < text + size);
	memcpy(text, data, size);
	a = (struct manager_answer){ .text = text, .length = size };
	if (manager_slurm.open(&a, &err) < 0) {
		CHECK(*err.text && !strchr(err.text, '\n'));
		return 0;
	}
	while ((r = manager_slurm.next(&a, &run, &err)) != 0) {
		CHECK(a.at > text && a.at <= text + size);
		if (r < 0) {
			CHECK(r == -EBADMSG && *err.text);
			continue;
		}
		CHECK(run.id && run.state && run.submit.is_known && run.cluster);
		for (size_t i = 0; i < run_field_count; i++) {
			if (run_fields[i].kind == RUN_TEXT)
				check_text(
					*(const char *const *)(const void *)((const char *)&run +
									     run_fields[i].offset));
		}
	}
	return 0;
}
