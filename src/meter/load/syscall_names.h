/* SPDX-License-Identifier: MIT */
/* syscall_names - the names of system calls, as the headers that we were built with have them. */
#pragma once

#include <stdint.h>

#define SYSCALL_NAME_SIZE 64

/* Of a row of the kernel side's: "read", "read (i386)" of a 32-bit call, "read (x32)";
 * "syscall_777" where the headers know none; "(other)" of the row of numbers that no kernel has.
 * Returns @ret, which has SYSCALL_NAME_SIZE bytes. */
const char *syscall_name(uint32_t row, char *ret);

/* Fill SYSCALL_ROWS entries: what is peculiar about each. */
void syscall_traits_fill(uint8_t *ret);
