/* SPDX-License-Identifier: MIT */
/*
 * pins - files of a BPF file system that keep what is in the kernel there when this process ends.
 *
 *     PIN_DIR/                  0700, ours alone
 *       0123456789abcdef/       a set: a layout's name
 *         maps/OBJECT-MAP       with '_' for '.', which such a file system does not take
 *         programs/PROGRAM
 *         links/PROGRAM
 *         hooks                 see pinned.h; without it a set is not complete
 *
 * All need to write to those directories, which is root's alone.
 */
#pragma once

#include <sys/types.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct dir;
struct loading;

/* A hash of all that decides how the maps are laid out and what they mean: a process can take over
 * pins with the same layout. */
struct layout {
	uint64_t hash;
};

#define LAYOUT_NAME_SIZE 17 /* 16 hexadecimal digits */

void layout_begin(struct layout *ret);

/* One thing after the other; where one ends counts too. */
void layout_add(struct layout *l, const void *bytes, size_t size);
void layout_add_text(struct layout *l, const char *text);
void layout_add_number(struct layout *l, uint64_t number);

/* @ret has room for LAYOUT_NAME_SIZE. */
void layout_format(const struct layout *l, char *ret);

/* Is it what layout_format() writes? */
int layout_check_name(const char *name);

/* Of opened objects and their hooks: code for newer and older kernels, settings, tables, map sizes,
 * and what is not loaded. */
void layout_of(const struct loading *loading, struct layout *ret);

#define PINS_PATH_SIZE 256

struct pins { /* a set; begins as {} */
	char path[PINS_PATH_SIZE]; /* "": there is none */
};

#define PINS_MAPS "maps"
#define PINS_PROGRAMS "programs"
#define PINS_LINKS "links"
#define PINS_HOOKS "hooks"

/* Make PIN_DIR, or see that it is ours alone.  Its parent has to be in a BPF file system;
 * /sys/fs/bpf is made one where it is none. */
int pins_make_root(const char *pin_dir, struct error *err);
/* Gone if it is empty. */
void pins_remove_root(const char *pin_dir);

/* The names of all sets.  -ENOENT: no such directory. */
int pins_list_sets(const char *pin_dir, struct dir *ret);

/* Where the set of a layout is, or would be. */
void pins_find(const char *pin_dir, const char *layout, struct pins *ret);

/* Its directories, empty. */
int pins_make(const struct pins *p);

/* @dir: one of the three; NULL: beside them. */
int pins_put(const struct pins *p, const char *dir, const char *name, int fd);
/* A descriptor, or -ENOENT. */
int pins_get(const struct pins *p, const char *dir, const char *name);
int pins_drop(const struct pins *p, const char *dir, const char *name);

/* All of a set, what makes it complete first. */
int pins_remove(const struct pins *p);

/* Change the owner of PIN_DIR and its sets, who may then remove them. */
int pins_give(const char *pin_dir, uid_t uid, gid_t gid);
