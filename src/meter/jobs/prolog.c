/* SPDX-License-Identifier: MIT */
#include "jobs/prolog.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "basic/error.h"
#include "basic/file.h"
#include "model/json_place.h"
#include "basic/macro.h"
#include "model/metric_json.h"
#include "model/record_field.h"

#define STRING_MAX 1024
#define GPUS_MAX 1024
#define CORES_MAX (UINT64_C(1000) * (1u << 20)) /* in thousandths */

/* Jansson has seen that it is UTF-8. */
static int take_string(const struct place *place, const json_t *map, const char *key, char **ret)
{
	int r = place_take_string(place, map, key, ret);

	if (r < 0 || !place_member(map, key))
		return r;
	if (strlen(*ret) > STRING_MAX)
		return place_refuse(place, key, "is longer than %d bytes", STRING_MAX);
	return 0;
}

static int take_number(const struct place *place, const json_t *map, const char *key,
		       unsigned int places, uint64_t max, struct value *ret)
{
	struct value value = {};
	int r = value_take(place, map, key, places, &value);

	if (r == 0 && value.is_known && value.number > max)
		return place_refuse(place, key, "is out of range");
	if (r == 0 && value.is_known)
		*ret = value;
	return r;
}

static int take_gpus(const struct place *place, const json_t *map, struct job *job)
{
	struct cpulist list = {};
	const json_t *json;
	char *text;
	int r = place_get(place, map, "gpus", JSON_ARRAY, &json);

	if (r < 0 || !json)
		return r;
	for (size_t i = 0; i < json_array_size(json); i++) {
		const json_t *minor = json_array_get(json, i);

		if (!json_is_integer(minor) || json_integer_value(minor) < 0 ||
		    json_integer_value(minor) >= GPUS_MAX)
			return place_refuse(place, "gpus",
					    "holds something else than minor numbers of devices");
		cpulist_set(&list, (unsigned int)json_integer_value(minor));
	}
	text = cpulist_format(&list);
	if (!text)
		return -ENOMEM;
	free(job->gpus);
	job->gpus = text;
	return 0;
}

/* A job whose cgroup has its SLUID for a name is told its number. */
static int take_number_of_sluid(const struct place *place, const json_t *map, struct job *job)
{
	_cleanup_free_ char *number = NULL;
	int r = take_string(place, map, "id", &number);

	if (r == 0 && number && *number && number[strspn(number, "0123456789")] == '\0') {
		free(job->id);
		job->id = TAKE_PTR(number);
	}
	return r;
}

static int take_members(const struct place *place, const json_t *map, struct job *job)
{
	const bool has_number = !job->sluid || strcmp(job->sluid, job->id) != 0;
	int r = has_number ? 0 : take_number_of_sluid(place, map, job);

	for (size_t i = 0; r == 0 && i < record_field_count; i++) {
		const struct record_field *field = &record_fields[i];
		void *at = record_field_in_job(field, job);

		if (!(field->fact & FACT_PROLOG))
			continue;
		if (field->type == FIELD_STRING)
			r = take_string(place, map, field->key, at);
		else
			r = place_take_signed(place, map, field->key, 0,
					      at == &job->uid ? UINT32_MAX - 1 : INT64_MAX, at);
	}
	if (r == 0)
		r = take_number(place, map, "cores", metric_unit_places(UNIT_CORES), CORES_MAX,
				&job->allocated_cores);
	if (r == 0)
		r = take_number(place, map, "memory_limit_bytes", 0, INT64_MAX, &job->memory_limit);
	return r < 0 ? r : take_gpus(place, map, job);
}

/* What was read into @changed, a copy of @job, becomes @job's. */
static void hand_over(struct job *job, struct job *changed)
{
	const struct job before = *job;

	*job = *changed;
	*changed = before;
	changed->refs = job->refs;
	job->refs = before.refs;
}

int prolog_parse(const char *text, size_t length, struct job *job, struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	_cleanup_(job_unrefp) struct job *changed = NULL;
	const struct place place = { .err = err };
	json_error_t error;
	int r;

	if (length > PROLOG_BYTES_MAX)
		return error_set(err, -EINVAL, "it has more than %d KiB", PROLOG_BYTES_MAX >> 10);
	root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return error_set(err, -EINVAL, "line %d: %s", error.line, error.text);
	if (!json_is_object(root))
		return error_set(err, -EINVAL, "it is %s and should be a map",
				 place_type_name(root));
	changed = job_copy(job);
	r = changed ? take_members(&place, root, changed) : -ENOMEM;
	if (r == -ENOMEM)
		return error_set_errno(err, ENOMEM, "cannot read it");
	if (r == 0)
		hand_over(job, changed);
	return r;
}

/* It is root's, and nobody else's to write. */
static int check_owner(int fd, mode_t type, const char *what, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "cannot read %s", what);
	if ((st.st_mode & S_IFMT) != type)
		return error_set(err, -EPERM, "%s is no %s", what,
				 type == S_IFDIR ? "directory" : "plain file");
	if (st.st_uid != 0)
		return error_set(err, -EPERM, "%s is not root's", what);
	/* in a sticky directory nobody takes root's things away */
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(type == S_IFDIR && st.st_mode & S_ISVTX))
		return error_set(err, -EPERM, "%s can be written by others than root", what);
	return 0;
}

/* One by one, since a link in the way would lead into somebody else's directory. */
static int open_dir(int root_fd, const char *path, int *ret, struct error *err)
{
	_cleanup_free_ char *names = strdup(path);
	_cleanup_close_ int fd = -EBADF;
	char *rest = NULL;

	if (!names)
		return -ENOMEM;
	for (char *name = strtok_r(names, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
		int below = openat(fd >= 0 ? fd : root_fd, name,
				   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int r;

		if (below < 0)
			return error_set_errno(err, errno, "cannot open directory '%s' of %s", name,
					       path);
		closep(&fd);
		fd = below;
		r = check_owner(fd, S_IFDIR, name, err);
		if (r < 0)
			return r;
	}
	*ret = TAKE_FD(fd);
	return 0;
}

/* It comes from a path of a group, and so from whoever made that. */
static bool is_file_name(const char *id)
{
	return *id && !strchr(id, '/') && strcmp(id, ".") != 0 && strcmp(id, "..") != 0;
}

static int name_file(const struct job *job, char ret[NAME_MAX + 1], struct error *err)
{
	int length;

	if (!is_file_name(job->id) || !is_file_name(job->manager))
		return error_set(err, -ENOENT, "the job's id is no name of a file");
	length = snprintf(ret, NAME_MAX + 1, "%s-%s.json", job->manager, job->id);
	return length > NAME_MAX
		       ? error_set(err, -ENOENT, "the job's id is too long for a file's name")
		       : 0;
}

int prolog_read(int root_fd, const char *dir_path, struct job *job, struct error *err)
{
	_cleanup_close_ int dir = -EBADF, fd = -EBADF;
	_cleanup_free_ char *text = NULL;
	char name[NAME_MAX + 1];
	size_t length;
	int r = name_file(job, name, err);

	if (r == 0)
		r = open_dir(root_fd, dir_path, &dir, err);
	if (r < 0)
		return r;
	/* a FIFO would keep us waiting */
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return error_set_errno(err, errno == ELOOP ? EPERM : errno, "cannot open '%s'",
				       name);
	r = check_owner(fd, S_IFREG, name, err);
	if (r < 0)
		return r;
	r = file_read_fd(fd, PROLOG_BYTES_MAX, &text, &length);
	if (r == -EFBIG)
		return error_set(err, -EINVAL, "'%s' has more than %d KiB", name,
				 PROLOG_BYTES_MAX >> 10);
	if (r < 0)
		return error_set_errno(err, r, "cannot read '%s'", name);
	r = prolog_parse(text, length, job, err);
	return r < 0 ? error_prefix(err, r, "'%s'", name) : 0;
}
