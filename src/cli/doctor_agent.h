/* SPDX-License-Identifier: MIT */
/* doctor_agent - the agent of this node, as doctor sees it: by its socket. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "client/client.h"
#include "basic/error.h"

struct checkup;
struct document;
struct page;
struct rows;

struct doctor_agent { /* begins as {} */
	bool was_asked; /* the root is this machine's own */
	bool is_there; /* else @why says why not */
	bool has_answer; /* else @why says why not, too */
	struct error why;
	char *socket_path;
	struct client_agent facts;
	/* What it says of one process, by the site's rules. */
	bool has_group;
	struct client_group group;
};

/* @pid: 0: ask for the agent itself, else whose that process is. */
void doctor_agent_ask(struct doctor_agent *a, pid_t pid);
void doctor_agent_clear(struct doctor_agent *a);

/* Does it measure all that is measured by default? */
bool doctor_agent_is_well(const struct doctor_agent *a, const struct checkup *c);

/* Why this node's numbers are wrong, or soon will be, one a line; none: it is healthy.  -ENOMEM. */
int doctor_agent_judge(const struct doctor_agent *a, struct strings *ret);
/* What that comes to, in one line; and as a document. */
void doctor_agent_print_health(const struct doctor_agent *a, const struct strings *reasons,
			       struct page *page);
void doctor_agent_put_health(const struct doctor_agent *a, const struct strings *reasons,
			     struct document *d);

/* NULL: nobody was asked, as of a captured tree. */
void doctor_agent_print(const struct doctor_agent *a, struct rows *rows);
void doctor_agent_print_group(const struct doctor_agent *a, struct rows *rows);

/* The key "agent" of the document; null: nobody was asked. */
void doctor_agent_put(const struct doctor_agent *a, struct document *d);
void doctor_agent_put_group(const struct doctor_agent *a, struct document *d);
