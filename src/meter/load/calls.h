/* SPDX-License-Identifier: MIT */
/* calls - which system call and io_uring request is which operation, as tables for the kernel side.
 * */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/files.h"
#include "bpf/task_times.h"

/* Fill FILES_CALLS entries, by system call number. */
void calls_fill(struct call_kind *kinds);
/* Fill FILES_CALLS entries: how each call gives the position of its data. */
void call_positions_fill(struct call_position *positions);
/* Fill FILES_OPCODES entries, by opcode. */
void requests_fill(struct request_kind *kinds);
/* System calls that bring pages of mappings in; the rest of the @count numbers is left 0. */
void mapping_calls_fill(int32_t *numbers, size_t count);

/* What a thread that is blocked in each call waits for: for operations on files by the tables
 * above, else CAUSE_OTHER.  Fill TIME_CALLS entries, by system call number. */
void causes_fill(struct call_cause *ret);
