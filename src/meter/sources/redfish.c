/* SPDX-License-Identifier: MIT */
#include "sources/redfish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/libcurl.h"
#include "basic/macro.h"
#include "model/json_place.h"
#include "model/record.h"
#include "sources/bmc_power.h"
#include "sources/source.h"

#define LABEL "energy by Redfish: "
#define DEADLINE_MS 6000
#define READ_NS UINT64_C(5000000000) /* so that the reason is said within the deadline */
#define FIND_NS UINT64_C(60000000000) /* once: some BMCs take a second for each of 20 answers */
#define NS_OF_A_MS UINT64_C(1000000)
#define CREDENTIALS_MAX 256
#define ROOT "/redfish/v1/"
#define MICRO 6 /* places behind the point */

struct paths {
	size_t count;
	char items[REDFISH_CHASSIS_MAX][REDFISH_PATH_SIZE];
};

/* ---- one answer ---- */

static int get_map(const struct redfish_service *service, const char *path, json_t **ret,
		   struct error *err)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0;
	int r = service->get(service->context, path, &text, &length, err);

	if (r < 0)
		return r;
	r = place_parse_map(text, length, ret, err);
	return r < 0 ? error_prefix(err, r, "%s", path) : 0;
}

/* Of the same service, and of letters that need no escape. */
static bool is_path(const char *text)
{
	if (strncmp(text, ROOT, strlen(ROOT)) != 0 || strlen(text) >= REDFISH_PATH_SIZE)
		return false;
	for (const char *p = text; *p; p++) {
		if (*p <= ' ' || *p > '~' || strchr("?#\\\"<>", *p))
			return false;
	}
	return !strstr(text, "..");
}

/* What {"@odata.id": PATH} leads to; "": nothing that we would follow. */
static const char *link_of(const json_t *map)
{
	const char *path = json_string_value(json_object_get(map, "@odata.id"));

	return path && is_path(path) ? path : "";
}

static const char *link_at(const json_t *map, const char *key)
{
	return link_of(json_object_get(map, key));
}

static void add_path(const char *path, struct paths *to)
{
	if (*path && to->count < ARRAY_SIZE(to->items))
		snprintf(to->items[to->count++], REDFISH_PATH_SIZE, "%s", path);
}

/* The members of a collection. */
static int get_members(const struct redfish_service *service, const char *path, struct paths *ret,
		       struct error *err)
{
	_cleanup_(json_freep) json_t *collection = NULL;
	int r = get_map(service, path, &collection, err);
	const json_t *members = json_object_get(collection, "Members");

	for (size_t i = 0; r == 0 && i < json_array_size(members); i++)
		add_path(link_of(json_array_get(members, i)), ret);
	return r;
}

/* ---- powers ---- */

/* A sensor: {"Reading": 344}. */
static int take_reading(const struct place *place, const json_t *map, const char *key,
			uint64_t *ret_uw, bool *ret_is_known)
{
	struct place sensor = place_below(place, key);
	const json_t *in = NULL;
	int r = place_get(place, map, key, JSON_OBJECT, &in);

	return r < 0 ? r : place_take_number(&sensor, in, "Reading", MICRO, ret_uw, ret_is_known);
}

/* The first entry is the whole; others are parts of it, or other nodes in the chassis. */
static int take_control(const struct place *place, const json_t *map, uint64_t *ret_uw,
			bool *ret_is_known)
{
	struct place first = place_item(place, "PowerControl", 0);
	const json_t *list = NULL;
	int r = place_get(place, map, "PowerControl", JSON_ARRAY, &list);

	return r < 0 ? r
		     : place_take_number(&first, json_array_get(list, 0), "PowerConsumedWatts",
					 MICRO, ret_uw, ret_is_known);
}

static int read_one(const struct redfish_service *service, enum redfish_kind kind, const char *path,
		    uint64_t *ret_uw, struct error *err)
{
	_cleanup_(json_freep) json_t *map = NULL;
	const struct place place = { .key = path, .err = err };
	bool is_known = false;
	int r = get_map(service, path, &map, err);

	if (r < 0)
		return r;
	if (kind == REDFISH_POWER)
		r = take_control(&place, map, ret_uw, &is_known);
	else
		r = take_reading(&place, map,
				 kind == REDFISH_METRICS ? "PowerWatts" : "InputPowerWatts", ret_uw,
				 &is_known);
	if (r == 0 && !is_known)
		return error_set(err, -ENODATA, "%s says no power", path);
	return r;
}

int redfish_read(const struct redfish_service *service, const struct redfish_place *place,
		 uint64_t *ret_uw, struct error *err)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < place->count; i++) {
		uint64_t uw = 0;
		int r = read_one(service, place->kind, place->paths[i], &uw, err);

		if (r < 0)
			return r;
		if (__builtin_add_overflow(sum, uw, &sum))
			return error_set(err, -EINVAL, "%s is out of range", place->paths[i]);
	}
	*ret_uw = sum;
	return 0;
}

/* ---- where they are said ---- */

static int find_supplies(const struct redfish_service *service, const char *subsystem,
			 struct redfish_place *ret, struct error *err)
{
	_cleanup_(json_freep) json_t *map = NULL;
	struct paths supplies = {};
	int r = get_map(service, subsystem, &map, err);

	if (r == 0 && *link_at(map, "PowerSupplies"))
		r = get_members(service, link_at(map, "PowerSupplies"), &supplies, err);
	for (size_t i = 0; r == 0 && i < supplies.count; i++) {
		_cleanup_(json_freep) json_t *supply = NULL;
		const char *state;

		r = get_map(service, supplies.items[i], &supply, err);
		state = json_string_value(
			json_object_get(json_object_get(supply, "Status"), "State"));
		if (r < 0 || (state && strcmp(state, "Absent") == 0)) /* its slot is empty */
			continue;
		if (ret->count == REDFISH_SUPPLIES_MAX || !*link_at(supply, "Metrics"))
			return -ENOENT; /* some of them are not the node */
		snprintf(ret->paths[ret->count++], REDFISH_PATH_SIZE, "%s",
			 link_at(supply, "Metrics"));
	}
	return r;
}

static int find_in_chassis(const struct redfish_service *service, const char *path,
			   struct redfish_place *ret, bool *ret_has, struct error *err)
{
	static const char *const keys[] = { [REDFISH_METRICS] = "EnvironmentMetrics",
					    [REDFISH_SUPPLIES] = "PowerSubsystem",
					    [REDFISH_POWER] = "Power" };
	_cleanup_(json_freep) json_t *chassis = NULL;
	uint64_t uw;
	int r = get_map(service, path, &chassis, err);

	*ret_has = false;
	for (size_t kind = 0; r == 0 && !*ret_has && kind < ARRAY_SIZE(keys); kind++) {
		const char *link = link_at(chassis, keys[kind]);

		if (!*link)
			continue;
		*ret = (struct redfish_place){ .kind = (enum redfish_kind)kind };
		if (kind == REDFISH_SUPPLIES)
			r = find_supplies(service, link, ret, err);
		else
			snprintf(ret->paths[ret->count++], REDFISH_PATH_SIZE, "%s", link);
		if (r == 0)
			r = ret->count ? redfish_read(service, ret, &uw, err) : -ENODATA;
		*ret_has = r == 0;
		if (r == -ENOENT || r == -ENODATA) /* it leads nowhere, or nothing is said there */
			r = 0;
	}
	return r == -ENOENT ? 0 : r;
}

/* Its last part; some write "/redfish/v1/Chassis/1/". */
static void copy_id(const char *path, char ret[REDFISH_PATH_SIZE])
{
	char *end;

	snprintf(ret, REDFISH_PATH_SIZE, "%s", path);
	end = ret + strlen(ret) - 1;
	*end = *end == '/' ? '\0' : *end;
	end = strrchr(ret, '/') + 1; /* is_path() */
	memmove(ret, end, strlen(end) + 1);
}

static int find_all_chassis(const struct redfish_service *service, struct paths *ret,
			    struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	int r = get_map(service, ROOT, &root, err);

	if (r == 0 && !*link_at(root, "Chassis"))
		r = error_set(err, -ENOENT, ROOT " has no chassis");
	return r < 0 ? r : get_members(service, link_at(root, "Chassis"), ret, err);
}

int redfish_find(const struct redfish_service *service, const char *chassis,
		 struct redfish_place *ret, struct error *err)
{
	struct redfish_place place = {}, found = {};
	char id[REDFISH_PATH_SIZE], first[REDFISH_PATH_SIZE] = "";
	struct paths all = {};
	int r = find_all_chassis(service, &all, err);

	for (size_t i = 0; r == 0 && i < all.count; i++) {
		bool has;

		copy_id(all.items[i], id);
		if (*chassis && strcmp(id, chassis) != 0)
			continue;
		r = find_in_chassis(service, all.items[i], &place, &has, err);
		if (r < 0 || !has)
			continue;
		if (found.count)
			return error_set(err, -EINVAL,
					 "several chassis say a power, '%.64s' and '%.64s' (set "
					 "redfish_chassis to the node's)",
					 first, id);
		memcpy(first, id, sizeof(id));
		found = place;
	}
	if (r < 0)
		return r;
	if (!found.count)
		return error_set(err, -ENOENT, "no chassis%s%s%s says a power",
				 *chassis ? " '" : "", chassis, *chassis ? "'" : "");
	*ret = found;
	return 0;
}

/* ---- the source: the BMC that the site names, with the site's credentials ---- */

struct answer {
	char *text; /* owned */
	size_t length;
};

struct source_state {
	struct libcurl curl;
	CURL *handle;
	char url[REDFISH_PATH_SIZE], chassis[64], why[CURL_ERROR_SIZE];
	uint64_t until_ns; /* of the present request */
	bool has_place;
	struct redfish_place place;
	struct bmc_power power;
};

/* ---- the connection ---- */

static size_t take_text(char *text, size_t size, size_t count, void *context)
{
	struct answer *a = context;
	const size_t more = size * count;
	char *larger;

	if (more > REDFISH_ANSWER_MAX - a->length)
		return 0; /* which ends the transfer */
	larger = realloc(a->text, a->length + more + 1);
	if (!larger)
		return 0;
	memcpy(larger + a->length, text, more);
	a->text = larger;
	a->length += more;
	a->text[a->length] = '\0';
	return more;
}

static int judge(const struct source_state *s, CURLcode code, const char *path, struct error *err)
{
	long status = 0;

	s->curl.get(s->handle, CURLINFO_RESPONSE_CODE, &status);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return error_set(err, -ETIMEDOUT, "'%s' has not answered in time", s->url);
	if (code != CURLE_OK)
		return error_set(err, -EIO, "cannot ask '%s': %s", s->url,
				 *s->why ? s->why : s->curl.describe(code));
	if (status == 404)
		return error_set(err, -ENOENT, "there is no %s", path);
	if (status == 401 || status == 403)
		return error_set(err, -EACCES,
				 "'%s' refuses the user or the password of redfish_credentials "
				 "(status %ld)",
				 s->url, status);
	return status == 200 ? 0 : error_set(err, -EIO, "%s: status %ld", path, status);
}

static int get(void *context, const char *path, char **ret, size_t *ret_length, struct error *err)
{
	struct source_state *s = context;
	const uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME);
	struct answer answer = {};
	char url[2 * REDFISH_PATH_SIZE];
	int r;

	if (now_ns >= s->until_ns)
		return error_set(err, -ETIMEDOUT, "'%s' has not answered in time", s->url);
	snprintf(url, sizeof(url), "%s%s", s->url, path);
	*s->why = '\0';
	s->curl.set(s->handle, CURLOPT_URL, url);
	s->curl.set(s->handle, CURLOPT_WRITEDATA, &answer);
	s->curl.set(s->handle, CURLOPT_TIMEOUT_MS, (long)((s->until_ns - now_ns) / NS_OF_A_MS) + 1);
	r = judge(s, s->curl.perform(s->handle), path, err);
	if (r == 0 && !answer.text)
		r = error_set(err, -EINVAL, "%s: the answer is empty", path);
	if (r < 0) {
		free(answer.text);
		return r;
	}
	*ret = answer.text;
	*ret_length = answer.length;
	return 0;
}

/* ---- opening ---- */

/* "USER:PASSWORD", readable for root only. */
static int read_credentials(const char *path, char ret[CREDENTIALS_MAX], struct error *err)
{
	_cleanup_close_ int fd = open(path,
				      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "cannot read redfish_credentials '%s'", path);
	if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & 077)
		return error_set(err, -EPERM,
				 "redfish_credentials '%s' must be a plain file of root's that "
				 "no other user can read (chmod 0600)",
				 path);
	r = file_read_fd(fd, CREDENTIALS_MAX - 1, &text, NULL);
	if (r < 0)
		return error_set_errno(err, r, "cannot read redfish_credentials '%s'", path);
	text[strcspn(text, "\n")] = '\0';
	if (!strchr(text, ':') || *text == ':')
		return error_set(err, -EINVAL,
				 "redfish_credentials '%s' must have one line USER:PASSWORD", path);
	snprintf(ret, CREDENTIALS_MAX, "%s", text);
	return 0;
}

static int connect_to(struct source_state *s, const struct source_settings *settings,
		      struct error *err)
{
	char credentials[CREDENTIALS_MAX];
	int r = read_credentials(settings->redfish_credentials, credentials, err);

	if (r < 0)
		return r;
	r = libcurl_load(&s->curl, err);
	if (r < 0)
		return r;
	s->handle = s->curl.easy_init();
	if (!s->handle)
		return error_set(err, -ENOMEM, "libcurl cannot begin");
	/* Its own defaults: certificate and name are verified, and no redirection is followed. */
	s->curl.set(s->handle, CURLOPT_USERPWD, credentials); /* copied */
	s->curl.set(s->handle, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	s->curl.set(s->handle, CURLOPT_USERAGENT, "jobmeter-agent/" JOBMETER_VERSION);
	s->curl.set(s->handle, CURLOPT_WRITEFUNCTION, take_text);
	s->curl.set(s->handle, CURLOPT_ERRORBUFFER, s->why);
	s->curl.set(s->handle, CURLOPT_NOSIGNAL, 1L);
	s->curl.set(s->handle, CURLOPT_PROXY, ""); /* none that some environment names */
	if (*settings->redfish_ca)
		s->curl.set(s->handle, CURLOPT_CAINFO, settings->redfish_ca);
	return 0;
}

static void close_source(struct source_state *s)
{
	if (s->handle)
		s->curl.cleanup(s->handle);
}

static int open_source(const struct source_options *options, struct source_state *s,
		       struct error *err)
{
	const struct source_settings *settings = options->settings;
	int r;

	if (!settings)
		return -ENODEV; /* not the agent */
	if (!*settings->redfish_url)
		return error_set(err, -ENODEV, "redfish_url is not set");
	r = connect_to(s, settings, err);
	if (r < 0)
		return r;
	snprintf(s->url, sizeof(s->url), "%s", settings->redfish_url);
	snprintf(s->chassis, sizeof(s->chassis), "%s", settings->redfish_chassis);
	s->power = bmc_power_begin("redfish", "Redfish power", 30);
	return 0;
}

/* ---- asking ---- */

static int ask(struct source_state *s, uint64_t now_ns, uint64_t *ret_uw, struct error *err)
{
	const struct redfish_service service = { get, s };
	int r = 0;

	if (!s->has_place) {
		s->until_ns = now_ns + FIND_NS;
		r = redfish_find(&service, s->chassis, &s->place, err);
		s->has_place = r == 0;
	}
	s->until_ns = clock_now_ns(CLOCK_BOOTTIME) + READ_NS;
	if (r == 0)
		r = redfish_read(&service, &s->place, ret_uw, err);
	if (r == -ENOENT) /* another firmware, perhaps */
		s->has_place = false;
	return r;
}

static int sample(struct source_state *s, uint64_t boot_ns, struct samples *to)
{
	return bmc_power_sample(&s->power, boot_ns, ask, s, to);
}

static int describe(const struct source_state *s, struct strings *missing)
{
	return bmc_power_describe(&s->power, LABEL, missing);
}

const struct source source_redfish = {
	.name = "redfish",
	.label = LABEL,
	.help = "Ask the node's BMC for the node's power by Redfish, at most every 5 seconds. Needs redfish_url and redfish_credentials.",
	.has_energy = true,
	.is_off = true,
	.deadline_ms = DEADLINE_MS,
	.size = sizeof(struct source_state),
	.open = open_source,
	.sample = sample,
	.describe = describe,
	.close = close_source,
};
