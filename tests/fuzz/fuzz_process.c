/* SPDX-License-Identifier: MIT */
/*
 * Any files as those of processes: who is below process 7, what a task's stat, status and io say.
 */
#include <string.h>

#include "basic/cleanup.h"
#include "sources/children.h"
#include "cgroup/descendants.h"
#include "basic/dir.h"
#include "fuzz.h"
#include "basic/macro.h"
#include "made_root.h"
#include "selftest/rights.h"

static void check_stat(const char *text)
{
	pid_t parent = -1, again = -1;
	char state = 0, state_again = 0, line[64];

	if (descendants_parse_stat(text, &state, &parent) < 0) {
		CHECK(parent == -1 && state == 0);
		return;
	}
	CHECK(parent >= 0 && state);
	snprintf(line, sizeof(line), "1 (a) b) %c %d 1", state, parent);
	CHECK(descendants_parse_stat(line, &state_again, &again) == 0);
	CHECK(state == state_again && parent == again);
}

static void check_status(const char *text)
{
	struct rights rights = {}, again = {};
	char line[128];

	if (rights_parse_status(text, &rights) < 0) {
		CHECK(!rights.is_known && !rights.capabilities);
		return;
	}
	CHECK(rights.is_known);
	snprintf(line, sizeof(line), "Name:\ta\nUid:\t1\t%u\t2\t3\nCapEff:\t%016llx\n", rights.uid,
		 (unsigned long long)rights.capabilities);
	CHECK(rights_parse_status(line, &again) == 0);
	CHECK(again.uid == rights.uid && again.capabilities == rights.capabilities);
}

static void check_descendants(int root_fd)
{
	_cleanup_(dir_clear) struct dir names = {};
	pid_t pids[8];
	ssize_t count = descendants_list(root_fd, 7, pids, ARRAY_SIZE(pids));

	if (dir_read(root_fd, "proc", 1 << 20, &names) < 0) {
		CHECK(count < 0);
		return;
	}
	CHECK(count >= 0 && (size_t)count <= names.count);
	for (ssize_t i = 0; i < MIN(count, (ssize_t)ARRAY_SIZE(pids)); i++)
		CHECK(pids[i] > 0 && pids[i] != 7);
}

/* The same files twice: nothing was read or written between. */
static void check_io(int root_fd)
{
	struct children_usage begin;
	struct reading reading = {};

	children_usage_begin(root_fd, &begin);
	collect_children(root_fd, &begin, &reading);
	for (size_t id = METRIC_IO_CHARS_READ; id <= METRIC_IO_STORAGE_WRITTEN; id++) {
		const struct value *value = &reading.values[id];

		CHECK(value->is_known == begin.has_io && value->number == 0);
	}
	reading_clear(&reading);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	int root_fd = made_root_fd();

	check_stat(text);
	check_status(text);
	made_root_fill(root_fd, data, size);
	check_descendants(root_fd);
	check_io(root_fd);
	made_root_clear();
	return 0;
}
