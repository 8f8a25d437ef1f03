/* SPDX-License-Identifier: MIT */
#include <fcntl.h>

#include "content.h"
#include "numbers.h"
#include "path.h"
#include "storm.h"

void storm_in_folder(struct worker *w, int place, const char *folder, size_t opens, size_t stats)
{
	struct path there, absent;
	struct file file;

	path_make(&there, folder, w->name, "there");
	path_make(&absent, folder, w->name, "absent");
	file = content_create(w, place, &there, 1);
	counted_close(w->ledger, file);

	const struct call calls[] = {
		/* clang-format off */
		{ OP_OPEN, BY_PATH, (int)opens, SYS_openat, { AT_FDCWD, ARG(absent.text), O_RDONLY } },
		{ OP_STAT, BY_PATH, (int)stats, SYS_newfstatat, { AT_FDCWD, ARG(there.text), ARG(w->buffer), 0 } },
		/* clang-format on */
	};

	counted_calls(w->ledger, place, calls, 2);
	counted_unlink(w->ledger, place, there.text);
}
