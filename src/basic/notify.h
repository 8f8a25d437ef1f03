/* SPDX-License-Identifier: MIT */
/*
 * notify - reports progress to the service manager: sd_notify(3)'s datagram, without its library.
 *
 * The text is lines of "READY=1", "RELOADING=1", "STOPPING=1", "STATUS=in words",
 * "MONOTONIC_USEC=...".
 */
#pragma once

struct error;

/* 0: sent, or $NOTIFY_SOCKET is not set; never waits.  -EINVAL: $NOTIFY_SOCKET is no
 * such address. */
int notify_send(const char *text, struct error *err);
