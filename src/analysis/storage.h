/* SPDX-License-Identifier: MIT */
/* storage - what kind of storage a file system stands on: it decides what helps where files are
 * slow. */
#pragma once

struct subject;

enum storage {
	STORAGE_UNKNOWN, /* or none, such as /proc */
	STORAGE_NETWORK, /* servers that many nodes share */
	STORAGE_DISK, /* of this node */
	STORAGE_MEMORY, /* of this node: a tmpfs */
	STORAGE_COUNT,
};

/* By the kernel's name of its type, such as "ext4"; NULL: not known. */
enum storage storage_of_type(const char *fstype);

/* Of the subject's row; of none, or one that stands for all mounts, that on which most calls were.
 */
enum storage storage_of_subject(const struct subject *subject);
