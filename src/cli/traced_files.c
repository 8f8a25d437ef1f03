/* SPDX-License-Identifier: MIT */
#include "cli/traced_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "cgroup/hierarchy.h"
#include "cli/measure.h"
#include "cli/measurer.h"
#include "client/client.h"
#include "load/tiers.h"
#include "sources/children.h"

struct traced_files {
	struct measure_options options;
	struct client *agent; /* NULL: there is none */
	int root_fd;
	struct hierarchy hierarchy;
	struct measurer *measurer;
	struct children_usage before;
	struct record *record; /* NULL: not read */
};

int traced_files_begin(struct traced_files **ret, struct error *err)
{
	_cleanup_(traced_files_freep) struct traced_files *f = calloc(1, sizeof(*f));
	const struct error none = {};
	int r;

	if (!f)
		return -ENOMEM;
	f->options = (struct measure_options){ .root = "/", .tiers = METER_T0 | METER_T2 };
	f->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f->root_fd < 0)
		return error_set_errno(err, errno, "cannot open '/'");
	r = hierarchy_read(f->root_fd, &f->hierarchy, err);
	if (r < 0)
		return r;
	(void)client_open(NULL, &f->agent, NULL);
	f->options.agent = f->agent;
	r = f->agent
		    ? measurer_new_agent(&f->options, f->root_fd, &f->hierarchy, &f->measurer)
		    : measurer_new_own(&f->options, f->root_fd, &f->hierarchy, &none, &f->measurer);
	if (r < 0)
		return error_set_errno(err, r, "cannot start the meter");
	r = f->measurer->begin(f->measurer, err);
	children_usage_begin(f->root_fd, &f->before);
	if (r == 0)
		*ret = TAKE_PTR(f);
	return r;
}

int traced_files_admit(struct traced_files *f, pid_t pid, struct error *err)
{
	return f->measurer->admit(f->measurer, pid, err);
}

int traced_files_read(struct traced_files *f, const struct child *child, struct error *err)
{
	_cleanup_(record_freep) struct record *record = record_new();
	int r;

	if (!record)
		return -ENOMEM;
	r = f->measurer->read(f->measurer, child, &f->before, record, err);
	if (r >= 0)
		f->record = TAKE_PTR(record);
	return r;
}

const struct reading *traced_files_reading(const struct traced_files *f)
{
	return f && f->record && f->record->reading.has_mounts ? &f->record->reading : NULL;
}

struct traced_files *traced_files_free(struct traced_files *f)
{
	if (!f)
		return NULL;
	measurer_freep(&f->measurer);
	hierarchy_clear(&f->hierarchy);
	client_close(f->agent);
	record_free(f->record);
	if (f->root_fd >= 0)
		close(f->root_fd);
	free(f);
	return NULL;
}

void traced_files_freep(struct traced_files **f)
{
	*f = traced_files_free(*f);
}
