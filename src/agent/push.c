/* SPDX-License-Identifier: MIT */
#include "agent/push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/log.h"
#include "service/privileges.h"
#include "agent/sender_process.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "codec/ledger.h"
#include "config/config.h"
#include "model/record.h"
#include "node/job_record.h"
#include "node/sampler.h"

#define STEPS 60 /* of an interval: the checkpoints that fall into one are written at once */
#define STEP_MIN_NS UINT64_C(1000000000)
#define FINALS_AT_ONCE 32
#define FAILURES_MAX 8 /* in one go: then it is no single record's fault */
#define SOON_NS UINT64_C(50000000) /* for what did not fit in one go */
#define NODE_NS UINT64_C(10000000000) /* not more often is told how the node is */
#define RETRY_NS UINT64_C(10000000000) /* after a failure of writing */

struct push {
	const struct service_user *user;
	const struct config *config;
	char *spool_path;
	char *destination; /* settings that begin anew when they change, in a text */
	struct sampler *sampler;
	struct spool *spool; /* NULL: there is no server */
	struct sender_process sender;
	struct error failure; /* why the last record could not be written; "": it was */
	uint64_t told_dropped;
	uint64_t done_ns; /* until when checkpoints are written, by CLOCK_BOOTTIME */
	uint64_t next_ns; /* when the next are */
	uint64_t looked_ns; /* the snapshot in which ended jobs were looked for */
	uint64_t finals_ns; /* when they are looked for, whatever that is */
	uint64_t node_ns; /* when it is told anew how the node is */
};

/* ---- opening, and other settings ---- */

static uint64_t step_of(const struct push *p)
{
	return MAX(p->config->checkpoint_interval_ns / STEPS, STEP_MIN_NS);
}

static uint64_t max_bytes(const struct push *p)
{
	return p->config->spool_mib << 20;
}

static void switch_off(struct push *p)
{
	sender_process_end(&p->sender);
	p->spool = spool_close(p->spool);
}

static int make_dirs(const struct push *p, struct error *err)
{
	return spool_make_dirs(p->spool_path, p->user->uid, p->user->gid, err);
}

/* Jobs are measured also where it fails. */
static void switch_on(struct push *p)
{
	struct error err = {};

	if (make_dirs(p, &err) < 0 ||
	    spool_open(p->spool_path, max_bytes(p), &p->spool, &err) < 0) {
		log_say(CONFIG_LOG_ERROR, "%s: no records go to '%s'", err.text, p->config->server);
		return;
	}
	p->done_ns = clock_now_ns(CLOCK_BOOTTIME);
	p->next_ns = p->done_ns + step_of(p);
	p->looked_ns = 0;
	p->finals_ns = UINT64_MAX;
	p->sender = (struct sender_process){
		.spool = p->spool_path, .user = p->user, .config = p->config, .fd = -EBADF
	};
	sender_process_work(&p->sender, p->done_ns);
}

static int take_settings(struct push *p, const struct config *config)
{
	char *destination;

	p->config = p->sender.config = config;
	if (p->spool)
		p->spool->max_bytes = max_bytes(p);
	if (asprintf(&destination, "%s\n%s\n%s\n%u\n%s", config->server, config->server_ca,
		     config->server_token_file, config->server_authentication,
		     config->munge_socket) < 0)
		return -ENOMEM;
	if (p->destination && strcmp(p->destination, destination) == 0) {
		free(destination);
		return 0;
	}
	free(p->destination);
	p->destination = destination;
	switch_off(p);
	if (*config->server)
		switch_on(p);
	return 0;
}

struct push *push_close(struct push *p)
{
	if (!p)
		return NULL;
	switch_off(p);
	free(p->spool_path);
	free(p->destination);
	free(p);
	return NULL;
}

static void push_closep(struct push **p)
{
	push_close(*p);
}

int push_open(const char *state_dir, const struct service_user *user, const struct config *config,
	      struct push **ret, struct error *err)
{
	_cleanup_(push_closep) struct push *p = calloc(1, sizeof(*p));

	if (p)
		p->sender.fd = -EBADF;
	if (!p || asprintf(&p->spool_path, "%s/spool", state_dir) < 0)
		return error_set_errno(err, ENOMEM, "cannot start");
	p->user = user;
	/* also without a server: one may be set later, when we have no right to make it */
	(void)make_dirs(p, NULL);
	if (take_settings(p, config) < 0)
		return error_set_errno(err, ENOMEM, "cannot start");
	*ret = TAKE_PTR(p);
	return 0;
}

void push_set_sampler(struct push *p, struct sampler *sampler)
{
	p->sampler = sampler;
	sampler_wait_for_reports(sampler, p->spool);
}

void push_apply(struct push *p, const struct config *config)
{
	if (take_settings(p, config) < 0)
		log_say(CONFIG_LOG_ERROR, "there is no memory to send records elsewhere");
	if (p->sampler)
		sampler_wait_for_reports(p->sampler, p->spool);
}

/* ---- records ---- */

/* Once when it begins, and once when it is over. */
static void say_failure(struct push *p, int r, const struct error *why)
{
	if (r < 0 && !*p->failure.text)
		log_say(CONFIG_LOG_WARNING, "%s; they are tried again", why->text);
	else if (r >= 0 && *p->failure.text)
		log_say(CONFIG_LOG_INFO, "records for the server are written to '%s' again",
			p->spool_path);
	p->failure = r < 0 ? *why : (struct error){};
}

/* A record that cannot be written is tried again: -Exxx. */
static int write_one(struct push *p, const struct snapshot *snapshot,
		     const struct snapshot_job *job)
{
	_cleanup_(record_freep) struct record *record = NULL;
	struct error err = {};
	int r = sampler_get_record(p->sampler, snapshot, job, &record, &err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = spool_write(p->spool, record, &err);
	if (r == -EFBIG) {
		log_say(CONFIG_LOG_WARNING, "%s: it is not sent", err.text);
		return 0;
	}
	say_failure(p, r, &err);
	return r;
}

/* Ended jobs of the last reading.  Returns how many were written. */
static size_t write_finals(struct push *p, uint64_t now_ns, size_t max)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	const struct snapshot_job *job;
	struct error err = {};
	size_t at = 0, count = 0, failed = 0;

	if (sampler_get(p->sampler, UINT64_MAX, &snapshot, &err) < 0) {
		p->finals_ns = now_ns + RETRY_NS;
		return 0;
	}
	if (snapshot->boot_ns == p->looked_ns && now_ns < p->finals_ns)
		return 0;
	p->looked_ns = snapshot->boot_ns;
	p->finals_ns = UINT64_MAX;
	while (count < max && failed < FAILURES_MAX &&
	       (job = sampler_next_to_report(p->sampler, snapshot, &at))) {
		if (write_one(p, snapshot, job) < 0) {
			failed++;
			continue;
		}
		sampler_set_reported(p->sampler, job);
		count++;
	}
	if (failed)
		p->finals_ns = now_ns + RETRY_NS;
	else if (count == max)
		p->finals_ns = now_ns + SOON_NS;
	return count;
}

bool push_is_due(const struct spool_key *key, uint64_t interval_ns, uint64_t after_ns,
		 uint64_t until_ns)
{
	/* moved by a part of an interval, what is its own for each job is at the multiples */
	uint64_t shift_ns = interval_ns - key->halves[0] % interval_ns;

	return (after_ns + shift_ns) / interval_ns != (until_ns + shift_ns) / interval_ns;
}

/* Of jobs whose moment has come.  One that fails has its next time, as has one whose moment was
 * slept through. */
static size_t write_checkpoints(struct push *p, uint64_t now_ns)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	uint64_t interval_ns = p->config->checkpoint_interval_ns, step_ns = step_of(p);
	uint64_t after_ns = MAX(p->done_ns, now_ns - MIN(now_ns, 2 * step_ns));
	struct job_record_node node;
	struct error err = {};
	size_t count = 0;

	if (now_ns < p->next_ns)
		return 0;
	p->done_ns = now_ns;
	p->next_ns = now_ns + step_ns;
	if (sampler_get(p->sampler, MIN(interval_ns, 2 * p->config->interval_ns), &snapshot, &err) <
	    0)
		return 0;
	sampler_get_node(p->sampler, &node);
	for (size_t i = 0; i < snapshot->job_count; i++) {
		const struct snapshot_job *job = &snapshot->jobs[i];
		/* of a record only as much as its key is made of */
		const struct record who = {
			.cluster = (char *)node.cluster,
			.node = (char *)node.node,
			.boot_id = (char *)node.boot_id,
			.job = { .manager = job->job->manager, .id = job->job->id },
			.time = { .start_ns = job->job->start_ns },
		};
		struct spool_key key = spool_key_of(&who);

		if (!job->is_live || !push_is_due(&key, interval_ns, after_ns, now_ns) ||
		    sampler_keep_start(p->sampler, job) < 0)
			continue;
		if (write_one(p, snapshot, job) < 0)
			break;
		count++;
	}
	return count;
}

/* A quarter of an hour of the node's energy. */
static size_t write_ledger(struct push *p)
{
	struct ledger ledger = {};
	struct error err = {};
	int r;

	if (!sampler_get_ledger(p->sampler, &ledger))
		return 0;
	r = spool_write_ledger(p->spool, &ledger, &err);
	if (r >= 0)
		sampler_set_ledger_written(p->sampler, &ledger);
	say_failure(p, r, &err);
	ledger_clear(&ledger);
	return r >= 0;
}

/* What goes with that which is sent next; nobody misses it where it fails. */
static void write_node(struct push *p, uint64_t now_ns)
{
	_cleanup_(record_freep) struct record *about = NULL;
	struct job_record_node node;
	struct node_values values;

	if (now_ns < p->node_ns || !(about = record_new()) ||
	    sampler_describe(p->sampler, about) < 0)
		return;
	values = sampler_get_node_values(p->sampler);
	p->node_ns = now_ns + NODE_NS;
	sampler_get_node(p->sampler, &node);
	about->cluster = node.cluster ? strdup(node.cluster) : NULL;
	about->node = node.node ? strdup(node.node) : NULL;
	(void)spool_write_node(p->spool, about, &values);
}

static void say_dropped(struct push *p)
{
	const uint64_t *counts = p->spool->counts.dropped;
	uint64_t dropped = counts[false] + counts[true];

	if (dropped == p->told_dropped || dropped < 2 * p->told_dropped)
		return;
	p->told_dropped = dropped; /* at 1, 2, 4, 8... */
	log_say(CONFIG_LOG_WARNING,
		"%" PRIu64 " checkpoints and %" PRIu64
		" final records were dropped so far, since '%s' has no room for them (spool_mib)",
		counts[false], counts[true], p->spool_path);
}

void push_work(struct push *p)
{
	uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME);

	if (!p->spool || !p->sampler)
		return;
	sender_process_work(&p->sender, now_ns);
	if (write_finals(p, now_ns, FINALS_AT_ONCE) + write_checkpoints(p, now_ns) +
	    write_ledger(p)) {
		write_node(p, now_ns);
		sender_process_wake(&p->sender);
	}
	say_dropped(p);
}

void push_finish(struct push *p)
{
	if (!p->spool || !p->sampler)
		return;
	(void)write_finals(p, UINT64_MAX, SIZE_MAX);
	say_dropped(p);
}

int push_fd(const struct push *p)
{
	return p->sender.fd;
}

int push_timeout_ms(const struct push *p)
{
	uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME), due_ns;

	if (!p->spool || !p->sampler)
		return -1;
	due_ns = MIN(MIN(p->next_ns, p->finals_ns), sender_process_due_ns(&p->sender));
	if (due_ns <= now_ns)
		return 0;
	return (int)MIN((due_ns - now_ns) / 1000000 + 1, UINT64_C(3600000));
}

void push_get_status(const struct push *p, struct push_status *ret)
{
	const struct error *why = *p->failure.text ? &p->failure : &p->sender.token_error;

	*ret = (struct push_status){ .is_on = p->spool,
				     .server = p->config->server,
				     .max_bytes = max_bytes(p),
				     .sender = p->sender.status,
				     .starts = p->sender.starts };
	if (p->spool)
		ret->spool = p->spool->counts;
	if (*why->text)
		snprintf(ret->sender.text, sizeof(ret->sender.text), "%.300s", why->text);
}
