/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "content.h"
#include "basic/macro.h"
#include "mapped.h"
#include "path.h"

#define PAGES 251 /* of a file; the last one is not whole */
#define STRIDE 16
#define PATIENCE_MS 10000
#define CALM_MS 1000

struct mapping {
	struct file file;
	size_t page, bytes; /* of a page; of the file */
	unsigned char *memory;
};

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* How many bytes of the file are in memory, in whole pages, and read to the end. */
static size_t resident_bytes(const struct mapping *m)
{
	unsigned char states[PAGES];
	size_t pages = 0;

	if (mincore(m->memory, m->bytes, states) < 0)
		return 0;
	for (size_t i = 0; i < PAGES; i++)
		pages += states[i] & 1;
	return pages * m->page;
}

/* One of the task's own counts, such as the bytes that it asked a disk for.  Asking is an open, a
 * read and a close. */
static uint64_t own_bytes(struct worker *w, const char *label)
{
	char text[1024] = "", *line;
	struct file io = counted_open_existing(w->ledger, PLACE_PSEUDO, "/proc/thread-self/io",
					       O_RDONLY | O_CLOEXEC);

	counted_read(w->ledger, io, text, sizeof(text) - 1);
	counted_close(w->ledger, io);
	line = strstr(text, label);
	if (!line)
		w->wrong = __func__;
	return line ? strtoull(line + strlen(label), NULL, 10) : 0;
}

static uint64_t fetched_bytes(struct worker *w)
{
	return own_bytes(w, "\nread_bytes: ");
}

static uint64_t dirtied_bytes(struct worker *w)
{
	return own_bytes(w, "\nwrite_bytes: ");
}

/* What is read ahead comes later than what is asked for: @fetched has been, but some of it may have
 * been the file system's own blocks, so what does not change for long is taken as it is. */
static size_t settled_bytes(const struct mapping *m, uint64_t fetched)
{
	size_t bytes = resident_bytes(m);

	for (int calm = 0; bytes < fetched && calm < CALM_MS; calm++) {
		size_t before = bytes;

		pause_ms(1);
		bytes = resident_bytes(m);
		if (bytes != before)
			calm = 0;
	}
	return bytes;
}

/* Put all on the disk, and have the kernel forget it. */
static bool make_cold(struct worker *w, struct mapping *m)
{
	counted_sync(w->ledger, m->file, OP_FSYNC);
	for (int waited = 0; waited < PATIENCE_MS; waited++) {
		posix_fadvise((int)m->file.fd, 0, 0, POSIX_FADV_DONTNEED);
		if (resident_bytes(m) == 0)
			return true;
		pause_ms(1); /* another processor may hold some of it a moment longer */
	}
	w->wrong = __func__;
	return false;
}

static bool map(struct worker *w, struct mapping *m, int protection, int flags)
{
	void *memory = mmap(NULL, m->bytes, protection, flags, (int)m->file.fd, 0);

	if (memory == MAP_FAILED) {
		w->wrong = __func__;
		return false;
	}
	m->memory = memory;
	return true;
}

static void note(struct worker *w, const struct mapping *m, enum op op, size_t bytes)
{
	ledger_note_bytes(w->ledger,
			  (struct deed){ .place = m->file.place, .op = op, .way = WAY_MAPPING },
			  bytes);
}

/* ---- to read ---- */

static void touch(const struct mapping *m, size_t stride)
{
	for (size_t i = 0; i < PAGES; i += stride)
		*(volatile unsigned char *)(m->memory + i * m->page);
}

static void touch_all(struct mapping *m)
{
	touch(m, 1);
}

static void touch_some(struct mapping *m)
{
	madvise(m->memory, m->bytes, MADV_RANDOM);
	touch(m, STRIDE);
}

static void touch_some_ahead(struct mapping *m)
{
	touch(m, STRIDE);
}

static void touch_backwards(struct mapping *m)
{
	for (size_t i = PAGES; i-- > 0;)
		*(volatile unsigned char *)(m->memory + i * m->page);
}

static void ask_for(struct mapping *m)
{
	madvise(m->memory, m->bytes, MADV_WILLNEED);
}

static void lock(struct mapping *m)
{
	mlock(m->memory, m->page * 13);
}

static void change_private_copy(struct mapping *m)
{
	for (size_t i = 0; i < PAGES; i += STRIDE)
		m->memory[i * m->page] = 'p';
}

static const struct reading {
	int protection, flags;
	void (*bring)(struct mapping *m);
} readings[] = {
	/* clang-format off */
	{ PROT_READ,              MAP_SHARED,                touch_all },
	{ PROT_READ,              MAP_SHARED,                touch_some },
	{ PROT_READ,              MAP_SHARED,                touch_some_ahead },
	{ PROT_READ,              MAP_PRIVATE,               touch_backwards },
	{ PROT_READ,              MAP_SHARED,                ask_for },
	{ PROT_READ,              MAP_SHARED,                lock },
	{ PROT_READ,              MAP_SHARED | MAP_POPULATE, touch_all },
	{ PROT_READ | PROT_WRITE, MAP_PRIVATE,               change_private_copy },
	/* clang-format on */
};

/* The file is cold in a first mapping, which sees what the second one brings. */
static void read_mapped(struct worker *w, struct mapping *observed, const struct reading *reading)
{
	struct mapping m = *observed;
	uint64_t before;

	if (!make_cold(w, observed))
		return;
	before = fetched_bytes(w);
	if (!map(w, &m, reading->protection, reading->flags))
		return;
	reading->bring(&m);
	note(w, &m, OP_READ, settled_bytes(observed, fetched_bytes(w) - before));
	if (!(reading->protection & PROT_WRITE) && !content_is((char *)m.memory, m.page, 0))
		w->wrong = __func__;
	munmap(m.memory, m.bytes);
}

/* ---- to write ---- */

static void write_pages(const struct mapping *m, size_t stride)
{
	for (size_t i = 0; i < PAGES; i += stride)
		content_fill((char *)m->memory + i * m->page, 1, (off_t)(i * m->page));
}

/* A store notes a new time in the file's inode, which may be one more page: that is dirtied before.
 */
static void dirty_inode(struct worker *w, const struct mapping *m)
{
	counted_call(
		w->ledger, m->file.place,
		&(struct call){ OP_CHMOD, BY_DESCRIPTOR, 1, SYS_fchmod, { m->file.fd, 0640 } });
}

static void write_mapped(struct worker *w, struct mapping *observed, size_t stride)
{
	struct mapping m = *observed;
	uint64_t fetched, before, dirtied;

	if (!make_cold(w, observed) || !map(w, &m, PROT_READ | PROT_WRITE, MAP_SHARED))
		return;
	dirty_inode(w, &m);
	fetched = fetched_bytes(w);
	before = dirtied_bytes(w);
	write_pages(&m, stride);
	dirtied = dirtied_bytes(w) - before;
	note(w, &m, OP_WRITE, dirtied);
	note(w, &m, OP_READ, settled_bytes(observed, fetched_bytes(w) - fetched));

	/* What is dirty already is not dirtied again, but once it has been written. */
	before = dirtied_bytes(w);
	write_pages(&m, stride);
	if (dirtied_bytes(w) != before)
		w->wrong = __func__;
	counted_call(w->ledger, PLACE_UNRESOLVED,
		     &(struct call){ OP_SYNC,
				     BY_PATH,
				     1,
				     SYS_msync,
				     { ARG(m.memory), (long)m.bytes, MS_SYNC } });
	dirty_inode(w, &m);
	before = dirtied_bytes(w);
	write_pages(&m, stride);
	note(w, &m, OP_WRITE, dirtied_bytes(w) - before);
	munmap(m.memory, m.bytes);
}

void mapped_in_folder(struct worker *w, int place, const char *folder)
{
	struct mapping m = { .page = (size_t)sysconf(_SC_PAGESIZE) };
	struct path path;

	m.bytes = PAGES * m.page - 1009;
	path_make(&path, folder, w->name, "mapped");
	m.file = content_create(w, place, &path, m.bytes);
	if (m.file.fd >= 0 && map(w, &m, PROT_READ, MAP_SHARED)) {
		for (size_t i = 0; i < ARRAY_SIZE(readings); i++)
			read_mapped(w, &m, &readings[i]);
		write_mapped(w, &m, 1);
		write_mapped(w, &m, STRIDE);
		munmap(m.memory, m.bytes);
	}
	counted_close(w->ledger, m.file);
	counted_unlink(w->ledger, place, path.text);
}
