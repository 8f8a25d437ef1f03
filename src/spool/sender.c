/* SPDX-License-Identifier: MIT */
#include "spool/sender.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "codec/gzip_member.h"
#include "spool/spool.h"

#define BATCH_BYTES (4u << 20) /* the server takes 8 MiB as they are sent... */
#define BATCH_TEXT_BYTES (48u << 20) /* ...and 64 unpacked */
#define LEFT_OUT_MAX 256
#define BUSY_MAX 3 /* answers 503 in a row: it may be one record that does it */
#define LEFT_OUT_MS 300000
#define SPREAD_MS 4000 /* nodes sample at the same times, but must not send at the same */
#define DELAY_MS 2000
#define DELAY_MAX_MS 300000
#define IDLE_MS 10000 /* what somebody put into the spool by hand waits so long */
#define LOOK_MS 2000 /* how often it is looked what there is, while nothing can be sent... */
#define LOOK_SHARE 100 /* ...and the part of the time that it may take */

struct sender {
	struct sender_options options;
	struct sender_status *status;
	size_t batch_max;
	unsigned int failures; /* in a row */
	unsigned int busy; /* answers 503 in a row */
	uint64_t retry_after_ms;
	uint32_t chance; /* of the delay that is being waited for */
	uint64_t left_out[LEFT_OUT_MAX]; /* sequences of what has to wait, that others may go */
	size_t left_out_count;
	uint64_t left_out_ms; /* since when */
	uint64_t synced; /* final records up to this sequence are on the disk */
	uint64_t look_ms; /* not before then again */
	struct transfer_answer answer;
};

struct batch {
	const struct spool_file *files[SENDER_BATCH_MAX];
	size_t count;
	char *body;
	size_t length, text_length;
};

static uint64_t now_ms(void)
{
	return clock_now_ns(CLOCK_BOOTTIME) / 1000000;
}

static uint32_t get_chance(void)
{
	uint32_t chance;

	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) != sizeof(chance))
		chance = (uint32_t)clock_now_ns(CLOCK_MONOTONIC);
	return chance;
}

struct sender *sender_new(const struct sender_options *options)
{
	struct sender *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->options = *options;
	s->status = options->status;
	s->batch_max = SENDER_BATCH_MAX;
	return s;
}

static void PRINTF_LIKE(2, 3) sender_complain(struct sender *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(s->status->text, sizeof(s->status->text), format, args);
	va_end(args);
}

static enum sender_outcome sender_fail(struct sender *s)
{
	s->failures++;
	s->status->failed_requests++;
	s->chance = get_chance();
	return SENDER_LATER;
}

/* ---- what there is ---- */

static void sender_count(struct sender_status *status, const struct spool_list *list)
{
	status->records[false] = status->records[true] = 0;
	for (size_t i = 0; i < list->count; i++)
		status->records[list->files[i].is_final]++;
	status->bytes = list->bytes;
	status->oldest_ns = list->count ? list->files[0].sequence * 1000 : 0;
}

/* So that a final record outlives a loss of power, too: the agent does not wait for that. */
static void sender_sync(struct sender *s, const struct spool_list *list)
{
	uint64_t last = s->synced;

	for (size_t i = 0; i < list->count; i++) {
		const struct spool_file *file = &list->files[i];
		_cleanup_close_ int fd = -EBADF;

		if (!file->is_final || file->sequence <= s->synced)
			continue;
		fd = openat(s->options.dir_fd, file->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		(void)fdatasync(fd);
		last = file->sequence;
	}
	if (last > s->synced)
		(void)fsync(s->options.dir_fd);
	s->synced = last;
}

/* The caller clears *ret. */
static int sender_look(struct sender *s, struct spool_list *ret)
{
	uint64_t begun_ms = now_ms(), ended_ms;
	int r = spool_list_read(s->options.dir_fd, true, ret);

	if (r < 0) {
		sender_complain(s, "the spool cannot be read: %s", strerror(-r));
	} else {
		sender_count(s->status, ret);
		sender_sync(s, ret);
	}
	ended_ms = now_ms();
	s->look_ms = ended_ms + MAX((uint64_t)LOOK_MS, LOOK_SHARE * (ended_ms - begun_ms));
	return r;
}

/* ---- a batch ---- */

static bool sender_leaves_out(const struct sender *s, const struct spool_file *file)
{
	for (size_t i = 0; i < s->left_out_count; i++) {
		if (s->left_out[i] == file->sequence)
			return true;
	}
	return false;
}

static void sender_leave_out(struct sender *s, const struct spool_file *file)
{
	if (!s->left_out_count)
		s->left_out_ms = now_ms();
	if (s->left_out_count < LEFT_OUT_MAX)
		s->left_out[s->left_out_count++] = file->sequence;
}

/* It is gone, or would be sent over and over. */
static void sender_remove(struct sender *s, const struct spool_file *file)
{
	if (unlinkat(s->options.dir_fd, file->name, 0) == 0 || errno == ENOENT)
		return;
	sender_complain(s, "what was sent cannot be removed from the spool: %s", strerror(errno));
	sender_leave_out(s, file);
}

/* The caller frees *ret, a gzip member of one line.  -ENOENT: it is gone; -EBADMSG: it is torn. */
static int sender_read(const struct sender *s, const struct spool_file *file, char **ret,
		       size_t *ret_length, size_t *ret_text_length)
{
	_cleanup_free_ char *line = NULL;
	bool is_line;
	int r = file_read(s->options.dir_fd, file->name, SPOOL_LINE_MAX, ret, ret_length);

	if (r >= 0)
		r = gzip_members_unpack(*ret, *ret_length, SPOOL_LINE_MAX, &line, ret_text_length);
	if (r < 0)
		return r;
	is_line = *ret_text_length &&
		  memchr(line, '\n', *ret_text_length) == line + *ret_text_length - 1;
	return is_line ? 0 : -EBADMSG;
}

/* False: no more can be added. */
static bool sender_add(struct sender *s, const struct spool_file *file, struct batch *b)
{
	_cleanup_free_ char *packed = NULL;
	size_t length = 0, text_length = 0;
	char *larger;
	int r;

	if (b->count && b->length + file->bytes > BATCH_BYTES)
		return false;
	r = sender_read(s, file, &packed, &length, &text_length);
	if (r == -EBADMSG) {
		s->status->torn++;
		s->status->records[file->is_final]--;
		sender_remove(s, file);
	} else if (r < 0 && r != -ENOENT) { /* else a better one took its place */
		sender_complain(s, "a record in the spool cannot be read: %s", strerror(-r));
		sender_leave_out(s, file);
	}
	if (r < 0)
		return true;
	if (b->count && b->text_length + text_length > BATCH_TEXT_BYTES)
		return false;
	larger = realloc(b->body, b->length + length);
	if (!larger)
		return false;
	b->body = larger;
	memcpy(b->body + b->length, packed, length);
	b->length += length;
	b->text_length += text_length;
	b->files[b->count++] = file;
	return b->count < s->batch_max;
}

/* ---- what the server answered ---- */

static void sender_bound_refused(const struct sender *s)
{
	_cleanup_(spool_list_clear) struct spool_list list = {};
	_cleanup_close_ int fd = openat(s->options.dir_fd, SPOOL_REFUSED,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (spool_list_read(fd, false, &list) < 0)
		return;
	for (size_t i = 0; i < list.count && (list.count - i > SENDER_REFUSED_MAX ||
					      list.bytes > SENDER_REFUSED_BYTES);
	     i++) {
		char reason[SPOOL_NAME_SIZE + 8];

		snprintf(reason, sizeof(reason), "%s.reason", list.files[i].name);
		(void)unlinkat(fd, list.files[i].name, 0);
		(void)unlinkat(fd, reason, 0);
		list.bytes -= list.files[i].bytes;
	}
}

static void sender_set_aside(struct sender *s, const struct spool_file *file, const char *reason)
{
	int dir_fd = s->options.dir_fd, fd;
	char name[SPOOL_NAME_SIZE + 32];

	memcpy(s->status->reason, reason, sizeof(s->status->reason));
	snprintf(name, sizeof(name), SPOOL_REFUSED "/%s.reason", file->name);
	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) { /* on a full disk the log has it */
		dprintf(fd, "%s\n", reason);
		close(fd);
	}
	snprintf(name, sizeof(name), SPOOL_REFUSED "/%s", file->name);
	if (renameat(dir_fd, file->name, dir_fd, name) < 0)
		sender_leave_out(s, file);
}

static void sender_follow(struct sender *s, const struct spool_file *file,
			  const struct answer *answer)
{
	s->status->answers[answer->kind]++;
	s->status->records[file->is_final]--;
	s->status->bytes -= file->bytes;
	if (answer->kind == ANSWER_REFUSED)
		sender_set_aside(s, file, answer->reason);
	else
		sender_remove(s, file);
}

/* Each whole line is for the record in its place.  How many there were; -EBADMSG: the server says
 * something else, from that line on. */
static int sender_read_answers(struct sender *s, const struct batch *b)
{
	const char *text = s->answer.text;
	size_t length = s->answer.length, lines = 0, count = 0;
	struct answer answer = {};
	struct error err = {};
	int r;

	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	if (lines > b->count) {
		sender_complain(s, "the server answers for more records than it was sent: nothing "
				   "of that is believed");
		return -EBADMSG;
	}
	while ((r = answer_next(&text, &length, &answer, &err)) > 0)
		sender_follow(s, b->files[count++], &answer);
	sender_bound_refused(s);
	if (count)
		s->status->answered_ns = clock_now_ns(CLOCK_REALTIME);
	if (r < 0)
		sender_complain(s, "the server's answer is not understood: %.200s", err.text);
	return r < 0 ? r : (int)count;
}

static enum sender_outcome sender_take_list(struct sender *s, const struct batch *b,
					    const struct error *why)
{
	int count;

	if (!s->answer.is_ndjson) {
		sender_complain(
			s, "what answers is no jobmeter-server: its answer is no list of lines");
		return sender_fail(s);
	}
	count = sender_read_answers(s, b);
	if (count >= 0 && (size_t)count < b->count)
		sender_complain(s, "the server answered for %d of %zu records%s%s", count, b->count,
				*why->text ? ": " : "", why->text);
	if (count < (int)b->count || s->left_out_count == LEFT_OUT_MAX)
		return sender_fail(s); /* else what cannot be removed is sent over and over */
	if (s->busy >= BUSY_MAX) /* it is back, maybe for those, too */
		s->left_out_ms = now_ms() - LEFT_OUT_MS;
	s->failures = s->busy = 0;
	s->batch_max = MIN(2 * s->batch_max, (size_t)SENDER_BATCH_MAX);
	if (!s->left_out_count)
		*s->status->text = '\0';
	return SENDER_MORE;
}

/* Bisect, to find the record that the server fails at. */
static enum sender_outcome sender_halve(struct sender *s, const struct batch *b)
{
	if (b->count > 1) {
		s->batch_max = b->count / 2;
		return SENDER_MORE;
	}
	sender_leave_out(s, b->files[0]);
	sender_complain(s,
			"the server answers %u to a record of %" PRIu64
			" bytes alone, which waits; others are sent",
			s->answer.status, b->files[0]->bytes);
	return s->left_out_count < LEFT_OUT_MAX ? SENDER_MORE : sender_fail(s);
}

/* Where the server is not only busy, but fails at one record, others are to go: fewer are sent, and
 * of single ones each time another.  All stay in the spool. */
static void sender_narrow(struct sender *s, const struct batch *b)
{
	uint64_t waiting = s->status->records[false] + s->status->records[true];

	if (b->count > 1) {
		s->batch_max = b->count / 2;
		s->failures -= s->failures > 0; /* so often the delay does not double */
	} else if (waiting > s->left_out_count + 1 && s->left_out_count < LEFT_OUT_MAX - 1) {
		sender_leave_out(s, b->files[0]);
	}
}

static enum sender_outcome sender_post(struct sender *s, const struct batch *b)
{
	const struct transfer_answer *answer = &s->answer;
	unsigned int status;
	struct error why = {};

	s->status->requests++;
	(void)s->options.post(s->options.context, b->body, b->length, &s->answer, &why);
	status = answer->status;
	s->status->http_status = status;
	s->retry_after_ms = 0;
	if (status == 200)
		return sender_take_list(s, b, &why);
	if (status == 413 || status == 400)
		return sender_halve(s, b);
	if (status == 429 || status == 503)
		s->retry_after_ms = answer->retry_after_s * UINT64_C(1000);
	if (status)
		sender_complain(s, "the server answers %u%s: records wait in the spool", status,
				status == 401 || status == 403
					? " (does it know this node's token, or its munge key?)"
				: status == 404			 ? " (is it a jobmeter-server?)"
				: status == 429 || status == 503 ? " (it is busy)"
								 : "");
	else
		sender_complain(s, "%.300s", why.text);
	/* over a slow line it may be too much for one request */
	if (!status && b->count > 1)
		s->batch_max = b->count / 2;
	if (status == 503 && ++s->busy >= BUSY_MAX)
		sender_narrow(s, b);
	return sender_fail(s);
}

/* Those that were left out are tried again some time later. */
static enum sender_outcome sender_rest(struct sender *s)
{
	s->failures = 0;
	if (!s->left_out_count)
		*s->status->text = '\0';
	if (!s->left_out_count || now_ms() - s->left_out_ms < LEFT_OUT_MS)
		return SENDER_IDLE;
	s->left_out_count = 0;
	return SENDER_MORE;
}

enum sender_outcome sender_round(struct sender *s)
{
	_cleanup_(spool_list_clear) struct spool_list list = {};
	struct batch batch = {};
	enum sender_outcome outcome;

	if (sender_look(s, &list) < 0)
		return sender_fail(s);
	for (size_t i = 0; i < list.count; i++) {
		if (!sender_leaves_out(s, &list.files[i]) && !sender_add(s, &list.files[i], &batch))
			break;
	}
	outcome = batch.count ? sender_post(s, &batch) : sender_rest(s);
	free(batch.body);
	if (!s->status->records[false] && !s->status->records[true])
		s->status->oldest_ns = 0;
	return outcome;
}

uint64_t sender_delay_ms(const struct sender *s)
{
	uint64_t delay = MIN((uint64_t)DELAY_MS << MIN(s->failures ? s->failures - 1 : 0, 16u),
			     (uint64_t)DELAY_MAX_MS);

	delay = delay / 2 + delay * s->chance / UINT32_MAX; /* from a half to one and a half */
	return MAX(delay, s->retry_after_ms + s->retry_after_ms / 10 * s->chance / UINT32_MAX);
}

/* ---- its life as a process ---- */

/* False: the agent is gone. */
static bool hear(int fd, bool *ret_is_woken)
{
	char byte;
	ssize_t n;

	while ((n = recv(fd, &byte, 1, MSG_DONTWAIT)) > 0)
		*ret_is_woken = true;
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

void sender_serve(struct sender *s, int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	uint64_t now = now_ms(), due_ms = s->options.post ? now : UINT64_MAX;
	bool is_idle = false, is_woken = true;

	while (hear(fd, &is_woken)) {
		_cleanup_(spool_list_clear) struct spool_list list = {};
		bool is_due = s->options.post && now >= due_ms;

		if (is_due) {
			enum sender_outcome outcome = sender_round(s);

			is_idle = outcome == SENDER_IDLE;
			if (outcome != SENDER_MORE)
				due_ms = is_idle ? now + IDLE_MS : now_ms() + sender_delay_ms(s);
		} else if (is_woken && is_idle) {
			is_idle = false;
			due_ms = now + (uint64_t)SPREAD_MS * get_chance() / UINT32_MAX;
		} else if (is_woken && now >= s->look_ms) {
			is_due = true;
			(void)sender_look(s, &list);
		}
		if (is_due)
			(void)send(fd, s->status, sizeof(*s->status), MSG_NOSIGNAL | MSG_DONTWAIT);
		is_woken = false;
		now = now_ms();
		(void)poll(&wait, 1,
			   due_ms <= now ? 0 : (int)MIN(due_ms - now, (uint64_t)DELAY_MAX_MS));
		now = now_ms();
	}
}
