/* SPDX-License-Identifier: MIT */
#include "served.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "keeper.h"
#include "basic/macro.h"
#include "basic/parse.h"

#define START_TRIES                                                                  \
	6000 /* of 10 ms: in an emulated guest with 1,000 jobs a start takes a while \
	      */
#define CHILDREN_MAX 16
#define MAPS_MAX 256

struct served {
	pid_t pid, keeper;
	int pid_fd;
	int port;
	const char *name;
};

static int connect_to(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int ask(const struct served *s, int fd, const char *path, bool wants_gzip, struct error *err)
{
	char request[768];

	snprintf(request, sizeof(request),
		 "GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n%sConnection: close\r\n\r\n", path,
		 wants_gzip ? "Accept-Encoding: gzip\r\n" : "");
	return send(fd, request, strlen(request), MSG_NOSIGNAL) < 0
		       ? error_set_errno(err, errno, "cannot ask %s", s->name)
		       : 0;
}

/* Takes the answer to its end; its head comes in one piece. */
static int take_page(const struct served *s, int fd, uint64_t begin_ns, struct served_page *ret,
		     struct error *err)
{
	char block[65536];
	size_t total = 0, head = 0;
	bool is_good = false;
	ssize_t n;

	while ((n = recv(fd, block, sizeof(block), 0)) > 0) {
		const char *end = total ? NULL : memmem(block, (size_t)n, "\r\n\r\n", 4);

		if (!total) {
			is_good = n > 12 && strncmp(block, "HTTP/1.", 7) == 0 &&
				  strncmp(block + 9, "200", 3) == 0;
			ret->first_ns = now_ns() - begin_ns;
		}
		if (end)
			head = (size_t)(end + 4 - block);
		total += (size_t)n;
	}
	if (n < 0 || !is_good || total <= head)
		return error_set(err, -EPROTO, "%s did not answer", s->name);
	ret->last_ns = now_ns() - begin_ns;
	ret->bytes = total - head;
	return 0;
}

static int get(const struct served *s, const char *path, bool wants_gzip, struct served_page *ret,
	       struct error *err)
{
	uint64_t begin_ns = now_ns();
	_cleanup_close_ int fd = connect_to(s->port);
	int r;

	if (fd < 0)
		return error_set_errno(err, fd, "cannot connect to %s", s->name);
	r = ask(s, fd, path, wants_gzip, err);
	return r < 0 ? r : take_page(s, fd, begin_ns, ret, err);
}

int served_scrape(struct served *s, bool wants_gzip, struct served_page *ret, struct error *err)
{
	return get(s, "/metrics", wants_gzip, ret, err);
}

int served_ask_meanwhile(struct served *s, uint64_t *ret_health_ns, struct error *err)
{
	_cleanup_close_ int slow = connect_to(s->port);
	struct served_page page, health;
	char byte;
	int r;

	if (slow < 0)
		return error_set_errno(err, slow, "cannot connect to %s", s->name);
	r = ask(s, slow, "/metrics", false, err);
	if (r >= 0 && recv(slow, &byte, 1, MSG_PEEK) != 1)
		r = error_set_errno(err, errno, "%s did not answer", s->name);
	if (r >= 0)
		r = get(s, "/health", false, &health, err);
	if (r < 0)
		return r;
	*ret_health_ns = health.last_ns;
	return take_page(s, slow, 0, &page, err);
}

static bool has_ended(struct served *s)
{
	if (waitpid(s->pid, NULL, WNOHANG) != s->pid)
		return false;
	s->pid = 0;
	return true;
}

/* A signal at the parent's death is lost to who gives up rights, as the agent does. */
static void end(const void *what)
{
	const struct served *s = what;

	(void)syscall(SYS_pidfd_send_signal, s->pid_fd, SIGTERM, NULL, 0);
}

int served_start(char *const argv[], int port, struct served **ret, struct error *err)
{
	_cleanup_(served_stopp) struct served *s = calloc(1, sizeof(*s));
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct served_page page;

	if (!s)
		return -ENOMEM;
	*s = (struct served){ .port = port, .name = argv[0], .pid_fd = -EBADF };
	s->pid = fork();
	if (s->pid == 0) {
		int null_fd = open("/dev/null", O_RDWR);

		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		dup2(null_fd, STDOUT_FILENO);
		if (!getenv("BENCH_DEBUG"))
			dup2(null_fd, STDERR_FILENO);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (s->pid < 0)
		return error_set_errno(err, errno, "cannot start a process");
	s->pid_fd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	if (s->pid_fd < 0 || keeper_start(end, s, &s->keeper, err) < 0)
		return error_set_errno(err, errno, "cannot keep an eye on %s", argv[0]);
	for (int i = 0; i < START_TRIES && !has_ended(s); i++) {
		if (served_scrape(s, false, &page, NULL) == 0) {
			*ret = TAKE_PTR(s);
			return 0;
		}
		nanosleep(&pause, NULL);
	}
	return error_set(err, -ESRCH, "%s %s on port %d (BENCH_DEBUG=1 shows what it says)",
			 argv[0], s->pid ? "does not answer" : "has ended and not answered", port);
}

struct served *served_stop(struct served *s)
{
	if (!s)
		return NULL;
	if (s->pid > 0) {
		kill(s->pid, SIGTERM);
		waitpid(s->pid, NULL, 0);
	}
	keeper_dismiss(s->keeper);
	closep(&s->pid_fd);
	free(s);
	return NULL;
}

void served_stopp(struct served **s)
{
	served_stop(*s);
}

/* The process and its children. */
static size_t list_processes(const struct served *s, pid_t pids[CHILDREN_MAX])
{
	char path[64], text[1024], *rest = text, *word;
	size_t count = 0;
	int pid;

	pids[count++] = s->pid;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", s->pid, s->pid);
	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
		return count;
	while (count < CHILDREN_MAX && (word = parse_next_word(&rest))) {
		if (parse_int(word, 1, INT32_MAX, &pid) == 0)
			pids[count++] = pid;
	}
	return count;
}

uint64_t served_cpu_ns(const struct served *s)
{
	pid_t pids[CHILDREN_MAX];
	size_t count = list_processes(s, pids);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		struct timespec t;
		clockid_t clock;

		if (clock_getcpuclockid(pids[i], &clock) == 0 && clock_gettime(clock, &t) == 0)
			sum += (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	}
	return sum;
}

static uint64_t read_number(pid_t pid, const char *file, const char *key)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	uint64_t number = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	if (file_read(AT_FDCWD, path, 1 << 20, &text, NULL) >= 0)
		(void)parse_keyed_u64(text, key, ':', &number);
	return number;
}

/* Of all threads that live: one that ends takes its own with it. */
static uint64_t sleeps_of(pid_t pid)
{
	struct dirent *entry;
	uint64_t sum = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		char status[300];

		snprintf(status, sizeof(status), "task/%s/status", entry->d_name);
		if (*entry->d_name != '.')
			sum += read_number(pid, status, "voluntary_ctxt_switches");
	}
	if (dir)
		closedir(dir);
	return sum;
}

uint64_t served_sleeps(const struct served *s)
{
	pid_t pids[CHILDREN_MAX];
	size_t count = list_processes(s, pids);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += sleeps_of(pids[i]);
	return sum;
}

struct map_list {
	uint64_t ids[MAPS_MAX];
	size_t count;
};

/* A map counts once, however many descriptors there are of it. */
static uint64_t map_bytes_of(const char *text, struct map_list *seen)
{
	uint64_t id, bytes;

	if (parse_keyed_u64(text, "map_id", ':', &id) < 0 ||
	    parse_keyed_u64(text, "memlock", ':', &bytes) < 0)
		return 0;
	for (size_t i = 0; i < seen->count; i++) {
		if (seen->ids[i] == id)
			return 0;
	}
	if (seen->count < MAPS_MAX)
		seen->ids[seen->count++] = id;
	return bytes;
}

static uint64_t weigh_maps(pid_t pid, struct map_list *seen)
{
	char path[64], text[4096];
	struct dirent *entry;
	uint64_t sum = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (file_read_small(dirfd(dir), entry->d_name, text, sizeof(text)) > 0)
			sum += map_bytes_of(text, seen);
	}
	if (dir)
		closedir(dir);
	return sum;
}

void served_weigh(const struct served *s, struct served_weight *ret)
{
	struct map_list seen = {};
	pid_t pids[CHILDREN_MAX];
	size_t count = list_processes(s, pids);

	*ret = (struct served_weight){};
	for (size_t i = 0; i < count; i++) {
		*(i == 0 ? &ret->rss_bytes
			 : &ret->children_bytes) += read_number(pids[i], "status", "VmRSS") * 1024;
		ret->pss_bytes += read_number(pids[i], "smaps_rollup", "Pss") * 1024;
		ret->map_bytes += weigh_maps(pids[i], &seen);
	}
}
