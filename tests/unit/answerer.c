/* SPDX-License-Identifier: MIT */
#include "answerer.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"

int listen_at(const char *name, char *ret_path, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(ret_path, size, "%s/%s", test_dir(), name);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", ret_path);
	unlink(ret_path);
	ASSERT(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	ASSERT(listen(fd, 8) == 0);
	return fd;
}

pid_t answer_with(int fd, const char *const *answers, FILE *log)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (; *answers; answers++) {
		int connection = accept(fd, NULL, NULL);
		char request[4096] = "";
		ssize_t n = recv(connection, request, sizeof(request) - 1, 0);

		request[n > 0 ? n : 0] = '\0';
		fprintf(log, "%.*s\n", (int)strcspn(request, "\r"), request);
		fflush(log);
		(void)send(connection, *answers, strlen(*answers), MSG_NOSIGNAL);
		close(connection);
	}
	_exit(0);
}
