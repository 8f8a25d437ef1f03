/* SPDX-License-Identifier: MIT */
/* The agent's start, as root, until it gives up its rights; and its end. */
#include "agent/agent_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "config/config.h"
#include "basic/cpulist.h"
#include "cgroup/identity.h"
#include "basic/error.h"
#include "basic/file.h"
#include "agent/helper.h"
#include "agent/lock.h"
#include "service/log.h"
#include "basic/macro.h"
#include "config/metering.h"
#include "service/permission.h"
#include "load/pins.h"
#include "agent/push.h"
#include "agent/run_groups.h"
#include "agent/tracer_helper.h"
#include "node/sampler.h"
#include "sources/sources.h"
#include "service/syscall_filter.h"
#include "service/token.h"

/* In /tmp there are those of others; a fresh tmpfs is as open, and empty. */
static bool has_files(const char *path)
{
	DIR *dir = opendir(path);
	size_t count = 0;

	while (dir && count <= 2 && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count > 2;
}

static int make_dir(const char *path, mode_t mode, uid_t uid, gid_t gid, struct error *err)
{
	struct stat st;
	int r;

	/* one that is as it should be may be on a disk that is read-only */
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		if ((st.st_mode & 07777) == mode && st.st_uid == uid && st.st_gid == gid)
			return 0;
		if ((st.st_mode & S_ISVTX) && has_files(path))
			return error_set(err, -EPERM,
					 "'%s' is a directory of all users; name one of its own",
					 path);
	}
	r = file_make_dirs(path, 0755);
	if (r >= 0 && (chmod(path, mode) < 0 || chown(path, uid, gid) < 0))
		r = -errno;
	return r < 0 ? error_set_errno(err, r, "cannot make the directory '%s'", path) : 0;
}

static int make_dirs(const struct agent *a, struct error *err)
{
	char path[4096 + 8];
	int r = make_dir(a->config->run_dir, 0755, 0, 0, err);

	/* root's alone: its files are trusted, and name jobs of all users */
	snprintf(path, sizeof(path), "%s/jobs", a->config->run_dir);
	if (r >= 0)
		r = make_dir(path, 0750, 0, a->user.gid, err);
	/* root's too: runs of its own lie there, and jobs/ below it is given to our user */
	return r < 0 ? r : make_dir(a->config->state_dir, 0755, 0, 0, err);
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
		.dir = a->config->pin_dir,
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

static int start_tracer(struct agent *a, struct error *err)
{
	const struct setting_list *sets = &a->config->trace_sets;
	char names[TRACER_SETS_SIZE] = "";
	_cleanup_(identity_rules_freep) struct identity_rules *rules = NULL;
	struct tracer_plan plan = {
		.user = &a->user,
		.serves_users = a->config->traces_for_users,
		.sets = names,
		.otlp = a->config->trace_otlp,
	};
	size_t used = 0;
	int r = metering_read_rules(a->config, &rules, err);

	if (r < 0)
		return r;
	plan.rules = rules;
	for (size_t i = 0; i < sets->count && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? "," : "",
					 setting_list_get(sets, i, 0));
	if (used >= sizeof(names))
		return error_set(err, -E2BIG, "trace.sets: the names are too long together");
	return plan.serves_users || *names ? tracer_helper_start(&plan, &a->tracer, err) : 0;
}

/* Before anything is open that the sender must not inherit. */
static int open_push(struct agent *a, struct error *err)
{
	return push_open(a->config->state_dir, &a->user, a->config, &a->push, err);
}

static void get_push(void *context, struct push_status *ret)
{
	push_get_status(context, ret);
}

static int64_t find_owner(void *context, uint64_t group_id)
{
	return run_groups_owner(context, group_id);
}

/* Pins of an agent that was killed are taken over, never those of a live one. */
static int hold_pins(struct agent *a, struct error *err)
{
	int r;

	if (a->pins_fd >= 0)
		return 0;
	r = lock_take_dir(a->config->pin_dir, "agent", &a->pins_fd, err);
	if (r != -ENOENT)
		return r;
	*err = (struct error){};
	return 0;
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

static int open_sampler(struct agent *a, struct error *err)
{
	_cleanup_(metering_clear) struct metering metering = {};
	int r = hold_pins(a, err);

	if (r >= 0)
		r = pins_give(a->config->pin_dir, 0, 0); /* of an agent that was killed */
	if (r >= 0)
		r = metering_of(a->config, &metering);
	metering.options.root_fd = a->root_fd;
	metering.options.uid = a->user.uid;
	metering.options.gid = a->user.gid;
	metering.options.may_ask = may_ask_filesystem;
	metering.options.context = a;
	if (r >= 0)
		r = sampler_open(&metering.options, &a->sampler, err);
	if (r >= 0)
		r = hold_pins(a, err); /* made just now */
	if (r < 0)
		return *err->text ? r : error_set_errno(err, r, "cannot start");
	push_set_sampler(a->push, a->sampler);
	if (a->runs)
		sampler_set_owners(a->sampler, find_owner, a->runs);
	if (a->helper && sampler_hierarchy(a->sampler))
		helper_set_key(a->helper, sampler_hierarchy(a->sampler));
	r = pins_give(a->config->pin_dir, a->user.uid, a->user.gid); /* so that we may remove them
									at our end */
	return r < 0 ? error_set_errno(err, r, "cannot give away '%s'", a->config->pin_dir) : 0;
}

int agent_make_permission(const struct config *config, struct permission **ret, struct error *err)
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
		.tracer = a->config->traces_for_users ? a->tracer : NULL,
		.expose = agent_expose,
		.context = a,
		.get_push = get_push,
		.push = a->push,
	};
	int r = agent_make_permission(a->config, &a->permission, err);

	options.permission = a->permission;
	return r < 0 ? r : api_open(&options, &a->api);
}

static int listen_on_tcp(struct agent *a, struct error *err)
{
	const struct config *config = a->config;
	char token[TOKEN_SIZE];
	struct http_options options = {
		.routes = agent_tcp_routes,
		.context = a,
		.answered = agent_count_answer,
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
		.socket_mode = 0666, /* the kernel names the caller */
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

static int filter_calls(struct error *err)
{
	int r = syscall_filter_apply(FILTER_AGENT, err);

	if (r != -EOPNOTSUPP)
		return r;
	log_say(CONFIG_LOG_WARNING, "%s: whoever takes over the agent has all of them", err->text);
	*err = (struct error){};
	return 0;
}

static int give_up_rights(struct agent *a, struct error *err)
{
	const struct privileges_options options = {
		.features = PRIVILEGE_PROCESSES | (sampler_meter(a->sampler) ? PRIVILEGE_BPF : 0) |
			    (a->config->has_source[sources_index("hardware")] ? PRIVILEGE_COUNTERS
									      : 0),
		.user = &a->user,
	};
	uint64_t missing = 0;
	char names[256];
	int r = privileges_drop(&options, &missing, err);

	if (r >= 0 && missing)
		log_say(CONFIG_LOG_WARNING,
			"missing capabilities, and what needs them will fail: %s",
			privileges_format(missing, names, sizeof(names)));
	return r < 0 ? r : filter_calls(err);
}

static int open_all(struct agent *a, struct error *err)
{
	static int (*const steps[])(struct agent * a, struct error * err) = {
		take_lock,    open_signals, start_helper,  start_tracer,     open_push,
		open_sampler, open_api,	    listen_on_tcp, listen_on_socket, give_up_rights,
	};
	int r = service_user_find(a->config->user, &a->user, err);

	if (r >= 0)
		r = make_dirs(a, err);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(steps); i++)
		r = steps[i](a, err);
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
			      "start it as root; it drops the rights that it does not need");
	else
		r = open_all(a, err);
	if (r < 0) {
		agent_close(a);
		return *err->text ? r : error_set_errno(err, r, "cannot start");
	}
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
	push_close(a->push);
	sampler_close(a->sampler, a->keeps);
	helper_stop(a->helper); /* which removes what we may not */
	tracer_helper_stop(a->tracer);
	run_groups_free(a->runs);
	ticker_close(&a->ticker);
	closep(&a->signal_fd);
	closep(&a->pins_fd);
	closep(&a->lock_fd);
	closep(&a->root_fd);
	config_free(a->config);
	free(a);
	return NULL;
}
