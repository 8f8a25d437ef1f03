/* SPDX-License-Identifier: MIT */
/*
 * sites - where probes go: which of the sets' probes each file has, at which offsets.  It attaches
 * nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "basic/idmap.h"
#include "bpf/trace_rows.h"
#include "trace/hazards.h"
#include "trace/image.h"
#include "trace/probe.h"
#include "trace/row.h"

struct error;

#define SITES_SETS_MAX 32
#define SITES_FILES_MAX 1024
#define SITES_MAX 65536
#define SITES_USERS_SHARE 8
#define SITES_MISSED_MAX 16

struct site {
	uint64_t offset, semaphore, size; /* size: of the rest of its function; 0: not known */
	size_t row;
	enum image_cost cost;
	bool is_return; /* on a `ret` instruction */
};

/* A probe in one file, or of the kernel. */
struct site_row {
	const struct probe_set *set;
	const struct probe *probe;
	char *name; /* of the symbol, if the pattern covers many */
	const struct site_file *file; /* NULL: of the kernel */
	size_t site_count; /* 0: the file has none of its symbols */
	enum image_cost cost; /* the worst of its sites */
	bool is_dropped; /* its hits are not counted any more */
	enum probe_exit exit; /* its probe's, or none: then .withheld says why */
	char *withheld; /* NULL: its return is traced, or not wanted */
	struct trace_row row;
};

struct site_file {
	uint64_t device, inode;
	char *path;
	int fd; /* open until it is attached to */
	bool is_static, is_stripped;
	struct known_file *known; /* NULL: no process was seen to use it */
	bool is_changed; /* rows of it are to be attached anew; whoever attaches resets it */
	uint32_t uid; /* its owner */
	size_t first_row, row_count; /* those of one file are adjacent */
	size_t first_site, site_count;
};

struct sites { /* fill .sets, .set_count, .level and .options; then sites_begin() */
	const struct probe_set *sets[SITES_SETS_MAX]; /* the caller's */
	size_t set_count;
	enum probe_level level; /* up to which */
	/* A return probe of an older kernel changes the return address in programs of others, too,
	 * whatever they do: there `ret` instructions are probed instead. */
	bool has_no_returns;
	struct row_options options;

	/* Limit the files of one user other than root to an eighth of all files and rows.
	 * left_out: how many exceeded that; left_out_uid: the owner of the last. */
	bool is_shared;
	size_t left_out;
	uint32_t left_out_uid;

	struct site_file **files;
	struct site_row **rows; /* at most TRACE_ROWS_MAX */
	struct site *items;
	size_t file_count, row_count, count;
	size_t file_room, row_room, room;
	struct row_base bases[SITES_SETS_MAX];
	struct caller callers[HAZARDS_CALLERS_MAX];
	size_t caller_count;
	struct idmap known; /* struct known_file, by what file it is */
	struct hazards found; /* of the current process */
	unsigned int process; /* its number */
	unsigned int map_entries; /* of all maps */
	/* Functions above the level that files of processes import, as far as there is room. */
	const struct probe *missed[SITES_MISSED_MAX];
	size_t missed_count;
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

/* A file that a process has or will have, whether there are probes for it or not. */
struct known_file {
	struct file_hazards hazards;
	unsigned int process; /* the last that was seen to use it */
};

/* After sites_add(), where its probes are wanted.  It is read once.  NULL: it cannot be. */
struct known_file *sites_know(struct sites *s, int fd, const char *path);

/* A process's files one by one, and then: returns that are not safe with what all of them hold are
 * traced no more; @is_late: they were.  Returns whether that changed any. */
void sites_begin_process(struct sites *s);
bool sites_see(struct sites *s, struct known_file *known); /* false: before, or it is NULL */
bool sites_end_process(struct sites *s, bool is_late);
/* All of that, of a process that is going to execute @program. */
bool sites_await_program(struct sites *s, const char *program);
