/* SPDX-License-Identifier: MIT */
#include "sources/gpu_holders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"
#include "basic/text.h"

#define SLICES 7 /* of a card with MIG, whether given to instances or not */

uint64_t gpu_part(uint64_t amount, uint64_t from, uint64_t until, uint64_t whole)
{
	const unsigned __int128 a = amount;

	return whole ? (uint64_t)(a * until / whole) - (uint64_t)(a * from / whole) : 0;
}

uint64_t gpu_holder_part(const struct gpu_unit *u, const struct gpu_holder *h, uint64_t amount)
{
	return gpu_part(gpu_part(amount, u->from, u->until, u->slices), h->from, h->until,
			u->weight);
}

/* Sharers have a part by how busy they keep the multiprocessors. */
static void add_holder(struct gpu_unit *u, const char *path, const struct gpu_process *p)
{
	const uint64_t weight = p && p->sm.is_known && p->sm.number ? p->sm.number : 1;

	u->holders[u->count++] = (struct gpu_holder){ path, p, u->weight, u->weight + weight };
	u->weight += weight;
}

static bool is_on(const struct gpu_process *p, const struct gpu_instance *i)
{
	return !i ||
	       (p->gpu_instance == i->gpu_instance &&
		(p->compute_instance == i->compute_instance || p->compute_instance == GPU_WHOLE));
}

/* The server of MPS, whose clients hold the card; by its name alone nobody is left out: it must
 * have clients, says the driver, and have done nothing itself. */
static bool is_server(const struct gpu_reading *r, const struct gpu_process *p)
{
	bool has_clients = false;

	for (size_t i = 0; i < r->process_count; i++)
		has_clients |= r->processes[i].is_mps;
	return has_clients && !p->is_mps && !p->sm.number &&
	       strncmp(p->command, "nvidia-cuda-mps", strlen("nvidia-cuda-mps")) == 0;
}

/* Those of a job, or all of them (@top is NULL). */
static size_t add_processes(struct gpu_unit *u, const struct gpu_reading *r,
			    const struct gpu_instance *i, const char *top)
{
	const size_t before = u->count;

	for (size_t k = 0; k < r->process_count; k++) {
		const struct gpu_process *p = &r->processes[k];

		if (is_on(p, i) && !is_server(r, p) &&
		    (!top || (p->path && text_is_below(p->path, top))))
			add_holder(u, p->path ? p->path : "", p);
	}
	return u->count - before;
}

static bool is_claimed(const struct gpu_claim *claim, const struct gpu_identity *card)
{
	return card->minor < GPU_CARDS_MAX && claim->minors[card->minor];
}

/* The prolog's numbers are those of cards: where several jobs have instances of one card, only
 * processes show which. */
static int add_holders(struct gpu_unit *u, const struct gpu_identity *card,
		       const struct gpu_reading *r, const struct gpu_instance *instance,
		       const struct gpu_claim *claims, size_t claim_count)
{
	size_t claimed = 0;

	for (size_t i = 0; i < claim_count; i++)
		claimed += is_claimed(&claims[i], card);
	u->holders = calloc(r->process_count + claimed + 1, sizeof(*u->holders));
	if (!u->holders)
		return -ENOMEM;
	if (!claimed || (instance && claimed > 1)) {
		(void)add_processes(u, r, instance, NULL);
		return 0;
	}
	for (size_t i = 0; i < claim_count; i++) {
		if (is_claimed(&claims[i], card) && !add_processes(u, r, instance, claims[i].path))
			add_holder(u, claims[i].path, NULL);
	}
	return 0;
}

static void describe_card(const struct gpu_identity *card, const struct gpu_reading *r,
			  struct gpu_unit *ret)
{
	*ret = (struct gpu_unit){ .until = 1, .slices = 1 };
	snprintf(ret->name, sizeof(ret->name), "%u", card->index);
	memcpy(ret->uuid, card->uuid, sizeof(ret->uuid));
	ret->memory_total = r->fields[GPU_FIELD(MEMORY_TOTAL)];
	ret->memory_used = r->fields[GPU_FIELD(MEMORY_USED)];
}

static void describe_instance(const struct gpu_identity *card, const struct gpu_instance *i,
			      uint64_t from, uint64_t slices, struct gpu_unit *ret)
{
	*ret = (struct gpu_unit){ .from = from, .until = from + i->slices, .slices = slices };
	snprintf(ret->name, sizeof(ret->name), i->compute_instance ? "%u/%u.%u" : "%u/%u",
		 card->index, i->gpu_instance, i->compute_instance);
	memcpy(ret->uuid, i->uuid, sizeof(ret->uuid));
	ret->memory_total = i->memory_total;
	ret->memory_used = i->memory_used;
	ret->busy = i->busy;
}

int gpu_units_make(const struct gpu_identity *card, const struct gpu_reading *reading,
		   const struct gpu_claim *claims, size_t claim_count, struct gpu_units *ret)
{
	uint64_t slices = 0, from = 0;
	int r = 0;

	*ret = (struct gpu_units){ .count = reading->has_instances ? reading->instance_count : 1 };
	for (size_t i = 0; i < reading->instance_count; i++)
		slices += reading->instances[i].slices;
	for (size_t i = 0; r == 0 && i < ret->count; i++) {
		const struct gpu_instance *instance = reading->has_instances
							      ? &reading->instances[i]
							      : NULL;

		if (instance)
			describe_instance(card, instance, from, MAX(slices, (uint64_t)SLICES),
					  &ret->items[i]);
		else
			describe_card(card, reading, &ret->items[i]);
		from += instance ? instance->slices : 0;
		r = add_holders(&ret->items[i], card, reading, instance, claims, claim_count);
	}
	if (r < 0)
		gpu_units_clear(ret);
	return r;
}

void gpu_units_clear(struct gpu_units *u)
{
	for (size_t i = 0; i < u->count; i++)
		free(u->items[i].holders);
	*u = (struct gpu_units){};
}
