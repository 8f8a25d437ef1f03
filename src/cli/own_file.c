/* SPDX-License-Identifier: MIT */
#include "cli/own_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/identify.h"

#define NAMES_MAX 1000

/* PIDs come again, and ranks in containers may have the same. */
static char *stem_in(const char *dir)
{
	const char *slash = dir[strlen(dir) - 1] == '/' ? "" : "/";
	char host[65] = "node", start[32], job[48] = "-", rank[16] = "";
	time_t now = time(NULL);
	struct tm tm = {};
	char *stem;

	(void)gethostname(host, sizeof(host) - 1);
	host[strcspn(host, "./")] = '\0';
	gmtime_r(&now, &tm);
	strftime(start, sizeof(start), "%Y%m%dT%H%M%SZ", &tm);
	identify_batch_job(job + 1, sizeof(job) - 1);
	if (identify_rank() >= 0)
		snprintf(rank, sizeof(rank), "-r%d", identify_rank());
	if (asprintf(&stem, "%s%s%s-%s%s%s-%d", dir, slash, host, start, job[1] ? job : "", rank,
		     getpid()) < 0)
		return NULL;
	return stem;
}

static int set_path(struct own_file *own, unsigned int number)
{
	char *path;

	if ((number < 2 ? asprintf(&path, "%s.json", own->stem)
			: asprintf(&path, "%s-%u.json", own->stem, number)) < 0)
		return -ENOMEM;
	free(own->path);
	own->path = path;
	return 0;
}

int own_file_choose(const char *dir, struct own_file *ret)
{
	ret->stem = stem_in(dir);
	return ret->stem ? set_path(ret, 1) : -ENOMEM;
}

int own_file_rename(struct own_file *own, unsigned int number)
{
	return number > NAMES_MAX ? -EEXIST : set_path(own, number);
}

void own_file_clear(struct own_file *own)
{
	free(own->stem);
	free(own->path);
	*own = (struct own_file){};
}
