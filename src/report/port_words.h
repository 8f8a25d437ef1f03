/* SPDX-License-Identifier: MIT */
/* port_words - what went through a fabric port while the job had the node for itself, in words. */
#pragma once

struct port;

/* "mlx5_0/1: sent 3.8 GiB, received 7.6 GiB (1.9 M and 3.8 M packets), 3 discarded", as far as it is known; the caller
 * frees.  NULL: no memory. */
char *port_words(const struct port *port);
