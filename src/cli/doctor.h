/* SPDX-License-Identifier: MIT */
/* doctor - what doctor finds on this machine and hears from its agent, for people and for programs.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "client/client.h"
#include "basic/error.h"

struct checkup;
struct document;
struct hierarchy;
struct page;
struct placement;
struct rows;

#define DOCTOR_SCHEMA "jobmeter.doctor/1"

/* The agent of this node, as its socket shows it. */
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

/* @pid: 0: ask for the agent itself, else for the job of that process. */
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

/* NULL: no agent was asked, as for a captured tree. */
void doctor_agent_print(const struct doctor_agent *a, struct rows *rows);
void doctor_agent_print_group(const struct doctor_agent *a, struct rows *rows);

/* The key "agent" of the document; null: no agent was asked. */
void doctor_agent_put(const struct doctor_agent *a, struct document *d);
void doctor_agent_put_group(const struct doctor_agent *a, struct document *d);

/* ---- all that was found; @agent may be NULL ---- */

/* @is_verbose: each hook and sensor, not only what is off. */
void doctor_text(const struct checkup *c, const struct doctor_agent *agent, bool is_verbose,
		 struct page *page);
void doctor_text_placement(const struct placement *p, const struct doctor_agent *agent,
			   const char *hierarchy, struct page *page);

/* A whole document, of DOCTOR_SCHEMA; document_finish() is the caller's. */
void doctor_document(const struct checkup *c, const struct doctor_agent *agent, struct document *d);
/* The same schema with the section "process" instead. */
void doctor_document_placement(const struct placement *p, const struct doctor_agent *agent,
			       const struct hierarchy *h, struct document *d);

/* A member of a map; "" is null as well. */
void doctor_put(struct document *d, const char *key, const char *text);
