/* SPDX-License-Identifier: MIT */
/*
 * spool - records that the server has not got yet: a bounded directory of files, one a record, as
 * spool_list.h names them.
 *
 * One process writes (the agent), one reads and removes (the sender), both as one user.  A record
 * appears whole, by its rename, and takes the place of an older one of its job.  Nothing waits for
 * the disk here: who sends brings a file to the disk first (fdatasync), and looks whether those of
 * an earlier boot are whole.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "spool/spool_list.h"

struct error;
struct record;
struct spool;

#define SPOOL_LINE_MAX                                                            \
	(16u << 20) /* bytes of a record as text: the server takes no longer ones \
		     */
#define SPOOL_REFUSED "refused" /* the directory of what the server refused */

/* Make the directory and that of refused records, 0700 and @uid's, while we may still give them
 * away. -EPERM: somebody else has such a directory, or may write to it. */
int spool_make_dirs(const char *path, uid_t uid, gid_t gid, struct error *err);

/* @max_bytes: of all files together. */
int spool_open(const char *path, uint64_t max_bytes, struct spool **ret, struct error *err);
struct spool *spool_close(struct spool *s); /* NULL is fine; returns NULL */
void spool_closep(struct spool **s);
void spool_set_max(struct spool *s, uint64_t max_bytes);

/*
 * Put it in: @record gets its sequence.  Where there is no room, the oldest checkpoints go, then
 * the oldest final records; a checkpoint for which only final ones would have to go is left out
 * itself. All that is counted.  -EFBIG: its text is over SPOOL_LINE_MAX, which is counted too, and
 * another try is in vain; else -Exxx: it could not be written, and is to be tried again.
 */
int spool_write(struct spool *s, struct record *record, struct error *err);

struct spool_counts {
	uint64_t written[2], dropped[2]; /* [is_final] */
	uint64_t errors; /* that could not be written, and are tried again */
};
struct spool_counts spool_get_counts(const struct spool *s);

/* Whether writing began to fail or works again, or records began to be dropped, since this was
 * asked last: then *err says so, once. */
bool spool_has_news(struct spool *s, struct error *err);

/* Which job of which node it is: the same of all its records. */
struct spool_key spool_key_of(const struct record *record);
