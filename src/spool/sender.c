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
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "spool/gzip_line.h"
#include "spool/spool.h"

#define BATCH_BYTES (4u << 20) /* the server takes 8 MiB as they are sent... */
#define BATCH_UNPACKED_BYTES (48u << 20) /* ...and 64 unpacked */
#define GZIP_LEAST 18 /* bytes of a member */
#define LEFT_OUT_MAX 256
#define LEFT_OUT_NS (300 * SECOND)
#define SPREAD_MS 4000 /* nodes read at the same moments, and are not to send at the same */
#define DELAY_MS 2000
#define DELAY_MAX_MS 300000
#define SECOND UINT64_C(1000000000)
#define LOOK_NS \
	(2 * SECOND) /* how often it is looked what there is, while nothing can be sent... */
#define LOOK_SHARE 100 /* ...and the part of the time that it may take */

struct left_out { /* of what the server does not take even alone */
	struct spool_key key;
	uint64_t sequence;
};

struct sender {
	struct sender_options options;
	int refused_fd;
	char token[SENDER_TOKEN_SIZE];
	bool has_token;
	size_t batch_max;
	unsigned int failures; /* in a row */
	unsigned int retry_after_s;
	uint32_t chance; /* of the delay that is being waited for */
	struct left_out left_out[LEFT_OUT_MAX];
	size_t left_out_count;
	uint64_t left_out_ns; /* since when, by CLOCK_BOOTTIME */
	uint64_t synced; /* final records up to this sequence are on the disk */
	uint64_t booted_s; /* files that are older are looked at before they are sent */
	uint64_t looked_ns, look_took_ns;
	struct sender_status status;
};

struct batch {
	const struct spool_file *files[SENDER_BATCH_MAX];
	size_t count;
	char *body;
	size_t length, unpacked;
};

/* ---- opening ---- */

int sender_open(const struct sender_options *options, struct sender **ret, struct error *err)
{
	struct sender *s = calloc(1, sizeof(*s));

	if (!s)
		return error_set_errno(err, ENOMEM, "cannot send");
	s->options = *options;
	s->batch_max = SENDER_BATCH_MAX;
	s->status.magic = SENDER_MAGIC;
	s->booted_s = (clock_now_ns(CLOCK_REALTIME) - clock_now_ns(CLOCK_BOOTTIME)) / SECOND;
	s->refused_fd = openat(options->dir_fd, SPOOL_REFUSED,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->refused_fd < 0) {
		int r = error_set_errno(err, errno, "cannot open the spool's '%s'", SPOOL_REFUSED);

		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

struct sender *sender_close(struct sender *s)
{
	if (!s)
		return NULL;
	closep(&s->refused_fd);
	free(s);
	return NULL;
}

void sender_set_token(struct sender *s, const char *token)
{
	snprintf(s->token, sizeof(s->token), "%s", token);
	s->has_token = true;
}

const struct sender_status *sender_get_status(const struct sender *s)
{
	return &s->status;
}

static void PRINTF_LIKE(2, 3) sender_complain(struct sender *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(s->status.text, sizeof(s->status.text), format, args);
	va_end(args);
}

/* ---- what there is ---- */

/* False: it is still there. */
static bool sender_unlink(struct sender *s, const struct spool_file *file)
{
	char name[SPOOL_NAME_SIZE];

	spool_name_format(file, name);
	return unlinkat(s->options.dir_fd, name, 0) == 0 || errno == ENOENT;
}

static void sender_count(struct sender *s, const struct spool_list *list)
{
	struct sender_status *status = &s->status;

	status->records[false] = status->records[true] = status->bytes = 0;
	status->oldest_ns = 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct spool_file *file = &list->files[i];

		if (file->is_superseded)
			continue;
		if (!status->oldest_ns)
			status->oldest_ns = file->sequence * 1000;
		status->records[file->is_final]++;
		status->bytes += file->bytes;
	}
}

/* So that a final record outlives a loss of power, too: whoever writes it does not wait for that.
 */
static void sender_sync(struct sender *s, const struct spool_list *list)
{
	uint64_t last = s->synced;

	for (size_t i = 0; i < list->count; i++) {
		const struct spool_file *file = &list->files[i];
		_cleanup_close_ int fd = -EBADF;
		char name[SPOOL_NAME_SIZE];

		if (!file->is_final || file->sequence <= s->synced)
			continue;
		spool_name_format(file, name);
		fd = openat(s->options.dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			(void)fdatasync(fd);
		last = MAX(last, file->sequence);
	}
	if (last > s->synced)
		(void)fsync(s->options.dir_fd);
	s->synced = last;
}

/* The caller clears *ret.  What is superseded goes. */
static int sender_look(struct sender *s, struct spool_list *ret)
{
	uint64_t begun_ns = clock_now_ns(CLOCK_BOOTTIME);
	int r = spool_list_read(s->options.dir_fd, ret);

	for (size_t i = 0; r >= 0 && i < ret->count; i++) {
		if (ret->files[i].is_superseded)
			(void)sender_unlink(s, &ret->files[i]);
	}
	s->looked_ns = clock_now_ns(CLOCK_BOOTTIME);
	s->look_took_ns = s->looked_ns - begun_ns;
	if (r < 0)
		sender_complain(s, "the spool cannot be read: %s", strerror(-r));
	else
		sender_count(s, ret);
	return r;
}

/* ---- a batch ---- */

static bool sender_leaves_out(const struct sender *s, const struct spool_file *file)
{
	for (size_t i = 0; i < s->left_out_count; i++) {
		if (s->left_out[i].sequence == file->sequence &&
		    spool_key_is_same(&s->left_out[i].key, &file->key))
			return true;
	}
	return false;
}

static void sender_leave_out(struct sender *s, const struct spool_file *file)
{
	if (!s->left_out_count)
		s->left_out_ns = clock_now_ns(CLOCK_BOOTTIME);
	if (s->left_out_count < LEFT_OUT_MAX)
		s->left_out[s->left_out_count++] = (struct left_out){ file->key, file->sequence };
}

/* 1: it is whole, as far as it has to be looked at; 0: it was torn, and is no more. */
static int sender_check(struct sender *s, const struct spool_file *file, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_mtime > s->booted_s && st.st_size > 0)
		return 1;
	if (gzip_line_check(fd) != -EBADMSG)
		return 1;
	(void)sender_unlink(s, file);
	s->status.torn++;
	return 0;
}

/* The last four bytes of a gzip member. */
static size_t unpacked_size(const char *end)
{
	const unsigned char *b = (const unsigned char *)end - 4;

	return (size_t)b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24;
}

/* The caller frees *ret.  1: it is there; 0: it is not, or torn, or cannot be read, and waits. */
static int sender_read(struct sender *s, const struct spool_file *file, char **ret,
		       size_t *ret_length)
{
	_cleanup_close_ int fd = -EBADF;
	char name[SPOOL_NAME_SIZE];
	int r;

	spool_name_format(file, name);
	fd = openat(s->options.dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0; /* a better one took its place */
	r = fd < 0 ? -errno : sender_check(s, file, fd);
	if (r > 0) {
		r = file_read_fd(fd, SPOOL_LINE_MAX, ret, ret_length);
		r = r < 0 ? r : *ret_length >= GZIP_LEAST;
	}
	if (r >= 0 || r == -ENOMEM)
		return r;
	sender_leave_out(s, file);
	sender_complain(s, "a record in the spool cannot be read: %s", strerror(-r));
	return 0;
}

/* 1: it is in; 0: there is nothing to add; -ENOSPC: there is no room for it. */
static int sender_add(struct sender *s, const struct spool_file *file, struct batch *b)
{
	_cleanup_free_ char *packed = NULL;
	size_t length = 0, unpacked;
	char *larger;
	int r;

	if (b->count && b->length + file->bytes > BATCH_BYTES)
		return -ENOSPC;
	r = sender_read(s, file, &packed, &length);
	if (r <= 0)
		return r;
	unpacked = unpacked_size(packed + length);
	if (b->count && b->unpacked + unpacked > BATCH_UNPACKED_BYTES)
		return -ENOSPC;
	larger = realloc(b->body, b->length + length);
	if (!larger)
		return -ENOMEM;
	b->body = larger;
	memcpy(b->body + b->length, packed, length);
	b->length += length;
	b->unpacked += unpacked;
	b->files[b->count++] = file;
	return 1;
}

static int sender_fill(struct sender *s, const struct spool_list *list, struct batch *b)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < list->count && b->count < s->batch_max; i++) {
		const struct spool_file *file = &list->files[i];

		if (!file->is_superseded && !sender_leaves_out(s, file))
			r = sender_add(s, file, b);
	}
	if (r == -ENOMEM)
		sender_complain(s, "there is no memory to send records");
	return r == -ENOMEM ? r : 0;
}

/* ---- what the server refused ---- */

static void sender_write_reason(struct sender *s, const char *name, const char *reason)
{
	char other[SPOOL_NAME_SIZE + 8];
	int fd;

	snprintf(other, sizeof(other), "%s.reason", name);
	fd = openat(s->refused_fd, other, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return; /* a full disk: the log has it */
	(void)!write(fd, reason, strlen(reason));
	(void)!write(fd, "\n", 1);
	close(fd);
}

static void sender_bound_refused(struct sender *s)
{
	_cleanup_(spool_list_clear) struct spool_list list = {};
	size_t left;

	if (spool_list_read(s->refused_fd, &list) < 0)
		return;
	left = list.count;
	for (size_t i = 0;
	     i < list.count && (left > SENDER_REFUSED_MAX || list.bytes > SENDER_REFUSED_BYTES);
	     i++, left--) {
		char name[SPOOL_NAME_SIZE], reason[SPOOL_NAME_SIZE + 8];

		spool_name_format(&list.files[i], name);
		snprintf(reason, sizeof(reason), "%s.reason", name);
		(void)unlinkat(s->refused_fd, name, 0);
		(void)unlinkat(s->refused_fd, reason, 0);
		list.bytes -= list.files[i].bytes;
	}
}

static void sender_set_aside(struct sender *s, const struct spool_file *file, const char *reason)
{
	char name[SPOOL_NAME_SIZE];

	spool_name_format(file, name);
	memcpy(s->status.reason, reason, sizeof(s->status.reason));
	sender_write_reason(s, name, reason);
	if (renameat(s->options.dir_fd, name, s->refused_fd, name) < 0 && errno != ENOENT)
		sender_leave_out(s, file);
}

/* ---- what the server answered ---- */

static void sender_follow(struct sender *s, const struct spool_file *file,
			  const struct answer *answer)
{
	struct sender_status *status = &s->status;

	status->answers[answer->kind]++;
	status->records[file->is_final] -= status->records[file->is_final] > 0;
	status->bytes -= MIN(file->bytes, status->bytes);
	if (answer->kind == ANSWER_REFUSED)
		sender_set_aside(s, file, answer->reason);
	else if (!sender_unlink(s, file))
		sender_leave_out(s, file); /* else it would be sent over and over */
}

/* Each whole line is for the record in its place.  How many there were; -EBADMSG: the server says
 * something else, from that line on. */
static int sender_read_answers(struct sender *s, const struct batch *b,
			       const struct transfer_answer *from)
{
	_cleanup_free_ struct answer *answers = calloc(b->count + 1, sizeof(*answers));
	const char *text = from->text ? from->text : "";
	size_t length = from->length, count = 0;
	struct error err = {};
	bool is_refused = false;
	int r = answers ? 1 : -ENOMEM;

	while (r > 0 && count <= b->count) {
		r = answer_next(&text, &length, &answers[count], &err);
		count += r > 0;
	}
	if (count > b->count) {
		sender_complain(s,
				"the server answers for more records than it was sent: nothing of "
				"that is believed");
		return -EBADMSG;
	}
	for (size_t i = 0; i < count; i++) {
		sender_follow(s, b->files[i], &answers[i]);
		is_refused |= answers[i].kind == ANSWER_REFUSED;
	}
	if (is_refused)
		sender_bound_refused(s);
	if (count)
		s->status.answered_ns = clock_now_ns(CLOCK_REALTIME);
	if (r < 0)
		sender_complain(s, "the server's answer is not understood: %.200s", err.text);
	return r < 0 ? r : (int)count;
}

static enum sender_outcome sender_fail(struct sender *s)
{
	s->failures++;
	s->status.failed_requests++;
	if (getrandom(&s->chance, sizeof(s->chance), GRND_NONBLOCK) != sizeof(s->chance))
		s->chance = (uint32_t)clock_now_ns(CLOCK_MONOTONIC);
	return SENDER_LATER;
}

static enum sender_outcome sender_take_list(struct sender *s, const struct batch *b,
					    const struct transfer_answer *answer,
					    const struct error *why)
{
	int count;

	if (!answer->is_ndjson) {
		sender_complain(
			s, "what answers is no jobmeter-server: its answer is no list of lines");
		return sender_fail(s);
	}
	count = sender_read_answers(s, b, answer);
	if (count < 0)
		return sender_fail(s);
	if ((size_t)count < b->count) {
		sender_complain(s, "the server answered for %d of %zu records%s%s", count, b->count,
				*why->text ? ": " : "", why->text);
		return sender_fail(s);
	}
	s->failures = 0;
	s->batch_max = MIN(2 * s->batch_max, (size_t)SENDER_BATCH_MAX);
	if (!s->left_out_count)
		*s->status.text = '\0';
	return SENDER_MORE;
}

/* Which one of them it is that the server does not take, halves tell. */
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
			s->status.http_status, b->files[0]->bytes);
	return s->left_out_count < LEFT_OUT_MAX ? SENDER_MORE : sender_fail(s);
}

static const char *meaning_of(unsigned int status)
{
	switch (status) {
	case 401:
	case 403:
		return " (is server_token_file the server's token?)";
	case 404:
		return " (is it a jobmeter-server?)";
	case 429:
	case 503:
		return " (it is busy)";
	default:
		return "";
	}
}

static enum sender_outcome sender_take_answer(struct sender *s, const struct batch *b,
					      const struct transfer_answer *answer,
					      const struct error *why)
{
	s->status.http_status = answer->status;
	s->retry_after_s = 0;
	if (answer->status == 200)
		return sender_take_list(s, b, answer, why);
	if (answer->status == 413 || answer->status == 400)
		return sender_halve(s, b);
	if (answer->status == 429 || answer->status == 503)
		s->retry_after_s = answer->retry_after_s;
	if (answer->status)
		sender_complain(s, "the server answers %u%s: records wait in the spool",
				answer->status, meaning_of(answer->status));
	else
		sender_complain(s, "%.250s", why->text);
	return sender_fail(s);
}

static enum sender_outcome sender_post(struct sender *s, const struct batch *b)
{
	struct transfer_answer answer = {};
	enum sender_outcome outcome;
	struct error why = {};

	s->status.requests++;
	if (s->options.post(s->options.context, s->token, b->body, b->length, &answer, &why) >= 0)
		*why.text = '\0';
	outcome = sender_take_answer(s, b, &answer, &why);
	transfer_answer_clear(&answer);
	return outcome;
}

/* Those that were left out are tried again some time later, when something new has come. */
static enum sender_outcome sender_rest(struct sender *s)
{
	uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME);

	s->failures = 0;
	if (!s->left_out_count) {
		*s->status.text = '\0';
		return SENDER_IDLE;
	}
	if (now_ns - s->left_out_ns < LEFT_OUT_NS)
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
	sender_sync(s, &list);
	if (sender_fill(s, &list, &batch) < 0)
		outcome = sender_fail(s);
	else if (!batch.count)
		outcome = sender_rest(s);
	else
		outcome = sender_post(s, &batch);
	free(batch.body);
	if (!s->status.records[false] && !s->status.records[true])
		s->status.oldest_ns = 0;
	return outcome;
}

uint64_t sender_delay_ms(const struct sender *s)
{
	uint64_t delay = MIN((uint64_t)DELAY_MS << MIN(s->failures ? s->failures - 1 : 0, 16u),
			     (uint64_t)DELAY_MAX_MS);

	delay = delay / 2 + delay * s->chance / UINT32_MAX; /* from a half to one and a half */
	return MAX(delay, (uint64_t)s->retry_after_s * 1000 +
				  (uint64_t)s->retry_after_s * 100 * s->chance / UINT32_MAX);
}

/* ---- its life as a process ---- */

struct life {
	struct sender *sender;
	int fd;
	uint64_t due_ms; /* by CLOCK_BOOTTIME; UINT64_MAX: when something new comes */
	bool is_waiting; /* after a failure: what is new changes nothing */
};

static uint64_t now_ms(void)
{
	return clock_now_ns(CLOCK_BOOTTIME) / 1000000;
}

static void tell(const struct life *l)
{
	(void)send(l->fd, &l->sender->status, sizeof(l->sender->status),
		   MSG_NOSIGNAL | MSG_DONTWAIT); /* the next one tells it, too */
}

static void wake(struct life *l)
{
	struct sender *s = l->sender;
	uint32_t chance = 0;

	if (l->due_ms == UINT64_MAX) {
		(void)!getrandom(&chance, sizeof(chance), GRND_NONBLOCK);
		l->due_ms = now_ms() + (uint64_t)SPREAD_MS * chance / UINT32_MAX;
	} else if ((l->is_waiting || !s->has_token) &&
		   clock_now_ns(CLOCK_BOOTTIME) - s->looked_ns >
			   MAX(LOOK_NS, LOOK_SHARE * s->look_took_ns)) {
		_cleanup_(spool_list_clear) struct spool_list list = {};

		if (sender_look(s, &list) >= 0)
			sender_sync(s, &list);
		tell(l);
	}
}

static void obey(struct life *l, const struct sender_order *order)
{
	struct sender *s = l->sender;

	if (order->kind == SENDER_WAKE) {
		wake(l);
	} else if (order->kind == SENDER_TOKEN && memchr(order->token, '\0', SENDER_TOKEN_SIZE)) {
		if (s->has_token && strcmp(s->token, order->token) == 0)
			return;
		sender_set_token(s, order->token);
		l->due_ms = now_ms();
	}
}

/* False: the agent is gone. */
static bool take_orders(struct life *l)
{
	struct sender_order order;

	for (;;) {
		ssize_t n = recv(l->fd, &order, sizeof(order), MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (n == 0)
			return false;
		if (n == (ssize_t)sizeof(order) && order.magic == SENDER_MAGIC)
			obey(l, &order);
	}
}

static void go_on(struct life *l)
{
	enum sender_outcome outcome = sender_round(l->sender);

	l->is_waiting = outcome == SENDER_LATER;
	l->due_ms = outcome == SENDER_IDLE   ? UINT64_MAX
		    : outcome == SENDER_MORE ? now_ms()
					     : now_ms() + sender_delay_ms(l->sender);
	tell(l);
}

void sender_serve(struct sender *s, int fd)
{
	struct life l = { .sender = s, .fd = fd, .due_ms = now_ms() };
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	for (;;) {
		uint64_t now = now_ms();
		bool can_send = s->has_token && l.due_ms != UINT64_MAX;
		int timeout = !can_send	       ? -1
			      : l.due_ms > now ? (int)MIN(l.due_ms - now, (uint64_t)DELAY_MAX_MS)
					       : 0;

		if (poll(&wait, 1, timeout) < 0 && errno != EINTR)
			return;
		if (!take_orders(&l))
			return;
		if (s->has_token && l.due_ms <= now_ms())
			go_on(&l);
	}
}
