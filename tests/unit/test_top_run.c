/* SPDX-License-Identifier: MIT */
#include "tui/top_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "made_top.h"
#include "test.h"
#include "tui/top_source.h"
#include "basic/waiter.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)

/* Gives both made ticks; the second one is as much later than the first as it is asked for later.
 */
struct double_source {
	struct top_source source; /* first */
	uint64_t first_age_ns; /* how old the first one is when it is given */
	uint64_t first_ns;
	size_t reads;
	uint64_t ages_ns[2], late_ns; /* what was asked for; when the second one was, after the
					 first one's moment */
	bool is_short[2];
	bool is_mute; /* no answer comes, and somebody asks us to end */
	const struct waiter *waiter;
};

static void set_waiter_double(struct top_source *s, const struct waiter *waiter)
{
	((struct double_source *)(void *)s)->waiter = waiter;
}

static int read_double(struct top_source *s, uint64_t max_age_ns, uint64_t ended_ns,
		       const struct tick *before, struct tick *ret, struct error *err)
{
	struct double_source *d = (struct double_source *)(void *)s;
	uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME);

	(void)ended_ns;
	if (d->is_mute) {
		d->reads++;
		ASSERT_OK(d->waiter->run(d->waiter->context));
		raise(SIGTERM);
		return d->waiter->run(d->waiter->context);
	}
	if (d->reads >= 2)
		return error_set(err, -EIO, "only two were wanted");
	made_wire_snapshot(d->reads == 1, ret);
	d->ages_ns[d->reads] = max_age_ns;
	d->is_short[d->reads] = before;
	if (d->reads++ == 0) {
		d->first_ns = ret->boot_ns = now_ns - d->first_age_ns;
		return 0;
	}
	ret->boot_ns = now_ns;
	d->late_ns = now_ns - d->first_ns;
	return 0;
}

static struct double_source make_source(uint64_t first_age_ns)
{
	return (struct double_source){ .source = { .name = "double",
						   .set_waiter = set_waiter_double,
						   .read = read_double },
				       .first_age_ns = first_age_ns };
}

/* What it prints is *ret. */
static int run(struct double_source *source, const struct top_options *options, char **ret,
	       struct error *err)
{
	const char *path = test_path("printed");
	int saved = dup(1), fd, r;

	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fflush(stdout);
	dup2(fd, 1);
	close(fd);
	r = top_run(&source->source, options, err);
	fflush(stdout);
	dup2(saved, 1);
	close(saved);
	ASSERT_OK(file_read(AT_FDCWD, path, 1 << 20, ret, NULL));
	return r;
}

TEST(the_first_frame_has_rates_since_a_reading_that_was_there)
{
	const struct top_options options = {
		.form = TOP_FORM_TEXT, .interval_ns = 2 * S, .count = 1, .columns = 80
	};
	struct double_source source = make_source(30 * S);
	_cleanup_free_ char *text = NULL;
	struct error err = {};

	ASSERT_OK(run(&source, &options, &text, &err));
	ASSERT_EQ((uint64_t)source.reads, (uint64_t)2);
	ASSERT_EQ(source.ages_ns[0], 60 * S);
	ASSERT_EQ(source.ages_ns[1], S); /* it may have been taken since */
	ASSERT(source.is_short[0] && source.is_short[1]);
	ASSERT_CONTAINS(text, "by CORES ▼  over 3");
	ASSERT_CONTAINS(text, "\n 123      alice    train.sh   0.2/4 ");
}

TEST(readings_that_follow_each_other_at_once_are_kept_apart)
{
	const struct top_options options = { .form = TOP_FORM_LINES,
					     .interval_ns = 2 * S,
					     .count = 1 };
	struct double_source source = make_source(0);
	_cleanup_free_ char *text = NULL;
	struct error err = {};

	ASSERT_OK(run(&source, &options, &text, &err));
	ASSERT(source.late_ns >= 100 * MS);
	ASSERT(source.ages_ns[1] >= 50 * MS &&
	       source.ages_ns[1] <= MAX(source.late_ns - 100 * MS, 50 * MS));
	ASSERT_EQ((uint64_t)source.reads, (uint64_t)2);
}

TEST(what_is_written_is_whole_and_what_only_rates_begin_with_need_not_be)
{
	_cleanup_free_ char *text = NULL, *again = NULL, *recorded = NULL;
	size_t size;
	struct top_options options = { .form = TOP_FORM_LINES, .interval_ns = 2 * S, .count = 1 };
	struct double_source lines = make_source(S), recording = make_source(S);
	struct error err = {};

	ASSERT_OK(run(&lines, &options, &text, &err));
	ASSERT(lines.is_short[0] && !lines.is_short[1]);
	ASSERT(lines.source.takes_sums); /* no class asks for more */
	options.form = TOP_FORM_TEXT;
	options.columns = 80;
	options.record = open_memstream(&recorded, &size);
	ASSERT_OK(run(&recording, &options, &again, &err));
	fclose(options.record);
	ASSERT(!recording.is_short[0] && !recording.is_short[1]);
}

TEST(a_job_that_began_since_the_last_reading_is_found)
{
	static const struct top_target began = { NULL, "1000" }, absent = { NULL, "4711" };
	struct top_options options = { .form = TOP_FORM_TEXT,
				       .interval_ns = 2 * S,
				       .count = 1,
				       .columns = 80,
				       .targets = &began,
				       .target_count = 1 };
	struct double_source source = make_source(S), other = make_source(S);
	_cleanup_free_ char *text = NULL, *none = NULL;
	struct error err = {};

	ASSERT_OK(run(&source, &options, &text, &err));
	ASSERT_CONTAINS(text, " 1000     alice    short ");
	ASSERT_CONTAINS(text, "1 of 6 jobs");
	options.targets = &absent;
	ASSERT_ERR(run(&other, &options, &none, &err), -ENOENT);
	ASSERT_STREQ(err.text, "there is no job '4711' that lives, or it is not yours");
	ASSERT_STREQ(none, "");
}

TEST(a_signal_ends_it_while_no_answer_comes)
{
	const struct top_options options = { .form = TOP_FORM_TEXT,
					     .interval_ns = 2 * S,
					     .columns = 80 };
	struct double_source source = make_source(S);
	_cleanup_free_ char *text = NULL;
	struct error err = {};

	source.is_mute = true;
	ASSERT_OK(run(&source, &options, &text, &err));
	ASSERT_EQ((uint64_t)source.reads, (uint64_t)1);
	ASSERT_STREQ(text, "");
}

TEST(of_a_line_that_there_is_no_room_for_nothing_stays)
{
	struct top_options options = {
		.form = TOP_FORM_TEXT, .interval_ns = 2 * S, .count = 1, .columns = 80
	};
	struct double_source source = make_source(S);
	struct rlimit limit, small;
	_cleanup_free_ char *path = NULL, *text = NULL, *recorded = NULL;
	struct error err = {};
	int r;

	ASSERT(asprintf(&path, "%s/recorded", test_dir()) > 0);
	options.record = fopen(path, "we");
	ASSERT(fputs("before\n", options.record) > 0 && fflush(options.record) == 0);
	ASSERT(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	small = (struct rlimit){ 1009, limit.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	ASSERT(setrlimit(RLIMIT_FSIZE, &small) == 0);
	r = run(&source, &options, &text, &err);
	ASSERT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	ASSERT_ERR(r, -EFBIG);
	fclose(options.record);
	ASSERT_OK(file_read(AT_FDCWD, path, 1 << 20, &recorded, NULL));
	ASSERT_STREQ(recorded, "before\n");
}
