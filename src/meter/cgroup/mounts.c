/* SPDX-License-Identifier: MIT */
#include "cgroup/mounts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/parse.h"

#define MOUNTINFO_MAX_BYTES (64u << 20)

void mounts_clear(struct mounts *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free(m->items[i].root);
		free(m->items[i].point);
		free(m->items[i].fstype);
		free(m->items[i].source);
		free(m->items[i].options);
	}
	free(m->items);
	*m = (struct mounts){};
}

/* A word with proc's octal escapes (\040 is a blank) undone. */
static char *unescape(const char *word)
{
	char *text = strdup(word);
	char *to = text;

	if (!text)
		return NULL;
	for (const char *p = word; *p; to++) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' &&
		    p[3] >= '0' && p[3] <= '7') {
			*to = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 4;
		} else {
			*to = *p++;
		}
	}
	*to = '\0';
	return text;
}

/* "8:1" */
static int parse_device(const char *word, uint32_t *ret)
{
	uint64_t major, minor;

	if (parse_leading_u64(&word, &major) < 0 || *word++ != ':' ||
	    parse_leading_u64(&word, &minor) < 0 || *word != '\0')
		return -EINVAL;
	if (major >= 1 << 12 || minor >= 1 << 20)
		return -EINVAL;
	*ret = (uint32_t)(major << 20 | minor);
	return 0;
}

/* "36 35 98:0 /root /point options optional... - fstype source superoptions" */
static int parse_mount(char *line, struct mount *ret)
{
	char *words[6] = {}, *word, *fstype, *source, *options;

	for (size_t i = 0; i < 6; i++) {
		words[i] = parse_next_word(&line);
		if (!words[i])
			return -EINVAL;
	}
	while ((word = parse_next_word(&line)) && strcmp(word, "-") != 0)
		;
	fstype = parse_next_word(&line);
	source = parse_next_word(&line);
	options = parse_next_word(&line);
	if (!fstype)
		return -EINVAL;
	if (parse_device(words[2], &ret->device) < 0)
		return -EINVAL;
	ret->root = unescape(words[3]);
	ret->point = unescape(words[4]);
	ret->fstype = unescape(fstype);
	ret->source = unescape(source ? source : "");
	ret->options = unescape(options ? options : "");
	if (!ret->root || !ret->point || !ret->fstype || !ret->source || !ret->options)
		return -ENOMEM;
	return 0;
}

static int add_mount(struct mounts *m, size_t *room)
{
	if (m->count >= MOUNTS_MAX)
		return -E2BIG;
	if (array_reserve(&m->items, room, m->count, sizeof(*m->items)) < 0)
		return -ENOMEM;
	m->items[m->count++] = (struct mount){};
	return 0;
}

int mounts_parse(char *text, struct mounts *ret, struct error *err)
{
	_cleanup_(mounts_clear) struct mounts m = {};
	size_t room = 0, number = 0;
	char *line;

	while ((line = parse_next_line(&text))) {
		int r = add_mount(&m, &room);

		number++;
		if (r >= 0)
			r = parse_mount(line, &m.items[m.count - 1]);
		if (r < 0)
			return error_set(err, r, "mountinfo line %zu cannot be understood", number);
	}
	*ret = m;
	m = (struct mounts){};
	return 0;
}

/* In a chroot the file system of "/" may be mounted out of sight; it is "/" all the same. */
static int name_root(int root_fd, struct mounts *m)
{
	struct stat st;
	size_t room = m->count; /* what parsing left over is not known, nor needed */
	struct mount *root;
	int r;

	for (size_t i = 0; i < m->count; i++) {
		if (strcmp(m->items[i].point, "/") == 0)
			return 0;
	}
	if (fstat(root_fd, &st) < 0)
		return 0;
	r = add_mount(m, &room);
	if (r < 0)
		return r;
	root = &m->items[m->count - 1];
	root->device = (uint32_t)(major(st.st_dev) << 20 | minor(st.st_dev));
	root->root = strdup("/");
	root->point = strdup("/");
	root->fstype = strdup("");
	root->source = strdup("");
	root->options = strdup("");
	return root->root && root->point && root->fstype && root->source && root->options ? 0
											  : -ENOMEM;
}

int mounts_read(int root_fd, const char *pid, struct mounts *ret, struct error *err)
{
	_cleanup_(mounts_clear) struct mounts m = {};
	_cleanup_free_ char *text = NULL;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "proc/%s/mountinfo", pid);
	r = file_read(root_fd, path, MOUNTINFO_MAX_BYTES, &text, NULL);
	if (r < 0)
		return error_set_errno(err, r, "cannot read '%s'", path);
	r = mounts_parse(text, &m, err);
	if (r >= 0)
		r = name_root(root_fd, &m);
	if (r < 0)
		return r;
	*ret = m;
	m = (struct mounts){};
	return 0;
}

static bool is_hidden(const struct mounts *m, size_t i)
{
	for (size_t later = i + 1; later < m->count; later++) {
		if (strcmp(m->items[later].point, m->items[i].point) == 0)
			return true;
	}
	return false;
}

/* Is @a the better name of a superblock than @b? */
static bool is_better(const struct mount *a, const struct mount *b)
{
	bool a_is_root = strcmp(a->root, "/") == 0, b_is_root = strcmp(b->root, "/") == 0;

	if (a_is_root != b_is_root)
		return a_is_root;
	return strlen(a->point) < strlen(b->point);
}

const struct mount *mounts_find(const struct mounts *m, uint32_t device)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < m->count; i++) {
		const struct mount *mount = &m->items[i];

		if (mount->device != device || is_hidden(m, i))
			continue;
		if (!best || is_better(mount, best))
			best = mount;
	}
	return best;
}

static bool has_option(const char *options, const char *wanted)
{
	size_t length = strlen(wanted);

	for (const char *p = options; p; p = strchr(p, ',')) {
		if (*p == ',')
			p++;
		if (strncmp(p, wanted, length) == 0 && (p[length] == ',' || p[length] == '\0'))
			return true;
	}
	return false;
}

const struct mount *mounts_find_type(const struct mounts *m, const char *fstype, const char *option)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct mount *mount = &m->items[i];

		if (strcmp(mount->fstype, fstype) == 0 && !is_hidden(m, i) &&
		    (!option || has_option(mount->options, option)))
			return mount;
	}
	return NULL;
}
