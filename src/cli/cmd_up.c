/* SPDX-License-Identifier: MIT */
/* Agent and server as two processes of one machine, as long as this one lives. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "cgroup/managers.h"
#include "cli/commands.h"
#include "cli/up_place.h"
#include "client/client.h"
#include "client/server_client.h"

#define START_S 60 /* to load what counts on a slow machine */
#define END_S 30 /* the agent writes what it has, and sends it */
#define LOOK_MS 50
#define NS_PER_S UINT64_C(1000000000)
#define WORDS_MAX 16

struct settings {
	const char *state;
	unsigned int port;
};

static int parse_port(const char *text, void *at, struct error *err)
{
	int port;

	if (parse_int(text, 1, 65534, &port) < 0)
		return error_set(err, -EINVAL, "'--port' is a number from 1 to 65534, not '%s'",
				 text);
	*(unsigned int *)at = (unsigned int)port;
	return 0;
}

#define AT(member) offsetof(struct settings, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "state", 0, "DIR", "keep all files and sockets in DIR, not in the usual places", AT(state), NULL },
	{ "port", 0, "PORT", "the agent's port, the server has the next (default: 9840)", AT(port), parse_port },
};
/* clang-format on */

/* ---- one of the two ---- */

struct part {
	const char *name; /* "jobmeter-agent" */
	pid_t pid; /* 0: it does not run, or another's does */
	int status; /* once it has ended */
};

struct up {
	struct up_place place;
	struct part server, agent;
	bool has_agent; /* one that runs already */
	sigset_t mask; /* as it was before we waited for signals */
};

/* Beside our own program. */
static int find_program(const char *name, char ret[PATH_MAX], struct error *err)
{
	ssize_t length = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	char *slash;

	if (length < 0)
		return error_set_errno(err, errno, "cannot find '%s'", name);
	ret[length] = '\0';
	slash = strrchr(ret, '/');
	if (!slash || (size_t)(slash - ret) + strlen(name) + 2 > PATH_MAX)
		return error_set(err, -ENAMETOOLONG, "cannot find '%s'", name);
	strcpy(slash + 1, name);
	if (access(ret, X_OK) < 0)
		return error_set_errno(err, errno, "cannot run '%s'", ret);
	return 0;
}

/* A terminal's Ctrl-C reaches us alone, so that the agent can end before the server.  If we are
 * killed both end by themselves (privileges_drop() keeps that over their change of user). */
static void become(const struct up *up, pid_t parent, const char *path, char *const argv[])
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	setpgid(0, 0);
	dup2(null, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO); /* ours is what we say */
	unsetenv("JOBMETER_SOCKET"); /* of clients, no settings */
	unsetenv("JOBMETER_SERVER_SOCKET");
	sigprocmask(SIG_SETMASK, &up->mask, NULL);
	execv(path, argv);
	fprintf(stderr, "jobmeter up: cannot run '%s': %s\n", path, strerror(errno));
	_exit(127);
}

static int start_part(struct up *up, struct part *part, const char *const words[],
		      struct error *err)
{
	char path[PATH_MAX], *argv[WORDS_MAX + 1] = { path };
	int r = find_program(part->name, path, err);
	pid_t parent;

	if (r < 0)
		return r;
	for (size_t i = 0; words[i]; i++)
		argv[i + 1] = (char *)(uintptr_t)words[i];
	parent = getpid();
	part->pid = fork();
	if (part->pid < 0) {
		part->pid = 0;
		return error_set_errno(err, errno, "cannot start %s", part->name);
	}
	if (part->pid == 0)
		become(up, parent, path, argv);
	return 0;
}

/* True: it is not there any more. */
static bool has_ended(struct part *part)
{
	if (part->pid && waitpid(part->pid, &part->status, WNOHANG) == part->pid)
		part->pid = 0;
	return !part->pid;
}

static void pause_ms(int ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

static int say_end(const struct part *part, struct error *err)
{
	if (WIFSIGNALED(part->status))
		return error_set(err, -ECHILD, "%s was killed by signal %d", part->name,
				 WTERMSIG(part->status));
	return error_set(err, -ECHILD, "%s ended with status %d", part->name,
			 WEXITSTATUS(part->status));
}

static bool is_asked_to_end(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t pending;

	if (sigpending(&pending) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (sigismember(&pending, numbers[i]) == 1)
			return true;
	}
	return false;
}

/* -EINTR: we were asked to end meanwhile. */
static int await_part(struct part *part, bool (*is_ready)(const struct up_place *place),
		      const struct up_place *place, struct error *err)
{
	uint64_t until_ns = clock_now_ns(CLOCK_MONOTONIC) + START_S * NS_PER_S;

	while (!is_ready(place)) {
		if (has_ended(part))
			return say_end(part, err);
		if (is_asked_to_end())
			return -EINTR;
		if (clock_now_ns(CLOCK_MONOTONIC) > until_ns)
			return error_set(err, -ETIMEDOUT, "%s does not answer after %d s",
					 part->name, START_S);
		pause_ms(LOOK_MS);
	}
	return 0;
}

/* As systemd would: what does not end is killed. */
static void end_part(struct part *part)
{
	uint64_t until_ns = clock_now_ns(CLOCK_MONOTONIC) + END_S * NS_PER_S;

	if (!part->pid)
		return;
	kill(part->pid, SIGTERM);
	while (!has_ended(part)) {
		if (clock_now_ns(CLOCK_MONOTONIC) > until_ns)
			kill(part->pid, SIGKILL);
		pause_ms(LOOK_MS);
	}
}

/* ---- the server ---- */

static bool is_server_ready(const struct up_place *place)
{
	_cleanup_(server_client_closep) struct server_client *client = NULL;

	return server_client_open(place->server_socket, &client, NULL) == 0 &&
	       server_client_greet(client, NULL) == 0;
}

static int start_server(struct up *up, struct error *err)
{
	const struct up_place *place = &up->place;
	char listen[32];
	const char *const words[] = { "--database", place->database,	  "--listen", listen,
				      "--socket",   place->server_socket, NULL };
	int r = up_port_check(place->port + 1, "server", err);

	if (r < 0)
		return r;
	snprintf(listen, sizeof(listen), "127.0.0.1:%u", place->port + 1);
	setenv("JOBMETER_SERVER_TOKEN_FILE", place->push_token, 1);
	r = start_part(up, &up->server, words, err);
	return r < 0 ? r : await_part(&up->server, is_server_ready, place, err);
}

/* ---- the agent ---- */

static bool is_agent_ready(const struct up_place *place)
{
	_cleanup_(client_closep) struct client *client = NULL;

	return client_open(place->agent_socket, &client, NULL) == 0;
}

static bool has_manager(void)
{
	_cleanup_close_ int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct managers managers = {};

	if (fd >= 0)
		managers_read(fd, &managers);
	return managers.count > 0;
}

/* A setting of the agent, by its environment; one that stands there already holds. */
static void set_agent(const char *name, const char *format, ...) PRINTF_LIKE(2, 3);
static void set_agent(const char *name, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;
	int r;

	va_start(args, format);
	r = vasprintf(&text, format, args);
	va_end(args);
	if (r < 0)
		text = NULL;
	else
		setenv(name, text, 0);
}

static void set_agent_place(const struct up_place *place)
{
	setenv("JOBMETER_SOCKET_PATH", place->agent_socket, 1); /* where we ask it, too */
	setenv("JOBMETER_TOKEN_FILE", place->scrape_token, 1);
	set_agent("JOBMETER_STATE_DIR", "%s/agent", place->dir);
	set_agent("JOBMETER_RUN_DIR", "%s/run", place->dir);
	set_agent("JOBMETER_PIN_DIR", "/sys/fs/bpf/jobmeter-%u", place->port);
}

static int start_agent(struct up *up, struct error *err)
{
	const struct up_place *place = &up->place;
	const char *const words[] = { NULL };
	char listen[32], server[48];
	int r = up_port_check(place->port, "agent", err);

	if (r < 0)
		return r;
	if (place->dir)
		set_agent_place(place);
	snprintf(listen, sizeof(listen), "127.0.0.1:%u", place->port);
	snprintf(server, sizeof(server), "http://127.0.0.1:%u", place->port + 1);
	setenv("JOBMETER_LISTEN", listen, 1);
	setenv("JOBMETER_SERVER", server, 1);
	setenv("JOBMETER_SERVER_TOKEN_FILE", place->push_token, 1);
	set_agent("JOBMETER_CHECKPOINT_INTERVAL", "30s");
	if (!has_manager())
		set_agent("JOBMETER_UNITS", "on");
	r = start_part(up, &up->agent, words, err);
	return r < 0 ? r : await_part(&up->agent, is_agent_ready, place, err);
}

/* ---- both ---- */

/* It may send its records elsewhere, or nowhere. */
static void say_agent_of_others(const struct up_place *p)
{
	_cleanup_(client_closep) struct client *client = NULL;
	_cleanup_(client_agent_clear) struct client_agent agent = {};

	if (client_open(p->agent_socket, &client, NULL) == 0)
		(void)client_get_agent(client, &agent, NULL);
	printf("agent     runs already, at %s; ", p->agent_socket);
	if (agent.push.server)
		printf("it sends to %s\n", agent.push.server);
	else
		printf("it sends nowhere until its setting 'server' is http://127.0.0.1:%u\n",
		       p->port + 1);
}

static void say_where(const struct up *up)
{
	const struct up_place *p = &up->place;

	if (up->has_agent)
		say_agent_of_others(p);
	else
		printf("agent     http://127.0.0.1:%u/metrics (token: %s), %s\n", p->port,
		       p->scrape_token, p->agent_socket);
	printf("server    http://127.0.0.1:%u takes records (token: %s), %s answers users\n",
	       p->port + 1, p->push_token, p->server_socket);
	printf("database  %s\n", p->database);
	if (p->dir)
		printf("jobs      JOBMETER_SOCKET=%s JOBMETER_SERVER_SOCKET=%s jobmeter jobs\n",
		       p->agent_socket, p->server_socket);
	else
		puts("jobs      jobmeter jobs, jobmeter report ID, jobmeter top");
	puts("end       Ctrl-C ends both");
	fflush(stdout);
}

static int start(struct up *up, struct error *err)
{
	char path[PATH_MAX];
	int r = find_program(up->server.name, path, err);

	up->has_agent = is_agent_ready(&up->place);
	if (r == 0 && !up->has_agent)
		r = find_program(up->agent.name, path, err);
	if (r < 0)
		return r;
	if (is_server_ready(&up->place))
		return error_set(err, -EALREADY, "a server answers at '%s' already",
				 up->place.server_socket);
	r = start_server(up, err);
	return r < 0 || up->has_agent ? r : start_agent(up, err);
}

/* Until somebody asks us to end, or one of the two does.  -ECHILD. */
static int wait_for_end(struct up *up, const sigset_t *signals, struct error *err)
{
	for (;;) {
		int number = sigwaitinfo(signals, NULL);

		if (number < 0 && errno != EINTR)
			return error_set_errno(err, errno, "cannot wait");
		if (number > 0 && number != SIGCHLD)
			return 0;
		if (up->server.pid && has_ended(&up->server))
			return say_end(&up->server, err);
		if (up->agent.pid && has_ended(&up->agent))
			return say_end(&up->agent, err);
	}
}

static int serve(struct up *up, struct error *err)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
	sigset_t signals;
	int r;

	sigemptyset(&signals);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaddset(&signals, numbers[i]);
	sigprocmask(SIG_BLOCK, &signals, &up->mask);
	r = start(up, err);
	if (r == 0) {
		say_where(up);
		r = wait_for_end(up, &signals, err);
	}
	end_part(&up->agent); /* first: what it has goes to the server */
	end_part(&up->server);
	return r == -EINTR ? 0 : r;
}

static int run_up(const struct cli_command *command, int argc, char **argv)
{
	struct settings settings = { .port = UP_PORT };
	const struct cli_options group = { options, ARRAY_SIZE(options), &settings };
	struct up up = { .server.name = "jobmeter-server", .agent.name = "jobmeter-agent" };
	struct error err = {};
	int r = cli_parse(command, &group, 1, &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r > 0 && argc > 0)
		r = error_set(&err, -EINVAL, "unexpected argument '%s'", argv[0]);
	if (r < 0)
		return cli_misuse(command, &err);
	if (geteuid() != 0) {
		error_set(&err, -EPERM, "it measures all jobs of this machine, and so wants root");
		return cli_fail(command, &err);
	}
	r = up_place_find(settings.state, settings.port, &up.place, &err);
	if (r == 0)
		r = serve(&up, &err);
	up_place_clear(&up.place);
	return r < 0 ? cli_fail(command, &err) : CLI_WELL;
}

const struct cli_command cmd_up = {
	.name = "up",
	.arguments = "[OPTION...]",
	.summary = "Run an agent and a server on this machine, until Ctrl-C",
	.details =
		"For one machine, and to try it.  Both listen on the loopback alone.  An agent that runs\n"
		"already is used.  Five lines say where they answer and where the database lies.\n",
	.run = run_up,
};
