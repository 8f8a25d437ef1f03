/* SPDX-License-Identifier: MIT */
#include "server/factors.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "basic/cleanup.h"
#include "basic/decimal.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/libcurl.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "basic/replacement.h"
#include "basic/timestamp.h"
#include "basic/transfer.h"
#include "model/json_place.h"
#include "server/server_config.h"
#include "service/log.h"
#include "service/privileges.h"
#include "service/syscall_filter.h"
#include "service/token.h"

#define NS UINT64_C(1000000000)
#define DAY_S 86400
#define MINUTE_S 60
#define FAILED_S (15 * MINUTE_S)
#define FORECAST_S (6 * 60 * MINUTE_S) /* between two forecasts */
#define WAIT_MAX_S DAY_S
#define FILE_MAX (15u << 20) /* emission_factors_read() takes little more */
#define SHORTEN_AT (FILE_MAX / 2)
#define ADVICE_S ((time_t)60 * DAY_S) /* how long what no account uses is kept */
#define ROWS_MAX 2000 /* of an answer */
#define PATIENCE_S 30L

enum key { KEY_NONE, KEY_TOKEN, KEY_LOGIN };

/* The request, and where its answer holds the values: keys are paths, such as "intensity.actual".
 */
struct question {
	const char *path; /* {zone}, {from} (a day ago), {until} (now) */
	const char *list, *time, *value;
};

static const struct provider {
	const char *url;
	enum emission_kind kind;
	struct question past, forecast; /* no path: it has none */
	unsigned int minutes; /* validity of a value, and interval between requests */
	double grams; /* per kWh, of its unit */
	enum key key;
} providers[] = {
	/* clang-format off */
	[1] = { "https://odre.opendatasoft.com", EMISSION_AVERAGE_DIRECT,
		{ "/api/explore/v2.1/catalog/datasets/eco2mix-national-tr/records?select=taux_co2,date_heure"
		  "&order_by=date_heure%20desc&limit=100&timezone=UTC"
		  "&where=date_heure%20%3E%3D%20date%27{from}%27%20and%20taux_co2%20is%20not%20null",
		  "results", "date_heure", "taux_co2" }, {}, 15, 1, KEY_NONE },
	[2] = { "https://api.carbonintensity.org.uk", EMISSION_AVERAGE_DIRECT,
		{ "/intensity/{from}/{until}", "data", "from", "intensity.actual" },
		{ "/intensity/{until}/fw48h", "data", "from", "intensity.forecast" }, 30, 1, KEY_NONE },
	[3] = { "https://api.electricitymap.org", EMISSION_AVERAGE_LIFECYCLE,
		{ "/v3/carbon-intensity/history?zone={zone}", "history", "datetime", "carbonIntensity" },
		{ "/v3/carbon-intensity/forecast?zone={zone}", "forecast", "datetime", "carbonIntensity" },
		60, 1, KEY_TOKEN },
	[4] = { "https://api.watttime.org", EMISSION_MARGINAL,
		{ "/v3/historical?region={zone}&signal_type=co2_moer&start={from}&end={until}",
		  "data", "point_time", "value" },
		{ "/v3/forecast?region={zone}&signal_type=co2_moer&horizon_hours=48",
		  "data", "point_time", "value" }, 5, 0.45359237, KEY_LOGIN },
	/* clang-format on */
};
const char *const factors_providers[] = { "none",     "rte", "neso", "electricity_maps",
					  "watttime", NULL };

enum emission_kind factors_kind(unsigned int provider)
{
	return providers[provider].kind;
}

bool factors_wants_key(unsigned int provider)
{
	return providers[provider].key != KEY_NONE;
}

struct fetcher {
	const struct server_config *config;
	const struct provider *provider;
	const char *name;
	struct emission_factors known;
	struct libcurl curl;
	CURL *handle;
	char key[TOKEN_SIZE];
	unsigned int wait_s; /* that the provider asks for; 0: nothing */
	time_t forecast_at; /* time of the next request */
	bool lacks_forecast; /* which has been said */
	struct transfer_answer answer; /* its text alone */
};

/* ---- asking ---- */

/* @header: "" for none; @login: "USER:PASSWORD" or NULL.  The answer is the caller's. */
static int ask(struct fetcher *f, const char *path, char *header, const char *login, json_t **ret,
	       struct error *err)
{
	const char *base = *f->config->emission_url ? f->config->emission_url : f->provider->url;
	struct curl_slist headers = { .data = header };
	char url[2048], why[CURL_ERROR_SIZE] = "";
	curl_off_t after = 0;
	long status = 0;
	CURLcode code;

	snprintf(url, sizeof(url), "%s%s", base, path);
	f->answer.length = 0;
	f->curl.set(f->handle, CURLOPT_URL, url);
	f->curl.set(f->handle, CURLOPT_HTTPHEADER, *header ? &headers : NULL);
	f->curl.set(f->handle, CURLOPT_USERPWD, login);
	f->curl.set(f->handle, CURLOPT_USERAGENT, "jobmeter/" JOBMETER_VERSION);
	f->curl.set(f->handle, CURLOPT_WRITEFUNCTION, transfer_take_text);
	f->curl.set(f->handle, CURLOPT_WRITEDATA, &f->answer);
	f->curl.set(f->handle, CURLOPT_ERRORBUFFER, why);
	f->curl.set(f->handle, CURLOPT_NOSIGNAL, 1L);
	f->curl.set(f->handle, CURLOPT_TIMEOUT, PATIENCE_S);
	code = f->curl.perform(f->handle);
	f->curl.set(f->handle, CURLOPT_ERRORBUFFER, NULL);
	f->curl.get(f->handle, CURLINFO_RESPONSE_CODE, &status);
	f->curl.get(f->handle, CURLINFO_RETRY_AFTER, &after);
	f->wait_s = (unsigned int)MIN(MAX(after, (curl_off_t)0), (curl_off_t)WAIT_MAX_S);
	if (code != CURLE_OK)
		return error_set(err, -EIO, "'%s' does not answer: %s", base,
				 *why ? why : f->curl.describe(code));
	if (status != 200)
		return error_set(err, -EPROTO, "'%s' answers with status %ld%s", base, status,
				 status == 401 || status == 403 ? " (emissions.provider_key_file)"
				 : status == 429		? " (its quota is used up)"
								: "");
	*ret = json_loadb(f->answer.text, f->answer.length, 0, NULL);
	return *ret ? 0 : error_set(err, -EPROTO, "'%s' answers with no JSON", base);
}

static char *make_path(const struct fetcher *f, const struct question *q)
{
	const char *zone = *f->config->emission_provider_zone ? f->config->emission_provider_zone
							      : f->config->emission_zone;
	time_t now = time(NULL), before = now - DAY_S;
	char from[32], until[32], *path = NULL;
	struct tm utc;
	size_t size;
	FILE *out = open_memstream(&path, &size);

	strftime(from, sizeof(from), "%Y-%m-%dT%H:%MZ", gmtime_r(&before, &utc));
	strftime(until, sizeof(until), "%Y-%m-%dT%H:%MZ", gmtime_r(&now, &utc));
	for (const char *p = q->path; out && *p; p++) {
		if (*p != '{') {
			fputc(*p, out);
			continue;
		}
		fputs(p[1] == 'z' ? zone : p[1] == 'f' ? from : until, out);
		p = strchr(p, '}');
	}
	return out && fclose(out) == 0 ? path : NULL;
}

static int ask_for(struct fetcher *f, const struct question *q, json_t **ret, struct error *err)
{
	_cleanup_free_ char *path = make_path(f, q);
	_cleanup_(json_freep) json_t *login = NULL;
	char header[4096] = "";
	int r = path ? 0 : error_set_errno(err, ENOMEM, "cannot ask");

	if (r == 0 && f->provider->key == KEY_TOKEN)
		snprintf(header, sizeof(header), "auth-token: %s", f->key);
	if (r == 0 && f->provider->key == KEY_LOGIN)
		r = ask(f, "/login", header, f->key, &login, err);
	if (login)
		snprintf(header, sizeof(header), "Authorization: Bearer %s",
			 json_string_value(json_object_get(login, "token")) ?: "");
	return r < 0 ? r : ask(f, path, header, NULL, ret, err);
}

/* ---- what is answered ---- */

static const json_t *find_value(const json_t *map, const char *path)
{
	const char *dot = strchr(path, '.');

	if (!dot)
		return json_object_get(map, path);
	return json_object_get(json_object_getn(map, path, (size_t)(dot - path)), dot + 1);
}

/* "2026-02-03T04:05Z", with seconds or without, and "+00:00" for "Z". */
static int parse_time(const char *text, uint64_t *ret)
{
	const char *end = text && strlen(text) > 16 ? text + 16 + strspn(text + 16, ":.0123456789")
						    : "";
	char whole[TIMESTAMP_SIZE];

	if (strcmp(end, "Z") != 0 && strcmp(end, "+00:00") != 0)
		return -EINVAL;
	snprintf(whole, sizeof(whole), "%.16s:00Z", text);
	return timestamp_parse(whole, ret);
}

/* False: it is null, or none; or of a forecast, and not one of each half hour, which will do. */
static bool parse_row(const struct fetcher *f, const struct question *q, const json_t *row,
		      struct emission_factor *ret)
{
	const struct provider *p = f->provider;
	const bool is_forecast = q == &p->forecast;
	const uint64_t length_ns = MAX(p->minutes, is_forecast ? 30u : 0u) * MINUTE_S * NS;
	const json_t *value = find_value(row, q->value);

	*ret = (struct emission_factor){ .kind = is_forecast ? EMISSION_FORECAST : p->kind };
	snprintf(ret->zone, sizeof(ret->zone), "%s", f->config->emission_zone);
	if (!json_is_number(value) ||
	    parse_time(json_string_value(find_value(row, q->time)), &ret->from_ns) < 0 ||
	    decimal_from_double(json_number_value(value) * p->grams, 3, &ret->milligrams) < 0 ||
	    ret->milligrams > EMISSION_MILLIGRAMS_MAX ||
	    (is_forecast && ret->from_ns % length_ns != 0))
		return false;
	ret->until_ns = ret->from_ns + length_ns;
	return true;
}

static bool is_known(const struct fetcher *f, const struct emission_factor *one)
{
	const struct emission_factor *before = emission_factor_at(&f->known, one->zone, one->kind,
								  one->from_ns);

	return before && before->from_ns == one->from_ns && before->milligrams == one->milligrams;
}

static void put_row(const struct fetcher *f, const struct emission_factor *one, FILE *out)
{
	char from[TIMESTAMP_SIZE], until[TIMESTAMP_SIZE], grams[DECIMAL_SIZE];

	fprintf(out, "%s,%s,%s,%s,%s,%s\n", one->zone, emission_kinds[one->kind],
		timestamp_format(from, one->from_ns), timestamp_format(until, one->until_ns),
		decimal_format(grams, one->milligrams, 3), f->name);
}

/* One write() of all that is new, so that readers see whole lines. */
static int keep_rows(struct fetcher *f, const struct question *q, const json_t *root,
		     struct error *err)
{
	const char *path = f->config->emission_provider_file;
	const json_t *list = find_value(root, q->list);
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -EBADF;
	size_t size = 0;
	struct stat st;
	FILE *out;

	if (!json_is_array(list))
		return error_set(err, -EPROTO, "the answer has no list '%s'", q->list);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "cannot write '%s'", path);
	out = open_memstream(&text, &size);
	if (!out)
		return error_set_errno(err, ENOMEM, "cannot write '%s'", path);
	if (st.st_size == 0)
		fputs(EMISSION_HEAD ",source\n", out);
	for (size_t i = 0; i < MIN(json_array_size(list), (size_t)ROWS_MAX); i++) {
		struct emission_factor one;

		if (!parse_row(f, q, json_array_get(list, i), &one) || is_known(f, &one))
			continue;
		put_row(f, &one, out);
		if (emission_factors_add(&f->known, &one) < 0)
			break;
	}
	if (fclose(out) != 0 || st.st_size + (off_t)size > FILE_MAX)
		return error_set(err, -EFBIG,
				 "'%s' is full: a restart drops old advice, else move it away",
				 path);
	errno = ENOSPC;
	if (size && write(fd, text, size) != (ssize_t)size) {
		const int number = errno;

		(void)!ftruncate(fd, st.st_size); /* half a line would spoil the table */
		return error_set_errno(err, number, "cannot write '%s'", path);
	}
	return 0;
}

static bool is_of_use(const struct fetcher *f, const struct emission_factor *one)
{
	return one->kind < EMISSION_MARGINAL || one->kind == EMISSION_TARIFF ||
	       one->kind == (enum emission_kind)f->config->emission_kind ||
	       one->until_ns / NS > (uint64_t)(time(NULL) - ADVICE_S);
}

/* Drops the lines of old forecasts, and of old factors that are for advice.  All others stay as
 * they are, with the site's corrections and comments. */
static int shorten_file(struct fetcher *f, struct error *err)
{
	const char *path = f->config->emission_provider_file;
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ bool *is_dropped = NULL;
	struct replacement file = {};
	size_t size, line = 0, lines = 0;
	char *rest, *one;
	int r = file_read(AT_FDCWD, path, FILE_MAX + TRANSFER_ANSWER_MAX, &text, &size);

	if (r < 0)
		return error_set_errno(err, r, "cannot read '%s'", path);
	for (size_t i = 0; i < f->known.count; i++)
		lines = MAX(lines, f->known.items[i].line);
	is_dropped = calloc(lines + 1, sizeof(*is_dropped));
	if (!is_dropped)
		return error_set_errno(err, ENOMEM, "cannot shorten '%s'", path);
	for (size_t i = 0; i < f->known.count; i++) {
		if (!is_of_use(f, &f->known.items[i]))
			is_dropped[f->known.items[i].line] = true;
	}
	r = replacement_open(path, 0644, &file, err);
	if (r < 0)
		return r;
	for (rest = text; (one = parse_next_line(&rest));) {
		if (++line > lines || !is_dropped[line])
			fprintf(file.stream, "%s\n", one);
	}
	return replacement_commit(&file, err);
}

/* Here alone, before the filter of system calls, is a file renamed.  A long one will do until it is
 * full. */
static int read_known(struct fetcher *f, struct error *err)
{
	struct error why = {};
	struct stat st;
	int r;

	if (stat(f->config->emission_provider_file, &st) < 0)
		return 0; /* nothing yet */
	r = emission_factors_read(f->config->emission_provider_file, &f->known, err);
	if (r < 0 || st.st_size <= (off_t)SHORTEN_AT)
		return r;
	if (shorten_file(f, &why) < 0) {
		log_say(CONFIG_LOG_WARNING, "old advice stays: %s", why.text);
		return 0;
	}
	emission_factors_clear(&f->known);
	return emission_factors_read(f->config->emission_provider_file, &f->known, err);
}

/* ---- the process ---- */

static int fetch(struct fetcher *f, const struct question *q, struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	int r = ask_for(f, q, &root, err);

	return r < 0 ? r : keep_rows(f, q, root, err);
}

/* What a site may not ask for stops nothing: it is said once. */
static void fetch_forecast(struct fetcher *f)
{
	struct error err = {};
	int r;

	if (!f->provider->forecast.path || time(NULL) < f->forecast_at)
		return;
	f->forecast_at = time(NULL) + FORECAST_S;
	r = fetch(f, &f->provider->forecast, &err);
	if (r < 0)
		f->forecast_at = time(NULL) + MAX(f->wait_s, (unsigned int)FAILED_S);
	if (r < 0 && !f->lacks_forecast)
		log_say(CONFIG_LOG_WARNING, "no forecast of %s: %s", f->name, err.text);
	f->lacks_forecast = r < 0;
}

static _Noreturn void be_fetcher(struct fetcher *f, const struct service_user *user, int end_fd)
{
	const struct privileges_options no_rights = { .user = user };
	struct pollfd end = { end_fd, POLLIN, 0 };
	bool has_failed = false;
	struct error err = {};
	int r;

	privileges_close_others(end_fd, end_fd);
	prctl(PR_SET_NAME, "jobmeter-factor");
	privileges_ignore_signals();
	if (privileges_drop(&no_rights, NULL, &err) < 0)
		_exit(1);
	r = libcurl_load(&f->curl, &err);
	if (r == 0 && !(f->handle = f->curl.easy_init()))
		r = error_set(&err, -ENOMEM, "libcurl cannot begin");
	if (r == 0)
		r = read_known(f, &err);
	if (r == 0 && syscall_filter_apply(FILTER_SERVER, &err) == -EPERM)
		r = -EPERM;
	while (r == 0) {
		unsigned int wait_s = f->provider->minutes * MINUTE_S;

		if (fetch(f, &f->provider->past, &err) < 0) {
			if (!has_failed)
				log_say(CONFIG_LOG_WARNING, "emission factors of %s: %s", f->name,
					err.text);
			wait_s = MAX(f->wait_s, (unsigned int)FAILED_S);
			has_failed = true;
		} else if (has_failed) {
			log_say(CONFIG_LOG_INFO, "emission factors of %s come again", f->name);
			has_failed = false;
		}
		if (!has_failed)
			fetch_forecast(f);
		if (poll(&end, 1, (int)wait_s * 1000) != 0)
			_exit(0);
	}
	log_say(CONFIG_LOG_ERROR, "no emission factors are fetched: %s", err.text);
	_exit(1);
}

int factors_start(const struct server_config *config, const struct service_user *user, int *ret_fd,
		  struct error *err)
{
	_cleanup_free_ struct fetcher *f = calloc(1, sizeof(*f));
	int ends[2] = { -EBADF, -EBADF }, r = 0;
	pid_t pid = -1;

	if (!f)
		return error_set_errno(err, ENOMEM, "cannot start");
	f->config = config;
	f->provider = &providers[config->emission_provider];
	f->name = factors_providers[config->emission_provider];
	if (f->provider->key)
		r = token_read(config->emission_provider_key, f->key, err);
	if (r < 0)
		return error_prefix(err, r, "emissions.provider_key_file");
	if (pipe2(ends, O_CLOEXEC) == 0)
		pid = fork();
	if (pid == 0)
		be_fetcher(f, user, ends[0]);
	if (pid < 0)
		r = error_set_errno(err, errno, "cannot start what fetches emission factors");
	explicit_bzero(f->key, sizeof(f->key));
	closep(&ends[0]);
	if (r < 0)
		closep(&ends[1]);
	else
		*ret_fd = ends[1];
	return r;
}
