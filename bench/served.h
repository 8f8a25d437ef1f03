/* SPDX-License-Identifier: MIT */
/* served - a process that serves metrics by HTTP on this machine: started, scraped, weighed, ended. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;
struct served;

/* Start @argv and wait until it answers on @port of 127.0.0.1.  @token: for its Authorization header, or NULL. */
int served_start(char *const argv[], int port, const char *token, struct served **ret, struct error *err);
/* SIGTERM, and wait for its end.  NULL is fine; returns NULL. */
struct served *served_stop(struct served *s);
void served_stopp(struct served **s);

/* One GET /metrics.  *ret_bytes: of the body. */
int served_scrape(struct served *s, size_t *ret_bytes, struct error *err);

/* CPU time so far, of the process and its children that live. */
uint64_t served_cpu_ns(const struct served *s);

struct served_weight {
	uint64_t rss_bytes, pss_bytes; /* of the same processes together */
	uint64_t map_bytes; /* of the BPF maps that they hold, as the kernel reckons them (memlock) */
};
void served_weigh(const struct served *s, struct served_weight *ret);
