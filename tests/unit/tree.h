/* SPDX-License-Identifier: MIT */
/* tree - a made root with the files that a test wants below proc and sys. */
#pragma once

/* An empty directory of that name below test_dir(), as a file descriptor (O_PATH). */
int tree_open(const char *name);

/* Write a file, with the directories above it. */
void tree_write(int root_fd, const char *path, const char *text);

/* Make a symbolic link, with the directories above it. */
void tree_link(int root_fd, const char *path, const char *target);
