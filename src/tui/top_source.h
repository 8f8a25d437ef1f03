/* SPDX-License-Identifier: MIT */
/* top_source - the sources of top's ticks: the agent of the node, an own meter, a recording.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct client;
struct error;
struct process_place;
struct record;
struct tick;
struct waiter;

struct top_source {
	const char *name; /* "agent": of static duration */
	const char *starting; /* a text for the time until the first read() has data; NULL: that is
				 short */
	/* Called while the functions below wait; owned by the caller, must not call them. NULL:
	 * they do not wait. */
	void (*set_waiter)(struct top_source *s, const struct waiter *waiter);
	/* Set before the first read(): with a @before, files are read as sums by mount, without
	 * rows. */
	bool takes_sums;
	/* All jobs as they are now, from a reading no older than @max_age_ns: the last one, if that
	 * is not; with those that ended in the last @ended_ns.  @before: the last one, with which
	 * the result may share records; one that begins as {}: none yet, and another read() follows
	 * at once; NULL: all is wanted as it is now.  -ENODATA: there will be no more; what the
	 * waiter says, if he waits no longer. */
	int (*read)(struct top_source *s, uint64_t max_age_ns, uint64_t ended_ns,
		    const struct tick *before, struct tick *ret, struct error *err);
	/* All data of one job. NULL: only those of ticks. */
	int (*describe)(struct top_source *s, const char *manager, const char *id,
			struct record **ret, struct error *err);
	/* As processes_options.locate; NULL: processes are unknown. */
	int (*locate)(struct top_source *s, const char *path, struct process_place *ret);
	/* Of a recording: go on so many ticks, or back, as far as there are any.  *ret_before: the
	 * tick before it, left alone where there is none.  NULL: it is now. */
	int (*move)(struct top_source *s, int by, struct tick *ret_before, struct tick *ret,
		    struct error *err);
	/* The position in a recording: "7 of 42"; valid until the next call. NULL: live. */
	const char *(*position)(struct top_source *s);
	void (*close)(struct top_source *s);
};
void top_source_closep(struct top_source **s);

/* @client is taken over, on success only. */
int top_source_open_agent(struct client *client, struct top_source **ret, struct error *err);

/* The node without an agent, as root: an own meter with its state, which leaves nothing behind; the
 * first read() starts it. Without a resource manager, systemd's units and sessions are jobs. */
int top_source_open_own(struct top_source **ret, struct error *err);

/* A file of ticks, a line each.  *ret_torn says in words what of it cannot be played ("": nothing);
 * -EINVAL: there is no tick in it. */
int top_source_open_replay(const char *path, struct top_source **ret, struct error *ret_torn,
			   struct error *err);
