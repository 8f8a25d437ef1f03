/* SPDX-License-Identifier: MIT */
/*
 * ledger - whose a node's energy was in a quarter of an hour: jobmeter.ledger/1, a line of JSON.
 *
 * Entries do not overlap: their sum is what the node had, to the microjoule.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/energy_sensor.h"

struct document;

#define LEDGER_SCHEMA "jobmeter.ledger/1"

enum ledger_owner {
	LEDGER_JOB,
	LEDGER_SYSTEM, /* work that is no job's */
	LEDGER_IDLE, /* idle power that no job is charged for */
	LEDGER_UNATTRIBUTED, /* nobody can tell; all that was not measured (a gap) is there */
	LEDGER_OWNER_COUNT,
};

struct ledger_entry { /* texts are another's */
	enum ledger_owner owner;
	const char *manager, *job; /* of a job; else NULL */
	uint64_t job_start_ns; /* since the epoch; 0: not known */
	int64_t uid; /* -1: not known */
	enum energy_level level; /* of the sensor */
	const char *source;
	enum energy_quality quality;
	uint64_t uj;
};

struct ledger {
	const char *cluster, *node, *boot_id; /* another's; NULL: absent */
	uint64_t start_ns, end_ns; /* since the epoch */
	uint64_t sequence; /* of this node's lines */
	struct ledger_entry *items; /* owned */
	size_t count, room;
};

/* -ENOMEM. */
int ledger_add(struct ledger *l, const struct ledger_entry *entry);
void ledger_clear(struct ledger *l);

void ledger_format(const struct ledger *l, struct document *d);
