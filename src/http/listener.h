/* SPDX-License-Identifier: MIT */
/* listener - sockets that wait for clients: TCP addresses and Unix sockets. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct error;

/* "127.0.0.1:9840", "[::1]:9840": numbers only, since a name may mean another address tomorrow.
 * Port 0: any. -EINVAL. */
int listener_parse_address(const char *address, struct sockaddr_storage *ret, socklen_t *ret_length,
			   struct error *err);

/* Both give a socket that listens and does not block. */
int listener_open_tcp(const char *address, int *ret_fd, struct error *err);

/* A socket file without a listener is replaced; -EADDRINUSE: it has one; -EEXIST: it is no
 * socket. */
int listener_open_unix(const char *path, mode_t mode, int *ret_fd, struct error *err);

/* Remove a socket file that is left over; what is listened on, or is none, stays.  0: there is none
 * now. */
int listener_remove_stale(const char *path, struct error *err);

/* The port of a TCP socket; 0 for others. */
uint16_t listener_port(int fd);
