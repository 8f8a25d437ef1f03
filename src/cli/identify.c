/* SPDX-License-Identifier: MIT */
#include "cli/identify.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "basic/file.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "model/record.h"

static char *read_word(int root_fd, const char *path)
{
	char text[256];

	if (file_read_small(root_fd, path, text, sizeof(text)) < 0)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return strdup(text);
}

void identify_node(int root_fd, struct record *record)
{
	record->node = read_word(root_fd, "proc/sys/kernel/hostname");
	record->boot_id = read_word(root_fd, "proc/sys/kernel/random/boot_id");
	record->agent_version = strdup(JOBMETER_VERSION);
}

int identify_rank(void)
{
	static const char *const names[] = { "SLURM_PROCID", "PMIX_RANK", "PMI_RANK",
					     "OMPI_COMM_WORLD_RANK", "FLUX_TASK_RANK" };
	int rank;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *text = getenv(names[i]);

		if (text && parse_int(text, 0, INT32_MAX, &rank) == 0)
			return rank;
	}
	return -1;
}

void identify_batch_job(char *ret, size_t size)
{
	static const char *const names[] = { "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
					     "FLUX_JOB_ID", "OAR_JOB_ID" };
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.";
	const char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !text; i++)
		text = getenv(names[i]);
	snprintf(ret, size, "%s", text ? text : "");
	for (char *c = ret; *c; c++) {
		if (!strchr(letters, *c))
			*c = '_';
	}
}

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
