/* SPDX-License-Identifier: MIT */
#include "service/credential.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <munge.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/library.h"
#include "basic/macro.h"

#define SCHEME "MUNGE "
#define PURPOSE "jobmeter records " /* before the digest: not what another program had signed */
#define PAYLOAD_SIZE (sizeof(PURPOSE) - 1 + CREDENTIAL_DIGEST_SIZE)
#define HEADER_MAX 4096
#define HOSTS 1024 /* with cached names... */
#define UNANSWERED_NS UINT64_C(10000000000)
#define SLOW_NS UINT64_C(100000000) /* after an answer that took longer it is left alone... */
#define SLOW_REST 9 /* ...for nine times as long, because all requests wait for it */
#define HOST_NS UINT64_C(600000000000) /* ...so long, since asking may take its time */

/* What is taken of the library, by name. */
struct library {
	__typeof__(munge_encode) *encode;
	__typeof__(munge_decode) *decode;
	__typeof__(munge_ctx_create) *create;
	__typeof__(munge_ctx_destroy) *destroy;
	__typeof__(munge_ctx_get) *get;
	__typeof__(munge_ctx_set) *set;
	__typeof__(munge_strerror) *describe;
};
static const char *const files[] = { "libmunge.so.2", NULL };
static const char *const names[] = { "munge_encode",	  "munge_decode",  "munge_ctx_create",
				     "munge_ctx_destroy", "munge_ctx_get", "munge_ctx_set",
				     "munge_strerror" };
_Static_assert(sizeof(struct library) == sizeof(names), "a name for each, in their order");

struct host {
	uint32_t address;
	uint64_t until_ns;
	bool is_unanswered; /* the name service did not answer */
	char names[CREDENTIAL_NAMES_SIZE];
};

struct munge {
	struct library library;
	munge_ctx_t context;
	uint64_t rest_until_ns; /* of the name service */
	struct host *hosts; /* HOSTS, each at its address' place; NULL: nothing was checked yet */
};

int munge_open(const char *socket, struct munge **ret, struct error *err)
{
	struct munge *m = calloc(1, sizeof(*m));
	bool is_set;
	int r;

	if (!m)
		return error_set_errno(err, ENOMEM, "cannot use munge");
	r = library_load(files, names, ARRAY_SIZE(names), &m->library, err);
	if (r < 0) {
		munge_close(m);
		return error_prefix(err, r, "munge is set (Debian's libmunge2)");
	}
	m->context = m->library.create();
	is_set = m->context && (!*socket || m->library.set(m->context, MUNGE_OPT_SOCKET, socket) ==
						    EMUNGE_SUCCESS);
	if (!is_set) {
		munge_close(m);
		return error_set_errno(err, ENOMEM, "cannot use munge");
	}
	*ret = m;
	return 0;
}

struct munge *munge_close(struct munge *m)
{
	if (m && m->context)
		m->library.destroy(m->context);
	if (m)
		free(m->hosts);
	free(m);
	return NULL;
}

int credential_digest(const void *body, size_t length, char ret[CREDENTIAL_DIGEST_SIZE])
{
	unsigned char bytes[(CREDENTIAL_DIGEST_SIZE - 1) / 2];

	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, body, length, bytes) < 0)
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int munge_sign(struct munge *m, const void *body, size_t length, char **ret, struct error *err)
{
	char payload[PAYLOAD_SIZE] = PURPOSE, *credential = NULL;
	munge_err_t e;
	int r = credential_digest(body, length, payload + sizeof(PURPOSE) - 1);

	if (r < 0)
		return error_set_errno(err, r, "cannot make a munge credential");
	e = m->library.encode(&credential, m->context, payload, (int)strlen(payload));
	if (e != EMUNGE_SUCCESS)
		r = error_set(err, -EIO, "munge gives no credential: %s", m->library.describe(e));
	else if (asprintf(ret, SCHEME "%s", credential) < 0)
		r = error_set_errno(err, ENOMEM, "cannot make a munge credential");
	free(credential);
	return r;
}

/* ---- the other side ---- */

static void put_name(const char *name, char names_[CREDENTIAL_NAMES_SIZE])
{
	size_t used = strlen(names_);

	if (used + strlen(name) + 2 <= CREDENTIAL_NAMES_SIZE)
		snprintf(names_ + used, CREDENTIAL_NAMES_SIZE - used, "%s ", name);
}

/* Blocks until the site's name service says so, once in a while for each, and a tenth of the time
 * for all; NULL: it does not answer just now. */
static const char *find_names(struct munge *m, struct in_addr address)
{
	uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC), ended_ns;
	const struct hostent *found;
	struct host *host;

	if (!m->hosts)
		m->hosts = calloc(HOSTS, sizeof(*m->hosts));
	if (!m->hosts)
		return "";
	host = &m->hosts[ntohl(address.s_addr) % HOSTS];
	if (host->address == address.s_addr && now_ns < host->until_ns)
		return host->is_unanswered ? NULL : host->names;
	if (now_ns < m->rest_until_ns)
		return NULL;
	*host = (struct host){ .address = address.s_addr, .until_ns = now_ns + HOST_NS };
	found = gethostbyaddr(&address, sizeof(address), AF_INET);
	ended_ns = clock_now_ns(CLOCK_MONOTONIC);
	if (ended_ns - now_ns > SLOW_NS)
		m->rest_until_ns = ended_ns + SLOW_REST * (ended_ns - now_ns);
	if (!found && (h_errno == TRY_AGAIN || h_errno == NO_RECOVERY)) {
		host->is_unanswered = true;
		host->until_ns = now_ns + UNANSWERED_NS;
		return NULL;
	}
	if (found && found->h_name)
		put_name(found->h_name, host->names);
	for (char **alias = found ? found->h_aliases : NULL; alias && *alias; alias++)
		put_name(*alias, host->names);
	return host->names;
}

static int take_payload(const void *payload, int length, struct credential *ret)
{
	const char *text = payload;
	size_t before = strlen(PURPOSE);

	if (!text || length != (int)PAYLOAD_SIZE - 1 || memcmp(text, PURPOSE, before) != 0)
		return -EPERM;
	memcpy(ret->digest, text + before, CREDENTIAL_DIGEST_SIZE - 1);
	ret->digest[CREDENTIAL_DIGEST_SIZE - 1] = '\0';
	return 0;
}

int munge_check(struct munge *m, const char *header, struct credential *ret, struct error *err)
{
	struct in_addr address = {};
	void *payload = NULL;
	const char *host;
	int length = 0, r = 0;
	gid_t gid;
	munge_err_t e;

	if (strncasecmp(header, SCHEME, strlen(SCHEME)) != 0 || strlen(header) > HEADER_MAX)
		return error_set(err, -EPERM, "this needs a munge credential");
	*ret = (struct credential){};
	e = m->library.decode(header + strlen(SCHEME), m->context, &payload, &length, &ret->uid,
			      &gid);
	if (e != EMUNGE_SUCCESS)
		r = error_set(err, e == EMUNGE_SOCKET || e == EMUNGE_TIMEOUT ? -EIO : -EPERM,
			      "the munge credential: %s", m->library.describe(e));
	else if (take_payload(payload, length, ret) < 0)
		r = error_set(err, -EPERM, "the munge credential is not for records");
	free(payload); /* also one that is replayed or too old has its payload */
	if (r < 0)
		return r;
	if (m->library.get(m->context, MUNGE_OPT_ADDR4, &address) != EMUNGE_SUCCESS ||
	    !address.s_addr)
		return 0;
	host = find_names(m, address);
	if (!host)
		return error_set(err, -EIO, "the name service does not resolve that address");
	snprintf(ret->host, sizeof(ret->host), "%s", host);
	return 0;
}

bool credential_is_of_body(const struct credential *c, const void *body, size_t length)
{
	char text[CREDENTIAL_DIGEST_SIZE];

	return credential_digest(body, length, text) == 0 && strcmp(text, c->digest) == 0;
}

static bool is_same_name(const char *a, size_t a_length, const char *b)
{
	size_t a_first = strcspn(a, ". "), b_first = strcspn(b, "."), b_length = strlen(b);

	if (a_length == b_length && strncasecmp(a, b, a_length) == 0)
		return true;
	return (a_first == a_length || b_first == b_length) && a_first == b_first &&
	       strncasecmp(a, b, a_first) == 0;
}

bool credential_is_of_host(const struct credential *c, const char *node)
{
	for (const char *at = c->host; *at && *node; at += strcspn(at, " ") + 1) {
		if (is_same_name(at, strcspn(at, " "), node))
			return true;
	}
	return false;
}
