/* SPDX-License-Identifier: MIT */
#include "tick_delta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "document.h"
#include "error.h"
#include "macro.h"
#include "made.h"
#include "made_snapshot.h"
#include "section.h"
#include "sections.h"
#include "test.h"
#include "tick.h"

#define FIRST_NS UINT64_C(9007199254740993) /* more digits than a double holds */

static char *format(const struct snapshot *s, const struct snapshot *since)
{
	struct document *d;
	size_t length;
	char *text;
	FILE *out = open_memstream(&text, &length);

	d = document_new_json(out, DOCUMENT_ONE_LINE);
	document_begin_map(d);
	tick_delta_format_head(s, since, "node17", d);
	document_key(d, "jobs");
	document_begin_list(d);
	for (size_t i = 0; i < s->job_count; i++) {
		const struct snapshot_job *job = &s->jobs[i];

		tick_delta_format_job(s, job, since ? snapshot_find(since, job->job->manager, job->job->id) : NULL,
				      tick_delta_has_mounts_of(s, since), d);
	}
	document_end_list(d);
	document_end_map(d);
	ASSERT_OK(document_finish(d));
	document_free(d);
	fclose(out);
	return text;
}

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* What a record of the job holds, by the road that leads not through a text. */
static char *expect(const struct snapshot *s, const struct snapshot_job *from)
{
	_cleanup_(record_freep) struct record *r = record_new();
	const struct job *job = from->job;

	r->node = strdup("node17");
	r->job.manager = strdup(job->manager);
	r->job.id = strdup(job->id);
	r->job.name = copy(job->name);
	r->job.user = copy(job->user);
	r->job.uid = job->uid;
	r->job.account = copy(job->account);
	r->job.partition = copy(job->partition);
	r->is_final = !from->is_live;
	r->time.start_ns = job->start_ns;
	r->time.end_ns = from->is_live ? 0 : job->end_ns;
	if (job->start_boot_ns)
		r->time.elapsed_ns = (from->is_live ? s->boot_ns : job->end_boot_ns) - job->start_boot_ns;
	r->cores = from->cores;
	r->ranks = from->ranks;
	r->threads = from->threads;
	r->thermal = from->thermal;
	ASSERT_OK(snapshot_expand(s, from, &r->reading));
	ASSERT_OK(parts_copy_to(&from->parts, r));
	for (size_t i = 0; i < from->step_count; i++) {
		struct step *step = steps_add(&r->steps, from->steps[i].id);

		step->start_ns = from->steps[i].start_ns;
		step->end_ns = from->steps[i].end_ns;
		memcpy(step->values, from->steps[i].values, sizeof(step->values));
		step->network = *network_of(&from->steps[i].parts);
	}
	return made_json(r);
}

static void check(const struct snapshot *s, const struct tick *tick)
{
	ASSERT_EQ(tick->boot_ns, s->boot_ns);
	ASSERT_EQ(tick->real_ns, s->real_ns);
	ASSERT_EQ(tick->took_ns, s->took_ns);
	ASSERT_EQ((uint64_t)tick->jobs.count, (uint64_t)s->job_count);
	for (size_t i = 0; i < s->job_count; i++) {
		_cleanup_free_ char *expected = expect(s, &s->jobs[i]), *found = made_json(tick->jobs.items[i]);

		ASSERT_STREQ(found, expected);
	}
}

/* @sent: bytes through UDP; 0: nothing is known of its network. */
static void add_step(struct snapshot_job *job, const char *id, uint64_t number, uint64_t sent)
{
	struct network network = { .is_known = sent > 0 };

	*network_number_ref(&network, SOCKET_UDP, METRIC_NETWORK_SENT_BYTES) = sent;
	job->steps = realloc(job->steps, (job->step_count + 1) * sizeof(*job->steps));
	job->steps[job->step_count] = (struct snapshot_step){ .id = strdup(id), .is_live = true, .start_ns = 7 };
	ASSERT_OK(parts_put(&job->steps[job->step_count].parts, &network_section, &network));
	job->steps[job->step_count].values[METRIC_CPU_USER] = (struct value){ number, true };
	job->steps[job->step_count++].values[METRIC_TASKS_ENDED] = (struct value){ 3, true };
}

static void make(struct snapshot *s, uint64_t round)
{
	*s = (struct snapshot){};
	made_snapshot_fill_large(s, 5, 3, 1);
	s->boot_ns = FIRST_NS + round;
	s->real_ns = UINT64_C(1770091506123456789) + round;
	s->took_ns = 4000037;
	for (size_t i = 0; i < s->job_count; i++)
		s->jobs[i].job->start_boot_ns = FIRST_NS - 1000 * (i + 1);
	add_step(&s->jobs[2], "batch", 11, 0);
	add_step(&s->jobs[2], "0", 13 + round, 1009 + round);
	add_step(&s->jobs[2], "1", 19, 101); /* always the same */
	s->jobs[4].cores = (struct evenness){ { 3, true }, { 9973, true } };
}

static void clear(struct snapshot *s)
{
	for (size_t i = 0; i < s->job_count; i++) {
		for (size_t j = 0; j < s->jobs[i].step_count; j++) {
			free(s->jobs[i].steps[j].id);
			parts_clear(&s->jobs[i].steps[j].parts);
		}
		free(s->jobs[i].steps);
	}
	made_snapshot_clear(s);
}

static void parse(const char *text, const struct tick *before, struct tick *ret)
{
	struct error err = {};

	ASSERT_OK(tick_delta_parse(text, strlen(text), before, ret, &err));
}

/* Facts that did not change are the same for both, but of job @but; @from NULL: give them back. */
static void borrow_facts(struct snapshot *to, const struct snapshot *from, size_t but)
{
	struct snapshot own = {};

	for (size_t i = 0; i < to->job_count; i++) {
		if (i == but)
			continue;
		if (from) {
			struct job **left = &made_job(&own, "", "")->job, *empty = *left;

			*left = to->jobs[i].job;
			free(empty->manager);
			free(empty->id);
			free(empty);
		}
		to->jobs[i].job = from ? from->jobs[i].job : calloc(1, sizeof(struct job));
	}
	made_snapshot_clear(&own);
}

TEST(all_of_a_snapshot_comes_back)
{
	_cleanup_free_ char *text = NULL, *odd = NULL;
	struct snapshot s;
	struct tick tick = {};

	make(&s, 0);
	text = format(&s, NULL);
	parse(text, NULL, &tick);
	check(&s, &tick);
	tick_clear(&tick);
	clear(&s);
	made_snapshot_fill(&s);
	s.boot_ns = 1;
	odd = format(&s, NULL);
	parse(odd, NULL, &tick);
	check(&s, &tick);
	tick_clear(&tick);
	clear(&s);
}

static void put_block(struct snapshot_job *job, const char *device, uint64_t bytes)
{
	struct block b = { .is_known = true };

	if (device)
		ASSERT_OK(block_add(&b, device, BLOCK_READ, &(struct block_counts){ .bytes = bytes, .requests = 1 }));
	ASSERT_OK(parts_put(&job->parts, &block_section, &b));
}

TEST(what_is_another_one_than_before_makes_it_whole_again)
{
	_cleanup_free_ char *first = NULL, *second = NULL, *whole = NULL;
	struct network network = { .is_known = true, .has_connections = true, .has_details = true,
				   .round_trip_times.counts[7] = 41 };
	struct snapshot before, now;
	struct tick ticks[2] = {};

	make(&before, 0);
	make(&now, 17);
	borrow_facts(&now, &before, 3);
	now.jobs[1].values[METRIC_CPU_SYSTEM].number += 29; /* a number */
	now.jobs[1].values[METRIC_MEMORY_LIMIT] = (struct value){};
	now.jobs[2].rows[5].counts.calls += 31; /* rows */
	free(now.jobs[3].job->name);
	now.jobs[3].job->name = strdup("it got another name");
	*network_number_ref(&network, SOCKET_UDP, METRIC_NETWORK_SENT_ERRORS) = 37;
	made_network(&now.jobs[4], &network);
	now.jobs[4].cores.count.number = 5;
	now.jobs[5].thermal = (struct thermal_samples){ .samples = { 3, true }, .temperature_max = { 73009, true } };
	put_block(&now.jobs[1], NULL, 0);
	put_block(&before.jobs[0], "sda", 41);
	put_block(&now.jobs[0], "sda", 43);
	put_block(&before.jobs[2], "sdb", 47);
	put_block(&now.jobs[2], "sdb", 47); /* as before */
	first = format(&before, NULL);
	second = format(&now, &before);
	whole = format(&now, NULL);
	parse(first, NULL, &ticks[0]);
	parse(second, &ticks[0], &ticks[1]);
	check(&now, &ticks[1]);
	check(&before, &ticks[0]);
	ASSERT(ticks[1].jobs.items[0]->reading.mounts == ticks[0].jobs.items[0]->reading.mounts);
	ASSERT(ticks[1].jobs.items[2]->reading.mounts != ticks[0].jobs.items[2]->reading.mounts);
	ASSERT(strlen(second) < strlen(whole) / 2);
	tick_clear(&ticks[0]);
	check(&now, &ticks[1]); /* what both had lives on */
	tick_clear(&ticks[1]);
	borrow_facts(&now, NULL, 3);
	clear(&before);
	clear(&now);
}

TEST(what_goes_on_from_another_tick_is_told)
{
	_cleanup_free_ char *first = NULL, *second = NULL;
	struct snapshot before, now;
	struct tick tick = {}, other = {};
	struct error err = {};

	make(&before, 0);
	make(&now, 17);
	first = format(&before, NULL);
	second = format(&now, &before);
	ASSERT_ERR(tick_delta_parse(second, strlen(second), NULL, &tick, &err), -ESTALE);
	ASSERT_CONTAINS(err.text, "since_ns is not the last tick's");
	other.boot_ns = before.boot_ns; /* the right moment without the jobs */
	ASSERT_ERR(tick_delta_parse(second, strlen(second), &other, &tick, &err), -ESTALE);
	ASSERT_CONTAINS(err.text, "jobs[0].id is not known");
	clear(&before);
	clear(&now);
}

TEST(what_is_no_delta_is_told_and_leaves_the_result_alone)
{
#define HEAD "{\"schema\":\"jobmeter.delta/1\","
#define NAMES "\"boot_ns\":7,\"values\":[\"cpu.user_seconds\",\"of.later\"],\"fields\":[\"cores.touched\"],\"ops\":[\"read\",\"frob\"],\"ways\":[\"call\"],\"sockets\":[\"tcp\"],\"network\":[\"network.sent.bytes\"],\"mounts\":[{\"mount\":\"/\"},{}],"
#define JOB HEAD NAMES "\"jobs\":[{\"manager\":\"slurm\",\"id\":\"7\",\"rows\":[],"
	static const struct row {
		const char *text, *error;
	} rows[] = {
		{ "", "it is no JSON" },
		{ "[]", "it is a list and should be a map" },
		{ "{}", "schema is not 'jobmeter.delta/1'" },
		{ HEAD "\"boot_ns\":7}", "values is missing" },
		{ HEAD "\"boot_ns\":7,\"values\":[1]}", "values holds something else than names" },
		{ HEAD "\"values\":[]}", "boot_ns is missing" },
		{ HEAD NAMES "\"jobs\":{}}", "jobs is a map and should be a list" },
		{ HEAD NAMES "\"jobs\":[7]}", "jobs[0] lacks manager or id" },
		{ HEAD NAMES "\"jobs\":[{\"manager\":\"slurm\",\"id\":\"7\"}]}", "jobs[0].rows is missing" },
		{ JOB "\"values\":[0]}]}", "jobs[0].values is no list of places and numbers" },
		{ JOB "\"values\":[2,1]}]}", "jobs[0].values is no list of places and numbers" },
		{ JOB "\"values\":[-1,1]}]}", "jobs[0].values is no list of places and numbers" },
		{ JOB "\"values\":[0,-1]}]}", "jobs[0].values holds something else than counts" },
		{ JOB "\"values\":[0,1.5]}]}", "jobs[0].values holds something else than counts" },
		{ JOB "\"fields\":[1,1]}]}", "jobs[0].fields is no list of places and numbers" },
		{ JOB "\"network\":[true,1,0,1]}]}", "jobs[0].network is no list of kinds" },
		{ JOB "\"network\":[0,0,1]}]}", "jobs[0].network is no list of kinds" },
		{ JOB "\"block\":7}]}", "jobs[0].block is no list of devices" },
		{ JOB "\"block\":[7]}]}", "jobs[0].block[0] is a number" },
		{ JOB "\"steps\":[{}]}]}", "jobs[0].steps[0].id is missing" },
		{ HEAD NAMES "\"jobs\":[{\"manager\":\"s\",\"id\":\"7\",\"rows\":[0,0,0,1,1,1,1]}]}", "rows is no list of rows" },
		{ HEAD NAMES "\"jobs\":[{\"manager\":\"s\",\"id\":\"7\",\"rows\":[2,0,0,1,1,1,1,0]}]}", "rows is no list of rows" },
		{ HEAD NAMES "\"jobs\":[{\"manager\":\"s\",\"id\":\"7\",\"rows\":[0,2,0,1,1,1,1,0]}]}", "rows is no list of rows" },
		{ HEAD NAMES "\"jobs\":[{\"manager\":\"s\",\"id\":\"7\",\"rows\":[0,0,0,1,1,1,1,2]}]}", "rows is no list of rows" },
		{ HEAD NAMES "\"jobs\":[{\"manager\":\"s\",\"id\":\"7\",\"rows\":[1,0,0,1,1,1,1,0]}]}", "mounts[1].mount is missing" },
		{ HEAD NAMES "\"jobs\":[{\"manager\":\"s\",\"id\":\"7\",\"rows\":[0,0,0,1,1,1,1,0,0,0,0,1,1,1,1,0]}]}", "rows is not in order" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tick tick = { .took_ns = 7 };
		struct error err = {};

		ASSERT_ERR(tick_delta_parse(rows[i].text, strlen(rows[i].text), NULL, &tick, &err), -EINVAL);
		ASSERT_CONTAINS(err.text, rows[i].error);
		ASSERT_EQ(tick.took_ns, (uint64_t)7);
	}
}

TEST(what_a_later_agent_names_is_left_out)
{
	static const char text[] = JOB "\"values\":[0,41,1,43]},{\"manager\":\"s\",\"id\":\"8\",\"rows\":[0,0,0,1,53,0,0,0,0,1,0,7,7,7,7,7]}]}";
	struct tick tick = {};

	parse(text, NULL, &tick);
	ASSERT_EQ((uint64_t)tick.jobs.items[0]->reading.values[METRIC_CPU_USER].number, (uint64_t)41);
	ASSERT(!tick.jobs.items[0]->reading.values[METRIC_CPU_SYSTEM].is_known);
	ASSERT_EQ((uint64_t)tick.jobs.items[1]->reading.mount_count, (uint64_t)1);
	ASSERT_EQ(tick.jobs.items[1]->reading.mounts[0].ops[OP_READ].bytes, (uint64_t)53);
	tick_clear(&tick);
}
