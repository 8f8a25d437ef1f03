/* SPDX-License-Identifier: MIT */
/*
 * sites - where probes go: which of the sets' probes each file has, at which offsets.  It attaches
 * nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/trace_rows.h"
#include "trace/image.h"
#include "trace/probe.h"
#include "trace/row.h"

struct error;

#define SITES_SETS_MAX 32
#define SITES_FILES_MAX 1024
#define SITES_MAX 65536

struct site {
	uint64_t offset, semaphore;
	size_t row;
	enum image_cost cost;
	bool is_return; /* on a `ret` instruction */
};

/* A probe in one file, or of the kernel. */
struct site_row {
	const struct probe_set *set;
	const struct probe *probe;
	char *name; /* the symbol's, where the probe's pattern stands for many */
	const struct site_file *file; /* NULL: of the kernel */
	size_t site_count; /* 0: the file has none of its symbols */
	enum image_cost cost; /* the worst of its sites */
	bool is_dropped; /* its hits are not counted any more */
	struct trace_row row;
};

struct site_file {
	uint64_t device, inode;
	char *path;
	int fd; /* open until it is attached to */
	bool is_static, is_stripped;
	size_t first_row, row_count; /* rows and sites of one file stand together */
	size_t first_site, site_count;
};

struct sites { /* fill .sets, .set_count, .level and .options; then sites_begin() */
	const struct probe_set *sets[SITES_SETS_MAX]; /* the caller's */
	size_t set_count;
	enum probe_level level; /* up to which */
	struct row_options options;

	struct site_file **files;
	struct site_row **rows; /* at most TRACE_ROWS_MAX */
	struct site *items;
	size_t file_count, row_count, count;
	size_t file_room, row_room, room;
	struct row_base bases[SITES_SETS_MAX];
	unsigned int map_entries; /* of all maps */
};

/* Rows of the kernel's probes are there then.  -E2BIG: too many sets, maps or tables. */
int sites_begin(struct sites *s, struct error *err);
void sites_clear(struct sites *s);

/* Has some probe a library that the file at @path may be? */
bool sites_want(const struct sites *s, const char *path, bool is_program);

/* Look for probes in the file @fd, which stays the caller's.  *ret: the file, if it has any; NULL:
 * it has none, or is there already. */
int sites_add(struct sites *s, int fd, const char *path, bool is_program, struct site_file **ret,
	      struct error *err);
