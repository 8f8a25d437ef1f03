/* SPDX-License-Identifier: MIT */
#include "load/skeletons.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "load/calls.h"
#include "bpf/files.h"
#include "bpf/settings.h" /* the skeletons hold its structs */
#include "bpf/block.skel.h"
#include "bpf/block_old.skel.h"
#include "bpf/fentry.skel.h"
#include "bpf/fentry_old.skel.h"
#include "bpf/files.skel.h"
#include "bpf/files_old.skel.h"
#include "bpf/groups.h"
#include "bpf/life.skel.h"
#include "bpf/life_old.skel.h"
#include "basic/macro.h"
#include "load/pseudo_fs.h"
#include "load/kernel_types.h"
#include "bpf/syscall_counts.h"
#include "load/syscall_names.h"
#include "bpf/syscalls.skel.h"
#include "bpf/syscalls_old.skel.h"
#include "bpf/tasks.skel.h"
#include "bpf/tasks_old.skel.h"
#include "bpf/time.skel.h"
#include "bpf/time_old.skel.h"

/* With the code for newer kernels. */
static int create(enum object_id id, void *bpf)
{
	switch (id) {
	case OBJECT_LIFE:
		return life_bpf__create_skeleton(bpf);
	case OBJECT_TASKS:
		return tasks_bpf__create_skeleton(bpf);
	case OBJECT_TIME:
		return time_bpf__create_skeleton(bpf);
	case OBJECT_FILES:
		return files_bpf__create_skeleton(bpf);
	case OBJECT_FENTRY:
		return fentry_bpf__create_skeleton(bpf);
	case OBJECT_SYSCALLS:
		return syscalls_bpf__create_skeleton(bpf);
	case OBJECT_BLOCK:
		return block_bpf__create_skeleton(bpf);
	case OBJECT_COUNT:
		break;
	}
	return -EINVAL;
}

static void set_time(void *bpf, const struct kernel_types *types UNUSED)
{
	struct time_bpf *time = bpf;

	causes_fill((struct call_cause *)time->rodata->call_causes);
}

static void set_files(void *bpf, const struct kernel_types *types UNUSED)
{
	struct files_bpf *files = bpf;

	calls_fill((struct call_kind *)files->rodata->call_kinds);
	requests_fill((struct request_kind *)files->rodata->request_kinds);
	mapping_calls_fill((int32_t *)files->rodata->mapping_calls,
			   ARRAY_SIZE(files->rodata->mapping_calls));
	files->rodata->page_bytes = (unsigned int)sysconf(_SC_PAGESIZE);
	call_positions_fill((struct call_position *)files->rodata->call_positions);
	pseudo_fs_fill((uint64_t *)files->rodata->pseudo_magics,
		       ARRAY_SIZE(files->rodata->pseudo_magics));
}

static void set_fentry(void *bpf, const struct kernel_types *types)
{
	struct fentry_bpf *fentry = bpf;

	requests_fill((struct request_kind *)fentry->rodata->request_kinds);
	fentry->rodata->setattr_dentry = prototype_has_dentry_second(types,
								     "security_inode_setattr");
	fentry->rodata->setxattr_dentry = prototype_has_dentry_second(types,
								      "security_inode_setxattr");
	fentry->rodata->removexattr_dentry =
		prototype_has_dentry_second(types, "security_inode_removexattr");
}

static void set_syscalls(void *bpf, const struct kernel_types *types UNUSED)
{
	struct syscalls_bpf *syscalls = bpf;

	syscall_traits_fill((uint8_t *)syscalls->rodata->syscall_traits);
}

/* The code for newer kernels and that for older ones have the same maps and programs (see
 * compat.bpf.h), so that one skeleton serves both. */
static const struct {
	size_t size;
	const void *(*older_code)(size_t *ret_size);
	void (*set)(void *bpf, const struct kernel_types *types); /* NULL: nothing to set */
} skeletons[OBJECT_COUNT] = {
	[OBJECT_LIFE] = { sizeof(struct life_bpf), life_old_bpf__elf_bytes, NULL },
	[OBJECT_TASKS] = { sizeof(struct tasks_bpf), tasks_old_bpf__elf_bytes, NULL },
	[OBJECT_TIME] = { sizeof(struct time_bpf), time_old_bpf__elf_bytes, set_time },
	[OBJECT_FILES] = { sizeof(struct files_bpf), files_old_bpf__elf_bytes, set_files },
	[OBJECT_FENTRY] = { sizeof(struct fentry_bpf), fentry_old_bpf__elf_bytes, set_fentry },
	[OBJECT_SYSCALLS] = { sizeof(struct syscalls_bpf), syscalls_old_bpf__elf_bytes,
			      set_syscalls },
	[OBJECT_BLOCK] = { sizeof(struct block_bpf), block_old_bpf__elf_bytes, NULL },
};

#define ARE_ALIKE(a, b) (sizeof(struct a) == sizeof(struct b))
static_assert(ARE_ALIKE(life_bpf, life_old_bpf) && ARE_ALIKE(tasks_bpf, tasks_old_bpf) &&
		      ARE_ALIKE(files_bpf, files_old_bpf) && ARE_ALIKE(time_bpf, time_old_bpf) &&
		      ARE_ALIKE(time_bpf__rodata, time_old_bpf__rodata) &&
		      ARE_ALIKE(files_bpf__rodata, files_old_bpf__rodata) &&
		      ARE_ALIKE(syscalls_bpf, syscalls_old_bpf) &&
		      ARE_ALIKE(syscalls_bpf__rodata, syscalls_old_bpf__rodata) &&
		      ARE_ALIKE(fentry_bpf, fentry_old_bpf) &&
		      ARE_ALIKE(block_bpf, block_old_bpf) &&
		      ARE_ALIKE(fentry_bpf__rodata, fentry_old_bpf__rodata),
	      "the same maps, programs and settings");

struct any_bpf *skeleton_close(struct any_bpf *bpf)
{
	if (!bpf)
		return NULL;
	if (bpf->skeleton)
		bpf_object__destroy_skeleton(bpf->skeleton);
	free(bpf);
	return NULL;
}

int skeleton_open(enum object_id id, bool is_older, const struct kernel_types *types,
		  const char *types_path, struct any_bpf **ret)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = types_path);
	struct any_bpf *bpf = calloc(1, skeletons[id].size);
	int r = bpf ? create(id, bpf) : -ENOMEM;

	if (r >= 0) {
		if (is_older)
			bpf->skeleton->data =
				(void *)skeletons[id].older_code(&bpf->skeleton->data_sz);
		r = bpf_object__open_skeleton(bpf->skeleton, &options);
	}
	if (r < 0) {
		skeleton_close(bpf);
		return r;
	}
	if (skeletons[id].set)
		skeletons[id].set(bpf, types);
	*ret = bpf;
	return 0;
}

const void *skeleton_older_code(enum object_id id, size_t *ret_size)
{
	return skeletons[id].older_code(ret_size);
}

void *skeleton_map_value(const struct any_bpf *bpf, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(bpf->object, name);
	size_t size;

	/* libbpf's own memory, which it maps into the kernel at load */
	return map ? (void *)bpf_map__initial_value(map, &size) : NULL;
}
