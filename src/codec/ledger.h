/* SPDX-License-Identifier: MIT */
/*
 * ledger - the energy that a node used within an interval, by owner: jobmeter.ledger/1, a line of
 * JSON.
 *
 * Entries do not overlap: their sum is what the node had, to the microjoule; those of one level,
 * source and quality add up to what that source counted.  A line is known by (cluster, node, boot
 * id, start, sequence); there are no versions of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct document;
struct shape;

#define LEDGER_SCHEMA "jobmeter.ledger/1"
#define LEDGER_ENTRIES_MAX 65536
/* Of an entry that is parsed: a gigajoule, so that no line takes sums beyond 2^63. */
#define LEDGER_MICROJOULES_MAX INT64_C(1000000000000000)

enum ledger_owner {
	LEDGER_JOB,
	LEDGER_SYSTEM, /* work that is no job's */
	LEDGER_IDLE, /* idle power that no job is charged for */
	LEDGER_UNATTRIBUTED, /* nobody can tell; all that was not measured (a gap) is there */
	LEDGER_OWNER_COUNT,
};
extern const char *const ledger_owners[LEDGER_OWNER_COUNT];

struct ledger_entry { /* texts are another's: of a parsed one the JSON's */
	bool is_job; /* what the first line of members says; else it is NULL, 0 and -1 */
	const char *manager, *job;
	uint64_t job_start_ns; /* since the epoch; 0: not known */
	int64_t uid; /* -1: not known */
	const char *owner; /* one of ledger_owners[] */
	const char *level; /* of the sensor, as the next two */
	const char *source, *quality;
	int64_t microjoules;
};

struct ledger {
	const char *cluster, *node, *boot_id; /* another's; NULL: absent, but "" of a parsed one */
	uint64_t start_ns, end_ns; /* since the epoch, by the node's clock */
	int64_t sequence; /* of this node's lines */
	struct ledger_entry *entries; /* owned */
	size_t count;
};

extern const struct shape ledger_shape;
void ledger_clear(struct ledger *l);
/* Of a struct ledger. */
void ledger_format(const void *ledger, struct document *d);
