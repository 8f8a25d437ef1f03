/* SPDX-License-Identifier: MIT */
#include "codec/ledger.h"

#include <stdlib.h>

#include "basic/array.h"
#include "model/document.h"

static const char *const owners[LEDGER_OWNER_COUNT] = {
	[LEDGER_JOB] = "job",
	[LEDGER_SYSTEM] = "system",
	[LEDGER_IDLE] = "idle",
	[LEDGER_UNATTRIBUTED] = "unattributed",
};

int ledger_add(struct ledger *l, const struct ledger_entry *entry)
{
	int r = array_reserve(&l->items, &l->room, l->count, sizeof(*l->items));

	if (r == 0)
		l->items[l->count++] = *entry;
	return r;
}

void ledger_clear(struct ledger *l)
{
	free(l->items);
	*l = (struct ledger){};
}

static void format_entry(const struct ledger_entry *e, struct document *d)
{
	document_begin_flat_map(d);
	document_put_string(d, "owner", owners[e->owner]);
	if (e->owner == LEDGER_JOB) {
		document_put_string(d, "manager", e->manager);
		document_put_string(d, "job", e->job);
		document_put_time(d, "start", e->job_start_ns);
		document_key(d, "uid");
		if (e->uid >= 0)
			document_signed(d, e->uid);
		else
			document_null(d);
	}
	document_put_string(d, "level", energy_level_name(e->level));
	document_put_string(d, "source", e->source);
	document_put_string(d, "quality", energy_quality_name(e->quality));
	document_put_unsigned(d, "microjoules", e->uj);
	document_end_map(d);
}

void ledger_format(const struct ledger *l, struct document *d)
{
	document_begin_map(d);
	document_put_string(d, "schema", LEDGER_SCHEMA);
	document_put_string(d, "cluster", l->cluster);
	document_put_string(d, "node", l->node);
	document_put_string(d, "boot_id", l->boot_id);
	document_put_time(d, "start", l->start_ns);
	document_put_time(d, "end", l->end_ns);
	document_put_unsigned(d, "sequence", l->sequence);
	document_begin_list_of(d, "entries");
	for (size_t i = 0; i < l->count; i++)
		format_entry(&l->items[i], d);
	document_end_list(d);
	document_end_map(d);
}
