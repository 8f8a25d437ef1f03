/* SPDX-License-Identifier: MIT */
#include "trace/callers.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/file.h"
#include "basic/fnv.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "cgroup/descendants.h"

#define PARENTS_MAX 6 /* between a rank and what started it */

void callers_clear(struct callers *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->items[i]);
	free(p->items);
	*p = (struct callers){};
}

static int find_number(const char *text, size_t size, const char *name)
{
	const size_t length = strlen(name);
	const char *at = text, *end = text + size;
	int number;

	for (; at < end; at += strnlen(at, (size_t)(end - at)) + 1) {
		if ((size_t)(end - at) > length && memcmp(at, name, length) == 0 &&
		    memchr(at, '\0', (size_t)(end - at)) &&
		    parse_int(at + length, 0, INT32_MAX, &number) == 0)
			return number;
	}
	return -1;
}

/* What starts ranks names them, in this order: mpirun in a Slurm job leaves Slurm's own variable as
 * the batch script had it. */
int callers_parse_rank(const char *text, size_t size)
{
	static const char *const names[] = {
		"OMPI_COMM_WORLD_RANK=", "PMIX_RANK=",	  "PMI_RANK=",
		"MPI_RANKID=",		 "SLURM_PROCID=", "FLUX_TASK_RANK="
	};
	int rank = -1;

	for (size_t i = 0; i < ARRAY_SIZE(names) && rank < 0; i++)
		rank = find_number(text, size, names[i]);
	/* torchrun's, a name that others may have for something else. */
	if (rank < 0 && find_number(text, size, "WORLD_SIZE=") > 0)
		rank = find_number(text, size, "RANK=");
	return rank;
}

/* Ranks of one mpirun have one name space of PMIx, or one proxy of Hydra's among their parents. */
static uint64_t find_run(const char *text, size_t size, pid_t pid)
{
	static const char name[] = "PMIX_NAMESPACE=", proxy[] = "(hydra_pmi_proxy)";
	const char *at = memmem(text, size, name, sizeof(name) - 1);
	char path[64], stat[1024], state;

	if (at)
		return fnv_bytes(FNV_BEGIN, at, strnlen(at, (size_t)(text + size - at)));
	for (int i = 0; i < PARENTS_MAX && pid > 1; i++) {
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		if (file_read_small(AT_FDCWD, path, stat, sizeof(stat)) <= 0)
			break;
		if (strstr(stat, proxy))
			return (uint64_t)pid;
		if (descendants_parse_stat(stat, &state, &pid) < 0)
			break;
	}
	return 0;
}

static void read_process(struct trace_process *process)
{
	_cleanup_free_ char *text = NULL;
	char path[64], task[64] = "";
	size_t size;

	snprintf(path, sizeof(path), "/proc/%u/environ", process->pid);
	if (file_read(AT_FDCWD, path, CALLERS_ENVIRON_MAX, &text, &size) == 0)
		process->rank = callers_parse_rank(text, size);
	/* after it, with a newline: exec() changes the name before the environment */
	snprintf(path, sizeof(path), "/proc/%u/comm", process->pid);
	(void)file_read_small(AT_FDCWD, path, task, sizeof(task));
	snprintf(process->task, sizeof(process->task), "%.*s",
		 (int)MIN(strcspn(task, "\n"), sizeof(process->task) - 1), task);
	if (process->rank >= 0)
		process->run = find_run(text, size, (pid_t)process->pid);
}

static struct trace_process *find(const struct callers *p, uint32_t pid)
{
	for (size_t i = p->count; i-- > 0;) {
		if (p->items[i]->pid == pid)
			return p->items[i];
	}
	return NULL;
}

static struct trace_process *add(struct callers *p, const struct trace_process *process)
{
	struct trace_process *own;

	if (array_reserve(&p->items, &p->room, p->count, sizeof(own)) < 0)
		return NULL;
	own = malloc(sizeof(*own));
	if (!own)
		return NULL;
	*own = *process;
	return p->items[p->count++] = own;
}

const struct trace_process *callers_get(struct callers *p, uint32_t pid)
{
	struct trace_process process = { .pid = pid, .rank = -1 }, *found = find(p, pid);

	if (found)
		return found;
	read_process(&process);
	return add(p, &process);
}

/* What has no rank may yet become a program that has one. */
void callers_see(struct callers *p, uint32_t pid)
{
	struct trace_process process = { .pid = pid, .rank = -1 };

	if (find(p, pid))
		return;
	read_process(&process);
	if (process.rank >= 0)
		(void)add(p, &process);
}
