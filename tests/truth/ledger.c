/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ledger.h"

struct ledgers {
	const char *places[PLACES_MAX];
	size_t place_count;
	size_t taken, count;
	struct ledger items[];
};

/* Most of a ledger is never touched, and so takes no memory. */
struct ledgers *ledgers_new(size_t count)
{
	struct ledgers *all = mmap(NULL, sizeof(*all) + count * sizeof(struct ledger),
				   PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (all == MAP_FAILED)
		return NULL;
	all->count = count;
	all->places[PLACE_PIPE] = "(pipe)";
	all->places[PLACE_SOCKET] = "(socket)";
	all->places[PLACE_PSEUDO] = "(pseudo)";
	all->places[PLACE_UNRESOLVED] = "(unresolved)";
	all->place_count = PLACE_NAMED;
	return all;
}

int ledgers_get_place(struct ledgers *all, const char *name)
{
	for (const char *c = name; *c; c++)
		if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
			return -EINVAL;

	for (size_t i = 0; i < all->place_count; i++)
		if (strcmp(all->places[i], name) == 0)
			return (int)i;
	if (all->place_count == PLACES_MAX)
		return -ENOSPC;
	all->places[all->place_count] = name;
	return (int)all->place_count++;
}

const char *ledgers_place_name(const struct ledgers *all, int place)
{
	return (size_t)place < all->place_count ? all->places[place] : NULL;
}

struct ledger *ledgers_take(struct ledgers *all)
{
	size_t i = __atomic_fetch_add(&all->taken, 1, __ATOMIC_RELAXED);

	if (i >= all->count)
		abort();
	return &all->items[i];
}

static bool is_same(const struct deed *a, const struct deed *b)
{
	return a->place == b->place && a->op == b->op && a->way == b->way && a->by == b->by &&
	       a->is_silent == b->is_silent;
}

static struct tally *tally_of(struct ledger *l, const struct deed *deed)
{
	for (size_t i = 0; i < l->count; i++)
		if (is_same(&l->entries[i].deed, deed))
			return &l->entries[i].tally;
	if (l->count == ENTRIES_MAX)
		abort();
	l->entries[l->count].deed = *deed;
	return &l->entries[l->count++].tally;
}

void ledger_note(struct ledger *l, struct deed deed, long result)
{
	struct tally *tally = tally_of(l, &deed);

	tally->calls++;
	if (result == -ENOENT)
		tally->not_found++;
	if (result < 0)
		tally->errors++;
	else if (deed.op == OP_READ || deed.op == OP_WRITE)
		tally->bytes += (uint64_t)result;
}

void ledger_note_bytes(struct ledger *l, struct deed deed, uint64_t bytes)
{
	tally_of(l, &deed)->bytes += bytes;
}

void ledger_note_refused(struct ledger *l, enum feature feature, long error)
{
	l->refused[feature] = (int)error;
}

static void add(struct ledger *sum, const struct ledger *l)
{
	for (int i = 0; i < FEATURE_COUNT; i++)
		if (l->refused[i])
			sum->refused[i] = l->refused[i];
	for (size_t i = 0; i < l->count; i++) {
		const struct tally *from = &l->entries[i].tally;
		struct tally *to = tally_of(sum, &l->entries[i].deed);

		to->calls += from->calls;
		to->bytes += from->bytes;
		to->errors += from->errors;
		to->not_found += from->not_found;
	}
}

void ledgers_add_up(const struct ledgers *all, struct ledger *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < all->taken; i++)
		add(ret, &all->items[i]);
}
