/* SPDX-License-Identifier: MIT */
/* job_filter - which jobs of a list are wanted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define JOB_LIMIT_DEFAULT 1000

enum job_number { /* by which jobs are chosen and counted */
		  JOB_CPU_PERCENT, /* of efficiency */
		  JOB_MEMORY_PERCENT, /* likewise */
		  JOB_WAIT_S, /* in the queue, since the job could have begun */
		  JOB_CORES,
		  JOB_ELAPSED_S,
		  JOB_NUMBER_COUNT
};

struct job_filter { /* texts are the caller's; NULL and 0: whatever it be */
	const char *user; /* a name or a number; the rest as they stand in the job's record */
	const char *cluster, *account, *partition, *manager, *name, *id;
	const char *node; /* that sent a record of it */
	const char *state; /* "RUNNING" is that of a job that has not ended; case does not matter */
	const char *text; /* stands somewhere in id, name, user, account or reason; case does not
			     matter */
	struct job_range {
		uint64_t above, most; /* whole ones: more than the one, at most the other; 0: any */
	} ranges[JOB_NUMBER_COUNT]; /* where one is set, jobs of which it is not known are left out
				     */
	uint64_t since_ns, until_ns; /* it ended, or was last seen, at the one or later, and began
					before the other */
	size_t limit; /* at most so many, the newest; 0: all */
	size_t offset; /* of those so many are passed over */
};
