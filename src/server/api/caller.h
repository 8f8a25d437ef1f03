/* SPDX-License-Identifier: MIT */
/*
 * caller - the user of a request, and which jobs they may see.
 *
 * The other end of the Unix socket as the kernel names it; over TCP a munge credential, a token of
 * `jobmeter-server token create`, or the user that a proxy names together with the proxy's secret.
 * A user sees their own jobs, and those of the accounts that they coordinate; root on the socket,
 * the members of socket.admin_groups and the tokens of operators see all.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "server/store/tokens.h"

struct error;
struct http_peer;
struct http_request;
struct server;
struct store;
struct store_who;

#define PROXY_SECRET_HEADER "X-Jobmeter-Proxy-Secret"
#define CALLER_BY_SIZE 32
#define CALLER_SECRET_SIZE 65 /* in hex */
#define CALLER_TOKEN_SIZE 96

struct caller {
	bool sees_all;
	uint32_t uid;
	char user[TOKEN_USER_SIZE];
	char by[CALLER_BY_SIZE]; /* "socket", "munge", "proxy", "token 3" */
	char token[CALLER_TOKEN_SIZE]; /* that is still to be looked up; "": all is known */
};

/* Tokens as the database had them last, for budgets alone: a user's first request waits for no
 * stranger's. */
struct known_tokens; /* opaque; the loop's and the threads' */
struct known_tokens *caller_known_new(void); /* NULL: no memory.  The caller frees by free(3). */
/* Those that are new since the last time.  In the writer's thread. */
void caller_learn_tokens(struct server *s);

/* The one place that decides which jobs a caller sees: every query of the store carries it. */
struct store_who caller_who(const struct caller *caller);

/* The other end of the Unix socket.  Safe in any thread. */
void caller_of_peer(struct server *s, const struct http_peer *peer, struct caller *ret);

/* As struct http_route wants it; @context is the struct server.  Without any credential the
 * request has no caller, and is no failure.  The database is not asked, for which the loop would
 * wait: who brings a token is known after caller_confirm(), in the thread that answers. */
int caller_identify(void *context, struct http_request *request, struct error *err);

/* -EPERM: it is no token, or has expired. */
int caller_confirm(struct server *s, struct caller *caller, struct error *err);

/* The same of pages in a browser: by a cookie that holds a token, or by the proxy.  Whoever shows
 * nothing valid, or comes from a page of another site, has no caller. */
int caller_identify_visitor(void *context, struct http_request *request, struct error *err);
const char *caller_cookie(const struct server *s); /* its name */
/* What a page of another site makes a browser send. */
bool caller_is_cross_site(const struct http_request *request);

/* A line in the log of what was denied, or of what an operator asked for.  @caller may be NULL. */
void caller_audit(struct server *s, const struct caller *caller, const struct http_request *request,
		  const char *what);

/* Whose token it is.  -EPERM: it is none, or has expired. */
int caller_take_token(struct server *s, const char *text, struct caller *ret, struct error *err);
int caller_make_secret(char ret[CALLER_SECRET_SIZE], struct error *err); /* of random numbers */
int caller_digest(const char *secret, char ret[TOKEN_DIGEST_SIZE]); /* -EIO */

/* Store @token, whose user and times are set, with a new secret, and print it without a newline. */
int caller_add_token(struct store *s, struct store_token *token, FILE *out, struct error *err);
/* Make a token, and print it: this once. */
int caller_make_token(struct store *s, const char *user, bool sees_all, uint64_t expires_ns,
		      FILE *out, struct error *err);
int caller_print_tokens(struct store *s, FILE *out, struct error *err);
