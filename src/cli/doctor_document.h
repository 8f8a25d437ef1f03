/* SPDX-License-Identifier: MIT */
/* doctor_document - what doctor found, for programs: jobmeter.doctor/1. */
#pragma once

struct checkup;
struct document;
struct hierarchy;
struct placement;

#define DOCTOR_SCHEMA "jobmeter.doctor/1"

/* A whole document; document_finish() is the caller's. */
void doctor_document(const struct checkup *c, struct document *d);

/* The same schema with the section "process" instead. */
void doctor_document_placement(const struct placement *p, const struct hierarchy *h,
			       struct document *d);
