/* SPDX-License-Identifier: MIT */
#include "codec/ledger.h"

#include <string.h>

#include "basic/macro.h"
#include "model/document.h"
#include "model/energy_sensor.h"
#include "model/json_place.h"
#include "model/shape.h"

#define TEXT_MAX 500 /* bytes of each text, as of keys of records */

const char *const ledger_owners[LEDGER_OWNER_COUNT] = {
	[LEDGER_JOB] = "job",
	[LEDGER_SYSTEM] = "system",
	[LEDGER_IDLE] = "idle",
	[LEDGER_UNATTRIBUTED] = "unattributed",
};

static const struct ledger_entry blank_entry = { .uid = -1, .microjoules = -1 };
static const struct ledger blank_ledger = { .sequence = -1 };

static int check_entry(const struct place *place, void *of)
{
	struct ledger_entry *e = of;

	e->is_job = strcmp(e->owner, ledger_owners[LEDGER_JOB]) == 0;
	if (e->microjoules < 0)
		return place_refuse(place, "microjoules", "is missing");
	if (e->is_job && (!*e->manager || !*e->job))
		return place_refuse(place, *e->manager ? "job" : "manager", "is missing");
	if (!e->is_job) {
		e->manager = e->job = NULL;
		e->job_start_ns = 0;
		e->uid = -1;
	}
	return e->job_start_ns > INT64_MAX ? place_refuse(place, "start", "is beyond 2^63 ns") : 0;
}

static int check_head(const struct place *place, void *of)
{
	const struct ledger *l = of;

	for (size_t i = 0; i < 2; i++) {
		const uint64_t ns = i ? l->end_ns : l->start_ns;

		if (!ns || ns > INT64_MAX)
			return place_refuse(place, i ? "end" : "start", "is %s",
					    ns ? "beyond 2^63 ns" : "missing");
	}
	if (l->end_ns < l->start_ns)
		return place_refuse(place, "end", "is before start");
	return l->sequence < 0 ? place_refuse(place, "sequence", "is missing") : 0;
}

/* clang-format off */
#define ENTRY(member) offsetof(struct ledger_entry, member)
#define HEAD(member) offsetof(struct ledger, member)

static const struct field job_fields[] = {
	{ "manager", SHAPE_LENT, 0, ENTRY(manager), TEXT_MAX },
	{ "job", SHAPE_LENT, 0, ENTRY(job), TEXT_MAX },
	{ "start", SHAPE_TIME, 0, ENTRY(job_start_ns) },
	{ "uid", SHAPE_SIGNED, 0, ENTRY(uid), sizeof(int64_t), .most = UINT32_MAX },
};
static const struct shape job_shape = { SHAPE_OF(struct ledger_entry, job_fields) };
static const struct field entry_fields[] = {
	{ "owner", SHAPE_LENT, SHAPE_NEEDED, ENTRY(owner), TEXT_MAX, .most = LEDGER_OWNER_COUNT, .names = ledger_owners },
	{ NULL, SHAPE_MAP, SHAPE_IF_KNOWN, ENTRY(is_job), .rows = &job_shape },
	{ "level", SHAPE_LENT, SHAPE_NEEDED, ENTRY(level), TEXT_MAX },
	{ "source", SHAPE_LENT, SHAPE_NEEDED, ENTRY(source), TEXT_MAX },
	{ "quality", SHAPE_LENT, SHAPE_NEEDED, ENTRY(quality), TEXT_MAX, .most = ENERGY_QUALITY_COUNT, .names = energy_quality_names },
	{ "microjoules", SHAPE_SIGNED, 0, ENTRY(microjoules), sizeof(int64_t), .most = LEDGER_MICROJOULES_MAX },
};
static const struct shape entry_shape = { SHAPE_OF(struct ledger_entry, entry_fields), .is_flat = true,
	.blank = &blank_entry, .check = check_entry, .max = LEDGER_ENTRIES_MAX };
static const struct field head_fields[] = {
	{ "cluster", SHAPE_LENT, 0, HEAD(cluster), TEXT_MAX },
	{ "node", SHAPE_LENT, SHAPE_NEEDED, HEAD(node), TEXT_MAX },
	{ "boot_id", SHAPE_LENT, 0, HEAD(boot_id), TEXT_MAX },
	{ "start", SHAPE_TIME, 0, HEAD(start_ns) },
	{ "end", SHAPE_TIME, 0, HEAD(end_ns) },
	{ "sequence", SHAPE_SIGNED, 0, HEAD(sequence), sizeof(int64_t), .most = INT64_MAX },
};
static const struct shape head_shape = { SHAPE_OF(struct ledger, head_fields), .check = check_head };
static const struct field ledger_fields[] = {
	{ NULL, SHAPE_MAP, 0, 0, .rows = &head_shape },
	{ "entries", SHAPE_LIST, SHAPE_NEEDED, HEAD(entries), .rows = &entry_shape },
};
const struct shape ledger_shape = { SHAPE_OF(struct ledger, ledger_fields), .blank = &blank_ledger };
/* clang-format on */

void ledger_clear(struct ledger *l)
{
	shape_clear(&ledger_shape, l);
}

void ledger_format(const void *ledger, struct document *d)
{
	document_begin_map(d);
	document_put_string(d, "schema", LEDGER_SCHEMA);
	shape_format(&ledger_shape, ledger, d);
	document_end_map(d);
}
