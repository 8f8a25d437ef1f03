/* SPDX-License-Identifier: MIT */
/* report_network - the part of a report that says what was sent and received. */
#pragma once

#include "page.h"

struct record;

/* A line for the network and one for Unix sockets, as far as anything went through them. */
void report_network(const struct record *r, struct page *page);
/* One for each fabric port, where they were the job's. */
void report_ports(const struct record *r, struct page *page);
