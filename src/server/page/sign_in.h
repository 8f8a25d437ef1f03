/* SPDX-License-Identifier: MIT */
/*
 * sign_in - how a browser shows who it is: a token in a form, or a link that serves once.
 *
 * Either becomes a cookie with a token of tokens.h, so that revoking the token ends it.  Only pages
 * take the cookie; the API does not.  Each form holds a digest of a cookie, which no other site's
 * page can know.
 */
#pragma once

#include "http/http.h"

struct html;
struct server;

/* The form in the place of a page. */
int sign_in_ask(struct server *s, const struct http_request *request, struct http_answer *ret);
/* There, if it is an address of this site; else to the jobs. */
int sign_in_send_to(const char *to, struct http_answer *ret);
/* A form that ends it; nothing where the proxy says who it is. */
void sign_in_put_end(struct server *s, const struct http_request *request, struct html *h);

/* As struct http_route wants them: POST /login and /logout. */
int sign_in_take_token(void *context, const struct http_request *request, struct http_answer *ret);
int sign_in_end(void *context, const struct http_request *request, struct http_answer *ret);
/* In the writer's thread.  POST /v1/link on the socket: a link for who asks; GET /login/...: it is
 * used. */
int sign_in_make_link(void *context, const struct http_request *request, struct http_answer *ret);
int sign_in_use_link(void *context, const struct http_request *request, struct http_answer *ret);
