/* SPDX-License-Identifier: MIT */
#include "http/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/parse.h"

#define BACKLOG \
	4096 /* the kernel's own default bound: who does not fit in tries again after a second */

static int set_address(const char *host, uint16_t port, bool is_6, struct sockaddr_storage *ret,
		       socklen_t *ret_length)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_in *in = (struct sockaddr_in *)ret;

	*ret = (struct sockaddr_storage){};
	if (is_6) {
		*in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(port) };
		*ret_length = sizeof(*in6);
		return inet_pton(AF_INET6, host, &in6->sin6_addr) == 1 ? 0 : -EINVAL;
	}
	*in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	*ret_length = sizeof(*in);
	return inet_pton(AF_INET, host, &in->sin_addr) == 1 ? 0 : -EINVAL;
}

int listener_parse_address(const char *address, struct sockaddr_storage *ret, socklen_t *ret_length,
			   struct error *err)
{
	struct sockaddr_storage storage;
	const char *colon = strrchr(address, ':');
	bool is_6 = address[0] == '[';
	char host[INET6_ADDRSTRLEN] = "";
	socklen_t length;
	size_t host_length = colon ? (size_t)(colon - address) : 0;
	int port = 0;

	if (is_6 && host_length > 2 && address[host_length - 1] == ']')
		host_length -= 2;
	else if (is_6)
		host_length = 0;
	if (host_length > 0 && host_length < sizeof(host))
		memcpy(host, address + is_6, host_length);
	if (!host[0] || parse_int(colon + 1, 0, UINT16_MAX, &port) < 0 ||
	    set_address(host, (uint16_t)port, is_6, &storage, &length) < 0)
		return error_set(err, -EINVAL,
				 "address '%.200s' is not like 127.0.0.1:9840 or [::1]:9840",
				 address);
	*ret = storage;
	*ret_length = length;
	return 0;
}

int listener_open_tcp(const char *address, int *ret_fd, struct error *err)
{
	_cleanup_close_ int fd = -EBADF;
	struct sockaddr_storage storage = {};
	socklen_t length = 0;
	int on = 1, r = listener_parse_address(address, &storage, &length, err);

	if (r < 0)
		return r;
	fd = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_set_errno(err, errno, "cannot make a socket for %s", address);
	/* a port whose last connections still linger may be taken again; one that is listened on
	 * may not */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (storage.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&storage, length) < 0 || listen(fd, BACKLOG) < 0)
		return error_set_errno(err, errno, "cannot listen on %s", address);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int set_path(const char *path, struct sockaddr_un *ret, struct error *err)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ret->sun_path))
		return error_set(err, -ENAMETOOLONG,
				 "the path of socket '%.200s' is longer than %zu bytes", path,
				 sizeof(ret->sun_path) - 1);
	memcpy(ret->sun_path, path, strlen(path) + 1);
	return 0;
}

static int remove_stale(const struct sockaddr_un *address, struct error *err)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (fd < 0)
		return error_set_errno(err, errno, "cannot make a socket");
	if (lstat(address->sun_path, &st) < 0)
		return errno == ENOENT
			       ? 0
			       : error_set_errno(err, errno, "cannot read '%s'", address->sun_path);
	if (!S_ISSOCK(st.st_mode))
		return error_set(err, -EEXIST, "'%s' is there and is no socket", address->sun_path);
	/* EAGAIN: it is listened on, and busy */
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN)
		return error_set(err, -EADDRINUSE, "another process listens on '%s'",
				 address->sun_path);
	if (errno != ECONNREFUSED && errno != ENOENT)
		return error_set_errno(err, errno, "cannot check for a listener on '%s'",
				       address->sun_path);
	if (unlink(address->sun_path) < 0 && errno != ENOENT)
		return error_set_errno(err, errno, "cannot remove the old socket '%s'",
				       address->sun_path);
	return 0;
}

int listener_remove_stale(const char *path, struct error *err)
{
	struct sockaddr_un address;
	int r = set_path(path, &address, err);

	return r < 0 ? r : remove_stale(&address, err);
}

int listener_open_unix(const char *path, mode_t mode, int *ret_fd, struct error *err)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	int r = set_path(path, &address, err);

	if (r == 0 && fd < 0)
		r = error_set_errno(err, errno, "cannot make a socket");
	if (r == 0)
		r = remove_stale(&address, err);
	if (r < 0)
		return r;
	fchmod(fd, mode); /* the file is born with no more than that; the umask may take from it...
			   */
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return error_set_errno(err, errno, "cannot listen on '%s'", address.sun_path);
	if (chmod(address.sun_path, mode) < 0 || listen(fd, BACKLOG) < 0) { /* ... which is given
									       back */
		r = error_set_errno(err, errno, "cannot listen on '%s'", address.sun_path);
		unlink(address.sun_path);
		return r;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

uint16_t listener_port(int fd)
{
	struct sockaddr_storage storage = {};
	socklen_t length = sizeof(storage);

	if (getsockname(fd, (struct sockaddr *)&storage, &length) < 0)
		return 0;
	if (storage.ss_family == AF_INET)
		return ntohs(((struct sockaddr_in *)&storage)->sin_port);
	if (storage.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&storage)->sin6_port);
	return 0;
}
