/* SPDX-License-Identifier: MIT */
#include "server/api/api.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/csv.h"
#include "basic/error.h"
#include "basic/fnv.h"
#include "basic/guess.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "basic/timestamp.h"
#include "basic/utf8.h"
#include "model/document.h"
#include "model/job_filter.h"
#include "server/api/caller.h"
#include "server/server.h"

#define NS_PER_MS UINT64_C(1000000)
#define RETRY_AFTER_S 5
#define SUFFIX_MAX 8
#define KEPT 32 /* answers */
#define KEPT_LONG_NS UINT64_C(20000000) /* of CPU time: what took less is made anew */
#define KEPT_MOST_NS UINT64_C(10000000000)
#define KEPT_TEXT_MAX ((size_t)256 << 10)
#define WORDS_MAX (STORE_COLUMNS_MAX + 1)

static const struct {
	const char *name, *suffix, *type;
} formats[] = {
	[API_JSON] = { "json", ".json", "application/json" },
	[API_CSV] = { "csv", ".csv", "text/csv; charset=utf-8; header=present" },
	[API_YAML] = { "yaml", ".yaml", "application/yaml" },
	[API_NDJSON] = { "ndjson", ".ndjson", "application/x-ndjson" },
	[API_TXT] = { "txt", ".txt", "text/plain; charset=utf-8" },
	[API_MARKDOWN] = { "md", ".md", "text/markdown; charset=utf-8" },
	[API_HTML] = { "html", ".html", "text/html; charset=utf-8" },
};

const char *api_format_name(enum api_format format, const char **ret_type)
{
	if ((size_t)format >= ARRAY_SIZE(formats))
		return NULL;
	*ret_type = formats[format].type;
	return formats[format].name;
}

/* ---- the routes ---- */

#define API_SUMS \
	"jobs,elapsed_seconds,core_seconds,cpu.user_seconds,cpu.system_seconds,energy.joules,io.read.bytes,io.write.bytes,first_start,last_seen"

/* clang-format off */
const struct api_route server_api_routes[] = {
	{ "/jobs", "Jobs, the newest first, page by page.", API_LISTS, "jobs", api_job_columns,
	  "manager,id,name,user,account,partition,state,start,end,elapsed_seconds,nodes,cpu.user_seconds,cpu.system_seconds,memory.peak_bytes,io.read.bytes,io.write.bytes,energy.joules,reason",
	  api_list_jobs, .parameters = { api_filter_parameters, api_page_parameters } },
	{ "/jobs/{id}", "All that is known of the newest job of that id, its nodes merged; as a report, too.", API_REPORTS,
	  .answer = api_put_job, .parameters = { api_job_parameters } },
	{ "/jobs/{id}/timeline", "What it did over time: a value for each interval.", IN(API_JSON) | IN(API_CSV),
	  .answer = api_put_part, .parameters = { api_job_parameters } },
	{ "/jobs/{id}/nodes", "What it did on each node.", API_LISTS, "nodes", api_node_of_job_columns,
	  .answer = api_list_nodes_of_job, .parameters = { api_job_parameters } },
	{ "/jobs/{id}/steps", "Its steps.", IN(API_JSON), .answer = api_put_part, .parameters = { api_job_parameters } },
	{ "/jobs/{id}/mounts", "What it read and wrote on each mount.", IN(API_JSON) | IN(API_CSV),
	  .answer = api_put_part, .parameters = { api_job_parameters } },
	{ "/jobs/{id}/insights", "What stands out, with its numbers, and what to do about it.", IN(API_JSON),
	  .answer = api_put_part, .parameters = { api_job_parameters } },
	{ "/jobs/{id}/energy", "Its energy.", IN(API_JSON), .answer = api_put_part, .parameters = { api_job_parameters } },
	{ "/jobs/{id}/records", "Its records as its nodes sent them, one a line.", IN(API_NDJSON),
	  .answer = api_put_records, .parameters = { api_job_parameters } },
	{ "/compare", "What is different in one job from what it was in another, number by number.", API_DOCUMENTS,
	  .answer = api_put_comparison, .parameters = { api_compare_parameters } },
	{ "/users", "The users of the jobs that match, those with most jobs first, with sums.", API_LISTS, "users", .by = "user", .fields = "user," API_SUMS,
	  .answer = api_list_sums, .is_kept = true, .parameters = { api_filter_parameters, api_sum_parameters } },
	{ "/accounts", "The same of accounts.", API_LISTS, "accounts", .by = "account", .fields = "account," API_SUMS,
	  .answer = api_list_sums, .is_kept = true, .parameters = { api_filter_parameters, api_sum_parameters } },
	{ "/partitions", "The same of partitions.", API_LISTS, "partitions", .by = "partition", .fields = "partition," API_SUMS,
	  .answer = api_list_sums, .is_kept = true, .parameters = { api_filter_parameters, api_sum_parameters } },
	{ "/usage", "What jobs used and wasted, by user, account or partition, and by day, week or month.", API_LISTS, "usage", store_usage_columns,
	  .answer = api_list_usage, .is_kept = true, .parameters = { api_usage_parameters, api_sum_parameters } },
	{ "/emissions", "What jobs emitted and cost, by the ledger and the site's factors.", API_DOCUMENTS,
	  .answer = api_put_emissions, .parameters = { api_filter_parameters, api_emission_parameters } },
	{ "/nodes", "The nodes on which jobs ran.", API_LISTS, "nodes", store_node_columns,
	  .answer = api_list_nodes, .is_kept = true, .parameters = { api_span_parameters, api_sum_parameters } },
	{ "/metrics", "The columns of jobs, and what they mean.", API_LISTS, "metrics", api_metric_columns,
	  .answer = api_list_metrics },
	{ "/predict", "What a job will take, from the caller's last like jobs, before it is submitted.", IN(API_JSON),
	  .answer = api_put_prediction, .is_post = true },
	{ "/predictions", "The same, kept with the job's id to be scored at its end.", IN(API_JSON),
	  .answer = api_keep_prediction, .is_post = true },
	{ "/predictions", "The caller's predictions that were kept, with what came of the jobs.", IN(API_JSON),
	  .answer = api_list_predictions },
	{ "/recommend/schedule", "The same as /predict, with the start that emits the least within slack_seconds (a day).", IN(API_JSON),
	  .answer = api_put_schedule, .is_post = true },
	{ "/schedule/recommend", "The same.", IN(API_JSON), .answer = api_put_schedule, .is_post = true },
	{ "/forecast", "The forecast of the emission factor: FROM UNTIL GRAMS_PER_KWH a line, times in seconds since the epoch.", IN(API_TXT),
	  .answer = api_put_forecast },
	{ "/model", "The model that answers for each target, and how good it was in the newest jobs of its training.", IN(API_JSON),
	  .answer = api_put_models },
	{ "/model/info", "The same.", IN(API_JSON), .answer = api_put_models },
	{ "/health", "Whether the server takes and shows records now.", IN(API_JSON), .answer = api_put_health, .is_open = true },
	{ "/openapi.json", "This description.", IN(API_JSON), .answer = api_put_openapi, .is_open = true },
	{},
};
/* clang-format on */

const struct api_parameter *api_parameter(const struct api_route *route, size_t i)
{
	for (size_t group = 0; group < API_GROUPS_MAX && route->parameters[group]; group++) {
		for (const struct api_parameter *p = route->parameters[group]; p->name; p++) {
			if (i-- == 0)
				return p;
		}
	}
	return NULL;
}

/* "/jobs/{id}/nodes" is "/jobs/17/nodes"; *ret_id is a copy. */
static bool is_path(const char *pattern, const char *path, char **ret_id)
{
	size_t before = strcspn(pattern, "{"), length = strlen(path);
	const char *behind = strchr(pattern, '}');

	if (!behind)
		return strcmp(pattern, path) == 0;
	behind++;
	if (length <= before + strlen(behind) || strncmp(pattern, path, before) != 0 ||
	    strcmp(path + length - strlen(behind), behind) != 0)
		return false;
	length -= before + strlen(behind);
	if (memchr(path + before, '/', length))
		return false;
	*ret_id = strndup(path + before, length);
	return *ret_id;
}

static const struct api_route *find_route(bool is_post, const char *path, char **ret_id)
{
	for (const struct api_route *route = server_api_routes; route->path; route++) {
		if (route->is_post == is_post && is_path(route->path, path, ret_id))
			return route;
	}
	return NULL;
}

/* ---- parameters ---- */

static bool parse_moment(const char *text, uint64_t *ret)
{
	uint64_t ms;

	if (timestamp_parse(text, ret) == 0)
		return true;
	if (parse_u64(text, &ms) < 0 || ms > INT64_MAX / NS_PER_MS)
		return false;
	*ret = ms * NS_PER_MS;
	return true;
}

static int refuse_word(const struct api_parameter *p, const char *word, struct error *err)
{
	const char *words[WORDS_MAX];
	size_t count = 0;
	const char *guess;

	while (count < WORDS_MAX && (words[count] = p->word(count)))
		count++;
	guess = guess_nearest(word, words, count, sizeof(*words));
	return error_set(err, -EINVAL, "%s: there is no '%.64s'%s%s%s", p->name, word,
			 guess ? "; did you mean '" : "", guess ? guess : "", guess ? "'?" : "");
}

static bool is_word(const struct api_parameter *p, const char *word, size_t *ret)
{
	const char *known;

	for (size_t i = 0; (known = p->word(i)); i++) {
		if (strcmp(known, word) == 0) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static int check_words(const struct api_parameter *p, const char *text, struct error *err)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *word;
	size_t count = 0, unused;

	if (!copy)
		return -ENOMEM;
	while ((word = p->type == API_WORDS ? strsep(&rest, ",") : TAKE_PTR(rest))) {
		if (!is_word(p, word, &unused))
			return refuse_word(p, word, err);
		if (++count > STORE_COLUMNS_MAX)
			return error_set(err, -EINVAL, "%s: these are too many", p->name);
	}
	return 0;
}

static int check_value(const struct api_parameter *p, const char *text, struct error *err)
{
	uint64_t number = 0;

	if (strlen(text) > (p->type == API_STRING && p->most ? p->most : API_TEXT_MAX) &&
	    p->type != API_WORDS)
		return error_set(err, -EINVAL, "%s: this is too long", p->name);
	if (!utf8_is_valid(text))
		return error_set(err, -EINVAL, "%s: this is no UTF-8", p->name);
	if (!*text || p->type == API_STRING)
		return 0;
	if (p->type == API_MOMENT)
		return parse_moment(text, &number)
			       ? 0
			       : error_set(err, -EINVAL,
					   "%s: '%.64s' is no time such as 2026-02-03T04:05:06Z",
					   p->name, text);
	if (p->type != API_NUMBER)
		return check_words(p, text, err);
	if (parse_u64(text, &number) < 0 || number < p->least || number > p->most)
		return error_set(err, -EINVAL, "%s: '%.64s' is no number from %llu to %llu",
				 p->name, text, (unsigned long long)p->least,
				 (unsigned long long)p->most);
	return 0;
}

struct taking {
	struct api_call *call;
	struct error *err;
};

static int take_format(struct api_call *c, const char *text, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(formats[i].name, text) != 0 || !(c->route->formats >> i & 1))
			continue;
		c->format = (enum api_format)i;
		return 0;
	}
	return *text ? error_set(err, -EINVAL, "format: this has no '%.64s'", text) : 0;
}

static int take_value(void *context, const char *key, const char *text)
{
	struct taking *t = context;
	const struct api_parameter *p;
	const char *names[API_VALUES_MAX], *guess;
	size_t i = 0;
	int r;

	if (!*key && !*text) /* "?a=1&" */
		return 0;
	if (strcmp(key, "format") == 0)
		return take_format(t->call, text, t->err);
	for (; (p = api_parameter(t->call->route, i)); i++) {
		assert(i < API_VALUES_MAX);
		if (strcmp((names[i] = p->name), key) != 0)
			continue;
		if (t->call->values[i])
			return error_set(t->err, -EINVAL, "%s: it is given twice", key);
		r = check_value(p, text, t->err);
		t->call->values[i] = text;
		return r;
	}
	guess = guess_nearest(key, names, i, sizeof(*names));
	return error_set(t->err, -EINVAL, "there is no parameter '%.64s' here%s%s%s", key,
			 guess ? "; did you mean '" : "", guess ? guess : "", guess ? "'?" : "");
}

const char *api_text(const struct api_call *c, const char *name)
{
	const struct api_parameter *p;

	for (size_t i = 0; (p = api_parameter(c->route, i)); i++) {
		if (strcmp(p->name, name) == 0)
			return c->values[i] && *c->values[i] ? c->values[i] : NULL;
	}
	return NULL;
}

uint64_t api_number(const struct api_call *c, const char *name, uint64_t standard)
{
	const char *text = api_text(c, name);
	uint64_t number;

	return text && parse_u64(text, &number) == 0 ? number : standard;
}

uint64_t api_moment(const struct api_call *c, const char *name)
{
	const char *text = api_text(c, name);
	uint64_t ns = 0;

	return text && parse_moment(text, &ns) ? MAX(ns, UINT64_C(1)) : 0; /* 1970 is one, too */
}

int api_take_values(struct api_call *c, struct error *err)
{
	int r = http_each_query(c->request, take_value, &(struct taking){ c, err });
	const struct api_parameter *p;

	for (size_t i = 0; r == 0 && (p = api_parameter(c->route, i)); i++) {
		if (p->is_required && !api_text(c, p->name))
			r = error_set(err, -EINVAL, "%s: this is wanted", p->name);
	}
	return r;
}

size_t api_columns(const struct api_route *route, struct store_column ret[STORE_COLUMNS_MAX])
{
	if (route->by)
		return store_sum_columns(route->by, ret);
	return route->columns ? route->columns(ret) : 0;
}

/* Which columns are shown: those that are asked for, which have been checked. */
static void choose_columns(struct api_call *c)
{
	const char *rest = api_text(c, "fields");
	struct store_column columns[STORE_COLUMNS_MAX];
	size_t count = api_columns(c->route, columns);
	bool is_all = !(rest = rest ? rest : c->route->fields) || strcmp(rest, "all") == 0;

	for (size_t i = 0; is_all && i < count; i++) {
		c->columns[c->column_count++] = i;
		c->has_column[i] = true;
	}
	while (!is_all && rest) {
		size_t length = strcspn(rest, ",");

		for (size_t i = 0; i < count; i++) {
			if (strlen(columns[i].name) != length ||
			    strncmp(columns[i].name, rest, length) != 0 || c->has_column[i])
				continue;
			c->columns[c->column_count++] = i;
			c->has_column[i] = true;
		}
		rest = rest[length] ? rest + length + 1 : NULL;
	}
}

/* ---- answers ---- */

unsigned int api_status(int code)
{
	return code == -EINVAL || code == -ENOTSUP ? 400
	       : code == -EPERM			   ? 403
	       : code == -ENOENT		   ? 404
						   : 503;
}

static int fail(int code, const struct error *err, struct http_answer *ret)
{
	unsigned int status = api_status(code);
	int r = http_fail(ret, status, "%s", *err->text ? err->text : "this went wrong inside");

	if (status == 503)
		ret->retry_after_s = RETRY_AFTER_S;
	return r;
}

static void put_head(const struct api_call *c)
{
	struct store_column columns[STORE_COLUMNS_MAX];

	(void)api_columns(c->route, columns);
	for (size_t i = 0; i < c->column_count; i++) {
		fputs(i ? "," : "", c->out);
		csv_put(columns[c->columns[i]].name, c->out);
	}
	fputc('\n', c->out);
}

static struct document *new_document(const struct api_call *c)
{
	if (c->format == API_JSON)
		return document_new_json(c->out, DOCUMENT_ONE_LINE);
	if (c->format == API_YAML)
		return document_new_yaml(c->out);
	return c->format == API_CSV && c->route->list ? document_new_csv(c->out, c->route->list)
						      : NULL;
}

static int run(struct api_call *c, struct error *err)
{
	_cleanup_(document_freep) struct document *d = c->document = new_document(c);
	int r;

	if (!d)
		return c->route->answer(c, err);
	if (c->format == API_CSV)
		put_head(c);
	if (c->route->list)
		document_begin_map(d);
	r = c->route->answer(c, err);
	if (c->route->list)
		document_end_map(d);
	if (c->answer->next)
		return r;
	return document_finish(d) < 0 && r >= 0 ? -ENOMEM : r;
}

/* What a caller has already of a job is not sent again.  Who asks is a part of the tag: the same
 * text has another one for anybody else. */
static int tag_answer(const struct api_call *c, struct http_answer *ret)
{
	const char *known = http_header(c->request, "If-None-Match");
	uint64_t hash = fnv_bytes(FNV_BEGIN, ret->text, ret->length);

	hash = fnv_bytes(hash, c->who.user, strlen(c->who.user));
	if (asprintf(&ret->tag, "\"%s%u-%016" PRIx64 "\"", c->who.sees_all ? "all-" : "",
		     c->who.uid, hash) < 0) {
		ret->tag = NULL;
		return -ENOMEM;
	}
	if (!known || !strstr(known, ret->tag)) /* one of several, or weakened on the way: W/"..."
						 */
		return 0;
	ret->status = 304;
	free(ret->text);
	ret->text = NULL;
	ret->length = 0;
	return 0;
}

/* ---- answers that took long ---- */

/*
 * Dashboards ask for the same sums again and again, each of which reads a month of usage.  The key
 * is all that an answer depends on, the caller first: nobody gets the answer of another.  It holds
 * for ten times the CPU time that it took, so that the sums of a small site are never old.
 */
struct kept {
	pthread_mutex_t lock;
	struct {
		char *key, *text; /* NULL: none */
		uint64_t until_ns;
	} items[KEPT]; /* each in the place of its key's hash */
};

struct kept *api_kept_new(void)
{
	struct kept *k = calloc(1, sizeof(*k));

	if (k)
		pthread_mutex_init(&k->lock, NULL);
	return k;
}

void api_kept_free(struct kept *k)
{
	for (size_t i = 0; k && i < KEPT; i++) {
		free(k->items[i].key);
		free(k->items[i].text);
	}
	free(k);
}

static void print_value(const struct api_call *c, size_t i, FILE *out)
{
	const struct api_parameter *p = api_parameter(c->route, i);
	const char *text = c->values[i] ? c->values[i] : "";
	uint64_t ns = p->type == API_MOMENT ? api_moment(c, p->name) : 0;

	if (ns && p->least)
		fprintf(out, " %" PRIu64, ns / p->least);
	else if (ns && p->most)
		fprintf(out, " %" PRIu64, (ns - 1) / p->most);
	else
		fprintf(out, " %zu:%s", strlen(text), text);
}

/* NULL: it is not kept. */
static char *make_key(const struct api_call *c)
{
	char *key = NULL;
	size_t size;
	FILE *out = c->route->is_kept ? open_memstream(&key, &size) : NULL;

	if (!out)
		return NULL;
	fprintf(out, "%d %u %zu:%s %s %d", c->who.sees_all, c->who.uid, strlen(c->who.user),
		c->who.user, c->route->path, (int)c->format);
	for (size_t i = 0; api_parameter(c->route, i); i++)
		print_value(c, i, out);
	return fclose(out) == 0 ? key : NULL;
}

static size_t place_of_key(const char *key)
{
	return fnv_bytes(FNV_BEGIN, key, strlen(key)) % KEPT;
}

/* A copy; NULL: it has none that still holds. */
static char *copy_kept(struct kept *k, const char *key)
{
	const uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
	const size_t i = place_of_key(key);
	char *copy = NULL;

	pthread_mutex_lock(&k->lock);
	if (k->items[i].key && k->items[i].text && k->items[i].until_ns > now_ns &&
	    strcmp(k->items[i].key, key) == 0)
		copy = strdup(k->items[i].text);
	pthread_mutex_unlock(&k->lock);
	return copy;
}

/* In place of the answer whose key has the same hash. */
static void keep_answer(struct kept *k, const char *key, const char *text, uint64_t for_ns)
{
	const size_t i = place_of_key(key);

	pthread_mutex_lock(&k->lock);
	free(k->items[i].key);
	free(k->items[i].text);
	k->items[i].key = strdup(key);
	k->items[i].text = strdup(text);
	k->items[i].until_ns = clock_now_ns(CLOCK_MONOTONIC) + for_ns;
	pthread_mutex_unlock(&k->lock);
}

static int make_answer(struct api_call *c, struct http_answer *ret, struct error *err)
{
	uint64_t cpu_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
	_cleanup_free_ char *key = make_key(c);
	int r;

	ret->text = key ? copy_kept(c->server->kept, key) : NULL;
	ret->length = ret->text ? strlen(ret->text) : 0;
	if (ret->text)
		return 0;
	choose_columns(c);
	c->answer = ret;
	c->out = open_memstream(&ret->text, &ret->length);
	if (!c->out)
		return -ENOMEM;
	r = run(c, err);
	if (fclose(c->out) != 0 && r >= 0)
		r = -ENOMEM;
	cpu_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	if (key && r >= 0 && cpu_ns >= KEPT_LONG_NS && ret->length <= KEPT_TEXT_MAX)
		keep_answer(c->server->kept, key, ret->text, MIN(10 * cpu_ns, KEPT_MOST_NS));
	return r;
}

static int answer_call(struct api_call *c, struct http_answer *ret)
{
	struct error err = {};
	int r = api_take_values(c, &err);

	if (r < 0)
		return fail(r, &err, ret);
	r = make_answer(c, ret, &err);
	ret->next_page = c->next_page;
	if (ret->next) { /* nothing was written */
		free(ret->text);
		ret->text = NULL;
		return 0;
	}
	ret->type = formats[c->format].type;
	if (r >= 0)
		return c->id ? tag_answer(c, ret) : 0;
	ret->type = formats[API_JSON].type; /* of all failures */
	return fail(r, &err, ret);
}

/* Cut a suffix that names a format. */
static enum api_format cut_suffix(char *path)
{
	char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(formats); i++) {
		if (strcmp(formats[i].suffix, dot) != 0)
			continue;
		*dot = '\0';
		return (enum api_format)i;
	}
	return API_JSON;
}

int server_api_answer(void *context, const struct http_request *request, struct http_answer *ret)
{
	const size_t before = strncmp(request->path, API_PATH "/", strlen(API_PATH "/")) == 0
				      ? strlen(API_PATH)
				      : 0; /* of few routes */
	_cleanup_free_ char *path = strdup(request->path + before), *id = NULL;
	const struct caller *caller = request->caller;
	struct api_call call = { .server = context, .request = request };
	const bool is_post = strcmp(request->method, "POST") == 0;

	if (!path)
		return -ENOMEM;
	call.route = find_route(is_post, path, &id); /* "/openapi.json" is a path of its own */
	if (!call.route || id) {
		free(id);
		id = NULL;
		call.format = cut_suffix(path);
		call.route = find_route(is_post, path, &id);
	}
	if (call.route && call.format == API_JSON) /* of one that has no JSON */
		call.format = (enum api_format)__builtin_ctz(call.route->formats);
	if (!caller && !(call.route && call.route->is_open)) {
		caller_audit(context, NULL, request, "denied: no token");
		return http_fail(ret, 401, "this needs a token: Authorization: Bearer TOKEN");
	}
	if (!call.route || !(call.route->formats >> call.format & 1) || !utf8_is_valid(path))
		return http_fail(ret, 404, "there is nothing at this path");
	if (caller && caller->sees_all)
		caller_audit(context, caller, request, "seen as operator");
	if (caller)
		call.who = caller_who(caller);
	call.id = id;
	return answer_call(&call, ret);
}
