/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <unistd.h>

#include "content.h"
#include "passing.h"
#include "uring.h"

#define OPCODE_FTRUNCATE 55 /* of Linux 6.9, newer than some headers */
#define XATTR "user.truth"

struct names { /* in one folder: a file that is there, two that come and go, one that never is */
	struct file dir, file;
	struct path data, a, b, absent;
};

static struct deed by_path(const struct names *n, enum op op)
{
	return (struct deed){ .place = n->dir.place, .op = op, .way = WAY_IO_URING, .by = BY_PATH };
}

/* A request that names a file from the folder on; what else it takes stands in @rest. */
static struct request path_request(const struct names *n, enum op op, int opcode, const char *path,
				   struct io_uring_sqe rest)
{
	rest.opcode = (unsigned char)opcode;
	rest.fd = (int)n->dir.fd;
	rest.addr = (unsigned long)path;
	return (struct request){ .deed = by_path(n, op), .sqe = rest };
}

static struct request file_request(struct file file, enum op op, int opcode,
				   struct io_uring_sqe rest)
{
	rest.opcode = (unsigned char)opcode;
	rest.fd = (int)file.fd;
	return (struct request){ .deed = request_deed(op, file), .sqe = rest };
}

static long try(struct worker *w, struct ring *r, int times, struct request request)
{
	long result = 0;

	/* A kernel that does not know the opcode would say so, of no file at all. */
	for (int i = 0; r->is_known[request.sqe.opcode] && i < times; i++)
		result = request_do(w, r, &request);
	return result;
}

/* ---- opens and closes ---- */

/* An open tells its place by the file that comes back, as any other. */
static struct file open_file(struct worker *w, struct ring *r, const struct names *n,
			     struct io_uring_sqe sqe, const char *path, bool creates)
{
	struct io_uring_cqe end = {};
	struct request q = path_request(n, OP_OPEN, sqe.opcode, path, sqe);

	ring_put(r, &q.sqe);
	if (ring_wait(r, &end) < 0)
		w->wrong = __func__;
	if (end.res >= 0) {
		q.deed.by = BY_RESULT;
		q.deed.op = creates ? OP_CREATE : OP_OPEN;
	}
	ledger_note(w->ledger, q.deed, end.res);
	return (struct file){ .fd = end.res, .place = n->dir.place };
}

static void close_file(struct worker *w, struct ring *r, struct file file)
{
	try(w, r, 1, file_request(file, OP_CLOSE, IORING_OP_CLOSE, (struct io_uring_sqe){}));
}

static void open_and_close(struct worker *w, struct ring *r, const struct names *n)
{
	static struct open_how how = { .flags = O_RDONLY | O_CLOEXEC };
	const struct io_uring_sqe plain = { .opcode = IORING_OP_OPENAT, .open_flags = O_RDWR },
				  create = { .opcode = IORING_OP_OPENAT,
					     .open_flags = O_CREAT | O_RDWR | O_CLOEXEC,
					     .len = 0600 },
				  second = { .opcode = IORING_OP_OPENAT2,
					     .len = sizeof(how),
					     .off = (unsigned long)&how };

	for (int i = 0; i < 3; i++)
		close_file(w, r, open_file(w, r, n, create, n->a.name, i == 0));
	for (int i = 0; i < 5; i++)
		close_file(w, r, open_file(w, r, n, plain, n->data.name, false));
	for (int i = 0; i < 2; i++)
		close_file(w, r, open_file(w, r, n, second, n->data.name, false));
	for (int i = 0; i < 7; i++)
		open_file(w, r, n, plain, n->absent.name, false);
	close_file(w, r, (struct file){ .fd = 1000003, .place = PLACE_UNRESOLVED });
	counted_unlink(w->ledger, n->dir.place, n->a.text);
}

/* ---- names ---- */

static void make_and_move(struct worker *w, struct ring *r, const struct names *n)
{
	const int dir = (int)n->dir.fd;
	const unsigned long a = (unsigned long)n->a.name, b = (unsigned long)n->b.name;
	const struct io_uring_sqe mode = { .len = 0700 },
				  as_folder = { .unlink_flags = AT_REMOVEDIR };
	const struct io_uring_sqe to_b = { .len = (unsigned int)dir, .off = b },
				  to_a = { .len = (unsigned int)dir, .off = a },
				  as_a = { .off = a };

	try(w, r, 1, path_request(n, OP_MKDIR, IORING_OP_MKDIRAT, n->a.name, mode));
	try(w, r, 2, path_request(n, OP_MKDIR, IORING_OP_MKDIRAT, n->data.name, mode));
	try(w, r, 1, path_request(n, OP_RENAME, IORING_OP_RENAMEAT, n->a.name, to_b));
	try(w, r, 3, path_request(n, OP_RENAME, IORING_OP_RENAMEAT, n->absent.name, to_a));
	try(w, r, 1, path_request(n, OP_RMDIR, IORING_OP_UNLINKAT, n->b.name, as_folder));
	try(w, r, 1, path_request(n, OP_RMDIR, IORING_OP_UNLINKAT, n->a.name, as_folder));

	try(w, r, 2, path_request(n, OP_SYMLINK, IORING_OP_SYMLINKAT, "nowhere", as_a));
	try(w, r, 3, path_request(n, OP_LINK, IORING_OP_LINKAT, n->data.name, to_b));
	try(w, r, 2,
	    path_request(n, OP_UNLINK, IORING_OP_UNLINKAT, n->a.name, (struct io_uring_sqe){}));
	try(w, r, 3,
	    path_request(n, OP_UNLINK, IORING_OP_UNLINKAT, n->b.name, (struct io_uring_sqe){}));
}

static void ask(struct worker *w, struct ring *r, const struct names *n)
{
	const struct io_uring_sqe to = { .len = STATX_ALL, .off = (unsigned long)w->buffer };

	try(w, r, 5, path_request(n, OP_STAT, IORING_OP_STATX, n->data.name, to));
	try(w, r, 3, path_request(n, OP_STAT, IORING_OP_STATX, n->absent.name, to));
}

/* ---- attributes ---- */

static void use_xattrs(struct worker *w, struct ring *r, const struct names *n)
{
	const unsigned long name = (unsigned long)XATTR, value = (unsigned long)w->buffer;
	const struct io_uring_sqe by_fd = { .addr = name, .off = value, .len = 11 };
	struct io_uring_sqe path_too = by_fd;
	struct request q;

	path_too.addr3 = (unsigned long)n->data.text;
	try(w, r, 3, file_request(n->file, OP_XATTR, IORING_OP_FSETXATTR, by_fd));
	try(w, r, 5, file_request(n->file, OP_XATTR, IORING_OP_FGETXATTR, by_fd));

	/* The path stands elsewhere than in other requests, and takes no folder. */
	q = (struct request){ .deed = by_path(n, OP_XATTR), .sqe = path_too };
	q.sqe.opcode = IORING_OP_SETXATTR;
	try(w, r, 2, q);
	q.sqe.opcode = IORING_OP_GETXATTR;
	try(w, r, 3, q);
}

static void change_file(struct worker *w, struct ring *r, const struct names *n)
{
	const struct io_uring_sqe size = { .off = 10009 }, space = { .addr = 20011 },
				  bad_space = { .off = (unsigned long)-1, .addr = 1 },
				  range = { .len = 4096, .sync_range_flags = 2 };

	try(w, r, 5, file_request(n->file, OP_TRUNCATE, OPCODE_FTRUNCATE, size));
	try(w, r, 3, file_request(n->file, OP_FALLOCATE, IORING_OP_FALLOCATE, space));
	try(w, r, 2, file_request(n->file, OP_FALLOCATE, IORING_OP_FALLOCATE, bad_space));
	try(w, r, 3, file_request(n->file, OP_SYNC, IORING_OP_SYNC_FILE_RANGE, range));
}

void uring_on_names(struct worker *w, struct ring *r, int place, const char *folder)
{
	struct names n = { .dir = counted_open_existing(w->ledger, place, folder,
							O_DIRECTORY | O_CLOEXEC) };

	path_make(&n.data, folder, w->name, "named");
	path_make(&n.a, folder, w->name, "ring-a");
	path_make(&n.b, folder, w->name, "ring-b");
	path_make(&n.absent, folder, w->name, "ring-absent");
	n.file = content_create(w, place, &n.data, 10007);
	open_and_close(w, r, &n);
	make_and_move(w, r, &n);
	ask(w, r, &n);
	use_xattrs(w, r, &n);
	change_file(w, r, &n);
	counted_close(w->ledger, n.file);
	counted_unlink(w->ledger, place, n.data.text);
	counted_close(w->ledger, n.dir);
}

/* ---- splice ---- */

static void splice_once(struct worker *w, struct ring *r, struct file in, long in_at,
			struct file out, long out_at, unsigned int bytes)
{
	const struct io_uring_sqe sqe = {
		.opcode = IORING_OP_SPLICE,
		.fd = (int)out.fd,
		.len = bytes,
		.off = (unsigned long)out_at,
		.splice_fd_in = (int)in.fd,
		.splice_off_in = (unsigned long)in_at,
	};
	struct io_uring_cqe end = { .res = -EIO };

	ring_put(r, &sqe);
	if (ring_wait(r, &end) < 0)
		w->wrong = __func__;
	ledger_note(w->ledger, (struct deed){ .place = in.place, .way = WAY_SPLICE, .op = OP_READ },
		    end.res);
	ledger_note(w->ledger,
		    (struct deed){ .place = out.place, .way = WAY_SPLICE, .op = OP_WRITE },
		    end.res);
}

void uring_splice(struct worker *w, int place, const char *folder)
{
	struct path in_path, out_path;
	struct file in, out, ends[2];
	struct ring r;

	path_make(&in_path, folder, w->name, "ring-in");
	path_make(&out_path, folder, w->name, "ring-out");
	if (!uring_open(w, &r, 0, FEATURE_IO_URING))
		return;
	in = content_create(w, place, &in_path, 40009);
	out = content_create(w, place, &out_path, 0);
	if (pipe_make(ends, O_CLOEXEC)) {
		for (int i = 0; i < 5; i++) {
			splice_once(w, &r, in, i * 4001, ends[1], -1, 4001);
			splice_once(w, &r, ends[0], -1, out, i * 4001, 4001);
		}
		splice_once(w, &r, in, 40009, ends[1], -1, 101); /* the end */
		splice_once(w, &r, in, 0, out, 0, 103); /* no pipe */
		content_check(w, out, 0, 5 * 4001, 0);
		counted_close(w->ledger, ends[0]);
		counted_close(w->ledger, ends[1]);
	}
	counted_close(w->ledger, in);
	counted_close(w->ledger, out);
	counted_unlink(w->ledger, place, in_path.text);
	counted_unlink(w->ledger, place, out_path.text);
	uring_close(w, &r);
}
