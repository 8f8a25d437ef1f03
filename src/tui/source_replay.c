/* SPDX-License-Identifier: MIT */
/* A recording: its text is kept, and a line of it parsed when it is shown. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "error.h"
#include "file.h"
#include "macro.h"
#include "tick.h"
#include "top_source.h"

#define FILE_MAX (UINT32_C(1) << 30)
#define LINES_MAX 10000000

struct replay_source {
	struct top_source source;
	char *path, *text;
	size_t *lines; /* where each begins; behind the last one where that ends */
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
	free(r->text);
	free(r->lines);
	free(r);
}

static int parse_line(const struct replay_source *s, size_t line, struct tick *ret,
		      struct error *err)
{
	int r = tick_parse(s->text + s->lines[line], s->lines[line + 1] - s->lines[line], ret, err);

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
		tick_clear(&before);
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

static int add_line(struct replay_source *s, size_t begin)
{
	if ((s->count & (s->count + 1)) == 0) { /* there is room for a power of two, and one */
		size_t *larger = reallocarray(s->lines, (s->count + 1) * 2 + 1, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		s->lines = larger;
	}
	s->lines[s->count] = begin;
	return 0;
}

/* Whole lines only: one that is not ended was cut off as it was written. */
static int find_lines(struct replay_source *s, size_t length, struct error *torn)
{
	size_t begin = 0;

	for (const char *end; (end = memchr(s->text + begin, '\n', length - begin));) {
		if (add_line(s, begin) < 0 || s->count >= LINES_MAX)
			return -ENOMEM;
		begin = (size_t)(end - s->text) + 1;
		s->count++;
	}
	if (add_line(s, begin) < 0) /* the end of the last one */
		return -ENOMEM;
	if (begin < length)
		error_set(torn, 0, "%s:%zu: the line is torn, and left out", s->path, s->count + 1);
	return 0;
}

static int open_file(struct replay_source *s, const char *path, struct error *torn,
		     struct error *err)
{
	struct tick first = {};
	size_t length;
	int r;

	s->path = strdup(path);
	r = s->path ? file_read(AT_FDCWD, path, FILE_MAX, &s->text, &length) : -ENOMEM;
	if (r == -EFBIG)
		return error_set(err, r, "'%s' is larger than %u MiB", path, FILE_MAX >> 20);
	if (r == 0)
		r = find_lines(s, length, torn);
	if (r < 0)
		return error_set_errno(err, r, "cannot read '%s'", path);
	if (!s->count)
		return error_set(err, -EINVAL,
				 "'%s' holds no recording: there is no whole line in it", path);
	r = parse_line(s, 0, &first, err); /* what is no recording at all is told at once */
	tick_clear(&first);
	return r;
}

int top_source_open_replay(const char *path, struct top_source **ret, struct error *ret_torn,
			   struct error *err)
{
	struct replay_source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_set_errno(err, ENOMEM, "cannot read '%s'", path);
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
