/* SPDX-License-Identifier: MIT */
/* Counters of made ports: whose they are is asked here, not how they are read. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "lives.h"
#include "basic/macro.h"
#include "model/sections/ports.h"
#include "test.h"

#define CPUS 4
#define JOB "/slurm/uid_1000/job_42"
#define OTHER "/slurm/uid_1000/job_43"
#define SENT 0
#define RECEIVED 1

/* A reading at @second, when all of @lives are as they say, jobs that have no CPUs get all of them,
 * and the port has counted as much; a number of UINT64_MAX is not known. */
static void read_counted(struct registry *r, uint64_t second, const struct group_life *lives,
			 size_t count, uint64_t sent, uint64_t received)
{
	struct ports now = {};
	struct port *port = ports_add(&now, "mlx5_0", "1");

	port->counters[SENT] = (struct value){ sent & VALUE_MAX, sent != UINT64_MAX };
	port->counters[RECEIVED] = (struct value){ received & VALUE_MAX, received != UINT64_MAX };
	learn(r, second, lives, count);
	feed(r, NULL, 0, NULL, 0);
	for (struct registry_job *j = NULL; (j = registry_next(r, j));) {
		if (!registry_job_known(j)->allocated_cores.is_known)
			registry_job_facts(j)->allocated_cores = (struct value){ CPUS * 1000,
										 true };
	}
	fold(r, second);
	ASSERT_OK(registry_feed_ports(r, &now, second * SECOND, EPOCH + second * SECOND, CPUS));
	(void)snap(r, second);
}

static void read_sent(struct registry *r, uint64_t second, const struct group_life *lives,
		      size_t count, uint64_t sent)
{
	read_counted(r, second, lives, count, sent, 0);
}

static struct ports ports_of(struct registry *r, const char *manager, const char *id)
{
	struct ports ports = {};
	const char *why = registry_job_ports(registry_find(r, manager, id), &ports);

	ASSERT(!why);
	ASSERT_EQ(ports.count, (size_t)1);
	ASSERT_STREQ(ports.items[0].device, "mlx5_0");
	ASSERT_STREQ(ports.items[0].number, "1");
	return ports;
}

static const char *why_of(struct registry *r, const char *manager, const char *id)
{
	struct ports ports = {};
	const char *why = registry_job_ports(registry_find(r, manager, id), &ports);

	ASSERT(why && !ports.count);
	return why;
}

TEST(a_job_that_has_the_node_has_its_ports)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct group_life born = life(1, 0, 110, 0, JOB), dead = life(1, 0, 110, 120, JOB);
	struct ports ports;

	read_sent(r, 105, NULL, 0, 100);
	read_sent(r, 115, &born, 1, 1100);
	ports = ports_of(r, "slurm", "42");
	ASSERT_EQ(ports.items[0].counters[SENT].number, (uint64_t)1000);
	ASSERT_EQ(ports.items[0].to_ns, EPOCH + 115 * SECOND);
	read_sent(r, 125, &dead, 1, 5107);
	read_sent(r, 135, NULL, 0, 9000); /* is nobody's */
	ports = ports_of(r, "slurm", "42");
	ASSERT_EQ(ports.items[0].counters[SENT].number, (uint64_t)5007);
	ASSERT(ports.items[0].counters[RECEIVED].is_known &&
	       !ports.items[0].counters[RECEIVED].number);
	ASSERT(!ports.items[0].counters[2].is_known); /* which nobody counted */
	ASSERT_EQ(ports.items[0].from_ns, EPOCH + 105 * SECOND);
	ASSERT_EQ(ports.items[0].to_ns, EPOCH + 125 * SECOND);
}

TEST(a_job_that_begins_and_ends_between_two_readings_has_them_too)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct group_life dead = life(1, 0, 110, 111, JOB);

	read_sent(r, 105, NULL, 0, 100);
	read_sent(r, 115, &dead, 1, 1103);
	ASSERT_EQ(ports_of(r, "slurm", "42").items[0].counters[SENT].number, (uint64_t)1003);
}

TEST(with_another_job_on_the_node_they_are_neithers)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct group_life first[] = { life(1, 0, 110, 0, JOB) };
	const struct group_life second[] = { life(1, 0, 110, 0, JOB),
					     life(2, 0, 116, 117, OTHER) }; /* came and went */

	read_sent(r, 105, NULL, 0, 100);
	read_sent(r, 115, first, 1, 1100);
	ASSERT_EQ(ports_of(r, "slurm", "42").count, (size_t)1);
	read_sent(r, 125, second, 2, 5107);
	ASSERT_STREQ(why_of(r, "slurm", "42"), "the node had other jobs meanwhile");
	ASSERT_STREQ(why_of(r, "slurm", "43"),
		     "it began and ended between two readings, and others did");
	read_sent(r, 135, first, 1, 6000); /* and that stays so */
	ASSERT_STREQ(why_of(r, "slurm", "42"), "the node had other jobs meanwhile");
}

TEST(of_jobs_one_after_the_other_only_what_is_surely_theirs_is_told)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct group_life first[] = { life(1, 0, 110, 0, JOB) };
	const struct group_life both[] = { life(1, 0, 110, 120, JOB), life(2, 0, 122, 0, OTHER) };
	const struct group_life last[] = { life(2, 0, 122, 131, OTHER) };
	struct ports ports;

	read_sent(r, 105, NULL, 0, 100);
	read_sent(r, 115, first, 1, 1100);
	read_sent(r, 125, both, 2, 5100);
	read_sent(r, 135, last, 1, 5117);
	ports = ports_of(r, "slurm", "42");
	ASSERT_EQ(ports.items[0].counters[SENT].number, (uint64_t)1000);
	ASSERT_EQ(ports.items[0].to_ns, EPOCH + 115 * SECOND);
	ports = ports_of(r, "slurm", "43");
	ASSERT_EQ(ports.items[0].counters[SENT].number, (uint64_t)17);
	ASSERT_EQ(ports.items[0].from_ns, EPOCH + 125 * SECOND);
	ASSERT_EQ(ports.items[0].to_ns, EPOCH + 135 * SECOND);
}

TEST(a_run_within_the_job_is_part_of_it_and_one_beside_it_is_not)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct group_life within[] = { life(1, 0, 110, 0, JOB),
					     life(2, 1, 111, 0, JOB "/jobmeter-run-9") };
	const struct group_life beside[] = { life(3, 0, 126, 0, "/jobmeter-run-10") };

	read_sent(r, 105, NULL, 0, 100);
	read_sent(r, 115, within, 2, 1100);
	ASSERT_EQ(ports_of(r, "slurm", "42").items[0].counters[SENT].number, (uint64_t)1000);
	ASSERT_EQ(ports_of(r, "run", "9").items[0].counters[SENT].number, (uint64_t)1000);
	ASSERT(ports_of(r, "run", "9").items[0].is_shared &&
	       !ports_of(r, "slurm", "42").items[0].is_shared);
	read_sent(r, 130, beside, 1, 1200);
	ASSERT_STREQ(why_of(r, "slurm", "42"), "the node had other jobs meanwhile");
	ASSERT_EQ(ports_of(r, "run", "9").items[0].counters[SENT].number, (uint64_t)1100);
	ASSERT_EQ(ports_of(r, "run", "10").items[0].counters[SENT].number, (uint64_t)100);
}

TEST(a_job_with_a_part_of_the_cpus_has_no_ports)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct group_life born = life(1, 0, 110, 0, JOB);

	read_sent(r, 105, NULL, 0, 100);
	learn(r, 111, &born, 1);
	registry_job_facts(registry_find(r, "slurm", "42"))->allocated_cores =
		(struct value){ CPUS * 1000 - 1, true };
	read_sent(r, 115, NULL, 0, 1100);
	ASSERT_STREQ(why_of(r, "slurm", "42"), "known of the node's ports, not by job");
}

TEST(what_a_job_may_use_can_be_told_late_and_forgotten_at_its_end)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct group_life first[] = { life(1, 0, 110, 0, JOB) },
				second[] = { life(2, 0, 126, 0, OTHER) };
	const struct group_life deaths[] = { life(1, 0, 110, 120, JOB), life(2, 0, 126, 0, OTHER) };
	struct job *facts;

	read_sent(r, 105, NULL, 0, 100);
	read_sent(r, 115, first, 1, 1100);
	learn(r, 121, deaths, 1);
	fold(r, 122);
	facts = registry_job_facts(registry_find(r, "slurm", "42"));
	facts->allocated_cores = (struct value){ 0, false };
	{
		struct ports now = {};

		ports_add(&now, "mlx5_0", "1")->counters[SENT] = (struct value){ 1203, true };
		ASSERT_OK(registry_feed_ports(r, &now, 125 * SECOND, EPOCH + 125 * SECOND, CPUS));
	}
	ASSERT_EQ(ports_of(r, "slurm", "42").items[0].counters[SENT].number, (uint64_t)1103);
	read_sent(r, 130, second, 1, 1300);
	ASSERT_EQ(ports_of(r, "slurm", "43").count, (size_t)1);
	registry_job_facts(registry_find(r, "slurm", "43"))->allocated_cores =
		(struct value){ 1000, true }; /* the prolog's file */
	read_sent(r, 135, NULL, 0, 1400);
	ASSERT_STREQ(why_of(r, "slurm", "43"), "known of the node's ports, not by job");
}

TEST(of_a_job_that_was_there_before_the_agent_they_are_not_known)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct group_life born = life(1, 0, 110, 0, JOB);

	read_sent(r, 115, &born, 1, 1100);
	read_sent(r, 125, NULL, 0, 1200);
	ASSERT_STREQ(why_of(r, "slurm", "42"), "the job began before it was measured");
}

TEST(a_counter_that_was_set_back_or_came_to_its_end_is_not_known_from_then_on)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct group_life born = life(1, 0, 110, 0, JOB);
	struct ports ports;

	read_counted(r, 105, NULL, 0, 100, 50);
	read_counted(r, 115, &born, 1, 1100, 60);
	read_counted(r, 125, NULL, 0, 1000, 70); /* less than before, and more than at first */
	read_counted(r, 135, NULL, 0, 9000, 80);
	ports = ports_of(r, "slurm", "42");
	ASSERT(!ports.items[0].counters[SENT].is_known);
	ASSERT_EQ(ports.items[0].counters[RECEIVED].number, (uint64_t)30);
	read_counted(r, 145, NULL, 0, 9000, UINT64_MAX);
	read_counted(r, 155, NULL, 0, 9000, 90);
	ASSERT(!ports_of(r, "slurm", "42").items[0].counters[RECEIVED].is_known);
}

/* ---- another agent ---- */

/* One that finds what the one before wrote down of job 42. */
static struct registry *restore(struct registry *before)
{
	_cleanup_free_ char *text = NULL;
	struct registry *r = lives_registry();
	struct error err = {};

	ASSERT_OK(registry_format_job(registry_find(before, "slurm", "42"), &text));
	ASSERT_OK(registry_parse_job(r, text, strlen(text), &err));
	return r;
}

/* Followed from 1000 on, of which 4007 were shown when it was killed; what is written down is as
 * the job began. */
static struct registry *kill_one(void)
{
	_cleanup_(registry_freep) struct registry *before = lives_registry();
	const struct group_life born = life(1, 0, 110, 0, JOB);
	struct registry *r;

	read_sent(before, 105, NULL, 0, 1000);
	read_sent(before, 115, &born, 1, 1100);
	ASSERT(registry_job_is_changed(registry_find(before, "slurm", "42")));
	r = restore(before);
	read_sent(before, 125, &born, 1, 5007);
	ASSERT_EQ(ports_of(before, "slurm", "42").items[0].counters[SENT].number, (uint64_t)4007);
	return r;
}

TEST(after_a_kill_they_go_on)
{
	_cleanup_(registry_freep) struct registry *r = kill_one();
	const struct group_life born = life(1, 0, 110, 0, JOB), dead = life(1, 0, 110, 150, JOB);
	struct ports ports;

	read_sent(r, 135, &born, 1, 7007);
	ASSERT_EQ(ports_of(r, "slurm", "42").items[0].counters[SENT].number, (uint64_t)6007);
	read_sent(r, 155, &dead, 1, 7117);
	ports = ports_of(r, "slurm", "42");
	ASSERT_EQ(ports.items[0].counters[SENT].number, (uint64_t)6117);
	ASSERT_EQ(ports.items[0].from_ns, EPOCH + 105 * SECOND);
	ASSERT_EQ(ports.items[0].to_ns, EPOCH + 155 * SECOND);
	ASSERT(!registry_job_ports_are_cut(registry_find(r, "slurm", "42")));
}

TEST(whom_the_kernel_side_saw_meanwhile_is_asked_after_a_kill)
{
	_cleanup_(registry_freep) struct registry *r = kill_one();
	const struct group_life lives[] = { life(1, 0, 110, 0, JOB), life(2, 0, 126, 127, OTHER) };

	read_sent(r, 135, lives, 2, 7007);
	ASSERT_STREQ(why_of(r, "slurm", "42"), "the node had other jobs meanwhile");
}

TEST(of_a_job_that_ended_before_another_one_came_they_are_unknown_and_not_less)
{
	_cleanup_(registry_freep) struct registry *r = kill_one();
	const struct group_life lives[] = { life(1, 0, 110, 126, JOB), life(2, 0, 128, 0, OTHER) };

	read_sent(r, 135, lives, 2, 7007);
	ASSERT_STREQ(why_of(r, "slurm", "42"), "the agent was not there all the time");
}

TEST(where_nobody_watched_after_a_kill_they_are_unknown)
{
	_cleanup_(registry_freep) struct registry *r = kill_one();

	registry_lose_ports(r);
	read_sent(r, 135, NULL, 0, 7007);
	ASSERT_STREQ(why_of(r, "slurm", "42"), "the agent was not there all the time");
}

TEST(where_the_agent_was_stopped_they_stay_as_they_were)
{
	_cleanup_(registry_freep) struct registry *before = lives_registry(), *r;
	const struct group_life born = life(1, 0, 110, 0, JOB);
	struct ports ports;

	read_sent(before, 105, NULL, 0, 1000);
	read_counted(before, 115, &born, 1, 1100, UINT64_MAX);
	registry_cut_ports(before);
	r = restore(before);
	registry_lose_ports(r);
	read_sent(r, 135, NULL, 0, 7007);
	ports = ports_of(r, "slurm", "42");
	ASSERT_EQ(ports.items[0].counters[SENT].number, (uint64_t)100);
	ASSERT(!ports.items[0].counters[RECEIVED].is_known);
	ASSERT_EQ(ports.items[0].to_ns, EPOCH + 115 * SECOND);
	ASSERT(registry_job_ports_are_cut(registry_find(r, "slurm", "42")));
}

TEST(that_they_are_nobodys_is_written_down)
{
	_cleanup_(registry_freep) struct registry *before = lives_registry(), *r;
	const struct group_life born = life(1, 0, 110, 0, JOB), other = life(2, 0, 116, 117, OTHER);

	read_sent(before, 105, NULL, 0, 1000);
	read_sent(before, 115, &born, 1, 1100);
	registry_job_saved(registry_find(before, "slurm", "42"));
	read_sent(before, 125, &other, 1, 1200);
	ASSERT(registry_job_is_changed(registry_find(before, "slurm", "42")));
	r = restore(before);
	read_sent(r, 135, NULL, 0, 7007);
	ASSERT_STREQ(why_of(r, "slurm", "42"), "the node had other jobs meanwhile");
}

TEST(an_odd_text_of_them_is_refused)
{
	static const char *const odd[] = {
		"7",
		"{}",
		"{\"state\": 7}",
		"{\"state\": \"none\"}",
		"{\"state\": \"known\"}",
		"{\"state\": \"followed\", \"first\": []}",
		"{\"state\": \"cut\", \"first\": [], \"last\": [7]}",
		"{\"state\": \"cut\", \"first\": [{\"device\": \"a\", \"port\": 1}], \"last\": []}",
	};

	_cleanup_(registry_freep) struct registry *before = lives_registry();
	const struct group_life born = life(1, 0, 110, 0, JOB);
	_cleanup_free_ char *well = NULL;

	learn(before, 111, &born, 1);
	ASSERT_OK(registry_format_job(registry_find(before, "slurm", "42"), &well));
	ASSERT_LACKS(well, "ports");
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		_cleanup_(registry_freep) struct registry *r = lives_registry();
		_cleanup_free_ char *text = NULL;
		struct error err = {};

		ASSERT(asprintf(&text, "{\"ports\": %s, %s", odd[i], well + 1) > 0);
		ASSERT_ERR(registry_parse_job(r, text, strlen(text), &err), -EINVAL);
		ASSERT_CONTAINS(err.text, "ports");
	}
}
