/* SPDX-License-Identifier: MIT */
/*
 * notify - tells the service manager how far we are: sd_notify(3)'s datagram, without its library.
 *
 * What is told are lines of "READY=1", "RELOADING=1", "STOPPING=1", "STATUS=in words",
 * "MONOTONIC_USEC=...".
 */
#pragma once

struct error;

/* 0: told, or nobody asks ($NOTIFY_SOCKET is not set); never waits.  -EINVAL: $NOTIFY_SOCKET is no
 * such address. */
int notify_send(const char *text, struct error *err);
