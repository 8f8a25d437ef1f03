/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/macro.h"
#include "meta_wrong.h"
#include "numbers.h"

#define NOWHERE ((void *)1)
#define NO_FOLDER (-1)

struct path_call {
	enum op op;
	long number;
	long args[5];
	int folder; /* which argument is the descriptor that a relative path starts from */
	int path; /* which one is the path to go wrong */
	enum {
		NONE = 0,
		MAKES = 1, /* what is missing, it makes */
		ALLOWS_EMPTY = 2,
		GOES_ON = 4, /* another path has been searched when this one goes wrong */
	} traits;
};

struct wrong_path {
	const char *text;
	int times;
	bool is_searched;
	int unsuitable; /* for calls with one of these traits */
	long folder; /* where it starts from; AT_FDCWD: it need not be told */
};

static void call_with(struct worker *w, int place, const struct path_call *c,
		      const struct wrong_path *wrong)
{
	struct call call = {
		.op = c->op, .by = BY_PATH, .times = wrong->times, .number = c->number
	};

	if ((c->traits & wrong->unsuitable) ||
	    (c->folder == NO_FOLDER && wrong->folder != AT_FDCWD))
		return;
	memcpy(call.args, c->args, sizeof(call.args));
	call.args[c->path] = ARG(wrong->text);
	if (c->folder != NO_FOLDER)
		call.args[c->folder] = wrong->folder;
	counted_call(w->ledger, wrong->is_searched ? place : PLACE_UNRESOLVED, &call);
}

static void call_all(struct worker *w, const struct stage *s, const struct wrong_path *wrong)
{
	const long to = ARG(w->buffer), dir = s->dir.fd, name = ARG("user.truth");
	const struct open_how how = { .flags = O_RDONLY };
	const struct path_call calls[] = {
		/* clang-format off */
		{ OP_OPEN,     SYS_open,         { 0, O_RDONLY },                   NO_FOLDER, 0, 0 },
		{ OP_OPEN,     SYS_creat,        { 0, 0600 },                       NO_FOLDER, 0, MAKES },
		{ OP_OPEN,     SYS_openat,       { 0, 0, O_RDWR },                  0, 1, 0 },
		{ OP_OPEN,     SYS_openat,       { 0, 0, O_WRONLY | O_CREAT, 0600 },0, 1, MAKES },
		{ OP_OPEN,     SYS_openat2,      { 0, 0, ARG(&how), sizeof(how) },  0, 1, 0 },
		{ OP_STAT,     SYS_stat,         { 0, to },                         NO_FOLDER, 0, 0 },
		{ OP_STAT,     SYS_lstat,        { 0, to },                         NO_FOLDER, 0, 0 },
		{ OP_STAT,     SYS_newfstatat,   { 0, 0, to, 0 },                   0, 1, 0 },
		{ OP_STAT,     SYS_newfstatat,   { 0, 0, to, AT_SYMLINK_NOFOLLOW }, 0, 1, 0 },
		{ OP_STAT,     SYS_statx,        { 0, 0, 0, STATX_ALL, to },        0, 1, 0 },
		{ OP_ACCESS,   SYS_access,       { 0, R_OK },                       NO_FOLDER, 0, 0 },
		{ OP_ACCESS,   SYS_faccessat,    { 0, 0, R_OK },                    0, 1, 0 },
		{ OP_ACCESS,   SYS_faccessat2,   { 0, 0, R_OK, 0 },                 0, 1, 0 },
		{ OP_READLINK, SYS_readlink,     { 0, to, 257 },                    NO_FOLDER, 0, ALLOWS_EMPTY },
		{ OP_READLINK, SYS_readlinkat,   { 0, 0, to, 257 },                 0, 1, ALLOWS_EMPTY },
		{ OP_STATFS,   SYS_statfs,       { 0, to },                         NO_FOLDER, 0, 0 },
		{ OP_RENAME,   SYS_rename,       { 0, ARG(s->b.text) },             NO_FOLDER, 0, 0 },
		{ OP_RENAME,   SYS_rename,       { ARG(s->data.text), 0 },          NO_FOLDER, 1, MAKES | GOES_ON },
		{ OP_RENAME,   SYS_renameat2,    { 0, 0, dir, ARG(s->b.name), 0 },  0, 1, 0 },
		{ OP_RENAME,   SYS_renameat2,    { dir, ARG(s->data.name), 0, 0, 0 }, 2, 3, MAKES | GOES_ON },
		{ OP_LINK,     SYS_link,         { 0, ARG(s->b.text) },             NO_FOLDER, 0, 0 },
		{ OP_LINK,     SYS_link,         { ARG(s->data.text), 0 },          NO_FOLDER, 1, MAKES | GOES_ON },
		{ OP_LINK,     SYS_linkat,       { 0, 0, dir, ARG(s->b.name), 0 },  0, 1, 0 },
		{ OP_LINK,     SYS_linkat,       { dir, ARG(s->data.name), 0, 0, 0 }, 2, 3, MAKES | GOES_ON },
		{ OP_SYMLINK,  SYS_symlink,      { ARG("nowhere"), 0 },             NO_FOLDER, 1, MAKES },
		{ OP_SYMLINK,  SYS_symlinkat,    { ARG("nowhere"), 0, 0 },          1, 2, MAKES },
		{ OP_UNLINK,   SYS_unlink,       { 0 },                             NO_FOLDER, 0, 0 },
		{ OP_UNLINK,   SYS_unlinkat,     { 0, 0, 0 },                       0, 1, 0 },
		{ OP_MKDIR,    SYS_mkdir,        { 0, 0700 },                       NO_FOLDER, 0, MAKES },
		{ OP_MKDIR,    SYS_mkdirat,      { 0, 0, 0700 },                    0, 1, MAKES },
		{ OP_RMDIR,    SYS_rmdir,        { 0 },                             NO_FOLDER, 0, 0 },
		{ OP_RMDIR,    SYS_unlinkat,     { 0, 0, AT_REMOVEDIR },            0, 1, 0 },
		{ OP_MKNOD,    SYS_mknod,        { 0, S_IFIFO | 0600, 0 },          NO_FOLDER, 0, MAKES },
		{ OP_MKNOD,    SYS_mknodat,      { 0, 0, S_IFREG | 0600, 0 },       0, 1, MAKES },
		{ OP_TRUNCATE, SYS_truncate,     { 0, 3 },                          NO_FOLDER, 0, 0 },
		{ OP_CHMOD,    SYS_chmod,        { 0, 0600 },                       NO_FOLDER, 0, 0 },
		{ OP_CHMOD,    SYS_fchmodat,     { 0, 0, 0600 },                    0, 1, 0 },
		{ OP_CHOWN,    SYS_chown,        { 0, -1, -1 },                     NO_FOLDER, 0, 0 },
		{ OP_CHOWN,    SYS_lchown,       { 0, -1, -1 },                     NO_FOLDER, 0, 0 },
		{ OP_CHOWN,    SYS_fchownat,     { 0, 0, -1, -1, 0 },               0, 1, 0 },
		{ OP_UTIME,    SYS_utime,        { 0, 0 },                          NO_FOLDER, 0, 0 },
		{ OP_UTIME,    SYS_utimes,       { 0, 0 },                          NO_FOLDER, 0, 0 },
		{ OP_UTIME,    SYS_futimesat,    { 0, 0, 0 },                       0, 1, 0 },
		{ OP_UTIME,    SYS_utimensat,    { 0, 0, 0, 0 },                    0, 1, 0 },
		{ OP_XATTR,    SYS_setxattr,     { 0, name, to, 5, 0 },             NO_FOLDER, 0, 0 },
		{ OP_XATTR,    SYS_lsetxattr,    { 0, name, to, 5, 0 },             NO_FOLDER, 0, 0 },
		{ OP_XATTR,    SYS_getxattr,     { 0, name, to, 257 },              NO_FOLDER, 0, 0 },
		{ OP_XATTR,    SYS_lgetxattr,    { 0, name, to, 257 },              NO_FOLDER, 0, 0 },
		{ OP_XATTR,    SYS_listxattr,    { 0, to, 257 },                    NO_FOLDER, 0, 0 },
		{ OP_XATTR,    SYS_llistxattr,   { 0, to, 257 },                    NO_FOLDER, 0, 0 },
		{ OP_XATTR,    SYS_removexattr,  { 0, name },                       NO_FOLDER, 0, 0 },
		{ OP_XATTR,    SYS_lremovexattr, { 0, name },                       NO_FOLDER, 0, 0 },
		/* clang-format on */
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		call_with(w, s->dir.place, &calls[i], wrong);
}

#define NAME_TOO_LONG 283
#define PATH_TOO_LONG 4099

static void fill(char *text, size_t length)
{
	memset(text, 'x', length);
	text[length] = '\0';
}

void meta_wrong(struct worker *w, const struct stage *s)
{
	char below[PATH_BYTES], beyond[PATH_BYTES], around[PATH_BYTES], long_name[PATH_BYTES];
	char long_path[PATH_TOO_LONG + 1];

	stpcpy(stpcpy(below, s->data.text), "/x");
	stpcpy(stpcpy(beyond, s->absent.text), "/x");
	stpcpy(stpcpy(around, s->loop.text), "/x");
	fill(stpcpy(long_name, s->absent.text), NAME_TOO_LONG);
	fill(long_path, PATH_TOO_LONG);

	const struct wrong_path wrong[] = {
		/* clang-format off */
		{ s->absent.text, 3, true,  MAKES, AT_FDCWD },
		{ s->absent.name, 2, true,  MAKES, s->dir.fd },
		{ beyond,         2, true,  NONE, AT_FDCWD },
		{ below,          2, true,  NONE, AT_FDCWD },
		{ around,         1, true,  NONE, AT_FDCWD },
		{ long_name,      3, true,  NONE, AT_FDCWD },
		{ long_path,      1, false, GOES_ON, AT_FDCWD },
		{ NOWHERE,        2, false, GOES_ON, AT_FDCWD },
		{ "",             3, false, GOES_ON | ALLOWS_EMPTY, AT_FDCWD },
		{ s->data.name,   2, false, GOES_ON, -1 },
		{ s->data.name,   1, false, GOES_ON, 1000003 },
		/* clang-format on */
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		call_all(w, s, &wrong[i]);
}
