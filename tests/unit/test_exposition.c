/* SPDX-License-Identifier: MIT */
#include "export/exposition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "made_snapshot.h"
#include "test.h"
#include "basic/utf8.h"

/* The whole page, asked for in pieces of @piece bytes; the caller frees. */
static char *page_in(const struct exposition_options *options, size_t piece)
{
	_cleanup_(exposition_freep) struct exposition *e = NULL;
	size_t room = 64 << 20, length = 0;
	char *page = malloc(room);
	ssize_t n;

	ASSERT_OK(exposition_new(options, &e));
	while ((n = exposition_next(e, page + length, MIN(piece, room - length))) > 0)
		length += (size_t)n;
	ASSERT_OK(n);
	page[length] = '\0';
	return page;
}

static char *page_of(const struct snapshot *s, enum exposition_format format)
{
	struct exposition_options options = { .format = format, .snapshot = s };

	return page_in(&options, 16384);
}

/* The text format of an OpenMetrics page: families are named as their series, and have no units. */
static char *text_format_of(const char *openmetrics)
{
	_cleanup_free_ char *copy = strdup(openmetrics);
	char *text = NULL, *line, *rest = copy;
	const char *suffix = "";
	size_t size;
	FILE *out = open_memstream(&text, &size);

	while ((line = strsep(&rest, "\n")) && *line) {
		char *words = line;

		if (strncmp(line, "# UNIT", 6) == 0 || strcmp(line, "# EOF") == 0 ||
		    (*line != '#' && strstr(line, "_created{")))
			continue;
		if (*line != '#') {
			fprintf(out, "%s\n", line);
			continue;
		}
		for (int i = 0; i < 3; i++) /* behind the mark, the keyword and the name */
			words = strchr(words, ' ') + 1;
		words[-1] = '\0';
		if (strncmp(line, "# TYPE", 6) == 0) {
			suffix = strcmp(words, "counter") == 0 ? "_total"
				 : strcmp(words, "info") == 0  ? "_info"
							       : "";
			words = strcmp(words, "info") == 0 ? "gauge" : words;
		}
		fprintf(out, "%s%s ", line, suffix);
		for (; *words; words++)
			if (words[0] != '\\' || words[1] != '"') /* quotes stand for themselves */
				fputc(*words, out);
		fputc('\n', out);
	}
	fclose(out);
	return text;
}

TEST(a_made_snapshot_is_as_it_should_be_in_both_formats)
{
	_cleanup_(made_snapshot_clear) struct snapshot s = {};
	struct exposition_options options = { .snapshot = &s };
	_cleanup_free_ char *text = NULL, *openmetrics = NULL;

	made_snapshot_fill(&s);
	made_samples_fill(&options.samples);
	text = page_in(&options, 16384);
	options = (struct exposition_options){ .format = EXPOSITION_OPENMETRICS, .snapshot = &s };
	made_samples_fill(&options.samples);
	openmetrics = page_in(&options, 16384);
	ASSERT_GOLDEN(openmetrics, "made-exposition.openmetrics");
	ASSERT_TEXT(text_format_of(openmetrics), text);
}

TEST(names_may_begin_otherwise)
{
	_cleanup_(made_snapshot_clear) struct snapshot s = {};
	struct exposition_options options = { .snapshot = &s,
					      .prefix = "a2345678901234567890_b234567890_" };
	_cleanup_free_ char *page = NULL;

	made_snapshot_fill(&s);
	page = page_in(&options, 16384);
	ASSERT_CONTAINS(page, "# TYPE a2345678901234567890_b234567890__job_info gauge\n"
			      "# HELP a2345678901234567890_b234567890__job_info ");
	ASSERT_CONTAINS(page, "\na2345678901234567890_b234567890__job_info{");
	ASSERT(!strstr(page, "jobmeter_job"));
}

TEST(the_page_is_the_same_however_small_its_pieces)
{
	_cleanup_(made_snapshot_clear) struct snapshot s = {};
	struct exposition_options options = { .format = EXPOSITION_OPENMETRICS, .snapshot = &s };
	_cleanup_free_ char *bytes = NULL, *odd = NULL, *whole = NULL;

	made_snapshot_fill(&s);
	bytes = page_in(&options, 1);
	odd = page_in(&options, 4099);
	whole = page_in(&options, SIZE_MAX);
	ASSERT_STREQ(bytes, whole);
	ASSERT_STREQ(odd, whole);
}

TEST(all_series_of_a_family_stand_together_and_none_is_there_twice)
{
	_cleanup_(made_snapshot_clear) struct snapshot s = {};
	_cleanup_free_ char *page = NULL, *last = strdup("");
	char *rest, *line;
	size_t families = 0;

	made_snapshot_fill_large(&s, 3, 2, 0);
	page = page_of(&s, EXPOSITION_TEXT);
	rest = page;
	while ((line = strsep(&rest, "\n")) && *line) {
		char name[256], again[300];

		if (sscanf(line, "# TYPE %255s", name) == 1) {
			free(last);
			last = strdup(name);
			families++;
			snprintf(again, sizeof(again), "# TYPE %s ", name);
			ASSERT(!rest || !strstr(rest, again));
		} else if (*line != '#') {
			ASSERT_EQ(strncmp(line, last, strlen(last)), 0);
			ASSERT(line[strlen(last)] == '{' || line[strlen(last)] == ' ');
			*strrchr(line, ' ') = '\0';
			snprintf(again, sizeof(again), "\n%s ", line);
			ASSERT(!rest || !strstr(rest, again));
		}
	}
	ASSERT(families > 30);
}

TEST(names_of_the_site_make_one_series_of_several_mounts)
{
	static const struct exposition_name names[] = { { "/scratch", "SCRATCH" },
							{ "/lustre/b", "SCRATCH" },
							{} };
	_cleanup_(made_snapshot_clear) struct snapshot s = { .has_mounts = true };
	struct exposition_options options = { .snapshot = &s, .names = names };
	uint32_t b = made_mount(&s, ROW_MOUNT, "/bind", "lustre"),
		 a = made_mount(&s, ROW_MOUNT, "/scratch", "lustre");
	uint32_t gone = made_mount(&s, ROW_MOUNT, "/gone", "lustre");
	uint32_t other = made_mount(&s, ROW_MOUNT, "/scratch", "tmpfs");
	_cleanup_free_ char *page = NULL;

	snapshot_mount_clear(&s.mounts[gone]);
	s.mounts[b].aliases[0] = strdup("/lustre/b");
	made_job(&s, "slurm", "1");
	made_row(&s, b, OP_READ, INTERFACE_CALL, (struct op_counts){ .bytes = 101 });
	made_row(&s, b, OP_OPEN, INTERFACE_CALL, (struct op_counts){ .calls = 2 });
	made_row(&s, b, OP_STAT, INTERFACE_CALL, (struct op_counts){ .calls = 3 });
	made_row(&s, a, OP_READ, INTERFACE_CALL, (struct op_counts){ .bytes = 10007 });
	made_row(&s, a, OP_OPEN, INTERFACE_CALL, (struct op_counts){ .calls = 5 });
	made_row(&s, other, OP_READ, INTERFACE_CALL, (struct op_counts){ .bytes = 7 });
	page = page_in(&options, 4096);
	ASSERT_CONTAINS(
		page,
		"read_bytes_total{manager=\"slurm\",jobid=\"1\",mount=\"SCRATCH\",fstype=\"lustre\"} 10108\n");
	ASSERT_CONTAINS(
		page,
		"read_bytes_total{manager=\"slurm\",jobid=\"1\",mount=\"SCRATCH\",fstype=\"tmpfs\"} 7\n");
	ASSERT_CONTAINS(page, "fstype=\"lustre\",op=\"open\"} 7\n");
	ASSERT_CONTAINS(page, "fstype=\"lustre\",op=\"stat\"} 3\n");
	ASSERT_LACKS(page, "/bind");
}

TEST(what_is_not_known_has_no_series)
{
	_cleanup_(made_snapshot_clear) struct snapshot s = {};
	_cleanup_free_ char *timeless = NULL, *fileless = NULL;

	made_snapshot_fill(&s);
	s.has_seconds = false;
	timeless = page_of(&s, EXPOSITION_TEXT);
	ASSERT_CONTAINS(timeless, "io_read_calls_total{");
	ASSERT_LACKS(timeless, "io_read_seconds_total");
	ASSERT_LACKS(timeless, "io_meta_seconds_total");
	s.has_mounts = false;
	fileless = page_of(&s, EXPOSITION_TEXT);
	ASSERT_LACKS(fileless, "mount=");
	ASSERT_CONTAINS(fileless, "jobmeter_job_cpu_seconds_total{");
	ASSERT_TEXT(page_of(NULL, EXPOSITION_TEXT), "");
	ASSERT_TEXT(page_of(NULL, EXPOSITION_OPENMETRICS), "# EOF\n");
}

static bool is_adas(void *context, const struct snapshot_job *job)
{
	(*(size_t *)context)++;
	return job->job->uid == 1815;
}

TEST(a_user_sees_only_what_he_may)
{
	_cleanup_(made_snapshot_clear) struct snapshot s = {};
	size_t asked = 0;
	struct exposition_options options = { .snapshot = &s,
					      .may_see = is_adas,
					      .context = &asked };
	_cleanup_free_ char *page = NULL;

	made_snapshot_fill(&s);
	page = page_in(&options, 4096);
	ASSERT(asked > 0);
	ASSERT_CONTAINS(page, "jobid=\"7\"");
	ASSERT_LACKS(page, "jobid=\"12-1\"");
	ASSERT_LACKS(page, "jobid=\"8\"");
	ASSERT_LACKS(page, "quote");
}

TEST(of_two_jobs_of_one_name_the_live_one_is_shown)
{
	_cleanup_(made_snapshot_clear) struct snapshot s = {};
	_cleanup_free_ char *live_first = NULL, *ended = NULL, *live_last = NULL;

	for (size_t i = 0; i < 3; i++)
		made_job(&s, "slurm", "1")->values[METRIC_TASKS_ENDED] = (struct value){ 100 + i,
											 true };
	s.jobs[1].is_live = s.jobs[2].is_live = false;
	live_first = page_of(&s, EXPOSITION_TEXT);
	ASSERT_CONTAINS(live_first, "ended_total{manager=\"slurm\",jobid=\"1\"} 100\n");
	s.jobs[0].is_live = false;
	ended = page_of(&s, EXPOSITION_TEXT);
	ASSERT_CONTAINS(ended, "ended_total{manager=\"slurm\",jobid=\"1\"} 102\n");
	s.jobs[2].is_live = true;
	live_last = page_of(&s, EXPOSITION_TEXT);
	ASSERT_CONTAINS(live_last, "} 102\n");
	ASSERT_LACKS(live_last, "} 101\n");
	ASSERT_LACKS(live_last, "} 100\n");
	ASSERT_LACKS(ended, "} 100\n");
	ASSERT_LACKS(live_first, "} 102\n");
}

TEST(long_names_are_cut_and_stay_different)
{
	_cleanup_(made_snapshot_clear) struct snapshot s = { .has_mounts = true };
	char name[5000];
	const char *first, *second;
	_cleanup_free_ char *page = NULL;

	memset(name, '"', sizeof(name) - 1); /* each becomes two */
	name[sizeof(name) - 1] = '\0';
	uint32_t a = made_mount(&s, ROW_MOUNT, name, name);

	name[sizeof(name) - 2] = '\n';
	uint32_t b = made_mount(&s, ROW_MOUNT, name, name);

	struct job *job = made_job(&s, name, name)->job;

	job->user = strdup(name);
	job->account = strdup(name);
	job->partition = strdup(name);
	job->name = strdup(name);
	made_row(&s, a, OP_READ, INTERFACE_CALL, (struct op_counts){ .bytes = 1 });
	made_row(&s, b, OP_READ, INTERFACE_CALL, (struct op_counts){ .bytes = 2 });
	page = page_of(&s, EXPOSITION_TEXT);
	first = strstr(page, "\njobmeter_job_io_read_bytes_total{");
	second = first ? strstr(first + 1, "\njobmeter_job_io_read_bytes_total{") : NULL;
	ASSERT(first && second && strchr(second + 1, '\n') - second < 4000);
	ASSERT(strncmp(first, second, (size_t)(second - first - 3)) != 0);
}

TEST(nothing_that_a_terminal_obeys_is_in_a_label_and_two_such_names_stay_two)
{
	static const char *const names[] = { "/a\x1b[2J", "/a\x1c[2J",
					     "/a\xc2\x9b"
					     "2J",
					     "/a\xe2\x80\xae"
					     "b" };
	_cleanup_(made_snapshot_clear) struct snapshot s = { .has_mounts = true };
	_cleanup_free_ char *page = NULL;
	size_t marked = 0;

	made_job(&s, "slurm", "1");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		made_row(&s, made_mount(&s, ROW_MOUNT, names[i], "x"), OP_READ, INTERFACE_CALL,
			 (struct op_counts){ .bytes = 1 });
	page = page_of(&s, EXPOSITION_OPENMETRICS);
	for (const char *p = page; *p;) {
		uint32_t c = utf8_next(&p);

		ASSERT(c == '\n' || utf8_is_printable(c));
	}
	for (const char *p = page; (p = strstr(p, "jobmeter_job_io_read_bytes_total{")); p++)
		marked += strcspn(p, "~") < strcspn(p, "\n");
	ASSERT_EQ(marked, ARRAY_SIZE(names));
}

TEST(node_and_agent_come_from_samples)
{
	struct exposition_options options = { .format = EXPOSITION_OPENMETRICS };
	_cleanup_free_ char *page = NULL;

	made_samples_fill(&options.samples);
	page = page_in(&options, 4096);
	ASSERT_CONTAINS(
		page,
		"# TYPE jobmeter_node_cpu_seconds counter\n# UNIT jobmeter_node_cpu_seconds seconds\n");
	ASSERT_CONTAINS(page, "jobmeter_agent_build_info{version=\"one\"} 1\n");
	ASSERT_CONTAINS(page, "# TYPE jobmeter_agent_build info\n");
	ASSERT_CONTAINS(
		page,
		"jobmeter_agent_hook_attached{tier=\"one\",program=\"odd \\\"\\\\\\n\xef\xbf\xbd~");
	ASSERT_LACKS(page, "jobmeter_job_");
}

static void note_done(void *context)
{
	(*(unsigned int *)context)++;
}

TEST(it_says_when_it_is_done)
{
	unsigned int done = 0;
	struct exposition_options options = { .done = note_done, .context = &done };
	struct exposition *e = NULL;

	ASSERT_OK(exposition_new(&options, &e));
	ASSERT_EQ(done, 0u);
	exposition_free(e);
	ASSERT_EQ(done, 1u);
}

TEST(the_format_is_the_one_that_the_client_takes_more_gladly)
{
	/* Prometheus 2.42's own, and what others say */
	ASSERT_EQ(exposition_choose(
			  "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
			  "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
		  EXPOSITION_OPENMETRICS);
	ASSERT_EQ(exposition_choose(
			  "text/plain;version=0.0.4;q=0.5,application/openmetrics-text;q=0.4"),
		  EXPOSITION_TEXT);
	ASSERT_EQ(exposition_choose("application/openmetrics-text; version=\"1.0.0\""),
		  EXPOSITION_OPENMETRICS);
	ASSERT_EQ(exposition_choose("application/openmetrics-text;version=0.0.1"), EXPOSITION_TEXT);
	ASSERT_EQ(exposition_choose("application/openmetrics-text;q=0"), EXPOSITION_TEXT);
	ASSERT_EQ(exposition_choose("*/*"), EXPOSITION_TEXT);
	ASSERT_EQ(exposition_choose("text/html"), EXPOSITION_TEXT);
	ASSERT_EQ(exposition_choose(NULL), EXPOSITION_TEXT);
	ASSERT_CONTAINS(exposition_type(EXPOSITION_OPENMETRICS),
			"application/openmetrics-text; version=1.0.0");
}
