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
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "cgroup/managers.h"
#include "cli/commands.h"
#include "client/client.h"
#include "client/server_client.h"

#define PORT 9840 /* the agent's; the server's is the next */
#define START_S 60 /* to load what counts on a slow machine */
#define END_S 30 /* the agent writes what it has, and sends it */
#define LOOK_MS 50
#define NS_PER_S UINT64_C(1000000000)

enum { AGENT_SOCKET, SERVER_SOCKET_PATH, DATABASE, PUSH_TOKEN, SCRAPE_TOKEN, PATHS };

static const struct {
	const char *usual, *name; /* name: below --state */
} places[PATHS] = {
	[AGENT_SOCKET] = { "/run/jobmeter/agent.sock", "agent.sock" },
	[SERVER_SOCKET_PATH] = { "/run/jobmeter/server.sock", "server.sock" },
	[DATABASE] = { "/var/lib/jobmeter-server/jobs.db", "server/jobs.db" },
	[PUSH_TOKEN] = { "/etc/jobmeter/push.token", "push.token" },
	[SCRAPE_TOKEN] = { "/etc/jobmeter/scrape.token", "scrape.token" },
};

enum { SERVER, AGENT, PARTS }; /* as they start: the agent reads the token that the server makes */

struct up {
	const char *state; /* --state, or NULL */
	int port;
	char dir[PATH_MAX]; /* the same as an absolute path; "" */
	char paths[PATHS][PATH_MAX];
	bool has_agent; /* one that runs already */
	pid_t pids[PARTS]; /* 0: it does not run, or another's does */
	sigset_t signals, mask; /* those that we wait for; as it was before */
};

static int parse_port(const char *text, void *at, struct error *err)
{
	return parse_int(text, 1, 65534, at) == 0
		       ? 0
		       : error_set(err, -EINVAL, "'--port' is a number from 1 to 65534, not '%s'",
				   text);
}

#define AT(member) offsetof(struct up, member)
/* clang-format off */
static const struct cli_option options[] = {
	{ "state", 0, "DIR", "keep all files and sockets in DIR, not in the usual places", AT(state), NULL },
	{ "port", 0, "PORT", "the agent's port, the server has the next (default: 9840)", AT(port), parse_port },
};
/* clang-format on */

/* ---- where they keep what they have ---- */

static int find_places(struct up *up, struct error *err)
{
	int r;

	umask(022); /* as of both: the server is another user */
	r = up->state ? file_make_dirs(up->state, 0755) : 0;
	if (r < 0 || (up->state && !realpath(up->state, up->dir)))
		return error_set_errno(err, r < 0 ? r : errno, "cannot make the directory '%s'",
				       up->state);
	for (size_t i = 0; i < PATHS; i++) {
		if (snprintf(up->paths[i], PATH_MAX, "%s%s%s", up->dir, *up->dir ? "/" : "",
			     *up->dir ? places[i].name : places[i].usual) >= PATH_MAX)
			return error_set_errno(err, ENAMETOOLONG, "'%s'", up->dir);
	}
	return 0;
}

/* ---- their settings ---- */

/* @is_ours: in place of an existing one. */
PRINTF_LIKE(3, 4) static void set(const char *name, bool is_ours, const char *format, ...)
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
		setenv(name, text, is_ours);
}

static void set_server(const struct up *up)
{
	set("JOBMETER_SERVER_LISTEN", true, "127.0.0.1:%d", up->port + 1);
	set("JOBMETER_SERVER_TOKEN_FILE", true, "%s", up->paths[PUSH_TOKEN]);
	set("JOBMETER_SERVER_SOCKET_PATH", true, "%s", up->paths[SERVER_SOCKET_PATH]);
	set("JOBMETER_SERVER_DATABASE", true, "%s", up->paths[DATABASE]);
}

static bool has_manager(void)
{
	_cleanup_close_ int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct managers managers = {};

	if (fd >= 0)
		managers_read(fd, &managers);
	return managers.count > 0;
}

static void set_agent(const struct up *up)
{
	set("JOBMETER_LISTEN", true, "127.0.0.1:%d", up->port);
	set("JOBMETER_SERVER", true, "http://127.0.0.1:%d", up->port + 1);
	set("JOBMETER_SERVER_TOKEN_FILE", true, "%s", up->paths[PUSH_TOKEN]);
	set("JOBMETER_CHECKPOINT_INTERVAL", false, "30s");
	if (!has_manager())
		set("JOBMETER_UNITS", false, "on");
	if (!*up->dir)
		return;
	set("JOBMETER_SOCKET_PATH", true, "%s", up->paths[AGENT_SOCKET]);
	set("JOBMETER_TOKEN_FILE", true, "%s", up->paths[SCRAPE_TOKEN]);
	set("JOBMETER_STATE_DIR", false, "%s/agent", up->dir);
	set("JOBMETER_RUN_DIR", false, "%s/run", up->dir);
	set("JOBMETER_PIN_DIR", false, "/sys/fs/bpf/jobmeter-%d", up->port);
}

/* ---- one of the two ---- */

static bool is_server_ready(const struct up *up)
{
	_cleanup_(server_client_closep) struct server_client *client = NULL;

	return server_client_open(up->paths[SERVER_SOCKET_PATH], &client, NULL) == 0 &&
	       server_client_greet(client, NULL) == 0;
}

static bool is_agent_ready(const struct up *up)
{
	_cleanup_(client_closep) struct client *client = NULL;

	return client_open(up->paths[AGENT_SOCKET], &client, NULL) == 0;
}

static const struct part {
	const char *name;
	bool (*is_ready)(const struct up *up);
	void (*set)(const struct up *up); /* the environment, which is its settings */
} parts[PARTS] = {
	[SERVER] = { "jobmeter-server", is_server_ready, set_server },
	[AGENT] = { "jobmeter-agent", is_agent_ready, set_agent },
};

/* In the child: the program beside our own.  A terminal's Ctrl-C reaches us alone, so that the
 * agent can end before the server.  If we are killed both end by themselves (privileges_drop()
 * keeps that over their change of user). */
static void become(const struct up *up, const struct part *part, pid_t parent)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char path[PATH_MAX + 32] = "";
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	setpgid(0, 0);
	dup2(null, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO); /* ours is what we say */
	unsetenv("JOBMETER_SOCKET"); /* of clients, no settings */
	unsetenv("JOBMETER_SERVER_SOCKET");
	part->set(up);
	sigprocmask(SIG_SETMASK, &up->mask, NULL);
	if (length > 0) {
		path[length] = '\0';
		snprintf(strrchr(path, '/') + 1, 32, "%s", part->name);
		execl(path, part->name, NULL);
	}
	fprintf(stderr, "jobmeter up: cannot run '%s': %s\n", path, strerror(errno));
	_exit(127);
}

/* Look after both for so long.  -EINTR: we were asked to end; -ECHILD: one of them has ended. */
static int watch(struct up *up, long ms, struct error *err)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
	int number = sigtimedwait(&up->signals, NULL, &time);

	if (number > 0 && number != SIGCHLD)
		return -EINTR;
	for (size_t i = 0; i < PARTS; i++) {
		int status;

		if (!up->pids[i] || waitpid(up->pids[i], &status, WNOHANG) != up->pids[i])
			continue;
		up->pids[i] = 0;
		return error_set(err, -ECHILD, "%s %s %d", parts[i].name,
				 WIFSIGNALED(status) ? "was killed by signal" : "ended with status",
				 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	return 0;
}

static int start_part(struct up *up, size_t which, struct error *err)
{
	uint64_t until_ns = clock_now_ns(CLOCK_MONOTONIC) + START_S * NS_PER_S;
	const struct part *part = &parts[which];
	pid_t parent = getpid(), pid = fork();
	int r = 0;

	if (pid < 0)
		return error_set_errno(err, errno, "cannot start %s", part->name);
	if (pid == 0)
		become(up, part, parent);
	up->pids[which] = pid;
	while (r == 0 && !part->is_ready(up)) {
		r = watch(up, LOOK_MS, err);
		if (r == 0 && clock_now_ns(CLOCK_MONOTONIC) > until_ns)
			r = error_set(err, -ETIMEDOUT, "%s does not answer after %d s", part->name,
				      START_S);
	}
	return r;
}

/* As systemd would: what does not end is killed. */
static void end_part(pid_t pid)
{
	uint64_t until_ns = clock_now_ns(CLOCK_MONOTONIC) + END_S * NS_PER_S;

	if (!pid)
		return;
	kill(pid, SIGTERM);
	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (clock_now_ns(CLOCK_MONOTONIC) > until_ns)
			kill(pid, SIGKILL);
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * 1000000L }, NULL);
	}
}

/* ---- both ---- */

static void say_page(const struct up *up)
{
	_cleanup_(server_client_closep) struct server_client *client = NULL;
	_cleanup_free_ char *link = NULL;

	if (server_client_open(up->paths[SERVER_SOCKET_PATH], &client, NULL) == 0 &&
	    server_client_make_link(client, &link, NULL) == 0)
		printf("page      %s signs in as root, once\n", link);
}

static int serve(struct up *up, struct error *err)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
	int r;

	sigemptyset(&up->signals);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaddset(&up->signals, numbers[i]);
	sigprocmask(SIG_BLOCK, &up->signals, &up->mask);
	up->has_agent = is_agent_ready(up);
	r = start_part(up, SERVER, err);
	if (r == 0 && !up->has_agent)
		r = start_part(up, AGENT, err);
	if (r == 0) {
		const char(*paths)[PATH_MAX] = up->paths;

		if (up->has_agent)
			printf("agent     runs already, at %s; its setting 'server' has to be "
			       "http://127.0.0.1:%d\n",
			       paths[AGENT_SOCKET], up->port + 1);
		else
			printf("agent     http://127.0.0.1:%d/metrics (token: %s), %s\n", up->port,
			       paths[SCRAPE_TOKEN], paths[AGENT_SOCKET]);
		printf("server    http://127.0.0.1:%d takes records (token: %s), %s answers users\n",
		       up->port + 1, paths[PUSH_TOKEN], paths[SERVER_SOCKET_PATH]);
		printf("database  %s\n", paths[DATABASE]);
		if (*up->dir)
			printf("jobs      JOBMETER_SOCKET=%s JOBMETER_SERVER_SOCKET=%s jobmeter jobs\n",
			       paths[AGENT_SOCKET], paths[SERVER_SOCKET_PATH]);
		else
			puts("jobs      jobmeter jobs, jobmeter report ID, jobmeter top");
		say_page(up);
		puts("end       Ctrl-C ends both");
		fflush(stdout);
	}
	while (r == 0)
		r = watch(up, 1000, err);
	end_part(up->pids[AGENT]); /* first: what it has goes to the server */
	end_part(up->pids[SERVER]);
	return r == -EINTR ? 0 : r;
}

static int run_up(const struct cli_command *command, int argc, char **argv)
{
	struct up up = { .port = PORT };
	const struct cli_options group = { options, ARRAY_SIZE(options), &up };
	struct error err = {};
	int r = cli_parse(command, &group, 1, &argc, argv, &err);

	if (r == 0)
		return CLI_WELL;
	if (r > 0 && argc > 0)
		r = error_set(&err, -EINVAL, "unexpected argument '%s'", argv[0]);
	if (r < 0)
		return cli_misuse(command, &err);
	if (geteuid() != 0)
		r = error_set(&err, -EPERM,
			      "it measures all jobs of this machine, and so wants root");
	else
		r = find_places(&up, &err);
	if (r == 0)
		r = serve(&up, &err);
	return r < 0 ? cli_fail(command, &err) : CLI_WELL;
}

const struct cli_command cmd_up = {
	.name = "up",
	.arguments = "[OPTION...]",
	.summary = "Run an agent and a server on this machine, until Ctrl-C",
	.details =
		"For one machine, and to try jobmeter.  Both listen on the loopback only.  A running agent is\n"
		"used.  Six lines show their addresses, the database, and a link that opens the jobs in a\n"
		"browser once.\n",
	.run = run_up,
};
