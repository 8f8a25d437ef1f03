/* SPDX-License-Identifier: MIT */
/* The node's power by Redfish, from the BMC that the site names, with the site's credentials. */
#include <errno.h>
#include <fcntl.h>
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
#include "model/record.h"
#include "sources/bmc_power.h"
#include "sources/redfish.h"
#include "sources/source.h"

#define LABEL "energy by Redfish: "
#define DEADLINE_MS 6000
#define READ_NS UINT64_C(5000000000) /* so that the reason is said within the deadline */
#define FIND_NS UINT64_C(60000000000) /* once: some BMCs take a second for each of 20 answers */
#define NS_OF_A_MS UINT64_C(1000000)
#define CREDENTIALS_MAX 256

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
	s->power.sensor = (struct energy_sensor){
		.source = "redfish",
		.name = "Redfish power",
		.level = ENERGY_NODE,
		.part = ENERGY_ALL,
		.socket = ENERGY_SOCKET_ANY,
		.quality = ENERGY_MEASURED,
		.rank = 30,
	};
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
	const bool is_due = bmc_power_begin(&s->power, boot_ns);
	struct error why = {};
	uint64_t uw = 0;

	if (is_due && ask(s, boot_ns, &uw, &why) < 0)
		bmc_power_refuse(&s->power, &why);
	else if (is_due)
		bmc_power_answer(&s->power, uw, clock_now_ns(CLOCK_BOOTTIME));
	return bmc_power_add(&s->power, is_due, to);
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
