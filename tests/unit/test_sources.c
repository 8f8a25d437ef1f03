/* SPDX-License-Identifier: MIT */
#include "sources/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "export/exposition.h"
#include "basic/file.h"
#include "lives.h"
#include "model/record.h"
#include "node/sampled_job.h"
#include "service/syscall_filter.h"
#include "test.h"
#include "tree.h"
#include "jobs/users.h"

/*
 * A source as small as one can be: a file with the node's number, and a file a job.  Their metrics
 * are others' that fit.
 */
#define EXAMPLE "sys/example"

struct source_state {
	int root_fd;
	unsigned int jobs; /* that it has at the time */
};

struct source_job_state {
	char path[128];
	uint64_t last;
};

static int example_open(const struct source_options *options, struct source_state *s,
			struct error *err)
{
	if (faccessat(options->root_fd, EXAMPLE, F_OK, 0) < 0)
		return error_set(err, -ENODEV, "there is no example here");
	s->root_fd = options->root_fd;
	return 0;
}

static int example_sample(struct source_state *s, uint64_t boot_ns, struct samples *to)
{
	uint64_t number;

	(void)boot_ns;
	return file_read_u64(s->root_fd, EXAMPLE "/value", &number) < 0
		       ? 0
		       : samples_add_plain(to, METRIC_NODE_PROCS_RUNNING, number);
}

static int example_describe(const struct source_state *s, struct strings *missing)
{
	return faccessat(s->root_fd, EXAMPLE "/value", F_OK, 0) < 0
		       ? strings_add(missing, "examples: none can be read")
		       : 0;
}

static void example_close(struct source_state *s)
{
	ASSERT_EQ(s->jobs, 0U);
}

static int example_attach(struct source_state *s, const struct source_job *job,
			  struct source_job_state **ret)
{
	struct source_job_state *own;

	if (!job->cpus)
		return -EAGAIN;
	if (strcmp(job->cpus, "9") == 0)
		return -EACCES;
	own = calloc(1, sizeof(*own));
	if (!own)
		return -ENOMEM;
	snprintf(own->path, sizeof(own->path), EXAMPLE "%s", job->path);
	s->jobs++;
	*ret = own;
	return 0;
}

static void example_sample_job(struct source_state *s, struct source_job_state *own,
			       const struct source_job *job, struct source_job_sample *to)
{
	uint64_t now;

	(void)job;
	if (file_read_u64(s->root_fd, own->path, &now) < 0)
		return;
	to->added[METRIC_CPU_CYCLES] = (struct value){ now - own->last, true };
	own->last = now;
}

static int example_describe_job(const struct source_state *s, struct record *record)
{
	(void)s;
	return record->reading.values[METRIC_CPU_CYCLES].is_known
		       ? 0
		       : strings_add(&record->coverage.missing, "examples: too short");
}

static void example_detach(struct source_state *s, struct source_job_state *own)
{
	s->jobs--;
	free(own);
}

static const struct source example = {
	.name = "example",
	.label = "examples: ",
	.help = "An example.",
	.size = sizeof(struct source_state),
	.open = example_open,
	.sample = example_sample,
	.describe = example_describe,
	.close = example_close,
	.attach = example_attach,
	.sample_job = example_sample_job,
	.describe_job = example_describe_job,
	.detach = example_detach,
};

static struct sources *open_one(const struct source *source, int root_fd, bool is_wanted)
{
	const struct source_options options = { .root_fd = root_fd };
	struct sources *s = NULL;

	ASSERT_OK(sources_open((struct source_list){ &source, 1 }, &is_wanted, &options, &s));
	return s;
}

/* What a node's coverage says; "": nothing. */
static void expect_missing(const struct sources *s, const char *wanted)
{
	_cleanup_(record_freep) struct record *record = record_new();

	ASSERT_OK(sources_describe(s, record));
	ASSERT_EQ(record->coverage.missing.count, *wanted ? (size_t)1 : (size_t)0);
	if (*wanted)
		ASSERT_STREQ(record->coverage.missing.items[0], wanted);
}

static void expect_missing_of_job(const struct sources *s, bool is_counted, const char *wanted)
{
	_cleanup_(record_freep) struct record *record = record_new();

	record->reading.values[METRIC_CPU_CYCLES].is_known = is_counted;
	ASSERT_OK(sources_describe_job(s, record));
	ASSERT_EQ(record->coverage.missing.count, *wanted ? (size_t)1 : (size_t)0);
	if (*wanted)
		ASSERT_STREQ(record->coverage.missing.items[0], wanted);
}

/* The page that a scrape gets; the caller frees. */
static char *page_of(struct sources *s)
{
	struct exposition_options options = {};
	_cleanup_(exposition_freep) struct exposition *e = NULL;
	const size_t room = 64 << 10;
	char *page = calloc(1, room);
	size_t length = 0;
	ssize_t n;

	ASSERT_OK(sources_put_node(s, 1, &options.samples));
	ASSERT_OK(sources_put_late(s, &options.samples));
	ASSERT_OK(exposition_new(&options, &e));
	while ((n = exposition_next(e, page + length, room - 1 - length)) > 0)
		length += (size_t)n;
	ASSERT_OK(n);
	return page;
}

/* ---- of the node ---- */

TEST(a_number_of_the_node_goes_from_its_file_to_the_page)
{
	_cleanup_close_ int root_fd = tree_open("node");
	_cleanup_(sources_freep) struct sources *s = NULL;

	tree_write(root_fd, EXAMPLE "/value", "1009\n");
	s = open_one(&example, root_fd, true);
	ASSERT_OK(sources_sample(s, 1));
	ASSERT_TOLD(page_of(s), "\njobmeter_node_procs_running 1009\n");
	expect_missing(s, "");
	unlinkat(root_fd, EXAMPLE "/value", 0);
	ASSERT_OK(sources_sample(s, 2));
	ASSERT_UNTOLD(page_of(s), "jobmeter_node_procs_running");
	expect_missing(s, "examples: none can be read");
}

TEST(numbers_that_jobs_need_are_read_at_each_reading_and_others_when_they_are_asked_for)
{
	_cleanup_close_ int root_fd = tree_open("unwanted");
	struct source of_jobs = example;
	_cleanup_(sources_freep) struct sources *s = NULL, *t = NULL;

	tree_write(root_fd, EXAMPLE "/value", "7\n");
	of_jobs.is_for_jobs = true;
	s = open_one(&example, root_fd, true);
	t = open_one(&of_jobs, root_fd, true);
	ASSERT_OK(sources_sample(s, 1));
	ASSERT_OK(sources_sample(t, 1));
	ASSERT_EQ(sources_find(s, "example")->count, (size_t)0);
	ASSERT_EQ(sources_find(t, "example")->count, (size_t)1);
	ASSERT(!sources_find(t, "another"));
	ASSERT(!sources_are_sampled(s) && sources_are_sampled(t) && !sources_are_sampled(NULL));
	tree_write(root_fd, EXAMPLE "/value", "11\n");
	ASSERT_TOLD(page_of(s), "\njobmeter_node_procs_running 11\n");
	ASSERT_TOLD(page_of(t), "\njobmeter_node_procs_running 7\n");
}

TEST(what_is_switched_off_or_not_there_is_said_and_not_read)
{
	_cleanup_close_ int root_fd = tree_open("off"), empty_fd = tree_open("empty");
	_cleanup_(sources_freep) struct sources *off = NULL, *absent = NULL;

	tree_write(root_fd, EXAMPLE "/value", "7\n");
	off = open_one(&example, root_fd, false);
	absent = open_one(&example, empty_fd, true);
	ASSERT_OK(sources_sample(off, 1));
	ASSERT_OK(sources_sample(absent, 1));
	ASSERT(!sources_find(off, "example") && !sources_find(absent, "example"));
	expect_missing(off, "examples: switched off (the agent's setting example)");
	expect_missing_of_job(off, false, "");
	expect_missing(absent, "examples: there is no example here");
	expect_missing_of_job(absent, false, "examples: there is no example here");
}

TEST(each_source_has_a_word_of_its_own)
{
	const struct source_list all = sources_all();

	for (size_t i = 0; i < all.count; i++) {
		ASSERT_EQ(sources_index(all.items[i]->name), i);
		ASSERT(strlen(all.items[i]->name) <= 15); /* as a thread is named */
		ASSERT_CONTAINS(all.items[i]->label, ": ");
		ASSERT(*all.items[i]->help);
	}
}

/* ---- of jobs ---- */

#define JOB "/slurm/uid_1000/job_42"

static char mount_point[] = "/cg";

/* Job 42, and what a sampler has to read it. */
struct made {
	struct hierarchy hierarchy;
	struct registry *registry;
	struct job_sources sources;
	struct registry_job *job;
};

static void make(int root_fd, struct made *ret)
{
	static const struct users_options names = {};
	const struct group_life lives[] = { life(1, 0, 110, 0, JOB) };

	*ret = (struct made){ .hierarchy = { .is_v2 = true, .v2_mount = mount_point },
			      .registry = lives_registry() };
	ret->sources = (struct job_sources){ .root_fd = root_fd,
					     .hierarchy = &ret->hierarchy,
					     .prolog_dir = "run/jobs" };
	ret->sources.users = users_new(&names);
	ret->sources.sources = open_one(&example, root_fd, true);
	ASSERT(ret->sources.users);
	learn(ret->registry, 130, lives, 1);
	ret->job = registry_find(ret->registry, "slurm", "42");
}

static void unmake(struct made *m)
{
	registry_free(m->registry);
	sources_free(m->sources.sources);
	users_free(m->sources.users);
}

static uint64_t cycles(const struct made *m)
{
	struct snapshot *s = snap(m->registry, 140);

	return number_of(s, "slurm", "42", METRIC_CPU_CYCLES);
}

TEST(a_number_of_a_job_goes_from_its_file_to_the_snapshot)
{
	_cleanup_close_ int root_fd = tree_open("job");
	const struct group_life end = life(1, 0, 110, 135, JOB);
	_cleanup_(unmake) struct made m = {};

	tree_write(root_fd, "cg" JOB "/cpuset.cpus.effective", "0-1\n");
	tree_write(root_fd, EXAMPLE JOB, "1000003\n");
	make(root_fd, &m);
	ASSERT_OK(sampled_job_read(&m.sources, m.job, 132 * SECOND));
	ASSERT_EQ(cycles(&m), UINT64_C(1000003));
	tree_write(root_fd, EXAMPLE JOB, "1000033\n");
	ASSERT_OK(sampled_job_read(&m.sources, m.job, 133 * SECOND));
	ASSERT_EQ(cycles(&m), UINT64_C(1000033));
	tree_write(root_fd, EXAMPLE JOB, "1000037\n");
	learn(m.registry, 135, &end, 1);
	ASSERT_OK(sampled_job_read(&m.sources, m.job, 135 * SECOND)); /* once more, as it is gone */
	ASSERT_EQ(cycles(&m), UINT64_C(1000037));
}

static uint64_t sampled(struct sources *s, struct source_attachments *a, const char *cpus)
{
	const struct source_job job = { JOB, cpus };
	struct source_job_sample sample = {};

	ASSERT_OK(sources_sample_job(s, a, cpus && !*cpus ? NULL : &job, &sample));
	return sample.added[METRIC_CPU_CYCLES].is_known ? sample.added[METRIC_CPU_CYCLES].number
							: UINT64_MAX;
}

TEST(a_source_may_wait_for_a_job_and_refuse_it_until_it_has_another_cgroup)
{
	_cleanup_close_ int root_fd = tree_open("attach");
	_cleanup_(sources_freep) struct sources *s = NULL;
	struct source_attachments a = {};

	tree_write(root_fd, EXAMPLE JOB, "11\n");
	s = open_one(&example, root_fd, true);
	ASSERT_EQ(sampled(s, &a, NULL), UINT64_MAX);
	ASSERT_EQ(sampled(s, &a, "0"), (uint64_t)11);
	ASSERT_EQ(sampled(s, &a, "0"), (uint64_t)0);
	ASSERT_EQ(sampled(s, &a, ""), (uint64_t)0); /* its last, and what it had is given back */
	ASSERT(!a.own);
	ASSERT_EQ(sampled(s, &a, "9"), UINT64_MAX);
	ASSERT_EQ(sampled(s, &a, "0"), UINT64_MAX); /* refused, for good */
	ASSERT_EQ(sampled(s, &a, ""), UINT64_MAX);
	ASSERT_EQ(sampled(s, &a, "0"), (uint64_t)11);
	source_attachments_clear(&a);
	expect_missing_of_job(s, true, "");
	expect_missing_of_job(s, false, "examples: too short");
}

/* ---- slow ones ---- */

#define SHORT_MS 20
#define LONG_MS 60000

static sem_t begun, may_end, freed;

/* It takes as long as the test wants. */
static int slow_sample(struct source_state *s, uint64_t boot_ns, struct samples *to)
{
	sem_post(&begun);
	while (sem_wait(&may_end) < 0)
		continue;
	return example_sample(s, boot_ns, to);
}

static void slow_close(struct source_state *s)
{
	sem_post(&freed);
	example_close(s);
}

/* A job has the number that the node has. */
static void slow_sample_job(struct source_state *s, struct source_job_state *own,
			    const struct source_job *job, struct source_job_sample *to)
{
	(void)s;
	(void)own;
	(void)job;
	to->added[METRIC_CPU_CYCLES] = (struct value){ 3, true };
}

#define SLOW(ms)                                                                                \
	{                                                                                       \
		.name = "slow", .label = "slow ones: ", .help = "A slow one.",                  \
		.deadline_ms = (ms), .size = sizeof(struct source_state), .open = example_open, \
		.sample = slow_sample, .describe = example_describe, .close = slow_close,       \
		.sample_job = slow_sample_job, .describe_job = example_describe_job,            \
	}

static const struct source patient = SLOW(LONG_MS), hasty = SLOW(SHORT_MS);

static struct sources *open_slow(const struct source *source, int root_fd)
{
	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	sem_init(&freed, 0, 0);
	tree_write(root_fd, EXAMPLE "/value", "1013\n");
	return open_one(source, root_fd, true);
}

/* And wait for its thread. */
static void close_slow(struct sources *s)
{
	sources_free(s);
	sem_post(&may_end);
	sem_wait(&freed);
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* A reading a millisecond, without another sample, until there is one. */
static void read_until_there(struct sources *s)
{
	while (sources_find(s, "slow")->count == 0) {
		ASSERT_OK(sources_sample(s, 1));
		sleep_ms(1);
	}
}

TEST(a_slow_source_is_not_waited_for_and_its_sample_comes_with_a_later_reading)
{
	_cleanup_close_ int root_fd = tree_open("slow");
	struct sources *s = open_slow(&patient, root_fd);
	struct source_attachments a = {};

	ASSERT_OK(sources_sample(s, 1));
	sources_ask(s);
	sem_wait(&begun);
	ASSERT_OK(sources_sample(s, 2)); /* while it is at it */
	sources_ask(s);
	ASSERT_EQ(sources_find(s, "slow")->count, (size_t)0);
	ASSERT_EQ(sampled(s, &a, "0"), UINT64_MAX);
	sem_post(&may_end);
	read_until_there(s);
	ASSERT_EQ(sampled(s, &a, "0"), (uint64_t)3);
	ASSERT_TOLD(page_of(s), "\njobmeter_node_procs_running 1013\n",
		    "\njobmeter_agent_source_late_samples_total{source=\"slow\"} 0\n");
	expect_missing(s, "");
	expect_missing_of_job(s, false, "examples: too short");
	sources_ask(s); /* what it said last holds until the next */
	sem_wait(&begun);
	ASSERT_OK(sources_sample(s, 3));
	ASSERT_EQ(sources_find(s, "slow")->count, (size_t)1);
	close_slow(s);
}

TEST(a_late_sample_is_withheld_counted_once_and_said_and_the_next_may_be_in_time)
{
	_cleanup_close_ int root_fd = tree_open("late");
	struct sources *s = open_slow(&hasty, root_fd);
	const char *late = "slow ones: the last sample took more than 20 ms, and is left out";
	_cleanup_free_ char *page = NULL;
	struct source_attachments a = {};

	sources_ask(s);
	sem_wait(&begun);
	sleep_ms(2 * SHORT_MS);
	ASSERT_OK(sources_sample(s, 1));
	ASSERT_OK(sources_sample(s, 2));
	expect_missing(s, late);
	expect_missing_of_job(s, false, late);
	ASSERT_EQ(sampled(s, &a, "0"), UINT64_MAX);
	sem_post(&may_end);
	sleep_ms(SHORT_MS);
	ASSERT_OK(sources_sample(s, 3)); /* over by now, perhaps */
	page = page_of(s);
	ASSERT_LACKS(page, "jobmeter_node_procs_running");
	ASSERT_CONTAINS(page, "\njobmeter_agent_source_late_samples_total{source=\"slow\"} 1\n");
	expect_missing(s, late);
	while (sources_find(s, "slow")->count == 0) { /* on a busy machine not the first is in time
						       */
		sem_post(&may_end);
		sources_ask(s);
		sleep_ms(1);
		ASSERT_OK(sources_sample(s, 4));
	}
	expect_missing(s, "");
	close_slow(s);
}

TEST(a_source_that_hangs_is_left_behind_and_gives_all_back_when_it_ends)
{
	_cleanup_close_ int root_fd = tree_open("hangs");
	struct sources *s = open_slow(&hasty, root_fd);
	int value;

	sources_ask(s);
	sem_wait(&begun);
	sources_free(s);
	ASSERT_OK(sem_getvalue(&freed, &value));
	ASSERT_EQ(value, 0);
	sem_post(&may_end);
	sem_wait(&freed);
}

TEST(a_slow_source_that_was_never_asked_has_no_thread_and_one_that_is_idle_ends_at_once)
{
	_cleanup_close_ int root_fd = tree_open("idle"), again_fd = tree_open("idle-again"),
			    empty_fd = tree_open("none");
	struct sources *s = open_slow(&patient, root_fd);
	int value;

	sources_free(s);
	s = open_slow(&patient, again_fd);
	sources_ask(s);
	sem_post(&may_end);
	read_until_there(s);
	sources_free(s);
	ASSERT_OK(sem_getvalue(&freed, &value));
	ASSERT_EQ(value, 1);
	s = open_one(&patient, empty_fd, true);
	ASSERT_OK(sources_sample(s, 1));
	sources_ask(s);
	expect_missing(s, "slow ones: there is no example here");
	sources_free(s);
}

/* In a process of its own, that has the agent's filter by the time. */
static int sample_confined(struct sources *s)
{
	struct error err = {};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall_filter_apply(FILTER_AGENT, &err) < 0)
		return 99;
	sources_ask(s);
	sem_post(&may_end);
	read_until_there(s);
	close_slow(s);
	return 0;
}

TEST(a_slow_source_has_its_thread_under_the_filter_of_the_agent)
{
	_cleanup_close_ int root_fd = tree_open("confined");
	struct sources *s = open_slow(&patient, root_fd);
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(sample_confined(s));
	sources_free(s);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT(WIFEXITED(status));
	ASSERT_EQ(WEXITSTATUS(status), 0);
}
