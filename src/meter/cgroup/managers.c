/* SPDX-License-Identifier: MIT */
#include "cgroup/managers.h"

#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/file.h"
#include "basic/dir.h"
#include "basic/macro.h"
#include "basic/parse.h"

#define PROCESSES_MAX (1u << 22) /* the kernel's own limit of pids */
#define CONFIG_MAX (1u << 20)

/* clang-format off */
static const struct known {
	const char *name;
	const char *daemons[4]; /* as proc/PID/comm has them */
	const char *files[4];
	const char *setting;    /* in that file, puts jobs into cgroups */
} known[] = {
	{ "Slurm",      { "slurmd", "slurmstepd" }, { "etc/slurm/slurm.conf", "etc/slurm-llnl/slurm.conf", "run/slurm/conf/slurm.conf" }, "ProctrackType=proctrack/cgroup" },
	{ "PBS",        { "pbs_mom" },              { "etc/pbs.conf" }, NULL },
	{ "LSF",        { "sbatchd", "lim" },       { "etc/lsf.conf" }, "LSF_PROCESS_TRACKING=Y" },
	{ "Flux",       { "flux-broker", "flux-broker-0" }, { "etc/flux/system/conf.d" }, NULL },
	{ "HTCondor",   { "condor_startd", "condor_master" }, { "etc/condor/condor_config" }, NULL },
	{ "Kubernetes", { "kubelet" },              { "var/lib/kubelet/config.yaml", "etc/kubernetes/kubelet.conf" }, NULL },
};
/* clang-format on */

static_assert(ARRAY_SIZE(known) <= MANAGERS_MAX, "room for all");

enum tracking managers_parse_tracking(const char *text, const char *setting)
{
	size_t key_length = strcspn(setting, "=") + 1;
	enum tracking tracking = TRACKING_UNKNOWN;
	const char *end;

	for (const char *line = text; *line; line = *end ? end + 1 : end) {
		const char *value;

		end = line + strcspn(line, "\n");
		line += strspn(line, " \t");
		if (strncasecmp(line, setting, key_length) != 0)
			continue;
		value = line + key_length;
		tracking = strncasecmp(value, setting + key_length, strlen(setting + key_length)) ==
					   0
				   ? TRACKING_ON
				   : TRACKING_OFF;
	}
	return tracking;
}

static void read_config(int root_fd, const struct known *k, struct manager *m)
{
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(k->files) && k->files[i] && !m->file; i++) {
		if (faccessat(root_fd, k->files[i], F_OK, 0) == 0)
			m->file = k->files[i];
	}
	if (m->file && k->setting && file_read(root_fd, m->file, CONFIG_MAX, &text, NULL) == 0)
		m->tracking = managers_parse_tracking(text, k->setting);
	m->setting = k->setting;
}

static void match_daemon(const char *comm, pid_t pid, struct manager *all)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		for (size_t d = 0; d < ARRAY_SIZE(known->daemons) && known[i].daemons[d]; d++) {
			if (all[i].daemon || strcmp(known[i].daemons[d], comm) != 0)
				continue;
			all[i].daemon = known[i].daemons[d];
			all[i].daemon_pid = pid;
		}
	}
}

static void find_daemons(int root_fd, struct manager *all)
{
	_cleanup_(dir_clear) struct dir names = {};

	if (dir_read(root_fd, "proc", PROCESSES_MAX, &names) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		char path[64], comm[64];
		int pid;

		if (parse_int(names.names[i], 1, INT32_MAX, &pid) < 0)
			continue;
		snprintf(path, sizeof(path), "proc/%d/comm", pid);
		if (file_read_one_line(root_fd, path, comm, sizeof(comm)) < 0)
			continue; /* it ended */
		match_daemon(comm, pid, all);
	}
}

void managers_read(int root_fd, struct managers *ret)
{
	struct manager all[ARRAY_SIZE(known)] = {};

	*ret = (struct managers){};
	find_daemons(root_fd, all);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		all[i].name = known[i].name;
		read_config(root_fd, &known[i], &all[i]);
		if (all[i].file || all[i].daemon)
			ret->items[ret->count++] = all[i];
	}
}
