/* SPDX-License-Identifier: MIT */
#include "sources/preemption.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "basic/cleanup.h"
#include "basic/file.h"
#include "basic/macro.h"

#define CONFIG_MAX (1u << 20) /* a kernel's configuration has some 300 KB */

/* clang-format off */
static const struct option { const char *line, *mode; } config_modes[] = {
	{ "CONFIG_PREEMPT_RT=y",        "rt" },
	{ "CONFIG_PREEMPT=y",           "full" },
	{ "CONFIG_PREEMPT_LAZY=y",      "lazy" },
	{ "CONFIG_PREEMPT_VOLUNTARY=y", "voluntary" },
	{ "CONFIG_PREEMPT_NONE=y",      "none" },
};
/* clang-format on */

static int set(struct preemption *ret, const char *mode, size_t length, const char *source)
{
	if (length == 0 || length >= sizeof(ret->mode) ||
	    strspn(mode, "abcdefghijklmnopqrstuvwxyz_") < length)
		return -EINVAL;
	memcpy(ret->mode, mode, length);
	ret->mode[length] = '\0';
	ret->source = source;
	return 0;
}

int preemption_parse_debug(const char *text, struct preemption *ret)
{
	const char *open = strchr(text, '(');
	const char *close = open ? strchr(open, ')') : NULL;

	if (!close)
		return -EINVAL;
	return set(ret, open + 1, (size_t)(close - open - 1), "the scheduler");
}

static bool has_line(const char *text, const char *line)
{
	size_t length = strlen(line);

	for (const char *p = text; (p = strstr(p, line)); p += length) {
		if ((p == text || p[-1] == '\n') && (p[length] == '\n' || p[length] == '\0'))
			return true;
	}
	return false;
}

/* The last "preempt=MODE" is what counts. */
static const char *find_boot_option(const char *command_line)
{
	const char *found = NULL;

	for (const char *p = command_line; (p = strstr(p, "preempt=")); p++) {
		if (p == command_line || p[-1] == ' ')
			found = p + strlen("preempt=");
	}
	return found;
}

int preemption_parse_config(const char *config, const char *command_line, struct preemption *ret)
{
	const char *asked = find_boot_option(command_line);

	if (asked && has_line(config, "CONFIG_PREEMPT_DYNAMIC=y"))
		return set(ret, asked, strcspn(asked, " \n"), "the boot command line");
	for (size_t i = 0; i < ARRAY_SIZE(config_modes); i++) {
		if (has_line(config, config_modes[i].line))
			return set(ret, config_modes[i].mode, strlen(config_modes[i].mode),
				   "the kernel's configuration");
	}
	return -ENOENT;
}

void preemption_parse_version(const char *version, struct preemption *ret)
{
	const char *word = strstr(version, "PREEMPT");
	size_t length = word ? strcspn(word, " \n") : 0;

	*ret = (struct preemption){ .source = "the kernel's version" };
	if (!*version)
		ret->source = "nothing here says";
	else if (!word)
		ret->source = "none or voluntary, says the kernel's version";
	else if (length == strlen("PREEMPT_DYNAMIC"))
		ret->source = "dynamic, says the kernel's version";
	else if (length == strlen("PREEMPT_RT"))
		(void)set(ret, "rt", 2, ret->source);
	else
		(void)set(ret, "full", 4, ret->source);
}

/* Gzipped or plain.  NULL: it cannot be read. */
static char *read_config(int root_fd, const char *path)
{
	_cleanup_close_ int fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = malloc(CONFIG_MAX);
	gzFile file;
	int n;

	if (fd < 0 || !text)
		return NULL;
	file = gzdopen(fd, "r");
	if (!file)
		return NULL;
	(void)TAKE_FD(fd);
	n = gzread(file, text, CONFIG_MAX - 1);
	gzclose_r(file);
	if (n < 0)
		return NULL;
	text[n] = '\0';
	return TAKE_PTR(text);
}

static char *find_config(int root_fd)
{
	char *config = read_config(root_fd, "proc/config.gz");
	char release[128], path[160];

	if (config ||
	    file_read_small(root_fd, "proc/sys/kernel/osrelease", release, sizeof(release)) < 0)
		return config;
	release[strcspn(release, "\n")] = '\0';
	snprintf(path, sizeof(path), "boot/config-%s", release);
	return read_config(root_fd, path);
}

static int read_by_config(int root_fd, struct preemption *ret)
{
	_cleanup_free_ char *config = find_config(root_fd);
	char line[4096];

	if (!config)
		return -ENOENT;
	if (file_read_small(root_fd, "proc/cmdline", line, sizeof(line)) < 0)
		*line = '\0';
	return preemption_parse_config(config, line, ret);
}

void preemption_read(int root_fd, struct preemption *ret)
{
	char text[256];

	if (file_read_small(root_fd, "sys/kernel/debug/sched/preempt", text, sizeof(text)) >= 0 &&
	    preemption_parse_debug(text, ret) == 0)
		return;
	if (read_by_config(root_fd, ret) == 0)
		return;
	if (file_read_small(root_fd, "proc/sys/kernel/version", text, sizeof(text)) < 0)
		*text = '\0';
	preemption_parse_version(text, ret);
}
