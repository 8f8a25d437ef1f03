/* SPDX-License-Identifier: MIT */
/* served - a process that serves metrics by HTTP on this machine: started, scraped, weighed, ended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct served;

/* Start @argv and wait until it answers on @port of 127.0.0.1. */
int served_start(char *const argv[], int port, struct served **ret, struct error *err);
/* SIGTERM, and wait for its end.  NULL is fine; returns NULL. */
struct served *served_stop(struct served *s);
void served_stopp(struct served **s);

struct served_page {
	size_t bytes; /* of the body */
	uint64_t first_ns, last_ns; /* from the connecting to its first and its last byte */
};

/* One GET /metrics. */
int served_scrape(struct served *s, bool wants_gzip, struct served_page *ret, struct error *err);

/* Two at once: a page that is taken slowly, and GET /health as its first bytes are there. */
int served_ask_meanwhile(struct served *s, uint64_t *ret_health_ns, struct error *err);

/* CPU time so far, of the process and its children that live. */
uint64_t served_cpu_ns(const struct served *s);

/* How often its threads, and those of its children, have gone to sleep so far. */
uint64_t served_sleeps(const struct served *s);

struct served_weight {
	uint64_t rss_bytes, children_bytes; /* what is resident, of itself and of its children */
	uint64_t pss_bytes; /* of all of them, what is shared taken in parts */
	uint64_t map_bytes; /* of the BPF maps that they hold, as the kernel reckons them (memlock)
			     */
};
void served_weigh(const struct served *s, struct served_weight *ret);
