/* SPDX-License-Identifier: MIT */
/*
 * node - the node as a whole, as the kernel's own files count it: CPU time, memory, load, network, disks, file
 * systems, pressure, fabric ports, frequency and temperature.
 *
 * Each file may be missing, and each line unlike what is known: what cannot be read is left out.
 */
#pragma once

#include <stdbool.h>

#include "sample.h"

#define NODE_DEVICES_MAX 256 /* of each kind; the rest is left out */
#define NODE_MOUNTS_MAX 1024 /* that are looked at */

struct node;

struct node_options {
	/* Whether file systems of that type may be asked how full they are; NULL: all may but those
	 * that may hang: of other machines (NFS, Lustre...) and of FUSE. */
	bool (*may_ask)(const void *context, const char *fstype);
	const void *context;
};

/* @root_fd: a folder that holds proc and sys; the caller's.  -ENOMEM. */
int node_open(int root_fd, const struct node_options *options, struct node **ret);
struct node *node_close(struct node *n); /* NULL is fine; returns NULL */
void node_closep(struct node **n);

/* Add what the node's files say now.  -ENOMEM. */
int node_read(struct node *n, struct samples *to);

/* Whether asking a file system of that type how full it is may wait for another machine or a process. */
bool node_may_hang(const char *fstype);
