/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "basic/macro.h"
#include "meta.h"
#include "meta_wrong.h"
#include "numbers.h"
#include "stage.h"

#define NOWHERE ((void *)1)
#define XATTR "user.truth"

static void make_calls(struct worker *w, const struct stage *s, const struct call *calls,
		       size_t count)
{
	counted_calls(w->ledger, s->dir.place, calls, count);
}

/* ---- questions ---- */

static void ask_status(struct worker *w, const struct stage *s)
{
	const long dir = s->dir.fd, file = s->file.fd;
	const long to = ARG(w->buffer);
	const struct call calls[] = {
		/* clang-format off */
		{ OP_STAT, BY_PATH,       3, SYS_stat,       { ARG(s->data.text), to } },
		{ OP_STAT, BY_PATH,       2, SYS_stat,       { ARG(s->link.text), to } },
		{ OP_STAT, BY_PATH,       2, SYS_stat,       { ARG(s->folder), to } },
		{ OP_STAT, BY_PATH,       3, SYS_stat,       { ARG(s->through.text), to } },
		{ OP_STAT, BY_PATH,       1, SYS_stat,       { ARG(s->data.text), ARG(NOWHERE) } },
		{ OP_STAT, BY_PATH,       5, SYS_lstat,      { ARG(s->link.text), to } },
		{ OP_STAT, BY_DESCRIPTOR, 7, SYS_fstat,      { file, to } },
		{ OP_STAT, BY_DESCRIPTOR, 3, SYS_fstat,      { s->name.fd, to } },
		{ OP_STAT, BY_DESCRIPTOR, 1, SYS_fstat,      { dir, ARG(NOWHERE) } },
		{ OP_STAT, BY_PATH,       2, SYS_newfstatat, { dir, ARG(s->data.name), to, 0 } },
		{ OP_STAT, BY_PATH,       3, SYS_newfstatat, { dir, ARG(s->link.name), to, AT_SYMLINK_NOFOLLOW } },
		{ OP_STAT, BY_PATH,       7, SYS_newfstatat, { AT_FDCWD, ARG(s->data.text), to, 0 } },
		{ OP_STAT, BY_PATH,       2, SYS_newfstatat, { dir, ARG(s->data.name), to, AT_EMPTY_PATH } },
		{ OP_STAT, BY_PATH,       3, SYS_newfstatat, { -1, ARG(s->through.text), to, 0 } },
		{ OP_STAT, BY_DESCRIPTOR, 5, SYS_newfstatat, { file, ARG(""), to, AT_EMPTY_PATH } },
		{ OP_STAT, BY_DESCRIPTOR, 3, SYS_newfstatat, { dir, ARG(""), to, AT_EMPTY_PATH } },
		{ OP_STAT, BY_PATH,       3, SYS_statx,      { dir, ARG(s->data.name), 0, STATX_ALL, to } },
		{ OP_STAT, BY_PATH,       2, SYS_statx,      { AT_FDCWD, ARG(s->link.text), 0, STATX_ALL, to } },
		{ OP_STAT, BY_PATH,       2, SYS_statx,      { AT_FDCWD, ARG(s->folder), 0, STATX_ALL, to } },
		{ OP_STAT, BY_DESCRIPTOR, 7, SYS_statx,      { file, ARG(""), AT_EMPTY_PATH, STATX_ALL, to } },
		{ OP_STATFS, BY_PATH,       3, SYS_statfs,  { ARG(s->data.text), to } },
		{ OP_STATFS, BY_PATH,       2, SYS_statfs,  { ARG(s->folder), to } },
		{ OP_STATFS, BY_PATH,       1, SYS_statfs,  { ARG(s->inner.text), ARG(NOWHERE) } },
		{ OP_STATFS, BY_DESCRIPTOR, 5, SYS_fstatfs, { file, to } },
		{ OP_STATFS, BY_DESCRIPTOR, 2, SYS_fstatfs, { s->name.fd, to } },
		/* clang-format on */
	};

	make_calls(w, s, calls, ARRAY_SIZE(calls));
}

static void ask_access(struct worker *w, const struct stage *s)
{
	const long dir = s->dir.fd;
	const struct call calls[] = {
		/* clang-format off */
		{ OP_ACCESS, BY_PATH, 3, SYS_access,     { ARG(s->data.text), R_OK } },
		{ OP_ACCESS, BY_PATH, 2, SYS_access,     { ARG(s->data.text), X_OK } },
		{ OP_ACCESS, BY_PATH, 2, SYS_access,     { ARG(s->folder), F_OK } },
		{ OP_ACCESS, BY_PATH, 5, SYS_faccessat,  { dir, ARG(s->link.name), W_OK } },
		{ OP_ACCESS, BY_PATH, 2, SYS_faccessat,  { AT_FDCWD, ARG(s->through.text), W_OK } },
		{ OP_ACCESS, BY_PATH, 3, SYS_faccessat2, { dir, ARG(s->data.name), R_OK, AT_EACCESS } },
		{ OP_ACCESS, BY_PATH, 2, SYS_faccessat2, { dir, ARG(s->link.name), R_OK, AT_SYMLINK_NOFOLLOW } },
		/* clang-format on */
	};

	make_calls(w, s, calls, ARRAY_SIZE(calls));
}

static void ask_links(struct worker *w, const struct stage *s)
{
	const long dir = s->dir.fd;
	const long to = ARG(w->buffer);
	const struct call calls[] = {
		/* clang-format off */
		{ OP_READLINK, BY_PATH, 3, SYS_readlink,   { ARG(s->link.text), to, 257 } },
		{ OP_READLINK, BY_PATH, 2, SYS_readlink,   { ARG(s->loop.text), to, 3 } },
		{ OP_READLINK, BY_PATH, 2, SYS_readlink,   { ARG(s->data.text), to, 257 } },
		{ OP_READLINK, BY_PATH, 5, SYS_readlinkat, { dir, ARG(s->link.name), to, 257 } },
		{ OP_READLINK, BY_PATH, 1, SYS_readlinkat, { dir, ARG(s->link.name), ARG(NOWHERE), 257 } },
		/* clang-format on */
	};

	make_calls(w, s, calls, ARRAY_SIZE(calls));
}

void meta_list_folder(struct worker *w, struct file dir, long number)
{
	const struct call call = {
		OP_READDIR, BY_DESCRIPTOR, 1, number, { dir.fd, ARG(w->buffer), 509 }
	};

	lseek((int)dir.fd, 0, SEEK_SET);
	while (counted_call(w->ledger, dir.place, &call) > 0)
		;
}

static void list_all_ways(struct worker *w, const struct stage *s)
{
	const struct call wrong[] = {
		/* clang-format off */
		{ OP_READDIR, BY_DESCRIPTOR, 3, SYS_getdents64, { s->file.fd, ARG(w->buffer), 509 } },
		{ OP_READDIR, BY_DESCRIPTOR, 2, SYS_getdents,   { s->name.fd, ARG(w->buffer), 509 } },
		/* clang-format on */
	};

	for (int i = 0; i < 3; i++)
		meta_list_folder(w, s->dir, SYS_getdents64);
	for (int i = 0; i < 2; i++)
		meta_list_folder(w, s->dir, SYS_getdents);
	make_calls(w, s, wrong, ARRAY_SIZE(wrong));
}

/* ---- names ---- */

static void move_names(struct worker *w, const struct stage *s)
{
	const long dir = s->dir.fd;
	const struct call calls[] = {
		/* clang-format off */
		{ OP_MKNOD,   BY_PATH, 1, SYS_mknodat,   { AT_FDCWD, ARG(s->a.text), S_IFREG | 0600, 0 } },
		{ OP_RENAME,  BY_PATH, 1, SYS_rename,    { ARG(s->a.text), ARG(s->b.text) } },
		{ OP_RENAME,  BY_PATH, 1, SYS_rename,    { ARG(s->b.text), ARG(s->a.text) } },
		{ OP_RENAME,  BY_PATH, 1, SYS_renameat2, { dir, ARG(s->a.name), dir, ARG(s->b.name), 0 } },
		{ OP_RENAME,  BY_PATH, 2, SYS_renameat2, { dir, ARG(s->b.name), dir, ARG(s->data.name), 1 } }, /* RENAME_NOREPLACE */
		{ OP_LINK,    BY_PATH, 2, SYS_linkat,    { dir, ARG(s->b.name), dir, ARG(s->a.name), 0 } },
		{ OP_LINK,    BY_PATH, 1, SYS_linkat,    { AT_FDCWD, ARG(s->link.text), dir, ARG(s->c.name), AT_SYMLINK_FOLLOW } },
		{ OP_RENAME,  BY_PATH, 3, SYS_renameat2, { dir, ARG(s->a.name), AT_FDCWD, ARG(s->c.text), 2 } }, /* RENAME_EXCHANGE */
		{ OP_UNLINK,  BY_PATH, 2, SYS_unlink,    { ARG(s->a.text) } },
		{ OP_UNLINK,  BY_PATH, 1, SYS_unlinkat,  { AT_FDCWD, ARG(s->a.text), 0 } },
		{ OP_LINK,    BY_PATH, 2, SYS_link,      { ARG(s->data.text), ARG(s->a.text) } },
		{ OP_UNLINK,  BY_PATH, 3, SYS_unlinkat,  { dir, ARG(s->b.name), 0 } },
		{ OP_UNLINK,  BY_PATH, 2, SYS_unlinkat,  { dir, ARG(s->c.name), 0 } },
		{ OP_UNLINK,  BY_PATH, 1, SYS_unlinkat,  { dir, ARG(s->a.name), 0 } },
		{ OP_SYMLINK, BY_PATH, 3, SYS_symlink,   { ARG("nowhere"), ARG(s->b.text) } },
		{ OP_SYMLINK, BY_PATH, 2, SYS_symlinkat, { ARG("/nowhere"), dir, ARG(s->c.name) } },
		{ OP_UNLINK,  BY_PATH, 1, SYS_unlinkat,  { dir, ARG(s->b.name), 0 } },
		{ OP_UNLINK,  BY_PATH, 1, SYS_unlinkat,  { dir, ARG(s->c.name), 0 } },
		{ OP_MKNOD,   BY_PATH, 2, SYS_mknod,     { ARG(s->b.text), S_IFIFO | 0600, 0 } },
		{ OP_MKNOD,   BY_PATH, 3, SYS_mknodat,   { dir, ARG(s->c.name), S_IFIFO | 0600, 0 } },
		{ OP_UNLINK,  BY_PATH, 1, SYS_unlinkat,  { dir, ARG(s->b.name), 0 } },
		{ OP_UNLINK,  BY_PATH, 1, SYS_unlinkat,  { dir, ARG(s->c.name), 0 } },
#ifdef SYS_renameat /* riscv has renameat2 alone */
		{ OP_RENAME,  BY_PATH, 1, SYS_renameat,  { dir, ARG(s->data.name), dir, ARG(s->a.name) } },
		{ OP_RENAME,  BY_PATH, 1, SYS_renameat,  { AT_FDCWD, ARG(s->a.text), dir, ARG(s->data.name) } },
#endif
		/* clang-format on */
	};

	for (int i = 0; i < 5; i++)
		make_calls(w, s, calls, ARRAY_SIZE(calls));
}

static void move_folders(struct worker *w, const struct stage *s)
{
	const long dir = s->dir.fd;
	const struct call calls[] = {
		/* clang-format off */
		{ OP_MKDIR,  BY_PATH, 1, SYS_mkdirat,   { AT_FDCWD, ARG(s->a.text), 0700 } },
		{ OP_MKDIR,  BY_PATH, 2, SYS_mkdir,     { ARG(s->b.text), 0700 } },
		{ OP_MKDIR,  BY_PATH, 2, SYS_mkdirat,   { dir, ARG(s->deep.name), 0700 } },
		{ OP_MKDIR,  BY_PATH, 3, SYS_mkdirat,   { dir, ARG(s->data.name), 0700 } },
		{ OP_RMDIR,  BY_PATH, 2, SYS_rmdir,     { ARG(s->a.text) } },
		{ OP_RMDIR,  BY_PATH, 3, SYS_unlinkat,  { dir, ARG(s->a.name), AT_REMOVEDIR } },
		{ OP_RMDIR,  BY_PATH, 2, SYS_unlinkat,  { dir, ARG(s->data.name), AT_REMOVEDIR } },
		{ OP_UNLINK, BY_PATH, 3, SYS_unlinkat,  { dir, ARG(s->a.name), 0 } },
		{ OP_RENAME, BY_PATH, 2, SYS_renameat2, { dir, ARG(s->inner.name), dir, ARG(s->a.name), 0 } },
		{ OP_RENAME, BY_PATH, 1, SYS_renameat2, { dir, ARG(s->a.name), dir, ARG(s->deep.name), 0 } },
		{ OP_RMDIR,  BY_PATH, 1, SYS_unlinkat,  { AT_FDCWD, ARG(s->deep.text), AT_REMOVEDIR } },
		{ OP_RMDIR,  BY_PATH, 2, SYS_rmdir,     { ARG(s->b.text) } },
		{ OP_RMDIR,  BY_PATH, 1, SYS_unlinkat,  { dir, ARG(s->b.name), AT_REMOVEDIR } },
		{ OP_RMDIR,  BY_PATH, 1, SYS_unlinkat,  { dir, ARG(s->a.name), AT_REMOVEDIR } },
		/* clang-format on */
	};

	for (int i = 0; i < 3; i++)
		make_calls(w, s, calls, ARRAY_SIZE(calls));
}

/* ---- attributes ---- */

static void change_sizes(struct worker *w, const struct stage *s)
{
	const long file = s->file.fd;
	const struct call calls[] = {
		/* clang-format off */
		{ OP_TRUNCATE,  BY_PATH,       3, SYS_truncate,  { ARG(s->data.text), 10009 } },
		{ OP_TRUNCATE,  BY_PATH,       2, SYS_truncate,  { ARG(s->link.text), 10037 } },
		{ OP_TRUNCATE,  BY_PATH,       2, SYS_truncate,  { ARG(s->inner.text), 0 } },
		{ OP_TRUNCATE,  BY_DESCRIPTOR, 5, SYS_ftruncate, { file, 10039 } },
		{ OP_TRUNCATE,  BY_DESCRIPTOR, 2, SYS_ftruncate, { file, -1 } },
		{ OP_TRUNCATE,  BY_DESCRIPTOR, 3, SYS_ftruncate, { s->dir.fd, 0 } },
		{ OP_TRUNCATE,  BY_DESCRIPTOR, 1, SYS_ftruncate, { s->name.fd, 0 } },
		{ OP_FALLOCATE, BY_DESCRIPTOR, 3, SYS_fallocate, { file, 0, 0, 20011 } },
		{ OP_FALLOCATE, BY_DESCRIPTOR, 2, SYS_fallocate, { file, 3, 0, 4096 } }, /* a hole */
		{ OP_FALLOCATE, BY_DESCRIPTOR, 2, SYS_fallocate, { file, 0, -1, 1 } },
		{ OP_FALLOCATE, BY_DESCRIPTOR, 1, SYS_fallocate, { s->dir.fd, 0, 0, 1 } },
		/* clang-format on */
	};

	make_calls(w, s, calls, ARRAY_SIZE(calls));
}

static void change_owners(struct worker *w, const struct stage *s)
{
	const long dir = s->dir.fd, file = s->file.fd;
	const struct call calls[] = {
		/* clang-format off */
		{ OP_CHMOD, BY_PATH,       3, SYS_chmod,    { ARG(s->data.text), 0640 } },
		{ OP_CHMOD, BY_DESCRIPTOR, 5, SYS_fchmod,   { file, 0600 } },
		{ OP_CHMOD, BY_DESCRIPTOR, 1, SYS_fchmod,   { s->name.fd, 0600 } },
		{ OP_CHMOD, BY_PATH,       2, SYS_fchmodat, { dir, ARG(s->link.name), 0600 } },
		{ OP_CHMOD, BY_PATH,       2, SYS_fchmodat, { AT_FDCWD, ARG(s->through.text), 0600 } },
		{ OP_CHOWN, BY_PATH,       3, SYS_chown,    { ARG(s->link.text), -1, -1 } },
		{ OP_CHOWN, BY_PATH,       2, SYS_lchown,   { ARG(s->link.text), -1, -1 } },
		{ OP_CHOWN, BY_DESCRIPTOR, 5, SYS_fchown,   { file, -1, -1 } },
		{ OP_CHOWN, BY_PATH,       7, SYS_fchownat, { dir, ARG(s->data.name), -1, -1, 0 } },
		{ OP_CHOWN, BY_PATH,       2, SYS_fchownat, { dir, ARG(s->link.name), -1, -1, AT_SYMLINK_NOFOLLOW } },
		/* clang-format on */
	};

	make_calls(w, s, calls, ARRAY_SIZE(calls));
}

#define SYS_FCHMODAT2 452 /* newer than some C libraries */

/* From Linux 6.6 on; before that number means nothing, and no meter need know it. */
static void change_mode_newly(struct worker *w, const struct stage *s)
{
	const struct call call = {
		OP_CHMOD, BY_PATH, 3, SYS_FCHMODAT2, { s->dir.fd, ARG(s->data.name), 0644, 0 }
	};
	struct utsname name;

	if (uname(&name) == 0 && strverscmp(name.release, "6.6") >= 0)
		counted_call(w->ledger, s->dir.place, &call);
}

static void change_times(struct worker *w, const struct stage *s)
{
	const long dir = s->dir.fd, file = s->file.fd;
	const struct call calls[] = {
		/* clang-format off */
		{ OP_UTIME, BY_PATH,       3, SYS_utime,     { ARG(s->data.text), 0 } },
		{ OP_UTIME, BY_PATH,       2, SYS_utimes,    { ARG(s->link.text), 0 } },
		{ OP_UTIME, BY_PATH,       2, SYS_futimesat, { dir, ARG(s->data.name), 0 } },
		{ OP_UTIME, BY_PATH,       5, SYS_utimensat, { dir, ARG(s->data.name), 0, 0 } },
		{ OP_UTIME, BY_PATH,       2, SYS_utimensat, { AT_FDCWD, ARG(s->link.text), 0, AT_SYMLINK_NOFOLLOW } },
		{ OP_UTIME, BY_DESCRIPTOR, 7, SYS_utimensat, { file, 0, 0, 0 } },
		/* clang-format on */
	};

	make_calls(w, s, calls, ARRAY_SIZE(calls));
}

static void change_xattrs(struct worker *w, const struct stage *s)
{
	const long file = s->file.fd, name = ARG(XATTR), other = ARG(XATTR ".absent");
	const long data = ARG(s->data.text), link = ARG(s->link.text), value = ARG(w->buffer);
	const struct call calls[] = {
		/* clang-format off */
		{ OP_XATTR, BY_PATH,       3, SYS_setxattr,     { data, name, value, 11, 0 } },
		{ OP_XATTR, BY_PATH,       2, SYS_lsetxattr,    { data, name, value, 13, 0 } },
		{ OP_XATTR, BY_PATH,       2, SYS_lsetxattr,    { link, name, value, 13, 0 } },
		{ OP_XATTR, BY_DESCRIPTOR, 5, SYS_fsetxattr,    { file, name, value, 17, 0 } },
		{ OP_XATTR, BY_DESCRIPTOR, 2, SYS_fsetxattr,    { file, name, value, 17, XATTR_CREATE } },
		{ OP_XATTR, BY_PATH,       3, SYS_getxattr,     { link, name, value, 257 } },
		{ OP_XATTR, BY_PATH,       2, SYS_getxattr,     { data, other, value, 257 } },
		{ OP_XATTR, BY_PATH,       5, SYS_lgetxattr,    { link, name, value, 257 } },
		{ OP_XATTR, BY_DESCRIPTOR, 3, SYS_fgetxattr,    { file, name, value, 257 } },
		{ OP_XATTR, BY_DESCRIPTOR, 2, SYS_fgetxattr,    { file, name, value, 1 } },
		{ OP_XATTR, BY_DESCRIPTOR, 1, SYS_fgetxattr,    { s->name.fd, name, value, 257 } },
		{ OP_XATTR, BY_PATH,       2, SYS_listxattr,    { link, value, 257 } },
		{ OP_XATTR, BY_PATH,       2, SYS_listxattr,    { ARG(s->folder), value, 257 } },
		{ OP_XATTR, BY_PATH,       3, SYS_llistxattr,   { link, value, 257 } },
		{ OP_XATTR, BY_DESCRIPTOR, 5, SYS_flistxattr,   { file, 0, 0 } },
		{ OP_XATTR, BY_PATH,       2, SYS_removexattr,  { data, name } },
		{ OP_XATTR, BY_PATH,       3, SYS_lremovexattr, { link, name } },
		{ OP_XATTR, BY_DESCRIPTOR, 2, SYS_fremovexattr, { file, name } },
		/* clang-format on */
	};

	make_calls(w, s, calls, ARRAY_SIZE(calls));
}

/* ---- to the disk ---- */

static void sync_all_ways(struct worker *w, const struct stage *s)
{
	const struct call calls[] = {
		/* clang-format off */
		{ OP_SYNC, BY_DESCRIPTOR, 2, SYS_syncfs,          { s->dir.fd } },
		{ OP_SYNC, BY_DESCRIPTOR, 1, SYS_syncfs,          { s->name.fd } },
		{ OP_SYNC, BY_DESCRIPTOR, 3, SYS_sync_file_range, { s->file.fd, 0, 0, 2 } },
		{ OP_SYNC, BY_DESCRIPTOR, 2, SYS_sync_file_range, { s->file.fd, -1, 0, 2 } },
		/* clang-format on */
	};

	make_calls(w, s, calls, ARRAY_SIZE(calls));
}

/* An address is all that this names, and no page of the mapping is touched. */
static void sync_mapping(struct worker *w, const struct stage *s)
{
	void *pages = mmap(NULL, 8192, PROT_READ, MAP_SHARED, (int)s->file.fd, 0);
	const struct call calls[] = {
		/* clang-format off */
		{ OP_SYNC, BY_PATH, 3, SYS_msync, { ARG(pages), 4096, MS_SYNC } },
		{ OP_SYNC, BY_PATH, 2, SYS_msync, { ARG(pages), 4096, MS_ASYNC } },
		{ OP_SYNC, BY_PATH, 2, SYS_msync, { ARG(NOWHERE), 4096, MS_SYNC } },
		/* clang-format on */
	};

	if (pages == MAP_FAILED)
		return;
	counted_calls(w->ledger, PLACE_UNRESOLVED, calls, ARRAY_SIZE(calls));
	munmap(pages, 8192);
}

void meta_in_folder(struct worker *w, int place, const char *folder, bool with_newest)
{
	struct stage s = {};

	if (stage_make(&s, w, place, folder)) {
		ask_status(w, &s);
		ask_access(w, &s);
		ask_links(w, &s);
		list_all_ways(w, &s);
		move_names(w, &s);
		move_folders(w, &s);
		change_sizes(w, &s);
		change_owners(w, &s);
		if (with_newest)
			change_mode_newly(w, &s);
		change_times(w, &s);
		change_xattrs(w, &s);
		sync_all_ways(w, &s);
		sync_mapping(w, &s);
		meta_wrong(w, &s);
	}
	stage_remove(&s, w);
}
