/* SPDX-License-Identifier: MIT */
/* A contender that sorts the requests of one block device by their time: biolatency of
 * libbpf-tools. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "basic/cleanup.h"
#include "contender.h"
#include "basic/error.h"
#include "kinds.h"
#include "basic/parse.h"
#include "tool.h"

static int biolatency_start(struct contest *c, struct error *err)
{
	char disk[32];
	char *const argv[] = { "stdbuf", "-oL", "biolatency", "-d", disk, "100", NULL };
	struct tool *tool;
	int r;

	snprintf(disk, sizeof(disk), "%s", strrchr(c->ring->device, '/') + 1);
	r = tool_start(argv, "Tracing", &tool, err);
	if (r >= 0)
		c->state = tool;
	else
		r = -EOPNOTSUPP; /* it says why */
	return r;
}

/* "  16 -> 31  : 1009  |****  |" a line. */
static int biolatency_end(struct contest *c, struct counted *ret, struct error *err)
{
	const char *says = tool_end(c->state);

	(void)err;
	ret->requests = 0;
	for (const char *at = says; (at = strstr(at, " -> "));) {
		const char *colon = strchr(at, ':');
		uint64_t number;

		at += 4;
		if (!colon)
			break;
		colon += 1 + strspn(colon + 1, " ");
		if (parse_leading_u64(&colon, &number) == 0)
			ret->requests += (int64_t)number;
	}
	tool_free(c->state);
	return 0;
}

/* They are its process's, and known by their names. */
static void biolatency_tell(struct contest *c, program_teller tell, void *data)
{
	(void)c;
	for (__u32 id = 0; bpf_prog_get_next_id(id, &id) == 0;) {
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);
		_cleanup_close_ int fd = bpf_prog_get_fd_by_id(id);

		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
		    strncmp(info.name, "block_rq_", 9) == 0)
			tell(info.name, info.run_cnt, info.run_time_ns, data);
	}
}

const struct contender_kind kind_biolatency = { biolatency_start, biolatency_end, false,
						biolatency_tell };
