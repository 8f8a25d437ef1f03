/* SPDX-License-Identifier: MIT */
#include "cli/watch_source.h"

#include <stdlib.h>

#include "basic/cleanup.h"
#include "model/record.h"

struct watched *watched_add(struct watched_list *list)
{
	struct watched **larger;
	struct watched *job;

	if (list->count >= WATCHED_MAX)
		return NULL;
	larger = reallocarray(list->items, list->count + 1, sizeof(struct watched *));
	if (!larger)
		return NULL;
	list->items = larger;
	job = calloc(1, sizeof(*job));
	if (job)
		list->items[list->count++] = job;
	return job;
}

void watched_clear(struct watched_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct watched *job = list->items[i];

		free(job->manager);
		free(job->id);
		free(job->label);
		record_free(job->first);
		record_free(job->before);
		record_free(job->last);
		free(job);
	}
	free(list->items);
	*list = (struct watched_list){};
}

void watch_source_closep(struct watch_source **s)
{
	if (*s)
		(*s)->close(*s);
}
