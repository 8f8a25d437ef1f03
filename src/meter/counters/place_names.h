/* SPDX-License-Identifier: MIT */
/*
 * place_names - stable names of places (see naming.h), the site's own where it gave a mount one: a
 * place keeps its name as long as rows need it, whatever is mounted or unmounted later, so that no
 * counter of a mount ever falls.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"

struct error;
struct naming;
struct place_names;
struct site_mount;

/* @whose: use the mounts of this process ("self"); NULL: the host's, as jobs have them. @sites
 * stays the caller's. */
int place_names_open(int root_fd, const char *whose, const struct site_mount *sites,
		     size_t site_count, struct place_names **ret, struct error *err);
struct place_names *place_names_close(struct place_names *p); /* NULL is fine; returns NULL */

/* Read the mounts again if they changed.  @superblocks_fd: the kernel side's map.  @forgets: all
 * needed names will be requested now; those not requested since the last such call are forgotten.
 * */
int place_names_refresh(struct place_names *p, int superblocks_fd, bool forgets, struct error *err);

/* As of the last refresh, and good until the next. */
struct naming *place_names_naming(struct place_names *p);

/* Good until the next refresh.  NULL: no memory. */
const struct snapshot_mount *place_names_get(struct place_names *p, uint64_t place);
