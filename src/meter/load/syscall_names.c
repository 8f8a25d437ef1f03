/* SPDX-License-Identifier: MIT */
#include "load/syscall_names.h"

#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "bpf/syscall_counts.h"

/* clang-format off */
static const char *const native[SYSCALL_COMPAT - SYSCALL_NATIVE] = {
#include "syscalls_native.inc"
};
static const char *const compat[SYSCALL_X32 - SYSCALL_COMPAT] = {
#include "syscalls_compat.inc"
};
static const char *const x32[SYSCALL_BEYOND - SYSCALL_X32] = {
#include "syscalls_x32.inc"
};

static const struct {
	uint32_t first, count;
	const char *const *names;
	const char *machine; /* behind the name */
} tables[] = {
	{ SYSCALL_NATIVE, ARRAY_SIZE(native), native, "" },
	{ SYSCALL_COMPAT, ARRAY_SIZE(compat), compat, " (i386)" },
	{ SYSCALL_X32, ARRAY_SIZE(x32), x32, " (x32)" },
};

static const struct {
	const char *name;
	uint8_t traits;
} peculiar[] = {
	{ "clone", SYSCALL_MAKES_TASK }, { "clone3", SYSCALL_MAKES_TASK }, { "fork", SYSCALL_MAKES_TASK },
	{ "vfork", SYSCALL_MAKES_TASK },
	{ "execve", SYSCALL_EXECUTES }, { "execveat", SYSCALL_EXECUTES },
	{ "sigreturn", SYSCALL_HAS_NO_RESULT }, { "rt_sigreturn", SYSCALL_HAS_NO_RESULT },
	{ "restart_syscall", SYSCALL_GOES_ON },
};
/* clang-format on */

const char *syscall_name(uint32_t row, char *ret)
{
	snprintf(ret, SYSCALL_NAME_SIZE, "(other)");
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		uint32_t number = row - tables[i].first;

		if (number >= tables[i].count)
			continue;
		if (tables[i].names[number])
			snprintf(ret, SYSCALL_NAME_SIZE, "%s%s", tables[i].names[number],
				 tables[i].machine);
		else
			snprintf(ret, SYSCALL_NAME_SIZE, "syscall_%u%s", number, tables[i].machine);
	}
	return ret;
}

void syscall_traits_fill(uint8_t *ret)
{
	memset(ret, 0, SYSCALL_ROWS);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		for (uint32_t number = 0; number < tables[i].count; number++) {
			const char *name = tables[i].names[number];

			for (size_t k = 0; name && k < ARRAY_SIZE(peculiar); k++) {
				if (strcmp(peculiar[k].name, name) == 0)
					ret[tables[i].first + number] = peculiar[k].traits;
			}
		}
	}
#if defined(__x86_64__) /* whatever the headers know */
	ret[SYSCALL_NATIVE + 335] = SYSCALL_IS_TRAP; /* uretprobe(), Linux 6.11 */
	ret[SYSCALL_NATIVE + 336] = SYSCALL_IS_TRAP; /* uprobe(), Linux 6.18 */
#endif
}
