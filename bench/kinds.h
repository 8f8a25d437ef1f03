/* SPDX-License-Identifier: MIT */
/* kinds - how contenders are started, ended and asked what they counted: contender.c's, in several
 * files. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct contest;
struct error;

/* What a contender says that the worker did meanwhile; -1: it cannot tell. */
struct counted {
	int64_t reads, writes;
	int64_t sends, requests; /* by TCP; of a block device */
	int64_t switches; /* how often threads left their CPU of their own will; at least so often
			     is right */
};

typedef void (*program_teller)(const char *program, uint64_t runs, uint64_t ns, void *data);

struct contender_kind {
	/* -EOPNOTSUPP: it does not run on this machine. */
	int (*start)(struct contest *c, struct error *err);
	/* @ret knows nothing as it comes. */
	int (*end)(struct contest *c, struct counted *ret, struct error *err);
	bool is_exact; /* it sees the worker alone */
	void (*tell)(struct contest *c, program_teller tell, void *data);
};

/* Of a meter that counts system calls by name, and nothing else. */
int syscalls_end(struct contest *c, struct counted *ret, struct error *err);

extern const struct contender_kind kind_biolatency;
extern const struct contender_kind kind_syscount;
extern const struct contender_kind kind_switch_tools, kind_switch_reference;
