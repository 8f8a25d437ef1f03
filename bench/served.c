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
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "error.h"
#include "file.h"
#include "macro.h"
#include "parse.h"

#define START_TRIES 1000 /* of 10 ms */
#define CHILDREN_MAX 16
#define MAPS_MAX 256

struct served {
	pid_t pid;
	int port;
	const char *name, *token;
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

int served_scrape(struct served *s, size_t *ret_bytes, struct error *err)
{
	_cleanup_close_ int fd = connect_to(s->port);
	char request[512], block[65536];
	size_t total = 0, head = 0;
	bool is_good = false;
	ssize_t n;

	if (fd < 0)
		return error_set_errno(err, fd, "cannot connect to %s", s->name);
	snprintf(request, sizeof(request), "GET /metrics HTTP/1.0\r\nHost: 127.0.0.1\r\n%s%s%sConnection: close\r\n\r\n",
		 s->token ? "Authorization: Bearer " : "", s->token ? s->token : "", s->token ? "\r\n" : "");
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		return error_set_errno(err, errno, "cannot ask %s", s->name);
	while ((n = recv(fd, block, sizeof(block), 0)) > 0) {
		const char *end = total ? NULL : memmem(block, (size_t)n, "\r\n\r\n", 4);

		if (!total)
			is_good = n > 12 && strncmp(block, "HTTP/1.", 7) == 0 && strncmp(block + 9, "200", 3) == 0;
		if (end)
			head = (size_t)(end + 4 - block);
		total += (size_t)n;
	}
	if (n < 0 || !is_good || total <= head)
		return error_set(err, -EPROTO, "%s did not answer a scrape", s->name);
	*ret_bytes = total - head;
	return 0;
}

static bool has_ended(struct served *s)
{
	if (waitpid(s->pid, NULL, WNOHANG) != s->pid)
		return false;
	s->pid = 0;
	return true;
}

int served_start(char *const argv[], int port, const char *token, struct served **ret, struct error *err)
{
	_cleanup_(served_stopp) struct served *s = calloc(1, sizeof(*s));
	const struct timespec pause = { .tv_nsec = 10000000 };
	size_t bytes;

	if (!s)
		return -ENOMEM;
	*s = (struct served){ .port = port, .name = argv[0], .token = token };
	s->pid = fork();
	if (s->pid == 0) {
		int null_fd = open("/dev/null", O_RDWR);

		prctl(PR_SET_PDEATHSIG, SIGTERM);
		dup2(null_fd, STDOUT_FILENO);
		if (!getenv("BENCH_DEBUG"))
			dup2(null_fd, STDERR_FILENO);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (s->pid < 0)
		return error_set_errno(err, errno, "cannot start a process");
	for (int i = 0; i < START_TRIES && !has_ended(s); i++) {
		if (served_scrape(s, &bytes, NULL) == 0) {
			*ret = TAKE_PTR(s);
			return 0;
		}
		nanosleep(&pause, NULL);
	}
	return error_set(err, -ESRCH, "%s %s on port %d (BENCH_DEBUG=1 shows what it says)", argv[0],
			 s->pid ? "does not answer" : "has ended and not answered", port);
}

struct served *served_stop(struct served *s)
{
	if (!s)
		return NULL;
	if (s->pid > 0) {
		kill(s->pid, SIGTERM);
		waitpid(s->pid, NULL, 0);
	}
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

static uint64_t read_kib(pid_t pid, const char *file, const char *key)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	uint64_t kib = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	if (file_read(AT_FDCWD, path, 1 << 20, &text, NULL) >= 0)
		(void)parse_keyed_u64(text, key, ':', &kib);
	return kib * 1024;
}

struct map_list {
	uint64_t ids[MAPS_MAX];
	size_t count;
};

/* A map counts once, however many descriptors there are of it. */
static uint64_t map_bytes_of(const char *text, struct map_list *seen)
{
	uint64_t id, bytes;

	if (parse_keyed_u64(text, "map_id", ':', &id) < 0 || parse_keyed_u64(text, "memlock", ':', &bytes) < 0)
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
		ret->rss_bytes += read_kib(pids[i], "status", "VmRSS");
		ret->pss_bytes += read_kib(pids[i], "smaps_rollup", "Pss");
		ret->map_bytes += weigh_maps(pids[i], &seen);
	}
}
