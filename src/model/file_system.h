/* SPDX-License-Identifier: MIT */
/* file_system - what is known of file systems by their type. */
#pragma once

#include <stdbool.h>

/* What it stands on: it decides what helps where files are slow. */
enum storage {
	STORAGE_UNKNOWN, /* or none, such as /proc */
	STORAGE_NETWORK, /* servers that many nodes share */
	STORAGE_DISK, /* of this node */
	STORAGE_MEMORY, /* of this node: a tmpfs */
	STORAGE_COUNT,
};

struct file_system {
	const char *type; /* as in /proc/filesystems; a '*' at its end stands for anything */
	enum storage storage;
	/* Asking it anything, as how full it is, may wait for another machine or a process for as
	 * long as that does not answer. */
	bool may_hang;
	bool lacks_space; /* made by the kernel on the fly, or no place where files are kept */
	bool holds_no_data; /* what is read and written there is kept nowhere: /proc, /dev */
	bool has_many_devices; /* each of its volumes shows as a device of its own */
};

/* By the kernel's name of its type, such as "ext4".  Never NULL: of one that is in no table, and of
 * NULL, nothing is known. */
const struct file_system *file_system_of(const char *type);
