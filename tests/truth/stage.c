/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <unistd.h>

#include "basic/macro.h"
#include "numbers.h"
#include "stage.h"

static void name_all(struct stage *s, const char *worker)
{
	const struct {
		struct path *path;
		const char *what;
	} names[] = {
		/* clang-format off */
		{ &s->data,     "meta" },
		{ &s->link,     "link" },
		{ &s->inner,    "folder" },
		{ &s->inside,   "folder/inside" },
		{ &s->to_inner, "to-folder" },
		{ &s->through,  "to-folder/inside" },
		{ &s->loop,     "loop" },
		{ &s->a,        "a" },
		{ &s->b,        "b" },
		{ &s->c,        "c" },
		{ &s->deep,     "a/deep" },
		{ &s->absent,   "absent" },
		/* clang-format on */
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		path_make(names[i].path, s->folder, worker, names[i].what);
}

static struct file create(const struct stage *s, struct worker *w, const struct path *path)
{
	return counted_open(w->ledger, s->dir.place,
			    &(struct opening){ .call = CALL_OPENAT,
					       .dir_fd = (int)s->dir.fd,
					       .path = path->name,
					       .flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC,
					       .creates = true });
}

bool stage_make(struct stage *s, struct worker *w, int place, const char *folder)
{
	struct file inside;

	s->folder = folder;
	name_all(s, w->name);
	s->dir = counted_open_existing(w->ledger, place, folder, O_DIRECTORY | O_CLOEXEC);
	if (s->dir.fd < 0)
		return false;

	const struct call made[] = {
		/* clang-format off */
		{ OP_MKDIR,   BY_PATH, 1, SYS_mkdirat,   { s->dir.fd, ARG(s->inner.name), 0700 } },
		{ OP_SYMLINK, BY_PATH, 1, SYS_symlinkat, { ARG(s->data.name), s->dir.fd, ARG(s->link.name) } },
		{ OP_SYMLINK, BY_PATH, 1, SYS_symlinkat, { ARG(s->inner.name), s->dir.fd, ARG(s->to_inner.name) } },
		{ OP_SYMLINK, BY_PATH, 1, SYS_symlinkat, { ARG(s->loop.name), s->dir.fd, ARG(s->loop.name) } },
		/* clang-format on */
	};

	counted_calls(w->ledger, place, made, ARRAY_SIZE(made));
	s->file = create(s, w, &s->data);
	counted_write(w->ledger, s->file, w->buffer, 10007);
	inside = create(s, w, &s->inside);
	counted_close(w->ledger, inside);
	s->name = counted_open_existing(w->ledger, place, s->data.text, O_PATH | O_CLOEXEC);
	return s->file.fd >= 0 && inside.fd >= 0 && s->name.fd >= 0;
}

void stage_remove(struct stage *s, struct worker *w)
{
	const struct call removed[] = {
		/* clang-format off */
		{ OP_UNLINK, BY_PATH, 1, SYS_unlinkat, { s->dir.fd, ARG(s->inside.name) } },
		{ OP_RMDIR,  BY_PATH, 1, SYS_unlinkat, { s->dir.fd, ARG(s->inner.name), AT_REMOVEDIR } },
		{ OP_UNLINK, BY_PATH, 1, SYS_unlinkat, { s->dir.fd, ARG(s->data.name) } },
		{ OP_UNLINK, BY_PATH, 1, SYS_unlinkat, { s->dir.fd, ARG(s->link.name) } },
		{ OP_UNLINK, BY_PATH, 1, SYS_unlinkat, { s->dir.fd, ARG(s->to_inner.name) } },
		{ OP_UNLINK, BY_PATH, 1, SYS_unlinkat, { s->dir.fd, ARG(s->loop.name) } },
		/* clang-format on */
	};

	if (s->dir.fd < 0)
		return;
	counted_calls(w->ledger, s->dir.place, removed, ARRAY_SIZE(removed));
	counted_close(w->ledger, s->name);
	counted_close(w->ledger, s->file);
	counted_close(w->ledger, s->dir);
}
