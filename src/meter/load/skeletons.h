/* SPDX-License-Identifier: MIT */
/* skeletons - the BPF objects that are built in, opened with what only they need to know. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "load/hooks.h"

struct bpf_object;
struct bpf_object_skeleton;
struct kernel_types;

/* What every skeleton begins with. */
struct any_bpf {
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *object;
};

/* Not yet loaded.  @is_older: the code for older kernels; both have the same maps and programs (see
 * compat.bpf.h).
 * @types_path: a file of the kernel's types that it names, which may be written until it is loaded;
 * NULL: libbpf looks for them itself. */
int skeleton_open(enum object_id id, bool is_older, const struct kernel_types *types,
		  const char *types_path, struct any_bpf **ret);
struct any_bpf *skeleton_close(struct any_bpf *bpf); /* NULL is fine; returns NULL */

/* The object for older kernels, as it is built in. */
const void *skeleton_older_code(enum object_id id, size_t *ret_size);

/* The first value of a data map; once the object is loaded the kernel's own, if it is writable.
 * NULL: no such map. */
void *skeleton_map_value(const struct any_bpf *bpf, const char *map);
