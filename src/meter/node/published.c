/* SPDX-License-Identifier: MIT */
#include "node/published.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/bitset.h"
#include "basic/cleanup.h"
#include "basic/fnv.h"
#include "basic/idmap.h"
#include "basic/macro.h"

#define MAGIC UINT64_C(0x6a6d2d7075622d31)

/* The file, all of it in units of 8 bytes, each of which is stored at once. */
struct slot {
	uint64_t key; /* 0: free */
	uint64_t known[BITSET_WORDS(METRIC_JOB_COUNT)];
	uint64_t numbers[METRIC_JOB_COUNT];
};

struct header {
	uint64_t magic, layout, slot_count;
	uint64_t used_slots; /* those that room was taken for */
	char boot_id[40];
};

#define SLOTS_AT_ONCE 1024 /* that room is taken for */

struct published {
	int fd;
	struct header *header;
	struct slot *slots;
	size_t slot_count, size;
	struct idmap by_key; /* the slots that are taken */
	uint64_t *rounds; /* of each slot, when it was last used; 0: free, and not read */
	uint64_t round; /* from 1 */
	size_t hand; /* where the search for a free slot continues */
};

/* The order of the numbers. */
static uint64_t layout(void)
{
	uint64_t hash = FNV_BEGIN;

	for (int id = 0; id < METRIC_JOB_COUNT; id++) {
		const struct metric *metric = metric_get((enum metric_id)id);

		hash = fnv_text(fnv_text(hash, metric->section), metric->key);
	}
	return hash;
}

/* A job that a manager makes anew under the same id is another one. */
static uint64_t key_of(const struct job *job)
{
	uint64_t hash = fnv_text(fnv_text(FNV_BEGIN, job->manager), job->id);

	hash = fnv_bytes(hash, &job->start_boot_ns, sizeof(job->start_boot_ns));
	return hash ? hash : 1;
}

static bool is_kept(int id)
{
	enum metric_kind kind = metric_get((enum metric_id)id)->kind;

	return kind == KIND_COUNTER || kind == KIND_PEAK;
}

/* ---- the file ---- */

static int check(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == geteuid() &&
			       !(st.st_mode & 077)
		       ? 0
		       : -EPERM;
}

/* Space is allocated before it is written to: a page that is not available then would kill us. */
static int take_room(const struct published *p, size_t slots)
{
	return -posix_fallocate(p->fd, 0,
				(off_t)(sizeof(struct header) + slots * sizeof(struct slot)));
}

static int map_file(const char *path, struct published *p)
{
	void *memory;
	int r;

	p->fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	r = p->fd < 0 ? -errno : check(p->fd);
	if (r == 0 && ftruncate(p->fd, (off_t)p->size) < 0)
		r = -errno;
	if (r == 0)
		r = take_room(p, 0);
	if (r < 0)
		return r;
	memory = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	p->header = memory;
	p->slots = (struct slot *)(p->header + 1);
	return 0;
}

static bool is_ours(const struct published *p, const char *boot_id)
{
	const struct header *h = p->header;

	return h->magic == MAGIC && h->layout == layout() && h->slot_count == p->slot_count &&
	       h->used_slots <= p->slot_count &&
	       strncmp(h->boot_id, boot_id, sizeof(h->boot_id)) == 0;
}

static int begin(struct published *p, const char *boot_id)
{
	int r = ftruncate(p->fd, 0) < 0 || ftruncate(p->fd, (off_t)p->size) < 0 ? -errno
										: take_room(p, 0);

	if (r < 0)
		return r;
	*p->header = (struct header){ .layout = layout(), .slot_count = p->slot_count };
	strncpy(p->header->boot_id, boot_id, sizeof(p->header->boot_id) - 1);
	atomic_signal_fence(memory_order_seq_cst);
	p->header->magic = MAGIC;
	return 0;
}

static int list_slots(struct published *p)
{
	for (size_t i = 0; i < p->header->used_slots; i++) {
		if (!p->slots[i].key)
			continue;
		if (idmap_put(&p->by_key, p->slots[i].key, &p->slots[i]) < 0)
			return -ENOMEM;
		p->rounds[i] = p->round;
	}
	return 0;
}

int published_open(const char *path, const char *boot_id, size_t slots, struct published **ret)
{
	_cleanup_(published_closep) struct published *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->fd = -EBADF;
	p->round = 1;
	p->slot_count = slots;
	p->size = sizeof(struct header) + slots * sizeof(struct slot);
	p->rounds = calloc(slots + 1, sizeof(*p->rounds));
	r = p->rounds ? map_file(path, p) : -ENOMEM;
	if (r < 0)
		return r;
	assert(p->header);
	if (!is_ours(p, boot_id))
		r = begin(p, boot_id);
	if (r == 0)
		r = list_slots(p);
	(void)madvise(p->header, p->size, MADV_DONTNEED); /* map only the used part of the file */
	if (r == 0)
		*ret = TAKE_PTR(p);
	return r;
}

struct published *published_close(struct published *p)
{
	if (!p)
		return NULL;
	if (p->header)
		munmap(p->header, p->size);
	if (p->fd >= 0)
		close(p->fd);
	idmap_clear(&p->by_key);
	free(p->rounds);
	free(p);
	return NULL;
}

void published_closep(struct published **p)
{
	published_close(*p);
}

static void give_back(struct published *p, struct slot *slot)
{
	idmap_remove(&p->by_key, slot->key);
	p->rounds[slot - p->slots] = 0;
	slot->key = 0;
}

void published_clear(struct published *p)
{
	for (size_t i = 0; i < p->slot_count; i++) {
		if (p->rounds[i])
			give_back(p, &p->slots[i]);
	}
}

/* ---- jobs ---- */

bool published_get(const struct published *p, const struct job *job,
		   struct value ret[METRIC_JOB_COUNT])
{
	const struct slot *slot = idmap_get(&p->by_key, key_of(job));

	memset(ret, 0, METRIC_JOB_COUNT * sizeof(*ret));
	for (int id = 0; slot && id < METRIC_JOB_COUNT; id++) {
		if (is_kept(id) && bitset_has(slot->known, (size_t)id))
			ret[id] = (struct value){ slot->numbers[id], true };
	}
	return slot;
}

/* False: there is no room for more. */
static bool use_more(struct published *p)
{
	size_t slots = MIN(p->slot_count, (size_t)p->header->used_slots + SLOTS_AT_ONCE);

	if (slots == p->header->used_slots || take_room(p, slots) < 0)
		return false;
	p->hand = p->header->used_slots;
	p->header->used_slots = slots;
	return true;
}

/* NULL: there is no room, and the job may be shown with less after a restart. */
static struct slot *get_slot(struct published *p, uint64_t key)
{
	struct slot *slot = idmap_get(&p->by_key, key);

	if (!slot && p->by_key.count == p->header->used_slots && !use_more(p))
		return NULL;
	for (size_t i = 0; !slot && i < p->header->used_slots; i++) {
		size_t at = p->hand++ % p->header->used_slots;
		struct slot *next = &p->slots[at];

		if (p->rounds[at])
			continue;
		memset(next->known, 0, sizeof(next->known));
		atomic_signal_fence(memory_order_seq_cst); /* a job finds no other's numbers */
		if (idmap_put(&p->by_key, key, next) < 0)
			return NULL;
		next->key = key;
		p->rounds[at] = p->round;
		slot = next;
	}
	return slot;
}

static void put_job(struct published *p, const struct snapshot_job *job)
{
	struct slot *slot = get_slot(p, key_of(job->job));

	if (!slot)
		return;
	p->rounds[slot - p->slots] = p->round;
	for (int id = 0; id < METRIC_JOB_COUNT; id++) {
		if (!is_kept(id) || !job->values[id].is_known)
			continue;
		slot->numbers[id] = job->values[id].number;
		atomic_signal_fence(memory_order_seq_cst);
		bitset_add(slot->known, (size_t)id);
	}
}

void published_put(struct published *p, const struct snapshot *s)
{
	p->round++;
	for (size_t i = 0; i < s->job_count; i++) {
		if (p->by_key.count < p->slot_count ||
		    idmap_get(&p->by_key, key_of(s->jobs[i].job)))
			put_job(p, &s->jobs[i]);
	}
	for (size_t i = 0; i < p->slot_count; i++) {
		if (p->rounds[i] && p->rounds[i] != p->round)
			give_back(p, &p->slots[i]);
	}
}
