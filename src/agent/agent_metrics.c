/* SPDX-License-Identifier: MIT */
#include "agent/agent_metrics.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "basic/file.h"
#include "basic/dir.h"
#include "load/losses.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "basic/text.h"

#define DESCRIPTORS_MAX 65536

void scrapes_add(struct scrapes *s, const char *endpoint, unsigned int status)
{
	endpoint = endpoint ? endpoint : "";
	for (size_t i = 0; i < s->count; i++) {
		if (s->items[i].status == status && text_is_equal(s->items[i].endpoint, endpoint)) {
			s->items[i].count++;
			return;
		}
	}
	if (s->count < SCRAPES_MAX) /* as many as there are routes and statuses */
		s->items[s->count++] = (struct scrape){ endpoint, status, 1 };
}

/* ---- reading ---- */

static uint64_t ns_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

static void read_process(int root_fd, struct agent_facts *ret)
{
	struct dir descriptors = {};
	char statm[128];
	char *rest = statm, *word = NULL;
	struct rusage usage;
	uint64_t pages = 0;

	if (getrusage(RUSAGE_SELF, &usage) == 0) {
		ret->cpu_user_ns = (struct value){ ns_of(&usage.ru_utime), true };
		ret->cpu_system_ns = (struct value){ ns_of(&usage.ru_stime), true };
	}
	ret->resident_bytes = ret->open_descriptors = (struct value){};
	if (file_read_small(root_fd, "proc/self/statm", statm, sizeof(statm)) > 0 &&
	    parse_next_word(&rest))
		word = parse_next_word(&rest);
	if (word && parse_u64(word, &pages) == 0)
		ret->resident_bytes = (struct value){ pages * (uint64_t)sysconf(_SC_PAGESIZE),
						      true };
	if (dir_read(root_fd, "proc/self/fd", DESCRIPTORS_MAX, &descriptors) == 0)
		ret->open_descriptors = (struct value){ descriptors.count, true };
	dir_clear(&descriptors);
}

void agent_facts_add_map(struct agent_facts *facts, const char *name, uint64_t bytes,
			 uint64_t capacity)
{
	struct agent_map *map = facts->maps;

	while (map < facts->maps + facts->map_count && strcmp(map->name, name) != 0)
		map++;
	if (map == facts->maps + MAPS_MAX)
		return;
	if (map == facts->maps + facts->map_count) {
		*map = (struct agent_map){ .name = name };
		facts->map_count++;
	}
	map->bytes += bytes;
	map->capacity += capacity;
}

void agent_facts_read(int root_fd, const struct meter *meter, struct object_map *forms,
		      struct agent_facts *ret)
{
	size_t count;

	ret->version = JOBMETER_VERSION;
	read_process(root_fd, ret);
	ret->has_meter = meter;
	if (!meter)
		return;
	losses_sum(meter, &ret->losses);
	ret->hooks = meter_hooks(meter, &ret->hook_count);
	ret->older = meter_older(meter);
	ret->map_count = 0;
	count = meter_list_maps(meter, forms);
	for (size_t i = 0; i < count; i++)
		agent_facts_add_map(ret, forms[i].form.name, forms[i].bytes, forms[i].form.entries);
}

/* ---- as samples ---- */

static int put(struct samples *to, enum metric_id id, const char *first, const char *second,
	       uint64_t number)
{
	const char *labels[SAMPLE_LABELS_MAX] = { first, second };

	return samples_add(to, id, labels, number);
}

/* Two hooks of one tier and program would be one series twice. */
static bool is_hook_again(const struct agent_facts *facts, size_t index)
{
	const struct hook *hook = &facts->hooks[index];

	for (size_t i = 0; i < index; i++) {
		if (strcmp(facts->hooks[i].tier, hook->tier) == 0 &&
		    strcmp(facts->hooks[i].program, hook->program) == 0)
			return true;
	}
	return false;
}

static int put_maps(const struct agent_facts *facts, struct samples *to)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < facts->map_count; i++) {
		const struct agent_map *map = &facts->maps[i];

		r = put(to, METRIC_AGENT_MAP_BYTES, map->name, NULL, map->bytes);
		if (r == 0)
			r = put(to, METRIC_AGENT_MAP_CAPACITY, map->name, NULL, map->capacity);
	}
	return r;
}

static int put_meter(const struct agent_facts *facts, struct samples *to)
{
	int r = samples_add_plain(to, METRIC_AGENT_SKIPPED_RUNS,
				  facts->losses.counts[LOSS_SKIPPED]);

	for (unsigned int i = 0; r == 0 && i < LOST_COUNT; i++)
		r = put(to, METRIC_AGENT_LOST_EVENTS, lost_reason_name((enum lost_reason)i), NULL,
			facts->losses.counts[i]);
	for (size_t i = 0; r == 0 && i < facts->hook_count; i++) {
		const struct hook *hook = &facts->hooks[i];

		if (!is_hook_again(facts, i))
			r = put(to, METRIC_AGENT_HOOK_ON, hook->tier, hook->program, hook->is_on);
	}
	for (size_t id = 0; r == 0 && id < OBJECT_COUNT; id++)
		r = put(to, METRIC_AGENT_OLDER_CODE, object_name((enum object_id)id), NULL,
			older_is(facts->older, (enum object_id)id));
	return r ? r : put_maps(facts, to);
}

static int put_scrapes(const struct scrapes *scrapes, struct samples *to)
{
	char status[16];
	int r = 0;

	for (size_t i = 0; scrapes && r == 0 && i < scrapes->count; i++) {
		snprintf(status, sizeof(status), "%u", scrapes->items[i].status);
		r = put(to, METRIC_AGENT_SCRAPES, scrapes->items[i].endpoint, status,
			scrapes->items[i].count);
	}
	return r;
}

static int put_numbers(const struct agent_facts *facts, struct samples *to)
{
	const struct sampler_state *s = &facts->sampler;
	const struct push_status *p = &facts->push;
	const struct sender_status *sender = &p->sender;
	const struct {
		enum metric_id id;
		bool is_known;
		uint64_t number;
	} rows[] = {
		{ METRIC_AGENT_CPU_USER, facts->cpu_user_ns.is_known, facts->cpu_user_ns.number },
		{ METRIC_AGENT_CPU_SYSTEM, facts->cpu_system_ns.is_known,
		  facts->cpu_system_ns.number },
		{ METRIC_AGENT_RESIDENT_MEMORY, facts->resident_bytes.is_known,
		  facts->resident_bytes.number },
		{ METRIC_AGENT_OPEN_DESCRIPTORS, facts->open_descriptors.is_known,
		  facts->open_descriptors.number },
		{ METRIC_AGENT_READINGS, true, s->readings },
		{ METRIC_AGENT_FAILED_READINGS, true, s->failed_readings },
		{ METRIC_AGENT_LAST_READING, true, s->last_reading_ns },
		{ METRIC_AGENT_JOBS_LIVE, true, s->jobs_live },
		{ METRIC_AGENT_JOBS_ENDED, true, s->jobs_ended },
		{ METRIC_AGENT_GROUPS, true, s->groups },
		{ METRIC_AGENT_WALKS, true, s->walks },
		{ METRIC_AGENT_FOUND_BY_WALK, true, s->found_by_walk },
		{ METRIC_AGENT_STATE_ERRORS, true, s->state_errors },
		{ METRIC_AGENT_SET_ASIDE, true, s->set_aside },
		{ METRIC_AGENT_BAD_PROLOGS, true, s->bad_prologs },
		{ METRIC_AGENT_REOPENED_FILES, true, s->reopened_files },
		{ METRIC_AGENT_REFUSED_FILES, true, s->refused_files },
		{ METRIC_AGENT_HOOKED_CALLS, s->is_governed, s->hooked_calls },
		{ METRIC_AGENT_PROGRAMS, s->is_governed, s->cost_ns },
		{ METRIC_AGENT_UNCLOCKED, s->is_governed, s->unclocked_ns },
		{ METRIC_AGENT_SPOOL_FINALS, p->is_on, sender->records[true] },
		{ METRIC_AGENT_SPOOL_CHECKPOINTS, p->is_on, sender->records[false] },
		{ METRIC_AGENT_SPOOL_BYTES, p->is_on, sender->bytes },
		{ METRIC_AGENT_SPOOL_MAX_BYTES, p->is_on, p->max_bytes },
		{ METRIC_AGENT_SPOOL_OLDEST, p->is_on, sender->oldest_ns },
		{ METRIC_AGENT_SPOOL_ANSWERED, p->is_on, sender->answered_ns },
		{ METRIC_AGENT_SPOOL_HTTP_STATUS, p->is_on, sender->http_status },
		{ METRIC_AGENT_SPOOL_FINALS_WRITTEN, p->is_on, p->spool.written[true] },
		{ METRIC_AGENT_SPOOL_CHECKPOINTS_WRITTEN, p->is_on, p->spool.written[false] },
		/* Of a final record that was never written nothing is in the spool's own count. */
		{ METRIC_AGENT_SPOOL_FINALS_DROPPED, p->is_on,
		  p->spool.dropped[true] + s->unreported },
		{ METRIC_AGENT_SPOOL_CHECKPOINTS_DROPPED, p->is_on, p->spool.dropped[false] },
		{ METRIC_AGENT_SPOOL_ERRORS, p->is_on, p->spool.errors },
		{ METRIC_AGENT_SPOOL_TAKEN, p->is_on, sender->answers[ANSWER_TAKEN] },
		{ METRIC_AGENT_SPOOL_KNOWN, p->is_on, sender->answers[ANSWER_KNOWN] },
		{ METRIC_AGENT_SPOOL_REFUSED, p->is_on, sender->answers[ANSWER_REFUSED] },
		{ METRIC_AGENT_SPOOL_REQUESTS, p->is_on, sender->requests },
		{ METRIC_AGENT_SPOOL_FAILED_REQUESTS, p->is_on, sender->failed_requests },
		{ METRIC_AGENT_SPOOL_TORN, p->is_on, sender->torn },
		{ METRIC_AGENT_SPOOL_STARTS, p->is_on, p->starts },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rows); i++)
		r = rows[i].is_known ? samples_add_plain(to, rows[i].id, rows[i].number) : 0;
	return r;
}

int agent_facts_put(const struct agent_facts *facts, struct samples *to)
{
	int r = put(to, METRIC_AGENT_INFO, facts->version, NULL, 1);

	if (r == 0)
		r = put_numbers(facts, to);
	if (r == 0 && facts->has_meter)
		r = put_meter(facts, to);
	return r ? r : put_scrapes(facts->scrapes, to);
}
