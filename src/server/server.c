/* SPDX-License-Identifier: MIT */
#include "server/server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/rules.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/endings.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/notify.h"
#include "server/api/api.h"
#include "server/api/caller.h"
#include "server/factors.h"
#include "server/server_config.h"
#include "server/store/pg.h"
#include "server/workers.h"
#include "service/credential.h"
#include "service/log.h"
#include "service/permission.h"
#include "service/privileges.h"
#include "service/syscall_filter.h"
#include "service/token.h"

#define MS UINT64_C(1000000)
#define SILENCE_S 30 /* a batch may come over a slow line */
#define BURST_NS INT64_C(3000000000) /* some pages of a job of many nodes, one after the other */
#define BUSY_WORK_MS 20 /* between batches of upkeep, while there is more to do */
#define IDLE_WORK_MS 1000
/* And so many times as long as a batch took: others get their turn, and a job is not made anew for
 * each of its records that comes. */
#define WORK_REST 3
#define MISSED_CHECKPOINTS 3
#define RETRY_MS UINT64_C(2000) /* while the database is not there yet */
#define LOOK_MS 1000 /* how often a thread looks whether factors were fetched */
#define SYNC_PARTS 256 /* of a manager's answer that are read at a time */

/* The directory of @path: what is there stays as it is; what is made is @user's alone where it is
 * private, else everybody may look into it. */
static int make_dir_of(const char *path, bool is_private, const struct service_user *user,
		       struct error *err)
{
	_cleanup_free_ char *dir = strdup(path);
	char *slash = dir ? strrchr(dir, '/') : NULL;
	struct stat st;
	int r;

	if (!slash)
		return dir ? 0 : -ENOMEM;
	slash[slash == dir] = '\0';
	if (stat(dir, &st) == 0)
		return 0;
	r = file_make_dirs(dir, 0755);
	if (r >= 0 && is_private &&
	    (chmod(dir, 0700) < 0 || (user->is_known && chown(dir, user->uid, user->gid) < 0)))
		r = -errno;
	return r < 0 ? error_set_errno(err, r, "cannot make the directory '%s'", dir) : 0;
}

static int make_permission(struct server *s, struct error *err)
{
	const struct setting_list *groups = &s->config->admin_groups;
	const char *names[PERMISSION_GROUPS_MAX + 1] = {}; /* the setting takes no more */
	int r;

	for (size_t i = 0; i < groups->count; i++)
		names[i] = setting_list_get(groups, i, 0);
	r = permission_new(names, &s->permission, err);
	return r < 0 ? error_prefix(err, r, "socket.admin_groups") : 0;
}

static int read_table(const char *setting, const char *path, const char *zone,
		      enum emission_kind kind, struct emission_factors *to, struct error *err)
{
	int r = emission_factors_read(path, to, err);

	if (r >= 0 && !emission_factor_at(to, zone, kind, INT64_MAX))
		r = error_set(err, -EINVAL, "'%s' has no row of the kind %s for the zone %s", path,
			      emission_kinds[kind], zone);
	return r < 0 ? error_prefix(err, r, "%s", setting) : r;
}

/* A site's own is a table of one line, that has always held. */
static int read_factors(struct server *s, struct error *err)
{
	const struct server_config *config = s->config;
	struct emission_factor own = {
		.kind = (enum emission_kind)config->emission_kind,
		.until_ns = UINT64_MAX,
		.milligrams = 1000 * config->emission_grams,
	};
	int r = 0;

	if (*config->tariff_file)
		r = read_table("tariff.file", config->tariff_file, config->emission_zone,
			       EMISSION_TARIFF, &s->tariffs, err);
	if (r >= 0 && *config->emission_factors)
		return read_table("emissions.factors", config->emission_factors,
				  config->emission_zone, own.kind, &s->factors, err);
	if (r < 0 || !config->emission_grams)
		return r;
	snprintf(own.zone, sizeof(own.zone), "%s", config->emission_zone);
	return emission_factors_add(&s->factors, &own);
}

void server_read_fetched(struct server *s)
{
	const char *path = s->config->emission_provider_file;
	const uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
	struct emission_factors fetched = {};
	struct error err = {};
	struct stat st;

	if (!s->config->emission_provider || now_ns < s->fetched_until_ns)
		return;
	s->fetched_until_ns = now_ns + LOOK_MS * MS;
	if (stat(path, &st) < 0 || memcmp(&st.st_mtim, &s->fetched_at, sizeof(st.st_mtim)) == 0)
		return;
	s->fetched_at = st.st_mtim;
	if (emission_factors_read(path, &fetched, &err) < 0) { /* the old ones hold */
		emission_factors_clear(&fetched);
		log_say(CONFIG_LOG_WARNING, "%s", err.text);
		return;
	}
	emission_factors_clear(&s->fetched);
	s->fetched = fetched;
}

/* In the place of the token, or beside it. */
static int open_munge(struct server *s, struct error *err)
{
	const struct server_config *config = s->config;
	struct service_user agent = {};
	int r;

	if (config->is_insecure || config->authentication == SERVER_BY_TOKEN || !*config->listen)
		return 0;
	/* where there is none of that name here, root alone */
	s->munge_uid = service_user_find(config->munge_user, &agent, NULL) == 0 ? agent.uid : 0;
	r = munge_open(config->munge_socket, &s->munge, err);
	return r < 0 ? error_prefix(err, r, "authentication") : 0;
}

static int admit(void *context, const char *authorization, void **ret, struct error *err)
{
	struct server *s = context;
	struct credential *credential = calloc(1, sizeof(*credential));
	int r = credential ? munge_check(s->munge, authorization, credential, err) : -ENOMEM;

	if (r == 0 && credential->uid != 0 && credential->uid != s->munge_uid)
		r = error_set(err, -EPERM,
			      "the munge credential is of UID %u, and should be of root or of '%s'",
			      credential->uid, s->config->munge_user);
	if (r < 0) {
		free(credential);
		return r;
	}
	*ret = credential;
	return 0;
}

/* The routes on TCP and on the socket, and who may use them. */
static int open_api(struct server *s, struct error *err)
{
	int r = *s->config->proxy_header
			? token_read(s->config->proxy_secret_file, s->proxy_secret, err)
			: 0;

	if (r < 0)
		return error_prefix(err, r, "proxy.secret_file");
	s->known_tokens = caller_known_new();
	s->kept = api_kept_new();
	if (!s->known_tokens || !s->kept)
		return error_set_errno(err, ENOMEM, "cannot start");
	return rules_load_built_in(&s->rules, err);
}

static int listen_on_both(struct server *s, const struct service_user *user, struct error *err)
{
	const struct server_config *config = s->config;
	bool wants_token = !config->is_insecure && config->authentication != SERVER_BY_MUNGE;
	char token[TOKEN_SIZE];
	const struct http_options tcp = {
		.routes = server_tcp_routes,
		.context = s,
		.defer = workers_defer,
		.silence_s = SILENCE_S,
		.charges_elapsed = true,
		.burst_ns = BURST_NS,
		.address = config->listen,
		.token = wants_token ? token : NULL,
		.admit = s->munge ? admit : NULL,
		.certificate = *config->tls_certificate ? config->tls_certificate : NULL,
		.key = *config->tls_key ? config->tls_key : NULL,
	}, socket = {
		.routes = server_socket_routes,
		.context = s,
		.defer = workers_defer,
		.charges_elapsed = true,
		.burst_ns = BURST_NS,
		.socket_path = config->socket_path,
		.socket_mode = 0666, /* the kernel names the caller */
	};
	int r = 0;

	if (*config->listen && wants_token)
		r = token_get(config->token_file, user->is_known ? user->gid : getegid(), token,
			      err);
	if (r >= 0 && *config->listen)
		r = http_listen(&tcp, &s->tcp, err);
	explicit_bzero(token, sizeof(token));
	return r >= 0 && *config->socket_path ? http_listen(&socket, &s->socket, err) : r;
}

static int start_sync(struct server *s, const struct service_user *user, struct error *err)
{
	const struct server_config *config = s->config;
	const struct sync_options options = {
		.manager = server_managers[config->sync_manager],
		.directory = config->sync_directory,
		.cluster = config->sync_cluster,
		.interval_ns = config->sync_interval_ns,
		.user = user,
	};

	return config->sync_manager ? sync_start(&options, &s->sync, err) : 0;
}

static int open_all(struct server *s, struct error *err)
{
	const struct server_config *config = s->config;
	struct service_user user = {};
	const struct privileges_options no_rights = { .user = &user };
	int r = geteuid() == 0 ? service_user_find(config->user, &user, err) : 0;

	if (r >= 0 && !store_is_url(config->database))
		r = make_dir_of(config->database, true, &user, err);
	if (r >= 0 && *config->socket_path)
		r = make_dir_of(config->socket_path, false, &user, err);
	if (r >= 0 && *config->listen && !config->is_insecure)
		r = make_dir_of(config->token_file, false, &user, err);
	if (r >= 0)
		r = make_permission(s, err);
	if (r >= 0)
		r = read_factors(s, err);
	/* the settings were checked; "" is 0 */
	(void)emission_parse_number(config->emission_pue, &s->terms.pue);
	(void)emission_parse_number(config->emission_embodied, &s->terms.embodied);
	(void)emission_parse_number(config->tariff, &s->terms.tariff);
	if (r >= 0)
		r = open_munge(s, err);
	if (r >= 0)
		r = open_api(s, err);
	if (r >= 0)
		r = listen_on_both(s, &user, err);
	if (r >= 0)
		r = start_sync(s, &user, err);
	if (r >= 0 && config->emission_provider)
		r = make_dir_of(config->emission_provider_file, true, &user, err);
	if (r >= 0 && config->emission_provider)
		r = factors_start(config, &user, &s->factors_fd, err);
	if (r >= 0)
		r = privileges_drop(&no_rights, NULL, err);
	if (r >= 0)
		r = syscall_filter_apply(FILTER_SERVER, err);
	if (r == -EOPNOTSUPP) {
		log_say(CONFIG_LOG_WARNING, "%s", err->text);
		*err = (struct error){};
		r = 0;
	}
	return r;
}

static int open_database(struct server *s, struct error *err)
{
	int r = workers_open(s, err);

	if (r >= 0)
		r = workers_start(s->workers, err);
	if (r < 0) {
		s->workers = workers_close(s->workers);
		return r;
	}
	log_say(CONFIG_LOG_INFO, "started, with the database %s%s%s", s->config->database,
		s->tcp ? "; takes records on " : "", s->tcp ? s->config->listen : "");
	(void)notify_send("READY=1\nSTATUS=", NULL);
	return 0;
}

/* A PostgreSQL may start later than we, as after a power cut: until then requests get 503, and why.
 */
static int await_database(struct server *s, struct error *err)
{
	uint64_t now_ms = clock_now_ns(CLOCK_MONOTONIC) / MS;
	int r;

	if (s->workers || now_ms < s->next_work_ms)
		return 0;
	r = open_database(s, err);
	if (r != -EIO || !store_is_url(s->config->database))
		return r;
	if (!*s->health.err.text) {
		log_say(CONFIG_LOG_WARNING, "%s: it is waited for", err->text);
		(void)notify_send("READY=1\nSTATUS=waits for its database", NULL);
	}
	s->health.err = *err;
	*err = (struct error){};
	s->next_work_ms = clock_now_ns(CLOCK_MONOTONIC) / MS + RETRY_MS;
	return 0;
}

/* True: there is more to do soon. */
static bool run_sync(struct server *s, uint64_t now_ns)
{
	struct pollfd fd = { sync_fd(s->sync), POLLIN, 0 };
	bool has_more;

	for (int parts = 0; parts < SYNC_PARTS && fd.fd >= 0 && poll(&fd, 1, 0) > 0; parts++) {
		sync_read(s->sync);
		fd.fd = sync_fd(s->sync);
	}
	has_more = sync_work(s->sync, s->store, now_ns);
	s->figures.sync = *sync_facts(s->sync);
	return has_more || sync_fd(s->sync) >= 0;
}

void server_work(struct server *s, uint64_t now_ms)
{
	uint64_t now_ns = clock_now_ns(CLOCK_REALTIME);
	uint64_t patience_ns = MISSED_CHECKPOINTS * s->config->checkpoint_interval_ns;
	const struct store_upkeep upkeep = {
		.now_ns = now_ns,
		/* while the server was away no checkpoint could come: that counts from its start */
		.closing_ns = now_ns > s->begun_ns + patience_ns ? now_ns - patience_ns : 0,
		.timelines_ns = now_ns - MIN(now_ns, s->config->timelines_ns),
		.records_ns = now_ns - MIN(now_ns, s->config->records_ns),
		.ledger_ns = now_ns - MIN(now_ns, s->config->ledger_ns),
	};
	struct error err = {};
	bool has_more = false;
	uint64_t ended_ms;
	int r;

	if (now_ms < s->next_work_ms)
		return;
	r = store_work(s->store, &upkeep, &has_more, &err);
	if (r < 0 && s->figures.failed_works++ == 0)
		log_say(CONFIG_LOG_ERROR, "nothing is closed or deleted: %s", err.text);
	else if (r == 0 && *err.text)
		log_say(CONFIG_LOG_ERROR, "%s", err.text);
	caller_learn_tokens(s);
	has_more |= s->sync && run_sync(s, now_ns);
	ended_ms = clock_now_ns(CLOCK_MONOTONIC) / MS;
	s->next_work_ms = ended_ms + MAX((uint64_t)(has_more ? BUSY_WORK_MS : IDLE_WORK_MS),
					 WORK_REST * (ended_ms - now_ms));
}

static int serve(struct server *s, struct error *err)
{
	struct http *const listeners[] = { s->tcp, s->socket };
	struct pollfd fds[ARRAY_SIZE(listeners) + 1] = { { s->signal_fd, POLLIN, 0 } };

	while (!fds[0].revents) {
		int r = await_database(s, err);
		int timeout = s->workers ? -1 : (int)RETRY_MS;

		if (r < 0)
			return r;

		for (size_t i = 0; i < ARRAY_SIZE(listeners); i++) {
			int wait_ms = listeners[i] ? http_timeout_ms(listeners[i]) : -1;

			if (wait_ms >= 0 && (timeout < 0 || wait_ms < timeout))
				timeout = wait_ms;
			fds[i + 1] = (struct pollfd){ listeners[i] ? http_fd(listeners[i]) : -1,
						      POLLIN, 0 };
		}
		if (poll(fds, ARRAY_SIZE(fds), timeout) < 0)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(listeners); i++) {
			if (listeners[i])
				http_run(listeners[i]);
		}
	}
	(void)notify_send("STOPPING=1", NULL);
	return 0;
}

int server_run(const struct server_config *config, struct error *err)
{
	struct server s = { .config = config,
			    .begun_ns = clock_now_ns(CLOCK_REALTIME),
			    .factors_fd = -EBADF,
			    .signal_fd = endings_open() };
	int r;

	log_set_program("jobmeter-server");
	log_set_level(config->log_level);
	signal(SIGPIPE, SIG_IGN);
	r = s.signal_fd < 0 ? s.signal_fd : open_all(&s, err);
	if (r >= 0)
		r = serve(&s, err);
	if (r < 0 && !*err->text)
		error_set_errno(err, r, "cannot start");
	http_close(s.tcp);
	http_close(s.socket);
	workers_close(s.workers);
	munge_close(s.munge);
	sync_stop(s.sync);
	closep(&s.factors_fd);
	emission_factors_clear(&s.factors);
	emission_factors_clear(&s.tariffs);
	permission_free(s.permission);
	rules_free(s.rules);
	explicit_bzero(s.proxy_secret, sizeof(s.proxy_secret));
	free(s.known_tokens);
	api_kept_free(s.kept);
	closep(&s.signal_fd);
	return r;
}
