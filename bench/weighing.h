/* SPDX-License-Identifier: MIT */
/*
 * weighing - what an agent costs while a number of jobs are there: its readings beside a plain
 * reading of the same files, its scrapes beside another exporter's, its memory.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "cgroup/hierarchy.h"
#include "samples.h"
#include "served.h"

struct error;
struct ground;

enum who {
	WHO_AGENT,
	WHO_EXPORTER,
	WHO_COUNT,
};

struct weighing_options {
	const char *agent; /* the program, or NULL */
	int root_fd, seconds;
	const struct hierarchy *hierarchy;
	struct ground *ground;
};

/* What a plain reader takes for the files that the agent reads beside BPF, and for those that hold
 * what BPF tells too. */
struct plain_reading {
	size_t files; /* of each job */
	struct samples ms, ratio; /* CPU time; the agent's reading, of that */
};

struct weighing {
	size_t jobs;
	struct plain_reading plain[2];
	struct samples reading_ms;
	struct plain_reading alone; /* of an agent without BPF, beside those that hold all */
	struct samples alone_ms;
	struct samples scraped_ms[WHO_COUNT], scraped_ratio; /* CPU time of a second with a scrape
							      */
	struct samples first_ms, page_ms, zipped_ms, health_ms; /* by the clock */
	struct samples ours[2]; /* CPU time of a second with a scrape: plain, gzip */
	size_t page_bytes[WHO_COUNT], zipped_bytes;
	struct served_weight weight[WHO_COUNT];
};

int weighing_run(const struct weighing_options *o, size_t jobs, struct weighing *ret,
		 struct error *err);

struct idling {
	size_t jobs;
	int interval_s, seconds;
	double cpu_ms, sleeps; /* a minute */
};

/* An agent that nobody asks. */
int idling_run(const struct weighing_options *o, size_t jobs, int interval_s, struct idling *ret,
	       struct error *err);

/* @count of them, as tables. */
void weighing_print(struct weighing *w, size_t count, FILE *out);

/* Start the agent with that interval. */
int weighing_start_agent(const struct weighing_options *o, int interval_s, bool has_bpf,
			 struct served **ret, struct error *err);
const char *weighing_exporter(void); /* its program */
