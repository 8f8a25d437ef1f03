/* SPDX-License-Identifier: MIT */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.h"
#include "cleanup.h"
#include "collectors/node.h"
#include "config.h"
#include "cpulist.h"
#include "error.h"
#include "file.h"
#include "helper.h"
#include "http.h"
#include "lock.h"
#include "log.h"
#include "macro.h"
#include "meter.h"
#include "notify.h"
#include "permission.h"
#include "pins.h"
#include "privileges.h"
#include "run_groups.h"
#include "sampler.h"
#include "scrape.h"
#include "ticker.h"
#include "token.h"

#define SCRAPE_AGE_NS UINT64_C(1000000000) /* a reading that is no older serves another scraper */

struct agent {
	struct config *config;
	int root_fd, lock_fd, pins_fd, signal_fd;
	struct service_user user;
	struct helper *helper;
	struct run_groups *runs;
	struct api_runs api_runs;
	struct sampler *sampler;
	struct node *node;
	struct scrape_sources scrape;
	struct permission *permission;
	struct api *api;
	struct http *tcp, *socket; /* NULL: not wanted */
	struct ticker ticker;
	bool is_ending, keeps;
};

/* ---- scrapes ---- */

static int fail_reading(const struct error *err, struct http_answer *ret)
{
	log_say(CONFIG_LOG_WARNING, "%s", err->text);
	return http_fail(ret, 503, "%s", err->text);
}

static int answer_metrics(void *context, const struct http_request *request,
			  struct http_answer *ret)
{
	static const struct scrape_view whole = { .is_whole = true };
	_cleanup_(snapshot_unrefp) struct snapshot *snapshot = NULL;
	struct agent *a = context;
	struct error err = {};

	if (sampler_get(a->sampler, SCRAPE_AGE_NS, &snapshot, &err) < 0)
		return fail_reading(&err, ret);
	return scrape_answer(&a->scrape, request, snapshot, &whole, ret);
}

static bool view_sees(void *context, const struct snapshot_job *job)
{
	return api_view_sees(context, job);
}

/* Over the socket: each sees his own jobs, and who sees all the node and the agent, too. */
static int expose(void *context, const struct http_request *request, struct snapshot *snapshot,
		  const struct api_view *view, struct http_answer *ret)
{
	struct agent *a = context;
	struct api_view *copy = malloc(sizeof(*copy));
	struct scrape_view scrape = {
		.is_whole = permission_sees_all(view->permission, &view->peer),
		.may_see = view_sees,
		.done = free,
		.context = copy,
	};
	int r;

	if (!copy)
		return -ENOMEM;
	*copy = *view;
	r = scrape_answer(&a->scrape, request, snapshot, &scrape, ret);
	if (r < 0)
		free(copy);
	return r;
}

static int answer_health(void *context UNUSED, const struct http_request *request UNUSED,
			 struct http_answer *ret)
{
	ret->status = 200;
	ret->type = "text/plain; charset=utf-8";
	ret->text = strdup("well\n");
	ret->length = strlen("well\n");
	return ret->text ? 0 : -ENOMEM;
}

static const struct http_route tcp_routes[] = {
	{ "GET", "/metrics", answer_metrics, .gives_text = true },
	{ "GET", "/health", answer_health, .is_open = true, .gives_text = true },
	{},
};

static void count_tcp(void *context, const struct http_route *route, unsigned int status)
{
	struct agent *a = context;

	scrapes_add(&a->scrape.scrapes, route ? route->path : NULL, status);
}

/* ---- opening, as root ---- */

static int make_folder(const char *path, mode_t mode, uid_t uid, gid_t gid, struct error *err)
{
	int r = file_make_folders(path, 0755);

	if (r >= 0 && (chmod(path, mode) < 0 || chown(path, uid, gid) < 0))
		r = -errno;
	return r < 0 ? error_set_errno(err, r, "cannot make the folder '%s'", path) : 0;
}

static int make_folders(const struct agent *a, struct error *err)
{
	char path[4096 + 8];
	int r = make_folder(a->config->run_dir, 0755, 0, 0, err);

	/* root's alone: what stands there is believed */
	snprintf(path, sizeof(path), "%s/jobs", a->config->run_dir);
	if (r >= 0)
		r = make_folder(path, 0755, 0, 0, err);
	/* root's too: runs of its own lie there, and jobs/ below it is given to our user */
	return r < 0 ? r : make_folder(a->config->state_dir, 0755, 0, 0, err);
}

static int take_lock(struct agent *a, struct error *err)
{
	char path[4096 + 16];

	snprintf(path, sizeof(path), "%s/agent.lock", a->config->run_dir);
	return lock_take(path, "agent", &a->lock_fd, err);
}

static int set_affinity(const struct config *config, struct error *err)
{
	struct cpulist cpus;
	cpu_set_t *set;
	size_t size;
	int r = 0;

	if (!*config->cpu_affinity)
		return 0;
	if (cpulist_parse(config->cpu_affinity, &cpus) < 0)
		return error_set(err, -EINVAL, "cpu_affinity: '%s' is no list of CPUs",
				 config->cpu_affinity);
	set = CPU_ALLOC(CPULIST_MAX);
	size = CPU_ALLOC_SIZE(CPULIST_MAX);
	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	for (unsigned int cpu = 0; cpu < CPULIST_MAX; cpu++) {
		if (cpulist_contains(&cpus, cpu))
			CPU_SET_S(cpu, size, set);
	}
	if (sched_setaffinity(0, size, set) < 0)
		r = error_set_errno(err, errno, "cpu_affinity: cannot run on the CPUs '%s'",
				    config->cpu_affinity);
	CPU_FREE(set);
	return r;
}

static int start_helper(struct agent *a, struct error *err)
{
	const struct helper_leftovers leftovers = {
		.folder = a->config->pin_dir,
		.socket = *a->config->socket_path ? a->config->socket_path : NULL,
	};

	if (!a->config->has_helper)
		return 0;
	if (helper_start(a->root_fd, &leftovers, &a->helper, err) < 0)
		return -EIO;
	a->runs = run_groups_new(a->helper);
	if (!a->runs)
		return -ENOMEM;
	run_groups_fill(a->runs, &a->api_runs);
	return 0;
}

static int64_t find_owner(void *context, const char *id)
{
	return run_groups_owner(context, id);
}

/* They are taken over from one who was killed, and from nobody who lives. */
static int hold_pins(struct agent *a, struct error *err)
{
	int r;

	if (a->pins_fd >= 0)
		return 0;
	r = lock_take_folder(a->config->pin_dir, "agent", &a->pins_fd, err);
	if (r != -ENOENT)
		return r;
	*err = (struct error){};
	return 0;
}

static int open_sampler(struct agent *a, struct error *err)
{
	struct sampler_options options = {
		.config = a->config,
		.root_fd = a->root_fd,
		.uid = a->user.uid,
		.gid = a->user.gid,
	};
	int r = hold_pins(a, err);

	if (r >= 0)
		r = pins_give(a->config->pin_dir, 0, 0); /* of an agent that was killed */
	if (r >= 0)
		r = sampler_open(&options, &a->sampler, err);
	if (r >= 0)
		r = hold_pins(a, err); /* made just now */
	if (r < 0)
		return *err->text ? r : error_set_errno(err, r, "cannot start");
	if (a->runs)
		sampler_set_owners(a->sampler, find_owner, a->runs);
	r = pins_give(a->config->pin_dir, a->user.uid,
		      a->user.gid); /* so that we may remove them at our end */
	return r < 0 ? error_set_errno(err, r, "cannot give away '%s'", a->config->pin_dir) : 0;
}

static bool may_ask_filesystem(const void *context, const char *fstype)
{
	const struct agent *a = context;
	const struct setting_list *types = &a->config->filesystems;

	for (size_t i = 0; i < types->count; i++) {
		if (strcmp(setting_list_get(types, i, 0), fstype) == 0)
			return true;
	}
	return false;
}

static int read_node(struct agent *a)
{
	const struct node_options options = { may_ask_filesystem, a };

	a->node = node_close(a->node);
	if (a->config->has_node_metrics && node_open(a->root_fd, &options, &a->node) < 0)
		return -ENOMEM;
	a->scrape.node = a->node;
	return 0;
}

static int make_permission(const struct config *config, struct permission **ret, struct error *err)
{
	const struct setting_list *groups = &config->admin_groups;
	const char **names = calloc(groups->count + 1, sizeof(*names));
	int r;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < groups->count; i++)
		names[i] = setting_list_get(groups, i, 0);
	r = permission_new(names, ret, err);
	free(names);
	if (r < 0)
		return error_prefix(err, r, "socket.admin_groups");
	permission_open_to_all(*ret, config->everyone_sees_all);
	return 0;
}

static int open_api(struct agent *a, struct error *err)
{
	struct api_options options = {
		.sampler = a->sampler,
		.root_fd = a->root_fd,
		.hierarchy = sampler_hierarchy(a->sampler),
		.rules = sampler_rules(a->sampler),
		.runs = a->runs ? &a->api_runs : NULL,
		.expose = expose,
		.context = a,
	};
	int r = make_permission(a->config, &a->permission, err);

	options.permission = a->permission;
	return r < 0 ? r : api_open(&options, &a->api);
}

static int listen_on_tcp(struct agent *a, struct error *err)
{
	const struct config *config = a->config;
	char token[TOKEN_SIZE];
	struct http_options options = {
		.routes = tcp_routes,
		.context = a,
		.answered = count_tcp,
		.address = config->listen,
		.token = config->is_insecure ? NULL : token,
		.certificate = *config->tls_certificate ? config->tls_certificate : NULL,
		.key = *config->tls_key ? config->tls_key : NULL,
	};
	int r = 0;

	if (!*config->listen)
		return 0;
	if (!config->is_insecure)
		r = token_get(config->token_file, a->user.gid, token, err);
	return r < 0 ? r : http_listen(&options, &a->tcp, err);
}

static int listen_on_socket(struct agent *a, struct error *err)
{
	const struct http_options options = {
		.routes = api_routes(),
		.context = a->api,
		.socket_path = a->config->socket_path,
		.socket_mode = 0666, /* who asks is told by the kernel */
	};

	return *a->config->socket_path ? http_listen(&options, &a->socket, err) : 0;
}

static int open_signals(struct agent *a, struct error *err)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return error_set_errno(err, errno, "cannot wait for signals");
	a->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return a->signal_fd < 0 ? error_set_errno(err, errno, "cannot wait for signals") : 0;
}

static int give_up_rights(struct agent *a, struct error *err)
{
	const struct privileges_options options = {
		.features = PRIVILEGE_PROCESSES | (sampler_meter(a->sampler) ? PRIVILEGE_BPF : 0),
		.user = &a->user,
	};
	uint64_t missing = 0;
	char names[256];
	int r = privileges_drop(&options, &missing, err);

	if (r >= 0 && missing)
		log_say(CONFIG_LOG_WARNING,
			"these rights were not to be had, and what needs them will fail: %s",
			privileges_format(missing, names, sizeof(names)));
	return r;
}

static int open_all(struct agent *a, struct error *err)
{
	static int (*const steps[])(struct agent * a, struct error * err) = {
		take_lock, open_signals,  start_helper,	    open_sampler,
		open_api,  listen_on_tcp, listen_on_socket, give_up_rights,
	};
	int r = service_user_find(a->config->user, &a->user, err);

	if (r >= 0)
		r = make_folders(a, err);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(steps); i++)
		r = steps[i](a, err);
	if (r >= 0)
		r = read_node(a);
	if (r >= 0)
		r = set_affinity(a->config, err);
	return r < 0 ? r : ticker_open(a->config->interval_ns, &a->ticker, err);
}

int agent_open(struct config *config, const char *root, struct agent **ret, struct error *err)
{
	struct agent *a = calloc(1, sizeof(*a));
	int r;

	if (!a) {
		config_free(config);
		return error_set_errno(err, ENOMEM, "cannot start");
	}
	*a = (struct agent){
		.config = config,
		.lock_fd = -EBADF,
		.pins_fd = -EBADF,
		.signal_fd = -EBADF,
		.ticker = TICKER_NONE,
	};
	log_set_level(config->log_level);
	a->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (a->root_fd < 0)
		r = error_set_errno(err, errno, "cannot open '%s'", root);
	else if (geteuid() != 0)
		r = error_set(err, -EPERM,
			      "it has to be started as root, and gives up what it does not need");
	else
		r = open_all(a, err);
	if (r < 0) {
		agent_close(a);
		return *err->text ? r : error_set_errno(err, r, "cannot start");
	}
	a->scrape.root_fd = a->root_fd;
	a->scrape.sampler = a->sampler;
	*ret = a;
	return 0;
}

struct agent *agent_close(struct agent *a)
{
	if (!a)
		return NULL;
	http_close(a->tcp);
	http_close(a->socket);
	api_close(a->api);
	permission_free(a->permission);
	sampler_close(a->sampler, a->keeps);
	helper_stop(a->helper); /* which removes what we may not */
	run_groups_free(a->runs);
	node_close(a->node);
	ticker_close(&a->ticker);
	closep(&a->signal_fd);
	closep(&a->pins_fd);
	closep(&a->lock_fd);
	closep(&a->root_fd);
	config_free(a->config);
	free(a);
	return NULL;
}

/* ---- the loop ---- */

static void tell_news(struct agent *a)
{
	struct error news = {};

	while (sampler_has_news(a->sampler, &news))
		log_say(CONFIG_LOG_WARNING, "%s", news.text);
}

static void take_reading(struct agent *a)
{
	struct snapshot *snapshot;
	struct error err = {};

	if (sampler_get(a->sampler, 0, &snapshot, &err) < 0)
		log_say(CONFIG_LOG_WARNING, "%s", err.text);
	else
		snapshot_unref(snapshot);
	tell_news(a);
}

static void tick(struct agent *a)
{
	struct error err = {};
	bool is_due = false;

	if (ticker_read(&a->ticker, &is_due, &err) < 0)
		log_say(CONFIG_LOG_ERROR, "%s", err.text);
	if (is_due)
		take_reading(a);
}

static void apply(struct agent *a)
{
	struct permission *permission;
	struct error err = {};

	log_set_level(a->config->log_level);
	sampler_configure(a->sampler, a->config);
	if (ticker_set(&a->ticker, a->config->interval_ns, &err) < 0 || read_node(a) < 0)
		log_say(CONFIG_LOG_ERROR, "%s", err.text);
	if (make_permission(a->config, &permission, &err) < 0) {
		log_say(CONFIG_LOG_ERROR, "%s: who may see what stays as it is", err.text);
		return;
	}
	permission_become(a->permission, permission);
}

/* What is wrong changes nothing. */
static void reload(struct agent *a)
{
	struct config_changes changes = {};
	struct error err = {};
	int r;

	(void)notify_send("RELOADING=1", NULL);
	r = config_reload(&a->config, &changes, &err);
	if (r < 0) {
		log_say(CONFIG_LOG_ERROR, "%s: what held before goes on holding", err.text);
	} else {
		apply(a);
		log_say(CONFIG_LOG_INFO, "read the settings again; changed: %s%s%s",
			*changes.applied ? changes.applied : "nothing",
			*changes.waiting ? "; after a restart: " : "", changes.waiting);
	}
	(void)notify_send("READY=1", NULL);
}

static void take_signals(struct agent *a)
{
	struct signalfd_siginfo signal;

	while (read(a->signal_fd, &signal, sizeof(signal)) == (ssize_t)sizeof(signal)) {
		if (signal.ssi_signo == SIGHUP) {
			reload(a);
			continue;
		}
		a->is_ending = true;
		a->keeps = signal.ssi_signo == SIGUSR1;
	}
}

static void run_helper(struct agent *a)
{
	if (helper_run(a->helper) >= 0)
		return;
	log_say(CONFIG_LOG_ERROR,
		"the root helper is gone: there are no groups for users' runs any more");
	/* its descriptor stays readable for ever: the table of runs fails from now on, and says why
	 */
	a->helper = helper_stop(a->helper);
	run_groups_leave_helper(a->runs);
}

static int least(int a, int b)
{
	return a < 0 ? b : b < 0 ? a : MIN(a, b);
}

static void run_once(struct agent *a)
{
	enum { SIGNALS, TICKS, TCP, SOCKET, HELPER, SAMPLER, COUNT };
	struct pollfd fds[COUNT] = {
		[SIGNALS] = { a->signal_fd, POLLIN, 0 },
		[TICKS] = { a->ticker.fd, POLLIN, 0 },
		[TCP] = { a->tcp ? http_fd(a->tcp) : -1, POLLIN, 0 },
		[SOCKET] = { a->socket ? http_fd(a->socket) : -1, POLLIN, 0 },
		[HELPER] = { a->helper ? helper_fd(a->helper) : -1, POLLIN, 0 },
		[SAMPLER] = { sampler_fd(a->sampler), POLLIN, 0 },
	};
	int timeout = least(a->tcp ? http_timeout_ms(a->tcp) : -1,
			    a->socket ? http_timeout_ms(a->socket) : -1);

	if (poll(fds, COUNT, timeout) < 0)
		return;
	if (fds[SIGNALS].revents)
		take_signals(a);
	if (fds[TICKS].revents)
		tick(a);
	if (fds[SAMPLER].revents)
		sampler_work(a->sampler);
	if (fds[HELPER].revents)
		run_helper(a);
	if (a->tcp)
		http_run(a->tcp);
	if (a->socket)
		http_run(a->socket);
}

static const char *form_of_start(const struct agent *a)
{
	struct meter *meter = sampler_meter(a->sampler);

	if (meter)
		return meter_is_taken_over(meter) ? "started, and took over what was counting"
						  : "started";
	return a->config->has_bpf ? "started without BPF, which the kernel does not permit: only "
				    "files of cgroups tell"
				  : "started without BPF, which is switched off: only files of "
				    "cgroups tell";
}

static void tell_start(const struct agent *a)
{
	char where[128] = "";

	if (a->tcp)
		snprintf(where, sizeof(where), ", scraped on %s", a->config->listen);
	log_say(CONFIG_LOG_INFO, "%s%s", form_of_start(a), where);
}

int agent_run(struct agent *a)
{
	struct error err = {};

	take_reading(a);
	tell_start(a);
	(void)notify_send("READY=1", NULL);
	while (!a->is_ending)
		run_once(a);
	(void)notify_send("STOPPING=1", NULL);
	if (a->keeps)
		take_reading(a);
	else if (sampler_finish(a->sampler, &err) < 0)
		log_say(CONFIG_LOG_WARNING, "what live jobs did is not written down: %s", err.text);
	tell_news(a);
	return 0;
}
