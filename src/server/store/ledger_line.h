/* SPDX-License-Identifier: MIT */
/*
 * ledger_line - a line of jobmeter.ledger/1: the energy that a node used within an interval, by
 * owner.
 *
 * Its entries of one level, source and quality add up to what that source counted.  It is known by
 * (cluster, node, boot id, start, sequence); there are no versions of it.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define LEDGER_SCHEMA "jobmeter.ledger/1"
#define LEDGER_ENTRIES_MAX 65536
/* Of an entry: a gigajoule, so that no line takes sums beyond 2^63. */
#define LEDGER_MICROJOULES_MAX INT64_C(1000000000000000)

struct ledger_entry {
	const char *owner; /* "job", "system", "idle" or "unattributed" */
	const char *manager, *job; /* of a job, like the next two; else NULL */
	uint64_t job_start_ns; /* since the epoch; 0: not known */
	int64_t uid; /* -1: not known */
	const char *level, *source, *quality;
	int64_t microjoules;
};

struct ledger_line { /* texts are the JSON's, and live as long; never NULL but where it is said */
	const char *cluster, *node, *boot_id; /* cluster, boot_id: "" where there is none */
	uint64_t start_ns, end_ns; /* since the epoch, by the node's clock */
	uint64_t sequence;
	struct ledger_entry *entries; /* owned */
	size_t count;
};

/* -EINVAL: it is refused, and *reason says why; -ENOMEM.  The caller clears *ret, on success only.
 */
int ledger_line_parse(const json_t *root, struct ledger_line *ret, struct error *reason);
void ledger_line_clear(struct ledger_line *line);
