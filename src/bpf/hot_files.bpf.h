/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * hot_files - T3: operations on single files, on demand.
 *
 * A file is followed from its first call by descriptor on, as long as there is room: nothing is
 * evicted, and operations on files without room are summed in one row.  Counters are by file and
 * CPU, written by that CPU only; data that all CPUs share are kept beside them and change
 * seldom.
 *
 * If groups are counted separately, all of it is by cgroup: each group has a share of each table
 * and a row for the rest, and user space removes the entries of a removed cgroup.
 *
 * settings.follows_files controls all of it, and the verifier knows it: without it none of this
 * is loaded.  With it a call costs three more look-ups.
 */
#pragma once

#include "bpf/compat.bpf.h"
#include "bpf/files.h"
#include "bpf/lost.bpf.h"
#include "bpf/resolve.bpf.h"

/* The sizes of all these are sizing.c's, from how many files may be followed. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct followed_key); /* added at a file's first call */
	__type(value, struct followed_file);
} followed_files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct followed_key); /* as followed_files */
	__type(value, struct followed_name);
} followed_names SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct followed_key); /* added with a CPU's first call on a file */
	__type(value, struct followed_counts);
} followed_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct followed_key); /* files without room in followed_files; not with
					     has_groups */
	__type(value, __u8); /* is it a directory? */
} unfollowed_files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct followed_counts); /* their operations, without the order of accesses */
} unfollowed_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct cgroup_cpu); /* the same with has_groups, by the group that answers */
	__type(value, struct followed_counts);
} unfollowed_by_cgroup SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	/* Added by its first call, removed by the close that is its last, set anew where another is
	 * opened at the same address: so there are no more of them than there were open at once, or
	 * nearly. */
	__type(key, struct open_key);
	__type(value, struct open_file);
} open_files SEC(".maps");

enum ref_id {
	REF_FROM, /* of the call in progress: its file, or the one from which it copies */
	REF_TO,
	REF_REQUEST, /* of a request of an io_uring, which may end while a call is in progress */
	REF_COUNT = 4,
};

struct parked_refs {
	struct file_ref refs[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* as parked_calls */
	__type(key, __u64); /* or a request's address */
	__type(value, struct parked_refs);
} parked_refs SEC(".maps");

struct hot_slot {
	struct file_ref refs[REF_COUNT];
	__u64 scratch;
	__u64 dentry; /* of the file that is described last */
	struct followed_key known; /* a file in followed_files or unfollowed_files */
	__u64 judged_place; /* what is_judged_real is about */
	__u64 is_judged_real;
	struct followed_name name; /* being made up */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hot_slot);
} hot_slots SEC(".maps");

#define PSEUDO_MAX 24

/* Magic numbers of file systems that the kernel makes up; set by user space, 0 ends the list. */
const volatile __u64 pseudo_magics[PSEUDO_MAX];

static const struct followed_file no_followed_file;
static const struct followed_counts no_followed_counts;

static __always_inline struct hot_slot *get_hot_slot(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&hot_slots, &zero);
}

/* The reference @id, which is void so far; NULL: no file is followed now. */
static __always_inline struct file_ref *begin_ref(struct hot_slot *slot, __u32 id, __u64 cgroup)
{
	struct file_ref *ref;

	if (!slot)
		return NULL;
	ref = &slot->refs[id & (REF_COUNT - 1)];
	ref->file = 0;
	ref->cgroup = settings.has_groups ? cgroup : 0;
	return watch.is_following ? ref : NULL;
}

/* Is it a file system that stores files? */
static __always_inline bool is_real(struct super_block *sb)
{
	__u64 magic = BPF_CORE_READ(sb, s_magic);

	if (BPF_CORE_READ(sb, s_flags) & SB_NOUSER)
		return false;
	for (int i = 0; i < PSEUDO_MAX; i++) {
		if (!pseudo_magics[i])
			break;
		if (pseudo_magics[i] == magic)
			return false;
	}
	return true;
}

static __always_inline struct followed_key followed_key_of(const struct file_ref *ref, __u32 cpu)
{
	struct followed_key key = {
		.cgroup = ref->cgroup,
		.place = ref->place,
		.inode = ref->inode,
		.generation = ref->generation,
		.cpu = cpu,
	};

	return key;
}

/* Note the names from @dentry up to the root of its file system.  The length stays in memory, where
 * the verifier forgets its value. */
static __always_inline void note_names(struct dentry *dentry, struct followed_name *ret)
{
	volatile __u16 *length = &ret->length;

	*length = 0;
	ret->is_cut = 1;
	for (int i = 0; i < FILE_NAMES; i++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
		__u32 at = *length;
		long added;

		if (parent == dentry || !parent) {
			ret->is_cut = 0;
			break;
		}
		if (at >= FILE_PATH_SIZE)
			break;
		at &= FILE_PATH_SIZE - 1;
		added = bpf_probe_read_kernel_str(ret->text + at, FILE_NAME_SIZE,
						  BPF_CORE_READ(dentry, d_name.name));
		if (added <= 0)
			break;
		*length = at + added;
		dentry = parent;
	}
}

/* A file's first call: follow it from now on if there is room, else remember that it is not. */
static __always_inline void get_to_know(struct hot_slot *slot, const struct followed_key *key,
					__u32 mode)
{
	struct followed_file file = { .mode = mode };
	__u8 is_dir = (mode & S_IFMT) == S_IFDIR;

	if (bpf_map_lookup_elem(&followed_files, key))
		return;
	if (settings.has_groups ? !take_share(key->cgroup, SHARE_FILES)
				: !!bpf_map_lookup_elem(&unfollowed_files, key))
		return;
	if (bpf_map_update_elem(&followed_files, key, &file, BPF_NOEXIST) == 0) {
		note_names((struct dentry *)slot->dentry, &slot->name);
		bpf_map_update_elem(&followed_names, key, &slot->name, BPF_ANY);
	} else if (settings.has_groups) {
		untake_share(key->cgroup, SHARE_FILES);
	} else if (!bpf_map_lookup_elem(&followed_files, key) &&
		   bpf_map_update_elem(&unfollowed_files, key, &is_dir, BPF_ANY) < 0) {
		count_lost(LOST_FILE_NAME);
	}
}

static __always_inline struct open_key open_key_of(const struct file_ref *ref)
{
	struct open_key key = { .cgroup = ref->cgroup, .file = ref->file };

	return key;
}

/* Note where an open file's last access ended; false: there is no room. */
static __always_inline bool note_end(const struct file_ref *ref, __u64 end)
{
	struct open_file open = { .inode = ref->inode, .end = end };
	struct open_key key = open_key_of(ref);
	bool is_new = settings.has_groups && !bpf_map_lookup_elem(&open_files, &key);

	if (is_new && !take_share(ref->cgroup, SHARE_OPEN_FILES))
		return false;
	if (bpf_map_update_elem(&open_files, &key, &open, BPF_ANY) == 0)
		return true;
	if (is_new)
		untake_share(ref->cgroup, SHARE_OPEN_FILES);
	return false;
}

/* Is the current descriptor the only reference to the file? */
static __always_inline bool is_last(__u64 address)
{
	struct file___counted *counted = (void *)address;
	struct file___ref *ref = (void *)address;

	if (bpf_core_field_exists(counted->f_count))
		return BPF_CORE_READ(counted, f_count.counter) == 1;
	return bpf_core_field_exists(ref->f_ref) && BPF_CORE_READ(ref, f_ref.refcnt.counter) == 0;
}

static __always_inline void set_position(struct file_ref *ref, __u32 how, __u64 argument)
{
	__u64 pointed = 0;

	if ((how == POSITION_GIVEN && argument == ~0ULL) || (how == POSITION_POINTED && !argument))
		how = POSITION_OWN;
	if (how == POSITION_GIVEN)
		ref->position = argument;
	if (how == POSITION_POINTED) {
		if (bpf_probe_read_user(&pointed, sizeof(pointed), (void *)argument) < 0)
			how = POSITION_UNKNOWN;
		ref->position = pointed;
	}
	ref->position_how = how;
}

/* By typed pointers: a load each.  Their values go through @slot, see place_of(). */
static __always_inline struct super_block *describe(struct file *file, struct hot_slot *slot,
						    struct file_ref *ret)
{
	struct inode *inode = file->f_inode;
	volatile __u64 *scratch = &slot->scratch;

	*scratch = (__u64)file->f_path.dentry;
	slot->dentry = *scratch;
	ret->position = file->f_pos;
	ret->is_append = !!(file->f_flags & O_APPEND);
	ret->inode = inode->i_ino;
	ret->generation = inode->i_generation;
	ret->mode = inode->i_mode;
	ret->size = inode->i_size;
	ret->place = place_of(inode->i_sb, scratch);
	*scratch = (__u64)file;
	ret->file = *scratch;
	return inode->i_sb;
}

static __always_inline struct super_block *describe_far(struct file *file, struct hot_slot *slot,
							struct file_ref *ret)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct super_block *sb = BPF_CORE_READ(inode, i_sb);

	if (!sb)
		return NULL;
	slot->dentry = (__u64)BPF_CORE_READ(file, f_path.dentry);
	ret->position = BPF_CORE_READ(file, f_pos);
	ret->is_append = !!(BPF_CORE_READ(file, f_flags) & O_APPEND);
	ret->inode = BPF_CORE_READ(inode, i_ino);
	ret->generation = BPF_CORE_READ(inode, i_generation);
	ret->mode = BPF_CORE_READ(inode, i_mode);
	ret->size = BPF_CORE_READ(inode, i_size);
	ret->place = far_place_of(sb);
	ret->file = (__u64)file;
	return sb;
}

/* The file described in @ref is the one of a call, whose data are where @how and @argument say.  A
 * file that would not be followed makes the reference void. */
static __always_inline void follow(struct hot_slot *slot, struct file_ref *ref,
				   struct super_block *sb, __u32 how, __u64 argument)
{
	__u32 type = ref->mode & S_IFMT;
	struct followed_key key;

	if (ref->place != slot->judged_place) {
		slot->is_judged_real = is_real(sb);
		slot->judged_place = ref->place;
	}
	if (!slot->is_judged_real || (type != S_IFREG && type != S_IFDIR)) {
		ref->file = 0;
		return;
	}
	set_position(ref, how, argument);
	key = followed_key_of(ref, 0);
	if (slot->known.inode != key.inode || slot->known.place != key.place ||
	    slot->known.generation != key.generation || slot->known.cgroup != key.cgroup) {
		get_to_know(slot, &key, ref->mode);
		slot->known = key;
	}
	if (how == POSITION_START) /* its accesses begin there */
		note_end(ref, 0);
	if (how == POSITION_END && is_last(ref->file)) {
		struct open_key open = open_key_of(ref);

		if (bpf_map_delete_elem(&open_files, &open) == 0)
			untake_share(ref->cgroup, SHARE_OPEN_FILES);
	}
}

/* As resolve() does it; NULL: there is none. */
#ifndef OLD_KERNEL
static __always_inline struct super_block *describe_descriptor(__u32 descriptor,
							       struct hot_slot *slot,
							       struct file_ref *ret)
{
	struct files_struct *files = read_only(current_task())->files;
	struct file *file;

	if (files->fdt == &files->fdtab && descriptor < OWN_FILES) {
		file = own_file(files, descriptor);
		return file ? describe(file, slot, ret) : NULL;
	}
	file = far_file(files->fdt, descriptor);
	return file ? describe_far(file, slot, ret) : NULL;
}
#else
static __always_inline struct super_block *describe_descriptor(__u32 descriptor,
							       struct hot_slot *slot,
							       struct file_ref *ret)
{
	struct file *file = far_file(BPF_CORE_READ(current_task(), files, fdt), descriptor);

	return file ? describe_far(file, slot, ret) : NULL;
}
#endif

/* Called while the file is certainly open, so that its name can be looked up. */
__noinline int follow_descriptor(__u32 id, __u32 descriptor, __u32 how, __u64 argument,
				 __u64 cgroup)
{
	struct super_block *sb;
	struct hot_slot *slot;
	struct file_ref *ref;

	if (!settings.follows_files)
		return 0;
	slot = get_hot_slot();
	ref = begin_ref(slot, id, cgroup);
	if (!ref)
		return 0;
	sb = describe_descriptor(descriptor, slot, ref);
	if (sb)
		follow(slot, ref, sb, how, argument);
	return 0;
}

/* By the address of a struct file that is open. */
__noinline int follow_file(__u32 id, __u64 address, __u64 cgroup)
{
	struct super_block *sb;
	struct hot_slot *slot;
	struct file_ref *ref;

	if (!settings.follows_files)
		return 0;
	slot = get_hot_slot();
	ref = begin_ref(slot, id, cgroup);
	if (!ref || !address)
		return 0;
	sb = describe_far((struct file *)address, slot, ref);
	if (sb)
		follow(slot, ref, sb, POSITION_UNKNOWN, 0);
	return 0;
}

/* Keep the files of a call that leaves the CPU. */
static __always_inline void park_refs(__u64 task)
{
	struct hot_slot *slot = get_hot_slot();

	if (slot)
		bpf_map_update_elem(&parked_refs, &task, slot->refs, BPF_ANY);
}

static __always_inline void unpark_refs(__u64 task)
{
	struct parked_refs *parked = bpf_map_lookup_elem(&parked_refs, &task);
	struct hot_slot *slot = get_hot_slot();

	if (!slot)
		return;
	if (!parked) {
		slot->refs[REF_FROM].file = slot->refs[REF_TO].file = 0;
		return;
	}
	slot->refs[REF_FROM] = parked->refs[REF_FROM];
	slot->refs[REF_TO] = parked->refs[REF_TO];
	bpf_map_delete_elem(&parked_refs, &task);
}

/* The same of a request that begins here and ends elsewhere, by its address. */
static __always_inline void park_request(__u64 request)
{
	struct hot_slot *slot = get_hot_slot();

	if (slot && slot->refs[REF_REQUEST].file)
		bpf_map_update_elem(&parked_refs, &request, &slot->refs[REF_REQUEST], BPF_ANY);
}

static __always_inline void take_request(__u64 request)
{
	struct parked_refs *parked = bpf_map_lookup_elem(&parked_refs, &request);
	struct hot_slot *slot = get_hot_slot();

	if (!slot)
		return;
	slot->refs[REF_REQUEST].file = 0;
	if (!parked)
		return;
	slot->refs[REF_REQUEST] = parked->refs[0];
	bpf_map_delete_elem(&parked_refs, &request);
}

/* Does the access begin where the one before of the same open file ended?  Below zero: not known.
 * Two tasks that use one open file at once may each find the other's end. */
static __always_inline int is_sequential(const struct file_ref *ref, __u64 start, __u64 end,
					 bool is_at_end)
{
	struct open_key key = open_key_of(ref);
	struct open_file *open = bpf_map_lookup_elem(&open_files, &key);
	bool is_next;

	if (open && open->inode == ref->inode) {
		is_next = open->end == start;
		open->end = end;
		return is_next || is_at_end;
	}
	/* it was open before the job, or came from another process */
	if (!note_end(ref, end)) {
		count_lost_of(ref->cgroup, LOST_ORDER);
		return -1;
	}
	return ref->position_how == POSITION_OWN || start == 0 || is_at_end;
}

/* Count bytes of which the place in the file is known. */
static __always_inline void count_access(const struct file_ref *ref, __u32 op, __u64 bytes,
					 struct followed_file *file, struct followed_counts *counts)
{
	bool is_write = op == FILES_WRITE, is_at_end = is_write && ref->is_append;
	__u64 start = is_at_end ? ref->size : ref->position, end = start + bytes;
	struct followed_data *data = &counts->data[is_write];
	__u64 low, high;
	int sequential = is_sequential(ref, start, end, is_at_end);

	if (sequential > 0)
		data->sequential_bytes += bytes;
	if (sequential == 0)
		data->random_bytes += bytes;
	if (is_write) {
		if (~start > file->written_low_inverse)
			file->written_low_inverse = ~start;
		if (end > file->written_high)
			file->written_high = end;
		if (end > file->size)
			file->size = end;
		return;
	}
	if (~start > counts->read_low_inverse)
		counts->read_low_inverse = ~start;
	if (end > counts->read_high)
		counts->read_high = end;
	low = ~file->written_low_inverse;
	high = file->written_high;
	low = low > start ? low : start;
	high = high < end ? high : end;
	if (high > low)
		counts->read_after_write_bytes += high - low;
}

static __always_inline void count_data_on_file(const struct file_ref *ref, __u32 op, long result,
					       __u64 ns, __u64 calls, struct followed_file *file,
					       struct followed_counts *counts)
{
	struct followed_data *data = &counts->data[op == FILES_WRITE];

	data->calls += calls;
	data->ns += ns;
	if (result < 0) {
		data->errors++;
		return;
	}
	data->bytes += result;
	if (file && result > 0 && ref->position_how != POSITION_UNKNOWN)
		count_access(ref, op, result, file, counts);
}

static __always_inline void count_meta_on_file(__u32 op, __u64 ns, __u64 calls,
					       struct followed_counts *counts)
{
	counts->meta_ns += ns;
	if (op == FILES_OPEN)
		counts->opens += calls;
	else if (op == FILES_CREATE)
		counts->creates += calls;
	else if (op == FILES_CLOSE)
		counts->closes += calls;
	else
		counts->others += calls;
}

static __always_inline struct followed_counts *get_followed_counts(const struct followed_key *key)
{
	struct followed_counts *counts = bpf_map_lookup_elem(&followed_counts, key);

	if (counts)
		return counts;
	if (!take_share(key->cgroup, SHARE_FILE_COUNTS))
		return NULL;
	if (bpf_map_update_elem(&followed_counts, key, &no_followed_counts, BPF_NOEXIST) < 0)
		untake_share(key->cgroup, SHARE_FILE_COUNTS);
	return bpf_map_lookup_elem(&followed_counts, key);
}

/* Of the CPU: what has no room for itself. */
static __always_inline struct followed_counts *get_unfollowed_counts(__u64 cgroup)
{
	struct cgroup_cpu key = { .cpu = bpf_get_smp_processor_id() };
	__u32 zero = 0;

	if (!settings.has_groups)
		return bpf_map_lookup_elem(&unfollowed_counts, &zero);
	key.cgroup = answering_group(cgroup);
	return get_or_add(&unfollowed_by_cgroup, &key, &no_followed_counts);
}

/* Count a call on one of its files, or (with @calls of 0) only time in it. */
__noinline int count_on_file(__u32 id, __u32 op, long result, __u64 ns, __u64 calls)
{
	struct followed_counts *counts = NULL;
	struct followed_file *file;
	struct followed_key key;
	struct hot_slot *slot;
	struct file_ref *ref;

	if (!settings.follows_files)
		return 0;
	slot = get_hot_slot();
	if (!slot)
		return 0;
	ref = &slot->refs[id & (REF_COUNT - 1)];
	if (!ref->file)
		return 0;
	key = followed_key_of(ref, 0);
	file = bpf_map_lookup_elem(&followed_files, &key);
	if (file) {
		if (file->size != ref->size)
			file->size = ref->size;
		key.cpu = bpf_get_smp_processor_id();
		counts = get_followed_counts(&key);
	}
	if (!counts) {
		file = NULL;
		counts = get_unfollowed_counts(ref->cgroup);
		count_lost_of(ref->cgroup, counts ? LOST_FILE : LOST_FILE_SUM);
	}
	if (!counts)
		return 0;
	if (op <= FILES_WRITE)
		count_data_on_file(ref, op, result, ns, calls, file, counts);
	else
		count_meta_on_file(op, ns, calls, counts);
	return 0;
}
