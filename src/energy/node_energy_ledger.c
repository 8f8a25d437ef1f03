/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "basic/macro.h"
#include "codec/ledger.h"
#include "model/shape.h"
#include "energy/node_energy_internal.h"

#define QUARTER_NS (UINT64_C(900) * 1000000000)

void node_energy_want_ledger(struct node_energy *e, bool is_wanted, uint64_t real_ns)
{
	/* earlier energy is in no line */
	if (is_wanted && !e->has_ledger && !e->ledger_start_ns)
		node_energy_set_written(e, &(struct ledger){ .end_ns = real_ns });
	e->has_ledger = is_wanted;
}

/* Channels of one level, source and quality are one entry. */
static bool is_alike(const struct energy_channel *a, const struct energy_channel *b)
{
	return a->level == b->level && a->quality == b->quality &&
	       strcmp(a->source, b->source) == 0;
}

static int add_owner(const struct node_energy *e, const struct energy_owner *o,
		     const uint64_t sent_uj[ENERGY_CHANNELS_MAX], const struct ledger_entry *who,
		     struct ledger *to)
{
	const struct energy_channel *channels = e->attribution.channels;
	const size_t first = to->count;

	for (size_t i = 0; i < e->attribution.channel_count; i++) {
		struct ledger_entry entry = *who;
		size_t k = 0;

		entry.level = energy_level_name(channels[i].level);
		entry.source = channels[i].source;
		entry.quality = energy_quality_name(channels[i].quality);
		entry.microjoules = (int64_t)(o->uj[i] - sent_uj[i]);
		while (k < i && !is_alike(&channels[k], &channels[i]))
			k++;
		for (size_t at = first; k < i && at < to->count; at++) {
			struct ledger_entry *before = &to->entries[at];

			if (strcmp(before->level, entry.level) == 0 &&
			    strcmp(before->quality, entry.quality) == 0 &&
			    strcmp(before->source, entry.source) == 0) {
				before->microjoules += entry.microjoules;
				entry.microjoules = 0;
			}
		}
		if (entry.microjoules && !shape_append(&ledger_shape, to, &entry))
			return -ENOMEM;
	}
	return 0;
}

static int fill(struct node_energy *e, struct ledger *to)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < e->job_count; i++) {
		const struct node_job *j = e->jobs[i];
		const struct ledger_entry who = { .is_job = true,
						  .owner = ledger_owners[LEDGER_JOB],
						  .manager = j->manager,
						  .job = j->id,
						  .job_start_ns = j->start_real_ns,
						  .uid = j->uid };

		if (!j->owner.is_inside)
			r = add_owner(e, &j->owner, j->sent_uj, &who, to);
	}
	for (size_t i = 0; r == 0 && i < OTHERS_COUNT; i++) {
		const struct ledger_entry who = { .owner = ledger_owners[LEDGER_SYSTEM + i],
						  .uid = -1 };

		r = add_owner(e, node_energy_other(e, i), e->sent_uj[i], &who, to);
	}
	return r;
}

bool node_energy_get_ledger(struct node_energy *e, uint64_t real_ns, struct ledger *ret)
{
	const uint64_t edge_ns = real_ns - real_ns % QUARTER_NS;
	struct ledger ledger = {
		.start_ns = e->ledger_start_ns,
		.end_ns = edge_ns,
		.sequence = (int64_t)e->ledger_sequence + 1,
	};

	/* the clock was set back, by more than what may lie between two looks at an edge */
	if (edge_ns + 2 * QUARTER_NS <= e->ledger_start_ns)
		ledger.start_ns = edge_ns - MIN(edge_ns, QUARTER_NS);
	if (!e->has_ledger || edge_ns <= ledger.start_ns)
		return false;
	if (fill(e, &ledger) < 0 || !ledger.count) {
		ledger_clear(&ledger);
		return false;
	}
	*ret = ledger;
	return true;
}

void node_energy_set_written(struct node_energy *e, const struct ledger *ledger)
{
	e->ledger_start_ns = ledger->end_ns;
	e->ledger_sequence = (uint64_t)ledger->sequence;
	for (size_t i = 0; i < e->job_count; i++)
		memcpy(e->jobs[i]->sent_uj, e->jobs[i]->owner.uj, sizeof(e->jobs[i]->sent_uj));
	for (size_t i = 0; i < OTHERS_COUNT; i++)
		memcpy(e->sent_uj[i], node_energy_other(e, i)->uj, sizeof(e->sent_uj[i]));
}
