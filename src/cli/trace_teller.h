/* SPDX-License-Identifier: MIT */
/* trace_teller - tells the agent of the node what a trace of one of its jobs counts, so that the
 * job's record and metrics have it. */
#pragma once

struct sites;
struct trace_teller;
struct tracing_moment;

/* NULL: there is no agent, or no memory: nobody is told. */
struct trace_teller *trace_teller_open(const struct sites *sites);
struct trace_teller *trace_teller_close(struct trace_teller *t); /* NULL is fine; returns NULL */

/* What cannot be told is told with the next; at the end it is said that it was not. */
void trace_teller_tell(struct trace_teller *t, const struct tracing_moment *moment);
