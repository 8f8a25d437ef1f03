/* SPDX-License-Identifier: MIT */
/* instruction - x86-64's instructions one by one: how long each is, and which of them return. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the instruction that begins at @code; 0: it is none, or more than the @size bytes. */
size_t instruction_length(const unsigned char *code, size_t size);

bool instruction_is_return(const unsigned char *code, size_t length);
