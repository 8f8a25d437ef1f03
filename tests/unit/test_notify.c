/* SPDX-License-Identifier: MIT */
#include "basic/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "test.h"

static int listen_at(const struct sockaddr_un *address, size_t length)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ASSERT_OK(bind(fd, (const struct sockaddr *)address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)));
	return fd;
}

static void expect(int fd, const char *wanted)
{
	char text[64] = "";

	ASSERT(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) >= 0);
	ASSERT_STREQ(text, wanted);
}

TEST(a_managers_socket_gets_the_lines)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -EBADF;
	struct error err;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", test_dir());
	fd = listen_at(&address, strlen(address.sun_path) + 1);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	ASSERT_OK(notify_send("READY=1\nSTATUS=well", &err));
	expect(fd, "READY=1\nSTATUS=well");
}

TEST(an_abstract_socket_is_one_too)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -EBADF;
	char name[64];
	struct error err;

	snprintf(name, sizeof(name), "@jobmeter-test-%d", getpid());
	memcpy(address.sun_path, name, strlen(name));
	address.sun_path[0] = '\0';
	fd = listen_at(&address, strlen(name));
	setenv("NOTIFY_SOCKET", name, 1);
	ASSERT_OK(notify_send("STOPPING=1", &err));
	expect(fd, "STOPPING=1");
}

TEST(nobody_who_asks_is_told_nothing)
{
	unsetenv("NOTIFY_SOCKET");
	ASSERT_OK(notify_send("READY=1", NULL));
	setenv("NOTIFY_SOCKET", "", 1);
	ASSERT_OK(notify_send("READY=1", NULL));
}

TEST(what_is_no_address_is_refused)
{
	char long_name[256];
	struct error err;

	memset(long_name, 'x', sizeof(long_name));
	long_name[0] = '/';
	long_name[sizeof(long_name) - 1] = '\0';
	setenv("NOTIFY_SOCKET", long_name, 1);
	ASSERT_ERR(notify_send("READY=1", &err), -EINVAL);
	setenv("NOTIFY_SOCKET", "vsock:2:1", 1);
	ASSERT_ERR(notify_send("READY=1", &err), -EINVAL);
	ASSERT_STREQ(err.text, "NOTIFY_SOCKET is no address: 'vsock:2:1'");
	setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
	ASSERT_ERR(notify_send("READY=1", &err), -ENOENT);
}
