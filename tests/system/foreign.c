/* SPDX-License-Identifier: MIT */
/*
 * foreign - pins what another build might have left, and whose structs, numbers and names are not ours.
 *
 *     foreign PIN_DIR
 *
 * A group that has died.  Rows: one operation that we know by another number, one that we do not; a member that is
 * new to us, one that we have and it has not.  Totals that lack what is needed.  A map of a name that we do not know.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "cleanup.h"
#include "error.h"
#include "leaves.h"
#include "macro.h"
#include "pinned.h"
#include "pins.h"

#define LAYOUT "0123456789abcdef"

struct field {
	const char *name;
	unsigned int bytes, offset;
};

struct made {
	struct btf *btf;
	int key, value;
};

static int add_struct(struct btf *btf, const char *name, unsigned int size, const struct field *fields)
{
	static const char *const names[] = { [1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64" };
	int types[9] = {}, text, id;

	for (size_t bytes = 1; bytes <= 8; bytes *= 2)
		types[bytes] = btf__add_int(btf, names[bytes], bytes, 0);
	text = btf__add_array(btf, types[4], types[1], GROUP_PATH_SIZE);
	id = btf__add_struct(btf, name, size);
	for (; fields->name; fields++)
		btf__add_field(btf, fields->name, fields->bytes == GROUP_PATH_SIZE ? text : types[fields->bytes],
			       fields->offset * 8, 0);
	return id;
}

/* Pins a hash map of these types; its descriptor. */
static int put_map(const struct pins *set, const char *pin, const struct made *made, unsigned int key_size,
		   unsigned int value_size)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);
	int fd;

	if (btf__load_into_kernel(made->btf) < 0)
		return -errno;
	options.btf_fd = (uint32_t)btf__fd(made->btf);
	options.btf_key_type_id = (uint32_t)made->key;
	options.btf_value_type_id = (uint32_t)made->value;
	fd = bpf_map_create(BPF_MAP_TYPE_HASH, "foreign", key_size, value_size, 16, &options);
	if (fd < 0)
		return -errno;
	return pins_put(set, PINS_MAPS, pin, fd) < 0 ? -EIO : fd;
}

struct their_key {
	uint8_t way, op;
	uint16_t cpu;
	uint32_t added;
	uint64_t place, leaf;
};

struct their_counts {
	uint64_t amount, added, calls, errors; /* and no ns */
};

static int put_rows(const struct pins *set)
{
	static const struct field key[] = { { "way", 1, 0 },   { "op", 1, 1 },    { "cpu", 2, 2 }, { "added", 4, 4 },
					    { "place", 8, 8 }, { "leaf", 8, 16 }, {} };
	static const struct field counts[] = { { "amount", 8, 0 }, { "added", 8, 8 }, { "calls", 8, 16 },
					       { "errors", 8, 24 }, {} };
	const struct their_key known = { .op = 9, .cpu = 1, .place = 7, .leaf = 101 };
	const struct their_key unknown = { .op = 10, .place = 7, .leaf = 101 };
	const struct their_counts done = { .amount = 608, .added = 1, .calls = 54, .errors = 2 };
	struct made made = { btf__new_empty(), 0, 0 };
	int fd;

	made.key = add_struct(made.btf, "file_key", sizeof(known), key);
	made.value = add_struct(made.btf, "file_counts", sizeof(done), counts);
	fd = put_map(set, "files-file_rows", &made, sizeof(known), sizeof(done));
	btf__free(made.btf);
	if (fd < 0)
		return fd;
	return bpf_map_update_elem(fd, &known, &done, BPF_ANY) < 0 ||
			       bpf_map_update_elem(fd, &unknown, &done, BPF_ANY) < 0 ?
		       -EIO :
		       0;
}

/* Without the number of tasks that were freed. */
static int put_totals(const struct pins *set)
{
	static const struct field key[] = { { "leaf", 8, 0 }, { "cpu", 4, 8 }, {} };
	static const struct field totals[] = { { "exits", 8, 0 }, {} };
	const uint64_t leaf[2] = { 101, 0 }, exits = 3;
	struct made made = { btf__new_empty(), 0, 0 };
	int fd;

	made.key = add_struct(made.btf, "leaf_cpu", sizeof(leaf), key);
	made.value = add_struct(made.btf, "task_totals", sizeof(exits), totals);
	fd = put_map(set, "tasks-task_totals", &made, sizeof(leaf), sizeof(exits));
	btf__free(made.btf);
	return fd < 0 ? fd : bpf_map_update_elem(fd, leaf, &exits, BPF_ANY);
}

struct their_group {
	char path[GROUP_PATH_SIZE];
	uint64_t died_ns, born_ns, parent;
};

static int put_groups(const struct pins *set)
{
	static const struct field group[] = { { "path", GROUP_PATH_SIZE, 0 },
					      { "died_ns", 8, offsetof(struct their_group, died_ns) },
					      { "born_ns", 8, offsetof(struct their_group, born_ns) },
					      { "parent", 8, offsetof(struct their_group, parent) },
					      {} };
	const struct their_group job = { "/slurm/job_7", 202, 101, 5 };
	const uint64_t id = 77;
	struct made made = { btf__new_empty(), 0, 0 };
	int fd;

	made.value = add_struct(made.btf, "group", sizeof(job), group);
	made.key = btf__find_by_name_kind(made.btf, "u64", BTF_KIND_INT);
	fd = put_map(set, "life-groups", &made, sizeof(id), sizeof(job));
	btf__free(made.btf);
	return fd < 0 ? fd : bpf_map_update_elem(fd, &id, &job, BPF_ANY);
}

static int put_array(const struct pins *set, const char *folder, const char *pin, uint32_t size, uint32_t count,
		     int *ret)
{
	*ret = bpf_map_create(BPF_MAP_TYPE_ARRAY, "foreign", sizeof(uint32_t), size, count, NULL);
	return *ret < 0 ? -errno : pins_put(set, folder, pin, *ret);
}

static int put_names(const struct pins *set)
{
	static const struct {
		uint32_t number;
		char name[PINNED_NAME_SIZE];
	} names[] = { { 9, "write" }, { 10, "teleport" }, { FILES_OPS, "call" } };
	int fd, r = put_array(set, NULL, PINS_NAMES, PINNED_NAME_SIZE, PINNED_NAMES, &fd);

	for (size_t i = 0; i < ARRAY_SIZE(names) && r >= 0; i++)
		r = bpf_map_update_elem(fd, &names[i].number, names[i].name, BPF_ANY);
	return r;
}

int main(int argc, char **argv)
{
	struct error err = {};
	struct pins set;
	int fd, r;

	if (argc != 2)
		return 1;
	r = pins_make_root(argv[1], &err);
	pins_find(argv[1], LAYOUT, &set);
	if (r >= 0)
		r = pins_make(&set);
	if (r >= 0)
		r = put_rows(&set);
	if (r >= 0)
		r = put_totals(&set);
	if (r >= 0)
		r = put_groups(&set);
	if (r >= 0)
		r = put_names(&set);
	if (r >= 0)
		r = put_array(&set, PINS_MAPS, "later-what_is_not_known", 8, 1, &fd);
	if (r >= 0)
		r = put_array(&set, NULL, PINS_HOOKS, 8, 1, &fd);
	if (r < 0)
		fprintf(stderr, "foreign: %s\n", *err.text ? err.text : strerror(-r));
	return r < 0;
}
