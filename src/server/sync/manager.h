/* SPDX-License-Identifier: MIT */
/*
 * manager - a resource manager that knows how its jobs ended: how to query it, and how its
 * answer is read.  One file a manager, and one line in managers[].
 *
 * An answer is text from outside: whatever it holds, reading stays within it and ends.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "server/store/runs.h"

struct error;

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
	uint64_t mark; /* random: fields are separated by a text that no user can know */
};

struct manager_command {
	const char *argv[MANAGER_ARGUMENTS_MAX]; /* NULL-ended; argv[0]: a program's name */
	char texts[4][512]; /* for arguments that are made */
};

struct manager_answer {
	char *text; /* NUL-ended; is cut into strings as it is read */
	size_t length;
	uint64_t mark; /* of the request */
	char *at; /* what comes next */
	char *account, *users; /* of the row of accounts that is being read; users: that are left */
	size_t columns[64], column_count; /* places in the manager's own table of fields */
	const char *cluster; /* of runs without one; never NULL */
	char id[MANAGER_ID_SIZE]; /* of the run that was read last, if the answer has no text of it
				   */
	/* of a log: its lines, those of a job together, and a run that was read and not returned
	 * yet */
	char **lines;
	size_t line_at, line_count;
	struct store_run *next;
	bool has_next;
	json_t *root; /* of JSON */
};

struct manager {
	const char *name; /* the setting's word, and that of jobs */
	bool is_of_all; /* an answer has all jobs, whatever time is asked for */
	bool is_of_files; /* sync.directory has its files, and is where the command runs */
	/* @fields: what came to QUESTION_FIELDS; "" before.  False: there is nothing to query. */
	bool (*command)(enum manager_question question, const struct query_request *request,
			const char *fields, struct manager_command *ret);
	/* Look whether it is whole, and begin.  -EBADMSG: it is not. */
	int (*open)(struct manager_answer *a, struct error *err);
	/* 1: *ret is the next run, or the end of one (store_put_run()), whose texts are in the
	 * answer; 0: that was all; -EBADMSG: the next one makes no sense and was passed over, *err
	 * says why. */
	int (*next)(struct manager_answer *a, struct store_run *ret, struct error *err);
	/* Of an answer to QUESTION_ACCOUNTS, from its beginning: the next account and one of its
	 * coordinators; false: that was all.  NULL: it is not asked for accounts. */
	bool (*next_coordinator)(struct manager_answer *a, const char **ret_account,
				 const char **ret_user);
};

extern const struct manager manager_slurm, manager_pbs, manager_lsf, manager_flux;

/* values - texts of a resource manager, taken into members of a run: what is none of the kind
 * leaves the member as it is. */

struct value_field { /* what a manager calls something, and where that goes */
	const char *name; /* NULL ends a list */
	void (*take)(char *text, struct store_run *run, size_t offset);
	size_t offset; /* of a text or a value; 0 where @take knows */
};
#define RUN_AT(member) offsetof(struct store_run, member)

/* Whether it has all without which there is none, and no key is longer than an index holds. */
bool value_is_run(const struct store_run *run);

struct value value_known(uint64_t number); /* unless no number of ours is so large */
struct value *value_of_run(struct store_run *run, size_t offset);
void value_set_utc(struct store_run *run, size_t offset, struct tm *tm); /* from 1970 on */

void value_take_text(char *text, struct store_run *run, size_t offset);
void value_take_word(char *text, struct store_run *run, size_t offset);
void value_take_number(char *text, struct store_run *run, size_t offset);
void value_take_minutes(char *text, struct store_run *run, size_t offset);
void value_take_seconds(char *text, struct store_run *run, size_t offset);
void value_take_epoch(char *text, struct store_run *run, size_t offset);
void value_take_duration(char *text, struct store_run *run, size_t offset);
void value_take_size(char *text, struct store_run *run, size_t offset);
void value_take_state(char *text, struct store_run *run, size_t offset);
