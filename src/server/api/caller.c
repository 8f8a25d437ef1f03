/* SPDX-License-Identifier: MIT */
#include "server/api/caller.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <grp.h>
#include <inttypes.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/parse.h"
#include "basic/timestamp.h"
#include "basic/utf8.h"
#include "server/server.h"
#include "server/server_config.h"
#include "service/credential.h"
#include "service/log.h"
#include "service/permission.h"

#define BEARER "Bearer "
#define MUNGE "MUNGE "
#define PREFIX "jm_" /* of a token: "jm_NUMBER_SECRET" */
#define SECRET_BYTES 32
#define SECRET_LETTERS (CALLER_SECRET_SIZE - 1)
#define NUMBER_LETTERS 20
#define AUDIT_PATH_MAX 256
#define PASSWD_TEXT_MAX 16384
#define DENIED_A_MINUTE 60 /* lines of the log: a stranger shall not fill it */
#define MINUTE_NS UINT64_C(60000000000)
#define KNOWN 4096 /* tokens: the newest of a site */
#define STRANGER UINT32_MAX /* all callers without a known credential share one budget */

struct store_who caller_who(const struct caller *caller)
{
	struct store_who who = { .sees_all = caller->sees_all, .uid = caller->uid };

	snprintf(who.user, sizeof(who.user), "%s", caller->user);
	return who;
}

/* ---- tokens ---- */

_Static_assert(TOKEN_DIGEST_SIZE == CREDENTIAL_DIGEST_SIZE, "both are SHA-256 in hex");

int caller_digest(const char *secret, char ret[TOKEN_DIGEST_SIZE])
{
	return credential_digest(secret, strlen(secret), ret);
}

/* "jm_17_SECRET": its number, and where the secret begins.  NULL: it is none of ours. */
static const char *parse_token(const char *text, uint64_t *ret_id)
{
	char number[NUMBER_LETTERS + 1] = "";
	const char *secret;
	size_t length;

	if (strncmp(text, PREFIX, strlen(PREFIX)) != 0)
		return NULL;
	text += strlen(PREFIX);
	length = strcspn(text, "_");
	if (text[length] != '_' || length >= sizeof(number))
		return NULL;
	memcpy(number, text, length);
	secret = text + length + 1;
	if (parse_u64(number, ret_id) < 0 || *ret_id > INT64_MAX ||
	    strspn(secret, "0123456789abcdef") != SECRET_LETTERS || secret[SECRET_LETTERS])
		return NULL;
	return secret;
}

struct known_tokens {
	pthread_mutex_t lock;
	uint64_t newest; /* that was read; the writer's alone */
	struct store_token items[KNOWN]; /* each in the place of its number; of 0: none */
};

struct known_tokens *caller_known_new(void)
{
	struct known_tokens *k = calloc(1, sizeof(*k));

	if (k)
		pthread_mutex_init(&k->lock, NULL);
	return k;
}

/* @token: NULL: the database has none of that number. */
static void note_token(struct known_tokens *k, uint64_t id, const struct store_token *token)
{
	struct store_token *item = &k->items[id % KNOWN];

	pthread_mutex_lock(&k->lock);
	if (token)
		*item = *token;
	else if (item->id == id)
		*item = (struct store_token){};
	pthread_mutex_unlock(&k->lock);
}

static void learn_token(void *context, const struct store_token *token)
{
	struct known_tokens *k = context;

	note_token(k, token->id, token);
	k->newest = token->id;
}

void caller_learn_tokens(struct server *s)
{
	struct error err = {};

	/* what fails is read the next time: nobody is let in or kept out by it */
	(void)store_list_tokens(s->store, s->known_tokens->newest, learn_token, s->known_tokens,
				&err);
}

/* The same words whatever is wrong with it, but where it has expired. */
int caller_take_token(struct server *s, const char *text, struct caller *ret, struct error *err)
{
	char digest[TOKEN_DIGEST_SIZE];
	struct store_token token = {};
	uint64_t id = 0;
	const char *secret = parse_token(text, &id);
	int r = !s->store ? error_set(err, -EIO, "the database is not there yet")
		: secret  ? store_find_token(s->store, id, &token, err)
			  : -ENOENT;

	if (secret && (r == 0 || r == -ENOENT))
		note_token(s->known_tokens, id, r == 0 ? &token : NULL);
	if (r == 0)
		r = caller_digest(secret, digest);
	/* the time it takes tells nothing of where they differ */
	if (r == 0 && gnutls_memcmp(digest, token.digest, TOKEN_DIGEST_SIZE) != 0)
		r = -ENOENT;
	if (r == -ENOENT)
		return error_set(err, -EPERM, "this is no valid token");
	if (r < 0)
		return r;
	if (token.expires_ns <= clock_now_ns(CLOCK_REALTIME))
		return error_set(err, -EPERM, "this token has expired");
	ret->sees_all = token.sees_all;
	ret->uid = token.uid;
	snprintf(ret->user, sizeof(ret->user), "%s", token.user);
	snprintf(ret->by, sizeof(ret->by), "token %" PRIu64, id);
	return 0;
}

/* Whose budget it is, as far as the token is known; the rest is caller_confirm()'s. */
static int claim_token(struct server *s, const char *text, struct caller *ret, struct error *err)
{
	const struct store_token *known;
	char digest[TOKEN_DIGEST_SIZE];
	uint64_t id = 0;
	const char *secret = parse_token(text, &id);

	if (!secret || caller_digest(secret, digest) < 0)
		return error_set(err, -EPERM, "this is no valid token");
	snprintf(ret->token, sizeof(ret->token), "%s", text);
	snprintf(ret->by, sizeof(ret->by), "token %" PRIu64, id);
	known = &s->known_tokens->items[id % KNOWN];
	pthread_mutex_lock(&s->known_tokens->lock);
	ret->uid = STRANGER;
	if (known->id == id && known->expires_ns > clock_now_ns(CLOCK_REALTIME) &&
	    gnutls_memcmp(digest, known->digest, TOKEN_DIGEST_SIZE) == 0) {
		ret->uid = known->uid;
		ret->sees_all = known->sees_all;
	}
	pthread_mutex_unlock(&s->known_tokens->lock);
	return 0;
}

int caller_confirm(struct server *s, struct caller *caller, struct error *err)
{
	int r = caller && *caller->token ? caller_take_token(s, caller->token, caller, err) : 0;

	if (caller)
		explicit_bzero(caller->token, sizeof(caller->token));
	return r;
}

int caller_make_secret(char ret[CALLER_SECRET_SIZE], struct error *err)
{
	unsigned char bytes[SECRET_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_set_errno(err, EIO, "cannot make a token");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

int caller_add_token(struct store *s, struct store_token *token, FILE *out, struct error *err)
{
	char secret[CALLER_SECRET_SIZE] = "";
	int r = caller_make_secret(secret, err);

	if (r == 0 && caller_digest(secret, token->digest) < 0)
		r = error_set_errno(err, EIO, "cannot make a token");
	if (r == 0)
		r = store_add_token(s, token, &token->id, err);
	if (r == 0)
		fprintf(out, PREFIX "%" PRIu64 "_%s", token->id, secret);
	explicit_bzero(secret, sizeof(secret));
	return r;
}

int caller_make_token(struct store *s, const char *user, bool sees_all, uint64_t expires_ns,
		      FILE *out, struct error *err)
{
	const struct passwd *entry = getpwnam(user);
	struct store_token token = { .sees_all = sees_all,
				     .created_ns = clock_now_ns(CLOCK_REALTIME) };
	char until[TIMESTAMP_SIZE];
	uint64_t number = 0;
	int r;

	if (!entry && (parse_u64(user, &number) < 0 || number >= UINT32_MAX))
		return error_set(err, -ENOENT,
				 "there is no user '%.64s' on this machine: name one, or a number",
				 user);
	if (strlen(user) >= sizeof(token.user))
		return error_set(err, -EINVAL, "the user's name is too long");
	token.uid = entry ? entry->pw_uid : (uint32_t)number;
	token.expires_ns = token.created_ns + expires_ns;
	snprintf(token.user, sizeof(token.user), "%s", user);
	r = caller_add_token(s, &token, out, err);
	if (r < 0)
		return r;
	fputc('\n', out);
	fprintf(stderr,
		"token %" PRIu64 " of '%s', who sees %s jobs, until %s; it is shown this "
		"once\n",
		token.id, token.user, sees_all ? "all" : "their own",
		timestamp_format(until, token.expires_ns / 1000000000 * 1000000000));
	return 0;
}

static void print_token(void *context, const struct store_token *t)
{
	char until[TIMESTAMP_SIZE];
	bool has_expired = t->expires_ns <= clock_now_ns(CLOCK_REALTIME);

	fprintf(context, "%6" PRIu64 "  %-16s %6u  %-8s  %.19sZ%s\n", t->id, t->user, t->uid,
		t->sees_all ? "operator" : "user", timestamp_format(until, t->expires_ns),
		has_expired ? "  expired" : "");
}

int caller_print_tokens(struct store *s, FILE *out, struct error *err)
{
	fprintf(out, "%6s  %-16s %6s  %-8s  %s\n", "TOKEN", "USER", "UID", "SCOPE", "EXPIRES");
	return store_list_tokens(s, 0, print_token, out, err);
}

/* ---- users that others vouch for ---- */

/* A user by name, with the groups that they have here. */
static int take_user(struct server *s, const struct passwd *entry, const char *by,
		     struct caller *ret)
{
	struct http_peer peer = { .is_known = true, .uid = entry->pw_uid, .gid = entry->pw_gid };
	int count = HTTP_GROUPS_MAX;

	snprintf(ret->user, sizeof(ret->user), "%s", entry->pw_name);
	snprintf(ret->by, sizeof(ret->by), "%s", by);
	ret->uid = entry->pw_uid;
	if (getgrouplist(entry->pw_name, entry->pw_gid, peer.groups, &count) < 0)
		count = HTTP_GROUPS_MAX;
	peer.group_count = (size_t)count;
	/* root of another machine, or of a proxy, is no operator here */
	ret->sees_all = peer.uid != 0 && permission_sees_all(s->permission, &peer);
	return 0;
}

static int take_munge(struct server *s, const char *header, struct caller *ret, struct error *err)
{
	struct credential credential = {};
	const struct passwd *entry;
	int r = munge_check(s->munge, header, &credential, err);

	if (r < 0)
		return r;
	if (!credential_is_of_body(&credential, "", 0))
		return error_set(err, -EPERM, "the munge credential is of another request");
	entry = getpwuid(credential.uid);
	if (entry)
		return take_user(s, entry, "munge", ret);
	ret->uid = credential.uid;
	snprintf(ret->user, sizeof(ret->user), "%u", credential.uid);
	snprintf(ret->by, sizeof(ret->by), "munge");
	return 0;
}

static bool is_proxy(const struct server *s, const struct http_request *request)
{
	const char *secret = http_header(request, PROXY_SECRET_HEADER);
	char given[TOKEN_DIGEST_SIZE], known[TOKEN_DIGEST_SIZE];

	/* digests have one length, so that the time tells nothing of the secret's either */
	return secret && *s->proxy_secret && caller_digest(secret, given) == 0 &&
	       caller_digest(s->proxy_secret, known) == 0 &&
	       gnutls_memcmp(given, known, sizeof(known)) == 0;
}

static int take_proxy(struct server *s, const struct http_request *request, const char *user,
		      struct caller *ret, struct error *err)
{
	const struct passwd *entry;

	if (!is_proxy(s, request))
		return error_set(err, -EPERM, "the header '%s' is for the proxy alone",
				 s->config->proxy_header);
	/* one that the client sent, and the proxy did not drop */
	if (http_has_several(request, s->config->proxy_header))
		return error_set(err, -EPERM, "the header '%s' comes more than once",
				 s->config->proxy_header);
	entry = getpwnam(user);
	if (!entry)
		return error_set(err, -EPERM, "the proxy's user is not known here");
	return take_user(s, entry, "proxy", ret);
}

/* ---- the caller of a request ---- */

/* What a page of another site makes a browser send. */
bool caller_is_cross_site(const struct http_request *request)
{
	const char *site = http_header(request, "Sec-Fetch-Site");
	const char *origin = http_header(request, "Origin"), *host = http_header(request, "Host");

	if (site && strcasecmp(site, "same-origin") != 0 && strcasecmp(site, "none") != 0)
		return true;
	if (!origin)
		return false;
	origin = strstr(origin, "://") ? strstr(origin, "://") + strlen("://") : origin;
	return !host || strcasecmp(origin, host) != 0;
}

void caller_of_peer(struct server *s, const struct http_peer *peer, struct caller *ret)
{
	char text[PASSWD_TEXT_MAX];
	struct passwd entry, *found = NULL;

	ret->uid = peer->uid;
	ret->sees_all = permission_sees_all(s->permission, peer);
	if (getpwuid_r(peer->uid, &entry, text, sizeof(text), &found) == 0 && found)
		snprintf(ret->user, sizeof(ret->user), "%s", entry.pw_name);
	else
		snprintf(ret->user, sizeof(ret->user), "%u", peer->uid);
	snprintf(ret->by, sizeof(ret->by), "socket");
}

static int identify(struct server *s, const struct http_request *request, struct caller *ret,
		    struct error *err)
{
	const char *header = http_header(request, "Authorization");
	const char *user = *s->config->proxy_header ? http_header(request, s->config->proxy_header)
						    : NULL;

	if (caller_is_cross_site(request))
		return error_set(err, -EACCES, "requests of other sites' pages are refused");
	if (request->peer.is_known) {
		caller_of_peer(s, &request->peer, ret);
		return 0;
	}
	if (user)
		return take_proxy(s, request, user, ret, err);
	if (!header)
		return 0;
	if (s->munge && strncmp(header, MUNGE, strlen(MUNGE)) == 0)
		return take_munge(s, header, ret, err);
	if (strncasecmp(header, BEARER, strlen(BEARER)) != 0)
		return error_set(err, -EPERM, "this takes 'Authorization: Bearer TOKEN'");
	header += strlen(BEARER);
	return claim_token(s, header + strspn(header, " "), ret, err);
}

/* A page of another site may lead here: its visitor has no caller until the page is opened from
 * here.
 */
static int identify_visitor(struct server *s, const struct http_request *request,
			    struct caller *ret, struct error *err)
{
	const char *user = *s->config->proxy_header ? http_header(request, s->config->proxy_header)
						    : NULL;
	const char *cookie = http_cookie(request, caller_cookie(s));

	if (caller_is_cross_site(request))
		return 0;
	if (user)
		return take_proxy(s, request, user, ret, err);
	return cookie ? claim_token(s, cookie, ret, err) : 0;
}

const char *caller_cookie(const struct server *s)
{
	return *s->config->tls_certificate ? "__Host-jobmeter" : "jobmeter";
}

static int identify_by(int (*function)(struct server *s, const struct http_request *request,
				       struct caller *ret, struct error *err),
		       void *context, struct http_request *request, struct error *err)
{
	struct caller *caller = calloc(1, sizeof(*caller));
	int r = caller ? function(context, request, caller, err) : -ENOMEM;

	if (r < 0 || !*caller->by) { /* no caller */
		if (r == -EPERM || r == -EACCES)
			caller_audit(context, NULL, request, err->text);
		free(caller);
		return r;
	}
	request->caller = caller;
	request->has_user = !caller->sees_all;
	request->user = caller->uid;
	return 0;
}

int caller_identify(void *context, struct http_request *request, struct error *err)
{
	return identify_by(identify, context, request, err);
}

int caller_identify_visitor(void *context, struct http_request *request, struct error *err)
{
	int r = identify_by(identify_visitor, context, request, err);

	return r == -EPERM ? 0 : r; /* they are asked to sign in */
}

/* ---- the audit ---- */

/* What a request brings, without what would begin another line. */
static void clean(const char *text, char ret[AUDIT_PATH_MAX])
{
	size_t length = 0;
	uint32_t c;

	while ((c = utf8_next(&text)) != 0 && length + UTF8_MAX < AUDIT_PATH_MAX)
		length += utf8_encode(utf8_is_printable(c) ? c : '?', ret + length);
	ret[length] = '\0';
}

void caller_audit(struct server *s, const struct caller *caller, const struct http_request *request,
		  const char *what)
{
	char path[AUDIT_PATH_MAX];
	uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);

	if (now_ns - s->audit.since_ns > MINUTE_NS) {
		if (s->audit.denied > DENIED_A_MINUTE)
			log_say(CONFIG_LOG_WARNING, "audit: %" PRIu64 " more requests were denied",
				s->audit.denied - DENIED_A_MINUTE);
		s->audit.since_ns = now_ns;
		s->audit.denied = 0;
	}
	if ((!caller || !caller->sees_all) && ++s->audit.denied > DENIED_A_MINUTE)
		return;
	clean(request->path, path);
	log_say(CONFIG_LOG_INFO, "audit: %s by %s: %s %s: %s",
		caller ? caller->user : "somebody unknown", caller ? caller->by : "TCP",
		request->method, path, what);
}
