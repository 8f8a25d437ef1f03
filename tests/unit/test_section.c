/* SPDX-License-Identifier: MIT */
/* A table of sections with one more, which neither record, snapshot nor registry knows: what walks
 * the table has it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "model/json_place.h"
#include "lives.h"
#include "basic/macro.h"
#include "model/record.h"
#include "codec/record_format.h"
#include "codec/records.h"
#include "model/section.h"
#include "model/sections.h"
#include "sources/sources.h"
#include "made.h"
#include "test.h"

#define COUNTED_MARBLES (1U << 30)

struct marbles {
	bool is_known;
	uint64_t *count; /* owned, so that a leak would be seen */
};

static int marbles_begin(void *ret, unsigned int counted)
{
	struct marbles *m = ret;

	m->is_known = counted & COUNTED_MARBLES;
	m->count = calloc(1, sizeof(*m->count));
	return m->count ? 0 : -ENOMEM;
}

static void marbles_clear(void *section)
{
	free(((struct marbles *)section)->count);
}

static int marbles_add(void *sum, const void *part)
{
	const struct marbles *from = part;
	struct marbles *to = sum;

	to->is_known &= from->is_known;
	*to->count += to->is_known ? *from->count : 0;
	return 0;
}

static int marbles_raise(void *to, const void *least)
{
	uint64_t *count = ((struct marbles *)to)->count;

	*count = MAX(*count, *((const struct marbles *)least)->count);
	return 0;
}

static int marbles_subtract(void *later, const void *earlier, struct strings *notes)
{
	const struct marbles *before = earlier;
	struct marbles *m = later;

	m->is_known &= before->is_known;
	if (!m->is_known)
		return 0;
	if (*before->count > *m->count) {
		m->is_known = false;
		return section_note_fallen(notes, "marbles");
	}
	*m->count -= *before->count;
	return 0;
}

static void marbles_format(const void *section, struct document *d)
{
	document_unsigned(d, *((const struct marbles *)section)->count);
}

static int marbles_parse(const struct place *place, const json_t *json, void *ret)
{
	int r = marbles_begin(ret, COUNTED_ALL);

	return r < 0 ? r : place_read_number(place, "", json, 0, ((struct marbles *)ret)->count);
}

static const struct section marbles_section = {
	.name = "marbles",
	.size = sizeof(struct marbles),
	.counted = COUNTED_MARBLES,
	.is_of_steps = true,
	.begin = marbles_begin,
	.clear = marbles_clear,
	.add = marbles_add,
	.raise = marbles_raise,
	.subtract = marbles_subtract,
	.format = marbles_format,
	.type = JSON_INTEGER,
	.parse = marbles_parse,
};

/* The same, of which no cgroup has any, but a source. */
static int pebbles_begin(void *ret, unsigned int counted UNUSED)
{
	return marbles_begin(ret, COUNTED_MARBLES);
}

static const struct section pebbles_section = {
	.name = "cpu.pebbles", /* within a map: "pebbles" */
	.size = sizeof(struct marbles),
	.counted = COUNTED_BY_SOURCE,
	.begin = pebbles_begin,
	.clear = marbles_clear,
	.add = marbles_add,
	.raise = marbles_raise,
	.subtract = marbles_subtract,
	.format = marbles_format,
	.type = JSON_INTEGER,
	.parse = marbles_parse,
};

/* In place of the table in sections.c, which is not linked then. */
const struct section *const sections[] = { &cores_section,    &marbles_section, &pebbles_section,
					   &oom_section,      &network_section, &timeline_section,
					   &rank_work_section };
const size_t section_count = ARRAY_SIZE(sections);

/* ---- records ---- */

static const struct marbles *marbles_of(const struct record *r)
{
	return section_get(r, &marbles_section);
}

static struct record *record_of(const char *marbles, struct error *err)
{
	struct records records = {};
	struct record *record;
	char text[256];

	snprintf(
		text, sizeof(text),
		"{\"schema\":\"jobmeter.record/1\",\"job\":{\"manager\":\"slurm\",\"id\":\"7\"},\"marbles\":%s}",
		marbles);
	if (records_parse(text, strlen(text), "made", &records, err) < 0)
		return NULL;
	record = records.items[0];
	free(records.items);
	return record;
}

static char *text_of(const struct record *record)
{
	struct made_text t = {};

	record_format(record, made_text_document(&t, DOCUMENT_ONE_LINE));
	return made_text_end(&t);
}

TEST(a_record_has_a_section_that_is_in_the_table_only)
{
	_cleanup_(record_freep) struct record *r = record_of("17", NULL),
					      *unknown = record_of("null", NULL);
	_cleanup_free_ char *text = text_of(r), *none = text_of(unknown);
	struct error err = {};

	ASSERT(marbles_of(r)->is_known && *marbles_of(r)->count == 17);
	ASSERT_CONTAINS(text, "\"marbles\":17,\"survivors\"");
	ASSERT(!marbles_of(unknown)->is_known && !strstr(none, "marbles"));
	ASSERT(!record_of("\"many\"", &err));
	ASSERT_CONTAINS(err.text, "marbles");
}

TEST(ranks_and_nodes_add_up)
{
	_cleanup_(record_freep) struct record *a = record_of("17", NULL),
					      *b = record_of("23", NULL),
					      *unknown = record_of("null", NULL), *sum = NULL,
					      *none = NULL;

	ASSERT_OK(record_merge((const struct record *const[]){ a, b }, 2, &sum));
	ASSERT_EQ(*marbles_of(sum)->count, (uint64_t)40);
	ASSERT_EQ(*marbles_of(a)->count, (uint64_t)17);
	ASSERT_OK(record_merge((const struct record *const[]){ a, unknown }, 2, &none));
	ASSERT(!marbles_of(none)->is_known);
}

TEST(what_came_later_is_known_and_what_fell_is_told)
{
	_cleanup_(record_freep) struct record *a = record_of("17", NULL),
					      *b = record_of("23", NULL), *later = NULL,
					      *fell = NULL;
	struct error err;

	ASSERT_OK(record_subtract(b, a, &later, &err));
	ASSERT_EQ(*marbles_of(later)->count, (uint64_t)6);
	ASSERT_OK(record_subtract(a, b, &fell, &err));
	ASSERT(!marbles_of(fell)->is_known);
	ASSERT_EQ(fell->coverage.notes.count, (size_t)1);
	ASSERT_CONTAINS(fell->coverage.notes.items[0], "marbles");
}

/* ---- jobs ---- */

#define STEP "/slurm/uid_1000/job_42/step_0"

static void feed_marbles(struct registry *r, unsigned int counted, uint64_t of_2, uint64_t of_3)
{
	const struct marbles marbles[] = { { true, &of_2 }, { true, &of_3 } };
	const struct cgroup_part parts[] = { { 3, &marbles_section, &marbles[1] },
					     { 2, &marbles_section, &marbles[0] } };

	FEED(r, .parts = parts, .part_count = ARRAY_SIZE(parts),
	     .counted = COUNTED_TASKS | counted);
}

static void learn_groups(struct registry *r, uint64_t now, uint64_t died)
{
	const struct group_life lives[] = { life(1, 0, 110, 0, "/slurm/uid_1000/job_42"),
					    life(2, 1, 111, 0, STEP "/task_0"),
					    life(3, 1, 112, died, STEP "/task_1") };

	learn(r, now, lives, ARRAY_SIZE(lives));
}

static const struct marbles *shown(const struct parts *parts)
{
	return parts_get(parts, &marbles_section);
}

TEST(cgroups_add_up_to_the_job_and_its_step)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;
	_cleanup_(record_freep) struct record *record = record_new();

	learn_groups(r, 120, 0);
	feed_marbles(r, COUNTED_MARBLES, 17, 23);
	s = snap(r, 121);
	ASSERT_EQ(*shown(&s->jobs[0].parts)->count, (uint64_t)40);
	ASSERT_EQ(*shown(&s->jobs[0].steps[0].parts)->count, (uint64_t)40);
	ASSERT_OK(parts_copy_to(&s->jobs[0].parts, record));
	ASSERT(marbles_of(record)->is_known && *marbles_of(record)->count == 40);
}

TEST(what_was_shown_is_the_least_and_what_is_not_counted_not_known)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *second, *third;

	learn_groups(r, 120, 0);
	feed_marbles(r, COUNTED_MARBLES, 17, 23);
	(void)snap(r, 121);
	feed_marbles(r, COUNTED_MARBLES, 17, 3);
	second = snap(r, 122);
	ASSERT_EQ(*shown(&second->jobs[0].parts)->count, (uint64_t)40);
	feed_marbles(r, 0, 17, 29);
	third = snap(r, 123);
	ASSERT(!shown(&third->jobs[0].parts)->is_known);
}

static struct snapshot *go_on(struct registry *r, const char *state)
{
	struct error err = {};

	ASSERT_OK(registry_parse_job(r, state, strlen(state), &err));
	learn_groups(r, 131, 120);
	feed_marbles(r, COUNTED_MARBLES, 19, 23);
	return snap(r, 132);
}

TEST(what_a_cgroup_did_that_ended_comes_back_from_the_state)
{
	_cleanup_(registry_freep) struct registry *before = lives_registry(),
						  *after = lives_registry(),
						  *older = lives_registry();
	_cleanup_free_ char *text = NULL, *lacking = NULL;
	struct snapshot *s;

	learn_groups(before, 121, 120);
	feed_marbles(before, COUNTED_MARBLES, 17, 23);
	ASSERT_EQ(fold(before, 122), (size_t)1);
	ASSERT_OK(registry_format_job(registry_find(before, "slurm", "42"), &text));
	ASSERT_CONTAINS(text, "\"marbles\": 23");
	s = go_on(after, text);
	ASSERT_EQ(*shown(&s->jobs[0].parts)->count, (uint64_t)(23 + 19));
	ASSERT_EQ(*shown(&s->jobs[0].steps[0].parts)->count, (uint64_t)(23 + 19));
	lacking = without(text, "marbles"); /* as a build before wrote it down */
	s = go_on(older, lacking);
	ASSERT(!shown(&s->jobs[0].parts)->is_known);
}

/* ---- a source ---- */

#define PEBBLES 17 /* a reading */

static int open_source(const struct source_options *options UNUSED, struct source_state *s UNUSED,
		       struct error *err UNUSED)
{
	return 0;
}

static void sample_job(struct source_state *s UNUSED, struct source_job_state *own UNUSED,
		       const struct source_job *job UNUSED, struct source_job_sample *to)
{
	struct marbles pebbles = {};

	ASSERT_OK(pebbles_begin(&pebbles, COUNTED_ALL));
	*pebbles.count = PEBBLES;
	ASSERT_OK(parts_put(&to->parts, &pebbles_section, &pebbles));
}

static const struct source source = {
	.name = "quarry",
	.size = 1,
	.open = open_source,
	.sample_job = sample_job,
};

/* A reading, as node/sampled_job.c has it. */
static void sample_source(struct sources *sources, struct registry *r)
{
	const struct source_job at = { .path = "/slurm/uid_1000/job_42" };
	struct source_attachments attachments = {};
	struct source_job_sample sample = {};

	ASSERT_OK(sources_sample_job(sources, &attachments, &at, &sample));
	ASSERT_OK(registry_job_add_parts(registry_find(r, "slurm", "42"), &sample.parts));
	parts_clear(&sample.parts);
}

static uint64_t pebbles_shown(struct registry *r, uint64_t now)
{
	struct snapshot *s = snap(r, now);
	_cleanup_(record_freep) struct record *record = record_new();
	const struct marbles *pebbles = section_get(record, &pebbles_section);

	ASSERT_OK(parts_copy_to(&s->jobs[0].parts, record));
	ASSERT(!parts_get(&s->jobs[0].steps[0].parts, &pebbles_section));
	return pebbles->is_known ? *pebbles->count : UINT64_MAX;
}

TEST(what_a_source_adds_goes_into_the_record_over_a_restart_too)
{
	_cleanup_(registry_freep) struct registry *before = lives_registry(),
						  *after = lives_registry();
	const struct source_options options = {};
	const struct source *list = &source;
	_cleanup_(sources_freep) struct sources *sources = NULL;
	_cleanup_free_ char *none = NULL, *text = NULL;
	struct error err = {};

	ASSERT_OK(sources_open((struct source_list){ &list, 1 }, NULL, &options, &sources));
	learn_groups(before, 121, 120);
	feed_marbles(before, 0, 1, 2);
	ASSERT_EQ(pebbles_shown(before, 121), UINT64_MAX);
	ASSERT_OK(registry_format_job(registry_find(before, "slurm", "42"), &none));
	ASSERT_LACKS(none, "pebbles");
	feed_marbles(before, 0, 1, 2);
	sample_source(sources, before);
	sample_source(sources, before);
	ASSERT_EQ(pebbles_shown(before, 122), (uint64_t)(2 * PEBBLES));
	ASSERT_OK(registry_format_job(registry_find(before, "slurm", "42"), &text));
	ASSERT_OK(registry_parse_job(after, text, strlen(text), &err));
	learn_groups(after, 131, 120);
	feed_marbles(after, 0, 1, 2);
	sample_source(sources, after);
	ASSERT_EQ(pebbles_shown(after, 132), (uint64_t)(3 * PEBBLES));
}
