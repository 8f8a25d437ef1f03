/* SPDX-License-Identifier: MIT */
/* network_json - what a job or a step of it sent and received, in a record's text: a map of the kinds of sockets that were
 * used, each of its directions as the metrics' sections have them. */
#pragma once

#include <jansson.h>

#include "network.h"

struct document;
struct place;

/* @n is known. */
void network_format(const struct network *n, struct document *d);
/* The member "network" of @above; where there is none, @ret stays not known.  -EINVAL: it is no such map.  @ret is empty
 * before. */
int network_take(const struct place *place, const json_t *above, struct network *ret);
