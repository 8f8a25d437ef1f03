/* SPDX-License-Identifier: MIT */
#include "server/page/sign_in.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "server/api/caller.h"
#include "server/page/site.h"
#include "server/server.h"
#include "server/server_config.h"

#define LINK_PATH "/login/"
#define LINK_NS UINT64_C(43200000000000) /* so long somebody is signed in who came by a link */
#define FORM_COOKIE "jobmeter-form"
#define ADDRESS_MAX 4096
#define TEXT_SIZE 256 /* of a form's value */

/* ---- forms ---- */

/* What the form holds that belongs to this cookie: nothing can be learnt of the cookie by it. */
static bool make_key(const char *cookie, char ret[TOKEN_DIGEST_SIZE])
{
	char text[TEXT_SIZE];

	return cookie && snprintf(text, sizeof(text), "form %s", cookie) < (int)sizeof(text) &&
	       caller_digest(text, ret) == 0;
}

/* A value of a form's body, as far as it is of letters, digits and '_': ours are.  "": it is not
 * there. */
static void read_value(const char *body, const char *key, char ret[TEXT_SIZE])
{
	size_t length = strlen(key), size;

	*ret = '\0';
	while (body && (strncmp(body, key, length) != 0 || body[length] != '=')) {
		body = strchr(body, '&');
		body = body ? body + 1 : NULL;
	}
	if (!body)
		return;
	body += length + 1;
	body += strspn(body, "+"); /* blanks around what was pasted */
	size = strspn(body, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
	if (size >= TEXT_SIZE)
		return;
	memcpy(ret, body, size);
	ret[size] = '\0';
}

static bool is_own_form(const struct http_request *request, const char *cookie)
{
	char key[TOKEN_DIGEST_SIZE], given[TEXT_SIZE];

	read_value(request->body, "key", given);
	return !caller_is_cross_site(request) && make_key(cookie, key) && strcmp(key, given) == 0;
}

static void put_hidden(const char *name, const char *value, struct html *h)
{
	html_begin_tag(h, "input", { "type", "hidden" }, { "name", name }, { "value", value });
	html_end(h);
}

/* ---- who signs in ---- */

struct asking {
	const struct http_request *request;
	const char *key, *message;
};

static int put_form(void *context, struct html *h)
{
	const struct asking *a = context;
	_cleanup_free_ char *here = NULL;
	size_t size;
	FILE *out = open_memstream(&here, &size);
	struct address address;

	if (!out)
		return -ENOMEM;
	if (http_query(a->request, "to"))
		fputs(http_query(a->request, "to"), out);
	else
		address_print_request(a->request, out);
	fclose(out);
	html_element(h, "h1", NULL, "Sign in");
	if (a->message) {
		html_begin_tag(h, "p", { "class", "alert" }, { "role", "alert" });
		html_text(h, "%s", a->message);
		html_end(h);
	}
	html_begin_tag(h, "form", { "class", "sign-in" }, { "method", "post" });
	address = address_begin(h, "action", "/login");
	address_add(&address, "to", here);
	address_end(&address);
	put_hidden("key", a->key, h);
	/* the first input is for what keeps passwords */
	html_raw(h, "<input name=\"user\" autocomplete=\"username\" value=\"jobmeter\" "
		    "hidden=\"hidden\"/><label for=\"token\">Your token</label>"
		    "<input id=\"token\" name=\"token\" type=\"password\" "
		    "autocomplete=\"current-password\" required=\"required\" "
		    "autofocus=\"autofocus\" aria-describedby=\"help\"/>"
		    "<button>Sign in</button>");
	html_end(h);
	html_raw(
		h,
		"<p class=\"note\" id=\"help\">Ask the support of your site for one. "
		"Its operators make it: <code>jobmeter-server token create --user NAME</code></p>");
	return 0;
}

static const char *attributes(const struct server *s)
{
	return *s->config->tls_certificate ? "; Path=/; HttpOnly; SameSite=Strict; Secure"
					   : "; Path=/; HttpOnly; SameSite=Strict";
}

static int set_cookie(const struct server *s, const char *name, const char *value, const char *more,
		      struct http_answer *ret)
{
	free(ret->cookie);
	ret->cookie = NULL;
	return asprintf(&ret->cookie, "%s=%s%s%s", name, value, attributes(s), more) < 0 ? -ENOMEM
											 : 0;
}

static int ask(struct server *s, const struct http_request *request, const char *message,
	       struct http_answer *ret)
{
	const char *cookie = http_cookie(request, FORM_COOKIE);
	char secret[CALLER_SECRET_SIZE], key[TOKEN_DIGEST_SIZE];
	struct error err;
	int r;

	if (!make_key(cookie, key)) {
		if (caller_make_secret(secret, &err) < 0 || !make_key(secret, key))
			return -EIO;
		r = set_cookie(s, FORM_COOKIE, secret, "", ret);
		if (r < 0)
			return r;
	}
	return site_put_document(s,
				 &(struct site_document){
					 .title = "Sign in",
					 .request = request,
					 .put = put_form,
					 .context = &(struct asking){ request, key, message },
				 },
				 ret);
}

/* A page of another site led here, and so the browser sent no cookie: asked again from here it
 * does. */
static int put_again(void *context, struct html *h)
{
	html_begin(h, "p");
	html_begin(h, "a");
	html_begin_attribute(h, "href");
	address_print_request(context, h->out);
	html_end_attribute(h);
	html_text(h, "Go on to jobmeter");
	html_end(h);
	html_end(h);
	return 0;
}

int sign_in_ask(struct server *s, const struct http_request *request, struct http_answer *ret)
{
	if (caller_is_cross_site(request))
		return site_put_document(s,
					 &(struct site_document){ .title = "jobmeter",
								  .request = request,
								  .is_again = true,
								  .put = put_again,
								  .context = (void *)request },
					 ret);
	return ask(s, request,
		   http_cookie(request, caller_cookie(s))
			   ? "Your token has expired or was revoked: sign in again."
			   : NULL,
		   ret);
}

/* Within this site, and nowhere else. */
static bool is_own_address(const char *to)
{
	size_t length = to ? strlen(to) : 0;

	if (length == 0 || length > ADDRESS_MAX || to[0] != '/' || to[1] == '/' || to[1] == '\\')
		return false;
	for (size_t i = 0; i < length; i++) {
		if (to[i] <= ' ' || to[i] > '~')
			return false;
	}
	return true;
}

int sign_in_send_to(const char *to, struct http_answer *ret)
{
	ret->status = 303;
	ret->type = "text/html; charset=utf-8";
	ret->location = strdup(is_own_address(to) ? to : "/jobs");
	ret->text = strdup("");
	ret->length = 0;
	return ret->location && ret->text ? 0 : -ENOMEM;
}

int sign_in_take_token(void *context, const struct http_request *request, struct http_answer *ret)
{
	struct server *s = context;
	struct caller caller = {};
	char token[TEXT_SIZE];
	struct error err = {};
	int r;

	if (!is_own_form(request, http_cookie(request, FORM_COOKIE)))
		return ask(s, request, "That form was too old: please try again.", ret);
	read_value(request->body, "token", token);
	r = caller_take_token(s, token, &caller, &err);
	if (r == -EPERM)
		caller_audit(s, NULL, request, err.text);
	if (r < 0)
		r = ask(s, request, r == -EPERM ? err.text : "The server cannot look it up now.",
			ret);
	else if (set_cookie(s, caller_cookie(s), token, "", ret) == 0)
		r = sign_in_send_to(http_query(request, "to"), ret);
	else
		r = -ENOMEM;
	explicit_bzero(token, sizeof(token));
	return r;
}

void sign_in_put_end(struct server *s, const struct http_request *request, struct html *h)
{
	char key[TOKEN_DIGEST_SIZE];

	if (!make_key(http_cookie(request, caller_cookie(s)), key))
		return;
	html_begin_tag(h, "form", { "method", "post" }, { "action", "/logout" });
	put_hidden("key", key, h);
	html_element(h, "button", NULL, "Sign out");
	html_end(h);
}

int sign_in_end(void *context, const struct http_request *request, struct http_answer *ret)
{
	struct server *s = context;

	if (!is_own_form(request, http_cookie(request, caller_cookie(s))))
		return sign_in_send_to("/jobs", ret);
	if (set_cookie(s, caller_cookie(s), "", "; Max-Age=0", ret) < 0)
		return -ENOMEM;
	return sign_in_send_to("/jobs", ret);
}

/* ---- links ---- */

int sign_in_make_link(void *context, const struct http_request *request, struct http_answer *ret)
{
	struct server *s = context;
	const char *listen = s->config->listen;
	struct server_link *link = &s->links[s->link_count++ % SERVER_LINKS];
	struct caller caller = {};
	char code[CALLER_SECRET_SIZE];
	struct error err = {};
	int length;

	if (!s->tcp || !setting_is_loopback(listen))
		return http_fail(ret, 404, "links are for a server that listens on the loopback");
	caller_of_peer(s, &request->peer, &caller);
	*link = (struct server_link){ .uid = caller.uid, .sees_all = caller.sees_all };
	snprintf(link->user, sizeof(link->user), "%s", caller.user);
	if (caller_make_secret(code, &err) < 0 || caller_digest(code, link->digest) < 0)
		return -EIO;
	length = asprintf(&ret->text, "%s://%s" LINK_PATH "%s\n",
			  *s->config->tls_certificate ? "https" : "http", listen, code);
	explicit_bzero(code, sizeof(code));
	if (length < 0) {
		ret->text = NULL;
		return -ENOMEM;
	}
	ret->length = (size_t)length;
	ret->type = "text/plain; charset=utf-8";
	return 0;
}

/* Its token is made only now, and so counts from now. */
static int sign_in_by(struct server *s, struct server_link *link, struct http_answer *ret)
{
	struct store_token token = { .uid = link->uid,
				     .sees_all = link->sees_all,
				     .created_ns = clock_now_ns(CLOCK_REALTIME) };
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct error err = {};
	int r = out ? 0 : -ENOMEM;

	token.expires_ns = token.created_ns + LINK_NS;
	memcpy(token.user, link->user, sizeof(token.user));
	if (r == 0)
		r = caller_add_token(s->store, &token, out, &err);
	if (out && fclose(out) != 0)
		r = -ENOMEM;
	if (r == 0)
		r = set_cookie(s, caller_cookie(s), text, "", ret);
	if (text)
		explicit_bzero(text, size);
	if (r == 0)
		*link = (struct server_link){};
	return r < 0 ? http_fail(ret, 503, "%s", err.text) : sign_in_send_to("/jobs", ret);
}

int sign_in_use_link(void *context, const struct http_request *request, struct http_answer *ret)
{
	const char *code = request->path + strlen(LINK_PATH);
	char digest[TOKEN_DIGEST_SIZE];
	struct server *s = context;

	/* what looks before it goes there does not use it up */
	for (size_t i = 0; strcmp(request->method, "GET") == 0 && i < SERVER_LINKS; i++) {
		if (*s->links[i].digest && !caller_is_cross_site(request) &&
		    caller_digest(code, digest) == 0 && strcmp(digest, s->links[i].digest) == 0)
			return sign_in_by(s, &s->links[i], ret);
	}
	return ask(s, request, "This link was used already, or the server has been started again.",
		   ret);
}
