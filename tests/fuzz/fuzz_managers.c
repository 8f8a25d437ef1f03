/* SPDX-License-Identifier: MIT */
/* Whatever stands for an answer of a resource manager, to each of them: it is refused in a line, or
 * read to its end; texts are valid and bounded, and no run is without its number, state and moment
 * of submission, or of its end where that is told alone. */
#include <errno.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/utf8.h"
#include "fuzz.h"
#include "server/store/runs.h"
#include "server/sync/manager.h"

static void check_text(const char *text)
{
	_cleanup_free_ char *repaired = text ? utf8_repair(text) : NULL;

	CHECK(!text || (strlen(text) <= MANAGER_TEXT_MAX && strcmp(text, repaired) == 0));
}

static void check_coordinators(char *text, size_t size)
{
	struct manager_answer a = { .text = text, .length = size, .at = text };
	const char *account, *user;

	while (manager_slurm.next_coordinator(&a, &account, &user))
		CHECK(account >= text && user > account && user < text + size);
}

static void check_runs(const struct manager *manager, char *text, size_t size)
{
	struct store_run run, next = {};
	struct manager_answer a = { .text = text, .length = size, .cluster = "made", .next = &next };
	struct error err = {};
	size_t refused = 0;
	int r;

	if (manager->open(&a, &err) < 0) {
		CHECK(*err.text && !strchr(err.text, '\n'));
		r = 0;
	} else {
		r = 1;
	}
	while (r != 0 && (r = manager->next(&a, &run, &err)) != 0) {
		if (r < 0) {
			CHECK(r == -EBADMSG && *err.text && ++refused <= size);
			continue;
		}
		CHECK(run.id && run.state && run.cluster &&
		      (run.submit.is_known || run.end.is_known));
		for (size_t i = 0; i < run_field_count; i++) {
			if (run_fields[i].kind == RUN_TEXT)
				check_text(
					*(const char *const *)(const void *)((const char *)&run +
									     run_fields[i].offset));
		}
	}
	free(a.lines);
	json_decref(a.root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct manager *const managers[] = { &manager_slurm, &manager_pbs,
							  &manager_lsf, &manager_flux };
	_cleanup_free_ char *text = malloc(size + 1);

	CHECK(text);
	for (size_t i = 0; i <= ARRAY_SIZE(managers); i++) {
		memcpy(text, data, size);
		text[size] = '\0';
		if (i < ARRAY_SIZE(managers))
			check_runs(managers[i], text, size);
		else
			check_coordinators(text, size);
	}
	return 0;
}
