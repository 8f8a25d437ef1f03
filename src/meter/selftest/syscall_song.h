/* SPDX-License-Identifier: MIT */
/* syscall_song - the part of the canary's song that tells whether system calls by name are counted right. */
#pragma once

struct syscalls;
struct verdict;

/* To be followed by the process' end. */
void syscall_song_sing(void);

/* Add to @v which of their hooks counted it right, as of @counted. */
void syscall_song_judge(const struct syscalls *counted, struct verdict *v);
