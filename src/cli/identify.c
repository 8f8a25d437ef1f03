/* SPDX-License-Identifier: MIT */
#include "cli/identify.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
