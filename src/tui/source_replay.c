/* SPDX-License-Identifier: MIT */
/* A recording: where its lines begin is kept, and a line of it read and parsed when it is shown. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "codec/wire_snapshot.h"
#include "tui/top_source.h"

#define LINES_MAX 10000000
#define LINE_BYTES_MAX (64 << 20) /* some 20 times what a full node says */
#define CHUNK (64 << 10)

struct replay_source {
	struct top_source source;
	char *path;
	int fd;
	off_t *lines; /* where each begins; behind the last one where that ends */
	size_t count, next;
	char position[64];
};

static struct replay_source *source_of(struct top_source *s)
{
	return (struct replay_source *)(void *)s;
}

static void close_replay(struct top_source *s)
{
	struct replay_source *r = source_of(s);

	free(r->path);
	closep(&r->fd);
	free(r->lines);
	free(r);
}

static int parse_line(const struct replay_source *s, size_t line, struct tick *ret,
		      struct error *err)
{
	const size_t length = (size_t)(s->lines[line + 1] - s->lines[line]);
	_cleanup_free_ char *text = length <= LINE_BYTES_MAX ? malloc(length) : NULL;
	int r;

	if (!text)
		return error_set_errno(err, length > LINE_BYTES_MAX ? EFBIG : ENOMEM, "%s:%zu",
				       s->path, line + 1);
	for (size_t had = 0; had < length;) {
		ssize_t n = pread(s->fd, text + had, length - had, s->lines[line] + (off_t)had);

		if (n <= 0)
			return error_set_errno(err, n < 0 ? errno : EIO, "cannot read '%s'",
					       s->path);
		had += (size_t)n;
	}
	r = wire_snapshot_parse(text, length, NULL, ret, err);
	return r < 0 ? error_prefix(err, r, "%s:%zu", s->path, line + 1) : 0;
}

static int read_replay(struct top_source *s, uint64_t max_age_ns, uint64_t ended_ns,
		       const struct tick *before, struct tick *ret, struct error *err)
{
	struct replay_source *replay = source_of(s);

	(void)max_age_ns;
	(void)ended_ns;
	(void)before;
	if (replay->next >= replay->count)
		return error_set(err, -ENODATA, "the recording is over");
	return parse_line(replay, replay->next++, ret, err);
}

static int move_replay(struct top_source *s, int by, struct tick *ret_before, struct tick *ret,
		       struct error *err)
{
	struct replay_source *replay = source_of(s);
	long long now = (long long)replay->next - 1 + by;
	struct tick before = {};
	size_t line = (size_t)MIN(MAX(now, 0), (long long)replay->count - 1);
	int r = line ? parse_line(replay, line - 1, &before, err) : 0;

	if (r == 0)
		r = parse_line(replay, line, ret, err);
	if (r < 0) {
		wire_snapshot_clear(&before);
		return r;
	}
	replay->next = line + 1;
	*ret_before = before;
	return 0;
}

static const char *position_of(struct top_source *s)
{
	struct replay_source *replay = source_of(s);

	snprintf(replay->position, sizeof(replay->position), "%zu of %zu", replay->next,
		 replay->count);
	return replay->position;
}

static int add_line(struct replay_source *s, off_t begin)
{
	if ((s->count & (s->count + 1)) == 0) { /* there is room for a power of two, and one */
		off_t *larger = reallocarray(s->lines, (s->count + 1) * 2 + 1, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		s->lines = larger;
	}
	s->lines[s->count] = begin;
	return 0;
}

/* Whole lines only: one that is not ended was cut off as it was written. */
static int find_lines(struct replay_source *s, struct error *torn)
{
	char chunk[CHUNK];
	off_t begin = 0, at = 0;
	ssize_t n;

	while ((n = pread(s->fd, chunk, sizeof(chunk), at)) > 0) {
		const char *rest = chunk;

		for (const char *end; (end = memchr(rest, '\n', (size_t)(chunk + n - rest)));
		     rest = end + 1) {
			if (add_line(s, begin) < 0 || s->count >= LINES_MAX)
				return -ENOMEM;
			begin = at + (end - chunk) + 1;
			s->count++;
		}
		at += n;
		if (at - begin > LINE_BYTES_MAX) /* no line of ours */
			return -EFBIG;
	}
	if (n < 0)
		return -errno;
	if (add_line(s, begin) < 0) /* the end of the last one */
		return -ENOMEM;
	if (begin < at)
		error_set(torn, 0, "%s:%zu: the line is torn, and left out", s->path, s->count + 1);
	return 0;
}

/* A pipe can be read once only: what comes out of it is put in a file that has no name. */
static int keep_pipe(int fd)
{
	_cleanup_close_ int kept = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char chunk[CHUNK];
	ssize_t n;

	if (kept < 0)
		return -errno;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0) {
		for (ssize_t written, had = 0; had < n; had += written) {
			written = write(kept, chunk + had, (size_t)(n - had));
			if (written < 0)
				return -errno;
		}
	}
	return n < 0 ? -errno : TAKE_FD(kept);
}

static int open_lines(struct replay_source *s, const char *path, struct error *torn)
{
	struct stat st;

	s->path = strdup(path);
	s->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!s->path || s->fd < 0 || fstat(s->fd, &st) < 0)
		return s->path ? -errno : -ENOMEM;
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
		int kept = keep_pipe(s->fd);

		if (kept < 0)
			return kept;
		close(s->fd);
		s->fd = kept;
	}
	return find_lines(s, torn);
}

static int open_file(struct replay_source *s, const char *path, struct error *torn,
		     struct error *err)
{
	struct tick first = {};
	int r = open_lines(s, path, torn);

	if (r < 0)
		return error_set_errno(err, r, "cannot read '%s'", path);
	if (!s->count)
		return error_set(err, -EINVAL,
				 "'%s' holds no recording: there is no whole line in it", path);
	r = parse_line(s, 0, &first, err); /* report a file that is no recording at once */
	wire_snapshot_clear(&first);
	return r;
}

int top_source_open_replay(const char *path, struct top_source **ret, struct error *ret_torn,
			   struct error *err)
{
	struct replay_source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_set_errno(err, ENOMEM, "cannot read '%s'", path);
	s->fd = -EBADF;
	s->source = (struct top_source){ .name = "recorded agent",
					 .read = read_replay,
					 .move = move_replay,
					 .position = position_of,
					 .close = close_replay };
	r = open_file(s, path, ret_torn, err);
	if (r < 0) {
		close_replay(&s->source);
		return r;
	}
	*ret = &s->source;
	return 0;
}
