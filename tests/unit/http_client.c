/* SPDX-License-Identifier: MIT */
#include "http_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>

#include "basic/cleanup.h"
#include "http/http.h"
#include "basic/macro.h"
#include "test.h"

#define PATIENCE_MS 20000 /* for what should come at once; a test that waits so long has failed */

int client_connect(const struct http *server)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(http_port(server)),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ASSERT_OK(connect(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

int client_connect_unix(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	ASSERT_OK(connect(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

/* Wait for either side, and run the server. */
static short wait_for(struct http *server, int fd, short events)
{
	struct pollfd fds[] = { { .fd = http_fd(server), .events = POLLIN },
				{ .fd = fd, .events = events } };
	int timeout = http_timeout_ms(server);
	int n = poll(fds, ARRAY_SIZE(fds), timeout < 0 ? PATIENCE_MS : timeout);

	ASSERT(n >= 0 && !(n == 0 && timeout < 0));
	http_run(server);
	return fds[1].revents;
}

void client_send(struct http *server, int fd, const char *text)
{
	size_t length = strlen(text);

	while (length) {
		ssize_t n = send(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return; /* it has been cut; what was said is still to be read */
		if (n > 0) {
			text += n;
			length -= (size_t)n;
		}
		wait_for(server, fd, n < 0 ? POLLOUT : 0);
	}
}

char *client_receive(struct http *server, int fd, size_t *ret_length)
{
	size_t room = 1 << 16, length = 0;
	char *text = malloc(room + 1);
	ssize_t n = 1;

	while (n) {
		n = recv(fd, text + length, room - length, MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN)
			break; /* reset */
		if (n < 0)
			wait_for(server, fd, POLLIN);
		else
			length += (size_t)n;
		if (length == room)
			text = realloc(text, (room *= 2) + 1);
	}
	close(fd);
	text[length] = '\0';
	if (ret_length)
		*ret_length = length;
	return text;
}

char *client_ask(struct http *server, const char *text)
{
	int fd = client_connect(server);

	client_send(server, fd, text);
	return client_receive(server, fd, NULL);
}

void client_turn(struct http *server)
{
	wait_for(server, -1, 0);
}

void client_settle(struct http *server)
{
	struct pollfd one = { .fd = http_fd(server), .events = POLLIN };

	while (poll(&one, 1, 0) > 0 || http_timeout_ms(server) == 0)
		http_run(server);
}

const char *client_body(const char *answer)
{
	const char *end = strstr(answer, "\r\n\r\n");

	return end ? end + 4 : "";
}

char *client_unchunk(const char *answer, size_t length, size_t *ret_length)
{
	const char *p = client_body(answer), *end = answer + length;
	char *body = malloc(length + 1);
	size_t used = 0;

	for (;;) {
		char *line_end;
		size_t size = strtoul(p, &line_end, 16);

		if (line_end == p || size + 4 > (size_t)(end - line_end))
			break;
		p = line_end + 2;
		if (size == 0) {
			body[used] = '\0';
			*ret_length = used;
			return body;
		}
		memcpy(body + used, p, size);
		used += size;
		p += size + 2;
	}
	free(body);
	return NULL;
}

char *client_gunzip(const char *data, size_t length)
{
	size_t room = 64 << 20;
	char *text = malloc(room);
	z_stream s = { .next_in = (Bytef *)data,
		       .avail_in = (uInt)length,
		       .next_out = (Bytef *)text,
		       .avail_out = (uInt)room - 1 };
	int r = inflateInit2(&s, 31);

	if (r == Z_OK)
		r = inflate(&s, Z_FINISH);
	inflateEnd(&s);
	if (r != Z_STREAM_END) {
		free(text);
		return NULL;
	}
	text[s.total_out] = '\0';
	return text;
}
