/* SPDX-License-Identifier: MIT */
#include "basic/resident.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "basic/macro.h"

/* A segment of a file that is never written; relocations are done in others. */
static bool is_text(const ElfW(Phdr) * segment)
{
	return segment->p_type == PT_LOAD && !(segment->p_flags & PF_W);
}

static int drop_object(struct dl_phdr_info *info, size_t size UNUSED, void *context)
{
	const uintptr_t page = *(const uintptr_t *)context;

	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = (info->dlpi_addr + segment->p_vaddr) & ~(page - 1);

		if (is_text(segment))
			(void)madvise((void *)begin,
				      info->dlpi_addr + segment->p_vaddr + segment->p_memsz - begin,
				      MADV_DONTNEED);
	}
	return 0;
}

void resident_drop_text(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	dl_iterate_phdr(drop_object, &page);
}
