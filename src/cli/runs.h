/* SPDX-License-Identifier: MIT */
/*
 * runs - the records of this user's own runs, in a folder of his: the last 200.
 *
 * $XDG_STATE_HOME/jobmeter/runs, without it ~/.local/state/jobmeter/runs, and
 * /var/lib/jobmeter/runs for root; 0700, files 0600.  A run's id is its file's name without the
 * ending.
 */
#pragma once

struct error;
struct record;

#define RUNS_KEPT 200

/* Keep @record, and drop the oldest ones beyond RUNS_KEPT.  *ret_path (may be NULL) is the
 * caller's. */
int runs_store(const struct record *record, char **ret_path, struct error *err);

/* The newest run of the same command (argv, folder, rank) that ended before @record started.
 * -ENOENT: there is none. */
int runs_find_last_same(const struct record *record, struct record **ret);

/* The run of that id, or whose job has that id.  -ENOENT: there is none. */
int runs_find(const char *id, struct record **ret, struct error *err);

/* The newest one.  -ENOENT: there is none. */
int runs_find_newest(struct record **ret, struct error *err);
