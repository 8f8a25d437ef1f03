/* SPDX-License-Identifier: MIT */
#include "analysis/storage.h"

#include "analysis/variables.h"
#include "model/record.h"

static enum storage storage_of(const struct mount_row *row)
{
	return file_system_of(row->fstype)->storage;
}

static uint64_t count_calls(const struct mount_row *row)
{
	uint64_t calls = 0;

	for (size_t op = 0; op < OP_COUNT; op++)
		calls += row->ops[op].calls;
	return calls;
}

enum storage storage_of_subject(const struct subject *subject)
{
	const struct reading *reading = &subject->record->reading;
	enum storage storage = subject->row ? storage_of(subject->row) : STORAGE_UNKNOWN;
	uint64_t calls[STORAGE_COUNT] = {};

	if (storage != STORAGE_UNKNOWN || (subject->row && subject->row->kind == ROW_MOUNT))
		return storage;
	for (size_t i = 0; i < reading->mount_count; i++)
		calls[storage_of(&reading->mounts[i])] += count_calls(&reading->mounts[i]);
	for (size_t i = STORAGE_UNKNOWN + 1; i < STORAGE_COUNT; i++) {
		if (calls[i] > (storage ? calls[storage] : 0))
			storage = (enum storage)i;
	}
	return storage;
}
