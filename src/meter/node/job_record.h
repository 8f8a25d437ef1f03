/* SPDX-License-Identifier: MIT */
/* job_record - the record of a job of this node, out of a snapshot. */
#pragma once

#include "model/record.h"
#include "model/snapshot.h"

struct job_record_node { /* the same in all records of the node; NULL: absent */
	const char *cluster, *node, *boot_id;
};

/* All but coverage and histograms, which the caller adds. @in_sums: files as sums only. -ENOMEM. */
int job_record_make(const struct snapshot *s, const struct snapshot_job *job,
		    const struct job_record_node *node, bool in_sums, struct record **ret);

/* For a job without a name: its label as its name, else what it runs as its command. */
int job_record_add_label(const struct snapshot_job *job, struct record *to);
