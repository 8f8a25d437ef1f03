/* SPDX-License-Identifier: MIT */
#include "cli/site_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/error.h"
#include "basic/file.h"
#include "codec/yaml_node.h"
#include "analysis/rules.h"

struct layers {
	struct rules_text texts[RULES_LAYERS_MAX];
	char *read[RULES_LAYERS_MAX]; /* those that are to be freed */
	size_t count;
};

static struct layers layers_of_built_in(void)
{
	return (struct layers){ .texts = { rules_built_in_text() }, .count = 1 };
}

static void drop_last(struct layers *layers)
{
	layers->count--;
	free(layers->read[layers->count]);
	layers->read[layers->count] = NULL;
}

static void layers_clear(struct layers *layers)
{
	while (layers->count > 0)
		drop_last(layers);
}

static int check_trust(const char *path, const struct stat *st, struct error *err)
{
	if (!S_ISREG(st->st_mode))
		return error_set(err, -EINVAL, "cannot read '%s': it is no plain file", path);
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return error_set(err, -EPERM, "'%s' is not read: it is neither root's nor yours",
				 path);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return error_set(err, -EPERM,
				 "'%s' is not read: others may write to it (chmod go-w)", path);
	return 0;
}

static int add_file(struct layers *layers, const char *path, bool is_asked_for, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY |
						    (is_asked_for ? 0 : O_NONBLOCK));
	struct rules_text *text = &layers->texts[layers->count];
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "cannot read '%s'", path);
	r = is_asked_for ? 0 : check_trust(path, &st, err);
	if (r < 0)
		return r;
	*text = (struct rules_text){ .name = path };
	r = file_read_fd(fd, YAML_NODE_BYTES_MAX, &layers->read[layers->count], &text->length);
	if (r < 0)
		return error_set_errno(err, r, "cannot read '%s'", path);
	text->text = layers->read[layers->count++];
	return 0;
}

static int join(const struct layers *layers, struct rules **rules, struct error *err)
{
	struct rules *joined = NULL;
	int r = rules_join(layers->texts, layers->count, &joined, err);

	if (r < 0)
		return r;
	rules_free(*rules);
	*rules = joined;
	return 0;
}

/* *rules is what holds so far: what cannot be added changes nothing. */
static void try_file(const struct cli_command *command, const char *path, bool is_users,
		     struct layers *layers, struct rules **rules)
{
	struct error err = {};
	int r = add_file(layers, path, false, &err);

	if (r == -ENOENT || r == -ENOTDIR || (r == -EACCES && is_users)) /* another's home */
		return;
	if (r == 0) {
		r = join(layers, rules, &err);
		if (r == 0)
			return;
		drop_last(layers);
	}
	error_prefix(&err, r, "a file of rules is ignored");
	cli_say(command, &err);
}

int site_rules_load(const struct cli_command *command, const char *more, struct rules **ret,
		    struct error *err)
{
	_cleanup_(layers_clear) struct layers layers = layers_of_built_in();
	_cleanup_(rules_freep) struct rules *rules = NULL;
	_cleanup_free_ char *users = file_find_config("insights.yaml");
	const char *sites = getenv("JOBMETER_INSIGHTS");
	int r = 0;

	if (!sites)
		sites = SITE_RULES_PATH;
	if (*sites)
		try_file(command, sites, false, &layers, &rules);
	if (users)
		try_file(command, users, true, &layers, &rules);
	if (more)
		r = add_file(&layers, more, true, err);
	if (r == 0 && (more || !rules))
		r = join(&layers, &rules, err);
	if (r == 0)
		*ret = TAKE_PTR(rules);
	return r;
}

int site_rules_check(const char *path, struct rules **ret, struct error *err)
{
	_cleanup_(layers_clear) struct layers layers = layers_of_built_in();
	int r = add_file(&layers, path, true, err);

	return r < 0 ? r : rules_join(layers.texts, layers.count, ret, err);
}
