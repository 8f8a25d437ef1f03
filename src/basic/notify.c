/* SPDX-License-Identifier: MIT */
#include "basic/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "basic/cleanup.h"
#include "basic/error.h"

/* "/run/..." or "@abstract", with a NUL as its first byte. */
static int address_of(const char *name, struct sockaddr_un *ret, socklen_t *ret_size)
{
	size_t length = strlen(name);

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if ((*name != '/' && *name != '@') || length < 2 || length >= sizeof(ret->sun_path))
		return -EINVAL;
	memcpy(ret->sun_path, name, length);
	if (*name == '@')
		ret->sun_path[0] = '\0';
	*ret_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (*name == '/'));
	return 0;
}

int notify_send(const char *text, struct error *err)
{
	const char *name = getenv("NOTIFY_SOCKET");
	_cleanup_close_ int fd = -EBADF;
	struct sockaddr_un address;
	socklen_t size;

	if (!name || !*name)
		return 0;
	if (address_of(name, &address, &size) < 0)
		return error_set(err, -EINVAL, "NOTIFY_SOCKET is no address: '%s'", name);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 ||
	    sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, size) < 0)
		return error_set_errno(err, errno, "cannot tell the service manager by '%s'", name);
	return 0;
}
