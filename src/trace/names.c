/* SPDX-License-Identifier: MIT */
#include "trace/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/fnv.h"
#include "trace/call.h"
#include "trace/probe.h"

struct names_entry {
	const char *group, *capture; /* the sets' */
	uint32_t pid;
	int64_t value;
	char *name;
	struct names_entry *next; /* of the same hash */
};

static uint64_t names_hash(const char *group, const char *capture, uint32_t pid, int64_t value)
{
	uint64_t hash = fnv_text(fnv_text(FNV_BEGIN, group), capture);

	return fnv_bytes(fnv_bytes(hash, &pid, sizeof(pid)), &value, sizeof(value));
}

static struct names_entry *names_entry(const struct names *n, const char *group,
				       const char *capture, uint32_t pid, int64_t value)
{
	struct names_entry *entry = idmap_get(&n->entries, names_hash(group, capture, pid, value));

	while (entry && (entry->value != value || entry->pid != pid ||
			 strcmp(entry->capture, capture) != 0 || strcmp(entry->group, group) != 0))
		entry = entry->next;
	return entry;
}

static struct names_entry *names_new_entry(struct names *n, const char *group, const char *capture,
					   uint32_t pid, int64_t value)
{
	const uint64_t hash = names_hash(group, capture, pid, value);
	struct names_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	*entry = (struct names_entry){ .group = group,
				       .capture = capture,
				       .pid = pid,
				       .value = value,
				       .next = idmap_get(&n->entries, hash) };
	if (idmap_put(&n->entries, hash, entry) == 0)
		return entry;
	free(entry);
	return NULL;
}

int names_add(struct names *n, const struct trace_call *call)
{
	const struct probe *probe = call->probe;
	const char *group = call->set->group, *capture;
	struct names_entry *entry;
	int64_t value;
	char *name;

	if (!probe->is_naming || !call->text || !*call->text ||
	    !(call->have & 1U << probe->named) || call_has_failed(call))
		return 0;
	capture = probe->captures[probe->named].name;
	value = call->values[probe->named];
	entry = names_entry(n, group, capture, call->process->pid, value);
	if (!entry)
		entry = names_new_entry(n, group, capture, call->process->pid, value);
	name = entry ? strdup(call->text) : NULL;
	if (!name)
		return -ENOMEM;
	free(entry->name);
	entry->name = name;
	return 0;
}

const char *names_find(const struct names *n, const struct probe_set *set, const char *capture,
		       const struct trace_process *process, int64_t value)
{
	const char *word = probe_set_find_word(set, capture, value);
	const struct names_entry *entry =
		word || !n ? NULL : names_entry(n, set->group, capture, process->pid, value);

	return entry ? entry->name : word;
}

void names_clear(struct names *n)
{
	struct names_entry *entry, *next;
	size_t at = 0;

	while ((entry = idmap_next(&n->entries, &at))) {
		for (; entry; entry = next) {
			next = entry->next;
			free(entry->name);
			free(entry);
		}
	}
	idmap_clear(&n->entries);
}
