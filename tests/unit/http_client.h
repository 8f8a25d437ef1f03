/* SPDX-License-Identifier: MIT */
/* http_client - a raw client of an HTTP server that runs in the same process. */
#pragma once

#include <stddef.h>

struct http;

/* Connected sockets that do not block. */
int client_connect(const struct http *server);
int client_connect_unix(const char *path);

/* Send all of @text, the server running meanwhile. */
void client_send(struct http *server, int fd, const char *text);

/* Run the server until it has closed the connection, and give all that it sent, NUL-ended; the
 * caller frees. */
char *client_receive(struct http *server, int fd, size_t *ret_length);

/* Connect, send @text, and receive. */
char *client_ask(struct http *server, const char *text);

/* Wait until the server has something to do, and let it. */
void client_turn(struct http *server);
/* Run the server until it has nothing to do. */
void client_settle(struct http *server);

/* Behind the head; never NULL. */
const char *client_body(const char *answer);
/* The body of an answer in chunks, NUL-ended; NULL: it is not whole.  The caller frees. */
char *client_unchunk(const char *answer, size_t length, size_t *ret_length);
/* What gzip -d makes of it, NUL-ended; NULL: it cannot be.  The caller frees. */
char *client_gunzip(const char *data, size_t length);
