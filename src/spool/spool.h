/* SPDX-License-Identifier: MIT */
/*
 * spool - records that the server has not acknowledged yet: a bounded directory, one file a record.
 *
 * "KEY.SEQUENCE.f.gz" is a final record and "KEY.SEQUENCE.c.gz" a checkpoint: a gzip member that
 * holds one line.  KEY (32 hexadecimal digits) identifies a job of a node, SEQUENCE (20 decimal
 * ones, microseconds since the epoch) a record of it. Other files are ignored.
 *
 * One process writes (the agent), one reads and removes (the sender), both as one user.  A record
 * appears whole, by its rename.  Nothing waits for the disk here: the sender brings a file to the
 * disk (fdatasync), and sees by its check sum whether it is whole.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct ledger;
struct node_values;
struct record;

#define SPOOL_LINE_MAX                                                            \
	(16u << 20) /* bytes of a record as text: the server takes no longer ones \
		     */
#define SPOOL_REFUSED "refused" /* the directory of what the server refused */
#define SPOOL_NAME_SIZE 59
#define SPOOL_NODE "node" /* a file that goes with each batch, as the header NODE_HEADER */

/* Make the directory and that of refused records, 0700 and @uid's, while we may still give them
 * away. -EPERM: another user owns such a directory, or may write to it. */
int spool_make_dirs(const char *path, uid_t uid, gid_t gid, struct error *err);

struct spool_counts {
	uint64_t written[2], dropped[2]; /* [is_final] */
	uint64_t errors; /* that could not be written, and are tried again */
};

struct spool {
	char *path;
	uint64_t max_bytes; /* of all files together; may be changed */
	struct spool_counts counts;

	/* private */
	int dir_fd, sequence_fd;
	uint64_t sequence;
	uint64_t bytes; /* an upper bound: the sender removes files */
};

int spool_open(const char *path, uint64_t max_bytes, struct spool **ret, struct error *err);
struct spool *spool_close(struct spool *s); /* NULL is fine; returns NULL */
void spool_closep(struct spool **s);

/*
 * Put it in: @record gets its sequence.  Where there is no room, the oldest checkpoints go, then
 * the oldest final records; a checkpoint for which only final ones would have to go is left out
 * itself. All that is counted.  -EFBIG: its text is over SPOOL_LINE_MAX, which is counted too, and
 * another try is in vain; else -Exxx: it could not be written, and is to be tried again.
 */
int spool_write(struct spool *s, struct record *record, struct error *err);

/* A line of energy, which is kept and sent as a final record is.  -Exxx: it is to be tried again.
 */
int spool_write_ledger(struct spool *s, const struct ledger *ledger, struct error *err);

/* How the node is, in the place of what was said before: numbers that matter now or never.  @about
 * has the node's names and coverage. */
int spool_write_node(struct spool *s, const struct record *about, const struct node_values *values);

/* Which job of which node it is: the same of all its records. */
struct spool_key {
	uint64_t halves[2];
};
struct spool_key spool_key_of(const struct record *record);

/* ---- its records ---- */

struct spool_file {
	char name[SPOOL_NAME_SIZE];
	bool is_final;
	uint64_t sequence, bytes;
};

struct spool_list { /* begins as {}; the oldest first */
	struct spool_file *files;
	size_t count;
	uint64_t bytes;
};

/* @tidies: of each job only the best record stays, the final one or else the newest. */
int spool_list_read(int dir_fd, bool tidies, struct spool_list *ret);
void spool_list_clear(struct spool_list *list);
