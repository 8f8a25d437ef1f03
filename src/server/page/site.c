/* SPDX-License-Identifier: MIT */
#include "server/page/site.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/fnv.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "basic/utf8.h"
#include "report/html_report.h"
#include "server/api/caller.h"
#include "server/page/sign_in.h"
#include "server/server.h"

#define RECENT_NS UINT64_C(25920000000000000) /* 300 days */
#define HTML_TYPE "text/html; charset=utf-8"
/* Nothing runs and nothing is fetched but what this server sends. */
#define POLICY                                                                     \
	"default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; " \
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
#define ICON                                                                                  \
	"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E" \
	"%3Cpath fill='%230072b2' d='M1 9h4v6H1zM6 5h4v10H6zM11 1h4v14h-4z'/%3E%3C/svg%3E"

static const char site_style[] =
#include "server/page/site_css.h"
	;

static const char site_script[] =
#include "server/page/site_js.h"
	;

static const struct site_page *const pages[] = { &jobs_page,  &job_page,    &usage_page,
						 &files_page, &spread_page, &nodes_page };

/* ---- style sheet and script ---- */

enum { STYLE, SCRIPT, ASSETS };
static const struct asset {
	const char *parts[2], *suffix, *type;
} assets[ASSETS] = {
	[STYLE] = { { html_report_style, site_style }, ".css", "text/css; charset=utf-8" },
	[SCRIPT] = { { "", site_script }, ".js", "text/javascript; charset=utf-8" },
};

#define ASSET_PATH_SIZE 48
/* With what is in it: another version is at another path. */
static void format_asset_path(const struct asset *a, char ret[ASSET_PATH_SIZE])
{
	snprintf(ret, ASSET_PATH_SIZE, "/assets/%016" PRIx64 "%s",
		 fnv_text(fnv_text(FNV_BEGIN, a->parts[0]), a->parts[1]), a->suffix);
}

int site_answer_asset(void *context UNUSED, const struct http_request *request,
		      struct http_answer *ret)
{
	for (const struct asset *a = assets; a < assets + ASSETS; a++) {
		char path[ASSET_PATH_SIZE];

		format_asset_path(a, path);
		if (strcmp(path, request->path) != 0)
			continue;
		if (asprintf(&ret->text, "%s%s", a->parts[0], a->parts[1]) < 0) {
			ret->text = NULL;
			return -ENOMEM;
		}
		ret->length = strlen(ret->text);
		ret->type = a->type;
		ret->is_lasting = true;
		return 0;
	}
	return http_fail(ret, 404, "there is nothing at this path");
}

/* ---- addresses ---- */

/* As a part of a path or of a query. */
static void put_encoded(const char *text, FILE *out)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (; *text; text++)
		fprintf(out, strchr(plain, *text) ? "%c" : "%%%02X", (unsigned char)*text);
}

struct address address_begin(struct html *h, const char *attribute, const char *path)
{
	html_begin_attribute(h, attribute);
	fputs(path, h->out);
	return (struct address){ h, h->out, "&amp;", false };
}

struct address site_begin_link(struct html *h, const char *path)
{
	html_begin(h, "a");
	return address_begin(h, "href", path);
}

void site_end_link(struct address *a, const char *text)
{
	address_end(a);
	html_text(a->h, "%s", text);
	html_end(a->h);
}

void address_add(struct address *a, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	fputs(a->has_query ? a->between : "?", a->out);
	a->has_query = true;
	put_encoded(key, a->out);
	fputc('=', a->out);
	put_encoded(value, a->out);
}

void address_add_moment(struct address *a, const char *key, uint64_t ns)
{
	char text[TIMESTAMP_SIZE];

	address_add(a, key, timestamp_format(text, ns));
}

void address_add_filter(struct address *a, const struct site_call *c, const char *const *without)
{
	const struct api_parameter *p;

	for (size_t i = 0; (p = api_parameter(c->api.route, i)); i++) {
		bool is_left_out = strcmp(p->name, "after") == 0;

		for (const char *const *one = without; one && *one; one++)
			is_left_out |= strcmp(p->name, *one) == 0;
		if (!is_left_out)
			address_add(a, p->name, c->api.values[i]);
	}
}

void address_end(struct address *a)
{
	html_end_attribute(a->h);
}

static int add_field(void *context, const char *key, const char *value)
{
	address_add(context, key, value);
	return 0;
}

void address_print_request(const struct http_request *request, FILE *out)
{
	/* between its slashes, which are none of a part */
	for (const char *at = request->path; *at;) {
		_cleanup_free_ char *part = strndup(at, strcspn(at, "/"));

		put_encoded(part ? part : "", out);
		at += strcspn(at, "/");
		if (*at)
			fputc(*at++, out);
	}
	(void)http_each_query(request, add_field, &(struct address){ NULL, out, "&", false });
}

/* ---- cells ---- */

void site_begin_cell(struct html *h, const char *label, const char *class)
{
	html_begin_tag(h, "td", { "class", class }, { "data-label", label });
}

void site_put_cell(struct html *h, const char *label, const char *class, const char *text)
{
	site_begin_cell(h, label, class);
	html_text(h, "%s", text);
	html_end(h);
}

void site_begin_table(struct html *h, const struct site_head *heads)
{
	html_begin_class(h, "table", "list");
	html_raw(h, "<thead><tr>");
	for (; heads->text; heads++) {
		html_begin_tag(h, "th", { "scope", "col" }, { "class", heads->class });
		html_text(h, "%s", heads->text);
		html_end(h);
	}
	html_raw(h, "</tr></thead>");
	html_begin(h, "tbody");
}

void site_end_table(struct html *h)
{
	html_end(h);
	html_end(h);
}

void site_put_share(struct html *h, bool is_known, double share)
{
	if (!is_known)
		return html_text(h, "-");
	/* hidden from what reads aloud: the number says it */
	html_begin_tag(h, "meter", { "low", "0.3" }, { "high", "0.6" }, { "optimum", "1" },
		       { "aria-hidden", "true" });
	html_attribute(h, "value", "%.3f", share > 1 ? 1 : share);
	html_end(h);
	html_element(h, "span", "percent", "%s", humanize_percent(share).text);
}

void site_put_hours(struct html *h, double seconds)
{
	double hours = seconds / 3600;

	if (seconds < 0)
		html_text(h, "-");
	else
		html_text(h, hours < 10 ? "%.1f" : "%.0f", hours);
}

void site_put_moment(struct html *h, uint64_t ns)
{
	char text[TIMESTAMP_SIZE];
	const bool is_recent = clock_now_ns(CLOCK_REALTIME) < ns + RECENT_NS;

	if (!ns)
		return html_text(h, "-");
	timestamp_format(text, ns - ns % 1000000000);
	html_begin(h, "time");
	html_attribute(h, "datetime", "%.19sZ", text);
	/* the year goes without saying while no other could be meant */
	html_text(h, "%.*s %.5s", is_recent ? 5 : 10, text + (is_recent ? 5 : 0), text + 11);
	html_end(h);
}

void site_put_age(struct html *h, uint64_t ns)
{
	static const struct {
		const char *name;
		uint64_t seconds, least; /* least: shorter ones are in the unit below */
	} units[] = { { "days", 86400, 172800 }, { "h", 3600, 7200 }, { "min", 60, 120 } };
	const uint64_t seconds = ns / 1000000000;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (seconds >= units[i].least)
			return html_element(h, "span", "name", "%llu %s ago",
					    (unsigned long long)(seconds / units[i].seconds),
					    units[i].name);
	}
	html_element(h, "span", "name", "%llu s ago", (unsigned long long)seconds);
}

void site_put_job_link(struct html *h, const struct store_job *job, const char *text)
{
	struct address address = site_begin_link(h, "/jobs/");

	put_encoded(job->id ? job->id : "", h->out);
	address_add(&address, "manager", job->manager);
	address_add(&address, "cluster", job->cluster);
	address_add_moment(&address, "start", job->start_ns);
	site_end_link(&address, text);
}

void site_put_job_head(struct html *h, const struct store_job *job)
{
	html_begin_tag(h, "th", { "scope", "row" }, { "title", job->name });
	site_put_job_link(h, job, job->id);
	html_element(h, "span", "name", "%s", job->name ? job->name : "");
	html_end(h);
}

void site_put_reason(struct html *h, const struct store_job *job)
{
	char words[64] = "";

	if (job->reason)
		snprintf(words, sizeof(words), "%s", job->reason);
	for (char *at = words; *at; at++)
		*at = *at == '-' ? ' ' : *at;
	html_text(h, "%s", *words ? words : job->is_final ? "nothing" : "");
}

/* ---- head, navigation and foot of a page ---- */

static void put_head(const struct site_document *document, struct html *h)
{
	char style[ASSET_PATH_SIZE], script[ASSET_PATH_SIZE];

	format_asset_path(&assets[STYLE], style);
	format_asset_path(&assets[SCRIPT], script);
	html_begin(h, "head");
	html_raw(h, "<meta charset=\"utf-8\"/><meta name=\"viewport\" "
		    "content=\"width=device-width, initial-scale=1\"/>"
		    "<meta name=\"color-scheme\" content=\"light dark\"/>");
	if (document->is_again)
		html_raw(h, "<meta http-equiv=\"refresh\" content=\"0\"/>");
	html_element(h, "title", NULL, "%s - jobmeter", document->title);
	html_begin_tag(h, "link", { "rel", "icon" }, { "href", ICON });
	html_end(h);
	html_begin_tag(h, "link", { "rel", "stylesheet" }, { "href", style });
	html_end(h);
	html_begin_tag(h, "script", { "defer", "defer" }, { "src", script });
	html_end(h);
	html_end(h);
}

void site_put_link(struct html *h, const char *path, const char *text, bool is_current)
{
	html_begin_tag(h, "a", { "href", path }, { "aria-current", is_current ? "page" : NULL });
	html_text(h, "%s", text);
	html_end(h);
}

static bool may_open(const struct site_page *page, const struct caller *caller, bool sees_others)
{
	return (!page->is_of_all || sees_others) && (!page->is_of_operators || caller->sees_all);
}

static void put_navigation(struct server *s, const struct site_document *document, struct html *h)
{
	const struct caller *caller = document->caller;
	const struct store_who who = caller ? caller_who(caller) : (struct store_who){};
	const bool sees_others = caller && store_sees_others(s->store, &who);

	html_begin_class(h, "div", "site");
	html_raw(h, "<a class=\"skip\" href=\"#content\">Skip to the content</a>"
		    "<nav aria-label=\"Pages\"><strong>jobmeter</strong>");
	for (size_t i = 0; caller && i < ARRAY_SIZE(pages); i++) {
		if (pages[i]->title && may_open(pages[i], caller, sees_others))
			site_put_link(h, pages[i]->path, pages[i]->title,
				      document->path &&
					      strcmp(document->path, pages[i]->path) == 0);
	}
	html_raw(h, "</nav>");
	if (caller) {
		html_begin_class(h, "div", "who");
		html_text(h, "%s%s ", caller->user, caller->sees_all ? ", operator" : "");
		sign_in_put_end(s, document->request, h);
		html_end(h);
	}
	html_end(h);
}

int site_put_document(struct server *s, const struct site_document *document,
		      struct http_answer *ret)
{
	FILE *out = open_memstream(&ret->text, &ret->length);
	struct html h = { .out = out };
	int r;

	if (!out)
		return -ENOMEM;
	fputs("<!DOCTYPE html>\n", out);
	html_begin(&h, "html");
	html_attribute(&h, "lang", "en");
	put_head(document, &h);
	html_begin(&h, "body");
	put_navigation(s, document, &h);
	html_begin(&h, "main");
	html_attribute(&h, "id", "content");
	r = document->put(document->context, &h);
	if (r >= 0) {
		html_end(&h);
		html_end(&h);
		html_end(&h);
	}
	if (fclose(out) != 0 && r >= 0)
		r = -ENOMEM;
	ret->type = HTML_TYPE;
	ret->policy = POLICY;
	if (r < 0) {
		free(ret->text);
		ret->text = NULL;
	}
	return r;
}

/* ---- which page ---- */

static int put_failure(void *context, struct html *h)
{
	const struct error *err = context;

	html_element(h, "h1", NULL, "This cannot be shown");
	html_begin_tag(h, "p", { "role", "alert" });
	html_text(h, "%s", *err->text ? err->text : "something went wrong inside the server");
	html_end(h);
	site_put_link(h, "/jobs", "All jobs", false);
	return 0;
}

static const struct site_page *find_page(const char *path, const char **ret_id)
{
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		size_t length = strlen(pages[i]->path);

		if (pages[i]->path[length - 1] == '/' &&
		    strncmp(path, pages[i]->path, length) == 0 && path[length]) {
			*ret_id = path + length;
			return pages[i];
		}
		if (strcmp(path, pages[i]->path) == 0)
			return pages[i];
	}
	return NULL;
}

struct putting {
	struct site_call *call;
	const struct site_page *page;
	struct error *err;
};

static int put_page(void *context, struct html *h)
{
	struct putting *p = context;

	p->call->h = h;
	return p->page->put(p->call, p->err);
}

int site_answer(void *context, const struct http_request *request, struct http_answer *ret)
{
	struct server *s = context;
	const struct caller *caller = request->caller;
	struct site_call call = { .caller = caller, .api = { .server = s, .request = request } };
	struct error err = {};
	struct putting putting = { &call, find_page(request->path, &call.api.id), &err };
	struct site_document document = { .title = "jobmeter",
					  .path = putting.page ? putting.page->path : NULL,
					  .caller = caller,
					  .request = request,
					  .put = put_page,
					  .context = &putting };
	int r = 0;

	if (strcmp(request->path, "/") == 0 || (caller && strcmp(request->path, "/login") == 0))
		return sign_in_send_to("/jobs", ret);
	if (!caller)
		return sign_in_ask(s, request, ret);
	if (caller->sees_all)
		caller_audit(s, caller, request, "seen as operator");
	if (!putting.page || !utf8_is_valid(request->path))
		r = error_set(&err, -ENOENT, "there is no such page");
	if (r == 0) {
		call.api.who = caller_who(caller);
		call.sees_others = store_sees_others(s->store, &call.api.who);
		if (!may_open(putting.page, caller, call.sees_others))
			r = error_set(&err, -ENOENT, "there is no such page");
	}
	if (r == 0) {
		call.api.route = &putting.page->route;
		document.title = putting.page->title ? putting.page->title : call.api.id;
		r = api_take_values(&call.api, &err);
	}
	if (r == 0)
		r = site_put_document(s, &document, ret);
	free(call.api.next_page);
	if (r >= 0)
		return 0;
	document.title = "This cannot be shown";
	document.put = put_failure;
	document.context = &err;
	ret->status = api_status(r);
	return site_put_document(s, &document, ret);
}
