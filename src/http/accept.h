/* SPDX-License-Identifier: MIT */
/*
 * accept - content negotiation: the lists of Accept and Accept-Encoding (RFC 9110, 12.4 and 12.5).
 *
 * Qualities are in thousandths. Malformed entries are ignored.
 */
#pragma once

#include <stdbool.h>

#define ACCEPT_MAX 1000

/*
 * The quality of @type ("text/plain"); of a type that is listed several times, with different
 * parameters, the one with @parameter ("version") of @value counts most.  @parameter may be NULL.
 * Without a header (NULL) all is taken.  0: not at all.
 */
unsigned int accept_type(const char *header, const char *type, const char *parameter,
			 const char *value);

/* The same, where only an entry that has that very @parameter or none counts, and no pattern with a
 * star. */
unsigned int accept_exact_type(const char *header, const char *type, const char *parameter,
			       const char *value);

/* Whether a content coding ("gzip") is taken.  Without a header (NULL) none is. */
bool accept_coding(const char *header, const char *coding);
