/* SPDX-License-Identifier: MIT */
/*
 * job_spans - calls of all processes of a node as spans (export/otlp.h): a trace for each job,
 * which the cgroup of a process names.  Calls of no job are left out.
 *
 * A job's trace ends when no process of it that called anything is left.
 */
#pragma once

struct identity_rules;
struct job_spans;
struct sites;
struct trace_event;

/* @rules: a site's; @fd is span_sender_start()'s; they and @sites outlive it.  NULL: no memory, or
 * no cgroups. */
struct job_spans *job_spans_new(const struct sites *sites, const struct identity_rules *rules,
				int fd);
/* -ENOMEM. */
int job_spans_take(struct job_spans *j, const struct trace_event *event);
/* Now and then: what waits is sent, and traces of jobs that are gone end.  -ENOMEM. */
int job_spans_work(struct job_spans *j);
/* All end. */
void job_spans_finish(struct job_spans *j);
