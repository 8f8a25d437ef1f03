/* SPDX-License-Identifier: MIT */
/* doctor_document - what doctor found, for programs: jobmeter.doctor/1. */
#pragma once

struct checkup;
struct doctor_agent;
struct document;
struct hierarchy;
struct placement;

#define DOCTOR_SCHEMA "jobmeter.doctor/1"

/* A whole document; document_finish() is the caller's.  @agent: of this node; may be NULL. */
void doctor_document(const struct checkup *c, const struct doctor_agent *agent, struct document *d);

/* The same schema with the section "process" instead. */
void doctor_document_placement(const struct placement *p, const struct doctor_agent *agent,
			       const struct hierarchy *h, struct document *d);
