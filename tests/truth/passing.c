/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "content.h"
#include "basic/macro.h"
#include "passing.h"
#include "path.h"

#define NOWHERE ((void *)1)
#define SOURCE_BYTES 60013

struct pair { /* the files that data goes between, and descriptors of them that allow less */
	struct path in_path, out_path;
	struct file in, out;
	struct file in_mute, out_deaf; /* that cannot be read, and not be written */
	struct file out_appends;
	struct file ends[2]; /* of a pipe, */
	struct file socks[2]; /* and of a socket, that do not wait */
};

static const struct file bad_files[] = {
	{ .fd = -1, .place = PLACE_UNRESOLVED },
	{ .fd = 1000003, .place = PLACE_UNRESOLVED },
};

static bool make_pair(struct pair *p, struct worker *w, struct folder from, struct folder to)
{
	int fds[2];

	path_make(&p->in_path, from.path, w->name, "source");
	path_make(&p->out_path, to.path, w->name, "sink");
	p->in = content_create(w, from.place, &p->in_path, SOURCE_BYTES);
	p->out = content_create(w, to.place, &p->out_path, 0);
	if (p->in.fd < 0 || p->out.fd < 0 || !pipe_make(p->ends, O_NONBLOCK | O_CLOEXEC) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0)
		return false;
	for (int i = 0; i < 2; i++)
		p->socks[i] = (struct file){ .fd = fds[i], .place = PLACE_SOCKET };
	p->in_mute = counted_open_existing(w->ledger, from.place, p->in_path.text, O_WRONLY);
	p->out_deaf = counted_open_existing(w->ledger, to.place, p->out_path.text, O_RDONLY);
	p->out_appends = counted_open_existing(w->ledger, to.place, p->out_path.text,
					       O_WRONLY | O_APPEND);
	return true;
}

static void remove_pair(struct pair *p, struct worker *w, struct folder from, struct folder to)
{
	const struct file files[] = {
		p->in,	    p->out,	p->in_mute,  p->out_deaf, p->out_appends,
		p->ends[0], p->ends[1], p->socks[0], p->socks[1],
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		counted_close(w->ledger, files[i]);
	counted_unlink(w->ledger, from.place, p->in_path.text);
	counted_unlink(w->ledger, to.place, p->out_path.text);
}

static long pass(struct worker *w, enum way way, struct file in, off_t *in_at, struct file out,
		 off_t *out_at, size_t bytes)
{
	return counted_pass(w->ledger, &(struct passing){ .way = way,
							  .in = in,
							  .out = out,
							  .in_at = in_at,
							  .out_at = out_at,
							  .bytes = bytes });
}

static void drain(struct worker *w, struct file file)
{
	while (counted_read(w->ledger, file, w->buffer, 30011) > 0)
		;
}

/* Descriptors that are none, on either side, and offsets that cannot be read. */
static void pass_wrongly(struct worker *w, enum way way, struct file in, struct file out)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_files); i++) {
		pass(w, way, bad_files[i], NULL, out, NULL, 11);
		pass(w, way, in, NULL, bad_files[i], NULL, 13);
		pass(w, way, bad_files[i], NULL, bad_files[i], NULL, 17);
	}
	pass(w, way, w->hole, NULL, out, NULL, 19);
	for (int i = 0; i < 3; i++)
		pass(w, way, in, NOWHERE, out, NULL, 23);
}

/* ---- sendfile ---- */

static void send_files(struct worker *w, struct pair *p)
{
	off_t at = 5003;

	lseek((int)p->out.fd, 0, SEEK_SET);
	for (int i = 0; i < 3; i++)
		pass(w, WAY_SENDFILE, p->in, &at, p->out, NULL, 10007);
	content_check(w, p->out, 0, 30021, 5003);
	lseek((int)p->in.fd, 0, SEEK_SET);
	for (int i = 0; i < 5; i++) /* the last one meets the end */
		pass(w, WAY_SENDFILE, p->in, NULL, p->out, NULL, 14009);
	for (int i = 0; i < 2; i++)
		pass(w, WAY_SENDFILE, p->in, NULL, p->out, NULL, 101);
	pass(w, WAY_SENDFILE, p->in, NULL, p->out, NULL, 0);

	pass(w, WAY_SENDFILE, p->in_mute, NULL, p->out, NULL, 103);
	pass(w, WAY_SENDFILE, p->in, NULL, p->out_deaf, NULL, 107);
	pass(w, WAY_SENDFILE, p->in, NULL, p->out_appends, NULL, 109);
	pass_wrongly(w, WAY_SENDFILE, p->in, p->out);
}

/* To what takes a part, and then nothing more until it is read. */
static void send_to_narrow(struct worker *w, struct pair *p, struct file in, struct file out)
{
	for (int i = 0; i < 3; i++) {
		off_t at = 7;

		pass(w, WAY_SENDFILE, p->in, &at, out, NULL, 1009);
		pass(w, WAY_SENDFILE, p->in, &at, out, NULL, 59009);
		for (int k = 0; k < 40; k++) {
			at = 0;
			if (pass(w, WAY_SENDFILE, p->in, &at, out, NULL, SOURCE_BYTES) < 0)
				break;
		}
		drain(w, in);
	}
	pass(w, WAY_SENDFILE, in, NULL, p->out, NULL, 113); /* from there it may not be possible */
}

static void pass_by_sendfile(struct worker *w, struct pair *p)
{
	send_files(w, p);
	send_to_narrow(w, p, p->ends[0], p->ends[1]);
	send_to_narrow(w, p, p->socks[0], p->socks[1]);
}

/* ---- splice ---- */

static void splice_through(struct worker *w, struct pair *p, struct file ends[2])
{
	off_t in_at = 0, out_at = 0;
	long r;

	while (in_at < 40009) {
		if (pass(w, WAY_SPLICE, p->in, &in_at, ends[1], NULL, 8009) <= 0)
			break;
		while ((r = pass(w, WAY_SPLICE, ends[0], NULL, p->out, &out_at, 5003)) > 0)
			;
		if (r != -EAGAIN)
			break;
	}
	if (out_at)
		content_check(w, p->out, 0, (size_t)out_at, 0);
}

static void pass_by_splice(struct worker *w, struct pair *p)
{
	struct file others[2];
	off_t behind = SOURCE_BYTES, at = 0;

	splice_through(w, p, p->ends);
	pass(w, WAY_SPLICE, p->in, &behind, p->ends[1], NULL, 127); /* the end */
	pass(w, WAY_SPLICE, p->in, &at, p->ends[1], NULL, 0);
	if (pipe_make(others, O_NONBLOCK | O_CLOEXEC)) {
		at = 11;
		pass(w, WAY_SPLICE, p->in, &at, p->ends[1], NULL, 2003);
		pass(w, WAY_SPLICE, p->ends[0], NULL, others[1], NULL, 1009);
		pass(w, WAY_SPLICE, p->ends[0], NULL, others[1], NULL, 1013);
		drain(w, others[0]);
		drain(w, p->ends[0]);
		counted_close(w->ledger, others[0]);
		counted_close(w->ledger, others[1]);
	}
	for (int i = 0; i < 5; i++)
		pass(w, WAY_SPLICE, p->ends[0], NULL, p->out, NULL, 131); /* an empty pipe */
	pass(w, WAY_SPLICE, p->in, NULL, p->out, NULL, 137); /* no pipe at all */
	pass(w, WAY_SPLICE, p->in, NULL, p->ends[1], &at, 139); /* a place in a pipe */
	pass(w, WAY_SPLICE, p->in_mute, NULL, p->ends[1], NULL, 149);
	pass_wrongly(w, WAY_SPLICE, p->in, p->ends[1]);
}

/* ---- copy_file_range ---- */

static void pass_by_copying(struct worker *w, struct pair *p)
{
	const enum way way = WAY_COPY_FILE_RANGE;
	off_t in_at = 3, out_at = 100, overlap = 1;
	long r;

	for (int i = 0; i < 5; i++)
		r = pass(w, way, p->in, &in_at, p->out, &out_at, 9001);
	if (r == 9001) /* else it does not go between these two */
		content_check(w, p->out, 100, 5 * 9001, 3);
	lseek((int)p->in.fd, 40000, SEEK_SET);
	lseek((int)p->out.fd, 0, SEEK_SET);
	for (int i = 0; i < 3; i++) /* the second one meets the end */
		pass(w, way, p->in, NULL, p->out, NULL, 17011);
	pass(w, way, p->in, NULL, p->out, NULL, 0);

	in_at = 0;
	pass(w, way, p->in, &in_at, p->in, &overlap, 4001);
	out_at = 70001;
	pass(w, way, p->in, &in_at, p->in, &out_at, 4003);
	pass(w, way, p->in_mute, NULL, p->out, NULL, 151);
	pass(w, way, p->in, &in_at, p->out_deaf, NULL, 157);
	pass(w, way, p->in, &in_at, p->out_appends, NULL, 163);
	pass(w, way, p->in, &in_at, p->ends[1], NULL, 167);
	pass_wrongly(w, way, p->in, p->out);
	counted_pass(w->ledger,
		     &(struct passing){
			     .way = way, .in = p->in, .out = p->out, .bytes = 173, .flags = 1 });
}

void pass_between(struct worker *w, unsigned int ways, struct folder from, struct folder to)
{
	struct pair p = {};

	if (!make_pair(&p, w, from, to)) {
		w->wrong = __func__;
		return;
	}
	if (ways & 1U << WAY_SENDFILE)
		pass_by_sendfile(w, &p);
	if (ways & 1U << WAY_SPLICE)
		pass_by_splice(w, &p);
	if (ways & 1U << WAY_COPY_FILE_RANGE)
		pass_by_copying(w, &p);
	remove_pair(&p, w, from, to);
}
