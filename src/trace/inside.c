/* SPDX-License-Identifier: MIT */
#include "trace/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "trace/mapped.h"
#include "trace/sites.h"

#define STACK_BYTES (256 << 10) /* that are looked at */
#define CALL_BYTES 6 /* of the longest call that is known */
#define ENDBR_BYTES 4

static const unsigned char endbr64[ENDBR_BYTES] = { 0xf3, 0x0f, 0x1e, 0xfa };

struct range {
	uint64_t start, end;
	size_t row; /* of a function */
};

struct ranges {
	struct range *items;
	size_t count, room;
};

struct process {
	const struct sites *sites;
	int memory_fd;
	struct ranges code, functions; /* all that is executed; what is probed of it */
};

static int add_range(struct ranges *to, uint64_t start, uint64_t end, size_t row)
{
	if (array_reserve(&to->items, &to->room, to->count, sizeof(*to->items)) < 0)
		return -ENOMEM;
	to->items[to->count++] = (struct range){ start, end, row };
	return 0;
}

static const struct range *find_range(const struct ranges *in, uint64_t address)
{
	for (size_t i = 0; i < in->count; i++) {
		if (address >= in->items[i].start && address < in->items[i].end)
			return &in->items[i];
	}
	return NULL;
}

static int add_mapped(void *context, const struct mapped_file *m)
{
	struct process *p = context;
	struct stat st;
	int r = add_range(&p->code, m->start, m->end, 0);

	if (r < 0 || fstat(m->fd, &st) < 0)
		return r;
	for (size_t i = 0; i < p->sites->count && r == 0; i++) {
		const struct site *site = &p->sites->items[i];
		const struct site_file *file = p->sites->rows[site->row]->file;

		if (!site->is_return && file && file->device == st.st_dev &&
		    file->inode == st.st_ino && site->offset >= m->offset &&
		    site->offset - m->offset < m->end - m->start)
			r = add_range(&p->functions, m->start + (site->offset - m->offset),
				      m->start + (site->offset - m->offset) + site->size,
				      site->row);
	}
	return r;
}

static bool read_memory(const struct process *p, uint64_t address, void *ret, size_t size)
{
	return pread(p->memory_fd, ret, size, (off_t)address) == (ssize_t)size;
}

/* The address that an instruction with 32 bits relative to its end @next refers to. */
static uint64_t refer(uint64_t next, const unsigned char *bits)
{
	int32_t relative;

	memcpy(&relative, bits, sizeof(relative));
	return next + (uint64_t)(int64_t)relative;
}

/* Is it the function at @start, or the jump to it in a table of the linker? */
static bool is_function(const struct process *p, uint64_t target, uint64_t start)
{
	unsigned char code[16];
	size_t at = 0;

	if (target == start || target + ENDBR_BYTES == start)
		return true;
	if (!read_memory(p, target, code, sizeof(code)))
		return false;
	if (memcmp(code, endbr64, ENDBR_BYTES) == 0)
		at = ENDBR_BYTES;
	if (code[at] == 0xf2) /* bnd */
		at++;
	if (code[at] != 0xff || code[at + 1] != 0x25 ||
	    !read_memory(p, refer(target + at + 6, code + at + 2), &target, sizeof(target)))
		return false;
	return target == start || target + ENDBR_BYTES == start;
}

/* Is @address the return address of a call of the function at @start? */
static bool is_behind_call(const struct process *p, uint64_t address, uint64_t start)
{
	unsigned char code[CALL_BYTES];
	uint64_t target;

	if (!read_memory(p, address - CALL_BYTES, code, sizeof(code)))
		return false;
	if (code[0] == 0xff && code[1] == 0x15) /* by a pointer at a fixed place */
		return read_memory(p, refer(address, code + 2), &target, sizeof(target)) &&
		       is_function(p, target, start);
	return code[1] == 0xe8 && is_function(p, refer(address, code + 2), start);
}

static int find_outermost(const struct process *p, const uint64_t *words, size_t count,
			  size_t *ret_row)
{
	for (size_t i = count; i-- > 0;) {
		const struct range *function = find_range(&p->code, words[i])
						       ? find_range(&p->functions, words[i])
						       : NULL;

		for (size_t above = i + 1; function && above < count; above++) {
			if (!find_range(&p->code, words[above]) ||
			    !is_behind_call(p, words[above], function->start))
				continue;
			*ret_row = function->row;
			return 0;
		}
	}
	return -ENOENT;
}

int inside_find(const struct sites *sites, pid_t pid, uint64_t stack, uint64_t instruction,
		size_t *ret_row)
{
	_cleanup_close_ int fd = -EBADF;
	_cleanup_free_ uint64_t *words = malloc(sizeof(uint64_t) + STACK_BYTES);
	struct process p = { .sites = sites };
	char path[64];
	ssize_t bytes;
	int r = -ENOENT;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	bytes = words && fd >= 0 ? pread(fd, words + 1, STACK_BYTES, (off_t)(stack & ~UINT64_C(7)))
				 : 0;
	p.memory_fd = fd;
	if (words)
		words[0] = instruction;
	if (bytes > 0 && mapped_visit(pid, NULL, add_mapped, &p) == 0 && p.functions.count)
		r = find_outermost(&p, words, 1 + (size_t)bytes / sizeof(*words), ret_row);
	free(p.code.items);
	free(p.functions.items);
	return r;
}
