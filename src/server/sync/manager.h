/* SPDX-License-Identifier: MIT */
/*
 * manager - a resource manager that knows what became of its jobs: how it is asked, and how its
 * answer is read.  One file a manager, and one line in managers[].
 *
 * An answer is text from outside: whatever stands in it, reading stays within it and ends.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct store_run;
#define MANAGER_ID_SIZE 64

#define MANAGER_ARGUMENTS_MAX 24
#define MANAGER_TEXT_MAX 1024 /* bytes of one text of a run: more is cut off */

enum manager_question {
	QUESTION_FIELDS, /* which fields it knows: once, before the others */
	QUESTION_RUNS,
	QUESTION_ACCOUNTS, /* and who coordinates them */
};

struct query_request { /* numbers alone: nothing from outside becomes an argument */
	uint64_t question; /* enum manager_question */
	uint64_t since_s, until_s; /* since the epoch: runs that were anything between them */
	uint64_t mark; /* at random: fields are told apart by text that no user can know */
};

struct manager_command {
	const char *argv[MANAGER_ARGUMENTS_MAX]; /* NULL-ended; argv[0]: a program's name */
	char texts[4][512]; /* where they stand */
};

struct manager_answer {
	char *text; /* NUL-ended; is cut into strings as it is read */
	size_t length;
	uint64_t mark; /* of the request */
	char *at; /* what comes next */
	char *account, *users; /* of the row of accounts that is being read; users: that are left */
	size_t columns[64], column_count; /* places in the manager's own table of fields */
	const char *cluster; /* of runs whose manager names none; never NULL */
	char id[MANAGER_ID_SIZE]; /* of the run that was read last, where it stands in no text */
	/* of a log: its lines, those of a job together, and a run that was read and not told yet */
	char **lines;
	size_t line_at, line_count;
	struct store_run *next;
	bool has_next;
	json_t *root; /* of JSON */
};

struct manager {
	const char *name; /* the setting's word, and that of jobs */
	bool is_of_files; /* sync.directory has its files, and is where the command runs */
	/* @fields: what came to QUESTION_FIELDS; "" before.  False: nothing is asked. */
	bool (*command)(enum manager_question question, const struct query_request *request,
			const char *fields, struct manager_command *ret);
	/* Look whether it is whole, and begin.  -EBADMSG: it is not. */
	int (*open)(struct manager_answer *a, struct error *err);
	/* 1: *ret is the next run, whose texts stand in the answer; 0: that was all; -EBADMSG: the
	 * next one makes no sense and was passed over, *err says why. */
	int (*next)(struct manager_answer *a, struct store_run *ret, struct error *err);
	/* Of an answer to QUESTION_ACCOUNTS, from its beginning: the next account and one of its
	 * coordinators; false: that was all.  NULL: it is not asked for accounts. */
	bool (*next_coordinator)(struct manager_answer *a, const char **ret_account,
				 const char **ret_user);
};

extern const struct manager manager_slurm, manager_pbs, manager_lsf, manager_flux;
