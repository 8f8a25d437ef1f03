/* SPDX-License-Identifier: MIT */
#include "server/store/ledger_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "model/json_place.h"

#define TEXT_MAX 500 /* bytes of each text, as of keys of records */

static const char *const owners[] = { "job", "system", "idle", "unattributed", NULL };
static const char *const qualities[] = { "measured", "attributed", "estimated", "gap", NULL };

/* "" is the same as none. */
static int take_text(const struct place *place, const json_t *map, const char *key, bool may_lack,
		     const char **ret)
{
	const json_t *json = NULL;
	int r = place_get(place, map, key, JSON_STRING, &json);
	const char *text = json ? json_string_value(json) : "";

	if (r < 0)
		return r;
	if (!*text && !may_lack)
		return place_refuse(place, key, "is missing");
	if (strlen(text) > TEXT_MAX)
		return place_refuse(place, key, "is longer than %d bytes", TEXT_MAX);
	*ret = text;
	return 0;
}

static int take_word(const struct place *place, const json_t *map, const char *key,
		     const char *const *words, const char **ret)
{
	const char *text = "";
	int r = take_text(place, map, key, false, &text);

	if (r < 0)
		return r;
	while (*words && strcmp(*words, text) != 0)
		words++;
	*ret = *words;
	return *words ? 0 : place_refuse(place, key, "is '%.40s', which is not known here", text);
}

static int take_moment(const struct place *place, const json_t *map, const char *key, bool may_lack,
		       uint64_t *ret)
{
	int r = place_take_time(place, map, key, ret);

	if (r == 0 && !*ret && !may_lack)
		return place_refuse(place, key, "is missing");
	return r == 0 && *ret > INT64_MAX ? place_refuse(place, key, "is beyond 2^63 ns") : r;
}

static int take_job(const struct place *place, const json_t *map, struct ledger_entry *entry)
{
	int r = take_text(place, map, "manager", false, &entry->manager);

	if (r == 0)
		r = take_text(place, map, "job", false, &entry->job);
	if (r == 0)
		r = take_moment(place, map, "start", true, &entry->job_start_ns);
	return r < 0 ? r : place_take_signed(place, map, "uid", 0, UINT32_MAX, &entry->uid);
}

static int take_entry(const struct place *place, const json_t *map, void *ret)
{
	struct ledger_line *line = ret;
	struct ledger_entry entry = { .uid = -1, .microjoules = -1 };
	int r = take_word(place, map, "owner", owners, &entry.owner);

	if (r == 0 && strcmp(entry.owner, "job") == 0)
		r = take_job(place, map, &entry);
	if (r == 0)
		r = take_text(place, map, "level", false, &entry.level);
	if (r == 0)
		r = take_text(place, map, "source", false, &entry.source);
	if (r == 0)
		r = take_word(place, map, "quality", qualities, &entry.quality);
	if (r == 0)
		r = place_take_signed(place, map, "microjoules", 0, LEDGER_MICROJOULES_MAX,
				      &entry.microjoules);
	if (r == 0 && entry.microjoules < 0)
		return place_refuse(place, "microjoules", "is missing");
	if (r == 0)
		line->entries[line->count++] = entry;
	return r;
}

static int take_head(const struct place *place, const json_t *root, struct ledger_line *line)
{
	int64_t sequence = -1;
	int r = take_text(place, root, "cluster", true, &line->cluster);

	if (r == 0)
		r = take_text(place, root, "node", false, &line->node);
	if (r == 0)
		r = take_text(place, root, "boot_id", true, &line->boot_id);
	if (r == 0)
		r = take_moment(place, root, "start", false, &line->start_ns);
	if (r == 0)
		r = take_moment(place, root, "end", false, &line->end_ns);
	if (r == 0 && line->end_ns < line->start_ns)
		return place_refuse(place, "end", "is before start");
	if (r == 0)
		r = place_take_signed(place, root, "sequence", 0, INT64_MAX, &sequence);
	if (r == 0 && sequence < 0)
		return place_refuse(place, "sequence", "is missing");
	line->sequence = (uint64_t)sequence;
	return r;
}

int ledger_line_parse(const json_t *root, struct ledger_line *ret, struct error *reason)
{
	const struct place top = { .err = reason }, below = place_below(&top, "entries");
	struct ledger_line line = {};
	const json_t *list = NULL;
	int r = take_head(&top, root, &line);

	if (r == 0)
		r = place_get(&top, root, "entries", JSON_ARRAY, &list);
	if (r == 0 && !list)
		r = place_refuse(&top, "entries", "is missing");
	if (r < 0)
		return r;
	line.entries = calloc(MIN(json_array_size(list), (size_t)LEDGER_ENTRIES_MAX) + 1,
			      sizeof(*line.entries));
	r = line.entries ? place_each(&below, list, LEDGER_ENTRIES_MAX, take_entry, &line)
			 : -ENOMEM;
	if (r < 0) {
		ledger_line_clear(&line);
		return r;
	}
	*ret = line;
	return 0;
}

void ledger_line_clear(struct ledger_line *line)
{
	free(line->entries);
	*line = (struct ledger_line){};
}
