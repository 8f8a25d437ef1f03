/* SPDX-License-Identifier: MIT */
#include "spool/spool_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "basic/parse.h"

#define KEY_DIGITS 32
#define SEQUENCE_DIGITS 20
#define NAME_LENGTH (KEY_DIGITS + 1 + SEQUENCE_DIGITS + sizeof(".f.gz") - 1)

bool spool_key_is_same(const struct spool_key *a, const struct spool_key *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool spool_file_is_better(const struct spool_file *a, const struct spool_file *b)
{
	return a->is_final != b->is_final ? a->is_final : a->sequence > b->sequence;
}

void spool_name_format(const struct spool_file *file, char ret[SPOOL_NAME_SIZE])
{
	snprintf(ret, SPOOL_NAME_SIZE, "%016" PRIx64 "%016" PRIx64 ".%020" PRIu64 ".%c.gz",
		 file->key.halves[0], file->key.halves[1], file->sequence,
		 file->is_final ? 'f' : 'c');
}

static int parse_half(const char *digits, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < KEY_DIGITS / 2; i++) {
		const char *all = "0123456789abcdef", *digit = strchr(all, digits[i]);

		if (!digits[i] || !digit)
			return -EINVAL;
		*ret = *ret << 4 | (uint64_t)(digit - all);
	}
	return 0;
}

int spool_name_parse(const char *name, struct spool_file *ret)
{
	const char *end = name + KEY_DIGITS + 1 + SEQUENCE_DIGITS;
	struct spool_file file = {};
	char digits[SEQUENCE_DIGITS + 1];

	if (strlen(name) != NAME_LENGTH || name[KEY_DIGITS] != '.' ||
	    parse_half(name, &file.key.halves[0]) < 0 ||
	    parse_half(name + KEY_DIGITS / 2, &file.key.halves[1]) < 0)
		return -EINVAL;
	snprintf(digits, sizeof(digits), "%.*s", SEQUENCE_DIGITS, name + KEY_DIGITS + 1);
	if (parse_u64(digits, &file.sequence) < 0)
		return -EINVAL;
	file.is_final = strcmp(end, ".f.gz") == 0;
	if (!file.is_final && strcmp(end, ".c.gz") != 0)
		return -EINVAL;
	*ret = file;
	return 0;
}

void spool_list_clear(struct spool_list *list)
{
	free(list->files);
	*list = (struct spool_list){};
}

static int add(struct spool_list *list, const struct spool_file *file)
{
	if (list->count >= SPOOL_FILES_MAX)
		return 0;
	if ((list->count & (list->count - 1)) == 0) { /* there is room for a power of two */
		struct spool_file *larger =
			reallocarray(list->files, MAX(2 * list->count, (size_t)1), sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		list->files = larger;
	}
	list->files[list->count++] = *file;
	list->bytes += file->bytes;
	return 0;
}

/* The best of each job first. */
static int compare_keys(const void *a, const void *b)
{
	const struct spool_file *x = a, *y = b;
	int r = memcmp(&x->key, &y->key, sizeof(x->key));

	return r ? r : spool_file_is_better(y, x) - spool_file_is_better(x, y);
}

static int compare_ages(const void *a, const void *b)
{
	const struct spool_file *x = a, *y = b;

	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static void sort(struct spool_list *list)
{
	if (list->count < 2)
		return;
	qsort(list->files, list->count, sizeof(*list->files), compare_keys);
	for (size_t i = 1; i < list->count; i++)
		list->files[i].is_superseded = spool_key_is_same(&list->files[i].key,
								 &list->files[i - 1].key);
	qsort(list->files, list->count, sizeof(*list->files), compare_ages);
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* One that is gone by now, or no plain file, is none. */
static int add_named(struct spool_list *list, int dir_fd, const char *name)
{
	struct spool_file file;
	struct stat st;

	if (spool_name_parse(name, &file) < 0 ||
	    fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	file.bytes = (uint64_t)st.st_size;
	return add(list, &file);
}

int spool_list_read(int dir_fd, struct spool_list *ret)
{
	_cleanup_(spool_list_clear) struct spool_list list = {};
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	_cleanup_(closedirp) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		r = -errno;
		closep(&fd);
		return r;
	}
	while (r >= 0 && (entry = readdir(dir)))
		r = add_named(&list, dir_fd, entry->d_name);
	if (r < 0)
		return r;
	sort(&list);
	*ret = list;
	list = (struct spool_list){};
	return 0;
}
