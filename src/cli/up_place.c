/* SPDX-License-Identifier: MIT */
#include "cli/up_place.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"

void up_place_clear(struct up_place *p)
{
	free(p->dir);
	free(p->agent_socket);
	free(p->server_socket);
	free(p->database);
	free(p->push_token);
	free(p->scrape_token);
	*p = (struct up_place){};
}

static bool set_paths(struct up_place *p)
{
	const struct {
		char **path;
		const char *usual, *name;
	} rows[] = {
		{ &p->agent_socket, "/run/jobmeter/agent.sock", "agent.sock" },
		{ &p->server_socket, "/run/jobmeter/server.sock", "server.sock" },
		{ &p->database, "/var/lib/jobmeter-server/jobs.db", "server/jobs.db" },
		{ &p->push_token, "/etc/jobmeter/push.token", "push.token" },
		{ &p->scrape_token, "/etc/jobmeter/scrape.token", "scrape.token" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = p->dir ? asprintf(rows[i].path, "%s/%s", p->dir, rows[i].name)
			       : asprintf(rows[i].path, "%s", rows[i].usual);

		if (r < 0) {
			*rows[i].path = NULL;
			return false;
		}
	}
	return true;
}

int up_place_find(const char *dir, unsigned int port, struct up_place *ret, struct error *err)
{
	_cleanup_(up_place_clear) struct up_place p = { .port = port };

	if (dir) {
		int r = file_make_dirs(dir, 0755);

		p.dir = r < 0 ? NULL : realpath(dir, NULL);
		if (!p.dir)
			return error_set_errno(err, r < 0 ? r : errno,
					       "cannot make the directory '%s'", dir);
	}
	if (!set_paths(&p))
		return error_set_errno(err, ENOMEM, "cannot name the files");
	*ret = p;
	p = (struct up_place){};
	return 0;
}

int up_port_check(unsigned int port, const char *whose, struct error *err)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons((uint16_t)port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return error_set_errno(err, errno, "cannot look at port %u", port);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return 0;
	if (errno == EADDRINUSE)
		return error_set(err, -EADDRINUSE,
				 "port %u, which the %s is to have, is taken by another program; "
				 "'--port' names another",
				 port, whose);
	return error_set_errno(err, errno, "cannot listen on port %u", port);
}
