/* SPDX-License-Identifier: MIT */
/*
 * spool_list - what lies in the spool: files whose names say whose record they are.
 *
 * "KEY.SEQUENCE.f.gz" is a final record and "KEY.SEQUENCE.c.gz" a checkpoint, as gzip_line.h has
 * it. KEY tells jobs of a node apart (32 hexadecimal digits), SEQUENCE (20 decimal ones,
 * microseconds since the epoch) the records of one job.  Everything else in the directory is passed
 * over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_NAME_SIZE 64
#define SPOOL_FILES_MAX (1u << 20) /* that are looked at */

struct spool_key {
	uint64_t halves[2];
};

struct spool_file {
	struct spool_key key;
	uint64_t sequence;
	bool is_final;
	bool is_superseded; /* there is a better record of its job */
	uint64_t bytes;
};

struct spool_list { /* begins as {}; the oldest first */
	struct spool_file *files;
	size_t count;
	uint64_t bytes;
};

bool spool_key_is_same(const struct spool_key *a, const struct spool_key *b);
/* Is a record of its job better than that other one: final, or else newer? */
bool spool_file_is_better(const struct spool_file *a, const struct spool_file *b);

void spool_name_format(const struct spool_file *file, char ret[SPOOL_NAME_SIZE]);
int spool_name_parse(const char *name, struct spool_file *ret); /* -EINVAL: it is no such name */

/* -Exxx: it cannot be read. */
int spool_list_read(int dir_fd, struct spool_list *ret);
void spool_list_clear(struct spool_list *list);
