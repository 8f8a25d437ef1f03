/* SPDX-License-Identifier: MIT */
/* network_lines - what a job sent and received, as reports tell it: over the network, and within
 * the node. */
#pragma once

#include <stdint.h>

#include "humanize.h"
#include "metric.h"

struct network;
struct record;

enum network_reach {
	REACH_NETWORK, /* TCP, UDP and others; through the loopback, too */
	REACH_NODE,    /* Unix sockets */
	REACH_COUNT,
};

struct network_line {
	const char *label;	 /* "network", "in the node" */
	uint64_t sent, received; /* bytes */
	char how_many[64];	 /* "14 connections"; where there are none, or they are not known, "1,009 calls" */
	char round_trips[160]; /* "half below 43 µs, 99 % below 1.2 ms, least 12 µs": TCP's; "": there were none, or they are not known */
	char again[64];		 /* "3 segments sent again"; "": none was, or it is not known */
	char kinds[32];		 /* those that moved data: "TCP, UDP" */
};

/* Returns how many lines there are, none where nothing is known or nothing was moved. */
unsigned int network_lines(const struct record *r, struct network_line ret[REACH_COUNT]);

/* Bytes, METRIC_NETWORK_SENT_BYTES or METRIC_NETWORK_RECEIVED_BYTES, through all sockets; "-": not known. */
struct human network_bytes(const struct network *n, enum metric_id id);
