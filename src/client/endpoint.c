/* SPDX-License-Identifier: MIT */
#include "client/endpoint.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "basic/cleanup.h"
#include "client/client_json.h"
#include "basic/error.h"
#include "client/exchange.h"
#include "basic/macro.h"
#include "basic/waiter.h"

#define AGAIN_MS 3000 /* for how long who was cut tries again... */
#define AGAIN_FIRST_MS 10
#define AGAIN_LAST_MS 160 /* ...at intervals that grow up to this */

int endpoint_init(const char *who, const char *path, size_t answer_max, struct endpoint *ret,
		  struct error *err)
{
	struct endpoint e = { .who = who, .answer_max = answer_max };

	if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return error_set(err, -ENAMETOOLONG, "'%.40s...' is too long for a socket's path",
				 path);
	e.path = strdup(path);
	if (!e.path)
		return error_set_errno(err, ENOMEM, "cannot ask the %s", who);
	*ret = e;
	return 0;
}

void endpoint_clear(struct endpoint *e)
{
	free(e->path);
	*e = (struct endpoint){};
}

static int say_failure(const struct endpoint *e, int r, const struct reply *reply,
		       struct error *err)
{
	switch (r) {
	case -ENOMEM:
		return error_set_errno(err, ENOMEM, "cannot ask the %s", e->who);
	case -EMSGSIZE:
		return error_set(err, -EPROTO, "the %s's answer is longer than %zu MiB", e->who,
				 e->answer_max >> 20);
	case -EPROTO:
		return error_set(err, -EPROTO, "the %s at '%s': %s", e->who, e->path, reply->why);
	case -ETIMEDOUT:
	case -EAGAIN: /* too many wait already */
		return error_set(err, -ETIMEDOUT, "the %s at '%s' does not answer", e->who,
				 e->path);
	case -ECONNRESET:
		return error_set(err, -ECONNRESET, "the %s at '%s' went away", e->who, e->path);
	default:
		return error_set_errno(err, r, "no %s answers at '%s'", e->who, e->path);
	}
}

/* What it said in words, instead of an answer. */
static int say_refusal(const struct endpoint *e, const struct reply *reply, struct error *err)
{
	_cleanup_free_ char *why = reply->text ? client_parse_error(reply->text, reply->length)
					       : NULL;
	int code = reply->status == 404	  ? -ENOENT
		   : reply->status == 403 ? -EACCES
		   : reply->status == 503 ? -EBUSY
					  : -EPROTO;

	if (why)
		return error_set(err, code, "%s", why);
	return error_set(err, code, "the %s at '%s' answers with status %u", e->who, e->path,
			 reply->status);
}

/* Who has many to serve cuts who comes, before it reads what he wants; so he may ask again. Of one
 * that is gone, the next try tells. */
static bool was_cut(int r, const struct reply *reply)
{
	return !reply->length && (r == -ECONNRESET || r == -EAGAIN);
}

static int pause_ms(const struct waiter *w, int ms)
{
	struct pollfd fds[] = { { w ? w->fds[0] : -1, POLLIN, 0 },
				{ w ? w->fds[1] : -1, POLLIN, 0 } };

	(void)poll(fds, ARRAY_SIZE(fds), w ? MIN(ms, w->timeout_ms) : ms);
	return w ? w->run(w->context) : 0;
}

static int perform(const struct exchange *e, struct reply *ret, bool *ret_gave_up)
{
	int wait_ms = AGAIN_FIRST_MS, waited_ms = 0, r;

	while (was_cut(r = exchange_run(e, ret, ret_gave_up), ret) && waited_ms < AGAIN_MS) {
		int gave_up = pause_ms(e->waiter, wait_ms);

		*ret_gave_up = gave_up < 0;
		if (gave_up < 0)
			return gave_up;
		waited_ms += wait_ms;
		wait_ms = MIN(wait_ms * 2, AGAIN_LAST_MS);
		reply_clear(ret);
	}
	return r;
}

/* One connection: none is held while the command runs. */
int endpoint_ask(const struct endpoint *e, const char *target, const char *body, int timeout_ms,
		 struct reply *ret, struct error *err)
{
	const struct exchange exchange = { .path = e->path,
					   .target = target,
					   .body = body,
					   .timeout_ms = timeout_ms,
					   .waiter = e->waiter };
	bool gave_up;
	int r;

	ret->max = e->answer_max;
	r = perform(&exchange, ret, &gave_up);
	if (gave_up)
		return error_set(err, r, "stopped waiting for the %s at '%s'", e->who, e->path);
	if (r < 0)
		return say_failure(e, r, ret, err);
	return ret->status == 200 ? 0 : say_refusal(e, ret, err);
}

char *percent_encode(const char *text)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
	char *encoded = malloc(strlen(text) * 3 + 1), *to = encoded;

	for (; encoded && *text; text++)
		to += sprintf(to, strchr(plain, *text) ? "%c" : "%%%02X", (unsigned char)*text);
	if (encoded)
		*to = '\0';
	return encoded;
}
