/* SPDX-License-Identifier: MIT */
#include "record.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "macro.h"
#include "record_field.h"
#include "text.h"

int strings_add(struct strings *list, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;
	char **larger;
	int r;

	if (list->count >= STRINGS_MAX)
		return -ENOSPC;
	va_start(args, format);
	r = vasprintf(&text, format, args);
	va_end(args);
	if (r < 0) {
		text = NULL; /* undefined after a failure */
		return -ENOMEM;
	}
	larger = reallocarray(list->items, list->count + 1, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	list->items = larger;
	list->items[list->count++] = TAKE_PTR(text);
	return 0;
}

bool strings_contain(const struct strings *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i], text) == 0)
			return true;
	}
	return false;
}

void strings_clear(struct strings *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct strings){};
}

struct record *record_new(void)
{
	struct record *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->job.uid = -1;
	r->job.exit_code = -1;
	r->job.rank = -1;
	r->merged_records = r->merged_nodes = 1;
	return r;
}

static void command_free(char **command)
{
	for (char **arg = command; arg && *arg; arg++)
		free(*arg);
	free(command);
}

static void command_freep(char ***command)
{
	command_free(*command);
}

static void field_clear(const struct record_field *field, struct record *r)
{
	void *at = record_field_ref(field, r);

	if (field->type == FIELD_STRING)
		free(*(char **)at);
	else if (field->type == FIELD_COMMAND)
		command_free(*(char ***)at);
	else if (field->type == FIELD_STRINGS)
		strings_clear(at);
}

struct record *record_free(struct record *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; i < record_field_count; i++)
		field_clear(&record_fields[i], r);
	for (size_t i = 0; i < r->survivor_count; i++)
		free(r->survivors[i].command);
	free(r->survivors);
	reading_clear(&r->reading);
	hot_files_clear(&r->files);
	steps_clear(&r->steps);
	free(r);
	return NULL;
}

void record_freep(struct record **r)
{
	record_free(*r);
}

int record_set_command(struct record *r, char *const argv[])
{
	_cleanup_(command_freep) char **copy = NULL;
	size_t count = 0, bytes = 0;

	while (argv[count] && count < COMMAND_ARGUMENTS_MAX)
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		bytes += strlen(argv[i]);
		if (bytes > COMMAND_BYTES_MAX)
			break;
		copy[i] = strdup(argv[i]);
		if (!copy[i])
			return -ENOMEM;
	}
	command_free(r->job.command);
	r->job.command = TAKE_PTR(copy);
	return 0;
}

int record_add_survivor(struct record *r, int pid, const char *command)
{
	_cleanup_free_ char *copy = NULL;
	struct survivor *larger;

	if (r->survivor_count >= SURVIVORS_MAX)
		return -ENOSPC;
	copy = command ? strdup(command) : NULL;
	larger = reallocarray(r->survivors, r->survivor_count + 1, sizeof(*larger));
	if (larger)
		r->survivors = larger;
	if (!larger || (command && !copy))
		return -ENOMEM;
	r->survivors[r->survivor_count++] =
		(struct survivor){ .pid = pid, .command = TAKE_PTR(copy) };
	return 0;
}

bool record_total(const struct record *r, enum metric_id id, uint64_t *ret)
{
	uint64_t total = 0;

	if (!r->reading.has_mounts)
		return false;
	for (size_t i = 0; i < r->reading.mount_count; i++) {
		const struct mount_row *row = &r->reading.mounts[i];

		if (row->kind == ROW_KERNEL) /* done for anybody on the node */
			continue;
		if (!mount_row_knows(row, id))
			return false;
		total += mount_row_number(row, id);
	}
	*ret = total;
	return true;
}

int64_t books_difference(const struct books *books)
{
	return (int64_t)(books->tasks_bytes - books->rows_bytes - books->twice_bytes);
}

static void close_book(const struct record *r, enum metric_id tasks, enum file_op op,
		       struct books *books)
{
	const struct value *value = &r->reading.values[tasks];

	*books = (struct books){};
	if (!value->is_known || !r->reading.has_mounts)
		return;
	*books = (struct books){ .is_known = true, .tasks_bytes = value->number };
	for (size_t i = 0; i < r->reading.mount_count; i++) {
		const struct mount_row *row = &r->reading.mounts[i];

		if (row->kind == ROW_KERNEL)
			continue;
		books->rows_bytes += mount_row_book_bytes(row, op);
		/* the copy is begun anew on the file system below, and counted there once more */
		if (text_is_equal(row->fstype, "overlay"))
			books->twice_bytes += row->ways[WAY_COPY_FILE_RANGE][op].bytes;
	}
}

void record_close_books(struct record *r)
{
	close_book(r, METRIC_IO_CHARS_READ, OP_READ, &r->coverage.read_books);
	close_book(r, METRIC_IO_CHARS_WRITTEN, OP_WRITE, &r->coverage.write_books);
}

bool record_cpu_time(const struct record *r, uint64_t *ret_ns)
{
	const struct value *user = &r->reading.values[METRIC_CPU_USER];
	const struct value *system = &r->reading.values[METRIC_CPU_SYSTEM];

	if (!user->is_known || !system->is_known)
		return false;
	*ret_ns = user->number + system->number;
	return true;
}

bool record_cores_used(const struct record *r, uint64_t *ret_millicores)
{
	uint64_t cpu_ns;

	if (!record_cpu_time(r, &cpu_ns) || r->time.elapsed_ns == 0)
		return false;
	*ret_millicores = (uint64_t)((unsigned __int128)cpu_ns * 1000 / r->time.elapsed_ns);
	return true;
}

bool record_utilization(const struct record *r, uint64_t *ret)
{
	const struct value *cores = &r->reading.values[METRIC_CPU_ALLOCATED];
	unsigned __int128 core_time = (unsigned __int128)cores->number * r->time.elapsed_ns;
	uint64_t cpu_ns;

	if (!record_cpu_time(r, &cpu_ns) || !cores->is_known || core_time == 0)
		return false;
	/* cores are thousandths, and the result ten-thousandths */
	*ret = (uint64_t)((unsigned __int128)cpu_ns * 10000 * 1000 / core_time);
	return true;
}

bool record_is_same_command(const struct record *a, const struct record *b)
{
	if (!a->job.command || !a->job.folder)
		return false;
	return text_lists_are_equal(a->job.command, b->job.command) &&
	       text_is_equal(a->job.folder, b->job.folder);
}
