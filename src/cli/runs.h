/* SPDX-License-Identifier: MIT */
/*
 * runs - the records of this user's own runs, in a directory of his: the last 200.
 *
 * $XDG_STATE_HOME/jobmeter/runs, without it ~/.local/state/jobmeter/runs, and
 * /var/lib/jobmeter/runs for root; 0700, files 0600.  A file's name tells when the run began, who
 * ran it, and which command it was ("20260203T040506.123456789Z-1234-0123456789abcdef.json"): so
 * those of one command are found without a look into the others.  A run's id is that name without
 * the ending, the command may be left out.
 */
#pragma once

struct error;
struct record;

#define RUNS_KEPT 200

/* Keep @record, and drop the oldest ones beyond RUNS_KEPT.  *ret_path (may be NULL) is the
 * caller's. */
int runs_store(const struct record *record, char **ret_path, struct error *err);

/* The newest run of the same command (argv, directory, rank) that ended before @record started.
 * What a signal ended, or took less than a second, is compared with nothing.  -ENOENT: there is
 * none. */
int runs_find_last_same(const struct record *record, struct record **ret);

/* The run of that id, or whose job has that id.  -ENOENT: there is none. */
int runs_find(const char *id, struct record **ret, struct error *err);

/* The newest one.  -ENOENT: there is none. */
int runs_find_newest(struct record **ret, struct error *err);

/* Their directory, which the caller frees; NULL: it has none, or there is no memory. */
char *runs_directory(void);
