/* SPDX-License-Identifier: MIT */
/*
 * What an agent knows of energy, for the next one.
 *
 * It is written at each reading, of all jobs, so it is small and made of numbers: each takes 7 bits
 * of a byte, and has the eighth set where more follow; a text is its length and its bytes.  One
 * function goes over each thing, both ways.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "energy/node_energy_internal.h"

#define SCHEMA "jobmeter.energy-state/3" /* changes with the format */
#define OLD_SCHEMA "jobmeter.energy-state/2" /* without what all parts got */
#define JOBS_MAX (1u << 20)
#define WORD_MAX 10 /* bytes */
#define TEXT_MAX 4096

struct stream {
	bool is_read, is_old;
	const unsigned char *from, *end; /* of one that is read */
	unsigned char *to; /* owned; of one that is written */
	size_t length, room;
	int failure; /* nothing is read or written from then on */
};

static void write_word(struct stream *s, uint64_t word)
{
	if (s->failure == 0 && s->room - s->length < WORD_MAX) {
		const size_t room = 2 * s->room + 4096;
		unsigned char *to = realloc(s->to, room);

		s->failure = to ? 0 : -ENOMEM;
		s->to = to ? to : s->to;
		s->room = to ? room : s->room;
	}
	if (s->failure < 0)
		return;
	for (; word >= 0x80; word >>= 7)
		s->to[s->length++] = (unsigned char)(word | 0x80);
	s->to[s->length++] = (unsigned char)word;
}

static uint64_t read_word(struct stream *s)
{
	uint64_t word = 0;

	for (unsigned int i = 0; s->failure == 0 && i < WORD_MAX && s->from < s->end; i++) {
		const unsigned char byte = *s->from++;

		word |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (!(byte & 0x80))
			return word;
	}
	s->failure = s->failure ? s->failure : -EINVAL;
	return 0;
}

static void pass_word(struct stream *s, uint64_t *word)
{
	if (s->is_read)
		*word = read_word(s);
	else
		write_word(s, *word);
}

static void pass_words(struct stream *s, uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pass_word(s, &words[i]);
}

/* An index below @count; -EINVAL if not. */
static size_t pass_index(struct stream *s, size_t index, size_t count)
{
	uint64_t word = index;

	pass_word(s, &word);
	if (word < count)
		return (size_t)word;
	s->failure = s->failure ? s->failure : -EINVAL;
	return 0;
}

static void pass_flag(struct stream *s, bool *flag)
{
	*flag = pass_index(s, *flag, 2) != 0;
}

static void pass_text(struct stream *s, char *text, size_t size)
{
	const size_t length = pass_index(s, s->is_read ? 0 : strnlen(text, size - 1), size);

	for (size_t i = 0; i < length; i++) {
		if (s->is_read)
			text[i] = (char)read_word(s);
		else
			write_word(s, (unsigned char)text[i]);
	}
	if (s->is_read)
		text[length] = '\0';
}

/* ---- what there is ---- */

/* Work is cumulative and may wrap: only the part in no interval yet matters. */
static void pass_mark(struct stream *s, uint64_t now, uint64_t *mark)
{
	uint64_t open = now - *mark;

	pass_word(s, &open);
	*mark = now - open;
}

static void pass_owner(struct stream *s, size_t channels, struct energy_owner *o, uint64_t *sent_uj)
{
	for (size_t pool = 0; pool < POOL_COUNT; pool++) {
		const struct energy_use *now = energy_owner_use(o, (enum energy_pool)pool);

		pass_mark(s, now->work, &o->marks[pool].work);
		pass_mark(s, now->allocated, &o->marks[pool].allocated);
	}
	pass_words(s, o->uj, channels);
	pass_words(s, sent_uj, channels);
	pass_word(s, &o->idle_uj);
	pass_word(s, &o->parts_uj);
}

static void pass_jobs(struct stream *s, struct node_energy *e)
{
	const size_t count = pass_index(s, e->job_count, JOBS_MAX);

	for (size_t i = 0; i < count && s->failure == 0; i++) {
		struct node_job *j = s->is_read ? NULL : e->jobs[i];
		char manager[TEXT_MAX], id[TEXT_MAX];
		uint64_t start_ns = j ? j->start_ns : 0;

		pass_text(s, j ? j->manager : manager, TEXT_MAX);
		pass_text(s, j ? j->id : id, TEXT_MAX);
		pass_word(s, &start_ns);
		if (!j && s->failure == 0) {
			j = node_energy_add_job(e, manager, id, start_ns);
			s->failure = j ? 0 : -ENOMEM;
		}
		if (s->failure == 0) {
			uint64_t uid = (uint64_t)(j->uid + 1);

			pass_word(s, &j->start_real_ns);
			pass_word(s, &uid);
			j->uid = (int64_t)MIN(uid, (uint64_t)UINT32_MAX + 1) - 1;
			pass_word(s, &j->cpu_ns);
			j->gpu_uj = s->is_read ? UINT64_MAX : j->gpu_uj;
			pass_flag(s, &j->owner.is_inside);
			pass_owner(s, e->attribution.channel_count, &j->owner, j->sent_uj);
		}
	}
}

static void pass_taken(struct stream *s, struct node_energy *e)
{
	const size_t count = pass_index(s, e->taken_count, ENERGY_SENSORS_MAX + 1);

	for (size_t i = 0; i < count && s->failure == 0; i++) {
		struct taken now = s->is_read ? (struct taken){ .is_restored = true } : e->taken[i];
		struct taken *t;

		pass_text(s, now.source, sizeof(now.source));
		pass_text(s, now.name, sizeof(now.name));
		pass_word(s, &now.boot_ns);
		pass_flag(s, &now.is_used);
		pass_flag(s, &now.has_raw);
		pass_word(s, &now.raw_uj);
		pass_word(s, &now.told_uj);
		pass_word(s, &now.told_gap_ns);
		if (!s->is_read || s->failure < 0)
			continue;
		t = node_energy_taken(e, now.source, now.name);
		if (t)
			*t = now;
		s->failure = t ? 0 : -ENOMEM;
	}
}

static void pass_channels(struct stream *s, struct attribution *a)
{
	a->channel_count = pass_index(s, a->channel_count, ENERGY_CHANNELS_MAX + 1);
	for (size_t i = 0; i < a->channel_count; i++) {
		struct energy_channel *c = &a->channels[i];

		c->pool = (enum energy_pool)pass_index(s, c->pool, POOL_COUNT);
		c->level = (enum energy_level)pass_index(s, c->level, ENERGY_LEVEL_COUNT);
		c->quality = (enum energy_quality)pass_index(s, c->quality, ENERGY_QUALITY_COUNT);
		pass_text(s, c->source, sizeof(c->source));
		c->uncertainty_permille = (unsigned int)pass_index(s, c->uncertainty_permille,
								   UINT16_MAX);
	}
}

/* From another boot only learned values are valid. */
static void pass_pools(struct stream *s, struct pool *pools)
{
	for (size_t i = 0; i < POOL_COUNT; i++) {
		pass_word(s, &pools[i].idle.count);
		pass_word(s, &pools[i].idle.least_uw);
		pass_word(s, &pools[i].idle.greatest_uw);
		pass_words(s, pools[i].idle.uw,
			   (size_t)MIN(pools[i].idle.count, (uint64_t)IDLE_POWERS_MAX));
	}
}

/* What came to the parts since the node was closed: more by some microjoules, which wait in their
 * pools, and by what jobs had that are gone. */
static uint64_t parts_of_owners(struct node_energy *e)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < OTHERS_COUNT; i++)
		sum += node_energy_other(e, i)->parts_uj;
	for (size_t i = 0; i < e->job_count; i++)
		sum += e->jobs[i]->owner.is_inside ? 0 : e->jobs[i]->owner.parts_uj;
	return sum;
}

static void pass_all(struct stream *s, struct node_energy *e)
{
	struct attribution *a = &e->attribution;

	for (size_t i = 0; i < POOL_COUNT; i++) {
		pass_flag(s, &e->pools[i].is_open);
		pass_word(s, &e->pools[i].last_ns);
		pass_word(s, &e->pools[i].busy_ns);
	}
	pass_word(s, &e->gone_uj);
	pass_word(s, &e->last_ns);
	pass_word(s, &e->busy_ns);
	pass_word(s, &e->busy_from_ns);
	pass_word(s, &e->jobs_cpu_ns);
	pass_word(s, &e->ledger_start_ns);
	pass_word(s, &e->ledger_sequence);
	pass_words(s, a->carry_uj, POOL_COUNT);
	pass_word(s, &a->came_uj);
	pass_word(s, &a->debt_uj);
	pass_word(s, &a->inconsistent);
	pass_word(s, &a->system.cpu.work);
	a->system.memory.work = a->system.cpu.work;
	pass_channels(s, a);
	pass_taken(s, e);
	for (size_t i = 0; i < OTHERS_COUNT; i++)
		pass_owner(s, a->channel_count, node_energy_other(e, i), e->sent_uj[i]);
	pass_jobs(s, e);
	if (s->is_old)
		a->parts_uj = parts_of_owners(e);
	else
		pass_word(s, &a->parts_uj);
}

/* ---- both ways ---- */

int node_energy_format_state(struct node_energy *e, const char *boot_id, char **ret,
			     size_t *ret_length)
{
	struct stream s = {};

	if (!e->taken_count)
		return -ENODATA;
	pass_text(&s, (char[]){ SCHEMA }, sizeof(SCHEMA));
	pass_text(&s, (char *)boot_id, TEXT_MAX);
	pass_pools(&s, e->pools);
	pass_all(&s, e);
	if (s.failure < 0) {
		free(s.to);
		return s.failure;
	}
	*ret = (char *)s.to;
	*ret_length = s.length;
	return 0;
}

int node_energy_parse_state(struct node_energy *e, const char *boot_id, const char *text,
			    size_t length, struct error *err)
{
	struct stream s = {
		.is_read = true,
		.from = (const unsigned char *)text,
		.end = (const unsigned char *)text + length,
	};
	char schema[sizeof(SCHEMA)] = "", boot[TEXT_MAX] = "";

	pass_text(&s, schema, sizeof(schema));
	s.is_old = strcmp(schema, OLD_SCHEMA) == 0;
	if (s.failure < 0 || (!s.is_old && strcmp(schema, SCHEMA) != 0))
		return error_set(err, -EINVAL, "it is no '%s'", SCHEMA);
	pass_text(&s, boot, sizeof(boot));
	pass_pools(&s, e->pools);
	if (s.failure == 0 && strcmp(boot, boot_id) == 0) {
		pass_all(&s, e);
		if (s.failure == 0 && s.from != s.end)
			s.failure = -EINVAL;
	}
	return s.failure == -EINVAL ? error_set(err, -EINVAL, "it is torn") : s.failure;
}
