/* SPDX-License-Identifier: MIT */
#include "agent/push.h"

#include <errno.h>
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
#include "config/config.h"
#include "model/record.h"
#include "node/job_record.h"
#include "node/sampler.h"

#define STEPS \
	30 /* of an interval: as many jobs' checkpoints are written at once, as fall into one */
#define STEP_MIN_NS UINT64_C(1000000000)
#define SLICES 2 /* of a step, that is done in one go */
#define FINALS_AT_ONCE 32
#define FAILURES_MAX 8 /* in one go: then it is no single record's fault */
#define SOON_NS UINT64_C(50000000) /* for what did not fit in one go */
#define RETRY_NS UINT64_C(10000000000) /* after a failure of writing */

struct push {
	struct push_options options;
	char *spool_path, *server, *token_file, *ca;
	uint64_t max_bytes, checkpoint_interval_ns, reading_interval_ns;
	struct sampler *sampler;
	struct spool *spool; /* NULL: there is no server */
	struct sender_process *sender;
	uint64_t done_ns; /* until when checkpoints are written, by CLOCK_BOOTTIME */
	uint64_t next_ns; /* when the next are */
	uint64_t looked_ns; /* the snapshot in which ended jobs were looked for */
	uint64_t finals_ns; /* when they are looked for, whatever that is */
};

/* ---- opening, and other settings ---- */

static void switch_off(struct push *p)
{
	p->sender = sender_process_stop(p->sender);
	p->spool = spool_close(p->spool);
}

struct push *push_close(struct push *p)
{
	if (!p)
		return NULL;
	switch_off(p);
	free(p->spool_path);
	free(p->server);
	free(p->token_file);
	free(p->ca);
	free(p);
	return NULL;
}

static int start_sender(struct push *p, struct error *err)
{
	const struct sender_process_options options = { .spool = p->spool_path,
							.url = p->server,
							.ca = p->ca,
							.token_file = p->token_file,
							.user = p->options.user };

	return sender_process_start(&options, &p->sender, err);
}

static uint64_t step_of(const struct push *p)
{
	return MAX(p->checkpoint_interval_ns / STEPS, STEP_MIN_NS);
}

static int switch_on(struct push *p, struct error *err)
{
	int r = spool_open(p->spool_path, p->max_bytes, &p->spool, err);

	p->done_ns = clock_now_ns(CLOCK_BOOTTIME);
	p->next_ns = p->done_ns + step_of(p);
	p->looked_ns = 0;
	p->finals_ns = UINT64_MAX;
	return r < 0 ? r : start_sender(p, err);
}

static int set_text(char **to, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static int take_settings(struct push *p, const struct config *config)
{
	p->max_bytes = config->spool_mib << 20;
	p->checkpoint_interval_ns = config->checkpoint_interval_ns;
	p->reading_interval_ns = config->interval_ns;
	if (set_text(&p->server, config->server) < 0 ||
	    set_text(&p->token_file, config->server_token_file) < 0)
		return -ENOMEM;
	return set_text(&p->ca, config->server_ca);
}

/* Jobs are measured all the same. */
static void go_without(struct push *p, int r, const struct error *why)
{
	if (r >= 0)
		return;
	switch_off(p);
	log_say(CONFIG_LOG_ERROR, "%s: no records go to '%s'", why->text, p->server);
}

static void push_closep(struct push **p)
{
	push_close(*p);
}

int push_open(const struct push_options *options, const struct config *config, struct push **ret,
	      struct error *err)
{
	_cleanup_(push_closep) struct push *p = calloc(1, sizeof(*p));
	struct error why = {};
	int r;

	if (!p || take_settings(p, config) < 0 ||
	    asprintf(&p->spool_path, "%s/spool", options->state_dir) < 0)
		return error_set_errno(err, ENOMEM, "cannot start");
	p->options = *options;
	/* also without a server: one may be set later, when we have no right to make it */
	r = spool_make_dirs(p->spool_path, options->user->uid, options->user->gid, &why);
	if (*p->server)
		go_without(p, r < 0 ? r : switch_on(p, &why), &why);
	*ret = TAKE_PTR(p);
	return 0;
}

void push_set_sampler(struct push *p, struct sampler *sampler)
{
	p->sampler = sampler;
	sampler_wait_for_reports(sampler, p->spool);
}

static bool is_other_server(const struct push *p, const struct config *config)
{
	return strcmp(p->server, config->server) != 0 || strcmp(p->ca, config->server_ca) != 0 ||
	       strcmp(p->token_file, config->server_token_file) != 0;
}

void push_apply(struct push *p, const struct config *config)
{
	bool is_other = is_other_server(p, config);
	struct error err = {};

	if (take_settings(p, config) < 0) {
		log_say(CONFIG_LOG_ERROR, "there is no memory to send records elsewhere");
		return;
	}
	if (p->spool)
		spool_set_max(p->spool, p->max_bytes);
	if (is_other) {
		switch_off(p);
		if (*p->server)
			go_without(p, switch_on(p, &err), &err);
	}
	if (p->sampler)
		sampler_wait_for_reports(p->sampler, p->spool);
}

/* ---- records ---- */

/* A record that cannot be written is tried again: -Exxx. */
static int write_one(struct push *p, const struct snapshot *snapshot,
		     const struct snapshot_job *job)
{
	_cleanup_(record_freep) struct record *record = NULL;
	struct error err = {};
	int r = sampler_get_record(p->sampler, snapshot, job, &record, &err);

	if (r == -ENOENT)
		return 0;
	if (r >= 0)
		r = spool_write(p->spool, record, &err);
	if (r == -EFBIG) {
		log_say(CONFIG_LOG_WARNING, "%s: it is not sent", err.text);
		return 0;
	}
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

static bool is_due(const struct snapshot_job *job, const struct job_record_node *node,
		   uint64_t interval_ns, uint64_t after_ns, uint64_t until_ns)
{
	/* of a record only as much as its key is made of */
	const struct record who = {
		.cluster = (char *)node->cluster,
		.node = (char *)node->node,
		.boot_id = (char *)node->boot_id,
		.job = { .manager = job->job->manager, .id = job->job->id },
		.time = { .start_ns = job->job->start_ns },
	};
	struct spool_key key = spool_key_of(&who);

	return push_is_due(&key, interval_ns, after_ns, until_ns);
}

/* A failure leaves them out: they have a next time. */
static size_t write_slice(struct push *p, uint64_t until_ns)
{
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	struct job_record_node node;
	struct error err = {};
	size_t count = 0;
	uint64_t age_ns = MIN(p->checkpoint_interval_ns, 2 * p->reading_interval_ns);

	if (sampler_get(p->sampler, age_ns, &snapshot, &err) < 0)
		return 0;
	sampler_get_node(p->sampler, &node);
	for (size_t i = 0; i < snapshot->job_count; i++) {
		const struct snapshot_job *job = &snapshot->jobs[i];

		if (!job->is_live ||
		    !is_due(job, &node, p->checkpoint_interval_ns, p->done_ns, until_ns) ||
		    sampler_keep_start(p->sampler, job) < 0)
			continue;
		if (write_one(p, snapshot, job) < 0)
			break;
		count++;
	}
	return count;
}

static size_t write_checkpoints(struct push *p, uint64_t now_ns)
{
	uint64_t step_ns = step_of(p), slice_ns = step_ns / SLICES, until_ns;
	size_t count;

	if (now_ns < p->next_ns)
		return 0;
	/* of what was slept through, or is longer than a reading takes to come, one round */
	if (now_ns - p->done_ns > p->checkpoint_interval_ns)
		p->done_ns = now_ns - p->checkpoint_interval_ns;
	until_ns = MIN(now_ns, p->done_ns + slice_ns);
	count = write_slice(p, until_ns);
	p->done_ns = until_ns;
	p->next_ns = until_ns < now_ns ? now_ns + SOON_NS : now_ns + step_ns;
	return count;
}

static void say_news(struct push *p)
{
	struct error news = {};
	bool is_well = false;

	while (spool_has_news(p->spool, &news))
		log_say(CONFIG_LOG_WARNING, "%s", news.text);
	while (p->sender && sender_process_has_news(p->sender, &is_well, &news))
		log_say(is_well ? CONFIG_LOG_INFO : CONFIG_LOG_WARNING, "%s", news.text);
}

void push_work(struct push *p)
{
	uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME);
	size_t count;

	if (!p->spool || !p->sampler)
		return;
	count = write_finals(p, now_ns, FINALS_AT_ONCE);
	count += write_checkpoints(p, now_ns);
	if (p->sender) {
		sender_process_work(p->sender, now_ns);
		if (count)
			sender_process_wake(p->sender);
	}
	say_news(p);
}

void push_finish(struct push *p)
{
	if (!p->spool || !p->sampler)
		return;
	(void)write_finals(p, UINT64_MAX, SIZE_MAX);
	say_news(p);
}

int push_fd(const struct push *p)
{
	return p->sender ? sender_process_fd(p->sender) : -EBADF;
}

int push_timeout_ms(const struct push *p)
{
	uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME), due_ns;

	if (!p->spool || !p->sampler)
		return -1;
	due_ns = MIN(p->next_ns, p->finals_ns);
	if (p->sender)
		due_ns = MIN(due_ns, sender_process_due_ns(p->sender));
	if (due_ns <= now_ns)
		return 0;
	return (int)MIN((due_ns - now_ns) / 1000000 + 1, UINT64_C(3600000));
}

void push_get_status(const struct push *p, struct push_status *ret)
{
	*ret = (struct push_status){ .is_on = p->spool,
				     .server = p->server,
				     .max_bytes = p->max_bytes };
	if (p->spool)
		ret->spool = spool_get_counts(p->spool);
	if (!p->sender)
		return;
	sender_process_get_status(p->sender, &ret->sender);
	ret->starts = sender_process_starts(p->sender);
}
